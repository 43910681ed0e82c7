package webhook

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
)

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// TestFault80EachKindOfReceiver has one row for everything that a receiver can do wrong in one attempt.
func TestFault80EachKindOfReceiver(t *testing.T) {
	t.Parallel()
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<12)); err != nil {
				return
			}
		}
	}
	drip := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		state  State
		status int
		wait   time.Duration // Wait is the time until the next attempt.
		words  string
	}{
		"200":               {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }, Delivered, 200, 0, ""},
		"404":               {http.NotFound, Pending, 404, 5 * time.Second, ""},
		"500":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, Pending, 500, 5 * time.Second, ""},
		"410":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, Failed, 410, 0, ""},
		"429":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, Pending, 429, 5 * time.Second, ""},
		"429 and a while":   {later(429, "120"), Pending, 429, 2 * time.Minute, ""},
		"503 and a while":   {later(503, "90"), Pending, 503, 90 * time.Second, ""},
		"503 and a week":    {later(503, "604800"), Pending, 503, 24 * time.Hour, ""},
		"500 and a while":   {later(500, "120"), Pending, 500, 5 * time.Second, ""},
		"429 and nonsense":  {later(429, "soon"), Pending, 429, 5 * time.Second, ""},
		"reset":             {hangUp, Pending, 0, 5 * time.Second, "could not be reached"},
		"hangs":             {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Pending, 0, 5 * time.Second, "did not answer in time"},
		"endless body":      {endless, Delivered, 200, 0, "longer than 64 kB"},
		"dripping body":     {drip(200), Delivered, 200, 0, "in time"},
		"dripping failure":  {drip(500), Pending, 500, 5 * time.Second, "in time"},
		"redirect":          {http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect).ServeHTTP, Pending, 307, 5 * time.Second, "not followed"},
		"strange headers":   {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", "\xff"+strings.Repeat("y", 2000)) }, Delivered, 200, 0, ""},
		"informational 204": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(102); w.WriteHeader(204) }, Delivered, 204, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t, c.answer)
			b := setup(t, []*receiver{r}, func(o *Options) { o.Waits.Attempt = 2 * time.Second })
			e, secret := b.endpoint(r)
			b.emit(b.account)
			b.deliver(1)
			d := b.only()
			if d.State != c.state || d.LastStatus != c.status || d.Attempts != 1 || !strings.Contains(d.LastError, c.words) || len(d.Log) != 1 {
				t.Fatalf("%+v", d)
			}
			if c.wait == 0 && d.NextAt != nil || c.wait > 0 && (d.NextAt == nil || d.NextAt.Sub(b.clock.Now()) != c.wait) {
				t.Errorf("the next attempt is at %v, now is %v", d.NextAt, b.clock.Now())
			}
			if len(d.Log[0].ResponseBody) > 4096 || string(d.Log[0].RequestBody) != string(r.got()[0].body) {
				t.Errorf("kept %+v", d.Log[0])
			}
			if err := verify(secret, r.got()[0], b.clock.Now()); err != nil {
				t.Error(err)
			}
			if got := b.get(e.ID); (got.Status == Disabled) != (c.status == 410) || (got.FailingSince == nil) != (c.state == Delivered) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func later(status int, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
	}
}

func TestFault80ARefusedHandshakeIsAFailure(t *testing.T) {
	t.Parallel()
	r := &receiver{Server: httptest.NewUnstartedServer(http.NotFoundHandler())}
	r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	r.StartTLS() // No client trusts the certificate of this server.
	t.Cleanup(r.Close)
	r.URL = strings.Replace(r.URL, "https", "http", 1)
	b := setup(t, []*receiver{r})
	_, _ = b.endpointOf(b.account, strings.Replace(r.URL, "http", "https", 1))
	b.emit(b.account)
	b.deliver(1)
	if d := b.only(); d.State != Pending || d.LastStatus != 0 || d.LastError == "" {
		t.Errorf("%+v", d)
	}
}

