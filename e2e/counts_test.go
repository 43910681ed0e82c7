package e2e

import (
	"net/http"
	"strings"
	"testing"
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
	k := &checklist{customer: start(t, "--token-interval", "0s").newCustomer(t, "counts")}
	k.setLimits(t, 1000)
	k.speaking(t)
	for _, p := range newProtocols() {
		for upstream, id := range k.speaks {
			t.Run(p.style+" at "+upstream, func(t *testing.T) {
				for _, body := range []string{
					p.ask(id, "echo: a text of some words"), p.with(id, longQuestions[p.style]), p.ask(id, "echo: x", `"stream":true`, `"unknown":{"a":1}`),
				} {
					before := k.balanceOf(t, k.accountID)
					a := k.call(t, http.MethodPost, p.count, body)
					if after := k.balanceOf(t, k.accountID); after != before {
						t.Errorf("it cost something: %+v, then %+v", before, after)
					}
					k.isCount(t, p, a, upstream, body)
				}
				k.failsToCount(t, p, upstream, id)
			})
		}
	}
	k.applied(t)
	var counted int
	if err := k.db(t).Get(&counted, `select count(*) from usage_records where account_id = $1 and cost_nanos = 0`, k.accountID); err != nil || counted != 0 {
		t.Errorf("%d calls of no cost are recorded, %v", counted, err)
	}
	k.books(t)
}

// isCount compares a count with the usage of the real call.
func (k *checklist) isCount(t *testing.T, p protocol, a answer, upstream, body string) {
	t.Helper()
	form := countForms[p.style]
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s\nof %s", a.status, a.header, a.body, body)
	}
	o := object(t, a.body)
	tokens := tokensAt(t, o, form.member)
	if got := written(t, o); got != strings.Replace(form.answer, "N", number(o[form.member]).String(), 1) {
		t.Errorf("the answer is %s", got)
	}
	whole := strings.Replace(body, `"stream":true`, `"stream":false`, 1)
	s, _ := p.answers(t, k.customer, whole)
	estimated := a.header.Get("X-Gateway-Estimated") == "true"
	if estimated != (upstream == "chat") {
		t.Errorf("an estimate: %v", estimated)
	}
	if !estimated && tokens != s.input || estimated && (tokens < s.input/4 || tokens > s.input*8+64) {
		t.Errorf("%d tokens are counted and %d used (an estimate: %v)\nof %s", tokens, s.input, estimated, body)
	}
}

// failsToCount lets the upstream fail. The client gets an error in the layout of its route, unless the gateway counts by itself.
func (k *checklist) failsToCount(t *testing.T, p protocol, upstream, id string) {
	t.Helper()
	a := k.call(t, http.MethodPost, p.count, p.ask(id, "simulate: status=422\nx"))
	if upstream == "chat" {
		if a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.body)
		}
		return
	}
	p.fails(t, a, "refused", "", "")
	p.fails(t, k.call(t, http.MethodPost, p.count, p.with(id, `"`+p.turns+`":7`)), "invalid", "", p.turns)
}
