package messages

import (
	"slices"
	"strconv"
	"strings"

	"umg/app/llm"
	"umg/app/meter"
)

// EncodeResponse appends a whole answer.
func (Codec) EncodeResponse(dst []byte, r *llm.Response, a *llm.ResponseOptions) []byte {
	var flags answerFlags
	dst = appendShell(dst, a)
	dst = append(dst, `"content":[`...)
	n := 0
	for i := range r.Parts {
		p := &r.Parts[i]
		if !flags.note(p) {
			continue
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		switch p.Kind {
		case llm.Reasoning:
			dst = appendThinking(dst, p)
		case llm.Call:
			dst = appendCall(dst, &p.Call)
			if strings.TrimSpace(p.Call.Arguments) == "" {
				dst = append(dst, "{}"...)
			} else {
				// The arguments were checked before, so this cannot fail.
				dst, _ = appendRaw(dst, []byte(p.Call.Arguments))
			}
			dst = append(dst, '}')
		default:
			dst = llm.Quote(append(dst, `{"type":"text","text":`...), p.Text)
			dst = append(dst, `,"citations":null}`...)
		}
	}
	dst = append(dst, `],`...)
	dst = encodeStop(dst, r.Stop, r.StopText, flags)
	dst = append(dst, `,"container":null,"diagnostics":null,"usage":`...)
	dst = encodeUsage(dst, &llm.Event{Usage: r.Usage, Cost: r.Cost}, true)
	return append(dst, '}')
}

// appendShell opens an answer, up to its content.
func appendShell(dst []byte, a *llm.ResponseOptions) []byte {
	dst = append(dst, `{"id":`...)
	dst = llm.Quote(dst, a.MintID("msg_", 0))
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	dst = llm.Quote(dst, a.Model)
	return append(dst, ',')
}

// answerFlags say what an answer has had so far, because that decides its stop_reason.
type answerFlags struct{ calls, refusal, malformed bool }

// note takes in a whole part. It reports false for a part that the client does not get: empty text, which no upstream would
// accept in a later request, and a call whose arguments are not JSON.
func (s *answerFlags) note(p *llm.Part) bool {
	switch p.Kind {
	case llm.Text:
		return p.Text != ""
	case llm.Refusal:
		s.refusal = true
		return p.Text != ""
	case llm.Reasoning:
		return p.Text != "" || p.Signature != ""
	case llm.Call:
		if !isJSONOrBlank(p.Call.Arguments) {
			s.malformed = true
			return false
		}
		s.calls = true
		return true
	}
	return false
}

// appendCall opens a call, up to its input. Its id fits upstreams of this style, to which the client may send its next request.
func appendCall(dst []byte, c *llm.ToolCall) []byte {
	dst = append(dst, `{"type":"tool_use","id":`...)
	dst = llm.Quote(dst, llm.FitID(c.ID, idMax))
	dst = append(dst, `,"name":`...)
	dst = llm.Quote(dst, c.Name)
	return append(dst, `,"caller":{"type":"direct"},"input":`...)
}

// encodeStop appends why the answer ended. A call with incomplete arguments means that the answer reached its bound.
func encodeStop(dst []byte, stop llm.Stop, stopText string, flags answerFlags) []byte {
	switch {
	case flags.malformed:
		stop = llm.StopLength
	case stop == llm.StopEnd && flags.calls:
		stop = llm.StopToolCalls
	case stop == llm.StopToolCalls && !flags.calls:
		// Clients would wait for calls that they cannot see.
		stop = llm.StopEnd
	case stop == llm.StopEnd && flags.refusal:
		stop = llm.StopRefusal
	}
	word, ok := stops[stop]
	if !ok {
		word = stops[llm.StopOther]
	}
	dst = append(dst, `"stop_reason":"`...)
	dst = append(dst, word...)
	dst = append(dst, `","stop_sequence":`...)
	if stopText != "" {
		dst = llm.Quote(dst, stopText)
	} else {
		dst = append(dst, "null"...)
	}
	if word == stops[llm.StopRefusal] {
		return append(dst, `,"stop_details":{"type":"refusal","category":null,"explanation":null}`...)
	}
	return append(dst, `,"stop_details":null`...)
}

// encodeUsage appends a usage object. The usage of a whole message has more members than that of a delta.
func encodeUsage(dst []byte, e *llm.Event, whole bool) []byte {
	dst = appendCount(dst, `{"input_tokens":`, e.Usage.Input)
	dst = appendCount(dst, `,"cache_creation_input_tokens":`, e.Usage.CacheWrite)
	dst = appendCount(dst, `,"cache_read_input_tokens":`, e.Usage.CacheRead)
	dst = appendCount(dst, `,"output_tokens":`, e.Usage.Output)
	if e.Usage.Reasoning > 0 {
		dst = append(appendCount(dst, `,"output_tokens_details":{"thinking_tokens":`, e.Usage.Reasoning), '}')
	} else {
		dst = append(dst, `,"output_tokens_details":null`...)
	}
	dst = encodeFees(dst, &e.Usage.Parts)
	hour := e.Usage.Parts[meter.CacheWriteHourTokens]
	switch {
	case hour > 0:
		dst = appendCount(dst, `,"cache_creation":{"ephemeral_5m_input_tokens":`, e.Usage.CacheWrite-hour)
		dst = append(appendCount(dst, `,"ephemeral_1h_input_tokens":`, hour), '}')
	case whole:
		dst = append(dst, `,"cache_creation":null`...)
	}
	if whole {
		dst = append(dst, `,"service_tier":null,"inference_geo":null,"speed":null`...)
	}
	if e.Cost != nil {
		dst = append(dst, `,"cost":`...)
		dst = append(dst, e.Cost.String()...)
	}
	return append(dst, '}')
}

// encodeFees appends how often the provider searched and fetched.
func encodeFees(dst []byte, parts *meter.Counts) []byte {
	searches, fetches := parts[meter.WebSearches], parts[meter.WebFetches]
	if searches == 0 && fetches == 0 {
		return append(dst, `,"server_tool_use":null`...)
	}
	dst = appendCount(dst, `,"server_tool_use":{"web_search_requests":`, searches)
	return append(appendCount(dst, `,"web_fetch_requests":`, fetches), '}')
}

func appendCount(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(slices.Grow(dst, len(name)+20), name...), max(n, 0), 10)
}
