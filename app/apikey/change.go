package apikey

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/app/seal"
	"umg/billing"
)

// Query is which keys of an account to list.
type Query struct {
	After       string // After is the id of the key before the page. It is empty for the first page.
	Limit       int    // Limit is from 1 to 100; other values are brought into this range.
	OldestFirst bool
}

// Page is a part of an account's keys.
type Page struct {
	Keys []Key
	More bool
}

func keyNotFound() error { return app.Errorf(app.NotFound, "key_not_found", "There is no such key.") }

// Overlaps are how long the secret of before a rotation may stay good.
func Overlaps() []time.Duration {
	return []time.Duration{0, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}
}

// Create makes a key for the principal's account and returns its secret, which is shown once and kept nowhere.
func (s *Service) Create(ctx context.Context, p app.Principal, spec Spec) (Key, string, error) {
	now := s.o.Now().UTC()
	if err := spec.check(now); err != nil {
		return Key{}, "", err
	}
	if err := mayManage(p, spec.Scopes); err != nil {
		return Key{}, "", err
	}
	secret, err := newSecret(s.o.Random)
	if err != nil {
		return Key{}, "", err
	}
	k := Key{
		Spec: spec, Secret: Secret{Prefix: secret[:shownChars], LastFour: secret[len(secret)-lastChars:]},
		ID: s.o.IDs.New("key"), AccountID: p.AccountID, CreatedBy: p.UserID, CreatedByKey: p.KeyID, CreatedAt: now,
	}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := s.o.Accounts.LockKeyMaker(ctx, tx, p, spec.Scopes); err != nil {
			return err
		}
		made, err := insertKey(ctx, tx, k, seal.FingerprintOf(secret))
		if err == nil && !made {
			return app.Errorf(app.Conflict, "too_many_keys", "An account has at most %d keys. Delete one that is not used.", keysMax)
		}
		if err == nil && spec.Budget != nil {
			err = s.o.Ledger.OpenBudget(ctx, tx, billingBudget(spec.Budget, p.AccountID, k.ID))
		}
		if err != nil {
			return err
		}
		e := audit.Event{Action: "key.created", Object: k.ID, Name: k.Name, Changes: differences(Spec{}, spec)}
		if err := s.audit.Write(ctx, tx, p, e); err != nil {
			return err
		}
		k, err = keyByID(ctx, tx, p.AccountID, k.ID) // Another request may delete the key right after the commit.
		return err
	})
	if err != nil {
		return Key{}, "", postgres.StoreError("apikey: create key", err)
	}
	return k, secret, nil
}

// Get returns one key of the account.
func (s *Service) Get(ctx context.Context, p app.Principal, id string) (Key, error) {
	if !app.ValidID(id) {
		return Key{}, keyNotFound()
	}
	k, err := keyByID(ctx, s.db, p.AccountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Key{}, keyNotFound()
	}
	return k, postgres.StoreError("apikey: read key", err)
}

// List lists all of the account's keys, newest first.
func (s *Service) List(ctx context.Context, p app.Principal) ([]Key, error) {
	keys, err := keysOf(ctx, s.db, p.AccountID, Query{Limit: keysMax})
	return keys, postgres.StoreError("apikey: list keys", err)
}

// Page lists a part of the account's keys.
func (s *Service) Page(ctx context.Context, p app.Principal, page Query) (Page, error) {
	page.Limit = min(max(page.Limit, 1), keysPageMax)
	if page.After != "" {
		known, err := app.ValidID(page.After), error(nil)
		if known {
			known, err = postgres.Get[bool](ctx, s.db, `
				select exists(select from api_keys where account_id = $1 and id = $2)`, p.AccountID, page.After)
		}
		if err == nil && !known {
			return Page{}, app.InvalidValue("after", "There is no such key. Use the last_id of the page before.")
		}
		if err != nil {
			return Page{}, postgres.StoreError("apikey: list keys", err)
		}
	}
	page.Limit++
	keys, err := keysOf(ctx, s.db, p.AccountID, page)
	if err != nil {
		return Page{}, postgres.StoreError("apikey: list keys", err)
	}
	if len(keys) == page.Limit {
		return Page{Keys: keys[:page.Limit-1], More: true}, nil
	}
	return Page{Keys: keys}, nil
}

