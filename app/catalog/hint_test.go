package catalog

import (
	"reflect"
	"strings"
	"testing"

	"umg/app"
	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

// spoken are hints as a list shows them: the field, or the field with both values.
func spoken(hints []Hint) []string {
	list := []string{}
	for _, h := range hints {
		list = append(list, h.Listed())
	}
	return list
}

func TestHintsThatAModelDoesNotTakeAreNoFaults(t *testing.T) {
	t.Parallel()
	config := func(members string) string { return nativeUser(`,"generationConfig":{` + members + `}`) }
	ask := func(members string) string { return `{"model":"acme/plain","input":"hi"` + members + `}` }
	for style, bodies := range map[llm.Style]map[string][]string{
		llm.Chat: {
			user(``): {},
			user(`,"temperature":0.2,"top_p":0.9,"presence_penalty":1,"frequency_penalty":1,"seed":7,"parallel_tool_calls":true`): {
				"temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "parallel_tool_calls"},
			user(`,"reasoning_effort":"high","verbosity":"low"`):                             {"reasoning_effort", "verbosity"},
			user(`, "max_tokens" : 64000 ,"max_completion_tokens":1e4`):                      {"max_tokens=64000->1000", "max_completion_tokens=1e4->1000"},
			user(`,"max_tokens":1000,"temperature":1,"reasoning_effort":"none","seed":null`): {},
		},
		llm.Messages: {
			user(`,"max_tokens":32000,"temperature":0.5,"top_p":0.5,"top_k":5,"thinking":{"type":"enabled","budget_tokens":2000},"output_config":{"effort":"low"}`): {
				"max_tokens=32000->1000", "temperature", "top_p", "top_k", "thinking", "output_config.effort"},
			user(`,"thinking":{"type":"adaptive"}`): {},
		},
		llm.Responses: {
			ask(`,"max_output_tokens":128000,"temperature":0.5,"reasoning":{"effort":"medium","summary":"auto"},"text":{"verbosity":"low"}`): {
				"max_output_tokens=128000->1000", "temperature", "reasoning", "text.verbosity"},
		},
		llm.Native: {
			config(`"maxOutputTokens":9999,"temperature":0,"topP":0.5,"topK":4,"seed":1,"presencePenalty":1,"thinkingConfig":{"includeThoughts":true}`): {
				"generationConfig.maxOutputTokens=9999->1000", "generationConfig.temperature", "generationConfig.topP", "generationConfig.topK",
				"generationConfig.seed", "generationConfig.presencePenalty", "generationConfig.thinkingConfig"},
			nativeUser(`,"generation_config":{"thinking_config":{"thinking_budget":1024},"max_output_tokens":2000}`): {
				"generation_config.thinking_config", "generation_config.max_output_tokens=2000->1000"},
		},
	} {
		c := contractFor(t, style, plain())
		for body, want := range bodies {
			hints, err := c.Admit([]byte(body), nil)
			if got := spoken(hints); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s: %q, %v", style, body, got, err)
			}
			for _, h := range hints {
				if !strings.HasPrefix(body[h.At:], h.Value) {
					t.Errorf("%s: %s: %s is not at %d", style, body, h.Field, h.At)
				}
			}
			strict := app.AsError(c.Check([]byte(body)))
			if (strict == nil) != (len(want) == 0) || strict != nil && !strings.HasPrefix(strict.Param, hints[0].Field) {
				t.Errorf("%s: %s: a strict check says %v", style, body, strict)
			}
		}
	}
}

func TestEffortsBesideThoseOfAModelBecomeTheNearest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		style  llm.Style
		values string
		body   string
		want   string
	}{
		{llm.Chat, "low medium high", user(`,"reasoning_effort":"xhigh"`), "reasoning_effort=xhigh->high"},
		{llm.Chat, "low medium high", user(`,"reasoning_effort":"minimal"`), "reasoning_effort=minimal->low"},
		{llm.Chat, "low medium high", user(`,"reasoning_effort":"none"`), "reasoning_effort=none->low"},
		{llm.Chat, "none high", user(`,"reasoning_effort":"minimal"`), "reasoning_effort=minimal->high"},
		{llm.Chat, "low max", user(`,"reasoning_effort":"high"`), "reasoning_effort=high->low"},
		{llm.Chat, "low medium high", user(`,"reasoning_effort":"medium"`), ""},
		{llm.Messages, "low medium", user(`,"output_config":{"effort":"max"}`), "output_config.effort=max->medium"},
		{llm.Messages, "minimal", user(`,"output_config":{"effort":"max"}`), "output_config.effort"},
		{llm.Native, "low high", nativeUser(`,"generationConfig":{"thinkingConfig":{"thinking_level":"MINIMAL"}}`),
			"generationConfig.thinkingConfig.thinking_level=MINIMAL->LOW"},
	} {
		of := everything(t)
		of.ranges = map[string]Range{"reasoning_effort": {Values: strings.Fields(c.values)}}
		hints, err := contractFor(t, c.style, of).Admit([]byte(c.body), nil)
		if got := strings.Join(spoken(hints), " "); err != nil || got != c.want {
			t.Errorf("%s of %s: %q, %v", c.body, c.values, got, err)
		}
	}
}

