package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

const lookUpTool = `{"type":"function","function":{"name":"look_up","parameters":{"type":"object","properties":{}}}}`

var chatRequestLines = []checkLine{
	{"B31 POST v1 chat completions exists and takes application json", func(t *testing.T, k *checklist) {
		harness.DecodeCompletion(t, k.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: x"), "Content-Type", "application/json"))
		if a := k.Call(t, http.MethodGet, harness.ChatPath, ""); a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") == "" {
			t.Errorf("GET: %d %v", a.Status, a.Header)
		}
	}},
	{"B32 model is a required non-empty string", modelIsRequired},
	{"B33 messages is an array of chat messages", func(t *testing.T, k *checklist) {
		harness.DecodeCompletion(t, k.Chat(t, withMessages(`[{"role":"system","content":"Be brief."},{"role":"user","content":"echo: x"}]`)))
		requireRefusal(t, k.Customer, `{"model":"`+harness.CheapModel+`"}`, 400, "invalid_request_error", "messages")
		for _, messages := range []string{`"x"`, `{}`, `null`, `[]`, `7`} {
			requireRefusal(t, k.Customer, withMessages(messages), 400, "invalid_request_error", "messages")
		}
		requireRefusal(t, k.Customer, withMessages(`["x"]`), 400, "invalid_request_error", "messages[0]")
	}},
	{"B34 message role is a required string", messageRole},
	{"B35 message content is a required string or array", messageContent},
	{"B36 message name is optional", func(t *testing.T, k *checklist) {
		name := `"name":"` + harness.UniqueName("ann") + `"`
		harness.DecodeCompletion(t, k.Chat(t, withMessages(`[{"role":"user",`+name+`,"content":"echo: x"}]`)))
		if got := k.UpstreamBodies(t, name); got == "" {
			t.Error("the name did not reach the provider")
		}
		requireRefusal(t, k.Customer, withMessages(`[{"role":"user","name":7,"content":"x"}]`), 400, "invalid_request_error", "messages[0].name")
	}},
	{"B37 stream is an optional boolean", func(t *testing.T, k *checklist) {
		optional("stream", []string{`false`}, []string{`"true"`, `1`, `{}`})(t, k)
		if a := k.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: x", `"stream":true`)); len(harness.StreamData(t, a.Body)) < 3 {
			t.Errorf("no stream: %s", a.Body)
		}
	}},
	{"B38 temperature is an optional number", optional("temperature", []string{`0`, `0.25`, `2`}, []string{`"hot"`, `[1]`, `2.5`, `-1`})},
	{"B39 top_p is an optional number", optional("top_p", []string{`0.5`, `1`}, []string{`"x"`, `true`, `1.5`})},
	{"B40 max_tokens is an optional integer", optional("max_tokens", []string{`64`}, []string{`"x"`, `1.5`, `0`, `-1`})},
	{"B41 stop is an optional string or array", optional("stop", []string{`"\n\n"`, `["END","STOP"]`}, []string{`7`, `{}`, `true`})},
	{"B42 presence_penalty is an optional number", optional("presence_penalty", []string{`0.1`, `-2`}, []string{`"x"`, `3`})},
	{"B43 frequency_penalty is an optional number", optional("frequency_penalty", []string{`0.1`, `-2`}, []string{`"x"`, `3`})},
	{"B44 tools is an optional array that depends on the model", func(t *testing.T, k *checklist) {
		optional("tools", []string{`[` + lookUpTool + `]`}, []string{`"x"`, `{}`, `7`})(t, k)
		requireRefusal(t, k.Customer, harness.ChatRequest("meridian/atlas-nano", "x", `"tools":[`+lookUpTool+`]`), 400, "invalid_request_error", "tools")
	}},
	{"B45 tool_choice is an optional string or object that depends on the model", toolChoice},
	{"B46 user is an optional string", optional("user", []string{`"` + endUserID + `"`}, []string{`7`, `{}`})},
	{"B47 each optional field is available where the model's contract has it", fieldsFollowContracts},
}

func withMessages(messages string) string {
	return `{"model":"` + harness.CheapModel + `","messages":` + messages + `}`
}

