package credentialstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/catalog"
	"umg/app/postgres"
	"umg/app/seal"
)

// These limits apply to credentials.
const (
	// ValueBytesMax bounds a value.
	ValueBytesMax = 64 << 10
	// credentialsMax bounds the credentials, all of which every replica has in memory.
	credentialsMax = 1000
	byRunesMax     = 200

	// hintChars is how much of a value stays visible, and hintedBytesMin the length from which that tells next to nothing of it.
	hintChars      = 4
	hintedBytesMin = 12
)

// sealPurpose is the purpose of the seal. A change of it makes all sealed credentials unreadable.
const sealPurpose = "umg provider credentials"

// These are the actions of operators.
const (
	ActionSet     = "set"
	ActionDeleted = "deleted"
)

// Credential is a sealed credential without its value.
type Credential struct {
	Name string `db:"name"`
	// LastFour are the last characters of the value. It is empty for a short value.
	LastFour string `db:"last_four"`
	// KeyID is the id of the secret key that sealed the value.
	KeyID string `db:"key_id"`
	// IsReadable means that this server has the key that sealed the value.
	IsReadable bool      `db:"-"`
	ChangedBy  string    `db:"changed_by"`
	ChangedAt  time.Time `db:"changed_at"`
	// Providers are the ids of the providers of the catalog that use it.
	Providers []string `db:"-"`
}

// Event is an action of an operator.
type Event struct {
	Action   string    `db:"action"` // Action is ActionSet or ActionDeleted.
	Name     string    `db:"name"`
	LastFour string    `db:"last_four"`
	By       string    `db:"by_user"` // By is the operator's e-mail address, or a person and their machine.
	At       time.Time `db:"at"`
}

// Options configure a Store. All are required.
type Options struct {
	Now app.Clock
	Log *slog.Logger
	// Key is the servers' secret key.
	Key [seal.KeyBytes]byte
	// CheckValue returns why a value cannot be used with a kind of auth. Its error has nothing of the value.
	CheckValue func(catalog.Auth, catalog.Secret) error
}

// Store is the store of sealed credentials. It is safe for concurrent use.
type Store struct {
	db     *sqlx.DB
	o      Options
	sealer *seal.Sealer
}

// New returns the store. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Store {
	app.RequireOptions("credentialstore.New", map[string]bool{
		"db": db != nil, "Options.Now": o.Now != nil, "Options.Log": o.Log != nil, "Options.Key": o.Key != [seal.KeyBytes]byte{},
		"Options.CheckValue": o.CheckValue != nil,
	})
	return &Store{db: db, o: o, sealer: seal.New(o.Key, sealPurpose)}
}

// Set stores a value under a name, in place of an earlier value. All replicas use the new value within a second. An invalid name or value
// is an app.Error that names the parameter.
func (s *Store) Set(ctx context.Context, name, value, by string) error {
	value = strings.TrimRight(value, "\r\n")
	if err := checkInput(name, value); err != nil {
		return err
	}
	return s.change(ctx, Event{Action: ActionSet, Name: name, LastFour: hintOf(value), By: by}, func(tx *sqlx.Tx, e *Event) error {
		if err := s.checkUses(ctx, tx, name, value); err != nil {
			return err
		}
		// Changes of credentials wait for each other, so that their number stays bounded.
		if _, err := tx.ExecContext(ctx, `lock table provider_credentials in share row exclusive mode`); err != nil {
			return err
		}
		stored, err := postgres.Changed(tx.ExecContext(ctx, `
			insert into provider_credentials (name, sealed, key_id, last_four, changed_by, changed_at)
			select $1, $2, $3, $4, $5, $6
			where (select count(*) from provider_credentials where name <> $1) < $7
			on conflict (name) do update set sealed = excluded.sealed, key_id = excluded.key_id, last_four = excluded.last_four,
				changed_by = excluded.changed_by, changed_at = excluded.changed_at`,
			name, s.sealer.Seal([]byte(value), name), s.sealer.KeyID(), e.LastFour, e.By, e.At, credentialsMax))
		if err == nil && !stored {
			err = app.Errorf(app.Conflict, "too_many_credentials", "There are %d credentials already. Delete one first.", credentialsMax).At("name")
		}
		return err
	})
}

