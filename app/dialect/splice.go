package dialect

import (
	"bytes"
	"cmp"
	"strconv"

	"umg/app/dialect/rawjson"
)

// spliceChat writes a chat request for an upstream: with its name of the model, the usage of a stream switched on, and the bound on
// output of the hold.
func spliceChat(dst, body []byte, h *Head, e Edit) []byte {
	var all rawjson.Edits
	all.Replace(h.spans[fieldModel], rawjson.Quote(e.Model))
	if h.Stream && !e.NoStreamOptions && string(h.spans[fieldIncludeUsage].Of(body)) != "true" {
		h.askForUsage(&all, body)
	}
	switch {
	case e.MaxTokens > 0:
		h.bound(&all, body, e.MaxTokens, e.OutputBound)
	case h.spans[fieldMaxTokens].Found() && h.MaxTokens > 0 && !rawjson.IsNull(h.spans[fieldMaxTokensOld].Of(body)):
		// Some providers know only the former name.
		h.lower(&all, body, fieldMaxTokensOld, h.MaxTokens)
	}
	h.nameEndUser(&all, body, &e, chatFields)
	return all.AppendTo(dst, body)
}

// nameEndUser replaces the ids of the end user, and adds the one that the provider takes. Known are the members of the style.
func (h *Head) nameEndUser(all *rawjson.Edits, body []byte, e *Edit, known map[string]field) {
	if e.EndUser == "" {
		return
	}
	value, wants := rawjson.Quote(e.EndUser), e.EndUserMember != "" && !e.Counting
	for _, f := range [...]field{fieldEndUser, fieldEndUserOther} {
		at := h.spans[f]
		isWanted := wants && known[e.EndUserMember] == f
		switch {
		case !rawjson.IsNull(at.Of(body)), at.Found() && isWanted:
			all.Replace(at, value)
		case isWanted:
			all.Insert(behindBrace(body, 0), `"`+e.EndUserMember+`":`+value+`,`)
		}
	}
}

// nameEndUserInMetadata is nameEndUser for the messages style, whose id is inside of metadata.
func (h *Head) nameEndUserInMetadata(all *rawjson.Edits, body []byte, e *Edit) {
	if e.EndUser == "" {
		return
	}
	member := `"user_id":` + rawjson.Quote(e.EndUser)
	metadata, id := h.spans[fieldMetadata], h.spans[fieldEndUser]
	switch {
	case id.Found() && (e.EndUserMember != "" || !rawjson.IsNull(id.Of(body))):
		all.Replace(id, rawjson.Quote(e.EndUser))
	case e.EndUserMember == "" || e.Counting:
	case !metadata.Found():
		all.Insert(behindBrace(body, 0), `"metadata":{`+member+`},`)
	case rawjson.IsEmpty(metadata.Of(body)):
		all.Replace(metadata, `{`+member+`}`)
	case metadata.Of(body)[0] == '{':
		all.Insert(behindBrace(body, metadata.From), member+`,`)
	}
}

// askForUsage sets include_usage to true.
func (h *Head) askForUsage(all *rawjson.Edits, body []byte) {
	options := h.spans[fieldOptions]
	switch {
	case h.spans[fieldIncludeUsage].Found():
		all.Replace(h.spans[fieldIncludeUsage], "true")
	case !options.Found():
		all.Insert(behindBrace(body, 0), `"stream_options":{"include_usage":true},`)
	case rawjson.IsEmpty(options.Of(body)):
		all.Replace(options, `{"include_usage":true}`)
	default:
		all.Insert(behindBrace(body, options.From), `"include_usage":true,`)
	}
}

// bound lowers every bound on output tokens to most, and adds one with a name when the request has none.
func (h *Head) bound(all *rawjson.Edits, body []byte, most int64, name string) {
	stated := false
	for _, f := range [...]field{fieldMaxTokens, fieldMaxTokensOld} {
		if rawjson.IsNull(h.spans[f].Of(body)) {
			continue
		}
		stated = true
		h.lower(all, body, f, most)
	}
	switch old := h.spans[fieldMaxTokensOld]; {
	case stated:
	case old.Found():
		// The former member is null.
		all.Replace(old, strconv.FormatInt(most, 10))
	default:
		all.Insert(behindBrace(body, 0), `"`+cmp.Or(name, "max_tokens")+`":`+strconv.FormatInt(most, 10)+`,`)
	}
}

