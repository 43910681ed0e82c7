package video

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres/pgtest"
	"umg/app/storage"
	"umg/app/webhook"
	"umg/billing"
)

func TestRunWorksOnJobsOfSeveralReplicas(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	const jobs = 20
	ids := make([]string, jobs)
	for i := range ids {
		ids[i] = b.sent([]string{"test/film", "test/operations", "test/tasks"}[i%3], fmt.Sprint("one of many ", i))
	}
	second := b.replica(quick)
	b.running(b.service)
	b.running(second)
	for _, id := range ids {
		eventually(t, "the jobs are completed", func() bool { return b.row(id).State == Completed })
		b.told(id, webhook.VideoCompleted)
	}
	eventually(t, "all ends are counted, each once", func() bool {
		return b.service.Stats().Completed+second.Stats().Completed == jobs
	})
	b.paid(jobs * price)
}

func TestAStopGivesBackWhatItCuts(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	id := b.sent("test/film", simulate("on=content;hold;times=1", "stopped while it is copied"))
	stop := b.running(b.service)
	b.control("GET", "waiting?at_least=1&timeout=5s", "")
	stop()
	if r := b.row(id); r.State != Storing || r.Tries != 0 || r.ClaimedUntil.After(b.clock.Now()) {
		t.Fatalf("after a stop the job is %s, with %d tries, claimed until %v", r.State, r.Tries, r.ClaimedUntil)
	}
	b.running(b.replica(quick))
	eventually(t, "the copy is done again", func() bool { return b.row(id).State == Completed })
	b.content(b.row(id), Movie)
	b.paid(price)
}

func TestAProviderThatHangsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	hanging := make([]string, 3*looksByProvider)
	for i := range hanging {
		hanging[i] = b.sent("test/film", simulate("on=status;hold", fmt.Sprint("hangs ", i)))
	}
	b.running(b.service)
	b.control("GET", fmt.Sprintf("waiting?at_least=%d&timeout=5s", looksByProvider), "")
	other := make([]string, 5)
	for i := range other {
		other[i] = b.sent("test/other", fmt.Sprint("goes on ", i))
	}
	for _, id := range other {
		eventually(t, "the other provider's jobs are completed", func() bool { return b.row(id).State == Completed })
	}
	eventually(t, "what hangs is no more than one provider may have", func() bool { return b.service.Stats().Steps == looksByProvider })
	b.books()
}

// TestAStepIsDoneAgainSoonWhenTheStoreDidNotTakeIt checks that a step whose statement Postgres cancels runs again after a short pause.
func TestAStepIsDoneAgainSoonWhenTheStoreDidNotTakeIt(t *testing.T) {
	t.Parallel()
	for _, step := range []struct {
		name    string
		running bool // The statement is made while the provider renders.
		refused string
	}{
		{"a job goes back", true, `new.state = 'in_progress' and old.state = 'in_progress' and new.claimed_until < old.claimed_until`},
		{"a job runs", true, `new.state = 'in_progress' and old.state = 'queued'`},
		{"a job is rendered", false, `new.state = 'storing' and old.state <> 'storing'`},
		{"a copy keeps its claim", false, `new.state = 'storing' and new.claimed_until > old.claimed_until`},
		{"a job ends", false, `new.state = 'completed' and old.state = 'storing'`},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, quick)
			id := b.sent("test/tasks", simulate("render=hold", "goes on"))
			tried := pgtest.CancelFirst(t, b.db, "update on video_jobs", step.refused)
			b.running(b.service)
			eventually(t, "the job runs", func() bool { return b.row(id).State == InProgress && (tried() > 0 || !step.running) })
			b.control("POST", "finish", "")
			from := time.Now()
			eventually(t, "the job is completed", func() bool { return b.row(id).State == Completed })
			if took := time.Since(from); took > oursRetryAfter/3 {
				t.Errorf("the job was completed %s after a statement failed", took)
			}
			if tried() == 0 {
				t.Error("no statement failed")
			}
			b.paid(price)
		})
	}
}

