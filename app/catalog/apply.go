package catalog

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/jmoiron/sqlx"
	"gopkg.in/yaml.v3"

	"umg/app/postgres"
)

// Apply puts the file in force, or nothing of it when it has problems. Prices that differ become a new version of the rate card of the
// model, and models that the file lacks are retired. Every replica is notified. A file that equals the catalog in force changes nothing.
func Apply(ctx context.Context, db *sqlx.DB, f File) error {
	return ApplyAs(ctx, db, f, HistoryAction{})
}

// ApplyAs is Apply with an author and a note, which the history records.
func ApplyAs(ctx context.Context, db *sqlx.DB, f File, d HistoryAction) error {
	f, err := f.ready(d)
	if err != nil {
		return err
	}
	_, err = replace(ctx, db, d, func(stored, bool) (File, error) { return f, nil })
	return err
}

// ready is the file as it comes into force, with the prices of its markups, or an error when it has problems.
func (f File) ready(d HistoryAction) (File, error) {
	if all := Check(f); len(all) > 0 {
		return f, fmt.Errorf("%w:\n%w", ErrProblems, errors.Join(all...))
	}
	if lines := BelowCost(f); len(lines) > 0 && !d.BelowCost {
		return f, fmt.Errorf("%w:\n%s", ErrBelowCost, strings.Join(lines, "\n"))
	}
	f.Aliases = f.Aliases.withoutDefaults()
	return f.withMarkups()
}

// ErrProblems means that the file has problems, which the error also holds as values of FileError.
var ErrProblems = errors.New("catalog: the file has problems")

// ErrBelowCost means that a price is below the cost of a route, which HistoryAction.BelowCost allows.
var ErrBelowCost = errors.New("catalog: prices are below cost")

// equal compares canonical forms, up to the first difference.
func equal(a, b File) (bool, error) {
	same, err := equalParts([]Aliases{a.Aliases}, []Aliases{b.Aliases})
	if same && err == nil {
		same, err = equalParts(a.Providers, b.Providers)
	}
	if same && err == nil {
		same, err = equalParts(a.Models, b.Models)
	}
	return same, err
}

// equalParts compares two lists. Entries that differ in memory may still be equal as YAML: an absent list and an empty one, for instance.
func equalParts[T any](a, b []T) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if reflect.DeepEqual(a[i], b[i]) {
			continue
		}
		x, errX := yaml.Marshal(a[i])
		y, errY := yaml.Marshal(b[i])
		if err := errors.Join(errX, errY); err != nil {
			return false, fmt.Errorf("catalog: compare: %w", err)
		}
		if !bytes.Equal(x, y) {
			return false, nil
		}
	}
	return true, nil
}

// write replaces the catalog in the tables. The rate card of a model gets a new version when its prices differ.
func write(ctx context.Context, tx *sqlx.Tx, f, old File) error {
	before := map[string]*FileModel{}
	for i := range old.Models {
		before[old.Models[i].ID] = &old.Models[i]
	}
	var repriced []*FileModel
	costs := newCosts{}
	for i := range f.Models {
		m := &f.Models[i]
		known := before[m.ID]
		same, err := known.hasPricesOf(m)
		if err != nil {
			return err
		}
		if !same {
			repriced = append(repriced, m)
		}
		if err := costs.add(m, known); err != nil {
			return err
		}
	}
	if err := writeProviders(ctx, tx, f.Providers); err != nil {
		return err
	}
	if err := keepPresets(ctx, tx, f.Providers, old.Providers); err != nil {
		return err
	}
	if err := writeModels(ctx, tx, f.Models); err != nil {
		return err
	}
	if err := writeRates(ctx, tx, repriced); err != nil {
		return err
	}
	if err := costs.write(ctx, tx); err != nil {
		return err
	}
	availability := make(map[string]Availability, len(f.Models))
	for i := range f.Models {
		availability[f.Models[i].ID] = f.Models[i].Availability
	}
	err := exec(ctx, tx, "write availability", `
		update models set availability = e.value from jsonb_each_text($1::jsonb) e where id = e.key and availability <> e.value`,
		asJSON{availability})
	if err != nil {
		return err
	}
	// The version tells replicas that something changed, and the notification wakes them.
	return exec(ctx, tx, "announce", `
		with next as (update catalog_settings set aliases = $1::jsonb, version = version + 1 returning version)
		select pg_notify($2, version::text) from next`, asJSON{f.Aliases}, channel)
}

