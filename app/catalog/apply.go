package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/jmoiron/sqlx"
	"gopkg.in/yaml.v3"

	"umg/app/postgres"
)

// Apply makes the file the catalog in force: all of it, or nothing when it has problems. Prices that differ become a
// new version of the model's rate card; models that are not in the file are retired. Every replica is notified. A
// file that says what is already in force changes nothing.
func Apply(ctx context.Context, db *sqlx.DB, f File) error {
	return ApplyAs(ctx, db, f, HistoryAction{})
}

// ApplyAs is Apply with an author and a note, which the history records.
func ApplyAs(ctx context.Context, db *sqlx.DB, f File, d HistoryAction) error {
	if all := Check(f); len(all) > 0 {
		return fmt.Errorf("catalog: the file has problems:\n%w", errors.Join(all...))
	}
	return replace(ctx, db, d, func(File, bool) (File, error) { return f, nil })
}

// equal compares canonical forms, up to the first difference.
func equal(a, b File) (bool, error) {
	if same, err := equalParts([]Aliases{a.Aliases}, []Aliases{b.Aliases}); !same || err != nil {
		return false, err
	}
	if same, err := equalParts(a.Providers, b.Providers); !same || err != nil {
		return false, err
	}
	return equalParts(a.Models, b.Models)
}

// equalParts compares two lists. Entries that are not the same in memory may still be printed the same: an absent list and an
// empty one, for instance.
func equalParts[T any](a, b []T) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if reflect.DeepEqual(a[i], b[i]) {
			continue
		}
		x, err := yaml.Marshal(a[i])
		if err != nil {
			return false, fmt.Errorf("catalog: compare: %w", err)
		}
		y, err := yaml.Marshal(b[i])
		if err != nil {
			return false, fmt.Errorf("catalog: compare: %w", err)
		}
		if !bytes.Equal(x, y) {
			return false, nil
		}
	}
	return true, nil
}

func write(ctx context.Context, tx *sqlx.Tx, f, old File) error {
	before := map[string]*FileModel{}
	for i := range old.Models {
		before[old.Models[i].ID] = &old.Models[i]
	}
	if err := writeProviders(ctx, tx, f.Providers); err != nil {
		return err
	}
	if err := writeModels(ctx, tx, f.Models); err != nil {
		return err
	}
	var repriced []*FileModel
	for i := range f.Models {
		m := &f.Models[i]
		if known := before[m.ID]; known == nil || !samePrices(known, m) {
			repriced = append(repriced, m)
		}
	}
	if err := writeRates(ctx, tx, repriced); err != nil {
		return err
	}
	if err := writeAvailability(ctx, tx, f.Models); err != nil {
		return err
	}
	return announce(ctx, tx, f.Aliases)
}

func samePrices(a, b *FileModel) bool {
	return maps.Equal(a.Rates, b.Rates) &&
		maps.EqualFunc(a.SizeRates, b.SizeRates, maps.Equal[Rates])
}

func exec(ctx context.Context, q postgres.Queryer, what, sql string, args ...any) error {
	if _, err := q.ExecContext(ctx, sql, args...); err != nil {
		return fmt.Errorf("catalog: %s: %w", what, err)
	}
	return nil
}

// asJSON prints v for a jsonb parameter, which travels as text.
func asJSON(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("catalog: print: %w", err)
	}
	return string(raw), nil
}

// writeProviders replaces all providers. Routes refer to them by id, which is checked when the transaction ends.
func writeProviders(ctx context.Context, q postgres.Queryer, all []FileProvider) error {
	entries, err := asJSON(append([]FileProvider{}, all...))
	if err != nil {
		return err
	}
	if err := exec(ctx, q, "remove providers", `delete from providers`); err != nil {
		return err
	}
	return exec(ctx, q, "write providers", `
		insert into providers (id, position, credential, entry)
		select e ->> 'id', n, coalesce(e ->> 'credential', ''), e
		from jsonb_array_elements($1::jsonb) with ordinality as x (e, n)`, entries)
}