func TestAnEventIsTriedTenTimesInThreeDaysAndThenGivenUp(t *testing.T) {
	t.Parallel()
	r := answering(t, http.StatusInternalServerError)
	b := setup(t, []*receiver{r})
	_, secret := b.endpoint(r)
	b.emit(b.account)
	for i, wait := range schedule {
		b.clock.Advance(wait - time.Second)
		if i > 0 {
			b.deliver(0)
		}
		b.clock.Advance(time.Second)
		b.deliver(1)
	}
	d := b.only()
	if d.State != Failed || d.Attempts != 10 || d.NextAt != nil || b.Stats().GivenUp != 1 {
		t.Errorf("%+v", d)
	}
	b.clock.Advance(24 * time.Hour)
	b.deliver(0)
	calls := r.got()
	for i, c := range calls {
		if c.header.Get("webhook-id") != d.EventID || string(c.body) != string(calls[0].body) {
			t.Errorf("attempt %d is another event", i)
		}
	}
	if err := verify(secret, calls[9], d.Log[0].StartedAt); err != nil {
		t.Error(err)
	}
	if told := b.told.all(); len(told) != 2 || !strings.Contains(told[0], "for a day") || !strings.Contains(told[1], "for 3 days") {
		t.Errorf("told %q", told)
	}
}

func TestWaitsAreSpreadByAFifth(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	for jitter, want := range map[int64]time.Duration{0: 4 * time.Second, 1: 6 * time.Second} {
		b := setup(t, []*receiver{r}, func(o *Options) { o.Jitter = func(n int64) int64 { return jitter * (n - 1) } })
		if got := b.jittered(5 * time.Second); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAnEndpointThatAsksForAPauseGetsOne(t *testing.T) {
	t.Parallel()
	var ok atomic.Bool
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if !ok.Load() {
			later(429, "60")(w, nil)
		}
	})
	b := setup(t, []*receiver{r})
	b.endpoint(r)
	b.emit(b.account)
	b.deliver(1)
	ok.Store(true)
	b.emit(b.account)
	b.deliver(0)
	b.clock.Advance(60 * time.Second)
	b.deliver(2)
	b.emit(b.account)
	b.deliver(1)
}

func TestFault81ARedirectInsideIsNotFollowed(t *testing.T) {
	t.Parallel()
	inside := newReceiver(t, nil)
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := newReceiver(t, http.RedirectHandler(inside.URL, status).ServeHTTP)
		b := setup(t, []*receiver{r, inside})
		b.endpoint(r)
		b.emit(b.account)
		b.deliver(1)
		if d := b.only(); d.State != Pending || d.LastStatus != status || len(inside.got()) != 0 {
			t.Errorf("%d: %+v", status, d)
		}
	}
}

// TestFault83ADeadReplicaLosesNothing lets one replica die between sending and writing down that it did.
func TestFault83ADeadReplicaLosesNothing(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	_, secret := b.endpoint(r)
	b.emit(b.account)
	dead := b.replica()
	list, _, err := dead.claimDue(t.Context(), 10, 10, b.clock.Now(), b.clock.Now().Add(dead.o.Waits.Claim))
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	x, err := dead.post(t.Context(), list[0].target, list[0].EventID, list[0].Body)
	must(t, err)
	b.deliver(0) // The claim is still valid.
	b.clock.Advance(dead.o.Waits.Claim)
	b.deliver(1)
	calls := r.got()
	if len(calls) != 2 || calls[0].header.Get("webhook-id") != calls[1].header.Get("webhook-id") || b.only().State != Delivered {
		t.Fatalf("%d calls, %+v", len(calls), b.only())
	}
	if err := verify(secret, calls[1], b.clock.Now()); err != nil {
		t.Error(err)
	}
	o, err := b.finish(t.Context(), list[0], x, verdict{state: Delivered}, b.clock.Now()) // The worker was only suspended.
	if err != nil || !o.lost || len(b.only().Log) != 1 {
		t.Errorf("%+v, %v: %+v", o, err, b.only())
	}
	b.deliver(0)
}

func TestFault84RacingWitnessesMakeOneEvent(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	b.endpoint(r)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			b.emitAbout(b.account, "video_same")
		})
	}
	wg.Wait()
	b.deliver(1)
	if n := b.number(`select count(*) from webhook_events`); n != 1 || len(r.got()) != 1 {
		t.Errorf("%d events, %d calls", n, len(r.got()))
	}
}

