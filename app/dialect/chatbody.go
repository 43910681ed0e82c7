package dialect

import (
	"bytes"
	"strconv"

	"umg/app/dialect/chat"
	"umg/app/llm"
	"umg/app/sse"
)

// chatBody is a whole chat answer.
type chatBody struct {
	raw     []byte
	outline chunk
	members []member
	tally   StreamStats
}

// readChatBody checks that raw is a whole answer with choices and notes what changes in it.
func readChatBody(raw []byte, a Ask) (Body, error) {
	b := &chatBody{raw: raw, members: make([]member, 0, 12)}
	c := &b.outline
	var ok bool
	if b.members, ok = c.read(raw, "message", b.members); !ok {
		return nil, llm.ErrBroken
	}
	if c.failure.found() && !isNull(c.failure.of(raw)) {
		return nil, &llm.UpstreamError{Body: raw[:min(len(raw), failureBytesMax)]}
	}
	if c.count == 0 {
		return nil, llm.ErrBroken
	}
	if err := c.failedBy(raw); err != nil {
		return nil, err
	}
	b.tally = StreamStats{ContentBytes: c.bytes}
	if finish := text(c.finish.of(raw)); finish != "" {
		b.tally.Finish = finishOf(chat.StopOf(finish), c.calls)
	}
	if c.usage.found() && !isNull(c.usage.of(raw)) {
		b.tally.Usage, b.tally.Reported = chatUsage(c.usage.of(raw))
	}
	model := quoted(a.Model)
	for i := range b.members {
		switch m := &b.members[i]; m.val {
		case c.model:
			if string(c.model.of(raw)) != model {
				m.with = model
			}
		case c.failure:
			m.drop = true
		}
	}
	return b, nil
}

func (b *chatBody) Tally() StreamStats { return b.tally }

func (b *chatBody) Append(dst []byte, bill Bill) []byte {
	usage := chatMeter.billed(b.outline.usage.of(b.raw), bill)
	if !b.outline.usage.found() {
		return appendWith(dst, appendMembers(nil, b.raw, b.members), chatMeter.member, usage)
	}
	for i := range b.members {
		if b.members[i].val == b.outline.usage {
			b.members[i].with = string(usage)
		}
	}
	return b.appendEdited(dst)
}

// appendEdited keeps the blanks between members, unless one is dropped.
func (b *chatBody) appendEdited(dst []byte) []byte {
	var all edits
	for i := range b.members {
		m := &b.members[i]
		if m.drop || m.with != "" && all.full() {
			return appendMembers(dst, b.raw, b.members)
		}
		if m.with != "" {
			all.replace(m.val, m.with)
		}
	}
	return all.append(dst, b.raw)
}

// chatFrames writes a whole answer as the frames of a stream: for each choice the role, its message as one delta and
// its finish reason, then the usage and the end.
func chatFrames(raw []byte) ([]byte, error) {
	raw = oneLine(raw)
	var c chunk
	if _, ok := c.read(raw, "message", nil); !ok {
		return nil, llm.ErrBroken
	}
	if c.failure.found() && !isNull(c.failure.of(raw)) {
		return append(sse.AppendData(nil, raw), chat.DoneFrame...), nil
	}
	if err := c.failedBy(raw); err != nil {
		return nil, err
	}
	e := chat.Envelope{ID: `""`, Created: "0", Model: `""`}
	for _, one := range []struct {
		at span
		to *string
	}{{c.id, &e.ID}, {c.created, &e.Created}, {c.model, &e.Model}} {
		if one.at.found() {
			*one.to = string(one.at.of(raw))
		}
	}
	var out []byte
	if !c.choices.found() || isNull(c.choices.of(raw)) {
		return nil, llm.ErrBroken
	}
	list := openArray(raw[:c.choices.to], c.choices.from)
	for index := int64(0); list.next(); index++ {
		message, finish := parts(raw, list.value)
		if !isNull(message) {
			out = e.AppendDelta(out, index, []byte(`{"role":"assistant","content":""}`))
			out = e.AppendDelta(out, index, deltaOf(message))
		}
		if finish != "" {
			out = e.AppendFinish(out, index, finish)
		}
	}
	if list.broken {
		return nil, llm.ErrBroken
	}
	if c.usage.found() && !isNull(c.usage.of(raw)) {
		out = e.AppendUsage(out, c.usage.of(raw))
	}
	return append(out, chat.DoneFrame...), nil
}

// oneLine is a document without line breaks, which in JSON can only stand between two tokens.
func oneLine(doc []byte) []byte {
	if !bytes.ContainsAny(doc, "\r\n") {
		return doc
	}
	return bytes.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return ' '
		}
		return r
	}, doc)
}

// parts finds the message and the finish reason of a choice.
func parts(raw []byte, at span) (message []byte, finish string) {
	o := openObject(raw[:at.to], at.from)
	for o.next() {
		switch string(o.name()) {
		case "message":
			message = o.value.of(raw)
		case "finish_reason":
			finish = text(o.value.of(raw))
		}
	}
	return message, finish
}

// deltaOf is what a message says beyond its role, as one delta.
func deltaOf(message []byte) []byte {
	out := []byte{'{'}
	o := openObject(message, 0)
	for o.next() {
		name := string(o.name())
		if name == "role" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if name == "tool_calls" {
			out = append(append(out, `"tool_calls":`...), numberCalls(o.value.of(message))...)
		} else {
			out = append(out, o.member.of(message)...)
		}
	}
	if o.broken {
		return message
	}
	return append(out, '}')
}

// numberCalls gives every tool call of a list the index that the deltas of a stream have.
func numberCalls(calls []byte) []byte {
	list := openArray(calls, 0)
	out := []byte{'['}
	for index := 0; list.next(); index++ {
		if index > 0 {
			out = append(out, ',')
		}
		call := list.value.of(calls)
		if call[0] != '{' || isEmpty(call) {
			return calls
		}
		out = append(out, `{"index":`...)
		out = strconv.AppendInt(out, int64(index), 10)
		out = append(append(out, ','), call[1:]...)
	}
	if list.broken {
		return calls
	}
	return append(out, ']')
}
