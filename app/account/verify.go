package account

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/app/seal"
	"umg/app/trial"
)

const (
	linkAgeMax  = 24 * time.Hour
	linkKeptMax = 7 * 24 * time.Hour // An ended link is kept for this long, so that a late reader learns why it fails.
	linkPath    = "/console/verify?token="
)

// These limits bound how often a link may be requested, so that no mailbox is flooded.
var (
	linkEmail = rule{scope: "link_email", free: 3, first: time.Minute, most: 6 * time.Hour, window: 24 * time.Hour}
	linkIP    = rule{scope: "link_ip", free: 30, first: time.Minute, most: time.Hour, window: time.Hour}
)

// Verification is the result of opening a link: the user, and their trial credit where there is any.
type Verification struct {
	User  User
	First bool // First means that the address was not verified before, so everything made before has ended.
	Trial trial.Result
}

// Verifies reports whether addresses can be verified at all, which takes mail.
func (s *Service) Verifies() bool { return s.o.Mail != nil }

// sendLink makes a link for the user's address and hands it to the mail, in the caller's transaction.
func (s *Service) sendLink(ctx context.Context, tx *sqlx.Tx, u User) error {
	token, f, err := s.newToken()
	if err != nil {
		return err
	}
	now := s.o.Now().UTC()
	if err := postgres.Exec(ctx, tx, `
		insert into email_links (token_hash, user_id, email, created_at, expires_at) values ($1, $2, $3, $4, $5)`,
		f[:], u.ID, u.Email, now, now.Add(linkAgeMax)); err != nil {
		return err
	}
	m, err := s.linkLetter(u.Email, s.o.BaseURL+linkPath+token).To(u.Email, "Verify your e-mail address", "verify_email")
	if err != nil {
		return err
	}
	return s.o.Mail.Send(ctx, tx, m)
}

// linkLetter is what is written around a link. It promises credit only where there is some to be had.
func (s *Service) linkLetter(to, link string) mail.Template {
	l := mail.Template{
		Title:      "Verify your e-mail address",
		Paragraphs: []string{"Open this link and press the button on its page to confirm that " + to + " is your address."},
		Action:     mail.Action{Label: "Verify " + to, URL: link},
		Footer: "The link works once, for 24 hours. If you did not create this account, ignore this message: " +
			"without the link nothing happens.",
	}
	if s.trials.ComesWithVerification(to) {
		l.Paragraphs = append(l.Paragraphs, fmt.Sprintf("Your $%s of trial credit is then added to your account.", s.o.Trial.Amount))
	}
	return l
}

// ResendLink sends another link. Those sent before remain good, because mail may overtake mail.
func (s *Service) ResendLink(ctx context.Context, userID, ip string) error {
	if !s.Verifies() {
		return app.Errorf(app.Conflict, "verification_off", "This server sends no mail, so addresses need not be verified here.")
	}
	u, err := s.User(ctx, userID)
	if err != nil {
		return err
	}
	if u.Verified {
		return app.Errorf(app.Conflict, "email_verified", "%s is verified already.", u.Email)
	}
	if err := s.throttle.admit(ctx, linkEmail.of(u.Email), linkIP.of(placeOf(ip))); err != nil {
		return postgres.StoreError("account: count links", err)
	}
	return postgres.StoreError("account: send link", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error { return s.sendLink(ctx, tx, u) }))
}

// Link looks at a link without using it, and returns the address it would verify. Programs that open every link of a
// mail before its reader does thus change nothing.
func (s *Service) Link(ctx context.Context, token string) (string, error) {
	f, err := linkFingerprint(token)
	if err != nil {
		return "", err
	}
	row, err := s.linkRow(ctx, s.db, f)
	if err != nil {
		return "", postgres.StoreError("account: read link", err)
	}
	return row.Email, row.refuse(s.o.Now())
}

