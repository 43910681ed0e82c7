package native

import (
	"umg/app"
	"umg/app/llm"
)

// encoder writes the frames of one stream. It keeps a call until it is whole, because the style sends a call in one piece. It keeps the
// signature of a thought until the next part, because a call carries the signature of the thought before it.
type encoder struct {
	// end is the end of every frame.
	end []byte
	// hidden means that the client did not ask for thoughts.
	hidden    bool
	call      llm.ToolCall
	arguments []byte
	signature string
	malformed bool
	// refused means that the answer has text of a refusal.
	refused bool
}

func newEncoder(a *llm.ResponseOptions) *encoder {
	return &encoder{end: ending(a), hidden: hidesThoughts(a)}
}

// Append appends the frames of one event.
func (e *encoder) Append(dst []byte, v *llm.Event) []byte {
	switch v.Kind {
	case llm.EventPart:
		e.refused = e.refused || v.Part == llm.Refusal
		if v.Part != llm.Call {
			return e.writeSignature(dst)
		}
		e.call, e.arguments = v.Call, e.arguments[:0]
	case llm.EventDelta:
		return e.delta(dst, v)
	case llm.EventPartEnd:
		switch v.Part {
		case llm.Call:
			return e.writeCall(dst)
		case llm.Reasoning:
			e.signature = v.Signature
		}
	case llm.EventFinish:
		dst = e.writeSignature(dst)
		dst = append(append(dst, "data: "...), frameOpen...)
		return append(appendEnd(dst, v, encodeStop(v.Stop, e.malformed, e.refused), e.end), "}\n\n"...)
	}
	return dst
}

func (e *encoder) delta(dst []byte, v *llm.Event) []byte {
	switch {
	case v.Part == llm.Call:
		e.arguments = append(e.arguments, v.Delta...)
		return dst
	case v.Delta == "", v.Part == llm.Reasoning && e.hidden:
		return dst
	}
	dst = append(append(dst, "data: "...), frameOpen...)
	if v.Part == llm.Reasoning {
		dst = append(llm.Quote(append(dst, `{"text":`...), v.Delta), `,"thought":true}`...)
	} else {
		dst = appendText(dst, v.Delta)
	}
	return e.close(dst)
}

func (e *encoder) close(dst []byte) []byte {
	dst = append(append(dst, frameClose+`,"index":0}]`...), e.end...)
	return append(dst, "}\n\n"...)
}

// writeCall appends a whole call. A call whose arguments are not JSON is left out, and makes the answer malformed.
func (e *encoder) writeCall(dst []byte) []byte {
	before := len(dst)
	w := partsWriter{dst: append(append(dst, "data: "...), frameOpen...), seal: true, signature: e.signature}
	e.signature = ""
	w.call(&e.call, string(e.arguments))
	if w.malformed {
		e.malformed = true
		return w.dst[:before]
	}
	return e.close(w.dst)
}

// writeSignature appends a signature that no call follows, as a thought of its own.
func (e *encoder) writeSignature(dst []byte) []byte {
	if e.signature == "" || e.hidden {
		e.signature = ""
		return dst
	}
	w := partsWriter{dst: append(append(dst, "data: "...), frameOpen...), seal: true}
	w.thought("", e.signature)
	e.signature = ""
	return e.close(w.dst)
}

// Fail appends how a stream ends with an error.
func (*encoder) Fail(dst []byte, err *app.Error, requestID string, charge *llm.Charge) []byte {
	return AppendErrorFrame(dst, err, requestID, charge)
}