func TestHintsOfNoSenseStayFaults(t *testing.T) {
	t.Parallel()
	for body, param := range map[string]string{
		user(`,"temperature":7`): "temperature", user(`,"temperature":"hot"`): "temperature", user(`,"reasoning_effort":"ultra"`): "reasoning_effort",
		user(`,"max_tokens":0`): "max_tokens", user(`,"max_tokens":"many"`): "max_tokens", user(`,"seed":1.5`): "seed",
		user(`,"tools":[{"type":"function","function":{"name":"f"}}]`): "tools", user(`,"n":2`): "n", user(`,"stop":"a"`): "stop",
		user(`,"response_format":{"type":"json_object"}`): "response_format.type", user(`,"logprobs":true`): "logprobs",
	} {
		if _, err := contractFor(t, llm.Chat, plain()).Admit([]byte(body), nil); app.AsError(err) == nil || app.AsError(err).Param != param {
			t.Errorf("%s: %v", body, err)
		}
	}
	of := everything(t)
	of.ranges = map[string]Range{"temperature": {Max: "1"}}
	if _, err := contractFor(t, llm.Chat, of).Admit([]byte(user(`,"temperature":1.5`)), nil); app.AsError(err) == nil {
		t.Error("a temperature above the model's is taken")
	}
}

// TestAContractSaysWhatBecomesOfAHint reads the descriptions of fields of which a model takes less than its style.
func TestAContractSaysWhatBecomesOfAHint(t *testing.T) {
	t.Parallel()
	of := everything(t)
	of.ranges, of.thinking = map[string]Range{"reasoning_effort": {Values: []string{"low", "high"}}}, []string{"adaptive", "effort"}
	for _, c := range []struct {
		style       llm.Style
		params      contractParams
		path, wants string
	}{
		{llm.Chat, of, "reasoning_effort", hintTexts[jsonschema.HintClamp]}, {llm.Chat, of, "max_tokens", hintTexts[jsonschema.HintBound]},
		{llm.Messages, of, "thinking", hintTexts[jsonschema.HintConvert]}, {llm.Messages, of, "output_config.effort", hintTexts[jsonschema.HintClamp]},
		{llm.Messages, plain(), "thinking", hintTexts[jsonschema.HintDrop]}, {llm.Messages, plain(), "output_config.effort", hintTexts[jsonschema.HintDrop]},
		{llm.Chat, plain(), "seed", hintTexts[jsonschema.HintDrop]}, {llm.Chat, plain(), "reasoning_effort", hintTexts[jsonschema.HintDrop]},
		{llm.Chat, of, "verbosity", ""}, {llm.Chat, of, "seed", ""}, {llm.Chat, plain(), "stop", ""},
	} {
		s := jsontree.MustParse(contractFor(t, c.style, c.params).Schema())
		for name := range strings.SplitSeq(c.path, ".") {
			s = s.Get("properties").Get(name)
		}
		text := s.GetString("description")
		for kind, says := range hintTexts {
			if strings.Contains(text, says) != (says == c.wants) {
				t.Errorf("%s of %s, %s: %s", c.path, c.style, kind, text)
			}
		}
	}
}
