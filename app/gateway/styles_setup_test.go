package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
)

// The styles as their clients speak them, written and read here by hand, so that no mistake of the product hides by
// being made twice.

type members = map[string]any

// asked is a call before a style gives it its form.
type asked struct {
	prompt, system string
	stream         bool
	bound          int64
	choices        int
	stop           string
	tool           bool // With tool, the model may call get_weather.
	thinks         bool
	more           members // More has members for the top level.
}

// on is the model that is served by an upstream of that style alone.
func on(upstream llm.Style) string { return "test/on-" + string(upstream) }

// styledCall makes the call in a style.
func (b *bench) styledCall(style llm.Style, model string, a asked) gateway.Call {
	b.t.Helper()
	m := members{"model": model}
	if a.stream {
		m["stream"] = true
	}
	map[llm.Style]func(members, asked){llm.Chat: chatAsks, llm.Messages: messagesAsks, llm.Responses: responsesAsks, llm.Native: nativeAsks}[style](m, a)
	maps.Copy(m, a.more)
	body, err := json.Marshal(m)
	must(b.t, err)
	return gateway.Call{ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: style, Body: body}
}

var weather = members{"type": "object", "properties": members{"city": members{"type": "string"}}, "required": []string{"city"}}

func chatAsks(m members, a asked) {
	var list []any
	if a.system != "" {
		list = append(list, members{"role": "system", "content": a.system})
	}
	m["messages"] = append(list, members{"role": "user", "content": a.prompt})
	if a.stream {
		m["stream_options"] = members{"include_usage": true}
	}
	if a.bound > 0 {
		m["max_completion_tokens"] = a.bound
	}
	if a.choices > 0 {
		m["n"] = a.choices
	}
	if a.stop != "" {
		m["stop"] = a.stop
	}
	if a.tool {
		m["tools"] = []any{members{"type": "function", "function": members{"name": "get_weather", "parameters": weather}}}
	}
	if a.thinks {
		m["reasoning_effort"] = "low"
	}
}

func messagesAsks(m members, a asked) {
	m["messages"] = []any{members{"role": "user", "content": a.prompt}}
	if a.system != "" {
		m["system"] = a.system
	}
	if a.bound > 0 {
		m["max_tokens"] = a.bound
	}
	if a.stop != "" {
		m["stop_sequences"] = []string{a.stop}
	}
	if a.tool {
		m["tools"] = []any{members{"name": "get_weather", "input_schema": weather}}
	}
	if a.thinks {
		m["thinking"] = members{"type": "enabled", "budget_tokens": 1024}
	}
}

func responsesAsks(m members, a asked) {
	m["input"] = a.prompt
	if a.system != "" {
		m["instructions"] = a.system
	}
	if a.bound > 0 {
		m["max_output_tokens"] = a.bound
	}
	if a.tool {
		m["tools"] = []any{members{"type": "function", "name": "get_weather", "parameters": weather, "strict": false}}
	}
	if a.thinks {
		m["reasoning"] = members{"effort": "low", "summary": "auto"}
	}
}

func nativeAsks(m members, a asked) {
	m["contents"] = []any{members{"role": "user", "parts": []any{members{"text": a.prompt}}}}
	if a.system != "" {
		m["systemInstruction"] = members{"parts": []any{members{"text": a.system}}}
	}
	config := members{}
	if a.bound > 0 {
		config["maxOutputTokens"] = a.bound
	}
	if a.choices > 0 {
		config["candidateCount"] = a.choices
	}
	if a.stop != "" {
		config["stopSequences"] = []string{a.stop}
	}
	if a.thinks {
		config["thinkingConfig"] = members{"includeThoughts": true, "thinkingBudget": 1024}
	}
	if len(config) > 0 {
		m["generationConfig"] = config
	}
	if a.tool {
		m["tools"] = []any{members{"functionDeclarations": []any{members{"name": "get_weather", "parametersJsonSchema": weather}}}}
	}
}

// heard is an answer as a client of its style understands it.
type heard struct {
	text   string // Text includes thoughts and arguments.
	finish string // Finish is in the style's own words.
	usage  llm.Usage
	cost   app.Amount
	told   bool // Told means that usage and cost arrived.
	err    members
	marks  int // Marks counts keep-alives.
	frames int
}

// at walks into JSON that was decoded: a name is a member, a number an element.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(members)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func str(v any) string { s, _ := v.(string); return s }

func num(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return i
}

func decoded(t *testing.T, text string) members {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m members
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return m
}

// charge reads a usage object; the wire's own arithmetic is undone.
func (h *heard) charge(t *testing.T, style llm.Style, u any) {
	t.Helper()
	if u == nil {
		return
	}
	var v llm.Usage
	switch style {
	case llm.Chat:
		v = llm.Usage{CacheRead: num(at(u, "prompt_tokens_details", "cached_tokens")), CacheWrite: num(at(u, "prompt_tokens_details", "cache_write_tokens")),
			Output: num(at(u, "completion_tokens")), Reasoning: num(at(u, "completion_tokens_details", "reasoning_tokens"))}
		v.Input = num(at(u, "prompt_tokens")) - v.CacheRead - v.CacheWrite
	case llm.Messages:
		v = llm.Usage{Input: num(at(u, "input_tokens")), CacheRead: num(at(u, "cache_read_input_tokens")),
			CacheWrite: num(at(u, "cache_creation_input_tokens")), Output: num(at(u, "output_tokens")), Reasoning: num(at(u, "output_tokens_details", "thinking_tokens"))}
	case llm.Responses:
		v = llm.Usage{CacheRead: num(at(u, "input_tokens_details", "cached_tokens")), CacheWrite: num(at(u, "input_tokens_details", "cache_write_tokens")),
			Output: num(at(u, "output_tokens")), Reasoning: num(at(u, "output_tokens_details", "reasoning_tokens"))}
		v.Input = num(at(u, "input_tokens")) - v.CacheRead - v.CacheWrite
	case llm.Native:
		v = llm.Usage{CacheRead: num(at(u, "cachedContentTokenCount")), Reasoning: num(at(u, "thoughtsTokenCount"))}
		v.Output = num(at(u, "candidatesTokenCount")) + v.Reasoning
		v.Input = num(at(u, "promptTokenCount")) - v.CacheRead
	}
	cost, isNumber := at(u, "cost").(json.Number)
	if !isNumber {
		return
	}
	h.usage, h.told = v, true
	var err error
	h.cost, err = app.ParseAmount(cost.String())
	must(t, err)
}

// body reads an answer in one piece.
func body(t *testing.T, style llm.Style, text string) heard {
	t.Helper()
	m := decoded(t, text)
	var h heard
	switch style {
	case llm.Chat:
		h.charge(t, style, m["usage"])
		h.text, h.finish = fmt.Sprint(at(m, "choices", 0, "message")), str(at(m, "choices", 0, "finish_reason"))
	case llm.Messages:
		h.charge(t, style, m["usage"])
		h.text, h.finish = fmt.Sprint(m["content"]), str(m["stop_reason"])
	case llm.Responses:
		h.charge(t, style, m["usage"])
		h.text, h.finish = fmt.Sprint(m["output"]), str(m["status"])
	case llm.Native:
		h.charge(t, style, m["usageMetadata"])
		h.text, h.finish = fmt.Sprint(m["candidates"]), str(at(m, "candidates", 0, "finishReason"))+str(at(m, "promptFeedback", "blockReason"))
	}
	return h
}
