package protocols

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// The readers of streams. They are strict: what breaks one official client or another is a failure here.

// frame is one event of a stream.
type frame struct{ event, data string }

// framesOf splits a stream by the letter: the event line where the style has one, one data line, one blank line. It skips the comment with
// the cost of a chat stream.
func framesOf(t *testing.T, body string, named bool) []frame {
	t.Helper()
	text, whole := strings.CutSuffix(body, "\n\n")
	if !whole || strings.Contains(body, "\r") {
		t.Fatalf("the stream does not end with a blank line, or has carriage returns: %q", body)
	}
	var all []frame
	for block := range strings.SplitSeq(text, "\n\n") {
		if !named && strings.HasPrefix(block, `: {"cost":`) {
			continue
		}
		var f frame
		rest := block
		if named {
			line, after, _ := strings.Cut(block, "\n")
			name, ok := strings.CutPrefix(line, "event: ")
			if !ok {
				t.Fatalf("no event line in %q", block)
			}
			f.event, rest = name, after
		}
		data, ok := strings.CutPrefix(rest, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("not one data line in %q", block)
		}
		f.data = data
		all = append(all, f)
	}
	return all
}

func chatStreamed(m *matrix, t *testing.T, body string) reply {
	t.Helper()
	all := framesOf(t, body, false)
	if last := all[len(all)-1].data; last != "[DONE]" {
		t.Fatalf("the stream ends with %q", last)
	}
	var r reply
	s := chatState{ids: map[string]bool{}}
	for i, f := range all[:len(all)-1] {
		m.schemas.fits(t, "open#/components/schemas/CreateChatCompletionStreamResponse", f.data)
		s.read(t, &r, f.data, i == 0, i == len(all)-2)
	}
	if len(s.ids) != 1 || s.finished != 1 || s.usages != 1 {
		t.Errorf("%d ids, %d finish reasons, %d usages in %s", len(s.ids), s.finished, s.usages, body)
	}
	return r
}

// chatState counts what may come only once.
type chatState struct {
	ids              map[string]bool
	finished, usages int
}

func (s *chatState) read(t *testing.T, r *reply, data string, first, last bool) {
	t.Helper()
	c := harness.DecodeJSON[struct {
		ID      string `json:"id"`
		Model   string `json:"model"`
		Created int64  `json:"created"`
		Choices []struct {
			Index  int         `json:"index"`
			Delta  chatMessage `json:"delta"`
			Finish *string     `json:"finish_reason"`
		} `json:"choices"`
		Usage *chatUsage      `json:"usage"`
		Error json.RawMessage `json:"error"`
	}](t, data)
	isAnswer(t, c.ID, "chatcmpl-", c.Created)
	s.ids[fmt.Sprint(c.ID, c.Created, c.Model)] = true
	r.model = c.Model
	if c.Error != nil || (c.Usage != nil) != last || last != (len(c.Choices) == 0) {
		t.Errorf("an error, or usage and choices where they do not belong: %s", data)
	}
	if c.Usage != nil {
		s.usages++
		c.Usage.into(t, r)
	}
	for _, one := range c.Choices {
		d := one.Delta
		if first != (d.Role == "assistant") || first && (d.Content == nil || *d.Content != "") || one.Index != 0 || s.finished > 0 {
			t.Errorf("a delta that does not belong here: %s", data)
		}
		if d.Reasoning != nil && *d.Reasoning != "" {
			r.grow("thought", *d.Reasoning)
		}
		for _, text := range []*string{d.Content, d.Refusal} {
			if text != nil && *text != "" {
				r.grow("text", *text)
			}
		}
		for _, call := range d.Calls {
			r.addChatCall(t, call, data)
		}
		if one.Finish != nil {
			s.finished++
			r.finish = word(t, chatEnds, *one.Finish)
		}
	}
}

// grow adds to the part that is open, or opens one.
func (r *reply) grow(kind, text string) {
	if last := len(r.parts) - 1; last >= 0 && r.parts[last].kind == kind {
		r.parts[last].text += text
		return
	}
	r.parts = append(r.parts, part{kind: kind, text: text})
}

func (r *reply) addChatCall(t *testing.T, c chatCall, data string) {
	t.Helper()
	calls := len(r.calls())
	switch {
	case c.Index == nil || *c.Index > calls || *c.Index < calls-1:
		t.Errorf("a call without a proper index: %s", data)
	case *c.Index == calls:
		if c.ID == "" || c.Type != "function" || c.Function.Name == "" {
			t.Errorf("a call begins without id, type or name: %s", data)
		}
		r.parts = append(r.parts, part{kind: "call", id: c.ID, name: c.Function.Name, signature: c.Extra.Google.Signature})
	case c.ID != "" || c.Type != "" || c.Function.Name != "" || c.Extra.Google.Signature != "":
		t.Errorf("the name of a call is repeated: %s", data)
	}
	r.parts[len(r.parts)-1].arguments += c.Function.Arguments
}

