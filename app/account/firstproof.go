package account

import (
	"context"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// Until an address is verified, the user who signed up with it may not be its owner. So an unverified user can make only a little,
// and the first verification ends all of it.

// unprovenKeysMax is how many keys an account may have while its user's address is not verified.
const unprovenKeysMax = 1

// needsVerified refuses an action to a user whose address is not verified. A server that sends no mail cannot verify addresses, and
// refuses nothing.
func (s *Service) needsVerified(ctx context.Context, q postgres.Queryer, userID, doing string) error {
	if !s.Verifies() || userID == "" {
		return nil
	}
	u, err := userByID(ctx, q, userID)
	if err != nil {
		return personError(err)
	}
	if u.Verified {
		return nil
	}
	return app.Errorf(app.Forbidden, "email_unverified",
		"Verify your e-mail address to %s: open the link we sent to %s, or ask for another one.", doing, u.Email).Final()
}

// LockKeyMaker locks the principal who makes a key in a transaction, and refuses a user whose address is not verified more than one
// key, and a key that makes others.
func (s *Service) LockKeyMaker(ctx context.Context, tx *sqlx.Tx, p app.Principal, scopes []app.Scope) error {
	if !s.Verifies() || p.UserID == "" {
		return s.LockActor(ctx, tx, p)
	}
	if _, err := lockPerson(ctx, tx, p.UserID); err != nil { // The lock makes parallel requests share one limit.
		return personError(err)
	}
	if err := s.LockActor(ctx, tx, p); err != nil {
		return err
	}
	keys, err := liveKeys(ctx, tx, p.AccountID, unprovenKeysMax)
	if err != nil {
		return err
	}
	if app.RightsOfScopes(scopes).Has(app.ManageKeys) {
		return s.needsVerified(ctx, tx, p.UserID, "make a key that manages the account")
	}
	if len(keys) >= unprovenKeysMax {
		return s.needsVerified(ctx, tx, p.UserID, "make more than one key")
	}
	return nil
}
