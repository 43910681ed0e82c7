package account

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// Limits of a key.
const (
	keysMax        = 200 // per account, deleted ones aside
	keyNameChars   = 80
	keyModelsMax   = 100
	modelNameBytes = 200
	concurrencyMax = 10_000
)

var envPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,19}$`)

// ErrorMode says which HTTP statuses the chat route answers a key's failed calls with.
type ErrorMode string

// The two ways: 200 with the code in the body, as the service documents it, or the status itself.
const (
	Documented ErrorMode = "documented"
	Standard   ErrorMode = "standard"
)

// Key is what a program bears, without its secret.
type Key struct {
	ID          string
	AccountID   string
	Name        string
	Prefix      string // the first characters of the secret
	LastFour    string // the last four
	Env         string // a tag such as production or development
	ErrorMode   ErrorMode
	Disabled    bool
	CreatedBy   string // the e-mail address of who made it
	CreatedAt   time.Time
	LastUsedAt  *time.Time // to the minute
	ExpiresAt   *time.Time
	Models      []string // the models it may call; empty for all
	Scopes      []Scope
	Rights      app.Rights // what the scopes allow
	Concurrency int        // calls at the same time; zero for the account's limit
	LimitFactor int        // multiplies the account's limits; set where a key is recognised
	BudgetID    string     // the purse of its budget, empty without one
	Frozen      bool       // its account may be looked at, but nothing may cost it anything; set where a key is recognised
}

// Principal is the account, with the key acting for it.
func (k Key) Principal() app.Principal {
	return app.Principal{AccountID: k.AccountID, KeyID: k.ID, BudgetID: k.BudgetID, Models: k.Models, Rights: k.Rights}
}

// Permit refuses what the key's scopes do not allow. It costs nothing for a key that has the right.
func (k Key) Permit(need app.Rights) error {
	if k.Rights.Has(need) {
		return nil
	}
	return app.Errorf(app.Forbidden, "insufficient_scope",
		"This needs the scope %s, and the key %q has only %s. Change the key in the console, or use another one.",
		joined(scopesFor(need)), k.Name, joined(k.Scopes)).Final()
}

// KeySpec is what a person decides about a new key. Only the name is required.
type KeySpec struct {
	Name        string
	Env         string
	ErrorMode   ErrorMode
	Models      []string
	Scopes      []Scope // empty for the standard ones
	Concurrency int
	ExpiresAt   *time.Time
	Budget      *Budget // nil for none: only the account's credit limits it
}

// Budget is how much a key may spend in a period.
type Budget struct {
	Limit  app.Amount
	Period billing.Period
}

// budgetMax is far beyond what anybody spends, and small enough that sums of budgets cannot overflow.
const budgetMax = 100_000_000 * app.Dollar

func (b *Budget) check() error {
	switch {
	case b == nil:
		return nil
	case b.Limit <= 0 || b.Limit > budgetMax:
		return invalid("budget", "A budget is more than $0 and at most $%s. Leave it empty for none.", budgetMax)
	case !slices.Contains(Periods(), b.Period):
		return invalid("budget_period", "A budget is for one of %s.", joined(Periods()))
	}
	return nil
}

// Periods are those that a budget may have.
func Periods() []billing.Period {
	return []billing.Period{billing.InTotal, billing.EachDay, billing.EachWeek, billing.EachMonth}
}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, p := range list {
		words[i] = string(p)
	}
	return strings.Join(words, ", ")
}

func (spec *KeySpec) check(now time.Time) error {
	spec.Name = strings.TrimSpace(spec.Name)
	if len(spec.Scopes) == 0 {
		spec.Scopes = StandardScopes()
	}
	if spec.ErrorMode == "" {
		spec.ErrorMode = Documented
	}
	switch {
	case spec.Name == "" || utf8.RuneCountInString(spec.Name) > keyNameChars || !printable(spec.Name):
		return invalid("name", "A name has between 1 and %d printable characters.", keyNameChars)
	case spec.Env != "" && !envPattern.MatchString(spec.Env):
		return invalid("env", "An environment is 1 to 20 lower-case letters, digits and hyphens, such as production.")
	case spec.ErrorMode != Documented && spec.ErrorMode != Standard:
		return invalid("error_mode", "The error mode is %s or %s.", Documented, Standard)
	case len(spec.Models) > keyModelsMax:
		return invalid("models", "A key lists at most %d models.", keyModelsMax)
	case spec.Concurrency < 0 || spec.Concurrency > concurrencyMax:
		return invalid("concurrency", "The limit of simultaneous calls is between 0, for the account's limit, and %d.", concurrencyMax)
	case spec.ExpiresAt != nil && !spec.ExpiresAt.After(now):
		return invalid("expires_at", "The expiry must be in the future.")
	}
	if err := checkScopes(spec.Scopes); err != nil {
		return err
	}
	for _, m := range spec.Models {
		if m == "" || len(m) > modelNameBytes || !printable(m) {
			return invalid("models", "%q is not the id of a model.", m)
		}
	}
	return spec.Budget.check()
}

// checkScopes refuses unknown scopes, and management beside what spends or holds what was made.
func checkScopes(list []Scope) error {
	for _, s := range list {
		if !slices.Contains(Scopes(), s) {
			return invalid("scopes", "%q is no scope; the scopes are %v.", s, Scopes())
		}
	}
	if slices.Contains(list, Management) && rightsOf(list)&managementExcludes != 0 {
		return invalid("scopes", "A key with the scope %s can have none that spend or hold what was made: make another key for those.", Management)
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func invalid(param, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_value", format, args...).At(param)
}

func keyNotFound() error { return app.Errorf(app.NotFound, "key_not_found", "There is no such key.") }

// CreateKey makes a key for the principal's account and returns its secret, which is shown once and kept nowhere.
func (s *Service) CreateKey(ctx context.Context, p app.Principal, spec KeySpec) (Key, string, error) {
	now := s.o.Now().UTC()
	if err := spec.check(now); err != nil {
		return Key{}, "", err
	}
	secret, err := newSecret(s.o.Random)
	if err != nil {
		return Key{}, "", err
	}
	k := Key{
		ID: s.o.IDs.New("key"), AccountID: p.AccountID, Name: spec.Name, Prefix: secret[:shownChars],
		LastFour: secret[len(secret)-lastChars:], Env: spec.Env, ErrorMode: spec.ErrorMode, CreatedBy: p.UserID,
		CreatedAt: now, ExpiresAt: spec.ExpiresAt, Models: spec.Models, Concurrency: spec.Concurrency, Scopes: spec.Scopes,
	}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		made, err := insertKey(ctx, tx, k, fingerprintOf(secret))
		if err == nil && !made {
			return app.Errorf(app.Conflict, "too_many_keys", "An account has at most %d keys. Delete one that is not used.", keysMax)
		}
		if err != nil || spec.Budget == nil {
			return err
		}
		return s.ledger.OpenBudget(ctx, tx, spec.Budget.of(p.AccountID, k.ID))
	})
	if err != nil {
		return Key{}, "", storeError("create key", err)
	}
	k, err = keyByID(ctx, s.db, p.AccountID, k.ID)
	return k, secret, storeError("read key", err)
}

// Keys lists the account's keys, newest first.
func (s *Service) Keys(ctx context.Context, p app.Principal) ([]Key, error) {
	keys, err := keysOf(ctx, s.db, p.AccountID)
	return keys, storeError("list keys", err)
}

// DisableKey switches a key off, or on again. Every replica knows within a second.
func (s *Service) DisableKey(ctx context.Context, p app.Principal, id string, disabled bool) error {
	found, err := setKeyDisabled(ctx, s.db, p.AccountID, id, disabled, s.o.Now().UTC())
	if err == nil && !found {
		return keyNotFound()
	}
	return storeError("disable key", err)
}

// DeleteKey ends a key for good, and its budget with it. Its row stays, because usage refers to it.
func (s *Service) DeleteKey(ctx context.Context, p app.Principal, id string) error {
	return storeError("delete key", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		hasBudget, err := lockKey(ctx, tx, p.AccountID, id)
		if errors.Is(err, sql.ErrNoRows) {
			return keyNotFound()
		}
		if err == nil {
			err = setKeyDeleted(ctx, tx, p.AccountID, id, s.o.Now().UTC())
		}
		if err != nil || !hasBudget {
			return err
		}
		return s.ledger.CloseBudget(ctx, tx, p.AccountID, id)
	}))
}

// SetKeyBudget gives a key a budget, changes the one it has, or with nil takes it away.
func (s *Service) SetKeyBudget(ctx context.Context, p app.Principal, id string, b *Budget) error {
	if err := b.check(); err != nil {
		return err
	}
	return storeError("set budget", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		had, err := lockKey(ctx, tx, p.AccountID, id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return keyNotFound()
		case err != nil:
			return err
		case b == nil:
			return s.ledger.CloseBudget(ctx, tx, p.AccountID, id)
		case had:
			return s.ledger.SetBudget(ctx, tx, b.of(p.AccountID, id))
		default:
			return s.ledger.OpenBudget(ctx, tx, b.of(p.AccountID, id))
		}
	}))
}

func (b *Budget) of(accountID, keyID string) billing.Budget {
	return billing.Budget{KeyID: keyID, AccountID: accountID, Limit: b.Limit, Period: b.Period}
}
