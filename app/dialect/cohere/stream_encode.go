package cohere

import (
	"strconv"

	"umg/app"
	"umg/app/llm"
)

// encoder writes a stream. Parts of the content and calls are numbered separately.
type encoder struct {
	options *llm.ResponseOptions
	open    llm.PartKind
	// content and calls are the numbers of the parts and calls that have ended.
	content, calls int64
}

// Append appends the frames of one event.
func (s *encoder) Append(dst []byte, e *llm.Event) []byte {
	switch e.Kind {
	case llm.EventStart:
		dst = append(dst, "event: message-start\ndata: {\"id\":"...)
		dst = llm.Quote(dst, s.options.MintID("", 0))
		return append(dst, `,"type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"",`+
			`"tool_calls":[],"citations":[]}}}`+"\n\n"...)
	case llm.EventPart:
		s.open = e.Part
		return s.start(dst, e)
	case llm.EventDelta:
		return s.delta(dst, e.Delta)
	case llm.EventPartEnd:
		if s.open == llm.Call {
			dst = append(appendEvent(dst, "tool-call-end", s.calls), "}\n\n"...)
			s.calls++
			return dst
		}
		dst = append(appendEvent(dst, "content-end", s.content), "}\n\n"...)
		s.content++
		return dst
	case llm.EventFinish:
		dst = append(dst, `event: message-end`+"\n"+`data: {"type":"message-end","delta":{"finish_reason":"`+finishWord(e.Stop)+`","usage":`...)
		return append(appendUsage(dst, &e.Usage), "}}\n\ndata: [DONE]\n\n"...)
	}
	return dst
}

// appendEvent opens the frame of an event of a part or a call.
func appendEvent(dst []byte, event string, index int64) []byte {
	dst = append(dst, "event: "+event+"\ndata: {\"type\":\""+event+`","index":`...)
	return strconv.AppendInt(dst, index, 10)
}

func (s *encoder) start(dst []byte, e *llm.Event) []byte {
	switch s.open {
	case llm.Call:
		dst = append(appendEvent(dst, "tool-call-start", s.calls), `,"delta":{"message":{"tool_calls":{"id":`...)
		dst = llm.Quote(dst, e.Call.ID)
		dst = llm.Quote(append(dst, `,"type":"function","function":{"name":`...), e.Call.Name)
		return append(dst, `,"arguments":""}}}}}`+"\n\n"...)
	case llm.Reasoning:
		dst = append(appendEvent(dst, "content-start", s.content), `,"delta":{"message":{"content":{"type":"thinking","thinking":""}}}}`...)
	default:
		dst = append(appendEvent(dst, "content-start", s.content), `,"delta":{"message":{"content":{"type":"text","text":""}}}}`...)
	}
	return append(dst, "\n\n"...)
}

func (s *encoder) delta(dst []byte, text string) []byte {
	switch s.open {
	case llm.Call:
		dst = append(appendEvent(dst, "tool-call-delta", s.calls), `,"delta":{"message":{"tool_calls":{"function":{"arguments":`...)
	case llm.Reasoning:
		dst = append(appendEvent(dst, "content-delta", s.content), `,"delta":{"message":{"content":{"thinking":`...)
		return append(llm.Quote(dst, text), "}}}}\n\n"...)
	default:
		dst = append(appendEvent(dst, "content-delta", s.content), `,"delta":{"message":{"content":{"text":`...)
		return append(llm.Quote(dst, text), "}}}}\n\n"...)
	}
	return append(llm.Quote(dst, text), "}}}}}\n\n"...)
}

// Fail ends the stream with an error.
func (*encoder) Fail(dst []byte, e *app.Error, _ string, _ *llm.Charge) []byte {
	dst = append(dst, `event: message-end`+"\n"+`data: {"type":"message-end","delta":{"finish_reason":"ERROR","error":`...)
	return append(llm.Quote(dst, e.Message), "}}\n\n"...)
}