func exec(ctx context.Context, q postgres.Queryer, what, sql string, args ...any) error {
	if _, err := q.ExecContext(ctx, sql, args...); err != nil {
		return fmt.Errorf("catalog: %s: %w", what, err)
	}
	return nil
}

// asJSON is a jsonb parameter, which travels as text.
type asJSON struct{ v any }

// Value prints the parameter.
func (j asJSON) Value() (driver.Value, error) {
	raw, err := json.Marshal(j.v)
	return string(raw), err
}

// writeProviders replaces all providers. Routes refer to them by id, which is checked when the transaction ends.
func writeProviders(ctx context.Context, q postgres.Queryer, all []FileProvider) error {
	if err := exec(ctx, q, "remove providers", `delete from providers`); err != nil {
		return err
	}
	return exec(ctx, q, "write providers", `
		insert into providers (id, position, credential, entry)
		select e ->> 'id', n, coalesce(e ->> 'credential', ''), e
		from jsonb_array_elements($1::jsonb) with ordinality as x (e, n)`, asJSON{append([]FileProvider{}, all...)})
}

// writeModels writes models and routes as the file has them, and retires models that the file lacks. All models are coming until their
// rate cards are written.
func writeModels(ctx context.Context, q postgres.Queryer, all []FileModel) error {
	ids, rows, routes := make([]string, len(all)), make([]storedModel, len(all)), make(map[string][]FileRoute, len(all))
	for i, m := range all {
		ids[i], rows[i], routes[m.ID] = m.ID, storedModel{Entry: m, Paused: m.Paused}, append([]FileRoute{}, m.Routes...)
	}
	if err := exec(ctx, q, "remove routes", `delete from routes`); err != nil {
		return err
	}
	if err := exec(ctx, q, "retire models", `
		update models set retired_at = now() where retired_at is null
			and id not in (select jsonb_array_elements_text($1::jsonb))`, asJSON{ids}); err != nil {
		return err
	}
	if err := exec(ctx, q, "write models", `
		insert into models (id, position, availability, paused, entry)
		select e -> 'entry' ->> 'id', n, 'coming', (e ->> 'paused')::boolean, e -> 'entry'
		from jsonb_array_elements($1::jsonb) with ordinality as x (e, n)
		on conflict (id) do update set position = excluded.position, availability = excluded.availability,
			paused = excluded.paused, entry = excluded.entry, retired_at = null`, asJSON{rows}); err != nil {
		return err
	}
	return exec(ctx, q, "write routes", `
		insert into routes (model_id, position, provider_id, model, style, preference, weight, timeouts)
		select e.key, n, r ->> 'provider', r ->> 'model', coalesce(r ->> 'style', ''),
			(r ->> 'order')::integer, (r ->> 'weight')::integer, coalesce(r -> 'timeouts', '{}')
		from jsonb_each($1::jsonb) e, jsonb_array_elements(e.value) with ordinality as x (r, n)`, asJSON{routes})
}

// writeRates adds a version to the rate card of each model, or takes the card away from a model that has no prices.
func writeRates(ctx context.Context, q postgres.Queryer, models []*FileModel) error {
	type card struct {
		Model      string          `json:"model"`
		Rates      []storedRate    `json:"rates"`
		Conditions []FileCondition `json:"conditions"`
	}
	priced, free := []card{}, []string{}
	for _, m := range models {
		rates, err := m.storedRates()
		if err != nil {
			return fmt.Errorf("catalog: rates of %s: %w", m.ID, err)
		}
		if len(rates) == 0 {
			free = append(free, m.ID)
			continue
		}
		priced = append(priced, card{m.ID, rates, append([]FileCondition{}, m.Conditions...)})
	}
	if err := exec(ctx, q, "remove rates", `
		update models set rate_version = null where id in (select jsonb_array_elements_text($1::jsonb))`, asJSON{free}); err != nil {
		return err
	}
	return exec(ctx, q, "write rates", `
		with card as (
			insert into rate_cards (model_id, version, rates, conditions)
			select e ->> 'model', coalesce((select max(r.version) from rate_cards r where r.model_id = e ->> 'model'), 0) + 1,
				e -> 'rates', e -> 'conditions'
			from jsonb_array_elements($1::jsonb) e
			returning model_id, version)
		update models set rate_version = card.version from card where id = card.model_id`, asJSON{priced})
}
