package protocols

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// wire is one of the four styles as a client speaks it: how it asks, and how it reads an answer and a stream. The
// tests read and write the wires themselves, so that no mistake of the product hides by being made twice.
type wire struct {
	style  string
	path   string
	ask    func(q *question) any
	answer func(m *matrix, t *testing.T, body string) reply
	stream func(m *matrix, t *testing.T, body string) reply
	// stops is the number of stop sequences that a request may have.
	stops int
	// tells is true when the answer names the stop sequence that was met.
	tells bool
}

var wires = []*wire{
	{style: "chat", path: "/v1/chat/completions", ask: chatQuestion, answer: chatReply, stream: chatStreamed, stops: 4},
	{style: "messages", path: "/v1/messages", ask: messagesQuestion, answer: messagesReply, stream: messagesStreamed, stops: 64, tells: true},
	{style: "responses", path: "/v1/responses", ask: responsesQuestion, answer: responsesReply, stream: responsesStreamed},
	{style: "native", path: "/vendorc/native", ask: nativeQuestion, answer: nativeReply, stream: nativeStreamed, stops: 5},
}

// question is a call before a wire gives it its form.
type question struct {
	model  string
	system string
	turns  []turn
	tools  bool
	thinks bool
	schema string
	limit  int
	stops  []string
	// samples is true when the request has temperature and the style's other sampling parameters.
	samples bool
	stream  bool
}

// turn is what the user says, with an image or the results of tools; or what the model said before.
type turn struct {
	text string
	// image is a data URL, or the address of an image.
	image   string
	results []result
	said    *reply
}

type result struct{ id, name, text string }

// part is a piece of an answer, in its order: a thought, a text or a call. Its signature stands where the wire has it.
type part struct {
	kind      string
	text      string
	signature string
	id, name  string
	arguments string
}

// reply is an answer as a client understands it.
type reply struct {
	parts []part
	// finish is end, stop, length, calls or filter.
	finish string
	// stop is the stop sequence that was met, where the style reports it.
	stop   string
	tokens tokens
	cost   string
	model  string
}

// tokens are the usage of a call: all input, of it read from and written to the cache; all output, of it thoughts.
type tokens struct{ in, read, written, out, thought int64 }

func (r *reply) text() string { return r.join("text") }

func (r *reply) thoughts() string { return r.join("thought") }

