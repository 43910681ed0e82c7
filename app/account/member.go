package account

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// Limits of accounts and their members.
const (
	accountNameChars = 80
	membershipsMax   = 100 // accounts of one user
)

// Membership is an account that a user is a member of.
type Membership struct {
	AccountID string    `db:"account_id"`
	Name      string    `db:"name"`
	Role      Role      `db:"role"`
	JoinedAt  time.Time `db:"created_at"`
}

// Memberships lists the accounts of a user, the one joined first before the others.
func (s *Service) Memberships(ctx context.Context, userID string) ([]Membership, error) {
	list, err := membershipsOf(ctx, s.db, userID)
	return list, storeError("list memberships", err)
}

// accountNameFor is what a new account of a user is called until somebody renames it.
func accountNameFor(email string) string {
	name, _ := splitEmail(email)
	const ending = "'s account"
	if most := accountNameChars - len(ending); utf8.RuneCountInString(name) > most {
		name = string([]rune(name)[:most])
	}
	return name + ending
}

// checkAccountName trims a name and refuses what cannot be one.
func checkAccountName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > accountNameChars || !printable(name) {
		return "", invalid("name", "A name has between 1 and %d printable characters.", accountNameChars)
	}
	return name, nil
}

// accountsOwnedMax bounds how many accounts one user may make.
const accountsOwnedMax = 10

// OpenAccount makes another account that the principal's user owns.
func (s *Service) OpenAccount(ctx context.Context, p app.Principal, name string) (Membership, error) {
	name, err := checkAccountName(name)
	if err != nil {
		return Membership{}, err
	}
	m := Membership{AccountID: s.o.IDs.New("acct"), Name: name, Role: Owner, JoinedAt: s.o.Now().UTC()}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		made, err := insertOwnedAccount(ctx, tx, p.UserID, m)
		if err != nil {
			return err
		}
		if !made {
			return app.Errorf(app.Conflict, "too_many_accounts", "One person owns at most %d accounts. Use one of yours, or delete one.",
				accountsOwnedMax).At("name")
		}
		return s.ledger.OpenAccount(ctx, tx, m.AccountID)
	})
	return m, storeError("make account", err)
}
