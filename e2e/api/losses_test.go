package api

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// loss is what becomes of members on their way to providers of each style: nothing when they are carried, the names in
// x-gateway-dropped, or 400 and the field that the error names. The code of the error is unsupported_parameter unless code says
// another one, which contracts do.
type loss struct {
	code    string
	style   string
	members string
	to      map[string]string
	// instead is true when the members replace the whole conversation.
	instead bool
}

// dropped says the same of all the other styles.
func dropped(names string, styles ...string) map[string]string {
	to := map[string]string{}
	for _, style := range styles {
		to[style] = names
	}
	return to
}

// everywhere says that all styles drop these names, the client's own among them.
func everywhere(names string) map[string]string {
	return dropped(names, "chat", "messages", "responses", "native")
}

// with changes what is dropped on the way to one style.
func with(to map[string]string, style, names string) map[string]string {
	to[style] = names
	return to
}

var losses = []loss{
	{style: "chat", members: `"temperature":0.5,"top_p":0.5,"max_tokens":50,"stop":["END"],"response_format":{"type":"text"},"n":1`, to: nil},
	{style: "chat", members: `"seed":7`, to: dropped("seed", "messages", "responses")},
	{style: "chat", members: `"frequency_penalty":0.5`, to: dropped("frequency_penalty", "messages", "responses")},
	{style: "chat", members: `"presence_penalty":0.5`, to: dropped("presence_penalty", "messages", "responses")},
	{style: "chat", members: `"presence_penalty":0.5,"frequency_penalty":0.5`, to: dropped("frequency_penalty,presence_penalty", "messages", "responses")},
	{style: "chat", members: `"safety_identifier":"s"`, to: dropped("safety_identifier", "native")},
	{style: "chat", members: `"logit_bias":{"5":1}`, to: dropped("logit_bias", "messages", "responses", "native")},
	{style: "chat", members: `"user":"u"`, to: dropped("user", "native")},
	{style: "chat", members: `"metadata":{"a":"b"}`, to: dropped("metadata", "messages")},
	{style: "chat", members: `"parallel_tool_calls":false,"tools":[` + lookUpTool + `]`, to: dropped("parallel_tool_calls", "native")},
	{style: "chat", members: `"verbosity":"low"`, to: dropped("verbosity", "messages", "native")},
	{style: "chat", members: `"prompt_cache_key":"k","service_tier":"auto","store":true`,
		to: with(everywhere("prompt_cache_key,service_tier,store"), "chat", "service_tier,store")},
	{style: "chat", members: `"unknown":{"a":1},"zebra":false`, to: dropped("unknown,zebra", "messages", "responses", "native")},
	{style: "chat", members: `"messages":[{"role":"user","name":"ann","content":"echo: x"}]`, to: dropped("messages[].name", "messages", "responses", "native"), instead: true},
	{style: "chat", members: `"logprobs":true`, to: dropped("400 logprobs", "messages", "responses", "native"), code: "invalid_request_error"},
	{style: "chat", members: `"n":2`, to: dropped("400 n", "messages", "responses", "native"), code: "invalid_request_error"},
	{style: "chat", members: `"response_format":{"type":"json_object"}`, to: dropped("400 response_format", "messages")},
	{style: "chat", members: `"tools":[{"type":"custom","custom":{"name":"c"}}]`, to: nil},
	{style: "chat", members: `"tools":[{"type":"custom","custom":{"name":"c","format":{"type":"grammar","grammar":{"syntax":"regex","definition":"a+"}}}}]`,
		to: dropped("tools[].custom.format", "messages", "native")},
	{style: "chat", members: `"tools":[{"type":"custom","custom":{"name":"c"}}],"tool_choice":{"type":"custom","custom":{"name":"c"}}`, to: nil},
	{style: "chat", members: `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]`,
		to: dropped("400 messages[0].content[0].input_audio", "messages", "responses"), instead: true},
	{style: "chat", members: `"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f1"}}]}]`,
		to: everywhere("400 messages[0].content[0].file.file_id"), instead: true, code: "invalid_request_error"},

	{style: "messages", members: `"temperature":0.5,"top_p":0.5,"max_tokens":50,"stop_sequences":["END"],"metadata":{}`, to: nil},
	{style: "messages", members: `"top_k":5`, to: dropped("top_k", "chat", "responses")},
	{style: "messages", members: `"metadata":{"user_id":"u","team":"red"}`,
		to: map[string]string{"chat": "metadata.team", "responses": "metadata.team", "native": "metadata.team,metadata.user_id"}},
	{style: "messages", members: `"service_tier":"auto"`, to: everywhere("service_tier")},
	{style: "messages", members: `"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]`, to: dropped("cache_control", "chat", "responses", "native")},
	{style: "messages", members: `"tools":[{"type":"web_search_20250305","name":"web_search"}]`,
		to: everywhere("400 tools[0]")},
	{style: "messages", members: `"tools":[{"type":"web_search_20250305","name":"web_search"},` + strings.TrimPrefix(messagesTools, `"tools":[`),
		to: everywhere("tools[0] (web_search_20250305)")},
	{style: "messages", members: `"tools":[{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool","name":"web_search"}`,
		to: everywhere("400 tools[0]")},
	{style: "messages", members: messagesTools + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`,
		to: dropped("tool_choice.disable_parallel_tool_use", "native")},
	{style: "messages", members: `"container":"c_1"`, to: everywhere("400 container"), code: "invalid_request_error"},
	{style: "messages", members: `"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"},{"type":"text","text":"echo: x"}]}]`,
		to: everywhere("400 messages[0].content[0].type"), instead: true, code: "invalid_request_error"},
	{style: "messages", members: `"unknown":1`, to: dropped("unknown", "chat", "responses", "native")},

	{style: "responses", members: `"temperature":0.5,"top_p":0.5,"max_output_tokens":50,"truncation":"disabled","background":false,"store":false`, to: nil},
	{style: "responses", members: `"store":true,"truncation":"auto","max_tool_calls":3,"prompt_cache_key":"k","service_tier":"auto"`,
		to: with(everywhere("max_tool_calls,prompt_cache_key,service_tier,store,truncation"), "responses", "service_tier,store")},
	{style: "responses", members: `"safety_identifier":"s"`, to: dropped("safety_identifier", "native")},
	{style: "responses", members: `"user":"u"`, to: dropped("user", "native")},
	{style: "responses", members: `"top_logprobs":3`, to: dropped("400 top_logprobs", "chat", "messages", "native"), code: "invalid_value"},
	{style: "responses", members: `"text":{"format":{"type":"json_object"}}`, to: dropped("400 text.format", "messages")},
	{style: "responses", members: `"include":["message.output_text.logprobs"]`, to: dropped("400 include", "chat", "messages", "native")},
	{style: "responses", members: `"metadata":{"a":"b"}`, to: dropped("metadata", "messages")},
	{style: "responses", members: `"parallel_tool_calls":false`, to: dropped("parallel_tool_calls", "native")},
	{style: "responses", members: `"text":{"verbosity":"low"}`, to: dropped("text.verbosity", "messages", "native")},
	{style: "responses", members: `"reasoning":{"context":"auto"}`, to: dropped("reasoning.context", "chat", "messages", "native")},
	{style: "responses", members: `"tools":[{"type":"web_search"}]`, to: everywhere("400 tools[0]")},
	{style: "responses", members: `"tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}`, to: everywhere("400 tool_choice.type"),
		code: "invalid_value"},
	{style: "responses", members: `"client_metadata":{"a":"b"}`, to: dropped("client_metadata", "chat", "messages", "native")},
	{style: "responses", members: `"input":[{"role":"user","content":[{"type":"input_image","file_id":"f1"}]}]`,
		to: everywhere("400 input[0].content[0].file_id"), instead: true, code: "invalid_value"},

	{style: "native", members: `"generationConfig":{"temperature":0.5,"topP":0.5,"maxOutputTokens":50,"stopSequences":["END"],"candidateCount":1}`, to: nil},
	{style: "native", members: `"safetySettings":` + safetyValues, to: dropped("safetySettings", "chat", "messages", "responses")},
	{style: "native", members: `"labels":{"a":"b"}`, to: dropped("labels", "messages")},
	{style: "native", members: `"serviceTier":"standard"`, to: dropped("serviceTier", "chat", "messages", "responses")},
	{style: "native", members: `"generationConfig":{"topK":5}`, to: dropped("generationConfig.topK", "chat", "responses")},
	{style: "native", members: `"generationConfig":{"seed":5}`, to: dropped("generationConfig.seed", "messages", "responses")},
	{style: "native", members: `"generation_config":{"frequency_penalty":0.5}`, to: dropped("generationConfig.frequencyPenalty", "messages", "responses")},
	{style: "native", members: `"generationConfig":{"presencePenalty":0.5}`, to: dropped("generationConfig.presencePenalty", "messages", "responses")},
	{style: "native", members: `"generationConfig":{"candidateCount":2}`, to: dropped("400 generationConfig.candidateCount", "chat", "messages", "responses"),
		code: "invalid_request_error"},
	{style: "native", members: `"generationConfig":{"responseLogprobs":true}`, to: dropped("400 generationConfig.responseLogprobs", "chat", "messages", "responses"),
		code: "invalid_request_error"},
	{style: "native", members: `"generationConfig":{"responseMimeType":"application/json"}`, to: dropped("400 generationConfig.responseMimeType", "messages")},
	{style: "native", members: `"tools":[{"googleSearch":{}}]`, to: everywhere("400 tools[0].googleSearch")},
	{style: "native", members: `"unknown":1`, to: dropped("unknown", "chat", "messages", "responses")},
	{style: "native", members: `"contents":[{"parts":[{"fileData":{"mimeType":"image/png","fileUri":"files/1"}}]}]`,
		to: everywhere("400 contents[0].parts[0].fileData.fileUri"), instead: true, code: "invalid_request_error"},
	{style: "native", members: `"contents":[{"parts":[{"inlineData":{"mimeType":"audio/wav","data":"AAAA"}}]}]`,
		to: dropped("400 contents[0].parts[0].inlineData.mimeType", "messages", "responses"), instead: true, code: "invalid_request_error"},
}

