package catalog

import (
	"slices"
	"strings"
	"testing"
)

func TestDefaultAliasesAreOnButForThoseSwitchedOff(t *testing.T) {
	t.Parallel()
	f := parse(t, with(t, "headers: {", "off: [x-goog-api-key, /anthropic/v1/messages]\n  headers: {"))
	if all := Check(f); len(all) > 0 {
		t.Fatal(all)
	}
	s := snapshotFrom(t, f)
	if got := s.KeyHeaders(); !slices.Equal(got, []string{"x-acme-key", "x-api-key"}) {
		t.Errorf("headers of keys: %v", got)
	}
	answers := func(path string) bool {
		return slices.ContainsFunc(s.PathAliases(), func(a PathAlias) bool { return a.Path == path })
	}
	for path, want := range map[string]bool{
		"/anthropic/v1/messages": false, "/anthropic/v1/messages/count_tokens": true, "/v1/openai/videos": true, "/v1/acme/videos": true,
	} {
		if answers(path) != want {
			t.Errorf("%s is answered: %v", path, !want)
		}
	}
}

// TestAliasesThatEqualTheDefaultsAreNotExported applies a file that lists all default aliases, as older files do.
func TestAliasesThatEqualTheDefaultsAreNotExported(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	old := parse(t, smallFile)
	listed := old
	listed.Aliases = DefaultAliases()
	listed.Aliases.Headers["x-acme-key"], listed.Aliases.Paths["/v1/acme/videos"] = "authorization", "videos"
	if err := Apply(t.Context(), b.db, listed); err != nil {
		t.Fatal(err)
	}
	got, version, err := ExportVersion(t.Context(), b.db)
	if err != nil || len(got.Aliases.Headers) != 1 || len(got.Aliases.Paths) != 1 || got.Aliases.Off != nil {
		t.Errorf("exported %+v, %v", got.Aliases, err)
	}
	b.apply(t, smallFile)
	if _, again, err := ExportVersion(t.Context(), b.db); err != nil || again != version {
		t.Errorf("version %d became %d, %v", version, again, err)
	}
	if lines, err := Diff(listed, old); err != nil || len(lines) > 0 {
		t.Errorf("%q, %v", lines, err)
	}
	text, err := got.Bytes()
	if err != nil || strings.Contains(string(text), "x-goog-api-key") {
		t.Errorf("%v, %s", err, text)
	}
	off := got
	off.Aliases.Off = []string{"x-api-key"}
	if lines, err := Diff(got, off); err != nil || !slices.Equal(lines, []string{"+ aliases.off [x-api-key]"}) {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestAliasesOfTheTablesAreRead reads a catalog that an older version has stored with all aliases.
func TestAliasesOfTheTablesAreRead(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	if _, err := b.db.ExecContext(t.Context(), `update catalog_settings set aliases = $1::jsonb`, asJSON{DefaultAliases()}); err != nil {
		t.Fatal(err)
	}
	got, err := Export(t.Context(), b.db)
	if err != nil || got.Aliases.Headers != nil || got.Aliases.Paths != nil {
		t.Errorf("%+v, %v", got.Aliases, err)
	}
}

func TestModelsAnswerUnderTheirAliases(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, with(t, "name: One", "name: One\n    aliases: [one-1, models/one@001, 'acme.one-v2:0']"))
	s := b.awaitVersion(t, b.c)
	for _, id := range []string{"acme/one", "one-1", "models/one@001", "acme.one-v2:0"} {
		if m, ok := s.Model(id); !ok || m.ID != "acme/one" {
			t.Errorf("%s is %v", id, m)
		}
	}
	if len(s.Models()) != 2 || strings.Contains(string(s.List(nil)), `"id":"one-1"`) {
		t.Errorf("aliases are listed as models: %s", s.List(nil))
	}
	m, _ := s.Model("one-1")
	only := func(ids ...string) func(string) bool { return func(id string) bool { return slices.Contains(ids, id) } }
	if !m.IsAllowed(nil) || !m.IsAllowed(only("acme/one")) || !m.IsAllowed(only("one-1")) || m.IsAllowed(only("one-2")) {
		t.Error("a list of allowed models does not know the aliases")
	}
	if !strings.Contains(string(s.List(only("one-1"))), `"id":"acme/one"`) {
		t.Error("a key that lists an alias does not see the model")
	}
}

func TestAliasesOfModelsAreUnambiguous(t *testing.T) {
	t.Parallel()
	for _, c := range []problemCase{
		{"name: One", "name: One\n    aliases: [acme/one]", "models[0].aliases", "the model itself"},
		{"name: One", "name: One\n    aliases: ['acme/film:fast']", "models[0].aliases", "the id of another model"},
		{"name: One", "name: One\n    aliases: [one, one]", "models[0].aliases", "twice"},
		{"name: One", "name: One\n    aliases: ['a b']", "models[0].aliases", "parts of letters"},
		{"name: One", "name: One\n    aliases: ['/one']", "models[0].aliases", "parts of letters"},
		{"name: One", "name: One\n    aliases: [" + strings.Repeat("x", 201) + "]", "models[0].aliases", "parts of letters"},
		{"name: Film", "name: Film\n    aliases: ['" + strings.Repeat("x", 200) + "', '']", "models[1].aliases", "parts of letters"},
	} {
		all := Check(parse(t, with(t, c.old, c.new)))
		if len(all) != 1 || !strings.HasPrefix(all[0].Error(), c.path+":") || !strings.Contains(all[0].Error(), c.says) {
			t.Errorf("%q: %v", c.new, all)
		}
	}
	both := Check(parse(t, with(t, "name: One", "name: One\n    aliases: [first]", "name: Film", "name: Film\n    aliases: [first]")))
	if len(both) != 1 || !strings.Contains(both[0].Error(), "models[1].aliases: \"first\" is also an alias of the model acme/one") {
		t.Errorf("%v", both)
	}
	many := parse(t, smallFile)
	for i := range modelAliasesMax + 1 {
		many.Models[0].Aliases = append(many.Models[0].Aliases, "one-"+strings.Repeat("i", i+1))
	}
	if all := Check(many); len(all) != 1 || !strings.Contains(all[0].Error(), "33 aliases are more than 32") {
		t.Errorf("%v", all)
	}
}

func TestVideosTakeTheAliasesOfTheirModel(t *testing.T) {
	t.Parallel()
	s := snapshotFrom(t, parse(t, with(t, "name: Film", "name: Film\n    aliases: [film-1]")))
	m, _ := s.Model("film-1")
	for id, takes := range map[string]bool{"acme/film:fast": true, "film-1": true, "film-2": false} {
		if err := m.VideoContract().Check([]byte(`{"model":"` + id + `","prompt":"A boat."}`)); (err == nil) != takes {
			t.Errorf("a video of %s: %v", id, err)
		}
		if err := m.RemixContract().Check([]byte(`{"model":"` + id + `","prompt":"A boat."}`)); (err == nil) != takes {
			t.Errorf("a remix of %s: %v", id, err)
		}
	}
}
