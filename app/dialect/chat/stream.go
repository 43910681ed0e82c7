package chat

import (
	"strconv"

	"umg/app"
	"umg/app/llm"
)

const (
	// Done is the data of the frame that ends every stream.
	Done = "[DONE]"
	// DoneFrame is that frame.
	DoneFrame = "data: " + Done + "\n\n"
	// KeepAlive is a comment, which every client skips.
	KeepAlive = ": keepalive\n\n"
)

// AppendCost appends the cost of a stream as a comment, for a client that has not asked for the usage. Clients skip comments, and a
// person or a proxy can read it.
func AppendCost(dst []byte, cost app.Amount) []byte {
	return append(append(append(dst, `: {"cost":`...), cost.String()...), "}\n\n"...)
}

// AppendFailure appends how a stream ends with an error: the usage so far, or only its cost for a client that has not asked for the usage,
// since clients read nothing behind the error; then one frame that every client raises, and the end.
func (e Envelope) AppendFailure(dst []byte, failure *app.Error, requestID string, charge *llm.Charge, includeUsage bool) []byte {
	switch {
	case charge == nil:
	case includeUsage:
		dst = e.AppendUsage(dst, encodeUsage(nil, &charge.Usage, &charge.Cost))
	default:
		dst = AppendCost(dst, charge.Cost)
	}
	return append(AppendNotice(dst, failure, requestID), DoneFrame...)
}

// AppendNotice appends an error as a frame. Behind the end of a stream official clients read over it.
func AppendNotice(dst []byte, e *app.Error, requestID string) []byte {
	dst = append(dst, "data: "...)
	dst = AppendError(dst, e, requestID)
	return append(dst, "\n\n"...)
}

// Envelope is what all chunks of one stream share, each as JSON text.
type Envelope struct {
	ID, Created, Model string
	// NoUsageYet says that chunks other than that of the usage have usage:null, as a client that asked for usage knows it.
	NoUsageYet bool
}

// AppendRole appends the frame every stream begins with: role assistant and empty content.
func (e Envelope) AppendRole(dst []byte) []byte {
	dst = append(e.open(dst), `"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]`...)
	return e.close(dst)
}

// AppendDelta appends a frame with the delta, which is JSON, for the choice.
func (e Envelope) AppendDelta(dst []byte, index int64, delta []byte) []byte {
	dst = append(e.open(dst), `"choices":[{"index":`...)
	dst = strconv.AppendInt(dst, index, 10)
	dst = append(dst, `,"delta":`...)
	dst = append(dst, delta...)
	return e.close(append(dst, `,"finish_reason":null}]`...))
}

// AppendFinish appends a frame with a finish reason for the choice.
func (e Envelope) AppendFinish(dst []byte, index int64, reason string) []byte {
	dst = append(e.open(dst), `"choices":[{"index":`...)
	dst = strconv.AppendInt(dst, index, 10)
	dst = append(dst, `,"delta":{},"finish_reason":`...)
	return e.close(append(llm.Quote(dst, reason), "}]"...))
}

// AppendUsage appends a frame without choices and with the usage object.
func (e Envelope) AppendUsage(dst, usage []byte) []byte {
	dst = append(e.open(dst), `"choices":[],"usage":`...)
	dst = append(dst, usage...)
	return append(dst, "}\n\n"...)
}

func (e Envelope) open(dst []byte) []byte {
	dst = append(dst, `data: {"id":`...)
	dst = append(dst, e.ID...)
	dst = append(dst, `,"object":"chat.completion.chunk","created":`...)
	dst = append(dst, e.Created...)
	dst = append(dst, `,"model":`...)
	dst = append(dst, e.Model...)
	return append(dst, ',')
}

func (e Envelope) close(dst []byte) []byte {
	if e.NoUsageYet {
		dst = append(dst, `,"usage":null`...)
	}
	return append(dst, "}\n\n"...)
}
