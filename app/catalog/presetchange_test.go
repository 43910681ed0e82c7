package catalog_test

import (
	"log/slog"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/postgres/pgtest"
)

// TestAPresetOfAnEarlierProgramStaysInForceUntilItIsConfirmed upgrades the program, as far as the catalog can see it: the recorded preset
// of a provider has another address than that of the program.
func TestAPresetOfAnEarlierProgramStaysInForceUntilItIsConfirmed(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), pgtest.New(t)
	f := catalog.File{Providers: []catalog.FileProvider{
		{ID: "claude", Preset: "anthropic", Credential: "${KEY}"}, {ID: "second", Preset: "anthropic", Credential: "${KEY}"},
	}}
	if err := catalog.Apply(ctx, db, f); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Open(ctx, db, catalog.Options{
		Now: time.Now, Secrets: func(string) (string, bool) { return "key", true }, Log: slog.New(slog.DiscardHandler), Traits: dialect.Traits,
	})
	if err != nil {
		t.Fatal(err)
	}
	upgrade := func(settings string) {
		t.Helper()
		if _, err := db.ExecContext(ctx, `update provider_presets set settings = `+settings+` where provider_id = 'claude'`); err != nil {
			t.Fatal(err)
		}
	}
	address := func(id string) string {
		t.Helper()
		if err := c.Reload(ctx); err != nil {
			t.Fatal(err)
		}
		p, ok := c.Snapshot().Provider(id)
		if !ok || p.Unusable != "" || p.Wires[llm.Messages] == nil {
			t.Fatalf("provider %s is %+v", id, p)
		}
		return p.Wires[llm.Messages].Base
	}
	now := address("claude")
	const old = "https://old.example/v1"
	upgrade(`jsonb_set(settings, '{base}', '"` + old + `"')`)
	f.Providers[1].Name = "Another change"
	if err := catalog.Apply(ctx, db, f); err != nil {
		t.Fatal(err)
	}
	if got := address("claude"); got != old {
		t.Errorf("after the upgrade the provider is called at %s", got)
	}
	if got := address("second"); got != now {
		t.Errorf("a provider whose record is that of the program is called at %s", got)
	}
	if err := catalog.ConfirmPreset(ctx, db, &f.Providers[0]); err != nil {
		t.Fatal(err)
	}
	if got := address("claude"); got != now {
		t.Errorf("after the confirmation the provider is called at %s", got)
	}
	upgrade(`'{"a member of another program": 1}'`)
	if err := catalog.RequestReload(ctx, db); err != nil {
		t.Fatal(err)
	}
	if got := address("claude"); got != now {
		t.Errorf("with a record that no one can read the provider is called at %s", got)
	}
}
