package chat

import (
	"strconv"

	"umg/app"
	"umg/app/llm"
)

// encoder turns events into chunks.
type encoder struct {
	envelope Envelope
	begun    bool
	// usage means that the client asked for the usage.
	usage bool
	// usesFunctions means that the client knows only the former form with one call.
	usesFunctions bool
	// calls is the number of calls that have begun.
	calls int64
	// custom means that the open call takes free text.
	custom bool
	// noArguments means that no arguments of the open call were written yet.
	noArguments bool
	// thoughts means that reasoning was written.
	thoughts bool
	// gap means that the next reasoning needs a separator.
	gap     bool
	refusal bool
	// signature belongs to the next call.
	signature string
	scratch   []byte
}

// Encoder makes the state machine that writes a stream.
func (Codec) Encoder(a *llm.ResponseOptions) llm.StreamEncoder {
	return &encoder{envelope: envelopeOf(a), usage: a.IncludeUsage, usesFunctions: usesFunctions(a)}
}

// Append appends the chunks of one event. Every stream begins with the role, whatever comes first, because clients build the message on it.
func (s *encoder) Append(dst []byte, e *llm.Event) []byte {
	if !s.begun {
		s.begun = true
		dst = s.envelope.AppendRole(dst)
	}
	switch e.Kind {
	case llm.EventPart:
		return s.part(dst, e)
	case llm.EventDelta:
		return s.delta(dst, e)
	case llm.EventPartEnd:
		return s.partEnd(dst, e)
	case llm.EventFinish:
		return s.finish(dst, e)
	}
	return dst
}

// Fail appends how the stream ends with an error.
func (s *encoder) Fail(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte {
	return s.envelope.AppendFailure(dst, e, requestID, charge, s.usage)
}

// part begins a call. Its id and its name come here and never again, since clients add up what they get. The other
// parts begin with their first delta.
func (s *encoder) part(dst []byte, e *llm.Event) []byte {
	switch e.Part {
	case llm.Reasoning:
		s.gap = s.thoughts
	case llm.Refusal:
		s.refusal = true
	case llm.Call:
		s.custom, s.noArguments = e.Call.Custom, true
		s.calls++
		if s.usesFunctions {
			return s.functionCall(dst, &e.Call)
		}
		d := encodeCall(append(s.openCall(), ','), &e.Call, "", s.signature)
		s.signature = ""
		return s.write(dst, append(d, "]}"...))
	}
	return dst
}

// openCall begins a delta of the last call.
func (s *encoder) openCall() []byte {
	return strconv.AppendInt(append(s.scratch[:0], `{"tool_calls":[{"index":`...), s.calls-1, 10)
}

func (s *encoder) delta(dst []byte, e *llm.Event) []byte {
	switch e.Part {
	case llm.Text:
		return s.text(dst, `{"content":`, e.Delta)
	case llm.Refusal:
		return s.text(dst, `{"refusal":`, e.Delta)
	case llm.Reasoning:
		if s.gap {
			s.gap = false
			dst = s.text(dst, `{"reasoning_content":`, reasoningGap)
		}
		s.thoughts = true
		return s.text(dst, `{"reasoning_content":`, e.Delta)
	case llm.Call:
		return s.arguments(dst, e.Delta)
	}
	return dst
}

func (s *encoder) text(dst []byte, member, text string) []byte {
	d := llm.Quote(append(s.scratch[:0], member...), text)
	return s.write(dst, append(d, '}'))
}

// functionCall begins a call for a client that knows one only.
func (s *encoder) functionCall(dst []byte, c *llm.ToolCall) []byte {
	if s.calls > 1 {
		return dst
	}
	d := llm.Quote(append(s.scratch[:0], `{"function_call":{"name":`...), c.Name)
	return s.write(dst, append(d, `,"arguments":""}}`...))
}

func (s *encoder) arguments(dst []byte, more string) []byte {
	s.noArguments = false
	switch {
	case s.usesFunctions && s.calls > 1:
		return dst
	case s.usesFunctions:
		return s.write(dst, append(llm.Quote(append(s.scratch[:0], `{"function_call":{"arguments":`...), more), "}}"...))
	}
	d := s.openCall()
	if s.custom {
		d = append(d, `,"custom":{"input":`...)
	} else {
		d = append(d, `,"function":{"arguments":`...)
	}
	return s.write(dst, append(llm.Quote(d, more), "}}]}"...))
}

func (s *encoder) write(dst, delta []byte) []byte {
	s.scratch = delta
	return s.envelope.AppendDelta(dst, 0, delta)
}

func (s *encoder) partEnd(dst []byte, e *llm.Event) []byte {
	switch {
	case e.Part == llm.Reasoning && e.Signature != "" && !e.Redacted:
		s.signature = e.Signature
	case e.Part == llm.Call && s.noArguments && !s.custom:
		return s.arguments(dst, "{}")
	}
	return dst
}

func (s *encoder) finish(dst []byte, e *llm.Event) []byte {
	dst = s.envelope.AppendFinish(dst, 0, legacyReason(encodeStop(e.Stop, s.calls > 0, s.refusal), s.usesFunctions))
	switch {
	case s.usage && (e.Reported || e.Cost != nil):
		s.scratch = encodeUsage(s.scratch[:0], &e.Usage, e.Cost)
		dst = s.envelope.AppendUsage(dst, s.scratch)
	case !s.usage && e.Cost != nil:
		dst = AppendCost(dst, *e.Cost)
	}
	return append(dst, DoneFrame...)
}
