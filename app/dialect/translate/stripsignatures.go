package translate

import (
	"bytes"
	"slices"

	"umg/app/dialect"
	"umg/app/dialect/native"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// PassthroughWithoutSignatures returns the exchange of a call whose route speaks its own style and whose history has marked reasoning
// of other providers. It removes the reasoning and keeps every other byte, because a translation would lose what only this style has,
// such as cache hints and tools of the provider. It reports false when providers would refuse the rest, so that a translation is
// needed.
func PassthroughWithoutSignatures(d *dialect.Dialect, body []byte) (*Exchange, bool) {
	if d.Style == llm.Messages && resumesThinking(body) {
		return nil, false
	}
	plain := unsealers[d.Style](body)
	if plain == nil {
		return nil, false
	}
	head, err := d.Peek(plain)
	if err != nil {
		return nil, false
	}
	return Passthrough(d, plain, &head), true
}

// change returns the new form of a JSON value, or nil when it is left out.
type change func(value []byte) []byte

var unsealers = map[llm.Style]change{
	llm.Chat:      inMember(inEach(inMember(inEach(withoutProof), "tool_calls")), "messages"),
	llm.Messages:  inMember(inEach(inMember(inEach(unlessThought), "content")), "messages"),
	llm.Responses: inMember(inEach(unlessThought), "input"),
	llm.Native:    inMember(inEach(inMember(unsealParts, "parts")), "contents"),
}

// inMember changes members of an object. An object that lost such a member is left out.
func inMember(with change, names ...string) change {
	return func(value []byte) []byte {
		if len(value) == 0 || value[0] != '{' {
			return value
		}
		var list []rawjson.Member
		o := rawjson.OpenObject(value, 0)
		for o.Next() {
			m := rawjson.Member{At: o.Member, Value: o.Value}
			if slices.Contains(names, string(o.Name())) {
				changed := with(o.Value.Of(value))
				if changed == nil {
					return nil
				}
				m.With = string(changed)
			}
			list = append(list, m)
		}
		return rawjson.AppendMembers(nil, value, list)
	}
}

// inEach changes the elements of an array that have a marked signature. It returns nil when no element is left.
func inEach(with change) change {
	return func(value []byte) []byte {
		if len(value) == 0 || value[0] != '[' || !Sealed(value) {
			return value
		}
		dst := []byte{'['}
		list := rawjson.OpenArray(value, 0)
		for list.Next() {
			one := list.Value.Of(value)
			if Sealed(one) {
				one = with(one)
			}
			if one != nil {
				dst = rawjson.AppendElement(dst, one)
			}
		}
		return closeArray(dst)
	}
}

func closeArray(dst []byte) []byte {
	if len(dst) == 1 {
		return nil
	}
	return append(dst, ']')
}

// proofs are the members with a signature of reasoning.
var proofs = []string{"signature", "data", "encrypted_content", "thoughtSignature", "thought_signature"}

// unlessThought leaves out a block or an item whose own signature is marked.
func unlessThought(value []byte) []byte {
	o := rawjson.OpenObject(value, 0)
	for o.Next() {
		if slices.Contains(proofs, string(o.Name())) && bytes.HasPrefix(o.Value.Of(value), []byte(`"`+signatureMark)) {
			return nil
		}
	}
	return value
}

// withoutProof removes the signature of the preceding reasoning from a call.
func withoutProof(call []byte) []byte {
	if proof := "extra_content"; Sealed(rawjson.Get(call, proof)) {
		return rawjson.Without(call, proof)
	}
	return call
}

// unsealParts removes the marked reasoning and signatures from a turn. Its first call needs a signature, at least the dummy.
func unsealParts(parts []byte) []byte {
	if len(parts) == 0 || parts[0] != '[' {
		return parts
	}
	dst := []byte{'['}
	called := false
	list := rawjson.OpenArray(parts, 0)
	for list.Next() {
		part := list.Value.Of(parts)
		calls := !rawjson.IsNull(rawjson.Get(part, "functionCall", "function_call"))
		switch sealed := Sealed(rawjson.Get(part, proofs...)); {
		case sealed && string(rawjson.Get(part, "thought")) == "true":
			continue
		case sealed && calls && !called:
			part = inMember(func([]byte) []byte { return []byte(rawjson.Quote(native.DummySignature)) }, proofs...)(part)
		case sealed:
			part = rawjson.Without(part, proofs...)
		}
		called = called || calls
		dst = rawjson.AppendElement(dst, part)
	}
	return closeArray(dst)
}

// resumesThinking reports whether a request of the messages style goes on with the calls of a turn and has a budget for
// thoughts. Its provider refuses that without the thought that the turn began with.
func resumesThinking(body []byte) bool {
	if string(rawjson.Get(rawjson.Get(body, "thinking"), "type")) != `"enabled"` {
		return false
	}
	messages := rawjson.Get(body, "messages")
	var last []byte
	list := rawjson.OpenArray(messages, 0)
	for list.Next() {
		last = list.Value.Of(messages)
	}
	return bytes.Contains(last, []byte(`"tool_result"`))
}
