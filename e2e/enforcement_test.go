package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// breach is a request that the contract refuses: the members that are sent with a right request, or instead of it, and
// the field that the error names, as the client wrote it.
type breach struct {
	name    string
	members string
	param   string
	says    string
	// instead is true when the members replace the whole conversation.
	instead bool
}

var breaches = map[string][]breach{
	"chat": {
		{name: "wrong type", members: `"temperature":"hot"`, param: "temperature", says: "number"},
		{name: "out of range", members: `"top_p":1.5`, param: "top_p", says: "0 to 1"},
		{name: "unknown word", members: `"reasoning_effort":"enormous"`, param: "reasoning_effort"},
		{name: "twice", members: `"user":"a","user":"b"`, param: "user", says: "once"},
		{name: "another case", members: `"Temperature":0.5`, param: "Temperature", says: "temperature"},
		{name: "nested", members: `"tools":[` + lookUpTool + `,{"type":"function","function":{"name":7}}]`, param: "tools[1].function.name"},
		{name: "nested twice", members: `"stream_options":{"include_usage":true,"include_usage":false}`, param: "stream_options.include_usage"},
		{name: "nested case", members: `"messages":[{"role":"user","Content":"x"}]`, param: "messages[0].Content", instead: true},
	},
	"messages": {
		{name: "wrong type", members: `"max_tokens":"64"`, param: "max_tokens", says: "integer"},
		{name: "out of range", members: `"temperature":1.5`, param: "temperature", says: "0 to 1"},
		{name: "beyond the model", members: `"max_tokens":64001`, param: "max_tokens", says: "64000"},
		{name: "unknown word", members: `"service_tier":"gold"`, param: "service_tier", says: "standard_only"},
		{name: "twice", members: `"max_tokens":1,"max_tokens":64000`, param: "max_tokens", says: "once"},
		{name: "another case", members: `"Max_Tokens":5`, param: "Max_Tokens", says: "max_tokens"},
		{name: "nested", members: `"messages":[{"role":"user","content":[{"type":"text","text":7}]}]`, param: "messages[0].content[0].text", instead: true},
		{name: "nested word", members: `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"tape"}}]}]`,
			param: "messages[0].content[0].source.type", instead: true},
		{name: "nested twice", members: `"metadata":{"user_id":"a","user_id":"b"}`, param: "metadata.user_id"},
		{name: "nested case", members: `"tools":[{"name":"f","Input_Schema":{}}]`, param: "tools[0].Input_Schema"},
		{name: "not for this model", members: `"output_config":{"format":{"type":"json_schema","schema":{}}}`, param: "output_config.format", says: "not supported"},
	},
	"responses": {
		{name: "wrong type", members: `"instructions":7`, param: "instructions", says: "string"},
		{name: "out of range", members: `"temperature":2.5`, param: "temperature", says: "0 to 2"},
		{name: "below the bound", members: `"max_output_tokens":15`, param: "max_output_tokens", says: "16"},
		{name: "unknown word", members: `"truncation":"never"`, param: "truncation", says: "disabled"},
		{name: "twice", members: `"max_output_tokens":16,"max_output_tokens":32000`, param: "max_output_tokens", says: "once"},
		{name: "another case", members: `"Instructions":"x"`, param: "Instructions", says: "instructions"},
		{name: "nested", members: `"input":[{"role":"user","content":[{"type":"input_text","text":7}]}]`, param: "input[0].content[0].text", instead: true},
		{name: "nested word", members: `"text":{"verbosity":"endless"}`, param: "text.verbosity"},
		{name: "nested twice", members: `"text":{"verbosity":"low","verbosity":"high"}`, param: "text.verbosity"},
		{name: "nested case", members: `"text":{"Verbosity":"low"}`, param: "text.Verbosity"},
		{name: "state", members: `"previous_response_id":"resp_1"`, param: "previous_response_id"},
		{name: "state of another kind", members: `"background":true`, param: "background"},
		{name: "not for this model", members: `"reasoning":{"effort":"high"}`, param: "reasoning.effort", says: "not supported"},
	},
	"native": {
		{name: "wrong type", members: `"generationConfig":{"topP":"x"}`, param: "generationConfig.topP", says: "number"},
		{name: "out of range", members: `"generation_config":{"top_p":1.5}`, param: "generation_config.top_p", says: "0 to 1"},
		{name: "beyond the model", members: `"generationConfig":{"max_output_tokens":65537}`, param: "generationConfig.max_output_tokens", says: "65536"},
		{name: "unknown word", members: `"toolConfig":{"functionCallingConfig":{"mode":"NEVER"}}`, param: "toolConfig.functionCallingConfig.mode"},
		{name: "twice", members: `"labels":{},"labels":{}`, param: "labels", says: "once"},
		{name: "two spellings", members: `"system_instruction":null,"systemInstruction":null`, param: "system_instruction", says: "spelling"},
		{name: "another case", members: `"GenerationConfig":{}`, param: "GenerationConfig", says: "generationConfig"},
		{name: "nested", members: `"contents":[{"parts":[{"inline_data":{"mime_type":7,"data":""}}]}]`,
			param: "contents[0].parts[0].inline_data.mime_type", instead: true},
		{name: "nested twice", members: `"generationConfig":{"seed":1,"seed":2}`, param: "generationConfig.seed"},
		{name: "nested case", members: `"generationConfig":{"Seed":1}`, param: "generationConfig.Seed"},
		{name: "state", members: `"cachedContent":"cachedContents/1"`, param: "cachedContent", says: "does not offer for any model"},
		{name: "not for this model", members: `"generationConfig":{"candidateCount":2}`, param: "generationConfig.candidateCount", says: "not supported"},
	},
}

