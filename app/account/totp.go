package account

import (
	"bytes"
	"context"
	"encoding/base32"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/app/seal"
)

const (
	enrolMax      = time.Hour // A setup must be finished in this time.
	seedBytes     = 20
	stepSeconds   = 30
	stepSkew      = 1 // The clock of a device may be off by this many steps.
	codeDigits    = 6
	recoveryCodes = 10
	recoveryChars = 10 // Each character of a recovery code has 5 bits.
	recoveryAlpha = "0123456789abcdefghjkmnpqrstvwxyz"
	totpIssuer    = "Unified Model Gateway"
	seedPurpose   = "sign-in seed of "
)

// Enrolment is a second step that is being set up: the secret for the device.
type Enrolment struct {
	Secret string // Secret is for typing, in groups of four characters.
	URL    string // URL is for scanning.
}

// Security is how a user signs in.
type Security struct {
	EnabledAt *time.Time // EnabledAt is when the second step was enabled; it is nil without one.
	CodesLeft int        // CodesLeft is the number of unused recovery codes.
}

// Security reads how a user signs in.
func (s *Service) Security(ctx context.Context, userID string) (Security, error) {
	row, err := totpOf(ctx, s.db, userID)
	if err != nil || !row.enabled() {
		return Security{}, postgres.StoreError("account: read second step", err)
	}
	left, err := codesLeft(ctx, s.db, userID)
	return Security{EnabledAt: row.EnabledAt, CodesLeft: left}, postgres.StoreError("account: count recovery codes", err)
}

func errTOTPOn() error {
	return app.Errorf(app.Conflict, "totp_enabled", "Sign-in codes are on already.")
}

func errTOTPOff() error {
	return app.Errorf(app.Conflict, "totp_disabled", "Sign-in codes are not on.")
}

// errWrongCode is the one answer to every code that is not right.
func errWrongCode() error {
	return app.Errorf(app.Unauthenticated, "invalid_code",
		"That code is not right. Codes change every 30 seconds: type the one shown now, and check the clock of your device.").At("code")
}

// BeginTOTP draws the seed of a second step, and replaces one that is still being set up. It takes the user's password, because a
// stolen session must not lock its owner out. Where addresses are verified the user's must be, so that no user puts a second step
// before the account of an address that is not theirs.
func (s *Service) BeginTOTP(ctx context.Context, p app.Principal, password string) error {
	if err := s.needsVerified(ctx, s.db, p.UserID, "set up sign-in codes"); err != nil {
		return err
	}
	if _, err := s.proved(ctx, p.UserID, password); err != nil {
		return err
	}
	seed := make([]byte, seedBytes)
	if _, err := io.ReadFull(s.o.Random, seed); err != nil {
		return fmt.Errorf("account: draw a seed: %w", err)
	}
	sealed, err := s.vault.lock(seed, seedPurpose+p.UserID)
	if err != nil {
		return err
	}
	begun, err := beginTOTP(ctx, s.db, p.UserID, sealed, s.o.Now().UTC())
	if err == nil && !begun {
		return errTOTPOn()
	}
	return postgres.StoreError("account: begin second step", err)
}

// PendingTOTP is the second step that a user is setting up; it reports false when there is none.
func (s *Service) PendingTOTP(ctx context.Context, u User) (Enrolment, bool, error) {
	row, err := totpOf(ctx, s.db, u.ID)
	if err != nil || !row.pending(s.o.Now()) {
		return Enrolment{}, false, postgres.StoreError("account: read second step", err)
	}
	seed, err := s.vault.open(row.Seed, seedPurpose+u.ID)
	if err != nil {
		return Enrolment{}, false, err
	}
	key, err := totp.Generate(totp.GenerateOpts{
		Issuer: totpIssuer, AccountName: u.Email, Secret: seed, Period: stepSeconds, Digits: codeDigits, Algorithm: otp.AlgorithmSHA1,
	})
	if err != nil {
		return Enrolment{}, false, fmt.Errorf("account: name a seed: %w", err)
	}
	return Enrolment{Secret: grouped(key.Secret(), 4, " "), URL: key.URL()}, true, nil
}

func (r totpRow) pending(now time.Time) bool {
	return r.Seed != nil && !r.enabled() && now.Sub(r.CreatedAt) < enrolMax
}