func (r *reply) join(kind string) string {
	var b strings.Builder
	for _, p := range r.parts {
		if p.kind == kind {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

func (r *reply) calls() []part {
	var list []part
	for _, p := range r.parts {
		if p.kind == "call" {
			list = append(list, p)
		}
	}
	return list
}

func (r *reply) signatures() []string {
	var list []string
	for _, p := range r.parts {
		if p.signature != "" {
			list = append(list, p.signature)
		}
	}
	return list
}

// body is the request as JSON, not a byte of what the test wrote changed.
func (q *question) body(w *wire) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(w.ask(q)); err != nil {
		// The test made the question itself, so it always has a JSON form.
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type members = map[string]any

func exactly(text string) json.RawMessage { return json.RawMessage(text) }

const (
	weatherSchema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city","days"]}`
	clockSchema   = `{"type":"object","properties":{}}`
)

// toolbox are the two tools of every question that has some.
var toolbox = []struct{ name, description, schema string }{
	{"get_weather", "The weather of a city", weatherSchema},
	{"get_time", "The time", clockSchema},
}

func tooled(form func(name, description string, schema json.RawMessage) any) []any {
	list := make([]any, 0, len(toolbox))
	for _, tool := range toolbox {
		list = append(list, form(tool.name, tool.description, exactly(tool.schema)))
	}
	return list
}

func chatQuestion(q *question) any {
	var turns []any
	if q.system != "" {
		turns = append(turns, members{"role": "system", "content": q.system})
	}
	for _, t := range q.turns {
		turns = append(turns, chatTurns(t)...)
	}
	body := members{"model": q.model, "messages": turns}
	if q.tools {
		body["tools"] = tooled(func(name, description string, schema json.RawMessage) any {
			return members{"type": "function", "function": members{"name": name, "description": description, "parameters": schema}}
		})
	}
	if q.thinks {
		body["reasoning_effort"] = "low"
	}
	if q.schema != "" {
		body["response_format"] = members{"type": "json_schema",
			"json_schema": members{"name": "place", "schema": exactly(q.schema), "strict": true}}
	}
	if q.limit > 0 {
		body["max_completion_tokens"] = q.limit
	}
	if len(q.stops) > 0 {
		body["stop"] = q.stops
	}
	if q.samples {
		body["temperature"], body["top_p"], body["seed"], body["presence_penalty"] = exactly("0.25"), exactly("0.5"), 7, exactly("0.125")
		body["user"], body["metadata"] = "customer-42", members{"trace": "t-1"}
	}
	if q.stream {
		body["stream"], body["stream_options"] = true, members{"include_usage": true}
	}
	return body
}

func chatTurns(t turn) []any {
	switch {
	case t.said != nil:
		var calls []any
		for _, c := range t.said.calls() {
			call := members{"id": c.id, "type": "function", "function": members{"name": c.name, "arguments": c.arguments}}
			if c.signature != "" {
				call["extra_content"] = members{"google": members{"thought_signature": c.signature}}
			}
			calls = append(calls, call)
		}
		message := members{"role": "assistant", "content": t.said.text()}
		if calls != nil {
			message["tool_calls"] = calls
		}
		return []any{message}
	case t.results != nil:
		var list []any
		for _, r := range t.results {
			list = append(list, members{"role": "tool", "tool_call_id": r.id, "content": r.text})
		}
		return list
	case t.image != "":
		return []any{members{"role": "user", "content": []any{members{"type": "text", "text": t.text},
			members{"type": "image_url", "image_url": members{"url": t.image}}}}}
	}
	return []any{members{"role": "user", "content": t.text}}
}

func messagesQuestion(q *question) any {
	turns := make([]any, 0, len(q.turns))
	for _, t := range q.turns {
		turns = append(turns, messagesTurn(t))
	}
	body := members{"model": q.model, "messages": turns}
	if q.system != "" {
		body["system"] = q.system
	}
	if q.tools {
		body["tools"] = tooled(func(name, description string, schema json.RawMessage) any {
			return members{"name": name, "description": description, "input_schema": schema}
		})
	}
	if q.thinks {
		body["thinking"] = members{"type": "enabled", "budget_tokens": 1024}
	}
	if q.schema != "" {
		body["output_config"] = members{"format": members{"type": "json_schema", "schema": exactly(q.schema)}}
	}
	if q.limit > 0 {
		body["max_tokens"] = q.limit
	}
	if len(q.stops) > 0 {
		body["stop_sequences"] = q.stops
	}
	if q.samples {
		body["temperature"], body["top_p"], body["top_k"] = exactly("0.25"), exactly("0.5"), 9
		body["metadata"] = members{"user_id": "customer-42"}
	}
	if q.stream {
		body["stream"] = true
	}
	return body
}

func messagesTurn(t turn) any {
	var blocks []any
	role := "user"
	switch {
	case t.said != nil:
		role = "assistant"
		for _, p := range t.said.parts {
			switch p.kind {
			case "thought":
				blocks = append(blocks, members{"type": "thinking", "thinking": p.text, "signature": p.signature})
			case "text":
				blocks = append(blocks, members{"type": "text", "text": p.text})
			default:
				blocks = append(blocks, members{"type": "tool_use", "id": p.id, "name": p.name, "input": exactly(p.arguments)})
			}
		}
	case t.results != nil:
		for _, r := range t.results {
			blocks = append(blocks, members{"type": "tool_result", "tool_use_id": r.id, "content": r.text})
		}
	case t.image != "":
		source := members{"type": "url", "url": t.image}
		if kind, data, ok := dataOf(t.image); ok {
			source = members{"type": "base64", "media_type": kind, "data": data}
		}
		blocks = []any{members{"type": "text", "text": t.text}, members{"type": "image", "source": source}}
	default:
		return members{"role": role, "content": t.text}
	}
	return members{"role": role, "content": blocks}
}

// dataOf takes a data URL apart.
func dataOf(address string) (mediaType, data string, ok bool) {
	rest, ok := strings.CutPrefix(address, "data:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ";base64,")
}
