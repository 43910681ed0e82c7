package dialect

import (
	"bytes"
	"strconv"
)

// spliceChat sends a chat request on: under the upstream's name of the model, asking for the usage of a stream, and
// with the bound on output that the hold affords.
func spliceChat(dst, body []byte, h *Head, e Edit) []byte {
	var all edits
	all.replace(h.spans[fieldModel], quoted(e.Model))
	if h.Stream && string(h.spans[fieldIncludeUsage].of(body)) != "true" {
		h.askForUsage(&all, body)
	}
	switch {
	case e.MaxTokens > 0:
		h.bound(&all, body, e.MaxTokens)
	case h.spans[fieldMaxTokens].found() && h.MaxTokens > 0 && !isNull(h.spans[fieldMaxTokensOld].of(body)):
		h.lower(&all, body, fieldMaxTokensOld, h.MaxTokens) // for upstreams that know only the former name
	}
	return all.append(dst, body)
}

// askForUsage switches include_usage on, wherever the request left it off.
func (h *Head) askForUsage(all *edits, body []byte) {
	options := h.spans[fieldOptions]
	switch {
	case h.spans[fieldIncludeUsage].found():
		all.replace(h.spans[fieldIncludeUsage], "true")
	case !options.found():
		all.insert(behindBrace(body, 0), `"stream_options":{"include_usage":true},`)
	case isEmpty(options.of(body)):
		all.replace(options, `{"include_usage":true}`)
	default:
		all.insert(behindBrace(body, options.from), `"include_usage":true,`)
	}
}

// bound lowers every bound on output tokens above most, and adds one where the request has none.
func (h *Head) bound(all *edits, body []byte, most int64) {
	stated := false
	for _, f := range [...]field{fieldMaxTokens, fieldMaxTokensOld} {
		if isNull(h.spans[f].of(body)) {
			continue
		}
		stated = true
		h.lower(all, body, f, most)
	}
	switch old := h.spans[fieldMaxTokensOld]; {
	case stated:
	case old.found():
		all.replace(old, strconv.FormatInt(most, 10)) // it is null
	default:
		all.insert(behindBrace(body, 0), `"max_tokens":`+strconv.FormatInt(most, 10)+`,`)
	}
}

// lower makes a number that is there at most so large. It reports whether that changed it.
func (h *Head) lower(all *edits, body []byte, f field, most int64) bool {
	n, ok := wholeNumber(h.spans[f].of(body))
	if ok && n <= most {
		return false
	}
	all.replace(h.spans[f], strconv.FormatInt(most, 10))
	return true
}

// boundAs does with a bound of one name what bound does with two. It reports whether that changed the request.
func (h *Head) boundAs(all *edits, body []byte, name string, most int64) bool {
	if h.spans[fieldMaxTokens].found() {
		return h.lower(all, body, fieldMaxTokens, most)
	}
	all.insert(behindBrace(body, 0), `"`+name+`":`+strconv.FormatInt(most, 10)+`,`)
	return true
}

// thinkingLeast is the smallest budget for thinking that an upstream of the messages style takes.
const thinkingLeast = 1024

// spliceMessages sends a messages request on. An upstream of this style demands a bound on output, more of it than
// goes to thinking, and a tool choice that is an object.
func spliceMessages(dst, body []byte, h *Head, e Edit) []byte {
	var all edits
	all.replace(h.spans[fieldModel], quoted(e.Model))
	if e.MaxTokens > 0 && h.boundAs(&all, body, "max_tokens", e.MaxTokens) && !isNull(h.spans[fieldBudget].of(body)) {
		if e.MaxTokens > thinkingLeast {
			h.lower(&all, body, fieldBudget, e.MaxTokens-1)
		} else {
			all.replace(h.spans[fieldThinking], `{"type":"disabled"}`)
		}
	}
	switch choice := h.spans[fieldToolChoice]; text(choice.of(body)) {
	case "auto":
		all.replace(choice, `{"type":"auto"}`)
	case "none":
		all.replace(choice, `{"type":"none"}`)
	case "any", "required":
		all.replace(choice, `{"type":"any"}`)
	}
	return all.append(dst, body)
}

// ResponseLeast is the smallest bound on output that an upstream of the responses style takes; a smaller one is raised.
const ResponseLeast = 16

// spliceResponses sends a responses request on.
func spliceResponses(dst, body []byte, h *Head, e Edit) []byte {
	var all edits
	all.replace(h.spans[fieldModel], quoted(e.Model))
	switch {
	case e.MaxTokens > 0:
		h.boundAs(&all, body, "max_output_tokens", max(e.MaxTokens, ResponseLeast))
	case h.MaxTokens > 0 && h.MaxTokens < ResponseLeast:
		all.replace(h.spans[fieldMaxTokens], strconv.Itoa(ResponseLeast))
	}
	if store := h.spans[fieldStore]; !e.Counting && isNull(store.of(body)) {
		h.keepNothing(&all, body)
	}
	return all.append(dst, body)
}

