package dialect

import (
	"bytes"
	"strconv"
	"sync"

	"umg/app/dialect/chat"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/sse"
	"umg/app/usagereader"
)

// chatBody is a whole chat answer.
type chatBody struct {
	raw     []byte
	outline chunk
	members []rawjson.Member
	stats   StreamStats
	// space is memory of members, which few answers exceed.
	space [12]rawjson.Member
}

var chatBodies = sync.Pool{New: func() any { return &chatBody{} }}

// readChatBody checks that raw is a whole answer with choices and records the edits for the client.
func readChatBody(raw []byte, a llm.ResponseOptions) (Body, error) {
	b, _ := chatBodies.Get().(*chatBody)
	b.raw, b.members = raw, b.space[:0]
	c := &b.outline
	var ok bool
	if b.members, ok = c.read(raw, "message", b.members); !ok {
		return nil, llm.ErrBroken
	}
	if c.failure.Found() && !rawjson.IsNull(c.failure.Of(raw)) {
		return nil, &llm.UpstreamError{Body: raw[:min(len(raw), failureBytesMax)]}
	}
	if c.count == 0 {
		return nil, llm.ErrBroken
	}
	if err := c.failedBy(raw); err != nil {
		return nil, err
	}
	b.stats = StreamStats{ContentBytes: c.bytes}
	if finish := rawjson.String(c.finish.Of(raw)); finish != "" {
		b.stats.Finish = finishOf(llm.StopOf(finish), c.calls)
	}
	b.stats.readUsage(usagereader.For(&a, llm.Chat), raw, c.usage.Of(raw))
	model := rawjson.Quote(a.Model)
	for i := range b.members {
		switch m := &b.members[i]; m.Value {
		case c.model:
			if string(c.model.Of(raw)) != model {
				m.With = model
			}
		case c.failure:
			m.Drop = true
		}
	}
	return b, nil
}

func (b *chatBody) Stats() StreamStats { return b.stats }

// Release ends the use of the answer.
func (b *chatBody) Release() {
	*b = chatBody{}
	chatBodies.Put(b)
}

func (b *chatBody) Append(dst []byte, charge llm.Charge) []byte {
	usage := chatFormat.usageWithCost(b.outline.usage.Of(b.raw), charge)
	if !b.outline.usage.Found() {
		return appendWith(dst, rawjson.AppendMembers(nil, b.raw, b.members), chatFormat.member, usage)
	}
	for i := range b.members {
		if b.members[i].Value == b.outline.usage {
			b.members[i].With = string(usage)
		}
	}
	return b.appendEdited(dst)
}

// appendEdited appends the answer with its edits. It keeps the white space between members, unless one is dropped.
func (b *chatBody) appendEdited(dst []byte) []byte {
	var all rawjson.Edits
	for i := range b.members {
		m := &b.members[i]
		if m.Drop || m.With != "" && all.Full() {
			return rawjson.AppendMembers(dst, b.raw, b.members)
		}
		if m.With != "" {
			all.Replace(m.Value, m.With)
		}
	}
	return all.AppendTo(dst, b.raw)
}

// chatFrames writes a whole answer as the frames of a stream. Each choice becomes its role, its message as one delta and its finish
// reason. The usage and the end mark follow.
func chatFrames(raw []byte) ([]byte, error) {
	raw = oneLine(raw)
	var c chunk
	if _, ok := c.read(raw, "message", nil); !ok {
		return nil, llm.ErrBroken
	}
	if c.failure.Found() && !rawjson.IsNull(c.failure.Of(raw)) {
		return append(sse.AppendData(nil, raw), chat.DoneFrame...), nil
	}
	if err := c.failedBy(raw); err != nil {
		return nil, err
	}
	e := chat.Envelope{ID: `""`, Created: "0", Model: `""`}
	for _, one := range []struct {
		at rawjson.Span
		to *string
	}{{c.id, &e.ID}, {c.created, &e.Created}, {c.model, &e.Model}} {
		if one.at.Found() {
			*one.to = string(one.at.Of(raw))
		}
	}
	var out []byte
	if !c.choices.Found() || rawjson.IsNull(c.choices.Of(raw)) {
		return nil, llm.ErrBroken
	}
	list := rawjson.OpenArray(raw[:c.choices.To], c.choices.From)
	for index := int64(0); list.Next(); index++ {
		message, finish := parts(raw, list.Value)
		if !rawjson.IsNull(message) {
			out = e.AppendDelta(out, index, []byte(`{"role":"assistant","content":""}`))
			out = e.AppendDelta(out, index, deltaOf(message))
		}
		if finish != "" {
			out = e.AppendFinish(out, index, finish)
		}
	}
	if list.End() < 0 {
		return nil, llm.ErrBroken
	}
	if c.usage.Found() && !rawjson.IsNull(c.usage.Of(raw)) {
		out = e.AppendUsage(out, c.usage.Of(raw))
	}
	return append(out, chat.DoneFrame...), nil
}

// oneLine returns a document without line breaks, which in JSON can only be between two tokens.
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
func parts(raw []byte, at rawjson.Span) (message []byte, finish string) {
	o := rawjson.OpenObject(raw[:at.To], at.From)
	for o.Next() {
		switch string(o.Name()) {
		case "message":
			message = o.Value.Of(raw)
		case "finish_reason":
			finish = rawjson.String(o.Value.Of(raw))
		}
	}
	return message, finish
}

// deltaOf returns a message without its role, as one delta.
func deltaOf(message []byte) []byte {
	out := []byte{'{'}
	o := rawjson.OpenObject(message, 0)
	for o.Next() {
		name := string(o.Name())
		if name == "role" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if name == "tool_calls" {
			out = append(append(out, `"tool_calls":`...), numberCalls(o.Value.Of(message))...)
		} else {
			out = append(out, o.Member.Of(message)...)
		}
	}
	if o.Broken {
		return message
	}
	return append(out, '}')
}

// numberCalls adds the index to each tool call of a list, as deltas of a stream have it.
func numberCalls(calls []byte) []byte {
	list := rawjson.OpenArray(calls, 0)
	out := []byte{'['}
	for index := 0; list.Next(); index++ {
		if index > 0 {
			out = append(out, ',')
		}
		call := list.Value.Of(calls)
		if call[0] != '{' || rawjson.IsEmpty(call) {
			return calls
		}
		out = append(out, `{"index":`...)
		out = strconv.AppendInt(out, int64(index), 10)
		out = append(append(out, ','), call[1:]...)
	}
	if list.End() < 0 {
		return calls
	}
	return append(out, ']')
}