// TestAPIChecklistContractsAreEnforced refuses every breach of a contract by the name of the field as the client wrote
// it, in one piece and as a stream, before anything is held, charged or sent upstream.
func TestAPIChecklistContractsAreEnforced(t *testing.T) {
	t.Parallel()
	for _, p := range allProtocols() {
		t.Run(p.style, func(t *testing.T) {
			t.Parallel()
			c := running(t).newCustomer(t, "breaches")
			c.setLimits(t, 1000)
			c.setStrict(t)
			before := c.balanceOf(t, c.accountID)
			mark := once("never to be seen upstream")
			for _, b := range breaches[p.style] {
				t.Run(b.name, func(t *testing.T) { b.isRefused(t, p, c, mark) })
			}
			running(t).applied(t)
			var rows int
			if err := c.db(t).Get(&rows, `select (select count(*) from leases where credit_account_id = $1) +
				(select count(*) from usage_records where account_id = $1)`, c.accountID); err != nil || rows != 0 {
				t.Errorf("%d rows in the books, %v", rows, err)
			}
			if got := c.received(t, mark); got != "" {
				t.Errorf("a provider got %s", got)
			}
			if after := c.balanceOf(t, c.accountID); after != before {
				t.Errorf("the balance was %+v and is %+v", before, after)
			}
		})
	}
}

func (b breach) isRefused(t *testing.T, p protocol, c customer, mark string) {
	t.Helper()
	unknown := `"unknown_member":"` + mark + `"`
	bodies := []string{p.ask(p.model, "x", b.members, unknown), p.ask(p.model, "x", unknown, b.members, `"stream":true`)}
	if b.instead {
		bodies = []string{p.with(p.model, b.members, unknown), p.with(p.model, `"stream":true`, b.members, unknown)}
	}
	for _, body := range bodies {
		r := p.fails(t, p.send(t, c, body), "invalid", p.invalid(), b.param)
		if !strings.Contains(r.message, b.says) || !strings.Contains(r.message, b.param) {
			t.Errorf("the message does not say %q of %s: %s", b.says, b.param, r.message)
		}
	}
	if p.count != "" {
		p.fails(t, c.call(t, http.MethodPost, p.count, bodies[0]), "invalid", p.invalid(), b.param)
	}
}

// TestAPIChecklistNoCredit refuses calls of an account without credit with 402 in the layout of every style, and counts tokens
// all the same, since that costs nothing.
func TestAPIChecklistNoCredit(t *testing.T) {
	t.Parallel()
	c := running(t).newPauper(t, "no-credit")
	mark := once("echo: unpaid")
	for _, p := range allProtocols() {
		for _, id := range []string{p.model, p.other} {
			for _, members := range [][]string{nil, {`"stream":true`}} {
				a := p.send(t, c, p.ask(id, mark, members...))
				r := p.fails(t, a, "unfunded", "insufficient_quota", "")
				if a.header.Get("X-Should-Retry") != "false" || !strings.Contains(r.message, "/console/billing") {
					t.Errorf("%s: %v %s", p.style, a.header, r.message)
				}
			}
		}
		if p.count != "" {
			if a := c.call(t, http.MethodPost, p.count, p.ask(p.model, "x")); a.status != http.StatusOK {
				t.Errorf("%s: %d %s", p.count, a.status, a.body)
			}
		}
	}
	if got := c.received(t, mark); got != "" {
		t.Errorf("an unpaid call reached a provider: %s", got)
	}
}
