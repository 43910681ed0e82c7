package api

import (
	"net/http"
	"strings"
	"testing"

	"umg/e2e/harness"
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
	for _, p := range harness.AllStyles() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			c := harness.SharedDemo(t).NewCustomer(t, "breaches")
			c.SetLimits(t, 1000)
			c.SetStrict(t)
			before := c.SettledBalance(t, c.AccountID)
			mark := harness.UniqueName("never to be seen upstream")
			for _, b := range breaches[p.Name] {
				t.Run(b.name, func(t *testing.T) { b.isRefused(t, p, c, mark) })
			}
			harness.SharedDemo(t).WaitForLedger(t)
			var rows int
			if err := c.DB(t).Get(&rows, `select (select count(*) from leases where credit_account_id = $1) +
				(select count(*) from usage_records where account_id = $1)`, c.AccountID); err != nil || rows != 0 {
				t.Errorf("%d rows in the books, %v", rows, err)
			}
			if got := c.UpstreamBodies(t, mark); got != "" {
				t.Errorf("a provider got %s", got)
			}
			if after := c.SettledBalance(t, c.AccountID); after != before {
				t.Errorf("the balance was %+v and is %+v", before, after)
			}
		})
	}
}

func (b breach) isRefused(t *testing.T, p harness.Style, c harness.Customer, mark string) {
	t.Helper()
	unknown := `"unknown_member":"` + mark + `"`
	bodies := []string{p.Request(p.Model, "x", b.members, unknown), p.Request(p.Model, "x", unknown, b.members, `"stream":true`)}
	if b.instead {
		bodies = []string{p.RequestWith(p.Model, b.members, unknown), p.RequestWith(p.Model, `"stream":true`, b.members, unknown)}
	}
	for _, body := range bodies {
		r := p.CheckError(t, p.Send(t, c, body), "invalid", p.InvalidCode(), b.param)
		if !strings.Contains(r.Message, b.says) || !strings.Contains(r.Message, b.param) {
			t.Errorf("the message does not say %q of %s: %s", b.says, b.param, r.Message)
		}
	}
	if p.CountPath != "" {
		p.CheckError(t, c.Call(t, http.MethodPost, p.CountPath, bodies[0]), "invalid", p.InvalidCode(), b.param)
	}
}

// TestAPIChecklistNoCredit refuses calls of an account without credit with 402 in the layout of every style, and counts tokens
// all the same, since that costs nothing.
func TestAPIChecklistNoCredit(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomerWithoutCredit(t, "no-credit")
	mark := harness.UniqueName("echo: unpaid")
	for _, p := range harness.AllStyles() {
		for _, id := range []string{p.Model, p.TranslatedModel} {
			for _, members := range [][]string{nil, {`"stream":true`}} {
				a := p.Send(t, c, p.Request(id, mark, members...))
				r := p.CheckError(t, a, "unfunded", "insufficient_quota", "")
				if a.Header.Get("X-Should-Retry") != "false" || !strings.Contains(r.Message, "/console/billing") {
					t.Errorf("%s: %v %s", p.Name, a.Header, r.Message)
				}
			}
		}
		if p.CountPath != "" {
			if a := c.Call(t, http.MethodPost, p.CountPath, p.Request(p.Model, "x")); a.Status != http.StatusOK {
				t.Errorf("%s: %d %s", p.CountPath, a.Status, a.Body)
			}
		}
	}
	if got := c.UpstreamBodies(t, mark); got != "" {
		t.Errorf("an unpaid call reached a provider: %s", got)
	}
}
