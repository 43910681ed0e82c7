package dialect_test

import (
	"errors"
	"strings"
	"testing"

	"umg/app"
	"umg/app/llm"
)

// turnRule is a conversation whose turns are wrong for providers of some styles, in the words of a client. To all others
// it goes.
type turnRule struct {
	name, body, path, words string
	style                   llm.Style
	to                      []llm.Style
}

// elsewhere are all styles but the client's own.
func elsewhere(own llm.Style) []llm.Style {
	var list []llm.Style
	for _, style := range llm.Styles() {
		if style != own {
			list = append(list, style)
		}
	}
	return list
}

var turnRules = []turnRule{
	{
		style: llm.Chat, name: "a result without a call", to: elsewhere(llm.Chat),
		body: `"messages":[{"role":"user","content":"q"},{"role":"tool","tool_call_id":"call_x.9","content":"r"}]`,
		path: "messages[1].tool_call_id", words: `"call_x.9" answers no call`,
	},
	{
		style: llm.Chat, name: "a call without a result", to: elsewhere(llm.Chat),
		body: `"messages":[` + chatCall + `,{"role":"user","content":"go on"}]`,
		path: "messages[1].tool_calls[0].id", words: `The call "c1" of the tool "f" has no result`,
	},
	{
		style: llm.Chat, name: "a call at the end", to: elsewhere(llm.Chat),
		body: `"messages":[` + chatCall + `]`, path: "messages[1].tool_calls[0].id", words: "has no result",
	},
	{
		style: llm.Chat, name: "a result before its call", to: elsewhere(llm.Chat),
		body: `"messages":[{"role":"user","content":"q"},{"role":"tool","tool_call_id":"c1","content":"r"},` + chatCall + `]`,
		path: "messages[1].tool_call_id", words: "stands before the call",
	},
	{
		style: llm.Chat, name: "two results of one call", to: []llm.Style{llm.Messages, llm.Native},
		body: `"messages":[` + chatCall + `,{"role":"tool","tool_call_id":"c1","content":"r"},{"role":"tool","tool_call_id":"c1","content":"s"}]`,
		path: "messages[3].tool_call_id", words: `"c1" has a result already`,
	},
	{
		style: llm.Chat, name: "the assistant begins", to: []llm.Style{llm.Messages, llm.Native},
		body: `"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"q"}]`, path: "messages[0]", words: "begins with the assistant",
	},
	{
		style: llm.Chat, name: "the assistant ends", to: []llm.Style{llm.Responses},
		body: `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]`, path: "messages[1]", words: "ends with the assistant",
	},
	{
		style: llm.Chat, name: "nothing is said", to: []llm.Style{llm.Messages, llm.Native},
		body: `"messages":[{"role":"system","content":"s"}]`, path: "messages", words: "must begin with a turn of the user",
	},
	{
		style: llm.Chat, name: "a late result at the end", to: []llm.Style{llm.Messages, llm.Native},
		body: `"messages":[` + chatCall + `,{"role":"user","content":"x"},{"role":"assistant","content":"y"},{"role":"tool","tool_call_id":"c1","content":"r"}]`,
		path: "messages[4].tool_call_id", words: `"c1" must stand in the turn right behind`,
	},
	{
		style: llm.Chat, name: "a call of a user", to: elsewhere(llm.Chat),
		body: `"messages":[{"role":"user","content":"q","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}]`,
		path: "messages[0].tool_calls", words: "role assistant only",
	},
	{
		style: llm.Chat, name: "arguments that are none", to: []llm.Style{llm.Messages, llm.Native},
		body: `"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{a"}}]},` +
			`{"role":"tool","tool_call_id":"c1","content":"r"}]`,
		path: "messages[1].tool_calls[0].id", words: "must be a JSON object",
	},
	{
		style: llm.Messages, name: "a result without a call", to: elsewhere(llm.Messages),
		body: `"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"r"}]}]`,
		path: "messages[0].content[0].tool_use_id", words: `"toolu_9" answers no call`,
	},
	{
		style: llm.Messages, name: "a call without a result", to: elsewhere(llm.Messages),
		body: `"messages":[` + messagesCall + `,{"role":"user","content":"go on"}]`, path: "messages[1].content[0].id", words: `"c1" of the tool "f" has no result`,
	},
	{
		style: llm.Messages, name: "the assistant ends", to: []llm.Style{llm.Responses},
		body: `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]`, path: "messages[1].content", words: "ends with the assistant",
	},
	{
		style: llm.Responses, name: "an output without a call", to: elsewhere(llm.Responses),
		body: `"input":[{"role":"user","content":"q"},{"type":"function_call_output","call_id":"c9","output":"r"}]`,
		path: "input[1].call_id", words: `"c9" answers no call`,
	},
	{
		style: llm.Responses, name: "a call without an output", to: elsewhere(llm.Responses),
		body: `"input":[` + itemCall + `,{"role":"user","content":"go on"}]`, path: "input[1].call_id", words: `"c1" of the tool "f" has no result`,
	},
	{
		style: llm.Responses, name: "an id that we gave", to: elsewhere(llm.Responses),
		body: `"input":[{"role":"user","content":"q"},{"type":"function_call_output","call_id":"gwx_YS5iOmM","output":"r"}]`,
		path: "input[1].call_id", words: `"gwx_YS5iOmM" answers no call`,
	},
	{
		style: llm.Native, name: "a response without a call", to: elsewhere(llm.Native),
		body: `"contents":[{"parts":[{"text":"q"}]},{"parts":[{"function_response":{"id":"i7","name":"f","response":{}}}]}]`,
		path: "contents[1].parts[0].function_response.id", words: `"i7" answers no call`,
	},
	{
		style: llm.Native, name: "the model begins", to: []llm.Style{llm.Messages},
		body: `"contents":[{"role":"model","parts":[{"text":"a"}]},{"parts":[{"text":"q"}]}]`, path: "contents[0]", words: "begins with the assistant",
	},
	{
		style: llm.Native, name: "a call without a response", to: elsewhere(llm.Native),
		body: `"contents":[` + nativeCall + `,{"parts":[{"text":"go on"}]}]`, path: "contents[1].parts[0].functionCall", words: `The call of the tool "f" has no result`,
	},
	{
		style: llm.Native, name: "one response more than calls", to: []llm.Style{llm.Chat, llm.Messages, llm.Responses},
		body: `"contents":[` + nativeCall + `,{"parts":[{"functionResponse":{"name":"f"}},{"functionResponse":{"name":"f"}}]}]`,
		path: "contents[2].parts[1].functionResponse", words: "answers no call",
	},
}

func TestTurnsAreCheckedBeforeAnyProviderSeesThem(t *testing.T) {
	t.Parallel()
	for _, rule := range turnRules {
		t.Run(string(rule.style)+" "+rule.name, func(t *testing.T) {
			t.Parallel()
			refused := map[llm.Style]bool{}
			for _, style := range rule.to {
				refused[style] = true
			}
			for _, upstream := range elsewhere(rule.style) {
				sent, _, err := carried(rule.style, upstream, `{"model":"m",`+rule.body+`}`)
				e, ok := errors.AsType[*app.Error](err)
				switch {
				case !refused[upstream] && err != nil:
					t.Errorf("to %s: %v", upstream, err)
				case !refused[upstream]:
				case !ok || e.Kind != app.Invalid || e.Param != rule.path || !strings.Contains(e.Message, rule.words):
					t.Errorf("to %s: %v, not %q at %q\n%s", upstream, err, rule.words, rule.path, sent)
				}
			}
		})
	}
}
