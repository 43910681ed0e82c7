package jsonschema

import (
	"strings"
	"testing"

	"umg/app/jsonschema/jsonschematest"
	"umg/app/jsontree"
)

// compileText compiles a document as it stands.
func compileText(t testing.TB, raw string) (*Schema, error) {
	t.Helper()
	doc, err := jsontree.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return Compile(doc, &Patterns{})
}

// schemaCases are documents with bodies that they accept and bodies that they refuse.
var schemaCases = []struct{ name, doc, accepted, refused string }{
	{"unknown kinds", `{"type":"object","properties":{"tools":{"type":"array","items":{"oneOf":[
		{"type":"object","required":["type","name"],"properties":{"type":{"const":"function"},"name":{"type":"string"}}},
		{"type":"object","required":["type"],"properties":{"type":{"type":"string","not":{"enum":["function"]}}}}]}}}}`,
		`{"tools":[{"type":"function","name":"a"},{"type":"web"},{"x":1,"type":"web"}]} {"tools":[]}`,
		`{"tools":[{"type":"function"}]} {"tools":[{}]} {"tools":[{"type":1}]} {"tools":[1]}`},
	{"definitions that contain themselves", `{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/list"}},
		"$defs":{"list":{"type":"array","maxItems":2,"items":{"anyOf":[{"type":"integer"},{"$ref":"#/$defs/list"}]}}}}`,
		`{"a":[]} {"a":[1,[2,[3]]]}`, `{"a":[1,[2,["3"]]]} {"a":[[1,2,3]]} {}`},
	{"open ends", `{"type":"object","properties":{"a":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}}}`,
		`{"a":0.5} {"a":1e-300} {"a":0.99999999999999999999}`, `{"a":0} {"a":1} {"a":-0.0} {"a":1.0} {"a":0e5}`},
	{"lists of numbers", `{"type":"object","properties":{"a":{"enum":[1,2.5,-3,100,null,true,"x"]}}}`,
		`{"a":1} {"a":1.0} {"a":25e-1} {"a":-3} {"a":1e2} {"a":null} {"a":true} {"a":"x"} {"a":"\u0078"}`,
		`{"a":2} {"a":false} {"a":"1"} {"a":"X"} {"a":[]} {"a":{}} {"a":1.0000000000000000000001}`},
	{"lengths in characters", `{"type":"object","properties":{"a":{"type":"string","minLength":2,"maxLength":3}}}`,
		`{"a":"ab"} {"a":"äöü"} {"a":"𝄞𝄞𝄞"} {"a":"\ud834\udd1e\n"}`, `{"a":"a"} {"a":""} {"a":"𝄞"} {"a":"abcd"} {"a":"\n\n\n\n"}`},
	{"sizes of objects", `{"type":"object","minProperties":1,"maxProperties":2,"additionalProperties":{"type":"boolean"}}`,
		`{"a":true} {"a":true,"b":false}`, `{} {"a":1} {"a":true,"b":true,"c":true}`},
	{"two things told apart by the second member", `{"type":"object","properties":{"a":{"oneOf":[
		{"type":"object","required":["k","type"],"properties":{"k":{"type":"string"},"type":{"enum":["x","y"]}}},
		{"type":"object","required":["k","type"],"properties":{"k":{"type":"number"},"type":{"const":"z"}}}]}}}`,
		`{"a":{"k":"1","type":"y"}} {"a":{"k":1,"type":"z"}} {"a":{"type":"\u007a","k":1}}`, `{"a":{"k":1,"type":"x"}} {"a":{"type":"w"}}`},
	{"conditions", `{"type":"object","properties":{"a":{"type":["array","null"]},"b":{"type":["boolean","null"]},"c":{}},"anyOf":[
		{"required":["a"],"properties":{"a":{"type":"array","minItems":1}}},{"required":["b"],"properties":{"b":{"const":false}}}]}`,
		`{"a":[0]} {"b":false} {"a":null,"b":false} {"a":[],"b":false}`, `{} {"a":[]} {"a":null} {"b":true} {"b":null} {"c":[1]}`},
	{"anything", `{"type":"object","properties":{"a":true,"b":{"type":"object"},"c":{"type":"array"}}}`,
		`{"a":[{"x":1}]} {"b":{"B":1}} {"c":[[]]} {"a":null}`, `{"b":[]} {"c":{}}`},
}

func TestChecksAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	for _, k := range schemaCases {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			schema, err := compileText(t, k.doc)
			if err != nil {
				t.Fatal(err)
			}
			check := func(body []byte) error { return schema.Check(Subject{Model: "m"}, body) }
			o := jsonschematest.New(t, []byte(k.doc), check)
			for bodies, want := range map[string]bool{k.accepted: true, k.refused: false} {
				for _, body := range splitBodies(bodies) {
					if got := check([]byte(body)) == nil; got != want {
						t.Errorf("accepted is %v: %s", got, body)
					}
					if disagreement := o.Disagreement([]byte(body)); disagreement != "" {
						t.Errorf("%s: %s", body, disagreement)
					}
				}
			}
		})
	}
}

func splitBodies(s string) []string {
	return strings.Split(strings.ReplaceAll(s, "} {", "}\n{"), "\n")
}

func TestCompileRefusesWhatTheCheckDoesNotSupport(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"an unknown keyword":       `{"type":"object","dependentRequired":{}}`,
		"a keyword in depth":       `{"type":"object","properties":{"a":{"type":"number","multipleOf":2}}}`,
		"a closed object":          `{"type":"object","additionalProperties":false}`,
		"a missing definition":     `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`,
		"a foreign reference":      `{"type":"object","properties":{"a":{"$ref":"https://a.example/b"}}}`,
		"a reference with company": `{"properties":{"a":{"$ref":"#/$defs/b","maxLength":1}},"$defs":{"b":{"type":"string"}}}`,
		"a type of its own":        `{"type":"date"}`,
		"a list of objects":        `{"properties":{"a":{"enum":[{}]}}}`,
		"two branches of a shape":  `{"properties":{"a":{"anyOf":[{"type":"string"},{"enum":["b"]}]}}}`,
		"objects without a mark":   `{"properties":{"a":{"anyOf":[{"type":"object"},{"type":"object","required":["b"]}]}}}`,
		"a branch for everything":  `{"properties":{"a":{"anyOf":[{"type":"string"},{}]}}}`,
		"a choice with company":    `{"properties":{"a":{"type":"string","anyOf":[{"maxLength":1}]}}}`,
		"a bad pattern":            `{"properties":{"a":{"type":"string","pattern":"("}}}`,
		"a condition on numbers":   `{"properties":{"a":{}},"anyOf":[{"properties":{"a":{"const":1}}}]}`,
		"a condition on lengths":   `{"properties":{"a":{}},"anyOf":[{"properties":{"a":{"type":"array","minItems":2}}}]}`,
		"a deeper condition":       `{"properties":{"a":{}},"anyOf":[{"oneOf":[]}]}`,
		"a fraction of a length":   `{"properties":{"a":{"type":"string","maxLength":1.5}}}`,
		"a schema that is false":   `{"properties":{"a":false}}`,
		"too many members":         `{"properties":{` + wideProperties(membersMax+1) + `}}`,
	} {
		if _, err := compileText(t, doc); err == nil {
			t.Errorf("%s is compiled: %s", name, doc)
		}
	}
}

func wideProperties(n int) string {
	var members []string
	for i := range n {
		members = append(members, `"p`+strings.Repeat("x", i)+`":{}`)
	}
	return strings.Join(members, ",")
}