// mayManage refuses keys that can do more than the user who makes or changes them: only users who manage members may manage keys
// with the management scope.
func mayManage(p app.Principal, scopes []app.Scope) error {
	if !slices.Contains(scopes, app.ScopeManagement) || p.Rights.Has(app.ManageMembers) {
		return nil
	}
	return app.Errorf(app.Forbidden, "role_not_allowed",
		"Keys with the scope %s can only be made and changed by owners and admins, or with such a key.", app.ScopeManagement).Final()
}

// changeKey locks a key, runs fn on it for a user who may change it, and writes an audit entry. An entry without an action means
// that nothing changed.
func (s *Service) changeKey(
	ctx context.Context, p app.Principal, id, doing string, fn func(tx *sqlx.Tx, k Key) (audit.Event, error),
) error {
	if !app.ValidID(id) {
		return keyNotFound()
	}
	return postgres.StoreError("apikey: "+doing, postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		k, err := lockKey(ctx, tx, p.AccountID, id)
		if err != nil {
			return err
		}
		if err := mayManage(p, k.Scopes); err != nil {
			return err
		}
		e, err := fn(tx, k)
		if err != nil || e.Action == "" {
			return err
		}
		e.Object = k.ID
		if e.Name == "" {
			e.Name = k.Name
		}
		return s.audit.Write(ctx, tx, p, e)
	}))
}

// Update changes what the patch names, the budget with the rest, and returns the key as it is then. Every replica knows within a second.
func (s *Service) Update(ctx context.Context, p app.Principal, id string, patch Patch) (Key, error) {
	err := s.changeKey(ctx, p, id, "update key", func(tx *sqlx.Tx, k Key) (audit.Event, error) {
		before := k.Spec
		after := patch.over(before)
		now := s.o.Now().UTC()
		if patch.ExpiresAt == nil { // A time in the past is allowed when the patch does not change it.
			after.ExpiresAt = nil
		}
		if err := after.check(now); err != nil {
			return audit.Event{}, err
		}
		if patch.ExpiresAt == nil {
			after.ExpiresAt = before.ExpiresAt
		}
		if err := mayManage(p, after.Scopes); err != nil {
			return audit.Event{}, err
		}
		changes := differences(before, after)
		if len(changes) == 0 {
			return audit.Event{}, nil
		}
		if err := updateKey(ctx, tx, p.AccountID, id, after); err != nil {
			return audit.Event{}, err
		}
		return audit.Event{Action: "key.updated", Name: after.Name, Changes: changes}, s.setBudget(ctx, tx, k, after.Budget)
	})
	if err != nil {
		return Key{}, err
	}
	return s.Get(ctx, p, id)
}

// Rotate gives a key another secret, which is shown once. The one it had stays good for the overlap, and one of before
// that ends now. A key whose secret was found in public has no overlap.
func (s *Service) Rotate(ctx context.Context, p app.Principal, id string, overlap time.Duration) (Key, string, error) {
	if !slices.Contains(Overlaps(), overlap) {
		return Key{}, "", app.InvalidValue("overlap", "The old secret stays good for 0, 1 hour, 24 hours or 7 days.")
	}
	secret, err := newSecret(s.o.Random)
	if err != nil {
		return Key{}, "", err
	}
	err = s.changeKey(ctx, p, id, "rotate key", func(tx *sqlx.Tx, k Key) (audit.Event, error) {
		if k.Secret.LeakedAt != nil && overlap > 0 {
			return audit.Event{}, app.InvalidValue("overlap",
				"A secret of this key was found in public, so it cannot stay good: rotate the key without overlap.")
		}
		now := s.o.Now().UTC()
		var until *time.Time
		if overlap > 0 {
			until = new(now.Add(overlap))
		}
		old := k.Secret.LastFour
		k.Secret.Prefix, k.Secret.LastFour = secret[:shownChars], secret[len(secret)-lastChars:]
		return audit.Event{Action: "key.rotated", Changes: audit.Changed(
			audit.Change{Field: "secret", From: "…" + old, To: "…" + k.Secret.LastFour},
			audit.Change{Field: "old_secret_until", To: momentOf(until)},
		)}, setKeySecret(ctx, tx, k, seal.FingerprintOf(secret), now, until)
	})
	if err != nil {
		return Key{}, "", err
	}
	k, err := s.Get(ctx, p, id)
	return k, secret, err
}

