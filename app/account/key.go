package account

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"umg/app"
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
	Concurrency int      // calls at the same time; zero for the account's limit
	LimitFactor int      // multiplies the account's limits; set where a key is recognised
}

// Principal is the account, with the key acting for it.
func (k Key) Principal() app.Principal {
	return app.Principal{AccountID: k.AccountID, KeyID: k.ID, Models: k.Models}
}

// KeySpec is what a person decides about a new key. Only the name is required.
type KeySpec struct {
	Name        string
	Env         string
	ErrorMode   ErrorMode
	Models      []string
	Concurrency int
	ExpiresAt   *time.Time
}

func (spec *KeySpec) check(now time.Time) error {
	spec.Name = strings.TrimSpace(spec.Name)
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
	for _, m := range spec.Models {
		if m == "" || len(m) > modelNameBytes || !printable(m) {
			return invalid("models", "%q is not the id of a model.", m)
		}
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
		CreatedAt: now, ExpiresAt: spec.ExpiresAt, Models: spec.Models, Concurrency: spec.Concurrency,
	}
	made, err := insertKey(ctx, s.db, k, fingerprintOf(secret))
	if err != nil {
		return Key{}, "", storeError("create key", err)
	}
	if !made {
		return Key{}, "", app.Errorf(app.Conflict, "too_many_keys", "An account has at most %d keys. Delete one that is not used.", keysMax)
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

// DeleteKey ends a key for good. Its row stays, because usage refers to it.
func (s *Service) DeleteKey(ctx context.Context, p app.Principal, id string) error {
	found, err := setKeyDeleted(ctx, s.db, p.AccountID, id, s.o.Now().UTC())
	if err == nil && !found {
		return keyNotFound()
	}
	return storeError("delete key", err)
}