func checkInput(name, value string) error {
	switch {
	case !catalog.IsSealedName(name):
		return invalid("name", "Enter a name of at most 63 letters, digits, dots, hyphens and underscores that begins with a letter or digit.")
	case strings.TrimSpace(value) == "":
		return invalid("value", "Enter the credential.")
	case len(value) > ValueBytesMax:
		return invalid("value", "The credential may have at most %d KiB.", ValueBytesMax>>10)
	case !utf8.ValidString(value):
		return invalid("value", "The credential must be text.")
	}
	return nil
}

func invalid(param, format string, args ...any) error {
	return app.Errorf(app.Invalid, "invalid_"+param, format, args...).At(param)
}

// hintOf is the visible end of a value. A short value has none, because its end would tell too much of it.
func hintOf(value string) string {
	runes := []rune(strings.TrimSpace(value))
	if len(runes) < hintedBytesMin {
		return ""
	}
	return app.MakeStorable(string(runes[len(runes)-hintChars:]), 4*hintChars)
}

// checkUses refuses a value that a provider of the catalog in force cannot use.
func (s *Store) checkUses(ctx context.Context, q postgres.Queryer, name, value string) error {
	f, err := catalog.Export(ctx, q)
	if err != nil {
		return err
	}
	users := f.SealedNames()[name]
	for i := range f.Providers {
		p := &f.Providers[i]
		if p.Disabled || !slices.Contains(users, p.ID) {
			continue
		}
		if err := s.o.CheckValue(p.Expanded().Auth, catalog.NewSecret(value)); err != nil {
			return invalid("value", "Provider %s cannot use the credential: %s.", p.ID, err)
		}
	}
	return nil
}

// Delete deletes a credential that no enabled provider of the catalog in force uses.
func (s *Store) Delete(ctx context.Context, name, by string) error {
	return s.change(ctx, Event{Action: ActionDeleted, Name: name, By: by}, func(tx *sqlx.Tx, e *Event) error {
		f, err := catalog.Export(ctx, tx)
		if err != nil {
			return err
		}
		if users := f.SealedNames()[name]; len(users) > 0 {
			return app.Errorf(app.Conflict, "credential_in_use",
				"The catalog in force names it at %s. Apply a catalog without it first.", strings.Join(users, ", ")).At("name")
		}
		var found []string
		if err := tx.SelectContext(ctx, &found, `delete from provider_credentials where name = $1 returning last_four`, name); err != nil {
			return err
		}
		if len(found) == 0 {
			return app.Errorf(app.NotFound, "credential_not_found", "There is no sealed credential %q.", app.Truncate(name, byRunesMax)).At("name")
		}
		e.LastFour = found[0]
		return nil
	})
}

// change makes a change with its event in one transaction, and announces it.
func (s *Store) change(ctx context.Context, e Event, do func(*sqlx.Tx, *Event) error) error {
	e.At, e.By = s.o.Now().UTC(), app.MakeStorable(app.Truncate(e.By, byRunesMax), 4*byRunesMax)
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := do(tx, &e); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `
			insert into provider_credential_events (action, name, last_four, by_user, at) values ($1, $2, $3, $4, $5)`,
			e.Action, e.Name, e.LastFour, e.By, e.At); err != nil {
			return err
		}
		return catalog.RequestReload(ctx, tx)
	})
	if _, isRefusal := errors.AsType[*app.Error](err); isRefusal {
		return err
	}
	if err != nil {
		return postgres.StoreError("credentialstore: change", err)
	}
	s.o.Log.Warn("provider credential changed", "action", e.Action, "name", e.Name, "by", e.By)
	return nil
}

