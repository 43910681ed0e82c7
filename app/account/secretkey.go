package account

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"

	"umg/app/postgres"
	"umg/app/seal"
)

// ErrSecretKey is returned for a key that is not the one which the secrets in the database are sealed with.
var ErrSecretKey = errors.New("account: the secrets in the database are sealed with another key")

// secretKeyCheck is what the database holds of a key.
func secretKeyCheck(key [32]byte) []byte { return seal.Derive(key, "umg secret key check") }

// CheckSecretKey returns ErrSecretKey when the database has taken another key. A database without a key takes this one, so
// of several replicas that start on a new database at once, the first decides.
func CheckSecretKey(ctx context.Context, q postgres.Queryer, key [32]byte) error {
	mine := secretKeyCheck(key)
	if _, err := q.ExecContext(ctx, `insert into secret_key (check_value) values ($1) on conflict do nothing`, mine); err != nil {
		return fmt.Errorf("account: store the check value of the secret key: %w", err)
	}
	var taken []byte
	if err := q.GetContext(ctx, &taken, `select check_value from secret_key`); err != nil {
		return fmt.Errorf("account: read the check value of the secret key: %w", err)
	}
	if subtle.ConstantTimeCompare(mine, taken) == 0 {
		return ErrSecretKey
	}
	return nil
}

// ReplaceSecretKey makes the database take another key, for an operator who has lost the one before. What was sealed with
// that one can no longer be read.
func ReplaceSecretKey(ctx context.Context, q postgres.Queryer, key [32]byte) error {
	_, err := q.ExecContext(ctx, `insert into secret_key (check_value) values ($1)
		on conflict (only_row) do update set check_value = excluded.check_value, taken_at = now()`, secretKeyCheck(key))
	if err != nil {
		return fmt.Errorf("account: replace the check value of the secret key: %w", err)
	}
	return nil
}