// ConfirmTOTP puts the second step in force once a code proves that a device knows the seed. It returns recovery codes, which the
// server cannot show again.
func (s *Service) ConfirmTOTP(ctx context.Context, p app.Principal, code string) (codes []string, err error) {
	one := secondStep.of(p.UserID)
	if err := s.throttle.admit(ctx, one); err != nil {
		return nil, postgres.StoreError("account: count tries", err)
	}
	err = s.change(ctx, p, audit.Event{Action: "user.totp_enabled"}, func(tx *sqlx.Tx, who personRow) error {
		row, err := totpOf(ctx, tx, who.ID)
		switch {
		case err != nil:
			return err
		case row.enabled():
			return errTOTPOn()
		case !row.pending(s.o.Now()):
			return app.Errorf(app.Conflict, "totp_expired", "Setting up took longer than an hour. Begin again.")
		}
		step, right, err := s.stepOf(row, who.ID, code)
		if err != nil {
			return err
		}
		if !right {
			return errWrongCode()
		}
		if err := enableTOTP(ctx, tx, who.ID, step, s.o.Now().UTC()); err != nil {
			return err
		}
		if err := forgetTries(ctx, tx, one); err != nil {
			return err
		}
		if codes, err = s.freshCodes(ctx, tx, who.ID); err != nil {
			return err
		}
		// A session that has not given a code must not continue.
		if _, err := deleteOtherSessions(ctx, tx, who.ID, p.SessionID); err != nil {
			return err
		}
		if err := renewSessions(ctx, tx, who.ID); err != nil {
			return err
		}
		return s.notice(ctx, tx, p, who.Email, "Sign-in codes were turned on", "totp_enabled",
			"From now on a code of your device is asked for after the password. All other sessions were ended. "+
				"Keep your recovery codes where you find them without it.")
	})
	if err != nil {
		return nil, postgres.StoreError("account: enable second step", err)
	}
	return codes, nil
}

// RenewCodes replaces the recovery codes of a user, used or not.
func (s *Service) RenewCodes(ctx context.Context, p app.Principal, password string) (codes []string, err error) {
	proof, err := s.proved(ctx, p.UserID, password)
	if err != nil {
		return nil, err
	}
	err = s.change(ctx, p, audit.Event{Action: "user.codes_renewed"}, func(tx *sqlx.Tx, who personRow) error {
		row, err := totpOf(ctx, tx, who.ID)
		switch {
		case err != nil:
			return err
		case who.Hash != proof.Hash:
			return errChangedConcurrently()
		case !row.enabled():
			return errTOTPOff()
		}
		if codes, err = s.freshCodes(ctx, tx, who.ID); err != nil {
			return err
		}
		return s.notice(ctx, tx, p, who.Email, "Your recovery codes were renewed", "codes_renewed", "Old codes no longer work.")
	})
	if err != nil {
		return nil, postgres.StoreError("account: renew recovery codes", err)
	}
	return codes, nil
}

// DisableTOTP ends the second step for a user who knows the password and has a code, of the device or for recovery.
func (s *Service) DisableTOTP(ctx context.Context, p app.Principal, password, code string) error {
	proof, err := s.proved(ctx, p.UserID, password)
	if err != nil {
		return err
	}
	one := secondStep.of(p.UserID)
	if err := s.throttle.admit(ctx, one); err != nil {
		return postgres.StoreError("account: count tries", err)
	}
	err = s.change(ctx, p, audit.Event{Action: "user.totp_disabled"}, func(tx *sqlx.Tx, who personRow) error {
		if who.Hash != proof.Hash {
			return errChangedConcurrently()
		}
		if _, err := s.takeCode(ctx, tx, who.ID, code); err != nil {
			return err
		}
		if err := forgetTries(ctx, tx, one); err != nil {
			return err
		}
		return s.endTOTP(ctx, tx, p, who)
	})
	return postgres.StoreError("account: disable second step", err)
}

// RemoveTOTP ends the second step of a user who lost their device and their recovery codes. An operator runs it.
func (s *Service) RemoveTOTP(ctx context.Context, email string) error {
	u, err := s.userNamed(ctx, email)
	if err != nil {
		return err
	}
	p := app.Principal{UserID: u.ID}
	err = s.change(ctx, p, audit.Event{Action: "user.totp_disabled", Operator: true}, func(tx *sqlx.Tx, who personRow) error {
		row, err := totpOf(ctx, tx, who.ID)
		if err != nil {
			return err
		}
		if !row.enabled() {
			return errTOTPOff()
		}
		return s.endTOTP(ctx, tx, p, who)
	})
	return postgres.StoreError("account: remove second step", err)
}

