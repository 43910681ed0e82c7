package dialect

import (
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// chunk has the positions of the members of one chat chunk or chat answer.
type chunk struct {
	id, created, model, choices, usage, failure rawjson.Span

	// count is the number of choices.
	count int
	// finished is the number of choices with a finish reason.
	finished int
	// content means that a choice has content.
	content bool
	// role means that the first choice has a role and nothing else.
	role bool
	// calls means that a choice has a tool call.
	calls bool
	bytes int64
	// finish is the last finish reason.
	finish rawjson.Span
	// failed is the first finish reason that means a failure.
	failed rawjson.Span
	// strings is the number of strings with content.
	strings int
	// text is the last string with content.
	text rawjson.Span
	// delta is the delta of the last choice.
	delta rawjson.Span
	// bare means that the last choice has no members other than index, delta and finish_reason.
	bare bool
}

// read scans a chunk once. It returns the list with its members added, and reports false when the JSON is broken. The part of a choice
// is the member "delta" in chunks and "message" in answers.
func (c *chunk) read(doc []byte, part string, list []rawjson.Member) ([]rawjson.Member, bool) {
	o := rawjson.OpenObject(doc, 0)
	for o.NextKey() {
		key := o.Key.Of(doc)
		if string(key) == "choices" {
			if !o.EndValue(rawjson.EachElement(doc, o.Value.From, func(from int) int { return c.readChoice(doc, from, part) })) {
				break
			}
			c.choices = o.Value
		} else if !o.EndValue(rawjson.ValueEnd(doc, o.Value.From, rawjson.DepthMax)) {
			break
		}
		switch string(key) {
		case "id":
			c.id = o.Value
		case "created":
			c.created = o.Value
		case "model":
			c.model = o.Value
		case "usage":
			c.usage = o.Value
		case "error":
			c.failure = o.Value
		}
		list = append(list, rawjson.Member{At: o.Member, Value: o.Value})
	}
	return list, o.IsWhole()
}

// readChoice scans a choice. It returns the index after it, or -1 when it is broken.
func (c *chunk) readChoice(doc []byte, from int, part string) int {
	o := rawjson.OpenObject(doc, from)
	c.delta, c.bare = rawjson.Span{}, true
	for o.NextKey() {
		key := o.Key.Of(doc)
		if string(key) == part {
			if !o.EndValue(c.readPart(doc, o.Value.From)) {
				break
			}
			c.delta = o.Value
			continue
		}
		if !o.EndValue(rawjson.ValueEnd(doc, o.Value.From, rawjson.DepthMax)) {
			break
		}
		switch string(key) {
		case "finish_reason":
			if !rawjson.IsNull(o.Value.Of(doc)) {
				c.finished++
				if c.finish = o.Value; !c.failed.Found() && llm.StopOf(rawjson.String(o.Value.Of(doc))).Failed() {
					c.failed = o.Value
				}
			}
		case "index":
		default:
			c.bare = c.bare && rawjson.IsEmpty(o.Value.Of(doc))
		}
	}
	end := o.End()
	if end >= 0 {
		c.count++
	}
	return end
}

// readPart scans one delta or message and counts its content. Every member that is not empty, other than the role, is content, so that
// unknown members count also.
func (c *chunk) readPart(doc []byte, from int) int {
	if from < len(doc) && doc[from] == 'n' {
		return rawjson.LiteralEnd(doc, from, "null")
	}
	content, role := false, false
	// Thoughts are counted once, although some providers send them in two members.
	thoughts := int64(0)
	o := rawjson.OpenObject(doc, from)
	for o.Next() {
		value := o.Value.Of(doc)
		if string(o.Key.Of(doc)) == "role" {
			role = !rawjson.IsEmpty(value)
			continue
		}
		if rawjson.IsEmpty(value) || value[0] != '"' && value[0] != '[' && value[0] != '{' {
			continue
		}
		c.calls = c.calls || string(o.Key.Of(doc)) == "tool_calls"
		text, thought, begins := partText(string(o.Key.Of(doc)), value)
		thoughts = max(thoughts, thought)
		c.bytes += text
		content = content || begins
		c.strings++
		if c.text = o.Value; value[0] != '"' {
			// An array of parts may have several strings.
			c.strings++
		}
	}
	c.bytes += thoughts
	if c.count == 0 {
		c.role = role && !content
	}
	c.content = c.content || content
	return o.End()
}

// partText counts the text and the thoughts in a member of a delta or a message, and reports whether an answer may begin with it. A call,
// or a detail of the reasoning, without text begins no answer.
func partText(member string, value []byte) (text, thoughts int64, begins bool) {
	switch member {
	case "tool_calls":
		text = sumOf(value, callBytes)
		return text, 0, text > 0
	case "reasoning", "reasoning_content":
		return 0, rawjson.TextBytes(value), true
	case "reasoning_details":
		thoughts = sumOf(value, thoughtBytes)
		return 0, thoughts, thoughts > 0
	case "channel", "annotations": // Neither is a part of the text of the model.
		return 0, 0, false
	}
	return rawjson.TextBytes(value), 0, true
}

// sumOf adds up a number of each element of an array. Any other value counts as the only element.
func sumOf(value []byte, number func(element []byte) int64) (sum int64) {
	if len(value) == 0 || value[0] != '[' {
		return number(value)
	}
	list := rawjson.OpenArray(value, 0)
	for list.Next() {
		sum += number(list.Value.Of(value))
	}
	return sum
}

// callBytes counts the text that the model wrote for a tool call: the name of the tool, and its arguments or its input.
func callBytes(call []byte) (n int64) {
	o := rawjson.OpenObject(call, 0)
	for o.Next() {
		switch string(o.Key.Of(call)) {
		case "function", "custom":
			n += calledBytes(o.Value.Of(call))
		}
	}
	return n
}

// calledBytes counts the text in the part of a tool call that says what is called.
func calledBytes(called []byte) (n int64) {
	o := rawjson.OpenObject(called, 0)
	for o.Next() {
		switch string(o.Key.Of(called)) {
		case "name", "arguments", "input":
			if value := o.Value.Of(called); !rawjson.IsEmpty(value) {
				n += rawjson.TextBytes(value)
			}
		}
	}
	return n
}

// thoughtBytes counts the text of one detail of the reasoning. Encrypted data is no text.
func thoughtBytes(detail []byte) int64 {
	return memberBytes(detail, "text") + memberBytes(detail, "summary")
}

// memberBytes counts the text of a member; zero when it is absent.
func memberBytes(object []byte, name string) int64 {
	if value := rawjson.Get(object, name); !rawjson.IsEmpty(value) {
		return rawjson.TextBytes(value)
	}
	return 0
}