func TestAnEventOfARolledBackTransactionNeverHappened(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	b.endpoint(r)
	tx := b.db.MustBeginTx(t.Context(), nil)
	must(t, b.Emit(t.Context(), tx, Event{AccountID: b.account.AccountID, Type: VideoFailed, ObjectID: "video_1"}))
	must(t, tx.Rollback())
	b.deliver(0)
	for _, e := range []Event{{b.account.AccountID, "batch.completed", "x"}, {"", VideoFailed, "x"}, {b.account.AccountID, VideoFailed, ""}} {
		if b.Emit(t.Context(), b.db, e) == nil {
			t.Errorf("%+v was taken", e)
		}
	}
}

func TestFault86AnEndpointThatIsDownForFiveDaysIsDisabledAndRecovered(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	b := setup(t, []*receiver{r})
	e, _ := b.endpoint(r)
	start := b.clock.Now()
	var want []string
	for range 24 { // The loop takes five days.
		want = append(want, b.emit(b.account))
		_, err := b.Deliver(t.Context())
		must(t, err)
		b.clock.Advance(5 * time.Hour)
	}
	want = append(want, b.emit(b.account))
	_, err := b.Deliver(t.Context())
	must(t, err)
	if got := b.get(e.ID); got.Status != Disabled || got.DisabledReason != ByFailures || b.Stats().Disabled != 1 {
		t.Fatalf("%+v", got)
	}
	told := b.told.all()
	if len(told) != 3 || !strings.HasPrefix(told[2], e.ID) || !strings.Contains(told[2], "was disabled") {
		t.Errorf("told %q", told)
	}
	if n := b.number(`select count(*) from webhook_deliveries where state = 'pending'`); n != 0 {
		t.Errorf("%d are still pending", n)
	}
	want = append(want, b.emit(b.account)) // The event happens while the endpoint is disabled.
	b.deliver(0)
	if _, err := b.Recover(t.Context(), b.account, e.ID, start); app.AsError(err).Code != "webhook_endpoint_disabled" {
		t.Error(err)
	}
	up.Store(true)
	before := len(r.got())
	_, err = b.Enable(t.Context(), b.account, e.ID)
	must(t, err)
	b.deliver(0)
	got, err := b.Recover(t.Context(), b.account, e.ID, start)
	again, errAgain := b.Recover(t.Context(), b.account, e.ID, start)
	if err != nil || errAgain != nil || got != (Recovered{Requeued: 25, Created: 1}) || again != (Recovered{}) {
		t.Errorf("%+v, %v; %+v, %v", got, err, again, errAgain)
	}
	b.deliver(26)
	sent := map[string]int{}
	for _, c := range r.got()[before:] {
		for _, id := range want {
			if strings.Contains(string(c.body), id) {
				sent[id]++
			}
		}
	}
	if len(sent) != 26 || len(r.got()) != before+26 || b.get(e.ID).FailingSince != nil {
		t.Errorf("%d of 26 were sent, %d calls", len(sent), len(r.got())-before)
	}
	if again, err = b.Recover(t.Context(), b.account, e.ID, start); err != nil || again != (Recovered{}) {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestFault87NothingGoesToWhatIsDeletedDisabledOrFrozen(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	deleted, _ := b.endpoint(r)
	disabled, _ := b.endpoint(r)
	b.emit(b.account)
	must(t, b.Delete(t.Context(), b.account, deleted.ID))
	_, err := b.Disable(t.Context(), b.account, disabled.ID)
	must(t, err)
	frozen := b.newAccount()
	e, _ := b.endpointOf(frozen, r.URL)
	b.emit(frozen)
	b.exec(`update accounts set frozen_at = $2 where id = $1`, frozen.AccountID, b.clock.Now())
	b.deliver(0)
	if _, err := b.Test(t.Context(), frozen, e.ID, VideoFailed); app.AsError(err).Code != "account_frozen" {
		t.Error(err)
	}
	// Deliveries that were queued in the moment of the deletion are not sent either, and are ended by the sweep.
	b.exec(`update webhook_deliveries set state = 'pending', due_at = $1 where state = 'cancelled'`, b.clock.Now())
	b.deliver(0)
	must(t, b.Sweep(t.Context()))
	if n := b.number(`select count(*) from webhook_deliveries where state = 'cancelled'`); n != 2 || len(r.got()) != 0 {
		t.Errorf("%d cancelled, %d calls", n, len(r.got()))
	}
	b.exec(`update accounts set frozen_at = null`)
	b.deliver(1)
}

func TestFiguresFollowWhatHappens(t *testing.T) {
	t.Parallel()
	good, bad := newReceiver(t, nil), answering(t, 500)
	b := setup(t, []*receiver{good, bad})
	e, _ := b.endpoint(good)
	f, _ := b.endpoint(bad)
	for range 3 {
		b.emit(b.account)
	}
	b.deliver(6)
	if got := b.Stats(); got != (Stats{Events: 3, Attempts: 6, Delivered: 3, FailedAttempts: 3}) {
		t.Errorf("%+v", got)
	}
	health, err := b.Reports(t.Context(), b.account)
	if err != nil || health[e.ID].Succeeded != 3 || health[e.ID].LastFailure != nil || health[f.ID].Failed != 3 || health[f.ID].LastFailure == nil {
		t.Errorf("%+v, %v", health, err)
	}
}

func TestRunDeliversAtOnceAndGivesBackWhatItCannotEnd(t *testing.T) {
	t.Parallel()
	arrived, stuck := make(chan string, 10), make(chan struct{}, 10)
	r := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/stuck" {
			stuck <- struct{}{}
			<-req.Context().Done()
			return
		}
		arrived <- req.Header.Get("webhook-id")
	})
	b := setup(t, []*receiver{r}, func(o *Options) { o.Waits.Poll = time.Hour })
	b.endpoint(r)
	other := b.newAccount()
	b.endpointOf(other, r.URL+"/stuck")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx, postgres.NewListener(pgtest.DSN(t, b.db))) }()
	b.emit(other)
	<-stuck
	b.emit(b.account) // The poll is an hour away and the other delivery hangs, so only the notification wakes the worker.
	<-arrived
	for b.Stats().Delivered == 0 { // The worker stores the answer just after the receiver gave it.
		runtime.Gosched()
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := b.number(`select count(*) from webhook_deliveries where state = 'pending' and claimed_until is null and attempts = 0`); n != 1 {
		t.Errorf("%d given back", n)
	}
}

