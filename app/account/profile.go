package account

import (
	"context"
	"crypto/subtle"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
)

const nameCharsMax = 80

// Profile is what a user may change about themself.
type Profile struct {
	Name      string
	Email     string
	Pending   string     // Pending is the new address that awaits verification.
	ChangedAt *time.Time // ChangedAt is when the password was last changed; it is nil since sign-up.
}

// Profile reads a user's profile.
func (s *Service) Profile(ctx context.Context, userID string) (Profile, error) {
	r, err := s.person(ctx, userID)
	if err != nil {
		return Profile{}, err
	}
	pending, err := pendingEmail(ctx, s.db, userID, s.o.Now().UTC())
	return Profile{Name: r.Name, Email: r.Email, Pending: pending, ChangedAt: r.ChangedAt}, postgres.StoreError("account: read profile", err)
}

// Rename sets what a user calls themself; empty for nothing.
func (s *Service) Rename(ctx context.Context, p app.Principal, name string) error {
	name = strings.Join(strings.Fields(name), " ")
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if utf8.RuneCountInString(name) > nameCharsMax || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable) {
		return app.Errorf(app.Invalid, "invalid_name", "A name has at most %d printable characters.", nameCharsMax).At("name")
	}
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		who, err := lockPerson(ctx, tx, p.UserID)
		if err != nil {
			return personError(err)
		}
		changes := audit.Changed(audit.Change{Field: "name", From: who.Name, To: name})
		if len(changes) == 0 {
			return nil
		}
		if err := postgres.Exec(ctx, tx, `update users set name = $2 where id = $1`, who.ID, name); err != nil {
			return err
		}
		return s.noteEverywhere(ctx, tx, p, audit.Event{Action: "user.renamed", Object: who.ID, Name: who.Email, Changes: changes})
	})
	return postgres.StoreError("account: rename", err)
}

// ChangePassword sets a new password for a user who knows the current one. It ends all of their sessions but the current one.
func (s *Service) ChangePassword(ctx context.Context, p app.Principal, current, next, keepSession string) error {
	who, err := s.person(ctx, p.UserID)
	if err != nil {
		return err
	}
	if err := checkPassword(next, who.Email); err != nil {
		return err
	}
	proof, err := s.proved(ctx, p.UserID, current)
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(current), []byte(next)) == 1 {
		return app.Errorf(app.Invalid, "same_password", "That is the password you have. Choose another one.").At("password")
	}
	hash, err := s.passwords.hash(ctx, next)
	if err != nil {
		return err
	}
	err = s.change(ctx, p, audit.Event{Action: "user.password_changed"}, func(tx *sqlx.Tx, who personRow) error {
		if who.Hash != proof.Hash {
			return errChangedConcurrently()
		}
		return s.putPassword(ctx, tx, p, who, hash, keepSession)
	})
	return postgres.StoreError("account: change password", err)
}

// errChangedConcurrently is the error for a user whose password was replaced by another request after they proved it.
func errChangedConcurrently() error {
	return app.Errorf(app.Conflict, "password_changed", "Your password was changed a moment ago in another place. Sign in again.")
}

// AskEmail sends a link to a new address; opening the link makes it the user's. If the address already belongs to another user, the
// mail says so, and the caller does not learn it.
func (s *Service) AskEmail(ctx context.Context, p app.Principal, password, email string) (string, error) {
	if s.o.Mail == nil {
		return "", errNoMail()
	}
	address, err := normaliseEmail(email)
	if err != nil {
		return "", err
	}
	who, err := s.proved(ctx, p.UserID, password)
	if err != nil {
		return "", err
	}
	if who.Email == address {
		return "", app.Errorf(app.Invalid, "same_email", "That is your address already.").At("email")
	}
	if err := s.throttle.admit(ctx, changedEmail.of(p.UserID), changedEmail.of("to", address)); err != nil {
		return "", postgres.StoreError("account: count links", err)
	}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := s.LockActor(ctx, tx, p); err != nil {
			return err
		}
		return s.sendEmailLink(ctx, tx, who, address)
	})
	return address, postgres.StoreError("account: send link", err)
}

func (s *Service) sendEmailLink(ctx context.Context, tx *sqlx.Tx, who personRow, address string) error {
	token, f, err := s.newToken()
	if err != nil {
		return err
	}
	now := s.o.Now().UTC()
	if err := insertEmailLink(ctx, tx, f, who, address, now, now.Add(emailAgeMax)); err != nil {
		return err
	}
	owner, _, err := userByEmail(ctx, tx, address)
	if err != nil {
		return err
	}
	l := emailLetter(who.Email, address, s.o.BaseURL+emailPath+token)
	if owner.ID != "" {
		l = emailTakenLetter(who.Email, address)
	}
	m, err := l.To(address, l.Title, "change_email")
	if err != nil {
		return err
	}
	return s.o.Mail.Send(ctx, tx, m)
}

