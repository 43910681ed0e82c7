package api

import (
	"net/http"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// countForms are how the counting routes of the styles answer: one member with the number, and what else there is.
var countForms = map[string]struct{ member, answer string }{
	"messages":  {"input_tokens", `{"input_tokens":N}`},
	"responses": {"input_tokens", `{"input_tokens":N,"object":"response.input_tokens"}`},
	"native":    {"totalTokens", `{"totalTokens":N}`},
}

// longQuestions are requests with more to count than a text: instructions, an earlier turn, tools and their results.
var longQuestions = map[string]string{
	"messages": `"system":"be brief and kind","messages":[{"role":"user","content":"what is the weather in Rome?"},
		{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"look_up","input":{"city":"Rome"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"sunny, 21 degrees"}]}],` + messagesTools + `,"max_tokens":300`,
	"responses": `"instructions":"be brief and kind","input":[{"role":"user","content":"what is the weather in Rome?"},
		{"type":"function_call","call_id":"call_1","name":"look_up","arguments":"{\"city\":\"Rome\"}"},
		{"type":"function_call_output","call_id":"call_1","output":"sunny, 21 degrees"}],` + responsesTools + `,"max_output_tokens":300,"store":false`,
	"native": `"system_instruction":{"parts":[{"text":"be brief and kind"}]},"contents":[{"role":"user","parts":[{"text":"what is the weather in Rome?"}]},
		{"role":"model","parts":[{"functionCall":{"id":"call_1","name":"look_up","args":{"city":"Rome"}}}]},
		{"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"look_up","response":{"output":"sunny, 21 degrees"}}}]}],` + nativeTools +
		`,"generationConfig":{"maxOutputTokens":300}`,
}

// TestAPIChecklistCounts counts the tokens of requests in every style that has a route for it: the number is that of the
// usage of the real call where the upstream counts, and an estimate that says so where it does not. It costs nothing.
func TestAPIChecklistCounts(t *testing.T) {
	t.Parallel()
	k := &checklist{Customer: harness.StartDemo(t, "--token-interval", "0s").NewCustomer(t, "counts")}
	k.SetLimits(t, 1000)
	k.speaking(t)
	for _, p := range harness.StylesWithStatuses() {
		for upstream, id := range k.speaks {
			t.Run(p.Name+" at "+upstream, func(t *testing.T) {
				for _, body := range []string{
					p.Request(id, "echo: a text of some words"), p.RequestWith(id, longQuestions[p.Name]), p.Request(id, "echo: x", `"stream":true`, `"unknown":{"a":1}`),
				} {
					before := k.SettledBalance(t, k.AccountID)
					a := k.Call(t, http.MethodPost, p.CountPath, body)
					if after := k.SettledBalance(t, k.AccountID); after != before {
						t.Errorf("it cost something: %+v, then %+v", before, after)
					}
					k.isCount(t, p, a, upstream, body)
				}
				k.failsToCount(t, p, upstream, id)
			})
		}
	}
	k.WaitForLedger(t)
	var counted int
	if err := k.DB(t).Get(&counted, `select count(*) from usage_records where account_id = $1 and cost_nanos = 0`, k.AccountID); err != nil || counted != 0 {
		t.Errorf("%d calls of no cost are recorded, %v", counted, err)
	}
	k.CheckLedger(t)
}

// isCount compares a count with the usage of the real call.
func (k *checklist) isCount(t *testing.T, p harness.Style, a harness.Response, upstream, body string) {
	t.Helper()
	form := countForms[p.Name]
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s\nof %s", a.Status, a.Header, a.Body, body)
	}
	o := harness.DecodeObject(t, a.Body)
	tokens := harness.TokensMember(t, o, form.member)
	if got := harness.EncodeJSON(t, o); got != strings.Replace(form.answer, "N", harness.Number(o[form.member]).String(), 1) {
		t.Errorf("the answer is %s", got)
	}
	whole := strings.Replace(body, `"stream":true`, `"stream":false`, 1)
	s, _ := p.Complete(t, k.Customer, whole)
	estimated := a.Header.Get("X-Gateway-Estimated") == "true"
	if estimated != (upstream == "chat") {
		t.Errorf("an estimate: %v", estimated)
	}
	if !estimated && tokens != s.Input || estimated && (tokens < s.Input/4 || tokens > s.Input*8+64) {
		t.Errorf("%d tokens are counted and %d used (an estimate: %v)\nof %s", tokens, s.Input, estimated, body)
	}
}

// failsToCount lets the upstream fail. The client gets an error in the layout of its route, unless the gateway counts by itself.
func (k *checklist) failsToCount(t *testing.T, p harness.Style, upstream, id string) {
	t.Helper()
	a := k.Call(t, http.MethodPost, p.CountPath, p.Request(id, "simulate: status=422\nx"))
	if upstream == "chat" {
		if a.Status != http.StatusOK {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		return
	}
	p.CheckError(t, a, "refused", "", "")
	p.CheckError(t, k.Call(t, http.MethodPost, p.CountPath, p.RequestWith(id, `"`+p.MessagesMember+`":7`)), "invalid", "", p.MessagesMember)
}
