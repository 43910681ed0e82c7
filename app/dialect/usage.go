package dialect

import (
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// meter is how a style says what an answer has used.
type meter struct {
	// holder is the member of a frame that holds the usage; empty for the frame itself.
	holder string
	member string
	append func(dst []byte, u llm.Usage) []byte
}

// usageWithCost is the usage that the client reads: the upstream's own with our cost in it, or ours where it has none that
// can be true.
func (m *meter) usageWithCost(raw []byte, b llm.Charge) []byte {
	cost := []byte(b.Cost.String())
	if !b.Estimated && !rawjson.IsEmpty(raw) && raw[0] == '{' {
		return appendWith(nil, raw, "cost", cost)
	}
	return appendWith(nil, m.append(nil, b.Usage), "cost", cost)
}

// appendWithUsage appends the data of a frame with the usage in it as the bill says.
func (m *meter) appendWithUsage(dst, doc []byte, b llm.Charge) []byte {
	in := rawjson.Span{From: 0, To: len(doc)}
	if m.holder != "" {
		in = rawjson.MemberOf(doc, m.holder)
	}
	object := in.Of(doc)
	dst = append(dst, doc[:in.From]...)
	dst = appendWith(dst, object, m.member, m.usageWithCost(rawjson.Get(object, m.member), b))
	return append(dst, doc[in.To:]...)
}

// appendWith appends an object, which must be whole, with a member in it: in the place of its own if it has one.
func appendWith(dst, object []byte, name string, value []byte) []byte {
	o := rawjson.OpenObject(object, 0)
	for o.Next() {
		if string(o.Name()) == name {
			dst = append(append(dst, object[:o.Value.From]...), value...)
			return append(dst, object[o.Value.To:]...)
		}
	}
	if o.Broken {
		return append(dst, object...)
	}
	brace := o.End() - 1
	dst = append(dst, object[:brace]...)
	if o.Begun {
		dst = append(dst, ',')
	}
	dst = append(append(append(append(dst, '"'), name...), `":`...), value...)
	return append(dst, object[brace:]...)
}

// emptyReport is a report in which nothing has been said yet.
func emptyReport() llm.Report { return llm.Report{Input: llm.Unknown, Output: llm.Unknown} }

// chatUsage reads a usage object of the chat style.
func chatUsage(raw []byte) (llm.Usage, bool) {
	c := emptyReport()
	c.Inclusive = true
	o := rawjson.OpenObject(raw, 0)
	for o.Next() {
		switch value := o.Value.Of(raw); string(o.Key.Of(raw)) {
		case "prompt_tokens":
			c.Input = tokens(value)
		case "completion_tokens":
			c.Output = tokens(value)
		case "prompt_tokens_details":
			c.CacheRead, c.CacheWrite = detail(value, "cached_tokens"), detail(value, "cache_write_tokens")
		case "completion_tokens_details":
			c.Reasoning = detail(value, "reasoning_tokens")
		}
	}
	return usageOf(c, &o)
}

// responsesUsage reads a usage object of the responses style.
func responsesUsage(raw []byte) (llm.Usage, bool) {
	c := emptyReport()
	c.Inclusive = true
	o := rawjson.OpenObject(raw, 0)
	for o.Next() {
		switch value := o.Value.Of(raw); string(o.Key.Of(raw)) {
		case "input_tokens":
			c.Input = tokens(value)
		case "output_tokens":
			c.Output = tokens(value)
		case "input_tokens_details":
			c.CacheRead, c.CacheWrite = detail(value, "cached_tokens"), detail(value, "cache_write_tokens")
		case "output_tokens_details":
			c.Reasoning = detail(value, "reasoning_tokens")
		}
	}
	return usageOf(c, &o)
}

// usageOf is what a report says whose object was walked. A broken object says nothing.
func usageOf(c llm.Report, o *rawjson.Object) (llm.Usage, bool) {
	if o.Broken {
		return llm.Usage{}, false
	}
	return c.Usage()
}

// readMessagesUsage takes over what a usage object of the messages style says; what it leaves out stays as it was. It reports
// whether the object says the output so far.
func readMessagesUsage(c *llm.Report, raw []byte) bool {
	next, said := *c, false
	o := rawjson.OpenObject(raw, 0)
	for o.Next() {
		value := o.Value.Of(raw)
		if rawjson.IsNull(value) {
			continue
		}
		switch string(o.Key.Of(raw)) {
		case "input_tokens":
			next.Input = tokens(value)
		case "cache_read_input_tokens":
			next.CacheRead = tokens(value)
		case "cache_creation_input_tokens":
			next.CacheWrite = tokens(value)
		case "output_tokens":
			next.Output, said = tokens(value), true
		case "output_tokens_details":
			next.Reasoning = detail(value, "thinking_tokens")
		}
	}
	if o.Broken {
		return false
	}
	*c = next
	return said
}

// nativeUsage reads a usageMetadata object. Counts of nothing are left out by this style.
func nativeUsage(raw []byte) (llm.Usage, bool) {
	c := emptyReport()
	c.Inclusive = true
	toolUse, candidates, counted := int64(0), int64(0), false
	o := rawjson.OpenObject(raw, 0)
	for o.Next() {
		value := o.Value.Of(raw)
		if rawjson.IsNull(value) {
			continue
		}
		switch string(o.Key.Of(raw)) {
		case "promptTokenCount":
			c.Input = tokens(value)
		case "toolUsePromptTokenCount":
			toolUse = tokens(value)
		case "cachedContentTokenCount":
			c.CacheRead = tokens(value)
		case "candidatesTokenCount":
			candidates, counted = tokens(value), true
		case "thoughtsTokenCount":
			c.Reasoning = tokens(value)
		}
	}
	c.Input = llm.Sum(c.Input, toolUse)
	if counted || c.Reasoning > 0 || c.Input != llm.Unknown {
		c.Output = llm.Sum(candidates, max(0, c.Reasoning))
	}
	return usageOf(c, &o)
}

// tokens reads a count. What is none is llm.Unknown.
func tokens(value []byte) int64 {
	n := int64(0)
	if len(value) == 0 || len(value) > len("2147483648") {
		return llm.Unknown
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return llm.Unknown
		}
		n = n*10 + int64(c-'0')
	}
	if n > countMax {
		return llm.Unknown
	}
	return n
}

// detail reads one count of a details object; absent and null are zero.
func detail(value []byte, name string) int64 {
	if rawjson.IsNull(value) {
		return 0
	}
	o := rawjson.OpenObject(value, 0)
	for o.Next() {
		if string(o.Key.Of(value)) == name && !rawjson.IsNull(o.Value.Of(value)) {
			return tokens(o.Value.Of(value))
		}
	}
	if o.Broken {
		return llm.Unknown
	}
	return 0
}
