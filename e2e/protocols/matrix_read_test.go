package protocols

import (
	"encoding/json"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// yearOne is before all answers, in Unix seconds.
const yearOne = 1_700_000_000

// isAnswer looks at the id of an answer and when it was made.
func isAnswer(t *testing.T, id, prefix string, created int64) {
	t.Helper()
	if len(id) <= len(prefix) || !strings.HasPrefix(id, prefix) || created < yearOne || created > 10*yearOne {
		t.Errorf("an answer has the id %q and was made at %d", id, created)
	}
}

// word translates how an answer ended; a word that is not in the table is a failure.
func word(t *testing.T, table map[string]string, said string) string {
	t.Helper()
	means, ok := table[said]
	if !ok {
		t.Errorf("an answer ends with %q", said)
	}
	return means
}

var (
	chatEnds     = map[string]string{"stop": "end", "length": "length", "tool_calls": "calls", "content_filter": "filter"}
	messagesEnds = map[string]string{"end_turn": "end", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "calls", "refusal": "filter"}
	// Calls end like any other answer in these two: who reads the answer sees them.
	responsesEnds = map[string]string{"completed": "end", "incomplete max_output_tokens": "length", "incomplete content_filter": "filter"}
	nativeEnds    = map[string]string{"STOP": "end", "MAX_TOKENS": "length", "SAFETY": "filter"}
)

type chatCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Extra struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

type chatMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	Reasoning *string    `json:"reasoning_content"`
	Calls     []chatCall `json:"tool_calls"`
}

