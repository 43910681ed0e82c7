package catalog

import (
	"reflect"
	"strings"
	"testing"

	"umg/app"
	"umg/app/jsonschema"
	"umg/app/llm"
)

func TestAContractHasTheFormsOfThinkingThatTheModelTakes(t *testing.T) {
	t.Parallel()
	const (
		enabled  = `,"thinking":{"type":"enabled","budget_tokens":2000}`
		adaptive = `,"thinking":{"type":"adaptive"}`
		between  = `,"thinking":{"type":"between_tools"}`
		disabled = `,"thinking":{"type":"disabled"}`
		effort   = `,"output_config":{"effort":"low"}`
	)
	for _, c := range []struct {
		takes   []string
		refused map[string]string // Refused has what a strict key is refused, with the field that the error names.
	}{
		{nil, map[string]string{}},
		{[]string{"enabled", "adaptive", "effort"}, map[string]string{}},
		{[]string{"adaptive", "effort"}, map[string]string{enabled: "thinking.type"}},
		{[]string{"enabled", "effort"}, map[string]string{adaptive: "thinking.type", between: "thinking.type"}},
		{[]string{"enabled"}, map[string]string{adaptive: "thinking.type", between: "thinking.type", effort: "output_config.effort"}},
	} {
		of := everything(t)
		of.thinking = c.takes
		contract := contractFor(t, llm.Messages, of)
		for _, members := range []string{enabled, adaptive, between, disabled, effort} {
			hints, err := contract.Admit([]byte(user(members)))
			strict := app.AsError(contract.Check([]byte(user(members))))
			want, refused := c.refused[members]
			if err != nil || (len(hints) == 1) != refused || (strict != nil) != refused || refused && strict.Param != want {
				t.Errorf("%s of %v: %+v, %v, strict %v", members, c.takes, hints, err, strict)
			}
			for _, h := range hints {
				if h.Thinking != strings.HasPrefix(h.Field, "thinking") {
					t.Errorf("%s of %v: %+v", members, c.takes, h)
				}
			}
		}
		if schema := string(contract.Schema()); strings.Contains(schema, keywordThinking+`"`) || strings.Contains(schema, jsonschema.KeywordStyle) ||
			strings.Contains(schema, `"budget_tokens"`) == (c.refused[enabled] != "") {
			t.Errorf("%v: the published contract is %s", c.takes, schema)
		}
		if _, err := contract.Admit([]byte(user(`,"thinking":{"type":"sometimes"}`))); app.AsError(err) == nil || app.AsError(err).Param != "thinking.type" {
			t.Errorf("%v: a word that the style does not have: %v", c.takes, err)
		}
	}
}

func TestAModelSaysWhichThinkingItRefuses(t *testing.T) {
	t.Parallel()
	m := FileModel{Parameters: []string{"reasoning_effort"}}
	for _, c := range []struct {
		takes []string
		want  llm.ThinkingForms
	}{
		{nil, llm.ThinkingForms{}},
		{[]string{"adaptive", "effort"}, llm.ThinkingForms{NoBudget: true}},
		{[]string{"enabled"}, llm.ThinkingForms{NoAdaptive: true, NoEffort: true}},
	} {
		m.Thinking = c.takes
		if got := m.thinkingForms(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v", c.takes, got)
		}
	}
	m.Thinking, m.Ranges = nil, map[string]Range{"reasoning_effort": {Values: []string{"none", "high"}}}
	if got := m.thinkingForms(); !reflect.DeepEqual(got.Efforts, []llm.Effort{"none", "high"}) {
		t.Errorf("the efforts are %v", got.Efforts)
	}
	m.Parameters = nil
	if got := m.thinkingForms(); !got.NoBudget || !got.NoAdaptive || !got.NoEffort {
		t.Errorf("a model that does not think takes %+v", got)
	}
}

func TestAFileNamesFormsOfThinkingThatThereAre(t *testing.T) {
	t.Parallel()
	const released, parameters = "released: 2026-05-01", "parameters: [temperature, stop, reasoning_effort]"
	for _, c := range []struct{ old, next, says string }{
		{released, released + "\n    thinking: [smell]", "not one of"},
		{released, released + "\n    thinking: []", "empty"},
		{released, released + "\n    thinking: [adaptive, adaptive]", "twice"},
		{released, released + "\n    thinking: [effort]", "needs enabled or adaptive"},
		{parameters, "parameters: [temperature]\n    thinking: [enabled]", "parameter reasoning_effort"},
		{released, released + "\n    thinking: [enabled, adaptive, effort]", ""},
	} {
		all := Check(parse(t, with(t, c.old, c.next)))
		found := 0
		for _, problem := range all {
			if text := problem.Error(); strings.Contains(text, "models[0].thinking") && strings.Contains(text, c.says) {
				found++
			}
		}
		if (found > 0) != (c.says != "") || c.says == "" && len(all) > 0 {
			t.Errorf("%s: %v", c.next, all)
		}
	}
}
