package mail

import (
	"testing"
	"time"
)

func TestTheBacklogTellsWhatWaitsAndNamesNoOne(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	now := b.now()
	for _, m := range []struct {
		id       string
		state    State
		at, due  time.Duration
		attempts int
		claimed  bool
	}{
		{"mail_1", Queued, -time.Minute, -time.Minute, 0, false}, {"mail_2", Queued, -time.Hour, time.Minute, 6, false},
		{"mail_3", Queued, -time.Minute, -time.Minute, 1, true}, {"mail_4", Sent, -30 * time.Minute, 0, 1, false},
		{"mail_5", Sent, -2 * time.Hour, 0, 1, false}, {"mail_6", Failed, -2 * time.Hour, 0, 9, false}, {"mail_7", Failed, -25 * time.Hour, 0, 9, false},
		{"mail_8", Kept, -time.Minute, 0, 0, false},
	} {
		_, err := b.db.ExecContext(t.Context(), `
			insert into mails (id, kind, recipient, subject, body_text, state, attempts, due_at, claimed_until, created_at, ended_at)
			values ($1, 'verify_email', 'ada@example.com', 's', 't', $2, $3, case when $2 = 'queued' then $4::timestamptz end,
				case when $5 then $6::timestamptz + interval '1 minute' end, $7, case when $2 <> 'queued' then $7::timestamptz end)`,
			m.id, m.state, m.attempts, now.Add(m.due), m.claimed, now, now.Add(m.at))
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Backlog(t.Context())
	if err != nil || got.Due != 1 || got.Retrying != 1 || got.Sending != 1 || got.Sent != 1 || got.Failed != 1 || got.Delivers {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Oldest == nil || now.Sub(*got.Oldest) != time.Hour || len(got.Trouble) != 1 || got.Trouble[0].ID != "mail_2" || got.Trouble[0].Kind != "verify_email" {
		t.Errorf("the oldest of %v, trouble %+v", got.Oldest, got.Trouble)
	}
}