// messagesState is how far a messages stream has come.
type messagesState struct {
	// order has the events that are not deltas.
	order []string
	// open is the index of the open block, or -1.
	open int
	next int
	// input has the arguments of the open call.
	input string
	// sign is true after the signature of the block.
	sign bool
}

type messagesEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content []messagesBlock `json:"content"`
		Usage   *messagesUsage  `json:"usage"`
	} `json:"message"`
	Block messagesBlock `json:"content_block"`
	Delta struct {
		messagesEnd

		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Partial   string `json:"partial_json"`
		Signature string `json:"signature"`
	} `json:"delta"`
	Usage *messagesUsage `json:"usage"`
}

func messagesStreamed(m *matrix, t *testing.T, body string) reply {
	t.Helper()
	var r reply
	s := messagesState{open: -1}
	for _, f := range framesOf(t, body, true) {
		if f.event == "ping" {
			// The event is in no schema, and legal.
			continue
		}
		m.schemas.fits(t, "messages#/definitions/RawMessageStreamEvent", f.data)
		s.read(t, &r, f)
	}
	end := []string{"message_delta", "message_stop"}
	if n := len(s.order); n < 3 || s.order[0] != "message_start" || !slices.Equal(s.order[n-2:], end) || s.open >= 0 ||
		slices.ContainsFunc(s.order[1:n-2], func(e string) bool { return !strings.HasPrefix(e, "content_block_") }) {
		t.Errorf("the events come as %v", s.order)
	}
	return r
}

func (s *messagesState) read(t *testing.T, r *reply, f frame) {
	t.Helper()
	e := harness.DecodeJSON[messagesEvent](t, f.data)
	if e.Type != f.event {
		t.Errorf("the event line says %q: %s", f.event, f.data)
	}
	if e.Type != "content_block_delta" {
		s.order = append(s.order, e.Type)
	}
	last := len(r.parts) - 1
	switch e.Type {
	case "message_start":
		isAnswer(t, e.Message.ID, "msg_", yearOne)
		r.model = e.Message.Model
		if e.Message.Usage == nil || len(e.Message.Content) > 0 {
			t.Errorf("message_start without usage, or with content: %s", f.data)
		}
	case "content_block_start":
		if s.open >= 0 || e.Index != s.next {
			t.Errorf("a block begins where none may: %s", f.data)
		}
		s.open, s.input, s.sign = e.Index, "", false
		s.next++
		r.parts = append(r.parts, e.Block.part(t))
	case "content_block_delta":
		if e.Index != s.open {
			t.Errorf("a delta of a block that is not open: %s", f.data)
			return
		}
		r.parts[last].text += e.Delta.Text + e.Delta.Thinking
		s.input += e.Delta.Partial
		if s.sign = e.Delta.Type == "signature_delta"; s.sign {
			r.parts[last].signature = e.Delta.Signature
		}
	case "content_block_stop":
		if e.Index != s.open || r.parts[last].signature != "" && !s.sign {
			t.Errorf("a block ends that is not open, or with its signature in the middle: %s", f.data)
		}
		s.open = -1
		if p := &r.parts[last]; p.kind == "call" {
			p.arguments = s.input
		}
	case "message_delta":
		e.Delta.into(t, r)
		if e.Usage == nil {
			t.Errorf("message_delta without usage: %s", f.data)
			return
		}
		e.Usage.into(r)
	}
}

func nativeStreamed(m *matrix, t *testing.T, body string) reply {
	t.Helper()
	var r reply
	all := framesOf(t, body, false)
	for i, f := range all {
		m.schemas.fits(t, "native#/$defs/GenerateContentResponse", f.data)
		c := harness.DecodeJSON[nativeChunk](t, f.data)
		before := r.finish
		r.addNative(t, &c)
		if last := i == len(all)-1; before != "" && before != "calls" || last != (c.Feedback != nil || len(c.Candidates) > 0 && c.Candidates[0].Finish != "") {
			t.Errorf("the finish reason does not stand in the last frame: %s", f.data)
		} else if last && c.Usage == nil {
			t.Errorf("no usage in the last frame: %s", f.data)
		}
	}
	return r
}
