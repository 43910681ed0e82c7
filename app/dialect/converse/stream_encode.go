package converse

import (
	"strconv"

	"umg/app"
	"umg/app/llm"
)

// encoder writes a stream, as package framing gives it. Blocks are numbered without gaps.
type encoder struct {
	index int64
	open  llm.PartKind
}

// Append appends the frames of one event.
func (s *encoder) Append(dst []byte, e *llm.Event) []byte {
	switch e.Kind {
	case llm.EventStart:
		return appendEvent(dst, "messageStart", `{"role":"assistant"}`)
	case llm.EventPart:
		s.open = e.Part
		if e.Part != llm.Call {
			return dst
		}
		dst = s.blockEvent(dst, "contentBlockStart")
		dst = llm.Quote(append(dst, `,"start":{"toolUse":{"toolUseId":`...), e.Call.ID)
		dst = llm.Quote(append(dst, `,"name":`...), e.Call.Name)
		return append(dst, "}}}\n\n"...)
	case llm.EventDelta:
		return s.delta(dst, e.Delta)
	case llm.EventPartEnd:
		if e.Part == llm.Reasoning && e.Signature != "" {
			member := `,"delta":{"reasoningContent":{"signature":`
			if e.Redacted {
				member = `,"delta":{"reasoningContent":{"redactedContent":`
			}
			dst = append(llm.Quote(append(s.blockEvent(dst, "contentBlockDelta"), member...), e.Signature), "}}}\n\n"...)
		}
		dst = append(s.blockEvent(dst, "contentBlockStop"), "}\n\n"...)
		s.index++
		return dst
	case llm.EventFinish:
		dst = append(dst, "event: messageStop\ndata: {\"stopReason\":\""+stopWord(e.Stop)+`"`...)
		if e.StopText != "" {
			dst = append(llm.Quote(append(dst, `,"additionalModelResponseFields":{"delta":{"stop_sequence":`...), e.StopText), "}}"...)
		}
		dst = append(dst, "}\n\nevent: metadata\ndata: {\"usage\":"...)
		return append(appendUsage(dst, &e.Usage), ",\"metrics\":{\"latencyMs\":0}}\n\n"...)
	}
	return dst
}

func appendEvent(dst []byte, event, data string) []byte {
	return append(dst, "event: "+event+"\ndata: "+data+"\n\n"...)
}

// blockEvent opens the frame of an event of the open block.
func (s *encoder) blockEvent(dst []byte, event string) []byte {
	dst = append(dst, "event: "+event+"\ndata: {\"contentBlockIndex\":"...)
	return strconv.AppendInt(dst, s.index, 10)
}

func (s *encoder) delta(dst []byte, text string) []byte {
	member, end := `,"delta":{"text":`, "}}\n\n"
	switch s.open {
	case llm.Call:
		member, end = `,"delta":{"toolUse":{"input":`, "}}}\n\n"
	case llm.Reasoning:
		member, end = `,"delta":{"reasoningContent":{"text":`, "}}}\n\n"
	}
	return append(llm.Quote(append(s.blockEvent(dst, "contentBlockDelta"), member...), text), end...)
}

// Fail ends the stream with an error, in the form that package framing gives an exception.
func (*encoder) Fail(dst []byte, e *app.Error, _ string, _ *llm.Charge) []byte {
	const kind = "internalServerException"
	dst = append(dst, "event: "+kind+"\ndata: {\"type\":\"error\",\"error\":{\"type\":\""+kind+`","message":`...)
	return append(llm.Quote(dst, e.Message), "}}\n\n"...)
}
