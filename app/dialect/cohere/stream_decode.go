package cohere

import (
	"bytes"

	"github.com/go-json-experiment/json"

	"umg/app/llm"
)

// decoder reads the stream of an upstream. A part that is still open ends where the next one begins.
type decoder struct {
	options *llm.ResponseOptions

	started, finished bool
	// open is the kind of the open part, and plans means that it is the tool plan.
	open  llm.PartKind
	plans bool
	// index is the number of the open part or call.
	index int64
	// arguments are those of the open call so far that may still be null.
	arguments string
	// hasArguments means that the client has arguments of the open call.
	hasArguments bool
	calls        int

	reader llm.UsageReader
	report llm.Report
}

// Decode reads one frame.
func (d *decoder) Decode(dst []llm.Event, event, data []byte) ([]llm.Event, error) {
	if d.finished {
		return dst, llm.ErrEnd
	}
	if string(data) == "[DONE]" {
		// End reports whether the answer is complete.
		return dst, nil
	}
	var f frame
	if json.Unmarshal(data, &f, llm.Lenient) != nil {
		return dst, llm.ErrMalformed
	}
	kind := string(f.Type)
	if kind == "" {
		kind = string(event)
	}
	switch kind {
	case "message-start":
		return d.start(dst, string(f.ID)), nil
	case "content-start":
		// The part begins with its first text.
		return d.addContent(d.end(d.start(dst, ""), true), &f), nil
	case "content-delta":
		return d.addContent(dst, &f), nil
	case "content-end":
		if d.open != llm.Call {
			dst = d.end(dst, true)
		}
		return dst, nil
	case "tool-plan-delta":
		return d.addText(dst, llm.Text, true, &f, string(f.Delta.Message.ToolPlan)), nil
	case "tool-call-start":
		return d.callStart(dst, &f), nil
	case "tool-call-delta":
		return d.callDelta(dst, &f)
	case "tool-call-end":
		return d.callEnd(dst, &f), nil
	case "message-end":
		return d.messageEnd(dst, &f, data)
	}
	if f.isFailure(kind) {
		return dst, &llm.UpstreamError{Body: bytes.Clone(data)}
	}
	return dst, nil
}

// isFailure reports whether a frame is an error of the provider.
func (f *frame) isFailure(kind string) bool {
	return !llm.IsNull(f.Error) || kind == "error" || f.Type == "" && f.Message != ""
}

func (d *decoder) start(dst []llm.Event, id string) []llm.Event {
	if d.started {
		return dst
	}
	d.started = true
	return append(dst, llm.Event{Kind: llm.EventStart, ID: id})
}

// begin opens a part, after it has ended the open one.
func (d *decoder) begin(dst []llm.Event, f *frame, e llm.Event) []llm.Event {
	dst = d.end(d.start(dst, ""), true)
	d.open, d.index = e.Part, f.Index.Whole()
	e.Kind = llm.EventPart
	return append(dst, e)
}

// end closes the open part. A whole call without arguments has an empty object.
func (d *decoder) end(dst []llm.Event, whole bool) []llm.Event {
	if d.open == 0 {
		return dst
	}
	if d.open == llm.Call && !d.hasArguments && whole {
		dst = append(dst, llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: argumentsOf(d.arguments)})
	}
	dst = append(dst, llm.Event{Kind: llm.EventPartEnd, Part: d.open})
	d.open, d.plans, d.arguments, d.hasArguments = 0, false, "", false
	return dst
}

func (d *decoder) addContent(dst []llm.Event, f *frame) []llm.Event {
	c := &f.Delta.Message.Content.Value
	dst = d.addText(dst, llm.Reasoning, false, f, string(c.Thinking))
	return d.addText(dst, llm.Text, false, f, string(c.Text))
}

// addText adds text to the open part. Text of another kind or part opens a part of its own.
func (d *decoder) addText(dst []llm.Event, kind llm.PartKind, plans bool, f *frame, words string) []llm.Event {
	if words == "" {
		return dst
	}
	if d.open != kind || d.plans != plans || f.Index.Whole() != d.index {
		dst = d.begin(dst, f, llm.Event{Part: kind})
		d.plans = plans
	}
	return append(dst, llm.Event{Kind: llm.EventDelta, Part: kind, Delta: words})
}

func (d *decoder) callStart(dst []llm.Event, f *frame) []llm.Event {
	w := &f.Delta.Message.ToolCalls.Value
	call := llm.ToolCall{ID: string(w.ID), Name: string(w.Function.Name)}
	if call.ID == "" {
		call.ID = d.options.MintID("call_", d.calls)
	}
	d.calls++
	dst = d.begin(dst, f, llm.Event{Part: llm.Call, Call: call})
	return d.addArguments(dst, string(w.Function.Arguments))
}

func (d *decoder) callDelta(dst []llm.Event, f *frame) ([]llm.Event, error) {
	if d.open != llm.Call || f.Index.Whole() != d.index {
		// It is unknown which call the arguments belong to.
		return dst, llm.ErrMalformed
	}
	return d.addArguments(dst, string(f.Delta.Message.ToolCalls.Value.Function.Arguments)), nil
}

func (d *decoder) callEnd(dst []llm.Event, f *frame) []llm.Event {
	if d.open == llm.Call && f.Index.Whole() == d.index {
		dst = d.end(dst, true)
	}
	return dst
}

// addArguments adds a piece of arguments. A beginning of null is kept back, because it stands for no arguments.
func (d *decoder) addArguments(dst []llm.Event, piece string) []llm.Event {
	if d.hasArguments && piece != "" {
		return append(dst, llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: piece})
	}
	d.arguments += piece
	if len(d.arguments) <= len("null") && "null"[:len(d.arguments)] == d.arguments {
		return dst
	}
	d.hasArguments = true
	return append(dst, llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: d.arguments})
}

// messageEnd ends the answer. An error of the provider stands beside its finish reason.
func (d *decoder) messageEnd(dst []llm.Event, f *frame, data []byte) ([]llm.Event, error) {
	if !llm.IsNull(f.Delta.Error) {
		return dst, &llm.UpstreamError{Body: append(append([]byte(`{"error":`), f.Delta.Error...), '}')}
	}
	word := string(f.Delta.Finish)
	if llm.StopOf(word) == "" {
		return dst, llm.ErrMalformed
	}
	dst = d.end(d.start(dst, string(f.ID)), true)
	d.finished = true
	e := llm.Event{Kind: llm.EventFinish}
	e.Stop, e.StopText = finishOf(word, d.calls, d.options)
	d.reader.ReadAnswer(&d.report, data)
	if !llm.IsNull(f.Delta.Usage) {
		d.reader.ReadUsage(&d.report, f.Delta.Usage)
	}
	e.Usage, e.Reported = d.report.Usage()
	return append(dst, e), llm.ErrEnd
}

// End closes the answer.
func (d *decoder) End(dst []llm.Event) ([]llm.Event, error) {
	if d.finished {
		return dst, nil
	}
	return d.end(dst, false), llm.ErrCut
}
