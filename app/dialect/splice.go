package dialect

import "strconv"

// spliceChat sends a chat request on: under the upstream's name of the model, asking for the usage of a stream, and
// with the bound on output that the hold affords.
func spliceChat(dst, body []byte, h *Head, e Edit) []byte {
	var all edits
	all.replace(h.spans[fieldModel], quoted(e.Model))
	if h.Stream && !h.IncludeUsage {
		h.askForUsage(&all, body)
	}
	if e.MaxTokens > 0 {
		h.bound(&all, body, e.MaxTokens)
	}
	return all.append(dst, body)
}

// askForUsage switches include_usage on, wherever the request left it off.
func (h *Head) askForUsage(all *edits, body []byte) {
	options := h.spans[fieldStreamOptions]
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
	number, stated := strconv.FormatInt(most, 10), false
	for _, f := range []field{fieldMaxTokens, fieldMaxTokensOld} {
		raw := h.spans[f].of(body)
		if isNull(raw) {
			continue
		}
		stated = true
		if n, ok := wholeNumber(raw); !ok || n > most {
			all.replace(h.spans[f], number)
		}
	}
	switch old := h.spans[fieldMaxTokensOld]; {
	case stated:
	case old.found():
		all.replace(old, number) // it is null
	default:
		all.insert(behindBrace(body, 0), `"max_tokens":`+number+`,`)
	}
}

// behindBrace is the place of the first member of the object that begins at from or behind the blanks there.
func behindBrace(body []byte, from int) int { return blanks(body, from) + 1 }
