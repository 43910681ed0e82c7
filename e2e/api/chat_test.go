package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"umg/e2e/harness"
)

func TestAPIChatCompletionJSON(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	a := g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: straight through"))
	c := harness.DecodeCompletion(t, a)
	first := c.Choices[0]
	for name, ok := range map[string]bool{
		"id is a string":                   c.ID != "",
		"object is chat.completion":        c.Object == "chat.completion",
		"created is Unix seconds":          c.Created > 1_700_000_000 && c.Created < 10_000_000_000,
		"model is the model that served":   c.Model == harness.CheapModel,
		"index is an integer":              first.Index != nil && *first.Index == 0,
		"role is assistant":                first.Message.Role == "assistant",
		"content is the upstream's":        *first.Message.Content == "straight through",
		"finish_reason is stop":            first.FinishReason != nil && *first.FinishReason == "stop",
		"usage counts add up":              c.Usage != nil && c.Usage.Prompt > 0 && c.Usage.Total == c.Usage.Prompt+c.Usage.Completion,
		"usage has a cost":                 c.Usage != nil && c.Usage.Cost != "" && c.Usage.Cost != "0",
		"x-request-id is given":            a.Header.Get("X-Request-Id") != "",
		"request-id is the same":           a.Header.Get("Request-Id") == a.Header.Get("X-Request-Id"),
		"x-generation-id is the same":      a.Header.Get("X-Generation-Id") == a.Header.Get("X-Request-Id"),
		"the answer is not cached":         a.Header.Get("Cache-Control") == "no-store",
		"the content length is given":      a.Header.Get("Content-Length") == fmt.Sprint(len(a.Body)),
		"the limits are told":              a.Header.Get("X-Ratelimit-Limit-Requests") != "",
		"the provider's name stays inside": !strings.Contains(a.Body, "sim-"),
	} {
		if !ok {
			t.Errorf("not so: %s\n%s", name, a.Body)
		}
	}
}

func TestAPIChatCompletionStream(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	a := g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "count to 20", `"stream":true`))
	if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Fatalf("content type %q: %s", got, a.Body)
	}
	all := harness.StreamData(t, a.Body)
	if last := all[len(all)-1]; last != "[DONE]" {
		t.Fatalf("the stream ends with %q", last)
	}
	var text strings.Builder
	ids := map[string]bool{}
	for i, data := range all[:len(all)-1] {
		var c harness.ChatCompletion
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		ids[c.ID] = true
		if c.Object != "chat.completion.chunk" || c.Created == 0 || c.Model != harness.CheapModel || len(c.Choices) != 1 {
			t.Fatalf("chunk %d is not a chunk of this model: %s", i, data)
		}
		if c.Usage != nil || strings.Contains(data, `"usage"`) {
			t.Errorf("chunk %d has usage that the request did not ask for: %s", i, data)
		}
		one := c.Choices[0]
		last := i == len(all)-2
		switch {
		case one.Delta == nil || one.Index == nil:
			t.Fatalf("chunk %d lacks delta or index: %s", i, data)
		case i == 0 && (one.Delta.Role != "assistant" || one.Delta.Content == nil || *one.Delta.Content != ""):
			t.Errorf("the first chunk is not role assistant with empty content: %s", data)
		case last && (one.FinishReason == nil || one.Delta.Content != nil || one.Delta.Role != ""):
			t.Errorf("the last chunk is not an empty delta with a finish reason: %s", data)
		case !last && one.FinishReason != nil:
			t.Errorf("chunk %d finishes too early: %s", i, data)
		case !last && !strings.Contains(data, `"finish_reason":null`):
			t.Errorf("chunk %d has no finish_reason null: %s", i, data)
		}
		if one.Delta.Content != nil {
			text.WriteString(*one.Delta.Content)
		}
	}
	if !strings.Contains(text.String(), "18 19 20") {
		t.Errorf("the pieces do not add up: %q", text.String())
	}
	if len(ids) != 1 {
		t.Errorf("chunks have %d ids", len(ids))
	}
}

