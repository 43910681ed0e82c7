package converse

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// decoder reads the stream of an upstream. A block that is still open ends where the next one begins. The stop reason and the usage come
// in any order, and the answer ends with the second of the two.
type decoder struct {
	options *llm.ResponseOptions

	started, finished bool
	// open is the kind of the open block, and index its number.
	open  llm.PartKind
	index int64
	// hasInput means that the open call has input.
	hasInput  bool
	signature string
	redacted  bool
	calls     int

	stop     string
	stopText string
	reader   llm.UsageReader
	report   llm.Report
	// counted means that the usage has come.
	counted bool
}

// exceptionSuffix ends the events of errors inside a stream.
const exceptionSuffix = "Exception"

// Decode reads one frame. A frame without an event has its event as its only member.
func (d *decoder) Decode(dst []llm.Event, event, data []byte) ([]llm.Event, error) {
	if d.finished {
		return dst, llm.ErrEnd
	}
	if len(event) == 0 {
		event, data = unwrap(data)
	}
	var f frame
	if json.Unmarshal(data, &f, llm.Lenient) != nil {
		return dst, llm.ErrMalformed
	}
	switch string(event) {
	case "messageStart":
		return d.start(dst), nil
	case "contentBlockStart":
		return d.blockStart(dst, &f), nil
	case "contentBlockDelta":
		return d.blockDelta(dst, &f)
	case "contentBlockStop":
		if d.at(&f) == d.index {
			dst = d.end(dst, true)
		}
		return dst, nil
	case "messageStop":
		if llm.StopOf(string(f.StopReason)) == "" {
			return dst, llm.ErrMalformed
		}
		d.stop = string(f.StopReason)
		if llm.StopOf(d.stop) == llm.StopSequence {
			d.stopText = stopTextOf(f.Additional, d.options)
		}
		return d.finishWhenWhole(dst)
	case "metadata":
		d.reader.ReadAnswer(&d.report, data)
		if !llm.IsNull(f.Usage) {
			d.counted = d.reader.ReadUsage(&d.report, f.Usage) || d.counted
		}
		return d.finishWhenWhole(dst)
	}
	if !llm.IsNull(f.Error) || strings.HasSuffix(string(event), exceptionSuffix) {
		return dst, &llm.UpstreamError{Body: bytes.Clone(data)}
	}
	return dst, nil
}

// unwrap returns the name and the value of the first member of an object that is an event. Other data is an event of its own.
func unwrap(data []byte) (event, value []byte) {
	var members map[string]jsontext.Value
	if json.Unmarshal(data, &members, llm.Lenient) != nil || len(members) != 1 {
		return nil, data
	}
	for name, value := range members {
		if name != "error" && len(value) > 0 && value.Kind() == '{' {
			return []byte(name), value
		}
	}
	return nil, data
}

func (d *decoder) start(dst []llm.Event) []llm.Event {
	if d.started {
		return dst
	}
	d.started = true
	return append(dst, llm.Event{Kind: llm.EventStart})
}

func (*decoder) at(f *frame) int64 { return f.Index.Whole() }

// begin opens a part, after it has ended the open one.
func (d *decoder) begin(dst []llm.Event, f *frame, e llm.Event) []llm.Event {
	dst = d.end(d.start(dst), true)
	d.open, d.index = e.Part, d.at(f)
	e.Kind = llm.EventPart
	return append(dst, e)
}

// end closes the open part. A whole call without any input has an empty object.
func (d *decoder) end(dst []llm.Event, whole bool) []llm.Event {
	if d.open == 0 {
		return dst
	}
	if d.open == llm.Call && !d.hasInput && whole {
		dst = append(dst, llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: "{}"})
	}
	dst = append(dst, llm.Event{Kind: llm.EventPartEnd, Part: d.open, Signature: d.signature, Redacted: d.redacted})
	d.open, d.hasInput, d.signature, d.redacted = 0, false, "", false
	return dst
}

// blockStart opens a call. Other blocks open with their first delta.
func (d *decoder) blockStart(dst []llm.Event, f *frame) []llm.Event {
	t := f.Start.ToolUse
	if t == nil {
		return d.end(d.start(dst), true)
	}
	call := llm.ToolCall{ID: string(t.ID), Name: string(t.Name)}
	if call.ID == "" {
		call.ID = d.options.MintID("call_", d.calls)
	}
	d.calls++
	return d.begin(dst, f, llm.Event{Part: llm.Call, Call: call})
}

func (d *decoder) blockDelta(dst []llm.Event, f *frame) ([]llm.Event, error) {
	w := &f.Delta
	switch {
	case w.Text != nil:
		return d.addText(dst, f, llm.Text, string(*w.Text)), nil
	case w.ToolUse != nil:
		if d.open != llm.Call || d.at(f) != d.index {
			// It is unknown which call the input belongs to.
			return dst, llm.ErrMalformed
		}
		d.hasInput = d.hasInput || w.ToolUse.Input != ""
		return appendDelta(dst, llm.Call, string(w.ToolUse.Input)), nil
	case w.Reasoning != nil:
		r := w.Reasoning
		dst = d.addText(dst, f, llm.Reasoning, string(r.Text))
		if r.Signature == "" && r.Redacted == "" {
			return dst, nil
		}
		if d.open != llm.Reasoning || d.at(f) != d.index {
			dst = d.begin(dst, f, llm.Event{Part: llm.Reasoning})
		}
		if d.redacted = r.Redacted != ""; d.redacted {
			d.signature += string(r.Redacted)
		} else {
			d.signature += string(r.Signature)
		}
	}
	return dst, nil
}

func appendDelta(dst []llm.Event, part llm.PartKind, words string) []llm.Event {
	if words == "" {
		return dst
	}
	return append(dst, llm.Event{Kind: llm.EventDelta, Part: part, Delta: words})
}

// addText adds text to the open part. Text of another kind or block opens a part of its own.
func (d *decoder) addText(dst []llm.Event, f *frame, part llm.PartKind, words string) []llm.Event {
	if words == "" {
		return dst
	}
	if d.open != part || d.at(f) != d.index {
		dst = d.begin(dst, f, llm.Event{Part: part})
	}
	return appendDelta(dst, part, words)
}

// finishWhenWhole ends the answer when both its stop reason and its usage are known.
func (d *decoder) finishWhenWhole(dst []llm.Event) ([]llm.Event, error) {
	if d.stop == "" || !d.counted {
		return dst, nil
	}
	return d.finish(dst), llm.ErrEnd
}

func (d *decoder) finish(dst []llm.Event) []llm.Event {
	dst = d.end(d.start(dst), true)
	d.finished = true
	e := llm.Event{Kind: llm.EventFinish, Stop: stopOf(d.stop, d.calls), StopText: d.stopText}
	if d.counted {
		e.Usage, e.Reported = d.report.Usage()
	}
	return append(dst, e)
}

// End closes the answer.
func (d *decoder) End(dst []llm.Event) ([]llm.Event, error) {
	switch {
	case d.finished:
		return dst, nil
	case d.stop != "":
		return d.finish(dst), nil
	}
	return d.end(dst, false), llm.ErrCut
}
