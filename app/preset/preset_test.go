package preset

import (
	"os"
	"strings"
	"testing"

	"umg/app/usagereader"
)

// smallPreset is a right preset; tests break one thing at a time.
const smallPreset = `
id: acme
name: Acme
docs: https://acme.example/docs
fields:
  - {id: region, label: Region, required: true, form: label, example: eu}
  - {id: way, label: Way, options: [key, token]}
  - {id: key, label: Key, secret: true, required: true, when: {way: key}}
variables: {host: {by: region, values: {eu: eu.acme.example}, else: "{region}.acme.example"}}
auth:
  - {kind: bearer, credential: [key]}
base: "https://{host}/v1"
headers: {x-region: "{region}"}
after_cancel: stops
styles:
  messages: {checked: never, path: "/m/{model}", model: escaped, body: {drop: [model], add: {version: "1"}, betas: betas}, service: s}
models: {path: /models, list: data, id: id, pages: {next: next, parameter: after}}
tiers: {tier: {flex: flex}}
limits: {tokens: x-tokens}
request_id: x-id
`

func TestPresetsAreCheckedAsTheyAreRead(t *testing.T) {
	t.Parallel()
	if _, err := parse([]byte(smallPreset)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, says string }{
		{"id: acme", "id: Acme", "id:"},
		{"name: Acme", "name: ''", "name is missing"},
		{"docs: https://acme.example/docs", "docs: acme.example", "https address"},
		{"name: Acme", "name: Acme\ncolour: red", "colour"},
		{"label: Region, ", "", "label is missing"},
		{"form: label, example: eu", "form: text, example: eu", "form"},
		{"example: eu", "example: EU", "does not have its form"},
		{"secret: true", "secret: true, example: sk-1", "neither a form nor an example"},
		{"when: {way: key}", "when: {way: other}", "not an option"},
		{"id: way", "id: region", "twice"},
		{"by: region", "by: place", "depends on no field"},
		{"{kind: bearer, credential: [key]}", "{kind: basic, credential: [key]}", "auth[0].kind"},
		{"{kind: bearer, credential: [key]}", "{kind: bearer, credential: [region]}", "not a secret field"},
		{"{kind: bearer, credential: [key]}", "{kind: bearer}", "credential does not fit"},
		{"  - {kind: bearer, credential: [key]}", "  []", "auth is missing"},
		{"https://{host}/v1", "https://{hosts}/v1", "neither a field nor a variable"},
		{"https://{host}/v1", "https://{key}/v1", "neither a field nor a variable"},
		{"https://{host}/v1", "", "base is missing"},
		{"{x-region:", "{X-Region:", "headers"},
		{"after_cancel: stops", "after_cancel: ends", "after_cancel"},
		{"messages: {", "massages: {", "is not one of"},
		{"checked: never", "checked: yes", "checked"},
		{`path: "/m/{model}"`, `path: "m/{model}"`, "must start with /"},
		{", model: escaped", "", "model is needed"},
		{"model: escaped", "model: plain", "model"},
		{"drop: [model]", `drop: ["a b"]`, "body"},
		{"service: s", "service: s, framing: xml", "framing"},
		{"list: data", "list: ''", "models.list"},
		{"{flex: flex}", "{flex: ''}", "empty word"},
		{"limits: {tokens", "limits: {calls", "limits"},
		{"request_id: x-id", "request_id: X Id", "request_id"},
	} {
		text := strings.Replace(smallPreset, c.from, c.to, 1)
		if text == smallPreset {
			t.Fatalf("%s is not in the text", c.from)
		}
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.to, err, c.says)
		}
	}
}

// TestPresetsNameKnownReaders compares words of presets with those of the packages that they are for.
func TestPresetsNameKnownReaders(t *testing.T) {
	t.Parallel()
	for _, p := range All() {
		if p.ID == customID {
			continue
		}
		for style := range p.Styles {
			if _, ok := usagereader.Of(p.Usage, style); !ok {
				t.Errorf("%s: there is no reader %s for the style %s", p.ID, p.Usage, style)
			}
		}
	}
	if _, ok := Find("unknown"); ok || len(IDs()) != len(All()) {
		t.Error("presets are not found by their ids")
	}
}

