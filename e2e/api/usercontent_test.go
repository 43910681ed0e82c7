package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// saying is a conversation of a client, and where an error about it points on the way to providers of each style. To the
// styles that are not there it goes, with its mark.
type saying struct {
	style, name string
	// members has %s for a mark.
	members string
	to      map[string]string
}

const (
	chatCalls     = `{"role":"user","content":"echo: x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	messagesCalls = `{"role":"user","content":"echo: x"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]}`
	itemCalls     = `{"role":"user","content":"echo: x"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
	nativeCalls   = `{"role":"user","parts":[{"text":"echo: x"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}`
)

var sayings = []saying{
	{"messages", "a block of an unknown type", `"messages":[{"role":"user","content":[{"type":"text","text":"echo: x"},{"type":"hologram","data":"%s"}]}]`,
		dropped("messages[0].content[1].type", "chat", "responses", "native")},
	{"messages", "a block in a tool result", `"messages":[` + messagesCalls + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"browser_state","data":"%s"}]}]}]`,
		dropped("messages[2].content[0].content[0].type", "chat", "responses", "native")},
	{"messages", "a result without a call", `"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"%s"}]}]`,
		dropped("messages[0].content[0].tool_use_id", "chat", "responses", "native")},
	{"messages", "a call without a result", `"messages":[` + messagesCalls + `,{"role":"user","content":"%s"}]`,
		dropped("messages[1].content[0].id", "chat", "responses", "native")},
	{"messages", "a search result", `"messages":[{"role":"user","content":[{"type":"text","text":"echo: x"},{"type":"search_result","title":"t","source":"s","content":[{"type":"text","text":"%s"}]}]}]`, nil},

	{"responses", "a part of an unknown type", `"input":[{"role":"user","content":[{"type":"input_text","text":"echo: x"},{"type":"hologram","data":"%s"}]}]`,
		dropped("input[0].content[1].type", "chat", "messages", "native")},
	{"responses", "an output of a tool of one style", `"input":[{"role":"user","content":"echo: x"},{"type":"computer_call_output","call_id":"c9","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,%s"}}]`,
		dropped("input[1].type", "chat", "messages", "native")},
	{"responses", "an approval", `"input":[{"role":"user","content":"%s"},{"type":"mcp_approval_response","approval_request_id":"a","approve":true}]`,
		everywhere("input[1]")},
	{"responses", "an output without a call", `"input":[{"role":"user","content":"echo: x"},{"type":"function_call_output","call_id":"c9","output":"%s"}]`,
		dropped("input[1].call_id", "chat", "messages", "native")},
	{"responses", "a call without an output", `"input":[` + itemCalls + `,{"role":"user","content":"%s"}]`,
		dropped("input[1].call_id", "chat", "messages", "native")},

	{"native", "a part of an unknown type", `"contents":[{"parts":[{"text":"echo: x"},{"hologram":{"data":"%s"}}]}]`,
		dropped("contents[0].parts[1].hologram", "chat", "messages", "responses")},
	{"native", "a part that is two things", `"contents":[{"parts":[{"text":"echo: x","inline_data":{"mime_type":"image/png","data":"%s"}}]}]`,
		dropped("contents[0].parts[0].inline_data", "chat", "messages", "responses")},
	{"native", "a part of a response of an unknown type", `"contents":[` + nativeCalls + `,{"parts":[{"functionResponse":{"name":"f","response":{},"parts":[{"hologram":"%s"}]}}]}]`,
		dropped("contents[2].parts[0].functionResponse.parts[0].hologram", "chat", "messages", "responses")},
	{"native", "sound", `"contents":[{"parts":[{"text":"echo: x"},{"inline_data":{"mime_type":"audio/wav","data":"%s"}}]}]`,
		dropped("contents[0].parts[1].inline_data.mime_type", "messages", "responses")},
	{"native", "a response without a call", `"contents":[{"parts":[{"text":"echo: x"}]},{"parts":[{"functionResponse":{"id":"i7","name":"f","response":{"output":"%s"}}}]}]`,
		dropped("contents[1].parts[0].functionResponse.id", "chat", "messages", "responses")},
	{"native", "a call without a response", `"contents":[` + nativeCalls + `,{"parts":[{"text":"%s"}]}]`,
		dropped("contents[1].parts[0].functionCall", "chat", "messages", "responses")},

	{"chat", "sound", `"messages":[{"role":"user","content":[{"type":"text","text":"echo: x"},{"type":"input_audio","input_audio":{"data":"%s","format":"wav"}}]}]`,
		dropped("messages[0].content[1].input_audio", "messages", "responses")},
	{"chat", "a result without a call", `"messages":[{"role":"user","content":"echo: x"},{"role":"tool","tool_call_id":"c9","content":"%s"}]`,
		dropped("messages[1].tool_call_id", "messages", "responses", "native")},
	{"chat", "a call without a result", `"messages":[` + chatCalls + `,{"role":"user","content":"%s"}]`,
		dropped("messages[1].tool_calls[0].id", "messages", "responses", "native")},
	{"chat", "the assistant at the end", `"messages":[{"role":"user","content":"echo: x"},{"role":"assistant","content":"%s"}]`,
		dropped("messages[1]", "responses")},
}

// TestUserContentArrivesOrIsRefused sends what users say in every style to providers of every style, as a call and as a count:
// it reaches the provider, or it is a 400 that names the client's own field, for which nothing is sent or charged.
func TestUserContentArrivesOrIsRefused(t *testing.T) {
	t.Parallel()
	k := &checklist{Customer: harness.StartDemo(t, "--token-interval", "0s").NewCustomer(t, "sayings")}
	k.SetLimits(t, 1000)
	k.speaking(t)
	for _, s := range sayings {
		t.Run(s.style+" "+s.name, func(t *testing.T) {
			for upstream, id := range k.speaks {
				s.arrives(t, k, upstream, id)
			}
		})
	}
	k.CheckLedger(t)
}

func (s saying) arrives(t *testing.T, k *checklist, upstream, id string) {
	t.Helper()
	p := harness.Styles[s.style]
	mark := strings.NewReplacer("_", "", "-", "").Replace(harness.UniqueName("mark")) + "AAAA"
	mark = mark[:len(mark)/4*4]
	body := p.RequestWith(id, fmt.Sprintf(s.members, mark))
	before, seen := k.SettledBalance(t, k.AccountID), k.CallSimulator(t, http.MethodGet, "/_control/stats", "")
	path, refused := s.to[upstream]
	if !refused {
		p.Send(t, k.Customer, body)
		if !strings.Contains(k.UpstreamBodies(t, mark), mark) {
			t.Errorf("to %s: it did not arrive", upstream)
		}
		return
	}
	r := p.CheckError(t, p.Send(t, k.Customer, body), "invalid", "", path)
	if !strings.Contains(r.Message, path) {
		t.Errorf("to %s: %q does not name %s", upstream, r.Message, path)
	}
	if p.CountPath != "" {
		p.CheckError(t, k.Call(t, http.MethodPost, p.CountPath, body), "invalid", "", path)
	}
	if after := k.SettledBalance(t, k.AccountID); after != before || k.CallSimulator(t, http.MethodGet, "/_control/stats", "") != seen {
		t.Errorf("to %s: it was sent or charged, %+v", upstream, after)
	}
}
