package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/jmoiron/sqlx"
	"gopkg.in/yaml.v3"

	"umg/app/postgres"
	"umg/app/preset"
)

// PresetChange is how a preset differs from the one that a provider was put in force with, because the program was upgraded since.
type PresetChange struct {
	// Since is when the provider was put in force, or the settings of the preset were confirmed.
	Since time.Time
	// Lines are those of Diff.
	Lines []string
}

// PresetChangeOf compares the preset of a provider with the one that it was put in force with. There are no lines for equal ones, and for a
// provider whose earlier preset is not known.
func PresetChangeOf(ctx context.Context, q postgres.Queryer, p *FileProvider) (PresetChange, error) {
	known, ok := preset.Find(p.Preset)
	if !ok {
		return PresetChange{}, nil
	}
	var row struct {
		Settings []byte    `db:"settings"`
		At       time.Time `db:"confirmed_at"`
	}
	err := q.GetContext(ctx, &row, `select settings, confirmed_at from provider_presets where provider_id = $1 and preset = $2`, p.ID,
		p.Preset)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return PresetChange{}, nil
	case err != nil:
		return PresetChange{}, postgres.StoreError("catalog: preset of a provider", err)
	}
	var before map[string]any
	if err := json.Unmarshal(row.Settings, &before); err != nil {
		return PresetChange{}, fmt.Errorf("catalog: preset of a provider: %w", err)
	}
	after, err := presetSettings(known)
	if err != nil {
		return PresetChange{}, err
	}
	c := PresetChange{Since: row.At}
	if !reflect.DeepEqual(before, after) {
		c.Lines, err = leafChanges("provider "+p.ID+" ", map[string]any{"preset": before}, map[string]any{"preset": after})
	}
	return c, err
}

// ConfirmPreset puts the preset of this program in force for a provider, in place of the one from before an upgrade. Every replica is
// notified.
func ConfirmPreset(ctx context.Context, db *sqlx.DB, p *FileProvider) error {
	return postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		if err := writePresets(ctx, tx, []FileProvider{*p}, true); err != nil {
			return err
		}
		return RequestReload(ctx, tx)
	})
}

// earlierPresets are the recorded presets that differ from those of this program, by provider. A record that this program cannot read is
// left out, so that its provider has the preset of the program.
func earlierPresets(providers []FileProvider, records []byte) (map[string]*preset.Preset, error) {
	if len(records) == 0 { // A file without a database has none.
		return nil, nil
	}
	var rows map[string]struct {
		Preset   string          `json:"preset"`
		Settings json.RawMessage `json:"settings"`
	}
	if err := json.Unmarshal(records, &rows); err != nil {
		return nil, fmt.Errorf("presets: %w", err)
	}
	var all map[string]*preset.Preset
	for i := range providers {
		p := &providers[i]
		known, ok := preset.Find(p.Preset)
		row, recorded := rows[p.ID]
		if !ok || !recorded || row.Preset != p.Preset {
			continue
		}
		var before map[string]any
		if err := json.Unmarshal(row.Settings, &before); err != nil {
			return nil, fmt.Errorf("preset of %s: %w", p.ID, err)
		}
		now, err := presetSettings(known)
		if err != nil {
			return nil, err
		}
		if reflect.DeepEqual(before, now) {
			continue
		}
		if earlier, err := known.WithSettings(row.Settings); err == nil {
			if all == nil {
				all = map[string]*preset.Preset{}
			}
			all[p.ID] = earlier
		}
	}
	return all, nil
}

// presetWords are the members of a preset that are for people and change no call.
var presetWords = []string{"id", "name", "docs", "note"}

// presetSettings are the members of a preset that are set, as JSON has them.
func presetSettings(p *preset.Preset) (map[string]any, error) {
	var members map[string]any
	text, err := yaml.Marshal(p)
	if err == nil {
		err = yaml.Unmarshal(text, &members)
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: preset %s: %w", p.ID, err)
	}
	for _, name := range presetWords {
		delete(members, name)
	}
	raw, err := json.Marshal(withoutEmpty(members))
	if err != nil {
		return nil, fmt.Errorf("catalog: preset %s: %w", p.ID, err)
	}
	var settings map[string]any
	return settings, json.Unmarshal(raw, &settings)
}

// withoutEmpty is a value without the members that are empty, so that a new member of all presets is no difference.
func withoutEmpty(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if kept := withoutEmpty(member); kept == nil {
				delete(v, name)
			} else {
				v[name] = kept
			}
		}
		if len(v) > 0 {
			return v
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
		if len(v) > 0 {
			return v
		}
	default:
		if v != nil && !reflect.ValueOf(v).IsZero() {
			return v
		}
	}
	return nil
}

// keepPresets records the presets of the providers of a file that differ from those of the replaced one, and of those that have no record.
func keepPresets(ctx context.Context, q postgres.Queryer, all, old []FileProvider) error {
	before := placesByID(old, func(p FileProvider) string { return p.ID })
	var saved, same []FileProvider
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
		place, known := before[all[i].ID]
		if known && reflect.DeepEqual(old[place], all[i]) {
			same = append(same, all[i])
			continue
		}
		saved = append(saved, all[i])
	}
	if err := exec(ctx, q, "forget presets", `
		delete from provider_presets where provider_id not in (select jsonb_array_elements_text($1::jsonb))`, asJSON{ids}); err != nil {
		return err
	}
	if err := writePresets(ctx, q, same, false); err != nil {
		return err
	}
	return writePresets(ctx, q, saved, true)
}

// writePresets records the presets of providers. Records that exist stay unless they are replaced.
func writePresets(ctx context.Context, q postgres.Queryer, all []FileProvider, replace bool) error {
	type row struct {
		ID       string         `json:"id"`
		Preset   string         `json:"preset"`
		Settings map[string]any `json:"settings"`
	}
	rows := []row{}
	for i := range all {
		known, ok := preset.Find(all[i].Preset)
		if !ok {
			continue
		}
		settings, err := presetSettings(known)
		if err != nil {
			return err
		}
		rows = append(rows, row{all[i].ID, known.ID, settings})
	}
	if len(rows) == 0 {
		return nil
	}
	return exec(ctx, q, "keep presets", `
		insert into provider_presets (provider_id, preset, settings)
		select e ->> 'id', e ->> 'preset', e -> 'settings' from jsonb_array_elements($1::jsonb) e
		on conflict (provider_id) do update set preset = excluded.preset, settings = excluded.settings, confirmed_at = now()
			where $2 or provider_presets.preset <> excluded.preset`, asJSON{rows}, replace)
}
