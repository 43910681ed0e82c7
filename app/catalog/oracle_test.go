package catalog

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"umg/app/jsonschema/jsonschematest"
	"umg/app/jsontree"
	"umg/app/llm"
)

// oracle compares the check of a contract with an independent validator of the same document.
type oracle struct {
	jsonschematest.Oracle

	contract *Contract
}

func newOracle(t testing.TB, c *Contract) oracle {
	t.Helper()
	return oracle{jsonschematest.New(t, c.Schema(), c.Check), c}
}

// oracles are three models of a style: one that takes everything, one that takes nothing, and one between.
func oracles(t testing.TB, style llm.Style) []oracle {
	narrow := everything(t)
	narrow.ranges = map[string]Range{"temperature": {Max: "1.5"}, "reasoning_effort": {Values: []string{"low"}}}
	narrow.inputs = []string{"text", "image"}
	var all []oracle
	for _, of := range []contractParams{everything(t), plain(), narrow} {
		all = append(all, newOracle(t, contractFor(t, style, of)))
	}
	return all
}

func TestCheckAgreesWithTheOracleOnWrittenBodies(t *testing.T) {
	t.Parallel()
	for _, style := range llm.Styles() {
		for _, o := range oracles(t, style) {
			for _, body := range writtenBodies(t, style) {
				if disagreement := o.Disagreement([]byte(body)); disagreement != "" {
					t.Errorf("%s %s: %s\n%s", style, o.contract.about.Model, disagreement, body)
				}
			}
		}
	}
}

// TestCheckAgreesWithTheOracleOnChangedBodies takes written bodies and changes members, items, names and values.
func TestCheckAgreesWithTheOracleOnChangedBodies(t *testing.T) {
	t.Parallel()
	for _, style := range llm.Styles() {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			var seeds []*jsontree.Value
			for _, body := range writtenBodies(t, style) {
				if t, err := jsontree.Parse([]byte(body)); err == nil {
					seeds = append(seeds, t)
				}
			}
			all, names := oracles(t, style), namesOf(t, style)
			rapid.Check(t, func(t *rapid.T) {
				body := rapid.SampledFrom(seeds).Draw(t, "seed").Clone()
				for range rapid.IntRange(1, 4).Draw(t, "changes") {
					change(t, body, seeds, names)
				}
				raw := body.AppendTo(nil)
				for _, o := range all {
					if disagreement := o.Disagreement(raw); disagreement != "" {
						t.Fatalf("%s: %s\n%s", o.contract.about.Model, disagreement, raw)
					}
				}
			})
		})
	}
}

// namesOf are the names of all members that a style knows, and one that it does not.
func namesOf(t testing.TB, style llm.Style) []string {
	doc, err := jsontree.Parse(contractFor(t, style, everything(t)).Schema())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"x"}
	for _, s := range valuesIn(doc, nil) {
		if props := s.Get("properties"); props != nil {
			for _, name := range props.Names {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func change(t *rapid.T, root *jsontree.Value, seeds []*jsontree.Value, names []string) {
	nodes := valuesIn(root, nil)
	n := rapid.SampledFrom(nodes).Draw(t, "where")
	switch rapid.IntRange(0, 5).Draw(t, "how") {
	case 0: // The node gets another value.
		*n = *drawValue(t)
	case 1: // The node gets a value from elsewhere.
		other := rapid.SampledFrom(valuesIn(rapid.SampledFrom(seeds).Draw(t, "other"), nil)).Draw(t, "part")
		if len(valuesIn(other, nil)) < 50 {
			*n = *other.Clone()
		}
	case 2: // The node loses an item.
		if len(n.Items) > 0 {
			i := rapid.IntRange(0, len(n.Items)-1).Draw(t, "item")
			n.Items = append(n.Items[:i:i], n.Items[i+1:]...)
			if n.Names != nil {
				n.Names = append(n.Names[:i:i], n.Names[i+1:]...)
			}
		}
	case 3: // A member gets another name.
		if len(n.Names) > 0 {
			name := rapid.SampledFrom(names).Draw(t, "name")
			if n.Get(name) == nil {
				n.Names[rapid.IntRange(0, len(n.Names)-1).Draw(t, "renamed")] = name
			}
		}
	case 4: // The node gets a member.
		if n.Names != nil {
			n.Set(rapid.SampledFrom(names).Draw(t, "added"), drawValue(t))
		}
	case 5: // The order is reversed.
		for i, j := 0, len(n.Items)-1; i < j; i, j = i+1, j-1 {
			n.Items[i], n.Items[j] = n.Items[j], n.Items[i]
			if n.Names != nil {
				n.Names[i], n.Names[j] = n.Names[j], n.Names[i]
			}
		}
	}
}

func drawValue(t *rapid.T) *jsontree.Value {
	raw := rapid.SampledFrom([]string{"null", "true", "false", "0", "1", "-1", "1.0", "1.5", "2", "2.5", "1e2", "-0", "1e-7", "128", "129",
		"4096", "4097", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "100.0000000000000000001", "1e400", `""`, `"a"`,
		`"user"`, `"assistant"`, `"tool"`, `"function"`, `"text"`, `"image_url"`, `"auto"`, `"low"`, `"none"`, `"https://a"`, `"é"`, "[]",
		"{}", `[""]`, `["text"]`, `{"type":"text","text":"a"}`, `[{"type":"text","text":"a"}]`, `{"type":"text"}`, `{"type":"function"}`,
		`{"name":"a"}`, `{"role":"user","content":"a"}`, `{"role":"assistant","content":null}`, `{"include_usage":true}`, `"message"`, `"enabled"`, `"model"`, `"AUTO"`, `"LOW"`,
		`"image/png"`, `{"type":"tool_use","id":"a","name":"b","input":{}}`, `{"parts":[{"text":"a"}]}`, `{"type":"input_text","text":"a"}`,
		`{"type":"function_call","call_id":"a","name":"b","arguments":""}`, `{"type":"x"}`, `{"type":"image"}`}).Draw(t, "value")
	v, err := jsontree.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// valuesIn lists a value and every value inside of it.
func valuesIn(t *jsontree.Value, into []*jsontree.Value) []*jsontree.Value {
	into = append(into, t)
	for _, item := range t.Items {
		into = valuesIn(item, into)
	}
	return into
}

func FuzzCheckAgreesWithTheOracle(f *testing.F) {
	var all []oracle
	for _, style := range llm.Styles() {
		for _, body := range writtenBodies(f, style) {
			f.Add([]byte(body))
		}
		all = append(all, oracles(f, style)...)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, o := range all {
			if disagreement := o.Disagreement(body); disagreement != "" {
				t.Errorf("%s: %s", o.contract.about.Model, disagreement)
			}
		}
	})
}
