package catalog

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app/llm"
	"umg/app/preset"
)

// presetFile is smallFile whose second provider has a preset.
func presetFile(t *testing.T, members string) File {
	t.Helper()
	return parse(t, with(t, `{id: south, name: South, base_url: "https://south.example/v1", styles: [messages]}`, "{id: south, "+members+"}"))
}

func TestPresetsAreChecked(t *testing.T) {
	t.Parallel()
	const bedrock = `preset: bedrock, credential: "${KEY}", with: {region: us-east-1`
	for _, c := range []struct{ members, path, says string }{
		{bedrock + "}", "", ""},
		{`preset: bedrock, credential: "${KEY}", with: {region: "${REGION}"}`, "", ""},
		{bedrock + ", credential_type: api_key}, credentials: ['${KEY_2}'], name: Ours, base_url: 'http://127.0.0.1:1'", "", ""},
		{`preset: custom, with: {address: "http://127.0.0.1:8000/v1"}`, "", ""},
		{"preset: bedrok", "providers[1].preset", `"bedrok" is not one of anthropic, azure`},
		{`preset: bedrock, credential: "${KEY}"`, "providers[1].with.region", "is missing; preset bedrock needs it"},
		{bedrock + ", zone: a}", "providers[1].with.zone", "is no field of preset bedrock; it has region, credential_type"},
		{`preset: bedrock, credential: "${KEY}", with: {region: "a/b"}`, "providers[1].with.region", "small letters"},
		{bedrock + ", secret_key: hunter2}", "providers[1].with.secret_key", "belongs in credential"},
		{"preset: bedrock, with: {region: us-east-1}", "providers[1].credential", "is missing; preset bedrock needs it"},
		{bedrock + "}, auth: {kind: none}", "providers[1].credential", "never sent"},
		{bedrock + "}, base_url: 'ftp://x'", "providers[1].base_url", "http or https"},
		{bedrock + "}, styles: [chat]", "models[0].routes[1].style", "provider south speaks [chat], not messages"},
		{`preset: mistral, credential: "${KEY}"`, "models[0].routes[1].style", "provider south speaks [chat], not messages"},
		{"name: South, base_url: 'https://a.example', with: {region: x}", "providers[1].with", "has no effect without preset"},
	} {
		all := Check(presetFile(t, c.members))
		switch {
		case c.path == "" && len(all) > 0:
			t.Errorf("%s: %v", c.members, all)
		case c.path != "" && !slices.ContainsFunc(all, func(err error) bool {
			p, ok := err.(FileError)
			return ok && p.Path == c.path && strings.Contains(p.Text, c.says)
		}):
			t.Errorf("%s: %v, want %s: %s", c.members, all, c.path, c.says)
		case strings.Contains(strings.Join(texts(all), " "), "hunter2"):
			t.Errorf("%s: a problem has the secret: %v", c.members, all)
		}
	}
	// The price of cache writes is required because the preset names the reader of usage.
	raw := with(t, `{id: south, name: South, base_url: "https://south.example/v1", styles: [messages]}`,
		`{id: south, preset: anthropic, credential: "${KEY}"}`)
	if all := Check(parse(t, raw)); len(all) != 1 || !strings.Contains(all[0].Error(), "read as that of anthropic") {
		t.Errorf("%v", all)
	}
}

// TestPresetsAreRightProviders expands each preset with its examples, and checks the result like a provider without a preset.
func TestPresetsAreRightProviders(t *testing.T) {
	t.Parallel()
	for _, known := range preset.All() {
		for _, choice := range known.Choices() {
			v := FileProvider{ID: "p", Preset: known.ID, With: known.WithExamples(choice), Credential: "${KEY}"}
			if !v.Expanded().Auth.Kind.HasCredential() {
				if all := checkOne(&v); len(all) != 1 || !strings.Contains(all[0].Error(), "is never sent") {
					t.Errorf("%s with a credential that is never sent: %v", known.ID, all)
				}
				v.Credential = ""
			}
			if all := checkOne(&v); len(all) > 0 {
				t.Errorf("%s: %v", known.ID, all)
			}
			x, wires := v.expand(known)
			x.Preset, x.With = "", nil
			x.Styles = slices.DeleteFunc(x.Styles, func(s llm.Style) bool { return !slices.Contains(contactStyles(), s) })
			if all := checkOne(&x); len(all) > 0 {
				t.Errorf("%s is no right provider: %v", known.ID, all)
			}
			for style, w := range wires {
				if reason := badURL(w.Base); reason != "" {
					t.Errorf("%s: the address of %s %s", known.ID, style, reason)
				}
				if all := checkOne(&FileProvider{ID: "p", Name: "P", BaseURL: w.Base, Headers: w.Headers, Auth: w.Auth, Credential: v.Credential}); len(all) > 0 {
					t.Errorf("%s: %s: %v", known.ID, style, all)
				}
			}
		}
	}
}

func TestTheExampleOfThePageOfPresetsIsACatalog(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operator/presets.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if f := parse(t, example); len(f.Providers) != 1 || len(Check(f)) > 0 {
		t.Errorf("%v", Check(f))
	}
}

// checkOne checks a provider by itself.
func checkOne(v *FileProvider) (all []error) {
	v.check(problems{all: &all})
	return all
}

// southOf is the second provider of a snapshot of a file.
func southOf(t *testing.T, f File) *Provider {
	t.Helper()
	s, err := NewSnapshot(f, Options{Now: time.Now, Secrets: func(name string) (string, bool) {
		if name == "REGION" {
			return "eu-west-1", true
		}
		return lookup(name)
	}})
	if err != nil {
		t.Fatal(err)
	}
	p, ok := s.Provider("south")
	if !ok {
		t.Fatal("there is no second provider")
	}
	return p
}