// List lists the credentials by name, with the providers of the catalog in force that use them.
func (s *Store) List(ctx context.Context) ([]Credential, error) {
	var list []Credential
	err := s.db.SelectContext(ctx, &list, `
		select name, last_four, key_id, changed_by, changed_at from provider_credentials order by name limit $1`, credentialsMax)
	if err != nil {
		return nil, postgres.StoreError("credentialstore: list", err)
	}
	f, err := catalog.Export(ctx, s.db)
	if err != nil {
		return nil, err
	}
	users := f.SealedNames()
	for i := range list {
		list[i].Providers, list[i].IsReadable = users[list[i].Name], list[i].KeyID == s.sealer.KeyID()
	}
	return list, nil
}

// History lists the latest actions of operators, newest first.
func (s *Store) History(ctx context.Context, most int) ([]Event, error) {
	var events []Event
	err := s.db.SelectContext(ctx, &events, `
		select action, name, last_four, by_user, at from provider_credential_events order by number desc limit $1`, most)
	return events, postgres.StoreError("credentialstore: read history", err)
}

// Values opens all credentials for the catalog. A credential that was sealed with another key has a problem in place of its value.
func (s *Store) Values(ctx context.Context) (map[string]catalog.SealedCredential, error) {
	return values(ctx, s.db, func(name string, sealed []byte) catalog.SealedCredential {
		plain, err := s.sealer.Open(sealed, name)
		switch {
		case errors.Is(err, seal.ErrOtherKey):
			return catalog.SealedCredential{Problem: "was sealed with another secret key; set it again"}
		case err != nil:
			return catalog.SealedCredential{Problem: "is damaged; set it again"}
		}
		return catalog.SealedCredential{Value: catalog.NewSecret(string(plain))}
	})
}

// Names are the credentials without their values, for a command that has no secret key.
func Names(ctx context.Context, q postgres.Queryer) (map[string]catalog.SealedCredential, error) {
	return values(ctx, q, func(string, []byte) catalog.SealedCredential { return catalog.SealedCredential{} })
}

func values(
	ctx context.Context, q postgres.Queryer, open func(name string, sealed []byte) catalog.SealedCredential,
) (map[string]catalog.SealedCredential, error) {
	var rows []struct {
		Name   string `db:"name"`
		Sealed []byte `db:"sealed"`
	}
	if err := q.SelectContext(ctx, &rows, `select name, sealed from provider_credentials limit $1`, credentialsMax); err != nil {
		return nil, fmt.Errorf("credentialstore: read: %w", err)
	}
	all := make(map[string]catalog.SealedCredential, len(rows))
	for _, row := range rows {
		all[row.Name] = open(row.Name, row.Sealed)
	}
	return all, nil
}

// Reseal seals the credentials again that an earlier secret key has sealed. It returns how many these are.
func (s *Store) Reseal(ctx context.Context, earlier [seal.KeyBytes]byte) (n int, err error) {
	old := seal.New(earlier, sealPurpose)
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		n = 0
		var rows []struct {
			Name   string `db:"name"`
			Sealed []byte `db:"sealed"`
		}
		err := tx.SelectContext(ctx, &rows, `select name, sealed from provider_credentials where key_id = $1 for update`, old.KeyID())
		if err != nil {
			return err
		}
		for _, row := range rows {
			plain, err := old.Open(row.Sealed, row.Name)
			if err != nil {
				return fmt.Errorf("credential %s: %w", row.Name, err)
			}
			if _, err := tx.ExecContext(ctx, `update provider_credentials set sealed = $2, key_id = $3 where name = $1`,
				row.Name, s.sealer.Seal(plain, row.Name), s.sealer.KeyID()); err != nil {
				return err
			}
			n++
		}
		return catalog.RequestReload(ctx, tx)
	})
	if err != nil {
		return 0, postgres.StoreError("credentialstore: seal again", err)
	}
	return n, nil
}
