package video

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// job puts a job of a state into the store, whose next step is due then.
func (b *bench) job(id, provider string, state State, due time.Time, tries int, ended string) {
	b.Helper()
	_, err := b.db.Exec(`
		insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, provider, style, upstream_model, state, progress,
			error_code, rate_card_id, hold_nanos, cost_nanos, due_at, tries, deadline_at, created_at, completed_at)
		values ($1, $2, '', '', 'm', 'p', '1x1', 4, $3, 'videos', 'm', $4, case when $4 = 'completed' then 100 else 0 end,
			case when $4 = 'failed' then 'x' else '' end, 'c', 0, case when $8 <> '' then 0 end, $5, $6, $7, $7::timestamptz - interval '1 hour',
			nullif($8, '')::timestamptz)`, id, b.account, provider, state, due, tries, b.service.now(), ended)
	b.must(err)
}

func TestTheBacklogTellsWhatRunsWhatIsLateAndWhatWasWorkedOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := b.service.now()
	past := func(d time.Duration) string { return stamp(now.Add(-d)) }
	b.job("v1", "kestrel", Queued, now.Add(time.Minute), 0, "")
	b.job("v2", "kestrel", InProgress, now.Add(-5*time.Minute), 0, "") // No worker has claimed this job.
	b.job("v3", "kestrel", InProgress, now.Add(-7*time.Minute), 0, "") // A worker has claimed this job.
	b.job("v4", "kestrel", Storing, now.Add(time.Second), unansweredMin, "")
	b.job("v5", "alpine", InProgress, now.Add(-time.Second), unansweredMin-1, "")
	b.job("v6", "alpine", Completed, now.Add(-2*time.Minute), 0, past(time.Minute))
	b.job("v7", "alpine", Failed, now.Add(time.Hour), 0, past(time.Minute))
	b.job("v8", "alpine", Completed, now.Add(time.Hour), 0, past(2*time.Hour))
	if _, err := b.db.Exec(`update video_jobs set claimed_until = $1 where id = 'v3'`, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got, err := b.service.Backlog(t.Context())
	b.must(err)
	if len(got.Providers) != 2 {
		t.Fatalf("%+v", got.Providers)
	}
	alpine, kestrel := got.Providers[0], got.Providers[1]
	if alpine.Running != 1 || alpine.Unanswered != 0 || alpine.DueSince == nil || now.Sub(*alpine.DueSince) != time.Second {
		t.Errorf("alpine: %+v", alpine)
	}
	if kestrel.Queued != 1 || kestrel.Running != 2 || kestrel.Storing != 1 || kestrel.Unanswered != 1 || kestrel.DueSince == nil ||
		now.Sub(*kestrel.DueSince) != 5*time.Minute {
		t.Errorf("kestrel: %+v", kestrel)
	}
	if got.Removals != 1 || got.RemovalsSince == nil || now.Sub(*got.RemovalsSince) != 2*time.Minute || got.Completed != 1 || got.Failed != 1 {
		t.Errorf("%d removals since %v, %d completed, %d failed", got.Removals, got.RemovalsSince, got.Completed, got.Failed)
	}
	if len(got.Trouble) != 2 || got.Trouble[0].ID != "v2" || got.Trouble[0].Unanswered() || got.Trouble[1].ID != "v4" || !got.Trouble[1].Unanswered() {
		t.Errorf("trouble: %+v", got.Trouble)
	}
}

// TestTheBacklogReadsNothingThatEndedLongAgo asks the store how it would look among a hundred times as many jobs that have ended.
func TestTheBacklogReadsNothingThatEndedLongAgo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx, err := b.db.Beginx()
	b.must(err)
	defer func() { _ = tx.Rollback() }()                // Rollback does nothing after the commit.
	_, err = tx.Exec(`set local statement_timeout = 0`) // No request writes this much at once.
	b.must(err)
	for first := 1; first <= 20_000; first += 2000 { // On a busy database, one statement for all rows could exceed the read timeout.
		_, err = tx.Exec(`
		insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, provider, style, upstream_model, state, progress,
			rate_card_id, hold_nanos, cost_nanos, deadline_at, created_at, completed_at)
		select 'v' || n, $1, '', '', 'm', 'p', '1x1', 4, 'p', 'videos', 'm', case when n % 200 = 0 then 'queued' else 'completed' end,
			case when n % 200 = 0 then 0 else 100 end, 'c', 0, case when n % 200 <> 0 then 0 end, now(), now(),
			case when n % 200 <> 0 then now() - n * interval '1 hour' end
		from generate_series($2::int, $2::int + 1999) n`, b.account, first)
		b.must(err)
	}
	_, err = tx.Exec(`analyze video_jobs`)
	b.must(err)
	b.must(tx.Commit())
	for what, query := range map[string]string{
		"by provider": `select provider from (select * from video_jobs where ` + running + ` limit 100000) j group by provider`,
		"removals": `select count(*) from (select due_at from video_jobs where due_at <= now() and (claimed_until is null or claimed_until <= now())
			and state in ('completed', 'failed') order by due_at limit 100000) j`,
		"ended": `select count(*) from (select state from video_jobs where completed_at > now() - interval '1 hour' limit 100000) j`,
	} {
		var plan []string
		b.must(b.db.Select(&plan, "explain "+query))
		if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan") {
			t.Errorf("%s reads everything:\n%s", what, text)
		}
	}
	if got, err := b.service.Backlog(t.Context()); err != nil || len(got.Providers) != 1 || got.Providers[0].Queued != 100 {
		t.Error(fmt.Sprint(got, err))
	}
}
