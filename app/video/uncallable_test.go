package video

import (
	"log/slog"
	"testing"
	"time"

	"umg/app/catalog"
)

// blind is a replica without the credentials of any provider.
func (b *bench) blind() *Service {
	b.Helper()
	seen, err := catalog.Open(b.Context(), b.db, catalog.Options{
		Now: b.clock.Now, Log: slog.New(slog.DiscardHandler), Secrets: func(string) (string, bool) { return "", false },
	})
	b.must(err)
	o := b.o
	defer func() { b.o = o }()
	return b.replica(func(o *Options) { o.Snapshot = seen.Snapshot })
}

// TestJobsOfAProviderThatCannotBeCalledAreLeftToOtherReplicas gives the jobs of a healthy replica to one whose environment
// lacks the providers' credentials.
func TestJobsOfAProviderThatCannotBeCalledAreLeftToOtherReplicas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	blind := b.blind()
	id := b.sent("test/film", "a quiet harbour")
	for range 3 {
		done, err := blind.Work(t.Context())
		b.must(err)
		if r := b.row(id); done != 0 || r.ClaimedUntil != nil || r.Tries != 0 || r.State != Queued {
			t.Fatalf("the replica worked on what it cannot ask for: %d steps, %+v", done, r)
		}
		b.clock.Advance(time.Second)
	}
	if stats := blind.Stats(); stats.Faults != 0 || stats.CopyFaults != 0 {
		t.Fatalf("failed looks at the provider: %+v", stats)
	}
	b.until(id, Completed, time.Second)
	b.paid(price)

	made := b.sent("test/film", "a lighthouse")
	_, err := b.db.ExecContext(t.Context(), `update video_jobs set state = 'storing' where id = $1`, made)
	b.must(err)
	if done, err := blind.Work(t.Context()); err != nil || done != 0 {
		t.Fatalf("the replica fetched content that it cannot fetch: %d, %v", done, err)
	}
}

// TestJobsThatNoReplicaCanAskForEndAfterTheirDeadline lets the credit of a job go, though later than a replica would that can
// still ask its provider.
func TestJobsThatNoReplicaCanAskForEndAfterTheirDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	blind := b.blind()
	now := b.service.now()
	fresh := b.sent("test/film", "a harbour", func(r *jobRow) { r.DeadlineAt = now.Add(-othersMax / 2) })
	old := b.sent("test/film", "a lighthouse", func(r *jobRow) { r.DeadlineAt = now.Add(-othersMax - time.Minute) })
	_, err := blind.Work(t.Context())
	b.must(err)
	if r := b.row(fresh); r.State != Queued {
		t.Errorf("a job that others may still ask for is %s", r.State)
	}
	if r := b.row(old); r.State != Failed || r.ErrorCode != codeNoVerdict {
		t.Errorf("a job long after its deadline is %s %s", r.State, r.ErrorCode)
	}
}