func emailLetter(from, to, link string) mail.Template {
	from = mail.ShowAddress(from)
	return mail.Template{
		Title:      "Use this e-mail address to sign in",
		Paragraphs: []string{"Open this link and press the button on its page to sign in with " + to + " instead of " + from + "."},
		Action:     mail.Action{Label: "Use " + to, URL: link},
		Footer:     "The link works once, for 24 hours. If you did not ask for it, ignore this message: nothing happens without it.",
	}
}

func emailTakenLetter(from, to string) mail.Template {
	return mail.Template{
		Title: "This e-mail address is in use",
		Paragraphs: []string{
			mail.ShowAddress(from) + " asked to sign in with " + to + " from now on. Another user has signed up with that address already, " +
				"so nothing was changed.",
		},
		Footer: "If you have both accounts, change the address of the one that has " + to + " first.",
	}
}

// EmailLink looks at a link without using it: the address it replaces, and the one it makes of it.
func (s *Service) EmailLink(ctx context.Context, token string) (from, to string, err error) {
	row, _, err := s.changeLink(ctx, s.db, token, true)
	if err != nil {
		return "", "", err
	}
	return row.Email, *row.NewEmail, nil
}

// ChangeEmail uses a link: its user signs in with the new address, which is verified by that. The old address gets a mail. A reader
// who is not signed in as that user needs the user's password, because the reader of a mailbox may not be the owner of an account
// that another user moves there.
func (s *Service) ChangeEmail(ctx context.Context, p app.Principal, token, password string) (string, error) {
	row, f, err := s.changeLink(ctx, s.db, token, true)
	if err != nil {
		return "", err
	}
	reader, err := s.linkReader(ctx, p, row.UserID, row.Email, password)
	if err != nil {
		return "", err
	}
	to, p := *row.NewEmail, reader.Principal
	changes := audit.Changed(audit.Change{Field: "email", From: row.Email, To: to})
	err = s.change(ctx, p, audit.Event{Action: "user.email_changed", Changes: changes}, func(tx *sqlx.Tx, who personRow) error {
		if err := reader.check(who); err != nil {
			return err
		}
		now := s.o.Now().UTC()
		used, err := useChange(ctx, tx, f, now)
		if err != nil {
			return err
		}
		if !used {
			if _, _, err := s.changeLink(ctx, tx, token, true); err != nil {
				return err
			}
			return errLinkUnknown()
		}
		// From now on the reader of the new address owns the account.
		if s.Verifies() {
			if _, err := s.prove(ctx, tx, who.ID, p.From, now); err != nil {
				return err
			}
		}
		free, err := setEmail(ctx, tx, who.ID, to, now)
		if err != nil {
			return err
		}
		if !free {
			return app.Errorf(app.Conflict, "email_taken", "Another user has signed up with %s already.", to)
		}
		if err := postgres.Exec(ctx, tx, `
			update change_links set used_at = $2 where user_id = $1 and used_at is null and new_email is not null`, who.ID, now); err != nil {
			return err
		}
		return s.notice(ctx, tx, p, who.Email, "Your e-mail address was changed", "email_changed",
			"You now sign in with "+to+" instead of "+who.Email+". No more mail is sent to this address.")
	})
	return to, postgres.StoreError("account: change address", err)
}

// EndSession ends one session of a user, at once and everywhere.
func (s *Service) EndSession(ctx context.Context, p app.Principal, sessionID string) error {
	none := app.Errorf(app.NotFound, "session_not_found", "There is no such session.")
	if !app.ValidID(sessionID) {
		return none
	}
	err := s.change(ctx, p, audit.Event{Action: "user.sessions_ended"}, func(tx *sqlx.Tx, _ personRow) error {
		found, err := postgres.Changed(tx.ExecContext(ctx, `delete from sessions where user_id = $1 and id = $2`, p.UserID, sessionID))
		if err == nil && !found {
			return none
		}
		return err
	})
	return postgres.StoreError("account: end session", err)
}

// EndOtherSessions ends every session of a user but the one to keep, and says how many.
func (s *Service) EndOtherSessions(ctx context.Context, p app.Principal, keepID string) (n int64, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		who, err := lockPerson(ctx, tx, p.UserID)
		if err != nil {
			return personError(err)
		}
		if n, err = deleteOtherSessions(ctx, tx, p.UserID, keepID); err != nil || n == 0 {
			return err
		}
		return s.noteEverywhere(ctx, tx, p, audit.Event{Action: "user.sessions_ended", Object: who.ID, Name: who.Email})
	})
	return n, postgres.StoreError("account: end sessions", err)
}

// Prove checks the password of the signed-in user again, before an action that a stolen session must not take.
func (s *Service) Prove(ctx context.Context, p app.Principal, password string) error {
	_, err := s.proved(ctx, p.UserID, password)
	return err
}