type chatUsage struct {
	In      int64       `json:"prompt_tokens"`
	Out     int64       `json:"completion_tokens"`
	Total   int64       `json:"total_tokens"`
	Cost    json.Number `json:"cost"`
	InParts struct {
		Read    int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	OutParts struct {
		Thought int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *chatUsage) into(t *testing.T, r *reply) {
	t.Helper()
	if u.Total != u.In+u.Out {
		t.Errorf("%d and %d tokens are %d together", u.In, u.Out, u.Total)
	}
	r.tokens = tokens{u.In, u.InParts.Read, u.InParts.Written, u.Out, u.OutParts.Thought}
	r.cost = string(u.Cost)
}

func chatReply(m *matrix, t *testing.T, body string) reply {
	t.Helper()
	m.schemas.fits(t, "open#/components/schemas/CreateChatCompletionResponse", body)
	c := harness.DecodeJSON[struct {
		ID      string `json:"id"`
		Created int64  `json:"created"`
		Model   string `json:"model"`
		Choices []struct {
			Message chatMessage `json:"message"`
			Finish  string      `json:"finish_reason"`
		} `json:"choices"`
		Usage chatUsage `json:"usage"`
	}](t, body)
	if len(c.Choices) != 1 {
		t.Fatalf("%d choices in %s", len(c.Choices), body)
	}
	isAnswer(t, c.ID, "chatcmpl-", c.Created)
	one := c.Choices[0]
	r := reply{model: c.Model, finish: word(t, chatEnds, one.Finish)}
	if v := one.Message.Reasoning; v != nil {
		r.parts = append(r.parts, part{kind: "thought", text: *v})
	}
	for _, text := range []*string{one.Message.Content, one.Message.Refusal} {
		if text != nil && *text != "" {
			r.parts = append(r.parts, part{kind: "text", text: *text})
		}
	}
	for _, call := range one.Message.Calls {
		r.parts = append(r.parts, part{kind: "call", id: call.ID, name: call.Function.Name, arguments: call.Function.Arguments,
			signature: call.Extra.Google.Signature})
	}
	c.Usage.into(t, &r)
	return r
}

type messagesUsage struct {
	In       int64       `json:"input_tokens"`
	Read     int64       `json:"cache_read_input_tokens"`
	Written  int64       `json:"cache_creation_input_tokens"`
	Out      int64       `json:"output_tokens"`
	Cost     json.Number `json:"cost"`
	OutParts *struct {
		Thought int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (u *messagesUsage) into(r *reply) {
	r.tokens = tokens{in: u.In + u.Read + u.Written, read: u.Read, written: u.Written, out: u.Out}
	if u.OutParts != nil {
		r.tokens.thought = u.OutParts.Thought
	}
	r.cost = string(u.Cost)
}

type messagesBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

func (b *messagesBlock) part(t *testing.T) part {
	t.Helper()
	switch b.Type {
	case "text":
		return part{kind: "text", text: b.Text}
	case "thinking":
		return part{kind: "thought", text: b.Thinking, signature: b.Signature}
	case "tool_use":
		return part{kind: "call", id: b.ID, name: b.Name, arguments: string(b.Input)}
	}
	t.Fatalf("a block of type %q", b.Type)
	return part{}
}

type messagesEnd struct {
	Reason   string  `json:"stop_reason"`
	Sequence *string `json:"stop_sequence"`
}

func (e *messagesEnd) into(t *testing.T, r *reply) {
	t.Helper()
	r.finish = word(t, messagesEnds, e.Reason)
	if e.Sequence != nil {
		r.stop = *e.Sequence
	}
	if (r.stop != "") != (r.finish == "stop") {
		t.Errorf("stop_reason %q with stop_sequence %q", e.Reason, r.stop)
	}
}

func messagesReply(m *matrix, t *testing.T, body string) reply {
	t.Helper()
	m.schemas.fits(t, "messages#/definitions/Message", body)
	c := harness.DecodeJSON[struct {
		messagesEnd

		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content []messagesBlock `json:"content"`
		Usage   messagesUsage   `json:"usage"`
	}](t, body)
	isAnswer(t, c.ID, "msg_", yearOne)
	r := reply{model: c.Model}
	for _, block := range c.Content {
		r.parts = append(r.parts, block.part(t))
	}
	c.into(t, &r)
	c.Usage.into(&r)
	return r
}

type responsesUsage struct {
	In      int64       `json:"input_tokens"`
	Out     int64       `json:"output_tokens"`
	Total   int64       `json:"total_tokens"`
	Cost    json.Number `json:"cost"`
	InParts struct {
		Read    int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutParts struct {
		Thought int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

type responsesBit struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type responsesItem struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Status    string         `json:"status"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Arguments string         `json:"arguments"`
	Content   []responsesBit `json:"content"`
	Summary   []responsesBit `json:"summary"`
	Proof     string         `json:"encrypted_content"`
}

func (i *responsesItem) part(t *testing.T) part {
	t.Helper()
	p := part{signature: i.Proof}
	for _, piece := range append(i.Summary, i.Content...) {
		p.text += piece.Text + piece.Refusal
	}
	switch i.Type {
	case "message":
		p.kind = "text"
	case "reasoning":
		p.kind, p.id = "thought", i.ID
	case "function_call":
		p.kind, p.id, p.name, p.arguments = "call", i.CallID, i.Name, i.Arguments
	default:
		t.Fatalf("an item of type %q", i.Type)
	}
	return p
}

type response struct {
	ID         string          `json:"id"`
	Created    int64           `json:"created_at"`
	Status     string          `json:"status"`
	Model      string          `json:"model"`
	Output     []responsesItem `json:"output"`
	Usage      *responsesUsage `json:"usage"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (c *response) reply(t *testing.T) reply {
	t.Helper()
	isAnswer(t, c.ID, "resp_", c.Created)
	end := c.Status
	if c.Incomplete != nil {
		end += " " + c.Incomplete.Reason
	}
	r := reply{model: c.Model, finish: word(t, responsesEnds, end)}
	for _, item := range c.Output {
		p := item.part(t)
		if p.kind == "call" && r.finish == "end" {
			r.finish = "calls"
		}
		if p.kind != "text" || p.text != "" {
			r.parts = append(r.parts, p)
		}
	}
	if u := c.Usage; u != nil {
		if u.Total != u.In+u.Out {
			t.Errorf("%d and %d tokens are %d together", u.In, u.Out, u.Total)
		}
		r.tokens = tokens{u.In, u.InParts.Read, u.InParts.Written, u.Out, u.OutParts.Thought}
		r.cost = string(u.Cost)
	}
	return r
}

func responsesReply(m *matrix, t *testing.T, body string) reply {
	t.Helper()
	m.schemas.fits(t, "open#/components/schemas/Response", body)
	c := harness.DecodeJSON[response](t, body)
	return c.reply(t)
}

type nativePart struct {
	Text      string `json:"text"`
	Thought   bool   `json:"thought"`
	Signature string `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

type nativeUsage struct {
	In      int64       `json:"promptTokenCount"`
	Read    int64       `json:"cachedContentTokenCount"`
	Out     int64       `json:"candidatesTokenCount"`
	Thought int64       `json:"thoughtsTokenCount"`
	Total   int64       `json:"totalTokenCount"`
	Cost    json.Number `json:"cost"`
}

type nativeChunk struct {
	Model      string `json:"modelVersion"`
	ID         string `json:"responseId"`
	Candidates []struct {
		Content struct {
			Role  string       `json:"role"`
			Parts []nativePart `json:"parts"`
		} `json:"content"`
		Finish string `json:"finishReason"`
	} `json:"candidates"`
	Feedback *struct {
		Reason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *nativeUsage `json:"usageMetadata"`
}

// add reads one fragment of an answer.
func (r *reply) addNative(t *testing.T, c *nativeChunk) {
	t.Helper()
	r.model = c.Model
	isAnswer(t, c.ID, "", yearOne)
	if c.Feedback != nil {
		r.finish = word(t, nativeEnds, c.Feedback.Reason)
	}
	for _, one := range c.Candidates {
		for _, p := range one.Content.Parts {
			r.addNativePart(p)
		}
		if one.Finish != "" {
			r.finish = word(t, nativeEnds, one.Finish)
		}
	}
	if r.finish == "end" && len(r.calls()) > 0 {
		r.finish = "calls"
	}
	if u := c.Usage; u != nil {
		if u.Total != u.In+u.Out+u.Thought {
			t.Errorf("%d, %d and %d tokens are %d together", u.In, u.Out, u.Thought, u.Total)
		}
		r.tokens = tokens{in: u.In, read: u.Read, out: u.Out + u.Thought, thought: u.Thought}
		r.cost = string(u.Cost)
	}
}

func (r *reply) addNativePart(p nativePart) {
	one := part{kind: "text", text: p.Text, signature: p.Signature}
	switch {
	case p.Call != nil:
		one = part{kind: "call", id: p.Call.ID, name: p.Call.Name, arguments: string(p.Call.Args), signature: p.Signature}
	case p.Thought:
		one.kind = "thought"
	case p.Text == "" && p.Signature == "":
		return
	}
	if last := len(r.parts) - 1; last >= 0 && one.kind != "call" && r.parts[last].kind == one.kind {
		r.parts[last].text += one.text
		r.parts[last].signature += one.signature
		return
	}
	r.parts = append(r.parts, one)
}

func nativeReply(m *matrix, t *testing.T, body string) reply {
	t.Helper()
	m.schemas.fits(t, "native#/$defs/GenerateContentResponse", body)
	c := harness.DecodeJSON[nativeChunk](t, body)
	var r reply
	r.addNative(t, &c)
	return r
}
