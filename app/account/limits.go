package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

const limitFactorMax = 1_000_000

// Resolve returns the id of an account that is named by its id or by its owner's e-mail address.
func (s *Service) Resolve(ctx context.Context, name string) (string, error) {
	id, err := postgres.Get[string](ctx, s.db, `
		select id from accounts where id = $1
		union all
		select m.account_id from memberships m join users u on u.id = m.user_id where u.email = $1 and m.role = 'owner'
		limit 1`, strings.ToLower(strings.TrimSpace(name)))
	if errors.Is(err, sql.ErrNoRows) {
		return "", app.Errorf(app.NotFound, "account_not_found", "There is no account %s, by id or by its owner's e-mail address.", name)
	}
	return id, postgres.StoreError("account: find account", err)
}

// SetLimitFactor multiplies the usual limits of an account, as its operator says. Running servers follow within a second.
func (s *Service) SetLimitFactor(ctx context.Context, p app.Principal, factor int) error {
	if factor < 1 || factor > limitFactorMax {
		return app.InvalidValue("factor", "The factor is between 1 and %d.", limitFactorMax)
	}
	return setByOperator(ctx, s, p, "limit_factor", factor)
}

// SetUncharged decides whether calls of an account are recorded without a charge, as its operator says. Such an account needs no credit.
// Running servers follow within a second, and calls that run end as they began.
func (s *Service) SetUncharged(ctx context.Context, p app.Principal, uncharged bool) error {
	return setByOperator(ctx, s, p, "uncharged", uncharged)
}

// setByOperator sets a column of an account and writes the change to its audit log. The column is a name of this package.
func setByOperator[T any](ctx context.Context, s *Service, p app.Principal, column string, value T) error {
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		was, err := postgres.Get[T](ctx, tx, `
			with was as (select id, `+column+` from accounts where id = $1 for no key update)
			update accounts a set `+column+` = $2 from was where a.id = was.id returning was.`+column, p.AccountID, value)
		if errors.Is(err, sql.ErrNoRows) {
			return app.Errorf(app.NotFound, "account_not_found", "There is no such account.")
		}
		changes := audit.Changed(audit.Change{Field: column, From: fmt.Sprint(was), To: fmt.Sprint(value)})
		if err != nil || len(changes) == 0 {
			return err
		}
		return s.audit.Write(ctx, tx, p, audit.Event{Action: "account.settings_changed", Operator: true, Changes: changes})
	})
	return postgres.StoreError("account: set "+column, err)
}

// MakeOperator lets the user with this e-mail address run the gateway, and tells the accounts they are a member of.
func (s *Service) MakeOperator(ctx context.Context, from app.Origin, email string) error {
	address, err := normaliseEmail(email)
	if err != nil {
		return err
	}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		was, err := postgres.Get[struct {
			ID       string `db:"id"`
			Operator bool   `db:"operator"`
		}](ctx, tx, `
			with was as (select id, operator from users where email = $1 for no key update)
			update users u set operator = true from was where u.id = was.id returning was.id, was.operator`, address)
		if errors.Is(err, sql.ErrNoRows) {
			return errUnknownUser(address)
		}
		if err != nil || was.Operator {
			return err
		}
		if err := renewSessions(ctx, tx, was.ID); err != nil {
			return err
		}
		return s.noteEverywhere(ctx, tx, app.Principal{UserID: was.ID, From: from}, audit.Event{
			Action: "user.made_operator", Object: was.ID, Name: address, Operator: true,
		})
	})
	return postgres.StoreError("account: make operator", err)
}
