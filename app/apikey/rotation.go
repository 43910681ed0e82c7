package apikey

import (
	"context"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// EndOldSecret ends the secret of before the last rotation ahead of its time. Where it is over already, nothing changes.
// Every replica knows within a second.
func (s *Service) EndOldSecret(ctx context.Context, p app.Principal, id string) error {
	return s.changeKey(ctx, p, id, "end old secret", func(tx *sqlx.Tx, k Key) (audit.Event, error) {
		if k.Secret.PreviousUntil == nil || !k.Secret.PreviousUntil.After(s.o.Now()) {
			return audit.Event{}, nil
		}
		return audit.Event{Action: "key.updated", Changes: audit.Changed(
			audit.Change{Field: "old_secret_until", From: momentOf(k.Secret.PreviousUntil), To: momentOf(nil)},
		)}, endPrevious(ctx, tx, p.AccountID, k.ID)
	})
}

func endPrevious(ctx context.Context, q postgres.Queryer, accountID, id string) error {
	return postgres.Exec(ctx, q, `
		update api_keys set previous_hash = null, previous_until = null, previous_last_four = null, previous_used_at = null
		where account_id = $1 and id = $2 and deleted_at is null`, accountID, id)
}