// lower reduces a number to most. It reports whether that changed the request.
func (h *Head) lower(all *rawjson.Edits, body []byte, f field, most int64) bool {
	n, ok := wholeNumber(h.spans[f].Of(body))
	if ok && n <= most {
		return false
	}
	all.Replace(h.spans[f], strconv.FormatInt(most, 10))
	return true
}

// boundAs is bound for styles with one member for the bound. It reports whether that changed the request.
func (h *Head) boundAs(all *rawjson.Edits, body []byte, name string, most int64) bool {
	if h.spans[fieldMaxTokens].Found() {
		return h.lower(all, body, fieldMaxTokens, most)
	}
	all.Insert(behindBrace(body, 0), `"`+name+`":`+strconv.FormatInt(most, 10)+`,`)
	return true
}

// thinkingLeast is the smallest budget for thinking that upstreams of the messages style accept.
const thinkingLeast = 1024

// spliceMessages writes a messages request for an upstream. Upstreams of this style require a bound on output that is above the
// thinking budget, and a tool choice that is an object.
func spliceMessages(dst, body []byte, h *Head, e Edit) []byte {
	var all rawjson.Edits
	all.Replace(h.spans[fieldModel], rawjson.Quote(e.Model))
	if e.MaxTokens > 0 && h.boundAs(&all, body, "max_tokens", e.MaxTokens) {
		h.lowerThinking(&all, body, e.MaxTokens)
	}
	switch choice := h.spans[fieldToolChoice]; rawjson.String(choice.Of(body)) {
	case "auto":
		all.Replace(choice, `{"type":"auto"}`)
	case "none":
		all.Replace(choice, `{"type":"none"}`)
	case "any", "required":
		all.Replace(choice, `{"type":"any"}`)
	}
	h.nameEndUserInMetadata(&all, body, &e)
	return all.AppendTo(dst, body)
}

// lowerThinking keeps the budget for thinking below the bound on output, or turns thinking off.
func (h *Head) lowerThinking(all *rawjson.Edits, body []byte, most int64) {
	switch {
	case rawjson.IsNull(h.spans[fieldBudget].Of(body)):
	case most > thinkingLeast:
		h.lower(all, body, fieldBudget, most-1)
	default:
		all.Replace(h.spans[fieldThinking], `{"type":"disabled"}`)
	}
}

// ResponseLeast is the smallest bound on output that upstreams of the responses style accept.
const ResponseLeast = 16

// spliceResponses writes a responses request for an upstream.
func spliceResponses(dst, body []byte, h *Head, e Edit) []byte {
	var all rawjson.Edits
	all.Replace(h.spans[fieldModel], rawjson.Quote(e.Model))
	switch {
	case e.MaxTokens > 0:
		h.boundAs(&all, body, "max_output_tokens", max(e.MaxTokens, ResponseLeast))
	case h.MaxTokens > 0 && h.MaxTokens < ResponseLeast:
		all.Replace(h.spans[fieldMaxTokens], strconv.Itoa(ResponseLeast))
	}
	if store := h.spans[fieldStore]; !e.Counting && rawjson.IsNull(store.Of(body)) {
		h.keepNothing(&all, body)
	}
	h.nameEndUser(&all, body, &e, responsesFields)
	return all.AppendTo(dst, body)
}

// keepNothing switches the storage of the answer off, which is on by default. Since the next request cannot refer to the answer, it
// also asks for encrypted reasoning when the request asks for reasoning.
func (h *Head) keepNothing(all *rawjson.Edits, body []byte) {
	if store := h.spans[fieldStore]; store.Found() {
		all.Replace(store, "false")
	} else {
		all.Insert(behindBrace(body, 0), `"store":false,`)
	}
	if rawjson.IsEmpty(h.spans[fieldReasoning].Of(body)) {
		return
	}
	const proof = `"reasoning.encrypted_content"`
	switch include := h.spans[fieldInclude]; {
	case !include.Found():
		all.Insert(behindBrace(body, 0), `"include":[`+proof+`],`)
	case rawjson.IsEmpty(include.Of(body)):
		all.Replace(include, `[`+proof+`]`)
	case include.Of(body)[0] == '[' && !bytes.Contains(include.Of(body), []byte(proof)):
		all.Insert(behindBrace(body, include.From), proof+`,`)
	}
}

