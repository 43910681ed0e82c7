package dialect

import "umg/app/dialect/chat"

// failedBy is the error of a chunk or an answer with a choice that has failed.
func (c *chunk) failedBy(doc []byte) error {
	if !c.failed.found() {
		return nil
	}
	word := text(c.failed.of(doc))
	return failedBy(chat.StopOf(word), word)
}

// member is one top-level member of an answer, and what becomes of it.
type member struct {
	at   span // key, colon and value
	val  span
	drop bool
	with string // replaces the value when not empty
}

// chunk is the outline of one chat chunk, or of one chat answer: both have the same members at the top.
type chunk struct {
	id, created, model, choices, usage, failure span

	count    int  // choices
	finished int  // choices with a finish reason
	content  bool // any choice says something
	role     bool // the first choice names its role and says nothing else
	calls    bool // any choice calls a tool
	bytes    int64
	finish   span // the last finish reason
	failed   span // the first of them that means a failure
	strings  int  // that say something
	text     span // the last of them
	delta    span // of the last choice
	bare     bool // the last choice has no members besides index, delta and finish_reason
}

// read walks a chunk once. It notes its members in list, which is returned, and reports false when the JSON is cut
// or broken. The part of a choice that says something is "delta" in chunks and "message" in answers.
func (c *chunk) read(doc []byte, part string, list []member) ([]member, bool) {
	o := openObject(doc, 0)
	for o.nextKey() {
		key := o.key.of(doc)
		if string(key) == "choices" {
			if !o.close(c.readChoices(doc, o.value.from, part)) {
				break
			}
			c.choices = o.value
		} else if !o.close(valueEnd(doc, o.value.from, depthMax)) {
			break
		}
		switch string(key) {
		case "id":
			c.id = o.value
		case "created":
			c.created = o.value
		case "model":
			c.model = o.value
		case "usage":
			c.usage = o.value
		case "error":
			c.failure = o.value
		}
		list = append(list, member{at: o.member, val: o.value})
	}
	return list, o.whole()
}

// readChoices walks the choices and returns where they end, or -1.
func (c *chunk) readChoices(doc []byte, from int, part string) int {
	if from < len(doc) && doc[from] == 'n' {
		return literalEnd(doc, from, "null")
	}
	list := openArray(doc, from)
	for list.nextValue() {
		if !list.close(c.readChoice(doc, list.value.from, part)) {
			break
		}
		c.count++
	}
	return list.end()
}

func (c *chunk) readChoice(doc []byte, from int, part string) int {
	o := openObject(doc, from)
	c.delta, c.bare = span{}, true
	for o.nextKey() {
		key := o.key.of(doc)
		if string(key) == part {
			if !o.close(c.readPart(doc, o.value.from)) {
				break
			}
			c.delta = o.value
			continue
		}
		if !o.close(valueEnd(doc, o.value.from, depthMax)) {
			break
		}
		switch string(key) {
		case "finish_reason":
			if !isNull(o.value.of(doc)) {
				c.finished++
				if c.finish = o.value; !c.failed.found() && chat.StopOf(text(o.value.of(doc))).Failed() {
					c.failed = o.value
				}
			}
		case "index":
		default:
			c.bare = c.bare && isEmpty(o.value.of(doc))
		}
	}
	return o.end()
}

// readPart walks one delta or message: whether it says something, and how much. Whatever is neither its role nor
// empty is content, so that reasoning, refusals, tool calls and what comes after them count without being listed.
func (c *chunk) readPart(doc []byte, from int) int {
	if from < len(doc) && doc[from] == 'n' {
		return literalEnd(doc, from, "null")
	}
	content, role := false, false
	o := openObject(doc, from)
	for o.next() {
		value := o.value.of(doc)
		if string(o.key.of(doc)) == "role" {
			role = !isEmpty(value)
			continue
		}
		if !isEmpty(value) && (value[0] == '"' || value[0] == '[' || value[0] == '{') {
			content = true
			c.calls = c.calls || string(o.key.of(doc)) == "tool_calls"
			c.bytes += textBytes(value)
			c.strings++
			if c.text = o.value; value[0] != '"' {
				c.strings++ // it may have several
			}
		}
	}
	if c.count == 0 {
		c.role = role && !content
	}
	c.content = c.content || content
	return o.end()
}

// appendMembers appends the document with its members dropped and replaced as noted; when nothing is noted it stays
// byte for byte.
func appendMembers(dst, doc []byte, list []member) []byte {
	if !changes(list) {
		return append(dst, doc...)
	}
	dst = append(dst, '{')
	first := true
	for i := range list {
		m := &list[i]
		if m.drop {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if m.with == "" {
			dst = append(dst, m.at.of(doc)...)
			continue
		}
		dst = append(dst, doc[m.at.from:m.val.from]...)
		dst = append(dst, m.with...)
	}
	return append(dst, '}')
}

// changes reports whether anything is noted.
func changes(list []member) bool {
	for i := range list {
		if list[i].drop || list[i].with != "" {
			return true
		}
	}
	return false
}
