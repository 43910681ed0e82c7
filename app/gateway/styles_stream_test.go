package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"umg/app/llm"
)

// listener reads a stream, and insists on what its clients insist on.
type listener struct {
	heard

	t     *testing.T
	style llm.Style
	ended bool

	open    int // Open is the open block of a messages stream, or -1.
	next    int
	began   bool
	number  int64           // Number is the next sequence number of a responses stream.
	items   map[string]bool // Items maps the id of an item to whether it is done.
	failing bool            // Failing allows open parts after an error.
}

// listen reads a whole stream, errors and keep-alives included.
func listen(t *testing.T, style llm.Style, text string) heard {
	t.Helper()
	l := &listener{t: t, style: style, open: -1, items: map[string]bool{}}
	rest := text
	for rest != "" {
		if style == llm.Native && rest[0] == '\n' {
			l.marks++
			rest = rest[1:]
			continue
		}
		frame, after, whole := strings.Cut(rest, "\n\n")
		if !whole {
			t.Fatalf("the stream does not end with a whole frame: %q", text)
		}
		rest = after
		l.frame(frame)
	}
	l.end()
	if t.Failed() {
		t.Logf("the stream: %.1500s … %s", text, text[max(0, len(text)-500):])
	}
	return l.heard
}

func (l *listener) frame(frame string) {
	l.t.Helper()
	if strings.HasPrefix(frame, ":") {
		l.marks++
		if l.style == llm.Native || l.style == llm.Messages {
			l.t.Errorf("a comment in a %s stream: %q", l.style, frame)
		}
		return
	}
	name, data := "", frame
	if l.style == llm.Messages || l.style == llm.Responses {
		line, after, _ := strings.Cut(frame, "\n")
		name, data = strings.TrimPrefix(line, "event: "), after
	}
	data, ok := strings.CutPrefix(data, "data: ")
	if !ok || strings.Contains(data, "\n") {
		l.t.Fatalf("not a frame of the %s style: %q", l.style, frame)
	}
	if l.ended {
		l.t.Errorf("after the end: %q", frame)
	}
	if l.style == llm.Chat && data == "[DONE]" {
		l.ended = true
		return
	}
	m := decoded(l.t, data)
	if name != "" && m["type"] != name {
		l.t.Errorf("the event line does not fit: %q", frame)
	}
	l.frames++
	switch l.style {
	case llm.Chat:
		l.chat(m)
	case llm.Messages:
		l.messages(m, name)
	case llm.Responses:
		l.responses(m, name)
	case llm.Native:
		l.native(m)
	}
}

func (l *listener) chat(m members) {
	if e, ok := m["error"].(members); ok {
		l.err = e
		return
	}
	l.charge(l.t, l.style, m["usage"])
	choice := at(m, "choices", 0)
	if choice == nil {
		return
	}
	if !l.began && str(at(choice, "delta", "role")) != "assistant" {
		l.t.Errorf("the first chunk has no role: %v", m)
	}
	l.began = true
	delta := at(choice, "delta")
	l.text += str(at(delta, "content")) + str(at(delta, "reasoning_content")) + str(at(delta, "refusal")) +
		str(at(delta, "tool_calls", 0, "function", "arguments"))
	if f := str(at(choice, "finish_reason")); f != "" {
		l.finish = f
	}
}

func (l *listener) messages(m members, name string) {
	index := int(num(m["index"]))
	switch name {
	case "ping":
		l.marks++
	case "error":
		l.err, l.ended, l.failing = m["error"].(members), true, true
		l.charge(l.t, l.style, m["usage"])
	case "message_start":
		if l.began || at(m, "message", "usage") == nil {
			l.t.Errorf("message_start: %v", m)
		}
		l.began = true
	case "content_block_start":
		if !l.began || l.open >= 0 || index != l.next {
			l.t.Errorf("a block begins where none may: %v", m)
		}
		l.open = index
		l.next++
	case "content_block_delta":
		if index != l.open {
			l.t.Errorf("a delta of no open block: %v", m)
		}
		d := m["delta"]
		l.text += str(at(d, "text")) + str(at(d, "thinking")) + str(at(d, "partial_json"))
	case "content_block_stop":
		if index != l.open {
			l.t.Errorf("the end of no open block: %v", m)
		}
		l.open = -1
	case "message_delta":
		if l.open >= 0 || m["usage"] == nil {
			l.t.Errorf("message_delta: %v", m)
		}
		l.finish = str(at(m, "delta", "stop_reason"))
		l.charge(l.t, l.style, m["usage"])
	case "message_stop":
		l.ended = true
	default:
		l.t.Errorf("an unknown event: %v", m)
	}
}

