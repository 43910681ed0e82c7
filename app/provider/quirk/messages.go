package quirk

import (
	"bytes"
	"slices"

	"umg/app/dialect/rawjson"
)

// message is one message of a conversation.
type message struct {
	raw  []byte
	role string
}

// conversation is the list of the messages of a request.
type conversation struct {
	list    []message
	changed bool
}

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	messageGap    = "\n\n"
)

// arrangesMessages reports whether the provider takes only some orders of messages.
func (r *Rules) arrangesMessages() bool {
	return r.systemOrder != "" || r.alternates || r.prefillMember != "" || r.dropInMessages != nil
}

// arrange returns the messages of a request in an order that the provider takes, with an instruction added unless it is empty. It returns
// nil when nothing changes.
func (r *Rules) arrange(messages []byte, instruction string) []byte {
	c := conversation{}
	a := rawjson.OpenArray(messages, 0)
	for a.Next() {
		raw := a.Value.Of(messages)
		c.list = append(c.list, message{raw: raw, role: rawjson.String(rawjson.MemberOf(raw, "role").Of(raw))})
	}
	if a.End() < 0 {
		return nil
	}
	c.drop(r.dropInMessages)
	if instruction != "" {
		c.instruct(instruction)
	}
	if r.systemOrder != "" {
		c.systemFirst()
	}
	if r.systemOrder == systemOne {
		c.merge(func(role string) bool { return role == roleSystem })
	}
	if r.alternates {
		c.merge(func(role string) bool { return role == roleUser || role == roleAssistant })
	}
	if r.prefillMember != "" {
		c.markPrefill(r.prefillMember)
	}
	if !c.changed {
		return nil
	}
	return c.bytes()
}

// drop leaves members of messages of the assistant out.
func (c *conversation) drop(names []string) {
	for i := range c.list {
		m := &c.list[i]
		isRefused := func(name string) bool { return rawjson.MemberOf(m.raw, name).Found() }
		if m.role == roleAssistant && slices.ContainsFunc(names, isRefused) {
			m.raw, c.changed = rawjson.Without(m.raw, names...), true
		}
	}
}

// instruct adds a message of the system behind those at the beginning.
func (c *conversation) instruct(text string) {
	added := message{raw: []byte(`{"role":"system","content":` + rawjson.Quote(text) + `}`), role: roleSystem}
	c.changed = true
	at := 0
	for at < len(c.list) && c.list[at].role == roleSystem {
		at++
	}
	c.list = append(c.list[:at], append([]message{added}, c.list[at:]...)...)
}

// systemFirst moves the messages of the system to the beginning.
func (c *conversation) systemFirst() {
	sorted := make([]message, 0, len(c.list))
	for _, isSystem := range [...]bool{true, false} {
		for _, m := range c.list {
			if (m.role == roleSystem) == isSystem {
				sorted = append(sorted, m)
			}
		}
	}
	for i := range sorted {
		c.changed = c.changed || &sorted[i].raw[0] != &c.list[i].raw[0]
	}
	c.list = sorted
}

// merge joins messages of the same role that follow each other, when the role is one of those. Messages with other members stay apart.
func (c *conversation) merge(isOne func(role string) bool) {
	var merged []message
	for _, m := range c.list {
		if n := len(merged); n > 0 && merged[n-1].role == m.role && isOne(m.role) {
			if raw := joinMessages(merged[n-1].raw, m.raw); raw != nil {
				merged[n-1].raw, c.changed = raw, true
				continue
			}
		}
		merged = append(merged, m)
	}
	c.list = merged
}

// joinMessages returns one message with the contents of two. It returns nil when one of them has more than a role and a content.
func joinMessages(first, second []byte) []byte {
	if !isPlain(first) || !isPlain(second) {
		return nil
	}
	at := rawjson.MemberOf(first, "content")
	content := joinContents(at.Of(first), rawjson.Get(second, "content"))
	if content == nil {
		return nil
	}
	joined := append([]byte(nil), first[:at.From]...)
	return append(append(joined, content...), first[at.To:]...)
}

// isPlain reports whether a message has a role, a content and nothing else.
func isPlain(message []byte) bool {
	known := 0
	o := rawjson.OpenObject(message, 0)
	for o.Next() {
		switch string(o.Name()) {
		case "role", "content":
			known++
		default:
			if !rawjson.IsEmpty(o.Value.Of(message)) {
				return false
			}
		}
	}
	return known == 2
}

// joinContents joins two texts, or two lists of parts. It returns nil for other contents.
func joinContents(first, second []byte) []byte {
	if len(first) == 0 || len(second) == 0 {
		return nil
	}
	if first[0] == '"' && second[0] == '"' {
		return []byte(rawjson.Quote(rawjson.String(first) + messageGap + rawjson.String(second)))
	}
	list := []byte{'['}
	for _, content := range [...][]byte{first, second} {
		switch content[0] {
		case '"':
			list = rawjson.AppendElement(list, []byte(`{"type":"text","text":`+string(content)+`}`))
		case '[':
			a := rawjson.OpenArray(content, 0)
			for a.Next() {
				list = rawjson.AppendElement(list, a.Value.Of(content))
			}
		default:
			return nil
		}
	}
	return append(list, ']')
}

// markPrefill marks a last message of the assistant as the beginning of the answer. A message with calls is not one.
func (c *conversation) markPrefill(name string) {
	n := len(c.list)
	if n == 0 || c.list[n-1].role != roleAssistant {
		return
	}
	last := c.list[n-1].raw
	if !rawjson.IsEmpty(rawjson.Get(last, "tool_calls")) || rawjson.MemberOf(last, name).Found() {
		return
	}
	marked := append([]byte(nil), bytes.TrimRight(last[:len(last)-1], " \t\r\n")...)
	c.list[n-1].raw, c.changed = append(marked, `,"`+name+`":true}`...), true
}

// bytes returns the messages as a JSON array.
func (c *conversation) bytes() []byte {
	dst := []byte{'['}
	for i := range c.list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c.list[i].raw...)
	}
	return append(dst, ']')
}
