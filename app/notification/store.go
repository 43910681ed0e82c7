package notification

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

func readIDs(ctx context.Context, q postgres.Queryer, r Reader) (seen []string, err error) {
	err = q.GetContext(ctx, (*pq.StringArray)(&seen), `
		select seen from notification_reads where user_id = $1 and account_id = $2`, r.UserID, r.AccountID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return seen, err
}

func saveReadIDs(ctx context.Context, q postgres.Queryer, r Reader, ids []string, now time.Time) error {
	return postgres.Exec(ctx, q, `
		insert into notification_reads (user_id, account_id, seen, read_at) values ($1, $2, $3, $4)
		on conflict (user_id, account_id) do update set seen = excluded.seen, read_at = excluded.read_at`,
		r.UserID, r.AccountID, pq.Array(ids), now)
}

type preferenceRow struct {
	Event     Event `db:"event"`
	ByMail    bool  `db:"by_mail"`
	InConsole bool  `db:"in_console"`
}

func preferencesOf(ctx context.Context, q postgres.Queryer, r Reader) ([]preferenceRow, error) {
	return postgres.Select[preferenceRow](ctx, q, `
		select event, by_mail, in_console from notification_preferences where user_id = $1 and account_id = $2`, r.UserID, r.AccountID)
}

func savePreference(ctx context.Context, q postgres.Queryer, r Reader, e Event, c Preference) error {
	return postgres.Exec(ctx, q, `
		insert into notification_preferences (user_id, account_id, event, by_mail, in_console) values ($1, $2, $3, $4, $5)
		on conflict (user_id, account_id, event) do update set by_mail = excluded.by_mail, in_console = excluded.in_console`,
		r.UserID, r.AccountID, string(e), c.ByMail, c.InConsole)
}
