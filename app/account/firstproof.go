package account

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// Until an address is verified, whoever signed up with it may not be its owner. So little can be made before, and the first
// proof ends all of it.

// unprovenKeysMax is how many keys an account may have while its user's address is not verified.
const unprovenKeysMax = 1

// needsVerified refuses something to a user whose address is not verified. A server that sends no mail verifies nobody, and
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

// mayMakeKey refuses a user whose address is not verified more than one key, and a key that makes others.
func (s *Service) mayMakeKey(ctx context.Context, tx *sqlx.Tx, p app.Principal, spec KeySpec) error {
	if !s.Verifies() || p.UserID == "" {
		return nil
	}
	if _, err := lockPerson(ctx, tx, p.UserID); err != nil { // so that two requests at once make no two keys
		return personError(err)
	}
	keys, err := liveKeys(ctx, tx, p.AccountID, unprovenKeysMax)
	if err != nil {
		return err
	}
	if rightsOf(spec.Scopes).Has(app.ManageKeys) {
		return s.needsVerified(ctx, tx, p.UserID, "make a key that manages the account")
	}
	if len(keys) >= unprovenKeysMax {
		return s.needsVerified(ctx, tx, p.UserID, "make more than one key")
	}
	return nil
}

// endUnproven ends what was made before the user's address was verified for the first time: their sessions and second step, and
// the keys and open invitations of the accounts that nobody else owns. It may all be the work of somebody who signed up with
// an address that is not theirs.
func (s *Service) endUnproven(ctx context.Context, tx *sqlx.Tx, userID string, from app.Origin, now time.Time) error {
	if _, err := deleteOtherSessions(ctx, tx, userID, ""); err != nil {
		return err
	}
	if err := deleteTOTP(ctx, tx, userID); err != nil {
		return err
	}
	accounts, err := accountsOwnedAlone(ctx, tx, userID)
	if err != nil {
		return err
	}
	for _, id := range accounts {
		p := app.Principal{AccountID: id, UserID: userID, From: from}
		if err := s.endUnprovenKeys(ctx, tx, p); err != nil {
			return err
		}
		if err := s.endUnprovenInvitations(ctx, tx, p, now); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) endUnprovenKeys(ctx context.Context, tx *sqlx.Tx, p app.Principal) error {
	ids, err := liveKeys(ctx, tx, p.AccountID, keysMax)
	if err != nil {
		return err
	}
	for _, id := range ids {
		k, budget, err := lockKey(ctx, tx, p.AccountID, id)
		if err != nil {
			return err
		}
		if err := s.endKey(ctx, tx, p, k, budget); err != nil {
			return err
		}
		if err := s.audit.Write(ctx, tx, p, audit.Event{Action: "key.deleted", Object: k.ID, Name: k.Name}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) endUnprovenInvitations(ctx context.Context, tx *sqlx.Tx, p app.Principal, now time.Time) error {
	open, err := invitationsOf(ctx, tx, p.AccountID, "", invitationsMax)
	if err != nil {
		return err
	}
	for _, i := range open {
		if _, err := endInvitation(ctx, tx, p.AccountID, i.ID, "revoked", now); err != nil {
			return err
		}
		if err := s.audit.Write(ctx, tx, p, audit.Event{Action: "invitation.revoked", Object: i.ID, Name: i.Email}); err != nil {
			return err
		}
	}
	return nil
}
