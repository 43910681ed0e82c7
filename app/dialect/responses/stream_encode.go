package responses

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

// Encoder writes one streamed answer.
func (Codec) Encoder(a *llm.ResponseOptions) llm.StreamEncoder { return &encoder{out: newOutput(a)} }

// encoder writes the frames of a stream. Items come one after the other. The last frame repeats all of them, so the encoder keeps the
// answer.
type encoder struct {
	out  *answerBuilder
	echo []byte
	// number is the sequence number of the next frame.
	number int64
	// index is the index of the open item.
	index int64
	begun bool
	// summary means that the summary of the open reasoning has begun.
	summary bool
	ended   bool
}

func (e *encoder) Append(dst []byte, ev *llm.Event) []byte {
	if e.ended {
		return dst
	}
	dst = e.begin(dst)
	switch ev.Kind {
	case llm.EventPart:
		return e.part(dst, ev)
	case llm.EventDelta:
		if ev.Part == e.out.item.part && ev.Delta != "" && itemKindOf(ev.Part) != 0 {
			return e.delta(dst, ev.Delta)
		}
	case llm.EventPartEnd:
		if ev.Part == e.out.item.part && itemKindOf(ev.Part) != 0 {
			return e.partEnd(dst, ev)
		}
	case llm.EventFinish:
		return e.finish(dst, ev)
	}
	return dst
}

// begin writes the frames that start the answer, once.
func (e *encoder) begin(dst []byte) []byte {
	if e.begun {
		return dst
	}
	e.begun = true
	e.echo = echoOf(e.out.options)
	dst = e.snapshot(dst, "response.created")
	return e.snapshot(dst, "response.in_progress")
}

// open begins a frame, whose event line and type are the same.
func (e *encoder) open(dst []byte, name string) []byte {
	dst = openFrame(dst, name, e.number)
	e.number++
	return dst
}

func openFrame(dst []byte, name string, number int64) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(append(dst, "\ndata: {\"type\":\""...), name...), `","sequence_number":`...)
	return strconv.AppendInt(dst, number, 10)
}

const frameEnd = "}\n\n"

// snapshot appends a frame with the answer so far.
func (e *encoder) snapshot(dst []byte, name string) []byte {
	dst = append(e.open(dst, name), `,"response":`...)
	return append(e.out.append(dst, e.echo), frameEnd...)
}

// itemFrame begins a frame about the item being made.
func (e *encoder) itemFrame(dst []byte, name string) []byte {
	dst = e.open(dst, name)
	dst = append(dst, `,"item_id":`...)
	dst = llm.Quote(dst, e.out.item.id)
	dst = append(dst, `,"output_index":`...)
	return strconv.AppendInt(dst, e.index, 10)
}

// partFrame begins a frame about its open part.
func (e *encoder) partFrame(dst []byte, name string) []byte {
	dst = e.itemFrame(dst, name)
	if e.out.item.kind == llm.Reasoning {
		return append(dst, `,"summary_index":0`...)
	}
	dst = append(dst, `,"content_index":`...)
	return strconv.AppendInt(dst, int64(e.out.item.count), 10)
}

// part ends the last item and begins a new one, unless the part joins the open item. Then it begins the part.
func (e *encoder) part(dst []byte, ev *llm.Event) []byte {
	joins := e.out.joins(ev.Part)
	if !joins {
		dst = e.itemDone(dst, statusCompleted)
	}
	e.out.begin(ev.Part, &ev.Call)
	e.summary = false
	if e.out.item.kind == 0 {
		return dst
	}
	if !joins {
		e.index = int64(e.out.count) - 1
		dst = append(e.open(dst, "response.output_item.added"), `,"output_index":`...)
		dst = append(strconv.AppendInt(dst, e.index, 10), `,"item":`...)
		dst = append(e.out.item.append(dst, statusInProgress), frameEnd...)
	}
	if e.out.item.kind != llm.Text {
		return dst
	}
	dst = append(e.partFrame(dst, "response.content_part.added"), `,"part":`...)
	return append(e.appendPart(dst, nil), frameEnd...)
}

