package idempotency_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/idempotency"
	"umg/app/postgres/pgtest"
)

type bench struct {
	*testing.T
	db  *sqlx.DB
	s   *idempotency.Service
	now time.Time
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, db: pgtest.New(t), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	b.s = idempotency.New(b.db, idempotency.Options{Now: func() time.Time { return b.now }, Log: slog.New(slog.DiscardHandler)})
	b.db.MustExec(`insert into accounts (id, created_at) values ('acc_a', now()), ('acc_b', now())`)
	return b
}

func request(account, key, body, id string) idempotency.Request {
	return idempotency.Request{AccountID: account, Key: key, Operation: "videos", Body: []byte(body), ResultID: id}
}

func (b *bench) begin(r idempotency.Request) idempotency.Claim {
	b.Helper()
	c, err := b.s.Begin(b.Context(), r)
	if err != nil {
		b.Fatalf("begin %s: %v", r.Key, err)
	}
	return c
}

func (b *bench) refuse(r idempotency.Request, code string) {
	b.Helper()
	if _, err := b.s.Begin(b.Context(), r); err == nil || app.AsError(err).Code != code {
		b.Errorf("begin %q: %v, want %s", r.Key, err, code)
	}
}

func (b *bench) keep(c idempotency.Claim, body string) {
	b.Helper()
	if err := b.s.Keep(b.Context(), c, idempotency.Answer{Status: 200, Body: []byte(body)}); err != nil {
		b.Fatal(err)
	}
}

func TestASecondRequestGetsTheAnswerOfTheFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.begin(request("acc_a", "k", "body", "video_1"))
	b.refuse(request("acc_a", "k", "body", "video_2"), "idempotency_in_progress")
	b.keep(first, "answer")
	again := b.begin(request("acc_a", "k", "body", "video_3"))
	if again.Answer == nil || string(again.Answer.Body) != "answer" || again.Answer.Status != 200 || again.ResultID != "video_1" {
		t.Errorf("the repetition got %+v", again)
	}
	b.refuse(request("acc_a", "k", "another body", "video_4"), "idempotency_error")
	if other := b.begin(request("acc_b", "k", "another body", "video_5")); other.Answer != nil || other.ResultID != "video_5" {
		t.Errorf("the key of one account answers another: %+v", other)
	}
}

func TestAKeyIsFreeAgainAfterAFailureAndAfterADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.begin(request("acc_a", "k", "body", "video_1"))
	if err := b.s.Forget(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := b.begin(request("acc_a", "k", "another", "video_2"))
	b.keep(second, "answer")
	b.now = b.now.Add(24 * time.Hour)
	if third := b.begin(request("acc_a", "k", "body", "video_3")); third.Answer != nil || third.ResultID != "video_3" {
		t.Errorf("after a day: %+v", third)
	}
}

func TestARequestThatDiedIsTakenUpUnderTheSameID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.begin(request("acc_a", "k", "body", "video_1"))
	b.now = b.now.Add(3 * time.Minute)
	b.refuse(request("acc_a", "k", "another body", "video_9"), "idempotency_error")
	if c := b.begin(request("acc_a", "k", "body", "video_2")); c.ResultID != "video_1" || c.Answer != nil {
		t.Errorf("a crashed request is made again as %+v", c)
	}
	b.refuse(request("acc_a", "k", "body", "video_3"), "idempotency_in_progress")
}

func TestOneOfManyAtOnceIsFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mu sync.Mutex
	firsts := 0
	var group sync.WaitGroup
	for range 40 {
		group.Go(func() {
			c, err := b.s.Begin(t.Context(), request("acc_a", "k", "body", "video_1"))
			mu.Lock()
			defer mu.Unlock()
			if err == nil && c.Answer == nil {
				firsts++
			} else if app.KindOf(err) != app.Conflict {
				t.Errorf("begin: %v", err)
			}
		})
	}
	group.Wait()
	if firsts != 1 {
		t.Errorf("%d requests were first", firsts)
	}
}

func TestBadKeysAreRefusedByName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := make([]byte, 256)
	for i := range long {
		long[i] = 'x'
	}
	for _, key := range []string{"", "a\nb", "ü", string(long)} {
		_, err := b.s.Begin(t.Context(), request("acc_a", key, "body", "video_1"))
		if e := app.AsError(err); err == nil || e.Kind != app.Invalid || e.Param != "Idempotency-Key" {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

func TestSweepRemovesOldKeysOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keep(b.begin(request("acc_a", "old", "body", "video_1")), "answer")
	b.now = b.now.Add(25 * time.Hour)
	b.keep(b.begin(request("acc_a", "new", "body", "video_2")), "answer")
	if err := b.s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var keys []string
	if err := b.db.Select(&keys, `select key from idempotency_keys`); err != nil || len(keys) != 1 || keys[0] != "new" {
		t.Errorf("kept %v, %v", keys, err)
	}
}

func TestOperationsMayHoldWhateverAPathSays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := make([]byte, 10_000)
	for i := range long {
		long[i] = byte('a' + i*i%23)
	}
	for i, operation := range []string{"videos/\x00/remix", "videos/\xff/remix", "videos/" + string(long) + "/remix"} {
		r := request("acc_a", "k", "body", fmt.Sprintf("video_%d", i))
		r.Operation = operation
		first := b.begin(r)
		b.keep(first, operation[:8])
		if again := b.begin(r); first.Answer != nil || again.Answer == nil || string(again.Answer.Body) != operation[:8] {
			t.Errorf("%.20q: first %+v, then %+v", operation, first, again)
		}
	}
}