// optional proves of a member of the request that a call may leave it out, that each right value reaches the provider
// as it is, and that each wrong one is refused by its name.
func optional(name string, takes, refuses []string) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		t.Helper()
		harness.DecodeCompletion(t, k.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: without "+name)))
		if got := k.UpstreamBodies(t, "echo: without "+name); got == "" || strings.Contains(got, `"`+name+`":`) {
			t.Errorf("without it the provider got %q", got)
		}
		for i, value := range takes {
			mark, member := fmt.Sprintf("echo: with %s %d", name, i), `"`+name+`":`+value
			harness.DecodeCompletion(t, k.Chat(t, harness.ChatRequest(harness.CheapModel, mark, member)))
			if got := k.UpstreamBodies(t, mark); !reached(got, member) {
				t.Errorf("%s did not reach the provider as it was: %s", member, got)
			}
		}
		for _, value := range refuses {
			requireRefusal(t, k.Customer, harness.ChatRequest(harness.CheapModel, "x", `"`+name+`":`+value), 400, "invalid_request_error", name)
		}
	}
}

func messageRole(t *testing.T, k *checklist) {
	toolCall := `"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	for role, messages := range map[string]string{
		"system":    `[{"role":"system","content":"role system"},{"role":"user","content":"echo: x"}]`,
		"user":      `[{"role":"user","content":"echo: role user"}]`,
		"assistant": `[{"role":"user","content":"hi"},{"role":"assistant","content":"role assistant"},{"role":"user","content":"echo: x"}]`,
		"tool": `[{"role":"user","content":"hi"},{"role":"assistant","content":null,` + toolCall +
			`},{"role":"tool","tool_call_id":"call_1","content":"role tool"}]`,
	} {
		harness.DecodeCompletion(t, k.Chat(t, withMessages(messages)))
		if got := k.UpstreamBodies(t, "role "+role); !strings.Contains(got, messages) {
			t.Errorf("a message of the role %s did not reach the provider: %s", role, got)
		}
	}
	for _, role := range []string{``, `"role":"robot",`, `"role":7,`, `"role":"",`, `"role":null,`} {
		requireRefusal(t, k.Customer, withMessages(`[{`+role+`"content":"x"}]`), 400, "invalid_request_error", "messages[0].role")
	}
}

func messageContent(t *testing.T, k *checklist) {
	for _, content := range []string{`"echo: text"`, `[{"type":"text","text":"echo: text"}]`} {
		c := harness.DecodeCompletion(t, k.Chat(t, withMessages(`[{"role":"user","content":`+content+`}]`)))
		if *c.Choices[0].Message.Content != "text" {
			t.Errorf("%s is answered with %q", content, *c.Choices[0].Message.Content)
		}
	}
	for _, role := range []string{"system", "user"} {
		for _, content := range []string{``, `,"content":7`, `,"content":{}`, `,"content":null`, `,"content":true`} {
			requireRefusal(t, k.Customer, withMessages(`[{"role":"`+role+`"`+content+`}]`), 400, "invalid_request_error", "messages[0].content")
		}
	}
}

func toolChoice(t *testing.T, k *checklist) {
	tools := `"tools":[` + lookUpTool + `]`
	for _, choice := range []string{`"required"`, `{"type":"function","function":{"name":"look_up"}}`} {
		a := k.Chat(t, harness.ChatRequest(harness.CheapModel, "what is the weather?", tools, `"tool_choice":`+choice))
		if !strings.Contains(a.Body, `"finish_reason":"tool_calls"`) || !strings.Contains(a.Body, `"look_up"`) {
			t.Errorf("%s calls no tool: %s", choice, a.Body)
		}
	}
	for _, choice := range []string{`"none"`, `"auto"`} {
		harness.DecodeCompletion(t, k.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: x", tools, `"tool_choice":`+choice)))
	}
	for _, choice := range []string{`7`, `"sometimes"`, `[]`} {
		requireRefusal(t, k.Customer, harness.ChatRequest(harness.CheapModel, "x", tools, `"tool_choice":`+choice), 400, "invalid_request_error", "tool_choice")
	}
	requireRefusal(t, k.Customer, harness.ChatRequest("meridian/atlas-nano", "x", `"tool_choice":"required"`), 400, "invalid_request_error", "tool_choice")
}

// fieldsFollowContracts asks every model for every optional field, and compares with what its entry in the list says.
func fieldsFollowContracts(t *testing.T, k *checklist) {
	values := map[string]string{
		"temperature": `0.5`, "top_p": `0.5`, "presence_penalty": `0.1`, "frequency_penalty": `0.1`, "stop": `"END"`,
		"tools": `[` + lookUpTool + `]`, "tool_choice": `"required"`, "reasoning_effort": `"low"`, "seed": `7`,
	}
	for id, supported := range listedModels(t, k.Customer) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			for name, value := range values {
				member := `"` + name + `":` + value
				if !slices.Contains(supported, name) {
					requireRefusal(t, k.Customer, harness.ChatRequest(id, "x", member), 400, "invalid_request_error", name)
					continue
				}
				if name == "tool_choice" {
					member += `,"tools":` + values["tools"]
				}
				a := k.Chat(t, harness.ChatRequest(id, "echo: x", member, `"max_tokens":256`))
				if a.Status != http.StatusOK || harness.DecodeObject(t, a.Body)["object"] != "chat.completion" {
					t.Errorf("%s is not taken: %s", name, a.Body)
				}
			}
		})
	}
}

var chatAnswerLines = []checkLine{
	{"B48 stream omitted or false gives one JSON object", func(t *testing.T, k *checklist) {
		for _, a := range []harness.Response{k.answer, k.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: x", `"stream":false`))} {
			harness.DecodeCompletion(t, a)
			if !json.Valid([]byte(a.Body)) {
				t.Errorf("more than one object: %s", a.Body)
			}
		}
	}},
	{"B49 the answer has an id", each("chat", func(t *testing.T, o map[string]any) { isText(t, o, "id") })},
	{"B50 the answer's object is chat.completion", each("chat", func(t *testing.T, o map[string]any) { is(t, o, "object", "chat.completion") })},
	{"B51 the answer's created is in Unix seconds", each("chat", isNow)},
	{"B52 the answer's model is the model that was used", func(t *testing.T, k *checklist) {
		is(t, k.whole, "model", harness.CheapModel)
		c := harness.DecodeCompletion(t, k.Chat(t, harness.ChatRequest("meridian/forge", "echo: another")))
		if r := lastModel(t, k.Customer); c.Model != "meridian/forge" || r != c.Model {
			t.Errorf("the answer names %s, the ledger %s", c.Model, r)
		}
	}},
	{"B53 choices have index, message and finish_reason", each("chat", func(t *testing.T, o map[string]any) {
		choices, _ := o["choices"].([]any)
		if len(choices) != 1 {
			t.Fatalf("%d choices", len(choices))
		}
		choice, _ := choices[0].(map[string]any)
		is(t, choice, "index", json.Number("0"))
		is(t, choice, "finish_reason", "stop")
		message, _ := choice["message"].(map[string]any)
		is(t, message, "role", "assistant")
		is(t, message, "content", "one answer")
	})},
	{"B54 usage has three integers", each("chat", func(t *testing.T, o map[string]any) {
		usage, _ := o["usage"].(map[string]any)
		prompt, completion := harness.IntMember(t, usage, "prompt_tokens"), harness.IntMember(t, usage, "completion_tokens")
		if total := harness.IntMember(t, usage, "total_tokens"); prompt == 0 || completion == 0 || total != prompt+completion {
			t.Errorf("usage is %v", usage)
		}
	})},
	{"B55 usage has a cost as a number", func(t *testing.T, k *checklist) {
		usage, _ := k.whole["usage"].(map[string]any)
		cost, isNumber := usage["cost"].(json.Number)
		if r := k.UsageRecord(t, k.answer.Header.Get("X-Request-Id")); !isNumber || harness.Nanos(t, cost.String()) != r.Cost || r.Cost == 0 {
			t.Errorf("the cost is %v, the ledger has %+v", usage["cost"], r)
		}
	}},
	{"B56 stream true gives text event-stream", func(t *testing.T, k *checklist) {
		if got, _, _ := strings.Cut(k.stream.Header.Get("Content-Type"), ";"); k.stream.Status != http.StatusOK || got != "text/event-stream" {
			t.Errorf("status %d, content type %q", k.stream.Status, got)
		}
	}},
	{"B57 an event is one data line and one blank line", func(t *testing.T, k *checklist) {
		if !regexp.MustCompile(`\A(?:data: [^\r\n]+\n\n)+: \{"cost":[0-9.]+\}\n\ndata: \[DONE\]\n\n\z`).MatchString(k.stream.Body) {
			t.Errorf("the stream is %q", k.stream.Body)
		}
	}},
	{"B58 a chunk has id, object, created, model and choices", func(t *testing.T, k *checklist) {
		for _, c := range k.pieces(t) {
			isText(t, c.chunk, "id")
			is(t, c.chunk, "id", k.pieces(t)[0].chunk["id"])
			is(t, c.chunk, "object", "chat.completion.chunk")
			isNow(t, c.chunk)
			is(t, c.chunk, "model", harness.CheapModel)
		}
	}},
	{"B59 a chunk's choice has index, delta and finish_reason", func(t *testing.T, k *checklist) {
		for _, c := range k.pieces(t) {
			is(t, c.choice, "index", json.Number("0"))
			if _, told := c.choice["finish_reason"]; !told || c.delta == nil {
				t.Errorf("the choice is %v", c.choice)
			}
			for name, value := range c.delta {
				if _, text := value.(string); !text || name != "role" && name != "content" {
					t.Errorf("the delta is %v", c.delta)
				}
			}
		}
	}},
	{"B60 finish_reason is null until the last content chunk", func(t *testing.T, k *checklist) {
		all := k.pieces(t)
		for _, c := range all[:len(all)-1] {
			is(t, c.choice, "finish_reason", nil)
		}
		isText(t, all[len(all)-1].choice, "finish_reason")
	}},
	{"B61 the first chunk has the role assistant and empty content", func(t *testing.T, k *checklist) {
		first := k.pieces(t)[0].delta
		is(t, first, "role", "assistant")
		is(t, first, "content", "")
	}},
	{"B62 later chunks carry pieces of the content", func(t *testing.T, k *checklist) {
		all := k.pieces(t)
		var text strings.Builder
		for _, c := range all[1 : len(all)-1] {
			isText(t, c.delta, "content")
			fmt.Fprint(&text, c.delta["content"])
		}
		if got := strings.Fields(text.String()); len(all) < 5 || len(got) != 20 || got[0] != "1" || got[19] != "20" {
			t.Errorf("%d chunks make %q", len(all), text.String())
		}
	}},
	{"B63 the last content chunk has an empty delta and a finish_reason", func(t *testing.T, k *checklist) {
		all := k.pieces(t)
		last := all[len(all)-1]
		is(t, last.choice, "finish_reason", "stop")
		if last.delta == nil || len(last.delta) != 0 {
			t.Errorf("the last delta is %v", last.delta)
		}
	}},
	{"B64 the stream ends with data DONE", func(t *testing.T, k *checklist) {
		if !strings.HasSuffix(k.stream.Body, "\n\ndata: [DONE]\n\n") || strings.Count(k.stream.Body, "[DONE]") != 1 {
			t.Errorf("the stream is %q", k.stream.Body)
		}
	}},
}

// piece is a chunk of the stream, its one choice and that one's delta.
type piece struct{ chunk, choice, delta map[string]any }

// pieces are the chunks of the stream without its end marker.
func (k *checklist) pieces(t *testing.T) []piece {
	t.Helper()
	var all []piece
	for _, text := range k.chunks[:len(k.chunks)-1] {
		p := piece{chunk: harness.DecodeObject(t, text)}
		choices, _ := p.chunk["choices"].([]any)
		if len(choices) != 1 {
			t.Fatalf("%d choices in %s", len(choices), text)
		}
		p.choice, _ = choices[0].(map[string]any)
		p.delta, _ = p.choice["delta"].(map[string]any)
		all = append(all, p)
	}
	if len(all) < 3 {
		t.Fatalf("%d chunks", len(all))
	}
	return all
}

func is(t *testing.T, o map[string]any, name string, want any) {
	t.Helper()
	if got, told := o[name]; !told || got != want {
		t.Errorf("%s is %#v, not %#v, in %v", name, got, want, o)
	}
}

func isText(t *testing.T, o map[string]any, name string) {
	t.Helper()
	if got, _ := o[name].(string); got == "" {
		t.Errorf("%s is no text in %v", name, o)
	}
}

func isNow(t *testing.T, o map[string]any) {
	t.Helper()
	if age := time.Now().Unix() - harness.IntMember(t, o, "created"); age < 0 || age > 600 {
		t.Errorf("created %d seconds ago: %v", age, o)
	}
}

// lastModel is the model of the customer's latest usage record.
func lastModel(t *testing.T, c harness.Customer) (id string) {
	t.Helper()
	err := c.DB(t).Get(&id, `select model from usage_records where account_id = $1 and request_id <> $2 order by started_at desc limit 1`,
		c.AccountID, c.WaitForLedger(t))
	if err != nil {
		t.Fatal(err)
	}
	return id
}