// writeModels brings models and routes in line with the file and retires what it does not name. All models are
// coming until their rate cards are there.
func writeModels(ctx context.Context, q postgres.Queryer, all []FileModel) error {
	models, err := asJSON(rowsOf(all))
	if err != nil {
		return err
	}
	routes, err := asJSON(routesOf(all))
	if err != nil {
		return err
	}
	if err := exec(ctx, q, "remove routes", `delete from routes`); err != nil {
		return err
	}
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	stay, err := asJSON(ids)
	if err != nil {
		return err
	}
	if err := exec(ctx, q, "retire models", `
		update models set retired_at = now() where retired_at is null
			and id not in (select jsonb_array_elements_text($1::jsonb))`, stay); err != nil {
		return err
	}
	if err := exec(ctx, q, "write models", `
		insert into models (id, position, availability, paused, entry)
		select e -> 'entry' ->> 'id', n, 'coming', (e ->> 'paused')::boolean, e -> 'entry'
		from jsonb_array_elements($1::jsonb) with ordinality as x (e, n)
		on conflict (id) do update set position = excluded.position, availability = excluded.availability,
			paused = excluded.paused, entry = excluded.entry, retired_at = null`, models); err != nil {
		return err
	}
	return exec(ctx, q, "write routes", `
		insert into routes (model_id, position, provider_id, model, style, preference, weight, timeouts)
		select e.key, n, r ->> 'provider', r ->> 'model', coalesce(r ->> 'style', ''),
			(r ->> 'order')::integer, (r ->> 'weight')::integer, coalesce(r -> 'timeouts', '{}')
		from jsonb_each($1::jsonb) e, jsonb_array_elements(e.value) with ordinality as x (r, n)`, routes)
}

// routesOf are the routes of models by their ids.
func routesOf(all []FileModel) map[string][]FileRoute {
	by := make(map[string][]FileRoute, len(all))
	for i := range all {
		by[all[i].ID] = append([]FileRoute{}, all[i].Routes...)
	}
	return by
}

func rowsOf(all []FileModel) []storedModel {
	rows := make([]storedModel, len(all))
	for i, m := range all {
		rows[i] = storedModel{Entry: m, Paused: m.Paused}
	}
	return rows
}

// writeRates adds a version to the rate card of each model, or takes the card away from a model that has no prices.
func writeRates(ctx context.Context, q postgres.Queryer, models []*FileModel) error {
	type card struct {
		Model string       `json:"model"`
		Rates []storedRate `json:"rates"`
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
		priced = append(priced, card{m.ID, rates})
	}
	names, err := asJSON(free)
	if err != nil {
		return err
	}
	cards, err := asJSON(priced)
	if err != nil {
		return err
	}
	if err := exec(ctx, q, "remove rates", `
		update models set rate_version = null where id in (select jsonb_array_elements_text($1::jsonb))`, names); err != nil {
		return err
	}
	return exec(ctx, q, "write rates", `
		with card as (
			insert into rate_cards (model_id, version, rates)
			select e ->> 'model', coalesce((select max(r.version) from rate_cards r where r.model_id = e ->> 'model'), 0) + 1, e -> 'rates'
			from jsonb_array_elements($1::jsonb) e
			returning model_id, version)
		update models set rate_version = card.version from card where id = card.model_id`, cards)
}

func writeAvailability(ctx context.Context, q postgres.Queryer, all []FileModel) error {
	by := make(map[string]Availability, len(all))
	for i := range all {
		by[all[i].ID] = all[i].Availability
	}
	list, err := asJSON(by)
	if err != nil {
		return err
	}
	return exec(ctx, q, "write availability", `
		update models set availability = e.value from jsonb_each_text($1::jsonb) e where id = e.key and availability <> e.value`, list)
}

// announce raises the version, which tells replicas that something changed, and wakes them.
func announce(ctx context.Context, q postgres.Queryer, a Aliases) error {
	aliases, err := asJSON(a)
	if err != nil {
		return err
	}
	return exec(ctx, q, "announce", `
		with next as (update catalog_settings set aliases = $1::jsonb, version = version + 1 returning version)
		select pg_notify($2, version::text) from next`, aliases, channel)
}