func TestRunComesBackForRetriesAndLapsedClaims(t *testing.T) {
	t.Parallel()
	arrived := make(chan int, 10)
	var calls atomic.Int64
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		n := calls.Add(1)
		if n == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		arrived <- int(n)
	})
	b := setup(t, []*receiver{r})
	b.endpoint(r)
	b.emit(b.account)
	b.deliver(1)
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx, postgres.NewListener(pgtest.DSN(t, b.db))) }()
	b.clock.Advance(5 * time.Second) // No notification follows from the time.
	<-arrived
	b.emit(b.account)
	<-arrived
	cancel()
	<-ended
	b.exec(`update webhook_deliveries set state = 'pending', due_at = $1, claimed_until = $1`, b.clock.Now().Add(time.Second))
	b.deliver(0)
	b.clock.Advance(time.Second)
	b.deliver(2)
}

func TestAnAttemptThatBreaksEndsNoOther(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	r, good := answering(t, 500), newReceiver(t, nil)
	b := setup(t, []*receiver{r, good}, func(o *Options) {
		o.Jitter = func(int64) int64 {
			if broken.CompareAndSwap(false, true) {
				panic("no chance")
			}
			return 0
		}
	})
	b.endpoint(r)
	b.endpoint(good)
	b.emit(b.account)
	b.deliver(2)
	if n := b.number(`select count(*) from webhook_deliveries where state = 'delivered'`); n != 1 {
		t.Errorf("%d deliveries arrived", n)
	}
	b.clock.Advance(b.o.Waits.Claim + time.Second)
	b.deliver(1)
	if n := b.number(`select count(*) from webhook_attempts where status = 500`); n != 1 {
		t.Errorf("%d failed attempts are written down", n)
	}
}
