package health_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/app/provider/health"
)

// replica is a monitor on a database, whose worker runs until the test ends.
func replica(t *testing.T, db *sqlx.DB, name string, c *clock) (*health.Monitor, func()) {
	t.Helper()
	m := health.New(health.Options{Now: c.now, Random: never, DB: db, Replica: name, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	listener := postgres.NewListener(pgtest.DSN(t, db))
	go func() { ended <- m.Run(ctx, listener) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the worker of %s ended with %v", name, err)
		}
	})
	t.Cleanup(stop)
	return m, stop
}

// soon waits for what another replica does.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > time.Second {
			t.Fatalf("a second has passed: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func reported(t *testing.T, m *health.Monitor) []string {
	t.Helper()
	reports, err := m.Reports(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range reports {
		names = append(names, r.Replica)
	}
	return names
}

func TestAPauseIsInForceOnAllReplicasWithinASecond(t *testing.T) {
	t.Parallel()
	db, c, r := pgtest.New(t), &clock{}, upstream()
	here, _ := replica(t, db, "here", c)
	there, leave := replica(t, db, "there", c)
	ctx := t.Context()
	for _, p := range []health.Pause{
		{Kind: health.KindModel, ID: "test/model", Reason: " repairs ", By: "op@example.com"},
		{Kind: health.KindProvider, ID: r.Provider.ID, By: "op@example.com"},
	} {
		if err := here.Pause(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if p, ok := here.ModelPaused("test/model"); !ok || p.Reason != "repairs" || p.By != "op@example.com" || !p.At.Equal(c.now()) {
		t.Errorf("the pause is %+v at once, in force %v", p, ok)
	}
	soon(t, "the other replica knows of no pause", func() bool {
		p, ok := there.ModelPaused("test/model")
		return ok && p.Reason == "repairs" && there.ProviderPaused(r.Provider.ID)
	})
	wantBlock(t, there, r, health.Paused)
	if _, block := there.Begin(r, true); block != health.Paused {
		t.Errorf("a forced attempt at a paused provider has the block %q", block)
	}
	if _, ok := there.ModelPaused(r.Provider.ID); ok || there.ProviderPaused("test/model") {
		t.Error("a pause of a provider is one of a model, or the other way round")
	}
	if err := here.Pause(ctx, health.Pause{Kind: health.KindModel, ID: "test/model", Reason: "more repairs", By: "two@example.com"}); err != nil {
		t.Fatal(err)
	}
	soon(t, "the other replica has the former reason", func() bool {
		p, _ := there.ModelPaused("test/model")
		return p.Reason == "more repairs" && len(there.Pauses()) == 2
	})
	if err := there.Resume(ctx, health.KindProvider, r.Provider.ID, "two@example.com"); err != nil {
		t.Fatal(err)
	}
	soon(t, "the provider is still paused", func() bool { return here.Blocked(r) == "" && there.Blocked(r) == "" })
	actions, err := here.History(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, d := range actions {
		told = append(told, fmt.Sprint(d.By, " ", d.Action, " ", d.ID, " ", d.Reason))
	}
	want := "two@example.com resumed meridian |two@example.com paused test/model more repairs|op@example.com paused meridian "
	if got := strings.Join(told, "|"); got != want {
		t.Errorf("the history is\n%s, want\n%s", got, want)
	}
	soon(t, "the other replica has not told of itself", func() bool { return fmt.Sprint(reported(t, here)) == "[here there]" })
	leave()
	if got := fmt.Sprint(reported(t, here)); got != "[here]" {
		t.Errorf("after one has left the replicas are %s", got)
	}
}

func TestAPauseHoldsAtOnceAndOneThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	m := health.New(health.Options{Now: (&clock{}).now, Random: never, DB: pgtest.New(t), Replica: "one"})
	for param, p := range map[string]health.Pause{
		"kind":   {Kind: "key", ID: "a", By: "op"},
		"id":     {Kind: health.KindModel, ID: " ", By: "op"},
		"reason": {Kind: health.KindModel, ID: "a", By: "op", Reason: strings.Repeat("é", 201)},
	} {
		if e, ok := errors.AsType[*app.Error](m.Pause(t.Context(), p)); !ok || e.Kind != app.Invalid || e.Param != param {
			t.Errorf("%s: %v", param, e)
		}
	}
	if e, ok := errors.AsType[*app.Error](m.Resume(t.Context(), health.KindModel, "a", "op")); !ok || e.Kind != app.NotFound {
		t.Errorf("to resume what is not paused is %v", e)
	}
	if actions, err := m.History(t.Context(), 10); len(actions) != 0 || err != nil {
		t.Errorf("the history has %v, %v", actions, err)
	}
	r := upstream()
	call(t, m, r, nil)
	if err := m.Pause(t.Context(), health.Pause{Kind: health.KindProvider, ID: r.Provider.ID, By: "op"}); err != nil {
		t.Fatal(err)
	}
	wantBlock(t, m, r, health.Paused) // The pause takes effect without a worker.
	if got := m.Report(); got.Upstreams[0].State != health.StatePaused || !got.Providers[0].Paused {
		t.Errorf("the report says %+v", got)
	}
	alone, _ := monitor()
	if err := alone.Pause(t.Context(), health.Pause{Kind: health.KindModel, ID: "a", By: "op"}); err == nil {
		t.Error("a pause that is kept nowhere is no error")
	}
}

func TestReportsOfReplicasThatAreSilentForAMinuteArePruned(t *testing.T) {
	t.Parallel()
	db, r := pgtest.New(t), upstream()
	_, err := db.Exec(`insert into provider_health_reports values ('gone', now() - interval '61 seconds', '{"replica": "gone"}'),
		('here', now() - interval '61 seconds', '{"replica": "here"}'),
		('there', now(), '{"replica": "there", "upstreams": [{"provider": "meridian", "model": "up", "state": "ejected"}]}')`)
	if err != nil {
		t.Fatal(err)
	}
	here, _ := replica(t, db, "here", &clock{})
	call(t, here, r, broken())
	reports, err := here.Reports(t.Context())
	if err != nil || len(reports) != 2 || reports[1].Upstreams[0].State != health.StateEjected {
		t.Fatalf("the reports are %+v, %v", reports, err)
	}
	u := reports[0].Upstreams[0]
	if u.Provider != "meridian" || u.Model != "up" || u.State != health.StateClosed || u.LastFault != "server_error" || u.LastStatus != 500 ||
		u.CallsMinute != 1 || u.FailuresMinute != 1 || u.InFlight != 0 || u.LastFaultAt.IsZero() || !u.EjectedUntil.IsZero() {
		t.Errorf("the report says %+v", u)
	}
	soon(t, "the silent replica's report is still there, or that of this one is not fresh", func() bool {
		var fresh string
		err := db.Get(&fresh, `select string_agg(replica, ' ' order by replica) from provider_health_reports where at > now() - interval '1 minute'
			having count(*) = (select count(*) from provider_health_reports)`)
		return err == nil && fresh == "here there"
	})
}

func TestWhatHadNoAttemptForAnHourIsForgotten(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	call(t, m, r, nil)
	c.advance(30 * time.Minute)
	late := *r
	late.Model = "late"
	call(t, m, &late, nil)
	c.advance(30 * time.Minute)
	m.Forget()
	if got := m.Report(); len(got.Upstreams) != 1 || got.Upstreams[0].Model != "late" {
		t.Errorf("remembered are %+v", got.Upstreams)
	}
	c.advance(30 * time.Minute)
	running, _ := m.Begin(&late, false)
	c.advance(2 * time.Hour)
	m.Forget()
	running.End(nil, 1)
	if got := m.Report(); len(got.Upstreams) != 1 || got.Upstreams[0].InFlight != 0 {
		t.Errorf("one that runs is forgotten: %+v", got.Upstreams)
	}
	c.advance(time.Hour)
	m.Forget()
	if got := m.Report(); len(got.Upstreams)+len(got.Providers) != 0 {
		t.Errorf("remembered are %+v", got)
	}
}

func TestMemoryIsBoundedWhateverTheCatalogsName(t *testing.T) {
	t.Parallel()
	m, _ := monitor()
	for i := range 1100 {
		r := upstream()
		r.Model = fmt.Sprint("up", i)
		call(t, m, r, nil)
	}
	for i := range 1100 {
		r := upstream()
		r.Provider.ID = fmt.Sprint("provider", i)
		call(t, m, r, nil)
	}
	if got := m.Report(); len(got.Upstreams) > 1024+1024 || len(got.Providers) > 1024 {
		t.Errorf("%d models of %d providers are remembered", len(got.Upstreams), len(got.Providers))
	}
}
