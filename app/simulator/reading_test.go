package simulator

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// reading is an answer of any style and form, as a client understands it.
type reading struct {
	text      string
	reasoning string
	calls     []call
	finish    string
	in, out   int64 // Output includes reasoning.
	cached    int64
	thought   int64 // Thought counts tokens of reasoning.
	frames    int   // Frames counts frames with a token.
	ended     bool  // The end marker of the style was read.
	usages    int
	failed    string // Failed is the message of an error in the stream.
}

// frame is one event of a stream.
type frame struct {
	event string
	data  string
}

// framesOf reads an event stream line by line, the plain forms only.
func framesOf(body []byte) []frame {
	var all []frame
	for block := range strings.SplitSeq(string(body), "\n\n") {
		var f frame
		for line := range strings.SplitSeq(block, "\n") {
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				f.event = v
			}
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				f.data += v
			}
		}
		if f.data != "" {
			all = append(all, f)
		}
	}
	return all
}

// read understands an answer in the form in which it was asked for.
func read(t *testing.T, style string, stream bool, body []byte) reading {
	t.Helper()
	var r reading
	if !stream {
		bodies[style](t, &r, body)
		return r
	}
	for _, f := range framesOf(body) {
		if style == "chat" && f.data == "[DONE]" {
			r.ended = true
			continue
		}
		if !json.Valid([]byte(f.data)) {
			t.Fatalf("%s: not JSON: %s", style, f.data)
		}
		events[style](t, &r, f)
	}
	return r
}

func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

var bodies = map[string]func(*testing.T, *reading, []byte){
	"chat": func(t *testing.T, r *reading, body []byte) { r.chat(decode[chatAnswer](t, body)) },
	"messages": func(t *testing.T, r *reading, body []byte) {
		m := decode[messagesAnswer](t, body)
		for _, c := range m.Content {
			r.text += c.Text
			r.reasoning += c.Thinking
			if c.Type == "tool_use" {
				r.calls = append(r.calls, call{c.Name, string(c.Input)})
			}
		}
		r.finish = m.StopReason
		r.messagesUsage(m.Usage)
	},
	"responses": func(t *testing.T, r *reading, body []byte) { r.response(decode[responsesAnswer](t, body)) },
	"native": func(t *testing.T, r *reading, body []byte) {
		events["native"](t, r, frame{data: string(body)})
	},
}

var events = map[string]func(*testing.T, *reading, frame){
	"chat": func(t *testing.T, r *reading, f frame) {
		if f.event != "" {
			t.Fatalf("chat has no event lines, got %q", f.event)
		}
		r.chat(decode[chatAnswer](t, []byte(f.data)))
	},
	"messages":  readMessagesEvent,
	"responses": readResponsesEvent,
	"native":    readNativeChunk,
}

type errorObject struct {
	Message string `json:"message"`
}

type chatDelta struct {
	Content   *string `json:"content"`
	Reasoning string  `json:"reasoning_content"`
	ToolCalls []struct {
		Index    int `json:"index"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type chatAnswer struct {
	Choices []struct {
		Index        int        `json:"index"`
		Message      *chatDelta `json:"message"`
		Delta        chatDelta  `json:"delta"`
		FinishReason *string    `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Total      int64 `json:"total_tokens"`
		InDetails  struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Details struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
	Error *errorObject `json:"error"`
}

func (r *reading) chat(a chatAnswer) {
	if a.Error != nil {
		r.failed = a.Error.Message
	}
	for _, c := range a.Choices {
		d := c.Delta
		if c.Message != nil {
			d = *c.Message
		}
		if d.Content != nil && *d.Content != "" || d.Reasoning != "" || d.ToolCalls != nil {
			r.frames++
		}
		if d.Content != nil {
			r.text += *d.Content
		}
		r.reasoning += d.Reasoning
		for _, one := range d.ToolCalls {
			if one.Function.Name != "" {
				r.calls = append(r.calls, call{name: one.Function.Name})
			}
			r.calls[len(r.calls)-1].arguments += one.Function.Arguments
		}
		if c.FinishReason != nil {
			r.finish = *c.FinishReason
		}
	}
	if u := a.Usage; u != nil {
		r.usages++
		r.in, r.out, r.cached, r.thought = u.Prompt, u.Completion, u.InDetails.Cached, u.Details.Reasoning
	}
}

type messagesCounts struct {
	Input   *int64 `json:"input_tokens"`
	Read    int64  `json:"cache_read_input_tokens"`
	Write   int64  `json:"cache_creation_input_tokens"`
	Output  int64  `json:"output_tokens"`
	Details struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

type messagesAnswer struct {
	Content []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
	} `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      *messagesCounts `json:"usage"`
}

func (r *reading) messagesUsage(u *messagesCounts) {
	if u == nil || u.Input == nil {
		return
	}
	r.usages++
	r.in, r.out, r.cached, r.thought = *u.Input+u.Read+u.Write, u.Output, u.Read, u.Details.Thinking
}

func readMessagesEvent(t *testing.T, r *reading, f frame) {
	e := decode[struct {
		Type    string         `json:"type"`
		Index   int            `json:"index"`
		Message messagesAnswer `json:"message"`
		Block   struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"content_block"`
		Delta struct {
			Type       string `json:"type"`
			Text       string `json:"text"`
			Thinking   string `json:"thinking"`
			Partial    string `json:"partial_json"`
			StopReason string `json:"stop_reason"`
		} `json:"delta"`
		Usage *messagesCounts `json:"usage"`
		Error *errorObject    `json:"error"`
	}](t, []byte(f.data))
	if f.event != e.Type {
		t.Fatalf("event line %q, type %q", f.event, e.Type)
	}
	switch e.Type {
	case "message_start":
		r.messagesUsage(e.Message.Usage)
	case "content_block_start":
		if e.Block.Type == "tool_use" {
			r.calls = append(r.calls, call{name: e.Block.Name})
		}
	case "content_block_delta":
		r.text += e.Delta.Text
		r.reasoning += e.Delta.Thinking
		if e.Delta.Type == "input_json_delta" {
			r.calls[len(r.calls)-1].arguments += e.Delta.Partial
		}
		if e.Delta.Type != "signature_delta" {
			r.frames++
		}
	case "message_delta":
		r.finish = e.Delta.StopReason
		r.messagesUsage(e.Usage)
	case "message_stop":
		r.ended = true
	case "error":
		r.failed = e.Error.Message
	}
}