func (l *listener) responses(m members, name string) {
	if n := num(m["sequence_number"]); n < l.number || m["sequence_number"] == nil {
		l.t.Errorf("the number is %d, not %d", n, l.number)
	} else {
		l.number = n + 1 // A frame that could not be read leaves a gap.
	}
	if !l.began && name != "response.created" {
		l.t.Errorf("the first event is %s", name)
	}
	l.began = true
	switch {
	case name == "response.output_item.added":
		l.items[str(at(m, "item", "id"))] = false
	case name == "response.output_item.done":
		l.items[str(at(m, "item", "id"))] = true
	case strings.HasSuffix(name, ".delta"):
		l.text += str(m["delta"])
	case name == "response.failed":
		l.err, _ = at(m, "response", "error").(members)
		l.ended, l.failing = true, true
		l.charge(l.t, l.style, at(m, "response", "usage"))
	case name == "response.completed", name == "response.incomplete":
		l.ended = true
		l.finish = str(at(m, "response", "status"))
		l.charge(l.t, l.style, at(m, "response", "usage"))
		if out, _ := at(m, "response", "output").([]any); len(out) != len(l.items) && l.finish == "completed" {
			l.t.Errorf("%d items were added, %d are in the final answer", len(l.items), len(out))
		}
	}
}

func (l *listener) native(m members) {
	if e, ok := m["error"].(members); ok {
		l.err = e
		l.charge(l.t, l.style, m["usageMetadata"])
		return
	}
	if l.finish != "" {
		l.t.Errorf("after the finish reason: %v", m)
	}
	l.charge(l.t, l.style, m["usageMetadata"])
	parts, _ := at(m, "candidates", 0, "content", "parts").([]any)
	for _, p := range parts {
		l.text += str(at(p, "text"))
		if args := at(p, "functionCall", "args"); args != nil {
			text, _ := json.Marshal(args)
			l.text += string(text)
		}
	}
	l.finish = str(at(m, "candidates", 0, "finishReason")) + str(at(m, "promptFeedback", "blockReason"))
}

// end checks that nothing is left open and that the last mark has come.
func (l *listener) end() {
	l.t.Helper()
	if l.style == llm.Native {
		l.ended = l.finish != "" || l.err != nil
	}
	if !l.ended || l.err != nil && l.finish != "" {
		l.t.Errorf("the stream ends with %q and error %v, last mark %v", l.finish, l.err, l.ended)
	}
	for id, done := range l.items {
		if !done && !l.failing && l.finish == "completed" { // Clients allow this in an incomplete answer.
			l.t.Errorf("the item %s is never done", id)
		}
	}
	if l.open >= 0 && !l.failing {
		l.t.Errorf("block %d stays open", l.open)
	}
}

// eachWay runs a test for every style of the client, every style of the upstream, in one piece and streamed. One test needs that, to show
// that the parts work together in every pair: app/dialect checks what the pairs read and write.
func eachWay(t *testing.T, all *bench, test func(b *bench, client, upstream llm.Style, stream bool)) {
	eachPair(t, " json", all, func(b *bench, client, upstream llm.Style) { test(b, client, upstream, false) })
	eachPair(t, " stream", all, func(b *bench, client, upstream llm.Style) { test(b, client, upstream, true) })
}

// eachStream is eachWay for streams alone.
func eachStream(t *testing.T, all *bench, test func(b *bench, client, upstream llm.Style)) {
	eachPair(t, " stream", all, test)
}

func eachPair(t *testing.T, kind string, all *bench, test func(b *bench, client, upstream llm.Style)) {
	for turn := range llm.Styles() {
		eachStyle(t, kind, turn, all, test)
	}
}

// eachPath runs a behavior twice for every style of the client: as the answer passes through, and as it is translated in the turn.
func eachPath(t *testing.T, turn int, all *bench, test func(b *bench, client, upstream llm.Style, stream bool)) {
	t.Helper()
	for _, turn := range []int{0, turn} {
		eachStyleBothForms(t, turn, all, test)
	}
}

// eachStyleBothForms is eachStyle in one piece and streamed.
func eachStyleBothForms(t *testing.T, turn int, all *bench, test func(b *bench, client, upstream llm.Style, stream bool)) {
	eachStyle(t, " json", turn, all, func(b *bench, client, upstream llm.Style) { test(b, client, upstream, false) })
	eachStyle(t, " stream", turn, all, func(b *bench, client, upstream llm.Style) { test(b, client, upstream, true) })
}

// eachStyle runs a behavior once for every style of the client and of the upstream: in four pairs, which the turn chooses. A turn of zero
// passes the style through. app/dialect has what requests, answers and streams look like in every pair.
func eachStyle(t *testing.T, kind string, turn int, all *bench, test func(b *bench, client, upstream llm.Style)) {
	t.Helper()
	styles := llm.Styles()
	for i, client := range styles {
		upstream := styles[(i+turn)%len(styles)]
		t.Run(string(client)+" on "+string(upstream)+kind, func(t *testing.T) { test(all.fresh(t), client, upstream) })
	}
}

// listenTo reads an answer in one piece or as a stream.
func (b *bench) listenTo(s *sink, style llm.Style, stream bool) heard {
	b.t.Helper()
	t, ok := b.t.(*testing.T)
	if !ok {
		b.t.Fatal("not a test")
	}
	if stream {
		return listen(t, style, s.text())
	}
	return body(t, style, s.text())
}

// priced is what the styled models cost.
func priced(u llm.Usage) int64 {
	return u.Input*3000 + u.CacheRead*300 + u.CacheWrite*3750 + (u.Output-u.Reasoning)*15000 + u.Reasoning*20000
}
