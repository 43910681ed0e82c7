package dialect

import (
	"encoding/json"
	"strings"
	"testing"

	"umg/app/llm"
)

var (
	onlyAdaptive = llm.ThinkingForms{NoBudget: true}
	onlyBudget   = llm.ThinkingForms{NoAdaptive: true}
	noThinking   = llm.ThinkingForms{NoBudget: true, NoAdaptive: true, NoEffort: true}
)

func TestThinkingIsPutIntoTheFormThatTheModelTakes(t *testing.T) {
	t.Parallel()
	enabled := func(n string) string { return `"thinking":{"type":"enabled","budget_tokens":` + n + `}` }
	const shown = `"thinking":{"type":"adaptive","display":"summarized"}`
	for _, c := range []struct {
		forms        llm.ThinkingForms
		output       int64
		sent, want   string
		listed, what string
	}{
		{onlyAdaptive, 64000, enabled("31999"), shown + `,"output_config":{"effort":"xhigh"}`, "thinking.type=enabled->adaptive", "no config"},
		{onlyAdaptive, 64000, enabled("1024") + `,"output_config":null`, shown + `,"output_config":{"effort":"low"}`, "thinking.type=enabled->adaptive", "null"},
		{onlyAdaptive, 64000, `"output_config": {} ,` + enabled("5000"), `"output_config": {"effort":"medium"} ,` + shown, "thinking.type=enabled->adaptive", "empty"},
		{onlyAdaptive, 64000, `"output_config":{"format":null},` + enabled("5000"), `"output_config":{"effort":"medium","format":null},` + shown,
			"thinking.type=enabled->adaptive", "a format"},
		{onlyAdaptive, 64000, `"output_config":{"effort":null},` + enabled("5000"), `"output_config":{"effort":"medium"},` + shown,
			"thinking.type=enabled->adaptive", "an effort of null"},
		{onlyAdaptive, 64000, enabled("5000") + `,"output_config":{"effort":"max"}`, shown + `,"output_config":{"effort":"max"}`,
			"thinking.type=enabled->adaptive", "an effort"},
		{onlyAdaptive, 64000, `"thinking":{"display":"omitted","budget_tokens":20000,"type":"en\u0061bled"}`,
			`"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"high"}`, "thinking.type=enabled->adaptive", "display"},
		{llm.ThinkingForms{NoBudget: true, NoEffort: true}, 64000, enabled("5000"), shown, "thinking.type=enabled->adaptive", "no effort"},
		{llm.ThinkingForms{NoBudget: true, Efforts: []llm.Effort{"low", "high", "max"}}, 64000, enabled("31999"),
			shown + `,"output_config":{"effort":"high"}`, "thinking.type=enabled->adaptive", "the nearest effort"},
		{onlyBudget, 64000, `"thinking":{"type":"adaptive"}`, enabled("32000"), "thinking.type=adaptive->enabled", "half"},
		{onlyBudget, 64000, `"thinking":{"type":"between_tools"}`, enabled("32000"), "thinking.type=between_tools->enabled", "between tools"},
		{onlyBudget, 64000, `"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"medium"}`,
			`"thinking":{"type":"enabled","budget_tokens":8192,"display":"omitted"},"output_config":{"effort":"medium"}`,
			"thinking.type=adaptive->enabled", "as much as the effort stands for"},
		{onlyBudget, 1025, `"thinking":{"type":"adaptive"}`, enabled("1024"), "thinking.type=adaptive->enabled", "the least"},
		{onlyBudget, 1024, `"a":1,"thinking":{"type":"adaptive"}`, `"a":1`, "thinking", "no room"},
		{onlyBudget, 9000, `"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"}`, `"tool_choice":{"type":"any"}`, "thinking", "a forced call"},
		{onlyBudget, 9000, `"thinking":{"type":"adaptive"},"tool_choice":"required"`, `"tool_choice":"required"`, "thinking", "a forced call in one word"},
		{onlyBudget, 9000, `"thinking":{"type":"adaptive"},"tool_choice":{"type":"auto"}`, enabled("4500") + `,"tool_choice":{"type":"auto"}`,
			"thinking.type=adaptive->enabled", "a free call"},
		{onlyBudget, 900, `"thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015"},{"type":"clear_tool_uses_1"}]}`,
			`"context_management":{"edits":[{"type":"clear_tool_uses_1"}]}`, "thinking|context_management.edits[0] (clear_thinking_20251015)", "edits"},
		{noThinking, 9000, enabled("5000") + `,"b":2`, `"b":2`, "thinking", "a model that does not think"},
	} {
		body := `{"model":"m",` + c.sent + `,"messages":[]}`
		fit := FitThinking([]byte(body), &c.forms, c.output)
		got := string(Amend([]byte(body), fit.Changes))
		if want := `{"model":"m",` + c.want + `,"messages":[]}`; got != want || strings.Join(fit.Listed, "|") != c.listed {
			t.Errorf("%s: %s\nwant %s\nlisted %q", c.what, got, want, fit.Listed)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%s: %s is not JSON", c.what, got)
		}
	}
}

// TestNoBudgetIsGivenInTheMiddleOfATurnWithoutThoughts continues turns that began without a thought. Providers refuse a budget there.
func TestNoBudgetIsGivenInTheMiddleOfATurnWithoutThoughts(t *testing.T) {
	t.Parallel()
	const (
		options = `{"role":"user","content":"hi"}`
		call    = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
		thought = `{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{}}]}`
		result  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`
		said    = `{"role":"assistant","content":"so"}`
	)
	for _, c := range []struct {
		turns []string
		want  bool
	}{
		{[]string{options}, true}, {[]string{options, call, result}, false}, {[]string{options, thought, result}, true},
		{[]string{options, thought, result, call, result}, true}, {[]string{options, call, result, thought, result}, false},
		{[]string{options, call, result, said, options}, true}, {[]string{options, said, options, call, result}, false},
	} {
		body := []byte(`{"model":"m","thinking":{"type":"adaptive"},"messages":[` + strings.Join(c.turns, ",") + `]}`)
		fit := FitThinking(body, &onlyBudget, 64000)
		if got := strings.Contains(string(Amend(body, fit.Changes)), `"budget_tokens":32000`); got != c.want {
			t.Errorf("%s: a budget is given: %t", body, got)
		}
	}
}

// TestTheBudgetIsWithinTheBoundOfTheOutput checks that providers of the style take the budget of any request.
func TestTheBudgetIsWithinTheBoundOfTheOutput(t *testing.T) {
	t.Parallel()
	for most := int64(1); most < 70_000; most += 7 {
		for _, effort := range []llm.Effort{"", "low", "medium", "high", "xhigh", "max"} {
			n, ok := llm.ThinkingBudget(effort, most)
			if ok != (most > llm.ThinkingBudgetMin) || ok && (n < llm.ThinkingBudgetMin || n >= most) {
				t.Fatalf("%d of %d with the effort %q, %t", n, most, effort, ok)
			}
		}
	}
}
