package chat

import (
	"bytes"

	"github.com/go-json-experiment/json"

	"umg/app/llm"
	"umg/app/usagereader"
)

// decoder turns chunks into events. The style marks neither where a part begins nor where it ends, so both follow from what comes next.
type decoder struct {
	// frame is reused, so that a delta costs few allocations.
	frame response
	// half is the first half of a character that the provider cut in two.
	half []byte

	started  bool
	finished bool
	// open is the kind of the open part; zero when none is open.
	open llm.PartKind
	// refusal means that the answer has text of a refusal.
	refusal bool
	// hasPart means that the answer has a part.
	hasPart bool
	// finishReason is the finish reason.
	finishReason string
	reader       llm.UsageReader
	report       llm.Report
	usage        llm.Usage
	reported     bool
	tools        calls
	think        thinkText
}

// Decoder makes the state machine that reads a stream.
func (Codec) Decoder(a *llm.ResponseOptions) llm.StreamDecoder {
	return &decoder{
		reader: usagereader.For(a, llm.Chat), report: usagereader.NewReport(), tools: calls{options: a, current: notFound},
		think: newThinkText(a != nil && a.ThinkText),
	}
}

// Decode appends the events of one chunk.
func (d *decoder) Decode(dst []llm.Event, event, data []byte) ([]llm.Event, error) {
	if d.finished || len(data) == 0 {
		return dst, nil
	}
	if string(bytes.TrimSpace(data)) == Done {
		if d.finishReason == "" && d.hasPart && d.reported {
			// Some providers never send a finish reason. Their answer is complete when they have counted all of it.
			d.finishReason = string(llm.StopEnd)
			dst = d.endMarks(dst)
			d.reported = true
		}
		dst, err := d.End(dst)
		if err != nil {
			return dst, err
		}
		return dst, llm.ErrEnd
	}
	f := &d.frame
	f.Choices, f.Usage, f.Error = f.Choices[:0], f.Usage[:0], f.Error[:0]
	if err := json.Unmarshal(d.joinHalves(data), f, llm.Lenient); err != nil {
		return dst, llm.ErrMalformed
	}
	if !llm.IsNull(f.Error) || string(event) == "error" {
		failed := &llm.UpstreamError{Body: bytes.Clone(data[:min(len(data), failureBytesMax)])}
		if !llm.IsNull(f.Usage) && readUsage(&d.report, d.reader, data, f.Usage) {
			failed.Usage, failed.Reported = d.report.Usage()
		}
		return dst, failed
	}
	var err error
	if c := firstChoice(f.Choices); c != nil {
		dst, err = d.choice(d.start(dst, data), c)
	}
	d.readUsage(data)
	return dst, err
}

// readUsage reads the usage of a chunk that may have one: the last ones of the answer.
func (d *decoder) readUsage(data []byte) {
	f := &d.frame
	if d.finishReason == "" && llm.IsNull(f.Usage) || !readUsage(&d.report, d.reader, data, f.Usage) {
		return
	}
	if u, ok := d.report.Usage(); ok && (u.Doubts == 0 || !d.reported || d.usage.Doubts != 0) {
		d.usage, d.reported = u, true
	}
}

// End appends what closes the answer. Without a finish reason the answer is cut, whatever mark the stream ended with.
func (d *decoder) End(dst []llm.Event) ([]llm.Event, error) {
	if d.finished {
		return dst, nil
	}
	if d.finishReason == "" {
		return dst, llm.ErrCut
	}
	dst = d.closeAll(dst)
	stop := decodeStop(d.finishReason, d.tools.begun > 0, d.refusal)
	if d.tools.damaged() {
		stop = llm.StopMalformed
	}
	if !d.hasPart && failed(stop) {
		return dst, llm.ErrCut
	}
	d.finished = true
	if !d.reported {
		d.usage = llm.Usage{}
	}
	return append(dst, llm.Event{Kind: llm.EventFinish, Stop: stop, Usage: d.usage, Reported: d.reported}), nil
}

// start appends the start of the answer with the first chunk that has a choice.
func (d *decoder) start(dst []llm.Event, data []byte) []llm.Event {
	if d.started {
		return dst
	}
	d.started = true
	var head struct {
		ID str `json:"id"`
	}
	// The frame was parsed before, so this cannot fail.
	_ = json.Unmarshal(data, &head, llm.Lenient)
	return append(dst, llm.Event{Kind: llm.EventStart, ID: string(head.ID)})
}