// VerifyEmail uses a link: the address is verified, what was made before is ended, and the trial credit given where there is
// some. A reader who is not signed in as the user of the link needs the user's password. The link stays good after a wrong one.
// Of many who use it at the same time one succeeds.
func (s *Service) VerifyEmail(ctx context.Context, p app.Principal, token, password string) (v Verification, err error) {
	f, err := linkFingerprint(token)
	if err != nil {
		return Verification{}, err
	}
	now := s.o.Now().UTC()
	row, err := s.linkRow(ctx, s.db, f)
	if err != nil {
		return Verification{}, postgres.StoreError("account: read link", err)
	}
	if err := row.refuse(now); err != nil {
		return Verification{}, err
	}
	reader, err := s.linkReader(ctx, p, row.UserID, row.Email, password)
	if err != nil {
		return Verification{}, err
	}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		userID, used, err := useLink(ctx, tx, f, now)
		if err != nil {
			return err
		}
		if !used {
			row, err := s.linkRow(ctx, tx, f)
			return errors.Join(err, row.refuseOr(now))
		}
		who, err := personByID(ctx, tx, userID) // The query in useLink has locked the row.
		if err != nil {
			return personError(err)
		}
		if err := reader.check(who); err != nil {
			return err
		}
		if err := s.LockActor(ctx, tx, reader.Principal); err != nil {
			return err
		}
		v, err = s.prove(ctx, tx, userID, reader.From, now)
		return err
	})
	if err != nil {
		return Verification{}, postgres.StoreError("account: verify address", err)
	}
	return v, nil
}

// Vouch verifies the address of a user without a link. An operator runs it.
func (s *Service) Vouch(ctx context.Context, email string) (v Verification, err error) {
	u, err := s.userNamed(ctx, email)
	if err != nil {
		return Verification{}, err
	}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if _, err := setVerified(ctx, tx, u.ID, s.o.Now().UTC()); err != nil {
			return err
		}
		if err := renewSessions(ctx, tx, u.ID); err != nil {
			return err
		}
		if v.User, err = userByID(ctx, tx, u.ID); err != nil || !s.o.Trial.RequireVerified {
			return err
		}
		v.Trial, err = s.trials.Grant(ctx, tx, v.User.trialPerson(), "")
		return err
	})
	return v, postgres.StoreError("account: vouch", err)
}

// prove marks the address of a user as theirs, since they came by a link that was mailed to it. The first time it ends what was
// made before, and gives the trial credit that waits for the proof.
func (s *Service) prove(ctx context.Context, tx *sqlx.Tx, userID string, from app.Origin, now time.Time) (v Verification, err error) {
	v.First, err = setVerified(ctx, tx, userID, now)
	if err == nil && v.First {
		err = s.endUnproven(ctx, tx, userID, from, now)
	}
	if err != nil {
		return v, err
	}
	if v.User, err = userByID(ctx, tx, userID); err != nil || !v.First || !s.o.Trial.RequireVerified {
		return v, err
	}
	v.Trial, err = s.trials.Grant(ctx, tx, v.User.trialPerson(), from.IP)
	return v, err
}

func linkFingerprint(token string) (seal.Fingerprint, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != tokenBytes {
		return seal.Fingerprint{}, errLinkUnknown()
	}
	return sha256.Sum256(raw), nil
}

func errLinkUnknown() *app.Error {
	return app.Errorf(app.NotFound, "link_unknown",
		"This link is not complete, or it is so old that we no longer know it. Copy it whole from the mail, or ask for a new one.")
}

func (s *Service) linkRow(ctx context.Context, q postgres.Queryer, f seal.Fingerprint) (linkRow, error) {
	row, err := postgres.Get[linkRow](ctx, q, `
		select l.user_id, l.email, u.email as current, l.expires_at, l.used_at
		from email_links l join users u on u.id = l.user_id where l.token_hash = $1`, f[:])
	if errors.Is(err, sql.ErrNoRows) {
		return linkRow{}, errLinkUnknown()
	}
	return row, err
}

// refuse says why a link cannot be used, if it cannot.
func (r linkRow) refuse(now time.Time) error {
	switch {
	case r.UsedAt != nil:
		return app.Errorf(app.Conflict, "link_used", "This link was used already, and %s is verified. There is nothing left to do.", r.Email)
	case r.Email != r.Current:
		return app.Errorf(app.Conflict, "link_void", "This link was sent to %s, which is no longer the address of the account.", r.Email)
	case !now.Before(r.ExpiresAt):
		return app.Errorf(app.Conflict, "link_expired", "This link has expired: it worked for 24 hours. Ask for a new one.")
	}
	return nil
}

// refuseOr is refuse where the store has just refused the link, so that there is always a reason.
func (r linkRow) refuseOr(now time.Time) error {
	if err := r.refuse(now); err != nil || r.Email == "" {
		return err
	}
	return errLinkUnknown()
}
