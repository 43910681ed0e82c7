package contentlog

import (
	"testing"
	"time"
)

func TestTheBacklogTellsWhoseContentIsOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := b.clock.Now()
	for _, c := range []struct {
		account string
		age     time.Duration
		cleared time.Duration // Cleared is the age of the deletion; zero without one.
	}{{"acct_a", 30*24*time.Hour + time.Minute, 0}, {"acct_b", 3 * time.Hour, 2 * time.Hour}, {"acct_c", 3 * time.Hour, 4 * time.Hour}, {"acct_d", time.Hour, 0}} {
		_, err := b.db.Exec(`insert into accounts (id, name, created_at) values ($1, $1, now()) on conflict do nothing`, c.account)
		b.must(err)
		var cleared *time.Time
		if c.cleared > 0 {
			cleared = new(now.Add(-c.cleared))
		}
		_, err = b.db.Exec(`insert into content_log_settings (account_id, keep, days, cleared_at, changed_at) values ($1, 'all', 30, $2, $3)`, c.account, cleared, now)
		b.must(err)
		_, err = b.db.Exec(`
			insert into content_logs (account_id, request_id, key_id, style, at, request, request_bytes, request_cut, answer, answer_bytes,
				answer_cut, streamed, redacted)
			values ($1, 'req_' || $1, '', 'chat', $2, 'q', 1, false, 'a', 1, false, false, 0)`, c.account, now.Add(-c.age))
		b.must(err)
	}
	got, err := b.Backlog(t.Context())
	if err != nil || got.Accounts != 2 || got.DueSince == nil || now.Sub(*got.DueSince) != 2*time.Hour {
		t.Errorf("%+v, %v", got, err)
	}
	if len(got.Trouble) != 1 || got.Trouble[0].AccountID != "acct_b" { // The other account's content expired only a minute ago.
		t.Errorf("trouble: %+v", got.Trouble)
	}
}
