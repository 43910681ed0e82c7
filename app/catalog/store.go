package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"umg/app/postgres"
)

// channel is where a new version of the catalog is announced.
const channel = "catalog"

// errUnreadable means that the tables have values that no file of this version could have written.
var errUnreadable = errors.New("catalog: the stored catalog cannot be read")

// stored is the content of the tables: the file, and the state that only the database has.
type stored struct {
	file    File
	version int64
	// sealedVersion counts the changes of the sealed credentials, which are sealed.
	sealedVersion int64
	sealed        map[string]SealedCredential
	// cards are the ids of the rate cards in force, by model.
	cards map[string]string
	// costCards are the ids of the cost cards in force, by route.
	costCards map[string]string
	// presetRecords are the recorded presets by provider, as JSON. Only a snapshot needs to read them.
	presetRecords []byte
}

// storedModel is a model as one statement brings it.
type storedModel struct {
	Entry        FileModel       `json:"entry"`
	Availability Availability    `json:"availability"`
	Paused       bool            `json:"paused"`
	Card         string          `json:"card"`
	Rates        []storedRate    `json:"rates"`
	Routes       []storedRoute   `json:"routes"`
	Conditions   []FileCondition `json:"conditions"`
}

// storedRoute is a route with its cost card, if it has one.
type storedRoute struct {
	FileRoute
	CostCard       string          `json:"cost_card"`
	CostRates      []storedRate    `json:"cost_rates"`
	CostConditions []FileCondition `json:"cost_conditions"`
}

// load reads the whole catalog in one statement, and so in one consistent state.
func load(ctx context.Context, q postgres.Queryer) (stored, error) {
	var row struct {
		Version                    int64
		SealedVersion              int64 `db:"sealed_version"`
		Aliases, Providers, Models []byte
		Presets                    []byte
	}
	err := q.GetContext(ctx, &row, `
		select s.version, s.sealed_version, s.aliases,
			(select coalesce(json_agg(p.entry order by p.position), '[]') from providers p) as providers,
			(select coalesce(json_object_agg(k.provider_id, json_build_object('preset', k.preset, 'settings', k.settings)), '{}')
				from provider_presets k) as presets,
			(select coalesce(json_agg(json_build_object(
				'entry', m.entry, 'availability', m.availability, 'paused', m.paused, 'card', c.id, 'rates', c.rates, 'conditions', c.conditions,
				'routes', (select coalesce(json_agg(json_build_object(
					'provider', r.provider_id, 'model', r.model, 'style', r.style, 'order', r.preference,
					'weight', r.weight, 'timeouts', r.timeouts,
					'cost_card', k.id, 'cost_rates', k.rates, 'cost_conditions', k.conditions) order by r.position), '[]')
					from routes r left join cost_cards k on k.id = r.cost_card where r.model_id = m.id)
				) order by m.position), '[]')
				from models m left join rate_cards c on c.model_id = m.id and c.version = m.rate_version
				where m.retired_at is null) as models
		from catalog_settings s`)
	if err != nil {
		return stored{}, fmt.Errorf("catalog: load: %w", err)
	}
	s := stored{version: row.Version, sealedVersion: row.SealedVersion, cards: map[string]string{}, costCards: map[string]string{}}
	var models []storedModel
	err = errors.Join(json.Unmarshal(row.Aliases, &s.file.Aliases), json.Unmarshal(row.Providers, &s.file.Providers),
		json.Unmarshal(row.Models, &models))
	if err != nil {
		return stored{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	s.file.Aliases = s.file.Aliases.withoutDefaults()
	s.presetRecords = row.Presets
	for _, sm := range models {
		m := sm.Entry
		m.Availability, m.Paused = sm.Availability, sm.Paused
		if err := m.takeRates(sm.Rates); err != nil {
			return stored{}, fmt.Errorf("%w: rates of %s: %w", errUnreadable, m.ID, err)
		}
		if len(sm.Conditions) > 0 {
			m.Conditions = sm.Conditions
		}
		for _, sr := range sm.Routes {
			r := sr.FileRoute
			if sr.CostCard != "" {
				if r.Cost, err = readCost(sr.CostRates, sr.CostConditions); err != nil {
					return stored{}, fmt.Errorf("%w: cost card %s: %w", errUnreadable, sr.CostCard, err)
				}
				s.costCards[r.id(m.ID)] = sr.CostCard
			}
			m.Routes = append(m.Routes, r)
		}
		s.cards[m.ID] = sm.Card
		s.file.Models = append(s.file.Models, m)
	}
	return s, nil
}

// version is the version that load would read.
func version(ctx context.Context, q postgres.Queryer) (int64, error) {
	var v int64
	if err := q.GetContext(ctx, &v, `select version from catalog_settings`); err != nil {
		return 0, fmt.Errorf("catalog: version: %w", err)
	}
	return v, nil
}

// isCurrent reports whether a snapshot has the versions that load would read.
func isCurrent(ctx context.Context, q *postgres.Repeated, s *Snapshot) (bool, error) {
	var current bool
	err := q.GetContext(ctx, &current, `select version = $1 and sealed_version = $2 from catalog_settings`, s.version, s.sealedVersion)
	if err != nil {
		return false, fmt.Errorf("catalog: version: %w", err)
	}
	return current, nil
}

// RequestReload makes every replica read the catalog, the sealed credentials and the recorded presets again, once the transaction of q is
// committed.
func RequestReload(ctx context.Context, q postgres.Queryer) error {
	return exec(ctx, q, "request reload", `
		with next as (update catalog_settings set sealed_version = sealed_version + 1 returning version)
		select pg_notify($1, version::text) from next`, channel)
}

// Export is the catalog in force as a file. Applying it changes nothing.
func Export(ctx context.Context, q postgres.Queryer) (File, error) {
	s, err := load(ctx, q)
	return s.file.withoutMarkupPrices(), err
}