func TestValuesOfFieldsAreChecked(t *testing.T) {
	t.Parallel()
	isReference := func(value string) bool { return strings.HasPrefix(value, "${") }
	for _, c := range []struct {
		preset string
		with   map[string]string
		want   string
	}{
		{"bedrock", map[string]string{"region": "us-east-1"}, ""},
		{"bedrock", map[string]string{"region": "${REGION}"}, ""},
		{"bedrock", nil, "region is missing; preset bedrock needs it"},
		{"bedrock", map[string]string{"region": "evil.example/"}, `region "evil.example/" must be small letters, digits and hyphens`},
		{"bedrock", map[string]string{"region": "x", "place": "y"}, "place is no field of preset bedrock; it has region, credential_type"},
		{"bedrock", map[string]string{"region": "x", "secret_key": "y"}, "secret_key is secret; it belongs in credential"},
		{"bedrock", map[string]string{"region": "x", "credential_type": "ssh"}, `credential_type "ssh" is not one of access_key, api_key`},
		{"azure", map[string]string{"resource": "r", "tenant": "t"}, "tenant has no effect unless credential_type is entra"},
		{"azure", map[string]string{"resource": "r", "credential_type": "entra", "tenant": "t"}, "client_id is missing; preset azure needs it"},
		{"mistral", map[string]string{"region": "x"}, "region is no field of preset mistral, which has none but the credential"},
		{"custom", map[string]string{"address": "http://a/v1?key=1"}, `address "http://a/v1?key=1" must be an http or https address without a query`},
		{"custom", map[string]string{"address": "ftp://a"}, `address "ftp://a" must be an http or https address without a query`},
	} {
		p, ok := Find(c.preset)
		if !ok {
			t.Fatalf("there is no preset %s", c.preset)
		}
		var got []string
		for _, problem := range p.Check(c.with, isReference) {
			got = append(got, problem.Field+" "+problem.Text)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s %v: %q, want %q", c.preset, c.with, text, c.want)
		}
	}
}

func TestOptionalHeadersAreLeftOut(t *testing.T) {
	t.Parallel()
	p, _ := Find("openai")
	if h := p.Expand(nil).Headers; len(h) != 0 {
		t.Errorf("headers %v", h)
	}
	if h := p.Expand(map[string]string{"project": "proj_1"}).Headers; h["openai-project"] != "proj_1" {
		t.Errorf("headers %v", h)
	}
}

// TestTheGuideHasAllPresets compares the table of the operator guide with the data.
func TestTheGuideHasAllPresets(t *testing.T) {
	t.Parallel()
	const file, begin, end = "../docs/operator/presets.md", "| `preset` |", "\n\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	if !ok {
		t.Fatalf("%s has no table of presets", file)
	}
	table, after, _ := strings.Cut(rest, end)
	want := guideTable()
	if *update {
		if err := os.WriteFile(file, []byte(before+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if begin+table != want {
		t.Errorf("%s differs from the data; run the test with -update. The table is:\n%s", file, want)
	}
}

// guideTable is the table of presets in the operator guide.
func guideTable() string {
	rows := []string{"| `preset` | provider | `with` | `credential` | protocols |", "| --- | --- | --- | --- | --- |"}
	for _, p := range All() {
		var fields, credentials []string
		for i := range p.Fields {
			f := &p.Fields[i]
			if f.Secret {
				continue
			}
			words := "`" + f.ID + "`"
			switch {
			case len(f.Options) > 0:
				words += ": `" + strings.Join(f.Options, "` or `") + "`"
			case !f.Required:
				words += " (optional)"
			}
			for _, option := range f.When {
				words += " with `" + option + "`"
			}
			fields = append(fields, words)
		}
		for i := range p.Auth {
			var parts []string
			for _, id := range p.Auth[i].Credential {
				part := strings.ToLower(p.field(id).Label[:1]) + p.field(id).Label[1:]
				if strings.HasPrefix(p.field(id).Label, "API") || strings.HasPrefix(p.field(id).Label, "JSON") {
					part = p.field(id).Label
				}
				if !p.field(id).Required {
					part += " (optional)"
				}
				parts = append(parts, part)
			}
			if len(parts) == 0 {
				parts = []string{"none"}
			}
			credentials = append(credentials, strings.Join(parts, " : "))
		}
		rows = append(rows, strings.Join([]string{
			"| `" + p.ID, "` | ", p.Name, " | ", strings.Join(fields, ", "), " | ", strings.Join(credentials, ", or "), " | ", guideStyles(p), " |",
		}, ""))
	}
	return strings.Join(rows, "\n")
}

// guideStyles lists the styles of a preset, those first that recorded answers confirm.
func guideStyles(p *Preset) string {
	if len(p.Styles) == 0 {
		return "any"
	}
	var checked, never []string
	for _, style := range styles {
		s := p.Styles[style]
		switch {
		case s == nil:
		case s.Checked == Recorded:
			checked = append(checked, "`"+string(style)+"`")
		default:
			never = append(never, "`"+string(style)+"` (never checked against a real answer)")
		}
	}
	return strings.Join(append(checked, never...), ", ")
}