// appendPart appends the open part of a message with that text.
func (e *encoder) appendPart(dst, text []byte) []byte {
	if e.out.item.part == llm.Refusal {
		return appendRefusal(dst, text)
	}
	return appendOutputText(dst, text)
}

func (e *encoder) delta(dst []byte, delta string) []byte {
	it := &e.out.item
	logprobs := false
	switch {
	case it.part == llm.Text:
		dst, logprobs = e.partFrame(dst, "response.output_text.delta"), true
	case it.part == llm.Refusal:
		dst = e.partFrame(dst, "response.refusal.delta")
	case it.part == llm.Reasoning:
		dst = e.partFrame(e.announce(dst), "response.reasoning_summary_text.delta")
	case it.call.Custom:
		dst = e.itemFrame(dst, "response.custom_tool_call_input.delta")
	default:
		dst = e.itemFrame(dst, "response.function_call_arguments.delta")
	}
	from := len(it.text)
	e.out.write(delta)
	dst = append(append(dst, `,"delta":"`...), it.text[from:]...)
	if logprobs {
		return append(dst, `","logprobs":[]`+frameEnd...)
	}
	return append(dst, `"`+frameEnd...)
}

// announce begins the summary of the open reasoning, once.
func (e *encoder) announce(dst []byte) []byte {
	if e.summary {
		return dst
	}
	e.summary = true
	dst = append(e.partFrame(dst, "response.reasoning_summary_part.added"), `,"part":`...)
	return append(appendSummary(dst, nil), frameEnd...)
}

func (e *encoder) partEnd(dst []byte, ev *llm.Event) []byte {
	it := &e.out.item
	switch it.part {
	case llm.Text:
		dst = append(append(e.partFrame(dst, "response.output_text.done"), `,"text":"`...), it.text...)
		dst = append(dst, `","logprobs":[]`+frameEnd...)
		dst = e.contentDone(dst)
	case llm.Refusal:
		dst = append(append(e.partFrame(dst, "response.refusal.done"), `,"refusal":"`...), it.text...)
		dst = e.contentDone(append(dst, `"`+frameEnd...))
	case llm.Reasoning:
		if ev.Signature != "" && !ev.Redacted {
			dst = e.announce(dst)
		}
		dst = e.summaryDone(dst)
	default:
		dst = e.callDone(dst)
	}
	e.out.endPart(ev.Signature, ev.Redacted)
	return dst
}

func (e *encoder) contentDone(dst []byte) []byte {
	dst = append(e.partFrame(dst, "response.content_part.done"), `,"part":`...)
	return append(e.appendPart(dst, e.out.item.text), frameEnd...)
}

func (e *encoder) summaryDone(dst []byte) []byte {
	if !e.summary {
		return dst
	}
	dst = append(append(e.partFrame(dst, "response.reasoning_summary_text.done"), `,"text":"`...), e.out.item.text...)
	dst = append(dst, `"`+frameEnd...)
	dst = append(e.partFrame(dst, "response.reasoning_summary_part.done"), `,"part":`...)
	return append(appendSummary(dst, e.out.item.text), frameEnd...)
}

func (e *encoder) callDone(dst []byte) []byte {
	it := &e.out.item
	if len(it.text) == 0 && !it.call.Custom {
		// Clients parse the arguments, so that they must not be empty.
		dst = e.delta(dst, "{}")
	}
	if it.call.Custom {
		dst = append(e.itemFrame(dst, "response.custom_tool_call_input.done"), `,"input":"`...)
	} else {
		dst = textMember(e.itemFrame(dst, "response.function_call_arguments.done"), "name", it.call.Name)
		dst = append(dst, `,"arguments":"`...)
	}
	return append(append(dst, it.text...), `"`+frameEnd...)
}