type responsesAnswer struct {
	Status string `json:"status"`
	Output []struct {
		Type      string                        `json:"type"`
		ID        string                        `json:"id"`
		Name      string                        `json:"name"`
		Arguments string                        `json:"arguments"`
		Content   []struct{ Type, Text string } `json:"content"`
		Summary   []struct{ Type, Text string } `json:"summary"`
	} `json:"output"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input     int64 `json:"input_tokens"`
		Output    int64 `json:"output_tokens"`
		InDetails struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		Details struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
	Error *errorObject `json:"error"`
}

func (r *reading) response(a responsesAnswer) {
	for _, item := range a.Output {
		for _, c := range item.Content {
			r.text += c.Text
		}
		for _, c := range item.Summary {
			r.reasoning += c.Text
		}
		if item.Type == "function_call" {
			r.calls = append(r.calls, call{item.Name, item.Arguments})
		}
	}
	r.finish = a.Status
	if a.Incomplete != nil {
		r.finish += " " + a.Incomplete.Reason
	}
	if a.Error != nil {
		r.failed = a.Error.Message
	}
	if u := a.Usage; u != nil {
		r.usages++
		r.in, r.out, r.cached, r.thought = u.Input, u.Output, u.InDetails.Cached, u.Details.Reasoning
	}
}

func readResponsesEvent(t *testing.T, r *reading, f frame) {
	e := decode[struct {
		Type     string          `json:"type"`
		Delta    string          `json:"delta"`
		Response responsesAnswer `json:"response"`
		Item     struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"item"`
	}](t, []byte(f.data))
	if f.event != e.Type {
		t.Fatalf("event line %q, type %q", f.event, e.Type)
	}
	switch e.Type {
	case "response.output_text.delta":
		r.text += e.Delta
		r.frames++
	case "response.reasoning_summary_text.delta":
		r.reasoning += e.Delta
		r.frames++
	case "response.output_item.added":
		if e.Item.Type == "function_call" {
			r.calls = append(r.calls, call{name: e.Item.Name})
			r.frames++
		}
	case "response.function_call_arguments.delta":
		r.calls[len(r.calls)-1].arguments += e.Delta
		r.frames++
	case "response.completed", "response.incomplete", "response.failed":
		var whole reading
		whole.response(e.Response)
		if e.Type != "response.failed" && (whole.text != r.text || whole.reasoning != r.reasoning || !slices.Equal(whole.calls, r.calls)) {
			t.Fatalf("the final response says something else than the deltas: %+v, %+v", whole, *r)
		}
		whole.frames, whole.ended, whole.usages = r.frames, true, whole.usages+r.usages
		*r = whole
	default:
		if e.Response.Usage != nil {
			r.usages++
		}
	}
}

func readNativeChunk(t *testing.T, r *reading, f frame) {
	if f.event != "" {
		t.Fatalf("native has no event lines, got %q", f.event)
	}
	c := decode[struct {
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text    string `json:"text"`
					Thought bool   `json:"thought"`
					Call    *struct {
						Name string          `json:"name"`
						Args json.RawMessage `json:"args"`
					} `json:"functionCall"`
				} `json:"parts"`
			} `json:"content"`
			FinishReason string `json:"finishReason"`
		} `json:"candidates"`
		Feedback *struct {
			BlockReason string `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage *struct {
			Prompt     int64 `json:"promptTokenCount"`
			Candidates int64 `json:"candidatesTokenCount"`
			Thoughts   int64 `json:"thoughtsTokenCount"`
			Cached     int64 `json:"cachedContentTokenCount"`
		} `json:"usageMetadata"`
		Error *errorObject `json:"error"`
	}](t, []byte(f.data))
	for _, one := range c.Candidates {
		for _, part := range one.Content.Parts {
			switch {
			case part.Call != nil:
				r.calls = append(r.calls, call{part.Call.Name, string(part.Call.Args)})
				r.frames += 1 + int(countTokens(string(part.Call.Args)))
			case part.Thought:
				r.reasoning += part.Text
				r.frames++
			case part.Text != "":
				r.text += part.Text
				r.frames++
			}
		}
		if one.FinishReason != "" {
			r.finish, r.ended = one.FinishReason, true
		}
	}
	if c.Feedback != nil {
		r.finish, r.ended = "blocked "+c.Feedback.BlockReason, true
	}
	if u := c.Usage; u != nil {
		r.usages++
		r.in, r.out, r.cached, r.thought = u.Prompt, u.Candidates+u.Thoughts, u.Cached, u.Thoughts
	}
	if c.Error != nil {
		r.failed = c.Error.Message
	}
}
