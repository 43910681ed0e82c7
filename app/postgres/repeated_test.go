package postgres

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestRepeatedStatementsAreParsedOnceForAConnection(t *testing.T) {
	t.Parallel()
	l := shared(t)
	db := narrow(t, l.DSN(), 1)
	mustExec(t, db, `create table kept (n int primary key)`)
	r := Repeat(db)
	pass := func(n int) {
		t.Helper()
		var inserted, newest int
		if err := r.GetContext(t.Context(), &inserted, `insert into kept values ($1) returning n`, n); err != nil || inserted != n {
			t.Fatal(inserted, err)
		}
		if err := r.GetContext(t.Context(), &newest, `select max(n) from kept where n <= $1`, n); err != nil || newest != n {
			t.Fatal(newest, err)
		}
		var all int
		if err := r.GetContext(t.Context(), &all, `select count(*) from kept where n <= $1`, n); err != nil || all != n {
			t.Fatal(all, err)
		}
	}
	const passes = 10
	prepared := func() (statements, kept int) {
		t.Helper()
		if err := db.QueryRow(`select count(*), count(*) filter (where generic_plans > 0) from pg_prepared_statements`).Scan(&statements, &kept); err != nil {
			t.Fatal(err)
		}
		return statements, kept
	}
	for n := range passes {
		pass(n + 1)
	}
	if statements, kept := prepared(); statements != 3 || kept == 0 {
		t.Errorf("the connection has %d statements, and %d of them keep their plan", statements, kept)
	}

	// Another connection has seen none of them. The pool learns that the first is gone when it uses it.
	if _, err := db.Exec(`select pg_terminate_backend(pg_backend_pid())`); err == nil {
		t.Fatal("the connection still works")
	}
	pass(passes + 1)
	if statements, _ := prepared(); statements != 3 {
		t.Errorf("the new connection has %d statements", statements)
	}

	// A statement that the store refuses is not kept.
	var n int
	for range 2 {
		if err := r.GetContext(t.Context(), &n, `insert into missing values ($1) returning n`, 1); err == nil || Unavailable(err) {
			t.Errorf("an unknown table: %v", err)
		}
	}
	mustExec(t, db, `create table missing (n int)`)
	if err := r.GetContext(t.Context(), &n, `insert into missing values ($1) returning n`, 1); err != nil || n != 1 {
		t.Errorf("after the table was made: %d, %v", n, err)
	}
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			var n int
			if err := r.GetContext(t.Context(), &n, `select $1::int`, 7); err != nil || n != 7 {
				t.Error(n, err)
			}
		})
	}
	workers.Wait()
	if statements, _ := prepared(); statements != 5 {
		t.Errorf("the connection has %d statements after workers have prepared one at a time", statements)
	}
}

// TestRepeatedStatementsTakeTurns lets workers repeat their statements at one moment.
func TestRepeatedStatementsTakeTurns(t *testing.T) {
	t.Parallel()
	db := narrow(t, shared(t).DSN(), 8)
	type span struct {
		Began, Ended time.Time
		Slept        string
		called       time.Time
	}
	var spans [6]span
	var all sync.WaitGroup
	for i := range spans {
		all.Go(func() {
			s := &spans[i]
			s.called = time.Now()
			err := Repeat(db).GetContext(t.Context(), s, `select clock_timestamp() as began, pg_sleep(0.003)::text as slept, clock_timestamp() as ended`)
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	slices.SortFunc(spans[:], func(a, b span) int { return a.Began.Compare(b.Began) })
	for i, s := range spans[1:] {
		if before := spans[i]; s.Began.Before(before.Ended) && s.Began.Sub(s.called) < turnMax {
			t.Errorf("a statement began %s before another one ended, after a wait of %s", before.Ended.Sub(s.Began), s.Began.Sub(s.called))
		}
	}

	// A statement that takes long does not make the others wait for its end, and delays only the next one.
	ctx, cancel := context.WithCancel(t.Context())
	slow := make(chan error, 1)
	go func() {
		var slept string
		slow <- Repeat(db).GetContext(ctx, &slept, `select pg_sleep(60)::text`)
	}()
	for running := false; !running; {
		err := db.GetContext(t.Context(), &running, `
			select exists (select from pg_stat_activity where query like 'select pg_sleep(60)%' and state = 'active')`)
		if err != nil {
			t.Fatal(err)
		}
	}
	const others = 20
	began := time.Now()
	for range others {
		var one int
		if err := Repeat(db).GetContext(t.Context(), &one, `select 1`); err != nil || one != 1 {
			t.Error(one, err)
		}
	}
	if took := time.Since(began); took > others*turnMax/2 {
		t.Errorf("%d statements took %s beside a slow one", others, took)
	}
	cancel()
	if err := <-slow; err == nil {
		t.Error("the slow statement ended before the quick one")
	}
}