// TestAPIChecklistLosses sends members that not every style can say to providers of all styles: x-gateway-dropped lists
// exactly what was dropped, and what cannot be dropped is a 400 that names the field and costs nothing.
func TestAPIChecklistLosses(t *testing.T) {
	t.Parallel()
	k := &checklist{Customer: harness.StartDemo(t, "--token-interval", "0s").NewCustomer(t, "losses")}
	k.SetLimits(t, 1000)
	k.speaking(t)
	for _, l := range losses {
		t.Run(fmt.Sprintf("%s %.40s", l.style, strings.ReplaceAll(l.members, "/", " ")), func(t *testing.T) {
			for upstream, id := range k.speaks {
				l.becomes(t, k, upstream, id)
			}
		})
	}
	k.CheckLedger(t)
}

func (l loss) becomes(t *testing.T, k *checklist, upstream, id string) {
	t.Helper()
	p := harness.Styles[l.style]
	body := p.Request(id, "echo: x", l.members)
	if l.instead {
		body = p.RequestWith(id, l.members)
	}
	before, seen := k.SettledBalance(t, k.AccountID), k.CallSimulator(t, http.MethodGet, "/_control/stats", "")
	a := p.Send(t, k.Customer, body)
	got := a.Header.Get("X-Gateway-Dropped")
	param, refused := strings.CutPrefix(l.to[upstream], "400 ")
	switch {
	case refused:
		if r := p.CheckError(t, a, "invalid", cmp.Or(l.code, "unsupported_parameter"), param); !strings.Contains(r.Message, param) {
			t.Errorf("to %s: %s", upstream, r.Message)
		}
		if after := k.SettledBalance(t, k.AccountID); after != before || k.CallSimulator(t, http.MethodGet, "/_control/stats", "") != seen {
			t.Errorf("to %s: it was sent or charged, %+v", upstream, after)
		}
	case a.Status != http.StatusOK:
		t.Errorf("to %s: %d %s", upstream, a.Status, a.Body)
	case got != l.to[upstream]:
		t.Errorf("to %s: %q was dropped, not %q", upstream, got, l.to[upstream])
	}
}
