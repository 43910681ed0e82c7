package translate

import (
	"bytes"
	"slices"

	"umg/app/dialect"
	"umg/app/dialect/native"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// PassthroughWithoutSignatures returns the exchange of a call whose route speaks the style of the client and whose history has marked
// reasoning of other providers. It removes the reasoning and keeps every other byte, because a translation would lose what only this
// style has, such as cache hints. It reports false when providers would refuse the rest, so that a translation is needed.
func PassthroughWithoutSignatures(d *dialect.Dialect, body []byte) (*Exchange, bool) {
	if d.Style == llm.Messages && resumesThinking(body) {
		return nil, false
	}
	plain := signatureRemovers[d.Style](body)
	if plain == nil {
		return nil, false
	}
	head, err := d.Peek(plain)
	if err != nil {
		return nil, false
	}
	return Passthrough(d, plain, &head), true
}

// edit returns the new form of a JSON value, or nil when it is left out.
type edit func(value []byte) []byte

var signatureRemovers = map[llm.Style]edit{
	llm.Chat:      inMember(inEach(inMember(inEach(stripCall), "tool_calls")), "messages"),
	llm.Messages:  inMember(inEach(inMember(inEach(dropSignedBlock), "content")), "messages"),
	llm.Responses: inMember(inEach(dropSignedBlock), "input"),
	llm.Native:    inMember(inEach(inMember(stripParts, "parts")), "contents"),
}

// inMember changes members of an object. An object that lost such a member is left out.
func inMember(with edit, names ...string) edit {
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
func inEach(with edit) edit {
	return func(value []byte) []byte {
		if len(value) == 0 || value[0] != '[' || !dialect.HasMarkedSignature(value) {
			return value
		}
		dst := []byte{'['}
		list := rawjson.OpenArray(value, 0)
		for list.Next() {
			one := list.Value.Of(value)
			if dialect.HasMarkedSignature(one) {
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

// signatureMembers are the members with a signature of reasoning.
var signatureMembers = []string{"signature", "data", "encrypted_content", "thoughtSignature", "thought_signature"}

// dropSignedBlock leaves out a block or an item whose own signature is marked.
func dropSignedBlock(value []byte) []byte {
	o := rawjson.OpenObject(value, 0)
	for o.Next() {
		if slices.Contains(signatureMembers, string(o.Name())) && bytes.HasPrefix(o.Value.Of(value), []byte(`"`+llm.SignatureMark)) {
			return nil
		}
	}
	return value
}

// stripCall removes the signature of the preceding reasoning from a call.
func stripCall(call []byte) []byte {
	if proof := "extra_content"; dialect.HasMarkedSignature(rawjson.Get(call, proof)) {
		return rawjson.Without(call, proof)
	}
	return call
}

// stripParts removes the marked reasoning and signatures from a turn. Its first call needs a signature, at least the dummy.
func stripParts(parts []byte) []byte {
	if len(parts) == 0 || parts[0] != '[' {
		return parts
	}
	dst := []byte{'['}
	called := false
	list := rawjson.OpenArray(parts, 0)
	for list.Next() {
		part := list.Value.Of(parts)
		calls := !rawjson.IsNull(rawjson.Get(part, "functionCall", "function_call"))
		switch sealed := dialect.HasMarkedSignature(rawjson.Get(part, signatureMembers...)); {
		case sealed && string(rawjson.Get(part, "thought")) == "true":
			continue
		case sealed && calls && !called:
			part = inMember(func([]byte) []byte { return []byte(rawjson.Quote(native.DummySignature)) }, signatureMembers...)(part)
		case sealed:
			part = rawjson.Without(part, signatureMembers...)
		}
		called = called || calls
		dst = rawjson.AppendElement(dst, part)
	}
	return closeArray(dst)
}

// resumesThinking reports whether a messages request continues the calls of a turn and has a thinking budget. Its provider refuses that
// without the thought that the turn began with.
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