// Disable switches a key off, or on again. Every replica knows within a second. A key whose secret was found in public
// stays off until it is rotated.
func (s *Service) Disable(ctx context.Context, p app.Principal, id string, disabled bool) error {
	return s.changeKey(ctx, p, id, "disable key", func(tx *sqlx.Tx, k Key) (audit.Event, error) {
		switch {
		case k.Disabled == disabled:
			return audit.Event{}, nil
		case !disabled && k.Secret.LeakedAt != nil:
			return audit.Event{}, app.Errorf(app.Conflict, "key_leaked",
				"A secret of this key was found in public. Rotate the key first; then it can be enabled.").Final()
		}
		e := audit.Event{Action: "key.enabled"}
		if disabled {
			e.Action = "key.disabled"
		}
		return e, postgres.Exec(ctx, tx, `
			update api_keys set disabled_at = case when $3 then coalesce(disabled_at, $4) end
			where account_id = $1 and id = $2 and deleted_at is null`, p.AccountID, id, disabled, s.o.Now().UTC())
	})
}

// Delete ends a key for good, and its budget with it. Its row stays, because usage refers to it.
func (s *Service) Delete(ctx context.Context, p app.Principal, id string) error {
	return s.changeKey(ctx, p, id, "delete key", func(tx *sqlx.Tx, k Key) (audit.Event, error) {
		return audit.Event{Action: "key.deleted"}, s.endKey(ctx, tx, p, k)
	})
}

// endKey deletes a locked key with its budget and the networks it was used from.
func (s *Service) endKey(ctx context.Context, tx *sqlx.Tx, p app.Principal, k Key) error {
	if err := postgres.Exec(ctx, tx, `
		update api_keys set deleted_at = $3 where account_id = $1 and id = $2 and deleted_at is null`,
		p.AccountID, k.ID, s.o.Now().UTC()); err != nil {
		return err
	}
	if err := postgres.Exec(ctx, tx, `delete from key_networks where account_id = $1 and key_id = $2`, p.AccountID, k.ID); err != nil {
		return err
	}
	return s.setBudget(ctx, tx, k, nil)
}

// setBudget gives a locked key another budget, or none. Setting the same again changes nothing.
func (s *Service) setBudget(ctx context.Context, tx *sqlx.Tx, k Key, b *billing.Allowance) error {
	had := k.Budget
	switch {
	case b == nil && had == nil, b != nil && had != nil && *b == *had:
		return nil
	case b == nil:
		return s.o.Ledger.CloseBudget(ctx, tx, k.AccountID, k.ID)
	case had != nil:
		return s.o.Ledger.SetBudget(ctx, tx, billingBudget(b, k.AccountID, k.ID))
	default:
		return s.o.Ledger.OpenBudget(ctx, tx, billingBudget(b, k.AccountID, k.ID))
	}
}

func billingBudget(b *billing.Allowance, accountID, keyID string) billing.Budget {
	return billing.Budget{KeyID: keyID, AccountID: accountID, Limit: b.Limit, Period: b.Period}
}

// EndOldSecret ends the secret of before the last rotation ahead of its time. Where it is over already, nothing changes.
// Every replica knows within a second.
func (s *Service) EndOldSecret(ctx context.Context, p app.Principal, id string) error {
	return s.changeKey(ctx, p, id, "end old secret", func(tx *sqlx.Tx, k Key) (audit.Event, error) {
		if k.Secret.PreviousUntil == nil || !k.Secret.PreviousUntil.After(s.o.Now()) {
			return audit.Event{}, nil
		}
		return audit.Event{Action: "key.updated", Changes: audit.Changed(
			audit.Change{Field: "old_secret_until", From: momentOf(k.Secret.PreviousUntil), To: momentOf(nil)},
		)}, endPrevious(ctx, tx, p.AccountID, k.ID)
	})
}

func endPrevious(ctx context.Context, q postgres.Queryer, accountID, id string) error {
	return postgres.Exec(ctx, q, `
		update api_keys set previous_hash = null, previous_until = null, previous_last_four = null, previous_used_at = null
		where account_id = $1 and id = $2 and deleted_at is null`, accountID, id)
}