func (s *Service) endTOTP(ctx context.Context, tx *sqlx.Tx, p app.Principal, who personRow) error {
	if err := postgres.Exec(ctx, tx, `
		with codes as (delete from recovery_codes where user_id = $1)
		delete from totp_secrets where user_id = $1`, who.ID); err != nil {
		return err
	}
	if err := renewSessions(ctx, tx, who.ID); err != nil {
		return err
	}
	return s.notice(ctx, tx, p, who.Email, "Sign-in codes were turned off", "totp_disabled",
		"From now on the password alone opens your account.")
}

// takeCode uses a code of the user's device, or a recovery code, and says which it was. No code is taken twice.
func (s *Service) takeCode(ctx context.Context, tx *sqlx.Tx, userID, code string) (recovery bool, err error) {
	row, err := totpOf(ctx, tx, userID)
	if err != nil {
		return false, err
	}
	if !row.enabled() {
		return false, errTOTPOff()
	}
	plain := plainCode(code)
	if len(plain) == recoveryChars {
		return true, s.takeRecovery(ctx, tx, userID, plain)
	}
	step, right, err := s.stepOf(row, userID, plain)
	if err != nil {
		return false, err
	}
	if !right {
		return false, errWrongCode()
	}
	taken, err := postgres.Changed(tx.ExecContext(ctx, `
		update totp_secrets set last_step = $2 where user_id = $1 and enabled_at is not null and last_step < $2`, userID, step))
	if err == nil && !taken {
		return false, app.Errorf(app.Unauthenticated, "code_used", "This code was used already. Wait for the next one.").At("code")
	}
	return false, err
}

func (s *Service) takeRecovery(ctx context.Context, tx *sqlx.Tx, userID, plain string) error {
	hash, err := s.vault.codeHash(userID, plain)
	if err != nil {
		return err
	}
	used, err := postgres.Changed(tx.ExecContext(ctx, `
		update recovery_codes set used_at = $3 where user_id = $1 and code_hash = $2 and used_at is null`, userID, hash[:], s.o.Now().UTC()))
	if err == nil && !used {
		return app.Errorf(app.Unauthenticated, "invalid_code", "That recovery code is not right, or it was used already.").At("code")
	}
	return err
}

// stepOf finds the step of which this is the code, among those that a clock may be at.
func (s *Service) stepOf(row totpRow, userID, code string) (step int64, right bool, err error) {
	seed, err := s.vault.open(row.Seed, seedPurpose+userID)
	if err != nil {
		return 0, false, err
	}
	secret := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(seed)
	now := s.o.Now().Unix() / stepSeconds
	for step := now - stepSkew; step <= now+stepSkew; step++ {
		same, err := hotp.ValidateCustom(plainCode(code), uint64(step), secret, hotp.ValidateOpts{
			Digits: codeDigits, Algorithm: otp.AlgorithmSHA1,
		})
		if err == nil && same {
			return step, true, nil
		}
	}
	return 0, false, nil
}

// freshCodes draws recovery codes and replaces those of before.
func (s *Service) freshCodes(ctx context.Context, tx *sqlx.Tx, userID string) ([]string, error) {
	codes, hashes := make([]string, recoveryCodes), make([]seal.Fingerprint, recoveryCodes)
	for i := range codes {
		raw := make([]byte, recoveryChars)
		if _, err := io.ReadFull(s.o.Random, raw); err != nil {
			return nil, fmt.Errorf("account: draw a recovery code: %w", err)
		}
		for j, b := range raw {
			raw[j] = recoveryAlpha[int(b)%len(recoveryAlpha)]
		}
		var err error
		if hashes[i], err = s.vault.codeHash(userID, string(raw)); err != nil {
			return nil, err
		}
		codes[i] = grouped(string(raw), recoveryChars/2, "-")
	}
	return codes, replaceCodes(ctx, tx, userID, hashes)
}

// plainCode is a code as it was meant: without blanks and dashes, in small letters, and with the letters that stand for digits as such.
func plainCode(code string) string {
	const longest = 64
	if len(code) > longest {
		return ""
	}
	return strings.NewReplacer(" ", "", "-", "", "\t", "", "o", "0", "i", "1", "l", "1").Replace(strings.ToLower(strings.TrimSpace(code)))
}

// grouped puts a sign between groups of so many characters.
func grouped(text string, size int, sign string) string {
	var b bytes.Buffer
	for i, r := range text {
		if i > 0 && i%size == 0 {
			b.WriteString(sign)
		}
		b.WriteRune(r)
	}
	return b.String()
}
