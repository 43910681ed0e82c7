package account

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"umg/app"
	"umg/app/postgres"
)

const limitFactorMax = 1_000_000

// Resolve returns the id of an account that is named by its id or by its owner's e-mail address.
func (s *Service) Resolve(ctx context.Context, name string) (string, error) {
	id, err := accountNamed(ctx, s.db, strings.ToLower(strings.TrimSpace(name)))
	if errors.Is(err, sql.ErrNoRows) {
		return "", app.Errorf(app.NotFound, "account_not_found", "There is no account %s, by id or by its owner's e-mail address.", name)
	}
	return id, storeError("find account", err)
}

// SetLimitFactor multiplies the usual limits of an account. Running servers follow within a second.
func (s *Service) SetLimitFactor(ctx context.Context, accountID string, factor int) error {
	if factor < 1 || factor > limitFactorMax {
		return invalid("factor", "The factor is between 1 and %d.", limitFactorMax)
	}
	found, err := setLimitFactor(ctx, s.db, accountID, factor)
	if err == nil && !found {
		return app.Errorf(app.NotFound, "account_not_found", "There is no such account.")
	}
	return storeError("set limits", err)
}

func accountNamed(ctx context.Context, q postgres.Queryer, name string) (id string, err error) {
	err = q.GetContext(ctx, &id, `
		select id from accounts where id = $1
		union all
		select m.account_id from memberships m join users u on u.id = m.user_id where u.email = $1 and m.role = 'owner'
		limit 1`, name)
	return id, err
}

func setLimitFactor(ctx context.Context, q postgres.Queryer, accountID string, factor int) (bool, error) {
	done, err := q.ExecContext(ctx, `update accounts set limit_factor = $2 where id = $1`, accountID, factor)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n == 1, err
}