// spliceNative writes a native request for an upstream. Upstreams of this style have the model and the stream flag in the path, and
// refuse both in the body.
func spliceNative(dst, body []byte, h *Head, e Edit) []byte {
	var all rawjson.Edits
	left := h.removeMembers(&all, body)
	if e.MaxTokens > 0 {
		h.boundInside(&all, body, "generationConfig", "maxOutputTokens", e.MaxTokens, left)
	}
	return all.AppendTo(dst, body)
}

// boundInside is boundAs for styles whose bound is inside of another member.
func (h *Head) boundInside(all *rawjson.Edits, body []byte, options, name string, most int64, left bool) bool {
	config, member := h.spans[fieldOptions], `"`+name+`":`+strconv.FormatInt(most, 10)
	switch {
	case h.spans[fieldMaxTokens].Found():
		return h.lower(all, body, fieldMaxTokens, most)
	case !config.Found() && left:
		all.Insert(behindBrace(body, 0), `"`+options+`":{`+member+`},`)
	case !config.Found():
		all.Insert(behindBrace(body, 0), `"`+options+`":{`+member+`}`)
	case rawjson.IsEmpty(config.Of(body)):
		all.Replace(config, `{`+member+`}`)
	default:
		all.Insert(behindBrace(body, config.From), member+`,`)
	}
	return true
}

// removeMembers removes the model and the stream flag, each with one comma beside it. It reports whether other members are left.
func (h *Head) removeMembers(all *rawjson.Edits, body []byte) (left bool) {
	first, second := h.members[fieldModel], h.members[fieldStream]
	if second.Found() && second.From < first.From {
		first, second = second, first
	}
	if second.Found() {
		if comma := rawjson.SkipSpace(body, first.To); rawjson.SkipSpace(body, comma+1) == second.From {
			// The two members are neighbours and are removed together.
			first.To, second = second.To, rawjson.Span{}
		}
	}
	for _, member := range [...]rawjson.Span{second, first} {
		if !member.Found() {
			continue
		}
		if after := rawjson.SkipSpace(body, member.To); body[after] == ',' {
			all.Replace(rawjson.Span{From: member.From, To: rawjson.SkipSpace(body, after+1)}, "")
			left = true
			continue
		}
		before := member.From - 1
		for body[before] != ',' && body[before] != '{' {
			before--
		}
		if body[before] == '{' {
			before++
		} else {
			left = true
		}
		all.Replace(rawjson.Span{From: before, To: member.To}, "")
	}
	return left
}

// NameModel returns a native body with its model and its stream flag, for callers that have both in the path.
func NameModel(body []byte, model string, stream bool) ([]byte, error) {
	want := [...]struct{ name, value string }{{"model", rawjson.Quote(model)}, {"stream", strconv.FormatBool(stream)}}
	var all rawjson.Edits
	var found [len(want)]bool
	o := rawjson.OpenObject(body, 0)
	for o.Next() {
		for i := range want {
			if !found[i] && string(o.Name()) == want[i].name {
				all.Replace(o.Value, want[i].value)
				found[i] = true
			}
		}
	}
	if !o.IsWhole() {
		return nil, notJSON(body)
	}
	var missing bytes.Buffer
	for i := range want {
		if !found[i] {
			missing.WriteString(`"` + want[i].name + `":` + want[i].value + `,`)
		}
	}
	if first := missing.Bytes(); len(first) > 0 {
		if !o.Begun {
			first = first[:len(first)-1]
		}
		all.Insert(behindBrace(body, 0), string(first))
	}
	return all.AppendTo(make([]byte, 0, len(body)+missing.Len()+len(model)+len(`"false"`)), body), nil
}

// behindBrace returns the index of the first member of the object that begins at an index or after white space there.
func behindBrace(body []byte, from int) int { return rawjson.SkipSpace(body, from) + 1 }
