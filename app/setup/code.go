package setup

import (
	"context"
	"encoding/base32"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/app/seal"
	"umg/billing"
)

const (
	// codeBytes makes a code of 16 characters, which no one guesses.
	codeBytes = 10
	// codeGroup is how many characters of a code stand together.
	codeGroup = 4
	// codeLife is how long a code outlives the process that made it, when the process ends without a word.
	codeLife   = 90 * time.Second
	codeRenew  = 30 * time.Second
	deleteMax  = 2 * time.Second
	claimsLock = 0x736574 // ClaimsLock is the key of the advisory lock under which a gateway is claimed.
)

// Begin makes the one-time code of this process when the gateway has neither models nor an operator, and returns the code. Otherwise it
// returns an empty code. Codes of other replicas stay valid.
func (s *Service) Begin(ctx context.Context) (string, error) {
	if len(s.o.Catalog.Snapshot().Models()) > 0 {
		return "", nil
	}
	claimed, err := s.hasOperator(ctx)
	if err != nil || claimed {
		return "", err
	}
	code, err := newCode(s.o.Random)
	if err != nil {
		return "", err
	}
	if err := s.renew(ctx, code); err != nil {
		return "", err
	}
	s.code.Store(&code)
	return code, nil
}

// Run keeps the code of Begin valid until ctx ends, and takes it back then. It returns nil as soon as the gateway has an operator.
func (s *Service) Run(ctx context.Context) error {
	code := s.code.Load()
	if code == nil {
		return nil
	}
	ticks := time.NewTicker(codeRenew)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteMax)
			defer cancel()
			// A code that cannot be deleted expires.
			_, _ = s.o.DB.ExecContext(ending, `delete from setup_codes where hash = $1`, hashOf(*code))
			return ctx.Err()
		case <-ticks.C:
		}
		if claimed, err := s.hasOperator(ctx); err == nil && claimed {
			return nil
		}
		if err := s.renew(ctx, *code); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("setup: code not renewed", "error", err)
		}
	}
}

// renew stores the code, or lengthens its life. It also deletes codes of processes that have ended.
func (s *Service) renew(ctx context.Context, code string) error {
	now := s.o.Now().UTC()
	_, err := s.o.DB.ExecContext(ctx, `
		with expired as (delete from setup_codes where expires_at <= $2 and hash <> $1)
		insert into setup_codes (hash, created_at, expires_at)
		select $1, $2, $3 where not exists (select from users where operator)
		on conflict (hash) do update set expires_at = excluded.expires_at`, hashOf(code), now, now.Add(codeLife))
	return postgres.StoreError("setup: renew code", err)
}

// Open reports whether a person with a code can claim the gateway: it has no operator, and a running server has a code.
func (s *Service) Open(ctx context.Context) (bool, error) {
	if claimed, err := s.hasOperator(ctx); err != nil || claimed {
		return false, err
	}
	open, err := postgres.Get[bool](ctx, s.o.DB, `select exists (select from setup_codes where expires_at > $1)`, s.o.Now().UTC())
	return open, postgres.StoreError("setup: find code", err)
}

func (s *Service) hasOperator(ctx context.Context) (bool, error) {
	if s.claimed.Load() {
		return true, nil
	}
	exists, err := postgres.Get[bool](ctx, s.o.DB, `select exists (select from users where operator)`)
	if exists {
		s.claimed.Store(true)
	}
	return exists, postgres.StoreError("setup: find operator", err)
}

// Claim is what the first operator gives.
type Claim struct{ Code, Email, Password string }

// Claim makes the first operator with an account that has credit, and ends all codes. It returns an *app.Error with the parameter code
// for a wrong code, and one of kind Conflict when the gateway has an operator. Attempts are limited by address.
func (s *Service) Claim(ctx context.Context, c Claim, from app.Origin) (account.User, error) {
	if err := s.o.Accounts.AdmitClaim(ctx, from.IP); err != nil {
		return account.User{}, err
	}
	in := account.SignUp{Email: c.Email, Password: c.Password, IP: from.IP}
	user, err := s.o.Accounts.SignUpOperator(ctx, in, from, func(ctx context.Context, tx *sqlx.Tx, u account.User) error {
		if err := s.take(ctx, tx, c.Code); err != nil {
			return err
		}
		return s.grant(ctx, tx, u, from)
	})
	if err == nil {
		s.claimed.Store(true)
		s.o.Log.Info("setup: gateway claimed", "email", user.Email, "account_id", user.AccountID)
	}
	return user, err
}

// take uses a code. The gateway is claimed once, however many replicas are asked at the same time.
func (s *Service) take(ctx context.Context, tx *sqlx.Tx, code string) error {
	if _, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, claimsLock); err != nil {
		return err
	}
	// The new operator is not counted, because account.SignUpOperator makes them afterwards.
	claimed, err := postgres.Get[bool](ctx, tx, `select exists (select from users where operator)`)
	if err != nil {
		return err
	}
	if claimed {
		return app.Errorf(app.Conflict, "setup_done", "This gateway has an operator already. Sign in instead.")
	}
	valid, err := postgres.Changed(tx.ExecContext(ctx, `delete from setup_codes where hash = $1 and expires_at > $2`,
		hashOf(code), s.o.Now().UTC()))
	if err != nil {
		return err
	}
	if !valid {
		return app.Errorf(app.Invalid, "invalid_code",
			"The code is wrong, or its server has been restarted. Copy the code from the latest lines of the server's log.").At("code")
	}
	_, err = tx.ExecContext(ctx, `delete from setup_codes`)
	return err
}

// grant gives the operator's account its credit, with an entry in the audit log.
func (s *Service) grant(ctx context.Context, tx *sqlx.Tx, u account.User, from app.Origin) error {
	if s.o.Credit <= 0 {
		return nil
	}
	const reason = "Credit of the first operator's account."
	err := s.o.Ledger.Grant(ctx, tx, billing.Grant{
		AccountID: u.AccountID, Kind: billing.Adjustment, Amount: s.o.Credit, Source: "setup:" + u.AccountID, Reason: reason, Operator: u.Email,
	})
	if err != nil {
		return err
	}
	p := app.Principal{AccountID: u.AccountID, UserID: u.ID, From: from}
	return s.audit.Write(ctx, tx, p, audit.Event{Action: "billing.credit_granted", Operator: true, Changes: []audit.Change{
		{Field: "amount", To: "$" + s.o.Credit.String()}, {Field: "reason", To: reason},
	}})
}

// newCode returns a random code in groups, such as ABCD-EFGH-IJKL-MNOP.
func newCode(random io.Reader) (string, error) {
	b := make([]byte, codeBytes)
	if _, err := io.ReadFull(random, b); err != nil {
		return "", fmt.Errorf("setup: code: %w", err)
	}
	text := base32.StdEncoding.EncodeToString(b)
	var groups []string
	for ; len(text) > codeGroup; text = text[codeGroup:] {
		groups = append(groups, text[:codeGroup])
	}
	return strings.Join(append(groups, text), "-"), nil
}

// hashOf is the hash of a code. How people type it makes no difference: spaces, hyphens and small letters do not count.
func hashOf(code string) []byte {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' || r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, strings.ToUpper(code))
	f := seal.FingerprintOf("setup code " + plain)
	return f[:]
}

// HasUsers reports whether anyone has signed up.
func (s *Service) HasUsers(ctx context.Context) (bool, error) {
	has, err := postgres.Get[bool](ctx, s.o.DB, `select exists (select from users)`)
	return has, postgres.StoreError("setup: find users", err)
}
