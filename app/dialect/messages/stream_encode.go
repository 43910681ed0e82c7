package messages

import (
	"strconv"

	"umg/app"
	"umg/app/llm"
)

// KeepAlive is the event that keeps a silent stream open.
const KeepAlive = "event: ping\ndata: {\"type\": \"ping\"}\n\n"

// encoder writes a stream for a client. Blocks follow each other and are numbered without gaps. An empty block is never begun.
type encoder struct {
	options *llm.ResponseOptions
	// index is the index of the open block, or of the next one.
	index int64
	// open is the kind of the open part.
	open llm.PartKind
	// begun means that the client has received the start of the open part.
	begun bool
	// input is the input of the open call.
	input []byte
	flags answerFlags
}

// Append appends the frames of one event.
func (s *encoder) Append(dst []byte, e *llm.Event) []byte {
	switch e.Kind {
	case llm.EventStart:
		return s.start(dst, e)
	case llm.EventPart:
		s.open, s.begun, s.input = e.Part, false, s.input[:0]
		s.flags.refusal = s.flags.refusal || e.Part == llm.Refusal
		if e.Part == llm.Call {
			s.flags.calls = true
			dst = appendCall(s.blockStart(dst), &e.Call)
			dst = append(dst, "{}}}\n\n"...)
		}
		return dst
	case llm.EventDelta:
		return s.delta(dst, e)
	case llm.EventPartEnd:
		return s.partEnd(dst, e)
	case llm.EventFinish:
		return s.finish(dst, e)
	}
	return dst
}

func (s *encoder) start(dst []byte, e *llm.Event) []byte {
	dst = append(dst, "event: message_start\n"+`data: {"type":"message_start","message":`...)
	dst = appendShell(dst, s.options)
	dst = append(dst, `"content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,`+
		`"container":null,"diagnostics":null,"usage":`...)
	dst = encodeUsage(dst, &llm.Event{Usage: e.Usage}, true)
	return append(dst, "}}\n\n"...)
}

// blockStart opens the frame that begins a block, up to the block.
func (s *encoder) blockStart(dst []byte) []byte {
	s.begun = true
	dst = append(dst, "event: content_block_start\n"+`data: {"type":"content_block_start","index":`...)
	dst = strconv.AppendInt(dst, s.index, 10)
	return append(dst, `,"content_block":`...)
}

// show begins the block of the open part, unless the client has its start.
func (s *encoder) show(dst []byte) []byte {
	if s.begun {
		return dst
	}
	dst = s.blockStart(dst)
	if s.open == llm.Reasoning {
		return append(dst, `{"type":"thinking","thinking":"","signature":""}}`+"\n\n"...)
	}
	return append(dst, `{"type":"text","text":"","citations":null}}`+"\n\n"...)
}

// deltaStart opens the frame of a delta, up to its text. Name is the type of the delta, and member the member with the text.
func (s *encoder) deltaStart(dst []byte, name, member string) []byte {
	dst = append(dst, "event: content_block_delta\n"+`data: {"type":"content_block_delta","index":`...)
	dst = strconv.AppendInt(dst, s.index, 10)
	dst = append(dst, `,"delta":{"type":"`...)
	dst = append(dst, name...)
	dst = append(dst, `","`...)
	dst = append(dst, member...)
	return append(dst, `":`...)
}

func (s *encoder) delta(dst []byte, e *llm.Event) []byte {
	if e.Delta == "" || s.open == 0 {
		return dst
	}
	switch s.open {
	case llm.Call:
		s.input = append(s.input, e.Delta...)
		dst = s.deltaStart(dst, "input_json_delta", "partial_json")
	case llm.Reasoning:
		dst = s.deltaStart(s.show(dst), "thinking_delta", "thinking")
	default:
		dst = s.deltaStart(s.show(dst), "text_delta", "text")
	}
	return append(llm.Quote(dst, e.Delta), "}}\n\n"...)
}

func (s *encoder) partEnd(dst []byte, e *llm.Event) []byte {
	switch {
	case s.open == llm.Call:
		s.flags.malformed = s.flags.malformed || !isJSONOrBlank(string(s.input))
	case s.open == llm.Reasoning && e.Redacted && !s.begun && e.Signature != "":
		dst = s.blockStart(dst)
		dst = append(dst, `{"type":"redacted_thinking","data":`...)
		dst = append(llm.Quote(dst, e.Signature), "}}\n\n"...)
	case s.open == llm.Reasoning && (s.begun || e.Signature != ""):
		dst = s.deltaStart(s.show(dst), "signature_delta", "signature")
		dst = append(llm.Quote(dst, e.Signature), "}}\n\n"...)
	}
	if s.begun {
		dst = append(dst, "event: content_block_stop\n"+`data: {"type":"content_block_stop","index":`...)
		dst = strconv.AppendInt(dst, s.index, 10)
		dst = append(dst, "}\n\n"...)
		s.index++
	}
	s.open, s.begun = 0, false
	return dst
}

func (s *encoder) finish(dst []byte, e *llm.Event) []byte {
	dst = append(dst, "event: message_delta\n"+`data: {"type":"message_delta","delta":{`...)
	dst = encodeStop(dst, e.Stop, e.StopText, s.flags)
	dst = append(dst, `,"container":null},"usage":`...)
	dst = encodeUsage(dst, e, false)
	return append(dst, "}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

// Fail ends the stream with an error.
func (*encoder) Fail(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte {
	dst = append(dst, "event: error\ndata: "...)
	dst = AppendError(dst, e, requestID)
	if charge != nil {
		dst = append(dst[:len(dst)-1], `,"usage":`...)
		dst = append(encodeUsage(dst, &llm.Event{Usage: charge.Usage, Cost: &charge.Cost}, false), '}')
	}
	return append(dst, "\n\n"...)
}
