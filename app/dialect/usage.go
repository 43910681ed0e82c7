package dialect

import (
	"umg/app/llm"
)

// meter is how a style says what an answer has used.
type meter struct {
	holder string // the member of a frame that holds the usage; empty when it stands at the top
	member string
	append func(dst []byte, u llm.Usage) []byte
}

// billed is the usage that the client reads: the upstream's own with our cost in it, or ours where it has none that
// can be true.
func (m *meter) billed(raw []byte, b Bill) []byte {
	cost := []byte(b.Cost.String())
	if !b.Estimated && !isEmpty(raw) && raw[0] == '{' {
		return appendWith(nil, raw, "cost", cost)
	}
	return appendWith(nil, m.append(nil, b.Usage), "cost", cost)
}

// appendBilled appends the data of a frame with the usage in it as the bill says.
func (m *meter) appendBilled(dst, doc []byte, b Bill) []byte {
	in := span{0, len(doc)}
	if m.holder != "" {
		in = memberOf(doc, m.holder)
	}
	object := in.of(doc)
	dst = append(dst, doc[:in.from]...)
	dst = appendWith(dst, object, m.member, m.billed(memberOf(object, m.member).of(object), b))
	return append(dst, doc[in.to:]...)
}

// memberOf is where an object has the value of a member.
func memberOf(object []byte, name string) span {
	o := openObject(object, 0)
	for o.next() {
		if string(o.name()) == name {
			return o.value
		}
	}
	return span{}
}

// appendWith appends an object, which must be whole, with a member in it: in the place of its own if it has one.
func appendWith(dst, object []byte, name string, value []byte) []byte {
	o := openObject(object, 0)
	for o.next() {
		if string(o.name()) == name {
			dst = append(append(dst, object[:o.value.from]...), value...)
			return append(dst, object[o.value.to:]...)
		}
	}
	brace := o.at - 1 // the closing one: the object was walked to its end
	dst = append(dst, object[:brace]...)
	if o.begun {
		dst = append(dst, ',')
	}
	dst = append(append(append(append(dst, '"'), name...), `":`...), value...)
	return append(dst, object[brace:]...)
}

// counts are the tokens of a usage object. Each is -1 as long as nobody has said it.
type counts struct{ input, cacheRead, cacheWrite, output, reasoning int64 }

func noCounts() counts { return counts{-1, -1, -1, -1, -1} }

// usage is what the counts say. It reports false when they lack the input or the output, or cannot be true: such a
// reading prices nothing.
func (c counts) usage() (llm.Usage, bool) {
	if c.input < 0 || c.output < 0 {
		return llm.Usage{}, false
	}
	u := llm.Usage{
		Input: c.input, CacheRead: max(0, c.cacheRead), CacheWrite: max(0, c.cacheWrite), Output: c.output, Reasoning: max(0, c.reasoning),
	}
	return u, u.Valid()
}

// inclusive makes the input what is left of it without the cached tokens that it includes.
func (c counts) inclusive() counts {
	c.input -= max(0, c.cacheRead) + max(0, c.cacheWrite)
	return c
}

// chatUsage reads a usage object of the chat style.
func chatUsage(raw []byte) (llm.Usage, bool) {
	c, good := noCounts(), true
	o := openObject(raw, 0)
	for o.next() {
		switch value := o.value.of(raw); string(o.key.of(raw)) {
		case "prompt_tokens":
			c.input = tokens(value, &good)
		case "completion_tokens":
			c.output = tokens(value, &good)
		case "prompt_tokens_details":
			c.cacheRead = detail(value, "cached_tokens", &good)
			c.cacheWrite = detail(value, "cache_write_tokens", &good)
		case "completion_tokens_details":
			c.reasoning = detail(value, "reasoning_tokens", &good)
		}
	}
	u, ok := c.inclusive().usage()
	return u, ok && good && !o.broken
}

// responsesUsage reads a usage object of the responses style.
func responsesUsage(raw []byte) (llm.Usage, bool) {
	c, good := noCounts(), true
	o := openObject(raw, 0)
	for o.next() {
		switch value := o.value.of(raw); string(o.key.of(raw)) {
		case "input_tokens":
			c.input = tokens(value, &good)
		case "output_tokens":
			c.output = tokens(value, &good)
		case "input_tokens_details":
			c.cacheRead = detail(value, "cached_tokens", &good)
			c.cacheWrite = detail(value, "cache_write_tokens", &good)
		case "output_tokens_details":
			c.reasoning = detail(value, "reasoning_tokens", &good)
		}
	}
	u, ok := c.inclusive().usage()
	return u, ok && good && !o.broken
}

// readMessages takes over what a usage object of the messages style says; what it leaves out stays as it was, and a
// reading that cannot be true changes nothing. It reports whether the object says the output so far.
func (c *counts) readMessages(raw []byte) bool {
	next, good := *c, true
	next.output = -1
	o := openObject(raw, 0)
	for o.next() {
		value := o.value.of(raw)
		if isNull(value) {
			continue
		}
		switch string(o.key.of(raw)) {
		case "input_tokens":
			next.input = tokens(value, &good)
		case "cache_read_input_tokens":
			next.cacheRead = tokens(value, &good)
		case "cache_creation_input_tokens":
			next.cacheWrite = tokens(value, &good)
		case "output_tokens":
			next.output = tokens(value, &good)
		case "output_tokens_details":
			next.reasoning = detail(value, "thinking_tokens", &good)
		}
	}
	if o.broken || !good {
		return false
	}
	said := next.output >= 0
	if !said {
		next.output = c.output
	}
	*c = next
	return said
}

// nativeUsage reads a usageMetadata object. Counts of nothing are left out by this style.
func nativeUsage(raw []byte) (llm.Usage, bool) {
	c, good := noCounts(), true
	toolUse, candidates := int64(0), int64(0)
	o := openObject(raw, 0)
	for o.next() {
		value := o.value.of(raw)
		if isNull(value) {
			continue
		}
		switch string(o.key.of(raw)) {
		case "promptTokenCount":
			c.input = tokens(value, &good)
		case "toolUsePromptTokenCount":
			toolUse = tokens(value, &good)
		case "cachedContentTokenCount":
			c.cacheRead = tokens(value, &good)
		case "candidatesTokenCount":
			candidates = tokens(value, &good)
		case "thoughtsTokenCount":
			c.reasoning = tokens(value, &good)
		}
	}
	if c.input >= 0 {
		c.input += toolUse
	}
	c.output = candidates + max(0, c.reasoning)
	u, ok := c.inclusive().usage()
	return u, ok && good && !o.broken
}

// tokens reads a count and clears good when it is none.
func tokens(value []byte, good *bool) int64 {
	n := int64(0)
	if len(value) == 0 || len(value) > len("2147483648") {
		*good = false
		return 0
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			*good = false
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	if n > countMax {
		*good = false
	}
	return n
}

// detail reads one count of a details object; absent and null are zero.
func detail(value []byte, name string, good *bool) int64 {
	if isNull(value) {
		return 0
	}
	o := openObject(value, 0)
	for o.next() {
		if string(o.key.of(value)) == name && !isNull(o.value.of(value)) {
			return tokens(o.value.of(value), good)
		}
	}
	if o.broken {
		*good = false
	}
	return 0
}
