package catalog

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/llm"
)

func TestANotificationReachesOtherReplicas(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	other := b.replica(t, lookup)
	b.apply(t, smallFile)
	for _, c := range []*Catalog{b.c, other} {
		if _, ok := b.awaitVersion(t, c).Model("acme/one"); !ok {
			t.Error("the model did not arrive")
		}
	}
	held := other.Snapshot()
	b.apply(t, with(t, "owner: acme", "owner: acme\n    paused: true\n    notice: Too many calls."))
	m, _ := b.awaitVersion(t, other).Model("acme/one")
	if !m.Paused || m.Notice != "Too many calls." || !strings.Contains(string(m.ListEntry()), `"availability":"paused"`) {
		t.Errorf("the pause did not arrive: %+v", m)
	}
	if m, _ := held.Model("acme/one"); m.Paused {
		t.Error("a snapshot changed under its holder")
	}
}

func TestTheLastGoodSnapshotStays(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	good := b.awaitVersion(t, b.c)
	for _, broken := range []string{
		`update models set entry = '{"ranges": {"temperature": {"min": "1", "max": "0"}}, "parameters": ["temperature"], "styles": ["chat"]}'
			where id = 'acme/one'`,
		`update models set entry = '{"context_tokens": "many"}' where id = 'acme/one'`,
		`update models set entry = '{"released": "1 May"}' where id = 'acme/one'`,
	} {
		if _, err := b.db.ExecContext(t.Context(), broken); err != nil {
			t.Fatal(err)
		}
		if _, err := b.db.ExecContext(t.Context(), `update catalog_settings set version = version + 1`); err != nil {
			t.Fatal(err)
		}
		if err := b.c.reload(t.Context()); err == nil || b.c.Snapshot() != good {
			t.Errorf("after %s: %v, version %d", broken, err, b.c.Snapshot().Version())
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := b.c.reload(ended); err == nil || b.c.Snapshot() != good {
		t.Errorf("without a database: %v", err)
	}
	b.apply(t, with(t, "name: One", "name: Eins"))
	if m, ok := b.awaitVersion(t, b.c).Model("acme/one"); !ok || m.Name != "Eins" {
		t.Error("a good version after bad ones did not arrive")
	}
}

func TestNewAssetsGoToTheFirstProviderThatKeepsThemAndCanBeUsed(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	s := b.awaitVersion(t, b.c)
	if p, ok := s.AssetProvider(); ok {
		t.Errorf("%s keeps assets, though none does", p.ID)
	}
	if p, ok := s.Provider("south"); !ok || p.Name != "South" || p.AssetGroup != "" {
		t.Errorf("south is %+v", p)
	}
	if _, ok := s.Provider("west"); ok {
		t.Error("west is known")
	}
	b.apply(t, with(t, "name: North", "name: North, assets: {group: ours}", "name: South", "name: South, assets: {group: theirs}",
		"seconds: [4, 8]", "seconds: [4, 8]\n    assets: 3", "availability: coming", "routes: [{provider: north, model: f, style: tasks}]"))
	s = b.awaitVersion(t, b.c)
	if p, ok := s.AssetProvider(); !ok || p.ID != "north" || p.AssetGroup != "ours" {
		t.Errorf("new assets go to %+v", p)
	}
	if m, _ := s.Model("acme/film:fast"); m.AssetsMax != 3 {
		t.Errorf("the model takes %d assets", m.AssetsMax)
	}
	idle := b.replica(t, func(name string) (string, bool) {
		v, ok := lookup(name)
		return v, ok && name != "KEY"
	})
	if p, ok := idle.Snapshot().AssetProvider(); !ok || p.ID != "south" {
		t.Errorf("without the credential of the first, new assets go to %+v", p)
	}
}

func TestReferencesAreResolvedWhenLoaded(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	m, _ := b.awaitVersion(t, b.c).Model("acme/one")
	p := m.Routes[0].Provider
	if len(m.Routes) != 2 || p.BaseURL != "http://127.0.0.1:9/north" || p.Credentials[0].Reveal() != "hunter2" || p.Unusable != "" {
		t.Errorf("provider %s at %s with %d routes", p.ID, p.BaseURL, len(m.Routes))
	}
	want := Timeouts{Connect: 2 * time.Second, FirstByte: time.Minute, Idle: time.Minute, Total: 10 * time.Minute}
	if m.Routes[0].Timeouts != want {
		t.Errorf("timeouts %+v", m.Routes[0].Timeouts)
	}
	var dump string
	err := b.db.GetContext(t.Context(), &dump, `select jsonb_agg(p)::text from providers p`)
	if err != nil || strings.Contains(dump, "hunter2") {
		t.Errorf("the credential is stored: %s, %v", dump, err)
	}
}

func TestAProviderWithoutItsCredentialIsKeptButNotUsed(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		secrets SecretLookup
		reason  string
	}{
		"no key":   {func(n string) (string, bool) { return "http://a", n == "BASE" }, "credential: the variable KEY is not set"},
		"nothing":  {func(string) (string, bool) { return "", false }, "base_url: the variable BASE is not set; credential: the variable KEY is not set"},
		"bad base": {func(string) (string, bool) { return "not an address", true }, "base_url: must be an http or https address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, k.secrets)
			b.apply(t, smallFile)
			s := b.awaitVersion(t, b.c)
			m, _ := s.Model("acme/one")
			if len(m.Routes) != 1 || m.Routes[0].Provider.ID != "south" || len(m.IdleRoutes) != 1 || m.IdleRoutes[0].Provider.Unusable != k.reason {
				t.Errorf("routes %v, idle %v for %q", m.Routes, m.IdleRoutes, m.IdleRoutes[0].Provider.Unusable)
			}
			if why := s.Unusable(); why[m.IdleRoutes[0].Provider.ID] != k.reason {
				t.Errorf("unusable are %v", why)
			}
			if said := b.log.String(); strings.Count(said, "provider=north reason=") != 1 || !strings.Contains(said, k.reason) {
				t.Errorf("the log does not warn once of %q: %s", k.reason, said)
			}
			if !m.Serves(llm.Chat) || !m.Available || len(s.Providers()) != 2 {
				t.Errorf("served %v", m.Served())
			}
			if _, ok := m.Contract(llm.Chat); !ok {
				t.Error("without the contract a call would look like one to the wrong place, not like a provider away")
			}
		})
	}
}

