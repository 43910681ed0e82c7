package account

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/app/seal"
)

const (
	toldAccountsMax = 1000 // The audit logs of this many accounts record a change.
	resetAgeMax     = time.Hour
	emailAgeMax     = 24 * time.Hour
	resetPath       = "/console/reset?token="
	emailPath       = "/console/email?token="
	forgotPath      = "/console/forgot"
)

// These limits bound guesses of secrets and requests for mails. Limits of a user count requests from every address, because a
// guesser there is already signed in or knows the password.
var (
	ownPassword  = rule{scope: "own_password", free: 5, first: time.Second, most: 15 * time.Minute, window: 24 * time.Hour}
	secondStep   = rule{scope: "second_step", free: 5, first: time.Second, most: 15 * time.Minute, window: 24 * time.Hour}
	resetPair    = rule{scope: "reset_pair", free: 3, first: time.Minute, most: 6 * time.Hour, window: 24 * time.Hour}
	resetEmail   = rule{scope: "reset_email", free: 6, first: time.Minute, most: time.Hour, window: 24 * time.Hour}
	resetIP      = rule{scope: "reset_ip", free: 30, first: time.Minute, most: time.Hour, window: time.Hour}
	changedEmail = rule{scope: "changed_email", free: 3, first: time.Minute, most: 6 * time.Hour, window: 24 * time.Hour}
)

// person reads how a user signs in.
func (s *Service) person(ctx context.Context, userID string) (personRow, error) {
	r, err := personByID(ctx, s.db, userID)
	return r, personError(err)
}

// personError is the error for a signed-in user whose record cannot be read, or was removed.
func personError(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return app.Errorf(app.NotFound, "user_not_found", "There is no such user.")
	}
	return postgres.StoreError("account: read user", err)
}

// proved is the user once they have given their own password again.
func (s *Service) proved(ctx context.Context, userID, password string) (personRow, error) {
	one := ownPassword.of(userID)
	if err := s.throttle.admit(ctx, one); err != nil {
		return personRow{}, postgres.StoreError("account: count tries", err)
	}
	r, err := s.person(ctx, userID)
	if err != nil {
		return r, err
	}
	hash := r.Hash
	if len(password) > passwordBytesMax {
		password, hash = password[:passwordBytesMax], ""
	}
	same, err := s.passwords.matches(ctx, password, hash)
	if err != nil {
		return r, err
	}
	if !same {
		return r, app.Errorf(app.Invalid, "wrong_password", "That is not your password.").At("current_password")
	}
	return r, postgres.StoreError("account: count tries", forgetTries(ctx, s.db, one))
}

// change does something to a user in one transaction: what is done, the entries in the audit logs of all their accounts,
// and the letter about it where mails are sent.
func (s *Service) change(ctx context.Context, p app.Principal, e audit.Event, do func(*sqlx.Tx, personRow) error) error {
	return postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		who, err := lockPerson(ctx, tx, p.UserID)
		if err != nil {
			return personError(err)
		}
		if err := s.LockActor(ctx, tx, p); err != nil {
			return err
		}
		if err := do(tx, who); err != nil {
			return err
		}
		e.Object, e.Name = who.ID, who.Email
		return s.noteEverywhere(ctx, tx, p, e)
	})
}

// noteEverywhere writes an entry into the log of every account of the user.
func (s *Service) noteEverywhere(ctx context.Context, q postgres.Queryer, p app.Principal, e audit.Event) error {
	ids, err := postgres.Select[string](ctx, q, `
		select account_id from memberships where user_id = $1 order by created_at, account_id limit $2`, p.UserID, toldAccountsMax)
	if err != nil {
		return err
	}
	for _, id := range ids {
		p.AccountID = id
		if err := s.audit.Write(ctx, q, p, e); err != nil {
			return err
		}
	}
	return nil
}

// notice tells a user by mail what was changed about how they sign in, and what to do if it was not them.
func (s *Service) notice(ctx context.Context, q postgres.Queryer, p app.Principal, to, title, kind string, more ...string) error {
	if s.o.Mail == nil {
		return nil
	}
	when := "This was done on " + s.o.Now().UTC().Format("2 January 2006 at 15:04 UTC")
	if p.From.IP != "" {
		when += " from the address " + p.From.IP
	}
	l := mail.Template{
		Title: title, Paragraphs: append([]string{when + "."}, more...),
		Footer: "If this was not you, set a new password at once at " + s.o.BaseURL + forgotPath +
			", and tell the operator of this server.",
	}
	m, err := l.To(to, title, kind)
	if err != nil {
		return err
	}
	return s.o.Mail.Send(ctx, q, m)
}

// newToken draws what a link carries, and what is kept of it.
func (s *Service) newToken() (string, seal.Fingerprint, error) {
	token := make([]byte, tokenBytes)
	if _, err := io.ReadFull(s.o.Random, token); err != nil {
		return "", seal.Fingerprint{}, fmt.Errorf("account: draw a link: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(token), sha256.Sum256(token), nil
}

// changeLink reads a link that changes how a user signs in, and refuses an invalid or expired one.
func (s *Service) changeLink(ctx context.Context, q postgres.Queryer, token string, toEmail bool) (changeRow, seal.Fingerprint, error) {
	f, err := linkFingerprint(token)
	if err != nil {
		return changeRow{}, f, err
	}
	row, err := postgres.Get[changeRow](ctx, q, `
		select l.user_id, l.email, l.new_email, u.email as current, l.expires_at, l.used_at
		from change_links l join users u on u.id = l.user_id where l.token_hash = $1`, f[:])
	if errors.Is(err, sql.ErrNoRows) || err == nil && (row.NewEmail != nil) != toEmail {
		return changeRow{}, f, errLinkUnknown()
	}
	if err != nil {
		return row, f, postgres.StoreError("account: read link", err)
	}
	return row, f, row.refuse(s.o.Now())
}

// refuse says why a link cannot be used, if it cannot.
func (r changeRow) refuse(now time.Time) error {
	lasted := "1 hour"
	if r.NewEmail != nil {
		lasted = "24 hours"
	}
	switch {
	case r.UsedAt != nil:
		return app.Errorf(app.Conflict, "link_used", "This link was used, or another change has made it void. Ask for a new one if you need it.")
	case r.Email != r.Current:
		return app.Errorf(app.Conflict, "link_void", "The e-mail address of the account has changed since this link was made.")
	case !now.Before(r.ExpiresAt):
		return app.Errorf(app.Conflict, "link_expired", "This link has expired: it worked for %s. Ask for a new one.", lasted)
	}
	return nil
}

// errNoMail refuses what takes a mail.
func errNoMail() error {
	return app.Errorf(app.Conflict, "no_mail", "This server sends no mail. Ask its operator.")
}
