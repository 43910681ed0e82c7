package catalog

import (
	"slices"
	"strings"
	"testing"

	"umg/app/modelfamily"
)

// familyFile has one text model without parameters, whose first route goes to a model of a preset.
func familyFile(preset, model, parameters string) string {
	return strings.NewReplacer("PRESET", preset, "MODEL", model, "PARAMETERS", parameters).Replace(`
providers:
  - {id: direct, preset: PRESET, credential: "${KEY}"}
  - {id: other, name: Other, base_url: "https://other.example/v1"}
models:
  - id: acme/one
    name: One
    owner: acme
    capabilities: [text]
    input: [text]
    output: [text]
    context_tokens: 1000
    max_output_tokens: 500
    PARAMETERS
    rates: {input_tokens: 0.15 per 1M, cache_write_tokens: 1 per 1M, output_tokens: 0.60 per 1M}
    released: 2026-05-01
    routes:
      - {provider: other, model: x, style: chat, order: 2}
      - {provider: direct, model: MODEL, style: messages, order: 1}
`)
}

func TestParametersLeftOutAreThoseOfTheFamily(t *testing.T) {
	t.Parallel()
	const name = "claude-opus-4-5-20251101"
	family, known := modelfamily.Find("anthropic", name)
	if !known || len(family.Parameters) == 0 || len(family.Efforts) == 0 {
		t.Fatalf("the family is %+v", family)
	}
	f := parse(t, familyFile("anthropic", name, ""))
	if all := Check(f); len(all) > 0 {
		t.Fatal(all)
	}
	m, _ := snapshotFrom(t, f).Model("acme/one")
	if !slices.Equal(m.Parameters, family.Parameters) || len(m.Thinking.Efforts) != len(family.Efforts) {
		t.Errorf("parameters %v, thinking %+v", m.Parameters, m.Thinking)
	}
	if f.Models[0].Parameters != nil || f.Models[0].Ranges != nil {
		t.Error("the file was changed")
	}
	c, _ := m.Contract("chat")
	body := func(effort string) []byte {
		return []byte(`{"model":"acme/one","messages":[{"role":"user","content":"a"}],"reasoning_effort":"` + effort + `"}`)
	}
	if err := c.Check(body("low")); err != nil {
		t.Errorf("an effort of the family is refused: %v", err)
	}
	if err := c.Check(body("minimal")); err == nil {
		t.Error("an effort that the family does not take is accepted")
	}
	for parameters, want := range map[string][]string{"parameters: []": {}, "parameters: [stop]": {"stop"}} {
		m, _ := snapshotFrom(t, parse(t, familyFile("anthropic", name, parameters))).Model("acme/one")
		if !slices.Equal(m.Parameters, want) {
			t.Errorf("%s is %v", parameters, m.Parameters)
		}
	}
	unknown, _ := snapshotFrom(t, parse(t, familyFile("anthropic", "quite-unknown", ""))).Model("acme/one")
	if len(unknown.Parameters) > 0 {
		t.Errorf("an unknown family takes %v", unknown.Parameters)
	}
}

// TestNoParametersIsNotParametersLeftOut writes both into the tables and into a file, and reads them again.
func TestNoParametersIsNotParametersLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	for parameters, isLeftOut := range map[string]bool{"": true, "parameters: []": false} {
		b.apply(t, familyFile("anthropic", "claude-opus-4-5", parameters))
		got, err := Export(t.Context(), b.db)
		if err != nil || (got.Models[0].Parameters == nil) != isLeftOut || len(got.Models[0].Parameters) > 0 {
			t.Errorf("%q is stored as %#v, %v", parameters, got.Models[0].Parameters, err)
		}
		text, err := got.Bytes()
		if err != nil || strings.Contains(string(text), "parameters: []") == isLeftOut {
			t.Errorf("%q is printed as %s, %v", parameters, text, err)
		}
		if again := parse(t, string(text)); (again.Models[0].Parameters == nil) != isLeftOut {
			t.Errorf("%q is read back as %#v", parameters, again.Models[0].Parameters)
		}
	}
}
