package webhook

import (
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/app/workqueue"
)

func TestTheBacklogCountsWaitingHeldAndUnsentDeliveries(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	now := b.now()
	for _, e := range []struct{ id, change string }{
		{"whe_open", ""}, {"whe_busy", ""}, {"whe_off", `status = 'disabled', disabled_reason = 'user', disabled_at = now()`},
		{"whe_paused", `paused_until = now() + interval '1 day'`},
	} {
		b.exec(`insert into webhook_endpoints (id, account_id, name, url, event_types, secret, secret_hint, created_at, updated_at)
			values ($1, $2, 'e', 'https://x.example', '{video.completed}', 'x', 'x', $3, $3)`, e.id, b.account.AccountID, now)
		if e.change != "" {
			b.exec(`update webhook_endpoints set `+e.change+` where id = $1`, e.id)
		}
	}
	for _, d := range []struct {
		id, endpoint string
		state        State
		due          time.Duration
		tries        int
		claimed      bool
	}{
		{"whd_1", "whe_open", Pending, -3 * time.Minute, 0, false}, {"whd_2", "whe_open", Pending, -time.Minute, 0, false},
		{"whd_3", "whe_open", Pending, time.Hour, 4, false}, {"whd_4", "whe_busy", Pending, -9 * time.Minute, 0, true},
		{"whd_5", "whe_busy", Pending, -30 * time.Second, 1, false}, {"whd_6", "whe_off", Pending, -time.Hour, 0, false},
		{"whd_7", "whe_paused", Pending, -time.Hour, 0, false}, {"whd_8", "whe_open", Delivered, -30 * time.Minute, 0, false},
		{"whd_9", "whe_open", Delivered, -2 * time.Hour, 0, false}, {"whd_a", "whe_open", Failed, -2 * time.Hour, 9, false},
		{"whd_b", "whe_open", Failed, -25 * time.Hour, 9, false},
	} {
		b.exec(`insert into webhook_events (id, account_id, type, object_id, body, created_at) values ($1, $2, 'video.completed', $1, 'x', $3)`,
			"evt_"+d.id, b.account.AccountID, now)
		b.exec(`insert into webhook_deliveries (id, account_id, event_id, endpoint_id, state, tries, due_at, claimed_until, created_at, updated_at)
			values ($1, $2, $3, $4, $5, $6, case when $5 = 'pending' then $7::timestamptz end,
				case when $8 then $9::timestamptz + interval '1 minute' end, $9::timestamptz - interval '1 day', $7)`,
			d.id, b.account.AccountID, "evt_"+d.id, d.endpoint, d.state, d.tries, now.Add(d.due), d.claimed, now)
	}
	got, err := b.Backlog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Pending != 7 || got.Due != 3 || got.Sending != 1 || got.Retrying != 1 || got.Held != 2 || got.Delivered != 1 || got.Failed != 1 {
		t.Errorf("%+v", got)
	}
	if got.DueSince == nil || now.Sub(*got.DueSince) != 3*time.Minute || got.Oldest == nil || now.Sub(*got.Oldest) != 24*time.Hour {
		t.Errorf("due since %v, the oldest of %v", got.DueSince, got.Oldest)
	}
	if len(got.Trouble) != 1 || got.Trouble[0].ID != "whd_1" { // each endpoint has a single delivery here, and only overdue ones are listed
		t.Errorf("trouble: %+v", got.Trouble)
	}
	jobs := b.Jobs()
	counts, err := jobs.Count(t.Context())
	if err != nil || counts.Waiting != 6 || counts.Working != 1 || counts.Failing != 2 {
		t.Errorf("%+v, %v", counts, err)
	}
	list, _, err := jobs.List(t.Context(), workqueue.JobQuery{State: workqueue.JobGivenUp})
	if err != nil || len(list) != 1 || list[0].ID != "whd_a" || list[0].Kind != "video.completed" {
		t.Errorf("%+v, %v", list, err)
	}
	for id, kind := range map[string]app.Kind{"whd_4": app.Conflict, "whd_6": app.Conflict, "whd_8": app.NotFound} {
		if err := retryNow(t, b, id); app.KindOf(err) != kind {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{"whd_3", "whd_7", "whd_a"} { // A retry ends the pause of the endpoint, and what was given up goes on.
		must(t, retryNow(t, b, id))
		if job, err := jobs.Find(t.Context(), id); err != nil || job.Step != "pending" || job.DueAt.After(b.now()) {
			t.Errorf("%s: %+v, %v", id, job, err)
		}
	}
}

func retryNow(t *testing.T, b *bench, id string) error {
	t.Helper()
	return postgres.InTx(t.Context(), b.db, func(tx *sqlx.Tx) error {
		_, err := b.Jobs().RetryNow(t.Context(), tx, id)
		return err
	})
}