func TestAPIChatStreamUsageOnlyOnRequest(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	a := g.Call(t, "POST", "/v1/chat/completions",
		harness.ChatRequest(harness.CheapModel, "echo: measured", `"stream":true`, `"stream_options":{"include_usage":true}`))
	all := harness.StreamData(t, a.Body)
	var withUsage []harness.ChatCompletion
	for _, data := range all[:len(all)-1] {
		var c harness.ChatCompletion
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatal(err)
		}
		if c.Usage != nil {
			withUsage = append(withUsage, c)
		}
	}
	if len(withUsage) != 1 || len(withUsage[0].Choices) != 0 || withUsage[0].Usage.Cost == "" {
		t.Fatalf("want exactly one chunk of empty choices with usage and cost: %s", a.Body)
	}
	plain := harness.DecodeCompletion(t, g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: measured")))
	if *plain.Usage != *withUsage[0].Usage {
		t.Errorf("the same call costs %+v as a body and %+v as a stream", *plain.Usage, *withUsage[0].Usage)
	}
}

// TestAPIChatRequestMembers sends each optional member of service.md, and what newer clients add, and looks at what
// reached the upstream: everything but the model's name and the id of the end user, untouched.
func TestAPIChatRequestMembers(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	for name, member := range map[string]string{
		"temperature":          `"temperature":0.25`,
		"top_p":                `"top_p":0.5`,
		"max_tokens":           `"max_tokens":64`,
		"stop as a string":     `"stop":"\n\n"`,
		"stop as an array":     `"stop":["END","STOP"]`,
		"presence_penalty":     `"presence_penalty":0.1`,
		"frequency_penalty":    `"frequency_penalty":-0.1`,
		"tools":                `"tools":[{"type":"function","function":{"name":"look_up","parameters":{"type":"object","properties":{}}}}]`,
		"user":                 `"user":"` + endUserID + `"`,
		"stream false":         `"stream":false`,
		"an unknown member":    `"x_client_extra":{"nested":[1,2,{"deep":"ünïcode 🎈"}]}`,
		"numbers to the digit": `"metadata":{"precise":"1.000000000000000000001"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := "echo: member " + name
			a := g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, mark, member))
			harness.DecodeCompletion(t, a)
			if got := g.UpstreamBodies(t, mark); !reached(got, member) {
				t.Errorf("%s did not reach the upstream as it was: %s", member, got)
			}
		})
	}
	t.Run("roles, names and content parts", func(t *testing.T) {
		t.Parallel()
		body := `{"model":"` + harness.CheapModel + `","messages":[
			{"role":"system","content":"Be brief."},
			{"role":"user","name":"ann","content":[{"type":"text","text":"echo: roles"}]},
			{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"call_1","content":"42"},
			{"role":"user","content":"echo: after the tool"}]}`
		c := harness.DecodeCompletion(t, g.Call(t, "POST", "/v1/chat/completions", body))
		if !strings.Contains(*c.Choices[0].Message.Content, "42") {
			t.Errorf("got %q", *c.Choices[0].Message.Content)
		}
	})
	t.Run("tool choice and tool calls", func(t *testing.T) {
		t.Parallel()
		for _, toolChoice := range []string{`"required"`, `{"type":"function","function":{"name":"look_up"}}`} {
			a := g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "what is the weather?", `"tool_choice":`+toolChoice,
				`"tools":[{"type":"function","function":{"name":"look_up","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`))
			var c harness.ChatCompletion
			if err := json.Unmarshal([]byte(a.Body), &c); err != nil || len(c.Choices) == 0 || c.Choices[0].Message == nil {
				t.Fatalf("%v: %s", err, a.Body)
			}
			if len(c.Choices[0].Message.ToolCalls) == 0 || *c.Choices[0].FinishReason != "tool_calls" {
				t.Errorf("no tool call for tool_choice %s: %s", toolChoice, a.Body)
			}
		}
	})
}
