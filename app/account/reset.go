package account

import (
	"context"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/app/seal"
)

// AskReset sends a link with which the user of an address sets a new password. The answer, and the work done for it, are the
// same whether or not there is such a user.
func (s *Service) AskReset(ctx context.Context, email, ip string) error {
	if s.o.Mail == nil {
		return errNoMail()
	}
	address, err := normaliseEmail(email)
	if err != nil {
		return err
	}
	place := placeOf(ip)
	if err := s.throttle.admit(ctx, resetEmail.of(address), resetIP.of(place), resetPair.of(address, place)); err != nil {
		return postgres.StoreError("account: count resets", err)
	}
	token, f, err := s.newToken()
	if err != nil {
		return err
	}
	m, err := mail.Template{
		Title:      "Set a new password",
		Paragraphs: []string{"You, or someone else, asked for a new password for " + address + ". Open this link to choose it."},
		Action:     mail.Action{Label: "Choose a new password", URL: s.o.BaseURL + resetPath + token},
		Footer: "The link works once, for one hour. If you did not ask for it, ignore this message: your password stays " +
			"as it is.",
	}.To(address, "Set a new password", "reset_password")
	if err != nil {
		return err
	}
	return postgres.StoreError("account: send link", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		return s.sendReset(ctx, tx, f, address, m)
	}))
}

// sendReset writes the link and the mail. For an unknown address it writes the mail as well and rolls it back, so that both cases
// take the same time.
func (s *Service) sendReset(ctx context.Context, tx *sqlx.Tx, f seal.Fingerprint, address string, m mail.Message) error {
	if _, err := tx.ExecContext(ctx, `savepoint known`); err != nil {
		return err
	}
	now := s.o.Now().UTC()
	known, err := insertResetLink(ctx, tx, f, address, now, now.Add(resetAgeMax))
	if err != nil {
		return err
	}
	if err := s.o.Mail.Send(ctx, tx, m); err != nil {
		return err
	}
	end := `release savepoint known`
	if !known {
		end = `rollback to savepoint known`
	}
	return postgres.Exec(ctx, tx, end)
}

// MakeResetLink makes the link that AskReset sends, for an operator to hand over. It returns the path only. The audit logs of the user's
// accounts tell of it.
func (s *Service) MakeResetLink(ctx context.Context, from app.Origin, email string) (string, error) {
	u, err := s.userNamed(ctx, email)
	if err != nil {
		return "", err
	}
	token, f, err := s.newToken()
	if err != nil {
		return "", err
	}
	now := s.o.Now().UTC()
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		known, err := insertResetLink(ctx, tx, f, u.Email, now, now.Add(resetAgeMax))
		if err != nil {
			return err
		}
		if !known {
			return errUnknownUser(u.Email)
		}
		return s.noteEverywhere(ctx, tx, app.Principal{UserID: u.ID, From: from}, audit.Event{
			Action: "user.reset_link_made", Object: u.ID, Name: u.Email, Operator: true,
		})
	})
	return resetPath + token, postgres.StoreError("account: make link", err)
}

// userNamed returns the user of an e-mail address that an operator typed.
func (s *Service) userNamed(ctx context.Context, email string) (User, error) {
	address, err := normaliseEmail(email)
	if err != nil {
		return User{}, err
	}
	u, _, err := userByEmail(ctx, s.db, address)
	if err == nil && u.ID == "" {
		return User{}, errUnknownUser(address)
	}
	return u, postgres.StoreError("account: read user", err)
}

func errUnknownUser(address string) error {
	return app.Errorf(app.NotFound, "user_not_found", "No one has signed up with %s.", address).At("email")
}

// ResetLink looks at a link without using it, and returns the address whose password it sets.
func (s *Service) ResetLink(ctx context.Context, token string) (string, error) {
	row, _, err := s.changeLink(ctx, s.db, token, false)
	return row.Email, err
}

// ResetPassword uses a link: the password is the new one, and every session of the user is ended. A second step of signing
// in stays as it is, unless the address was not verified before: the link proves it, and ends what was made until then.
func (s *Service) ResetPassword(ctx context.Context, token, password string, from app.Origin) error {
	row, f, err := s.changeLink(ctx, s.db, token, false)
	if err != nil {
		return err
	}
	if err := checkPassword(password, row.Email); err != nil {
		return err
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	p := app.Principal{UserID: row.UserID, From: from}
	err = s.change(ctx, p, audit.Event{Action: "user.password_changed"}, func(tx *sqlx.Tx, who personRow) error {
		now := s.o.Now().UTC()
		used, err := useChange(ctx, tx, f, now)
		if err != nil {
			return err
		}
		if !used {
			if _, _, err := s.changeLink(ctx, tx, token, false); err != nil {
				return err
			}
			return errLinkUnknown()
		}
		if s.Verifies() {
			if _, err := s.prove(ctx, tx, who.ID, from, now); err != nil {
				return err
			}
		}
		return s.putPassword(ctx, tx, p, who, hash, "")
	})
	return postgres.StoreError("account: reset password", err)
}

// putPassword stores a new password and ends all sessions but one.
func (s *Service) putPassword(ctx context.Context, tx *sqlx.Tx, p app.Principal, who personRow, hash, keepSession string) error {
	if err := setPassword(ctx, tx, who.ID, hash, s.o.Now().UTC()); err != nil {
		return err
	}
	if _, err := deleteOtherSessions(ctx, tx, who.ID, keepSession); err != nil {
		return err
	}
	if err := renewSessions(ctx, tx, who.ID); err != nil {
		return err
	}
	ended := "All sessions were ended: sign in again with the new password."
	if keepSession != "" {
		ended = "All sessions but the one in which it was changed were ended."
	}
	return s.notice(ctx, tx, p, who.Email, "Your password was changed", "password_changed", ended)
}