// keepNothing switches the storage of an answer off, which is on where a request does not say. Reasoning then comes with
// its proof, where the request asks for reasoning, since the next request cannot name what is not stored.
func (h *Head) keepNothing(all *edits, body []byte) {
	if store := h.spans[fieldStore]; store.found() {
		all.replace(store, "false")
	} else {
		all.insert(behindBrace(body, 0), `"store":false,`)
	}
	if isEmpty(h.spans[fieldReasoning].of(body)) {
		return
	}
	const proof = `"reasoning.encrypted_content"`
	switch include := h.spans[fieldInclude]; {
	case !include.found():
		all.insert(behindBrace(body, 0), `"include":[`+proof+`],`)
	case isEmpty(include.of(body)):
		all.replace(include, `[`+proof+`]`)
	case include.of(body)[0] == '[' && !bytes.Contains(include.of(body), []byte(proof)):
		all.insert(behindBrace(body, include.from), proof+`,`)
	}
}

// spliceNative sends a native request on. An upstream of this style has the model, and whether it streams, in its
// path, and refuses them in the body.
func spliceNative(dst, body []byte, h *Head, e Edit) []byte {
	var all edits
	left := h.removeMembers(&all, body)
	if e.MaxTokens > 0 {
		h.boundGeneration(&all, body, e.MaxTokens, left)
	}
	return all.append(dst, body)
}

// boundGeneration is bound for the native style, whose bound stands in an object of its own.
func (h *Head) boundGeneration(all *edits, body []byte, most int64, left bool) {
	config, member := h.spans[fieldOptions], `"maxOutputTokens":`+strconv.FormatInt(most, 10)
	switch {
	case h.spans[fieldMaxTokens].found():
		h.lower(all, body, fieldMaxTokens, most)
	case !config.found() && left:
		all.insert(behindBrace(body, 0), `"generationConfig":{`+member+`},`)
	case !config.found():
		all.insert(behindBrace(body, 0), `"generationConfig":{`+member+`}`)
	case isEmpty(config.of(body)):
		all.replace(config, `{`+member+`}`)
	default:
		all.insert(behindBrace(body, config.from), member+`,`)
	}
}

// removeMembers takes the model and the stream out, each with one of the commas beside it. It reports whether any
// other member is left.
func (h *Head) removeMembers(all *edits, body []byte) (left bool) {
	first, second := h.members[fieldModel], h.members[fieldStream]
	if second.found() && second.from < first.from {
		first, second = second, first
	}
	if second.found() {
		if comma := blanks(body, first.to); blanks(body, comma+1) == second.from {
			first.to, second = second.to, span{} // nothing stands between them
		}
	}
	for _, member := range [...]span{second, first} {
		if !member.found() {
			continue
		}
		if after := blanks(body, member.to); body[after] == ',' {
			all.replace(span{member.from, blanks(body, after+1)}, "")
			left = true
			continue
		}
		before := member.from - 1
		for body[before] != ',' && body[before] != '{' {
			before--
		}
		if body[before] == '{' {
			before++
		} else {
			left = true
		}
		all.replace(span{before, member.to}, "")
	}
	return left
}

// NameModel is a native body with its model and whether it streams, for callers that have both in the path.
func NameModel(body []byte, model string, stream bool) ([]byte, error) {
	want := [...]struct{ name, value string }{{"model", quoted(model)}, {"stream", strconv.FormatBool(stream)}}
	var all edits
	var found [len(want)]bool
	o := openObject(body, 0)
	for o.next() {
		for i := range want {
			if !found[i] && string(o.name()) == want[i].name {
				all.replace(o.value, want[i].value)
				found[i] = true
			}
		}
	}
	if !o.whole() {
		return nil, notJSON(body)
	}
	var missing bytes.Buffer
	for i := range want {
		if !found[i] {
			missing.WriteString(`"` + want[i].name + `":` + want[i].value + `,`)
		}
	}
	if first := missing.Bytes(); len(first) > 0 {
		if !o.begun {
			first = first[:len(first)-1]
		}
		all.insert(behindBrace(body, 0), string(first))
	}
	return all.append(make([]byte, 0, len(body)+missing.Len()+len(model)+len(`"false"`)), body), nil
}

// behindBrace is the place of the first member of the object that begins at from or behind the blanks there.
func behindBrace(body []byte, from int) int { return blanks(body, from) + 1 }