func TestSnapshotsHaveWhatPresetsSay(t *testing.T) {
	t.Parallel()
	p := southOf(t, presetFile(t, `preset: bedrock, credential: "${KEY}", with: {region: "${REGION}"}`))
	if p.Unusable != "" || p.Name != "Amazon Bedrock" || p.BaseURL != "https://bedrock-runtime.eu-west-1.amazonaws.com" ||
		p.UsageReader != "bedrock" || p.AfterCancel != CancelUnknown || p.Credentials[0].Reveal() != "hunter2" {
		t.Errorf("%s %+v", p.Unusable, *p)
	}
	if want := (Auth{Kind: AuthSigV4, Service: "bedrock", Region: "eu-west-1"}); p.Auth != want || p.Wires[llm.Messages].Auth != want {
		t.Errorf("auth %+v", p.Auth)
	}
	chat := p.Wires[llm.Chat]
	if chat.Base != "https://bedrock-mantle.eu-west-1.api.aws" || chat.Auth.Service != "bedrock-mantle" {
		t.Errorf("chat goes to %+v", chat)
	}
	route := Route{Provider: p, Style: llm.Chat, Wire: chat}
	if route.BaseURL() != chat.Base || (&Route{Provider: p}).BaseURL() != p.BaseURL {
		t.Error("the base URL of a route is not that of its style")
	}
}

func TestMembersOfAProviderReplaceThoseOfItsPreset(t *testing.T) {
	t.Parallel()
	p := southOf(t, presetFile(t, `preset: bedrock, credential: "${KEY}", with: {region: us-east-1}, name: Ours, base_url: "${BASE}/aws/",
		usage: compatible, after_cancel: stops, auth: {kind: header, header: x-key}, paths: {messages: "/own/{model}"}, headers: {x-a: b}`))
	w := p.Wires[llm.Messages]
	if p.Unusable != "" || p.Name != "Ours" || p.BaseURL != "http://127.0.0.1:9/aws" || p.UsageReader != "compatible" || p.AfterCancel != CancelStops ||
		p.CredentialHeader != "x-key" || p.Headers["x-a"] != "b" {
		t.Errorf("%s %+v", p.Unusable, *p)
	}
	if w.Base != p.BaseURL || w.Path != "/own/{model}" || w.StreamPath != w.Path || w.Auth.Kind != AuthHeader {
		t.Errorf("wire %+v", w)
	}
	if chat := p.Wires[llm.Chat]; chat.Base != p.BaseURL || chat.Auth.Service != "" {
		t.Errorf("chat %+v", chat)
	}
	p = southOf(t, presetFile(t, `preset: anthropic, credential: "${KEY}", headers: {anthropic-version: "2099-01-01"}`))
	if headers := p.Wires[llm.Messages].Headers; len(headers) != 0 || p.Headers["anthropic-version"] != "2099-01-01" {
		t.Errorf("headers %v and %v", headers, p.Headers)
	}
	p = southOf(t, presetFile(t, `preset: openai, credential: "${KEY}", with: {project: p1}, styles: [chat, messages]`))
	if p.Headers["openai-project"] != "p1" || p.Wires[llm.Messages] != nil {
		t.Errorf("headers %v, wires %v", p.Headers, slices.Collect(maps.Keys(p.Wires)))
	}
}

func TestAProviderWhosePresetCannotBeUsedHasNoRoutes(t *testing.T) {
	t.Parallel()
	for members, says := range map[string]string{
		`preset: later, credential: "${KEY}"`:                               "preset: later is not known to this program",
		`preset: bedrock, credential: "${KEY}", with: {region: "${UNSET}"}`: "with.region: the variable UNSET is not set",
		`preset: bedrock, credential: "${KEY}", with: {region: "${BASE}"}`:  `with.region: "http://127.0.0.1:9" must be`,
		`preset: bedrock, credential: "${KEY}"`:                             "with.region: is missing",
	} {
		if p := southOf(t, presetFile(t, members)); !strings.Contains(p.Unusable, says) {
			t.Errorf("%s: %q", members, p.Unusable)
		}
	}
	f := presetFile(t, `preset: bedrock, credential: "${KEY}", with: {region: "${UNSET}"}`)
	if got := texts(CheckReferences(f, Sources{Env: lookup})); len(got) != 1 || got[0] != "providers[1].with.region: the variable UNSET is not set" {
		t.Errorf("%v", got)
	}
}

// TestStoredCatalogsKeepTheNameOfThePreset checks that a new version of the program brings new data.
func TestStoredCatalogsKeepTheNameOfThePreset(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	f := presetFile(t, `preset: bedrock, credential: "${KEY}", with: {region: us-east-1}`)
	if err := Apply(t.Context(), b.db, f); err != nil {
		t.Fatal(err)
	}
	m, _ := b.awaitVersion(t, b.c).Model("acme/one")
	if len(m.Routes) != 2 || m.Routes[1].Wire == nil || m.Routes[1].Wire.Framing != "eventstream" || m.Routes[0].Wire != nil {
		t.Errorf("routes %+v", m.Routes)
	}
	exported, err := Export(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	text, err := exported.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	_, south, _ := strings.Cut(string(text), "- id: south\n")
	south, _, _ = strings.Cut(south, "models:")
	if want := "    preset: bedrock\n    with:\n      region: us-east-1\n    credential: ${KEY}\n"; south != want {
		t.Errorf("exported:\n%s", south)
	}
	if lines, err := Diff(f, exported); err != nil || len(lines) > 0 {
		t.Errorf("the export differs: %v %v", lines, err)
	}
}
