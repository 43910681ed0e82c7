package apikey

import (
	"context"
	"time"

	"umg/app/postgres"
	"umg/app/seal"
)

// lockLeakedKey finds the key that a secret still opens, also when it is the one of before a rotation, and keeps it as it is.
func lockLeakedKey(ctx context.Context, q postgres.Queryer, f seal.Fingerprint, now time.Time) (Key, error) {
	var r keyRow
	err := q.GetContext(ctx, &r, `
		select `+keyColumns+keyBudget+keyMaker+keyFromMaker+`
		where (k.secret_hash = $1 or k.previous_hash = $1 and k.previous_until > $2) and k.deleted_at is null
		for no key update of k`, f[:], now)
	return r.key(), err
}

// setKeyLeaked switches a key off until it has another secret.
func setKeyLeaked(ctx context.Context, q postgres.Queryer, accountID, id string, now time.Time) error {
	return postgres.Exec(ctx, q, `
		update api_keys set disabled_at = coalesce(disabled_at, $3), leaked_at = coalesce(leaked_at, $3)
		where account_id = $1 and id = $2 and deleted_at is null`, accountID, id, now)
}

// inAccount reports whether the owner of an address is a member of an account.
func inAccount(ctx context.Context, q postgres.Queryer, accountID, email string) (bool, error) {
	return postgres.Get[bool](ctx, q, `
		select exists(select from memberships m join users u on u.id = m.user_id where m.account_id = $1 and u.email = $2)`, accountID, email)
}