// choice appends what one chunk says.
func (d *decoder) choice(dst []llm.Event, c *choice) ([]llm.Event, error) {
	w := &c.Delta
	dst = d.text(dst, llm.Reasoning, w.thoughts())
	if w.Content.parts == nil {
		dst = d.markedText(dst, w.Content.text)
	} else {
		for _, p := range decodeContent(&w.Content) {
			dst = d.text(dst, p.Kind, p.Text)
		}
	}
	dst = d.text(dst, llm.Refusal, string(w.Refusal))
	if len(w.ToolCalls) > 0 || w.FunctionCall.Name != "" || c.FinishReason != "" {
		dst = d.endMarks(dst)
	}
	var err error
	for i := range w.ToolCalls {
		var bad error
		if dst, bad = d.call(dst, &w.ToolCalls[i]); bad != nil {
			err = bad
		}
	}
	if f := &w.FunctionCall; f.Name != "" || f.Arguments != "" {
		dst, err = d.call(dst, &toolCall{Index: index{isSet: true}, Function: *f})
	}
	if c.FinishReason != "" {
		d.finishReason = string(c.FinishReason)
		dst = d.closeAll(dst)
	}
	return dst, err
}

// text appends a piece of a part that is no call.
func (d *decoder) text(dst []llm.Event, kind llm.PartKind, text string) []llm.Event {
	if text == "" {
		return dst
	}
	// A usage before content is not the last one.
	d.reported = false
	d.refusal = d.refusal || kind == llm.Refusal
	if d.open != kind {
		dst = d.begin(d.closePart(dst, ""), &llm.Event{Kind: llm.EventPart, Part: kind})
	}
	return append(dst, llm.Event{Kind: llm.EventDelta, Part: kind, Delta: text})
}

// markedText appends a piece of text, whose beginning may be reasoning between marks.
func (d *decoder) markedText(dst []llm.Event, piece string) []llm.Event {
	if d.think.phase == thinkOff {
		return d.text(dst, llm.Text, piece)
	}
	reasoning, text := d.think.split(piece)
	return d.text(d.text(dst, llm.Reasoning, reasoning), llm.Text, text)
}

// endMarks appends the text that could have been a part of a mark.
func (d *decoder) endMarks(dst []llm.Event) []llm.Event {
	if d.think.phase == thinkOff {
		return dst
	}
	reasoning, text := d.think.rest()
	d.think = thinkText{}
	return d.text(d.text(dst, llm.Reasoning, reasoning), llm.Text, text)
}

func (d *decoder) begin(dst []llm.Event, e *llm.Event) []llm.Event {
	d.open, d.hasPart = e.Part, true
	return append(dst, *e)
}

// closePart ends the open part, if there is one.
func (d *decoder) closePart(dst []llm.Event, signature string) []llm.Event {
	if d.open == 0 {
		return dst
	}
	dst = append(dst, llm.Event{Kind: llm.EventPartEnd, Part: d.open, Signature: signature})
	if d.open == llm.Call {
		d.tools.end()
	}
	d.open = 0
	return dst
}

// closeAll ends the open part and passes on the calls that were kept back.
func (d *decoder) closeAll(dst []llm.Event) []llm.Event {
	dst = d.closePart(dst, "")
	for c := d.tools.waiting(); c != nil; c = d.tools.waiting() {
		dst = d.closePart(d.beginCall(dst, c), "")
	}
	return dst
}

// call appends a piece of a call, or keeps it until the open call is whole.
func (d *decoder) call(dst []llm.Event, w *toolCall) ([]llm.Event, error) {
	d.reported = false
	flow, err := d.tools.add(w)
	if flow != "" {
		dst = append(dst, llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: flow})
	}
	for d.tools.settled() {
		c := d.tools.waiting()
		if c == nil {
			break
		}
		dst = d.beginCall(dst, c)
	}
	return dst, err
}

// beginCall begins a call with what was kept back of it. Its proof of reasoning closes the thoughts right before it, or makes empty ones.
func (d *decoder) beginCall(dst []llm.Event, c *call) []llm.Event {
	if c.signature != "" && d.open != llm.Reasoning {
		dst = d.begin(d.closePart(dst, ""), &llm.Event{Kind: llm.EventPart, Part: llm.Reasoning})
	}
	dst = d.closePart(dst, c.signature)
	id, kept := d.tools.begin(c)
	dst = d.begin(dst, &llm.Event{Kind: llm.EventPart, Part: llm.Call, Call: llm.ToolCall{ID: id, Name: c.name, Custom: c.custom}})
	if kept != "" {
		dst = append(dst, llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: kept})
	}
	return dst
}