func TestACallbackOnlyMakesAJobDue(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Waits.PollMin, o.Waits.PollMax = time.Hour, time.Hour })
	id := b.sent("test/film", simulate("render=hold", "called back"))
	b.works()
	token := *b.row(id).CallbackToken
	for _, unknown := range []string{"", "tok", "\x00", "\xff", strings.Repeat("x", 1000)} {
		if err := b.service.Wake(t.Context(), unknown); app.KindOf(err) != app.NotFound {
			t.Errorf("the token %.10q is answered with %v", unknown, err)
		}
	}
	b.clock.Advance(10 * time.Second)
	b.works()
	if n := b.looks(id); n != 1 {
		t.Fatalf("%d looks before a callback, want 1", n)
	}
	var storm sync.WaitGroup
	for range 50 {
		storm.Go(func() {
			if err := b.service.Wake(t.Context(), token); err != nil {
				t.Error(err)
			}
			_, _ = b.service.Work(t.Context())
		})
	}
	storm.Wait()
	if n := b.looks(id); n < 2 || n > 5 {
		t.Errorf("%d looks after a storm of callbacks, want few", n)
	}
	b.control("POST", "finish", "")
	b.clock.Advance(2 * wakeGap)
	b.must(b.service.Wake(t.Context(), token))
	b.clock.Advance(2 * wakeGap)
	b.works()
	if b.row(id).State != Completed {
		t.Errorf("the job is %s", b.row(id).State)
	}
	b.must(b.service.Wake(t.Context(), token))
	if r := b.row(id); !r.DueAt.Equal(*r.ExpiresAt) {
		t.Errorf("a callback made a completed job due at %v", r.DueAt)
	}
	b.paid(price)
}

func TestACallbackDuringALookIsNotLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", simulate("render=hold", "called back"))
	now := b.service.now()
	rows, err := claimDue(t.Context(), b.db, claim{kind: looks, due: now, now: now, until: now.Add(claimMax), limit: 10, busy: []string{}, away: []string{}})
	b.must(err)
	b.must(b.service.Wake(t.Context(), *rows[0].CallbackToken))
	later := now.Add(time.Hour)
	b.must(postpone(t.Context(), b.db, b.service.now(), []postponed{{&rows[0], later, 3}}))
	if r := b.row(id); r.DueAt.After(now.Add(5*time.Second)) || r.Tries != 3 {
		t.Errorf("the job is due at %v with %d tries, claimed at %v", r.DueAt, r.Tries, now)
	}
	b.must(postpone(t.Context(), b.db, b.service.now(), []postponed{{&rows[0], later, 9}}))
	if r := b.row(id); r.Tries != 3 {
		t.Error("a worker without a claim returned the job")
	}
}

func TestAFullDiskKeepsAJobWaitingUntilItsDeadline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/blobs"
	var store storage.Store
	b := setup(t, func(o *Options) {
		var err error
		if store, err = storage.NewFolder(dir, o.Now); err != nil {
			t.Fatal(err)
		}
		o.Store = store
	})
	t.Cleanup(func() { _ = store.Close() })
	b.must(os.RemoveAll(dir))
	id := b.sent("test/film", "nowhere to put it")
	for range 2 * copyTries {
		b.works()
		b.clock.Advance(time.Minute)
	}
	if r := b.row(id); r.State != Storing || r.Tries != 0 {
		t.Fatalf("the job is %s with %d tries", r.State, r.Tries)
	}
	b.clock.Advance(25 * time.Hour)
	b.works()
	b.failed(id, codeContent)
	b.paid(0)
}

func TestASlowCopyIsCutAndTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Waits.CopyMax = 300 * time.Millisecond })
	id := b.sent("test/film", simulate("on=content;stall;times=1", "slow"))
	b.works()
	if r := b.row(id); r.State != Storing || r.Tries != 1 {
		t.Fatalf("the job is %s with %d tries", r.State, r.Tries)
	}
	b.service.o.Waits.CopyMax = 10 * time.Second
	b.until(id, Completed, time.Minute)
	b.paid(price)
}

func TestAProviderThatLeftTheCatalogIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", "homeless")
	_, err := b.db.ExecContext(t.Context(), `update video_jobs set provider = 'gone' where id = $1`, id)
	b.must(err)
	b.works()
	if r := b.row(id); r.State != Queued || r.Tries != 1 {
		t.Fatalf("the job is %s with %d tries", r.State, r.Tries)
	}
	b.clock.Advance(25 * time.Hour)
	b.works()
	b.failed(id, codeNoVerdict)
	b.paid(0)
}

func TestAShareIsRoundedUpAndNeverMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		whole       app.Amount
		seconds, of int
		want        app.Amount
	}{
		{800, 3, 8, 300}, {100, 1, 3, 34}, {100, 0, 3, 0}, {100, 5, 3, 100}, {0, 1, 2, 0}, {1 << 62, 1, 2, 1 << 61},
	} {
		if got := share(c.whole, c.seconds, c.of); got != c.want {
			t.Errorf("%d of %d seconds of %d cost %d, want %d", c.seconds, c.of, c.whole, got, c.want)
		}
	}
}

func TestAClaimReadsAnIndexAndNoEndedJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill(5000, `completed`)
	b.fill(1000, `queued`)
	_, err := b.db.ExecContext(t.Context(), `analyze video_jobs`)
	b.must(err)
	now := b.service.now()
	var plan []string
	b.must(b.db.SelectContext(t.Context(), &plan, `explain `+claimQuery, now, now, false, pq.Array([]string{}), looksMax, now.Add(claimMax),
		pq.Array([]string{"meridian", "alpine"}), now))
	text := strings.Join(plan, "\n")
	if !strings.Contains(text, "video_jobs_due") || strings.Contains(text, "Seq Scan on video_jobs") {
		t.Errorf("a claim reads more than what is due:\n%s", text)
	}
}

// fill makes many jobs at once, without holds.
func (b *bench) fill(n int, state string) {
	b.Helper()
	_, err := b.db.ExecContext(b.Context(), `
		insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, provider, style, upstream_model, upstream_id,
			state, progress, rate_card_id, hold_nanos, cost_nanos, due_at, deadline_at, created_at, completed_at, expires_at)
		select 'video_' || $2::text || n, $1, '', '', 'test/film', 'many', '1280x720', 8, 'meridian', 'videos', 'up-film', $2::text || n,
			$2::text, case when ended then 100 else 0 end, 'card', 0, case when ended then 0 end,
			case when ended then $3::timestamptz + interval '30 days' else $3::timestamptz - n * interval '1 millisecond' end,
			$3::timestamptz + interval '1 day', $3, case when ended then $3::timestamptz end, case when ended then $3::timestamptz + interval '30 days' end
		from generate_series(1, $4) n, (select $2::text = 'completed' as ended) e`, b.account, state, b.service.now(), n)
	b.must(err)
}

// BenchmarkPass is one look at a thousand running jobs of one provider, none of which has anything new.
func BenchmarkPass(b *testing.B) {
	const jobs = 1000
	h := setup(b, func(o *Options) { o.Waits.PollMin, o.Waits.PollMax = time.Hour, time.Hour })
	if err := h.ledger.Grant(b.Context(), h.db, billing.Grant{
		AccountID: h.account, Kind: billing.Promotional, Amount: jobs * price, Source: "bench",
	}); err != nil {
		b.Fatal(err)
	}
	for i := range jobs {
		h.sent("test/film", simulate("render=hold", fmt.Sprint("running ", i)))
	}
	h.works()
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		_, err := h.db.ExecContext(b.Context(), `update video_jobs set due_at = $1`, h.service.now())
		h.must(err)
		b.StartTimer()
		if done, err := h.service.Work(b.Context()); err != nil || done != jobs {
			b.Fatalf("%d jobs were looked at: %v", done, err)
		}
	}
	h.books()
}
