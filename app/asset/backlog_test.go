package asset

import (
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
	"umg/app/workqueue"
)

func TestTheBacklogTellsWhatIsNotReadyAndWhatIsToGo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := b.service.now()
	const none = time.Duration(1 << 62)
	for _, a := range []struct {
		id                             string
		made, due, pending, deleted, c time.Duration
	}{
		{"asset_1", -time.Minute, time.Second, none, none, none}, {"asset_2", -2 * time.Hour, time.Second, none, none, none},
		{"asset_3", -3 * time.Hour, -5 * time.Minute, none, -6 * time.Minute, none}, {"asset_4", -3 * time.Hour, -9 * time.Minute, -10 * time.Minute, none, time.Minute},
		{"asset_5", -30 * time.Minute, none, none, none, none}, {"asset_6", -4 * time.Hour, none, none, none, none},
	} {
		at := func(d time.Duration) *time.Time {
			if d == none {
				return nil
			}
			return new(now.Add(d))
		}
		_, err := b.db.ExecContext(t.Context(), `
			insert into assets (id, account_id, kind, name, url, media_type, bytes, width, height, provider, resource_group, upstream_id, pending_at,
				due_at, claimed_until, created_at, updated_at, deleted_at)
			values ($1, $2, 'image', '', 'https://x.example', 'image/png', 1, 1, 1, 'keeper', 'g', 'up', $3, $4, $5, $6, $6, $7)`,
			a.id, b.me.AccountID, at(a.pending), at(a.due), at(a.c), now.Add(a.made), at(a.deleted))
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.service.Backlog(t.Context())
	if err != nil || got.Following != 2 || got.Removing != 2 || got.Working != 1 || got.Settled != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Oldest == nil || now.Sub(*got.Oldest) != 2*time.Hour || got.DueSince == nil || now.Sub(*got.DueSince) != 5*time.Minute {
		t.Errorf("the oldest of %v, due since %v", got.Oldest, got.DueSince)
	}
	if len(got.Trouble) != 2 || got.Trouble[0].ID != "asset_2" || got.Trouble[0].Removing || got.Trouble[1].ID != "asset_3" || !got.Trouble[1].Removing {
		t.Errorf("trouble: %+v", got.Trouble)
	}
	jobs := b.service.Jobs()
	counts, err := jobs.Count(t.Context())
	if err != nil || counts.Waiting != 3 || counts.Working != 1 {
		t.Errorf("%+v, %v", counts, err)
	}
	err = postgres.InTx(t.Context(), b.db, func(tx *sqlx.Tx) error {
		job, err := jobs.RetryNow(t.Context(), tx, "asset_2")
		if job.Kind != "follow at keeper" || job.AccountID != b.me.AccountID {
			t.Errorf("%+v", job)
		}
		return err
	})
	if list, _, errList := jobs.List(t.Context(), workqueue.JobQuery{}); err != nil || errList != nil || len(list) != 4 || list[0].ID != "asset_2" ||
		list[0].DueAt.After(b.service.now()) {
		t.Errorf("%+v, %v, %v", list, err, errList)
	}
}