func TestModelsServeEveryStyleTheyMayWhateverTheirRoutesSpeak(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	m, _ := b.awaitVersion(t, b.c).Model("acme/one")
	if len(m.Styles) != 4 || len(m.Served()) != 4 || !m.Serves(llm.Native) {
		t.Errorf("styles %v, served %v", m.Styles, m.Served())
	}
	c, ok := m.Contract(llm.Chat)
	if !ok {
		t.Fatal("no chat contract")
	}
	e := app.AsError(c.Check([]byte(`{"model":"acme/one","messages":[{"role":"user","content":"a"}],"temperature":1.6}`)))
	if e == nil || e.Param != "temperature" || e.Doc != "/v1/model/api.md?model=acme/one" {
		t.Errorf("the model's own range is not asked for: %v", e)
	}
	if film, _ := b.c.Snapshot().Model("acme/film:fast"); film.Available || len(film.Served()) != 0 ||
		film.CardFor("1920x1080").Rates[0].Amount != app.Dollar/4 || film.CardFor("1280x720").Rates[0].Amount != app.Dollar/10 {
		t.Errorf("the coming model is %+v", film)
	}
	if got := b.c.Snapshot().Variants("acme/film:huge"); len(got) != 1 || got[0] != "acme/film:fast" {
		t.Errorf("variants %v", got)
	}
	if got := b.c.Snapshot().KeyHeaders(); !slices.Equal(got, []string{"x-acme-key", "x-api-key", "x-goog-api-key"}) {
		t.Errorf("key headers %v", got)
	}
}

func TestRoutesComeInTheirOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, with(t, "style: chat}", "style: chat, order: 3}"))
	m, _ := b.awaitVersion(t, b.c).Model("acme/one")
	if m.Routes[0].Provider.ID != "south" || m.Routes[1].Order != 3 || m.Routes[0].ID != "acme/one#south/messages/one-2" {
		t.Errorf("routes %+v", m.Routes)
	}
}

func TestTheSafetyNetReloadsWithoutNotifications(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	before := b.c.Snapshot()
	b.apply(t, smallFile)
	b.awaitVersion(t, b.c)
	if b.c.Snapshot() == before || b.c.Snapshot().LoadedAt().Before(before.LoadedAt()) {
		t.Error("the snapshot is the old one")
	}
	same := b.c.Snapshot()
	if err := b.c.reload(t.Context()); err != nil || b.c.Snapshot() != same {
		t.Errorf("a reload without a change made a new snapshot, %v", err)
	}
}
