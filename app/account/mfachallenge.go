package account

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// mfaChallenge proves that the password was correct. It is exchanged for a session when the TOTP code is correct.
type mfaChallenge struct {
	user string
	at   time.Time
	mark string // Mark is a fingerprint of the password: a new password voids the ticket.
}

const (
	ticketMax     = 10 * time.Minute
	ticketPurpose = "half sign-in"
)

// markOf tells passwords apart without telling them.
func (v *secretBox) markOf(hash string) (string, error) {
	f, err := v.codeHash("password", hash)
	return fmt.Sprintf("%x", f[:8]), err
}

// issue is the ticket of a user who has a second step, empty for one who has none.
func (s *Service) issue(ctx context.Context, userID, hash string) (string, error) {
	row, err := totpOf(ctx, s.db, userID)
	if err != nil || !row.enabled() {
		return "", postgres.StoreError("account: read second step", err)
	}
	mark, err := s.vault.markOf(hash)
	if err != nil {
		return "", err
	}
	sealed, err := s.vault.lock(fmt.Appendf(nil, "%s %d %s", userID, s.o.Now().Unix(), mark), ticketPurpose)
	return base32.StdEncoding.EncodeToString(sealed), err
}

func errTicket() error {
	return app.Errorf(app.Unauthenticated, "ticket_expired",
		"Signing in took longer than %d minutes. Enter your password again.", ticketMax/time.Minute)
}

func (s *Service) redeem(text string) (t mfaChallenge, err error) {
	sealed, err := base32.StdEncoding.DecodeString(text)
	if err != nil || len(sealed) == 0 {
		return t, errTicket()
	}
	plain, err := s.vault.open(sealed, ticketPurpose)
	if err != nil {
		return t, errTicket()
	}
	parts := strings.Fields(string(plain))
	if len(parts) != 3 {
		return t, errTicket()
	}
	seconds, err := strconv.ParseInt(parts[1], 10, 64)
	if t = (mfaChallenge{user: parts[0], at: time.Unix(seconds, 0), mark: parts[2]}); err != nil || s.o.Now().Sub(t.at) >= ticketMax {
		return t, errTicket()
	}
	return t, nil
}

// FinishSignIn is the second step: the user of a ticket, once a code of theirs was taken.
func (s *Service) FinishSignIn(ctx context.Context, ticket, code string, from app.Origin) (User, error) {
	t, err := s.redeem(ticket)
	if err != nil {
		return User{}, err
	}
	one := secondStep.of(t.user)
	if err := s.throttle.admit(ctx, one); err != nil {
		return User{}, postgres.StoreError("account: count tries", err)
	}
	p, passwordAt := app.Principal{UserID: t.user, From: from}, (*time.Time)(nil)
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		who, err := lockPerson(ctx, tx, t.user)
		if err != nil {
			return personError(err)
		}
		passwordAt = who.ChangedAt
		if mark, err := s.vault.markOf(who.Hash); err != nil || mark != t.mark {
			return errors.Join(err, errTicket())
		}
		recovery, err := s.takeCode(ctx, tx, who.ID, code)
		if err != nil {
			return err
		}
		if err := forgetTries(ctx, tx, one); err != nil || !recovery {
			return err
		}
		return s.noteRecovery(ctx, tx, p, who)
	})
	if err != nil {
		return User{}, postgres.StoreError("account: sign in", err)
	}
	u, err := s.User(ctx, t.user)
	u.PasswordAt = passwordAt // A session needs the version of the password that was proved, even if it has changed since.
	return u, err
}

// noteRecovery tells the user that a recovery code was used, and how many are left.
func (s *Service) noteRecovery(ctx context.Context, tx *sqlx.Tx, p app.Principal, who personRow) error {
	left, err := codesLeft(ctx, tx, who.ID)
	if err != nil {
		return err
	}
	e := audit.Event{Action: "user.code_used", Object: who.ID, Name: who.Email}
	if err := s.noteEverywhere(ctx, tx, p, e); err != nil {
		return err
	}
	return s.notice(ctx, tx, p, who.Email, "A recovery code was used to sign in", "code_used",
		fmt.Sprintf("%d of %d recovery codes are left. You can renew them on the page Security of the settings.", left, recoveryCodes))
}
