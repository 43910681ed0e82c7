package catalog

import (
	"embed"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"umg/app/jsontree"
	"umg/app/llm"
)

// officialEnums are the enumerations of the official schemas, by place in a request. NOTICE.md says where they are from.
//
//go:embed testdata/enums/*.json
var officialEnums embed.FS

// refusedValues are the values that a contract does not take though the official schema has them, each with the reason. A place
// without values stands for all of its values.
var refusedValues = map[llm.Style][]struct {
	at, values, reason string
}{
	llm.Chat: {{"modalities[]", "audio", "answers are text"}},
	llm.Responses: {
		{"input[].status", "searching failed generating interpreting calling",
			"they are of items of tools that a provider runs, whose status is not looked at: messages and calls have others"},
		{"input[].type", "compaction_trigger", "a compaction is another call of the model, which has no price"},
		{"input[].type", "item_reference", "nothing is kept from one call to the next"},
		{"tool_choice.type", "file_search web_search_preview web_search_preview_2025_03_11 image_generation code_interpreter mcp " +
			"programmatic_tool_calling", "no tools are run by providers, so none can be demanded"},
	},
	llm.Messages: {
		{"messages[].content[].source.type", "file", "no files are kept"},
		{"speed", "fast", "the faster mode has another price"},
	},
	llm.Native: {{"generationConfig.responseModalities[]", "IMAGE AUDIO VIDEO", "answers are text"}},
}

// TestEveryOfficialValueIsTakenOrRefusedForAReason looks for each value of each enumeration of the official schemas in the contract
// of a model that can do everything. Members that the contract does not know go through untouched.
func TestEveryOfficialValueIsTakenOrRefusedForAReason(t *testing.T) {
	t.Parallel()
	for _, style := range llm.Styles() {
		raw, err := officialEnums.ReadFile("testdata/enums/" + string(style) + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var official map[string][]string
		if err := json.Unmarshal(raw, &official); err != nil {
			t.Fatal(err)
		}
		doc := jsontree.MustParse(offeredContract(t, style, style).Schema())
		used := map[string]bool{}
		for _, at := range slices.Sorted(maps.Keys(official)) {
			forms := schemasAt(doc, []*jsontree.Value{doc}, strings.Split(strings.ReplaceAll(at, "[]", ".[]"), "."))
			for _, value := range official[at] {
				if len(forms) == 0 || slices.ContainsFunc(forms, func(s *jsontree.Value) bool { return takesText(s, value) }) {
					continue
				}
				reason := ""
				for _, r := range refusedValues[style] {
					if r.at == at && (r.values == "" || slices.Contains(strings.Fields(r.values), value)) {
						reason = r.reason
						used[at+r.values] = true
					}
				}
				if reason == "" {
					t.Errorf("%s: %s does not take %q, and no exception names it", style, at, value)
				}
			}
		}
		for _, r := range refusedValues[style] {
			if !used[r.at+r.values] {
				t.Errorf("%s: %s is said to be refused and is taken", style, r.at)
			}
		}
	}
}

// takesText reports whether a schema by itself takes a text.
func takesText(s *jsontree.Value, value string) bool {
	if s.GetString("type") != "" && s.GetString("type") != "string" || len(s.GetStrings("type")) > 0 && !slices.Contains(s.GetStrings("type"), "string") {
		return false
	}
	if not := s.Get("not"); not != nil && slices.Contains(not.GetStrings("enum"), value) {
		return false
	}
	if p := s.GetString("pattern"); p != "" && !regexp.MustCompile(p).MatchString(value) {
		return false
	}
	switch {
	case s.Get("enum") != nil:
		return slices.Contains(s.GetStrings("enum"), value)
	case s.Get("const") != nil:
		return s.GetString("const") == value
	default:
		return s.Get("anyOf") == nil && s.Get("oneOf") == nil && s.Get("$ref") == nil
	}
}