// itemDone ends the item being made.
func (e *encoder) itemDone(dst []byte, status string) []byte {
	if e.out.item.kind == 0 {
		return dst
	}
	dst = append(e.open(dst, "response.output_item.done"), `,"output_index":`...)
	dst = append(strconv.AppendInt(dst, e.index, 10), `,"item":`...)
	return append(e.out.item.append(dst, status), frameEnd...)
}

func (e *encoder) finish(dst []byte, ev *llm.Event) []byte {
	e.ended = true
	last := encodeStop(ev.Stop, e.out.refused)
	if last.status != statusCompleted {
		last.status = statusIncomplete
	}
	dst = e.itemDone(dst, last.status)
	e.out.finish(ev)
	return e.snapshot(dst, "response."+e.out.status)
}

// Fail ends the stream with response.failed and the output so far.
func (e *encoder) Fail(dst []byte, failure *app.Error, requestID string, charge *llm.Charge) []byte {
	if e.ended {
		return dst
	}
	e.ended = true
	if !e.begun {
		e.begun = true
		e.echo = echoOf(e.out.options)
		dst = e.snapshot(dst, "response.created")
	}
	o := e.out
	if o.item.part != 0 && o.item.part != llm.Call {
		o.endPart("", true)
	}
	o.status, o.failure = statusFailed, appendFailure(nil, failureCode(failure), failure.Message, requestID)
	if charge != nil {
		o.usage = encodeUsage(nil, &charge.Usage, &charge.Cost)
	}
	o.close(statusIncomplete)
	return e.snapshot(dst, "response.failed")
}

// AppendFailed appends response.failed to a stream that was passed through, with seq as its number. The response is the answer in the last
// frame that the client received, as JSON. When there is none, the stream begins here.
func AppendFailed(
	dst []byte, seq int64, response []byte, a *llm.ResponseOptions, e *app.Error, requestID string, charge *llm.Charge,
) []byte {
	failure := appendFailure(nil, failureCode(e), e.Message, requestID)
	var usage []byte
	if charge != nil {
		usage = encodeUsage(nil, &charge.Usage, &charge.Cost)
	}
	if seen := jsontext.Value(response); len(seen) > 0 && seen.Kind() == '{' && seen.IsValid(checked) {
		dst = append(openFrame(dst, "response.failed", seq), `,"response":`...)
		return append(appendDelivered(dst, seen, failure, usage), frameEnd...)
	}
	enc := &encoder{out: newOutput(a), echo: echoOf(a), number: seq}
	dst = enc.snapshot(dst, "response.created")
	enc.out.status, enc.out.failure, enc.out.usage = statusFailed, failure, usage
	return enc.snapshot(dst, "response.failed")
}

// appendDelivered appends a copy of an answer that has failed.
func appendDelivered(dst []byte, seen jsontext.Value, failure, usage []byte) []byte {
	d := jsontext.NewDecoder(bytes.NewReader(seen), checked)
	// The value was checked before, so this cannot fail.
	_, _ = d.ReadToken()
	dst = append(dst, '{')
	output := false
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			break
		}
		text := name.String()
		value, err := d.ReadValue()
		if err != nil {
			break
		}
		switch text {
		case "status", "error", "incomplete_details", "completed_at":
			continue
		case "usage", "user":
			if value.Kind() == 'n' || usage != nil && text == "usage" {
				// Clients accept neither null nor the same member twice.
				continue
			}
		case "output":
			output = true
		}
		dst = raw(append(llm.Quote(next(dst), text), ':'), value, "null")
	}
	dst = textMember(dst, "status", statusFailed)
	dst = append(key(dst, "error"), failure...)
	dst = append(dst, `,"incomplete_details":null`...)
	if !output {
		dst = append(dst, `,"output":[]`...)
	}
	if usage != nil {
		dst = append(key(dst, "usage"), usage...)
	}
	return append(dst, '}')
}
