package dialect

import (
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// usageFormat writes the usage object of a style.
type usageFormat struct {
	// holder is the member of a frame that holds the usage; empty for the frame itself.
	holder string
	member string
	append func(dst []byte, u llm.Usage) []byte
}

// usageWithCost returns the usage that the client reads, with the cost. It is the upstream's own usage, or that of the gateway when the
// upstream has none that can be correct.
func (m *usageFormat) usageWithCost(raw []byte, b llm.Charge) []byte {
	var short [32]byte
	cost := b.Cost.AppendTo(short[:0])
	if !b.Estimated && !rawjson.IsEmpty(raw) && raw[0] == '{' {
		return appendWith(make([]byte, 0, len(raw)+len(short)), raw, "cost", cost)
	}
	return appendWith(nil, m.append(nil, b.Usage), "cost", cost)
}

// appendWithUsage appends the data of a frame with the usage of a charge.
func (m *usageFormat) appendWithUsage(dst, doc []byte, b llm.Charge) []byte {
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
