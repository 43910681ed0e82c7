package account

import (
	"context"
	"time"

	"umg/app/postgres"
	"umg/app/seal"
)

// linkRow is a link as the table holds it, beside the address that its user has now.
type linkRow struct {
	UserID    string     `db:"user_id"`
	Email     string     `db:"email"`
	Current   string     `db:"current"`
	ExpiresAt time.Time  `db:"expires_at"`
	UsedAt    *time.Time `db:"used_at"`
}

// useLink ends a link that is still good and returns whose address it proves. It reports false for any other.
func useLink(ctx context.Context, q postgres.Queryer, f seal.Fingerprint, now time.Time) (userID string, used bool, err error) {
	var ids []string
	err = q.SelectContext(ctx, &ids, `
		select u.id from email_links l join users u on u.id = l.user_id where l.token_hash = $1 for no key update of u`, f[:])
	if err != nil || len(ids) == 0 { // The query has locked the user, because several links of one user may be opened at the same time.
		return "", false, err
	}
	ids = ids[:0]
	err = q.SelectContext(ctx, &ids, `
		update email_links l set used_at = $2 from users u
		where l.token_hash = $1 and l.used_at is null and l.expires_at > $2 and u.id = l.user_id and u.email = l.email
		returning l.user_id`, f[:], now)
	if err != nil || len(ids) == 0 {
		return "", false, err
	}
	return ids[0], true, nil
}

// setVerified marks the user's address as theirs and every link to it as used. It reports whether this was the first proof.
func setVerified(ctx context.Context, q postgres.Queryer, userID string, now time.Time) (first bool, err error) {
	return postgres.Changed(q.ExecContext(ctx, `
		with ended as (update email_links set used_at = $2 where user_id = $1 and used_at is null)
		update users set verified_at = $2 where id = $1 and verified_at is null`, userID, now))
}

// liveKeys are the ids of keys that were not deleted.
func liveKeys(ctx context.Context, q postgres.Queryer, accountID string, limit int) ([]string, error) {
	return postgres.Select[string](ctx, q, `
		select id from api_keys where account_id = $1 and deleted_at is null order by id limit $2`, accountID, limit)
}

func deleteOldLinks(ctx context.Context, q postgres.Queryer, now time.Time, limit int) (int64, error) {
	return postgres.ChangedRows(q.ExecContext(ctx, `
		delete from email_links where token_hash in (
			select token_hash from email_links where expires_at < $1 limit $2 for update skip locked)`, now.Add(-linkKeptMax), limit))
}
