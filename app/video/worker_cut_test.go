package video

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"umg/app/storage"
	"umg/app/webhook"
	"umg/billing"
)

// cut begins a pass and stops it while the provider is asked something.
func (b *bench) cut(s *Service) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = s.Work(ctx)
	}()
	b.control("GET", "waiting?at_least=1&timeout=5s", "")
	cancel()
	<-ended
}

func TestAStepThatIsCutIsDoneByTheNextWorker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec            string
		unsent, deleted bool
		state           State // The job is in this state after the cut.
		end             State
	}{
		"while it is sought":    {"on=list;hold;times=1", true, false, Creating, Completed},
		"while it is looked at": {"on=status;hold;times=1", false, false, Queued, Completed},
		"while it is copied":    {"on=content;hold;times=1", false, false, Storing, Completed},
		"while it is cancelled": {"on=cancel;hold;times=1;render=10m", false, true, Queued, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			second := b.replica()
			var id string
			if prompt := simulate(c.spec, "cut"); c.unsent {
				r := b.begun("test/film", prompt)
				b.order(r)
				b.control("PUT", "faults", `{"provider": "meridian", "spec": "`+c.spec+`"}`)
				id = r.ID
				b.clock.Advance(time.Minute + time.Second)
			} else {
				id = b.sent("test/film", prompt)
			}
			if c.deleted {
				b.must(b.service.Delete(t.Context(), b.account, id))
			}
			b.cut(b.service)
			if r := b.row(id); r.State != c.state || r.Tries != 0 || r.CancelledAt != nil || r.DueAt.After(b.clock.Now()) {
				t.Fatalf("after the cut the job is %s with %d tries, due at %v", r.State, r.Tries, r.DueAt)
			}
			b.service = second
			r := b.until(id, c.end, 10*time.Second)
			if c.end == Completed {
				b.content(r, Movie)
				b.told(id, webhook.VideoCompleted)
				b.paid(price)
				return
			}
			b.told(id)
			b.paid(0)
		})
	}
}

func TestAnEndIsAllOrNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", "half an end")
	_, err := b.db.ExecContext(t.Context(), `alter table webhook_events rename to webhook_events_away`)
	b.must(err)
	if _, err := b.service.Work(t.Context()); err == nil {
		t.Error("a pass whose job could not be ended is not an error")
	}
	if r := b.row(id); r.State != Storing || r.Cost != nil || r.CompletedAt != nil {
		t.Fatalf("the job is %+v", r)
	}
	b.balance(b.account, startMoney, price)
	b.books()
	_, err = b.db.ExecContext(t.Context(), `alter table webhook_events_away rename to webhook_events`)
	b.must(err)
	b.until(id, Completed, time.Minute)
	b.told(id, webhook.VideoCompleted)
	b.paid(price)
}

func TestAStepThatBreaksStopsNeitherTheOthersNorTheirMoney(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Store = struct{ storage.Store }{} })
	broken := b.sent("test/film", "breaks when it is stored")
	fine := b.sent("test/film", simulate("fail=generation_failed", "ends"))
	b.works()
	b.failed(fine, "generation_failed")
	if r := b.row(broken); r.State != Storing || r.Tries != 1 {
		t.Errorf("the job is %s with %d tries", r.State, r.Tries)
	}
	b.balance(b.account, startMoney, price)
	b.clock.Advance(49 * time.Hour)
	b.works()
	b.failed(broken, codeContent)
	b.paid(0)
}

func TestALostClaimEndsACopy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", simulate("on=content;status=503;times=1", "two copies"))
	b.works()
	b.clock.Advance(time.Hour)
	now := b.service.now()
	rows, err := claimDue(t.Context(), b.db, claim{due: now, now: now, until: now.Add(claimMax), kind: copies, limit: 1, busy: []string{}, away: []string{}})
	b.must(err)
	b.clock.Advance(claimMax + time.Second)
	b.works() // Another worker runs.
	if b.row(id).State != Completed {
		t.Fatalf("the job is %s", b.row(id).State)
	}
	before := b.row(id)
	next, err := b.service.storeContent(t.Context(), &rows[0])
	if next != nil || err != nil {
		t.Errorf("a copy without a claim came to %v, %v", next, err)
	}
	if after := b.row(id); string(after.Content) != string(before.Content) || !after.CompletedAt.Equal(*before.CompletedAt) {
		t.Error("a copy without a claim changed the job")
	}
	b.told(id, webhook.VideoCompleted)
	b.paid(price)
}

func TestWhatAProviderSaysIsMadeFitForClients(t *testing.T) {
	t.Parallel()
	long := make([]rune, 2*messageRunesMax)
	for i := range long {
		long[i] = 'ü'
	}
	for said, want := range map[string]string{
		"": "otherwise", "\n\t": "otherwise", "two\nlines": "two lines", "a\x00b": "ab", string(long): string(long[:messageRunesMax]),
		"\xff": "\uFFFD",
	} {
		if got := public(said, "otherwise"); got != want {
			t.Errorf("%.20q becomes %.20q", said, got)
		}
	}
}

func TestFailuresAreCountedByABoundedNumberOfCodes(t *testing.T) {
	t.Parallel()
	w := &working{}
	for i := range 2 * failureCodesMax {
		w.ended(failure(billing.ReasonVideoFailed, string(rune('a'+i)), "x"))
	}
	if n := w.failed["other"]; n != failureCodesMax || len(w.failed) != failureCodesMax+1 {
		t.Errorf("%d codes are counted, and %d failures together", len(w.failed), n)
	}
}

func TestWhatKilledCopiesLeftIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"umg-video-old.mp4", "umg-video-new.mp4", "another.mp4"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("film"), 0o600); err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-24 * time.Hour)
		if !strings.Contains(name, "new") {
			if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := &Service{}
	s.sweep(dir)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestACreateWithoutAnAnswerEndsAsOneRender(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"test/film", "test/tasks"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			made, err := b.service.Create(t.Context(), b.call(`{"model": "`+model+`", "prompt": "simulate: late-create;status=500\nonce", "seconds": 8}`))
			b.must(err)
			if r := b.row(made.Job.ID); r.State != Uncertain {
				t.Fatalf("the job is %s", r.State)
			}
			b.until(made.Job.ID, Completed, 5*time.Second)
			if n := len(b.sim.Renders()); n != 1 {
				t.Errorf("the provider has %d renders", n)
			}
			b.told(made.Job.ID, webhook.VideoCompleted)
			b.paid(price)
		})
	}
}
