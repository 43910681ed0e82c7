package dialect

import (
	"bytes"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// meter reads and writes the usage object of a style.
type meter struct {
	// holder is the member of a frame that holds the usage; empty for the frame itself.
	holder string
	member string
	append func(dst []byte, u llm.Usage) []byte
}

// usageWithCost returns the usage that the client reads, with the cost. It is the upstream's own usage, or that of the gateway when the
// upstream has none that can be correct.
func (m *meter) usageWithCost(raw []byte, b llm.Charge) []byte {
	cost := []byte(b.Cost.String())
	if !b.Estimated && !rawjson.IsEmpty(raw) && raw[0] == '{' {
		return appendWith(nil, raw, "cost", cost)
	}
	return appendWith(nil, m.append(nil, b.Usage), "cost", cost)
}

// appendWithUsage appends the data of a frame with the usage of a charge.
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

// appendWith appends an object with a member added or replaced. The object must be whole.
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

// emptyReport returns a report without any counts.
func emptyReport() llm.Report { return llm.Report{Input: llm.Unknown, Output: llm.Unknown} }

// chatUsage reads a usage object of the chat style.
func chatUsage(raw []byte) (llm.Usage, bool) {
	return readUsage(raw, "prompt_tokens", "completion_tokens")
}

// responsesUsage reads a usage object of the responses style.
func responsesUsage(raw []byte) (llm.Usage, bool) {
	return readUsage(raw, "input_tokens", "output_tokens")
}

// readUsage reads a usage object with the names of the members for input and output. Each has a member with details.
func readUsage(raw []byte, input, output string) (llm.Usage, bool) {
	c := emptyReport()
	c.Inclusive = true
	o := rawjson.OpenObject(raw, 0)
	for o.Next() {
		name, isDetails := bytes.CutSuffix(o.Key.Of(raw), []byte("_details"))
		switch value := o.Value.Of(raw); {
		case string(name) == input && isDetails:
			c.CacheRead, c.CacheWrite = detail(value, "cached_tokens"), detail(value, "cache_write_tokens")
		case string(name) == input:
			c.Input = tokens(value)
		case string(name) == output && isDetails:
			c.Reasoning = detail(value, "reasoning_tokens")
		case string(name) == output:
			c.Output = tokens(value)
		}
	}
	return usageOf(c, &o)
}

// usageOf returns the usage of a report, unless the object that it came from is broken.
func usageOf(c llm.Report, o *rawjson.Object) (llm.Usage, bool) {
	if o.Broken {
		return llm.Usage{}, false
	}
	return c.Usage()
}

// readMessagesUsage adds the counts of a usage object to a report. It reports whether the object has the output.
func readMessagesUsage(c *llm.Report, raw []byte) bool {
	next, hasOutput := *c, false
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
			next.Output, hasOutput = tokens(value), true
		case "output_tokens_details":
			next.Reasoning = detail(value, "thinking_tokens")
		}
	}
	if o.Broken {
		return false
	}
	*c = next
	return hasOutput
}

// nativeUsage reads a usageMetadata object. This style leaves out counts of zero.
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

// tokens reads a count. It returns llm.Unknown for any other value.
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

// detail reads one count of a details object. It is zero when the count is absent or null.
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
