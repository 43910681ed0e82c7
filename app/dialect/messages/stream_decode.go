package messages

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// keptBytes bounds the frames whose memory is reused for the next frame.
const keptBytes = 64 << 10

// decoder reads the stream of an upstream. It tolerates a wrong order of blocks: a block that is still open ends where the next one begins.
type decoder struct {
	options *llm.ResponseOptions
	frame   frame
	// plain is scratch memory for strings that are only compared.
	plain []byte

	started, finished bool
	// open is the kind of the open block.
	open llm.PartKind
	// skip means that the open block has no canonical form.
	skip bool
	// index is the index of the open or skipped block.
	index     int64
	call      openCall
	signature string
	redacted  bool
	calls     int

	// stop is the stop reason of the provider.
	stop     string
	stopText string
	reader   llm.UsageReader
	report   llm.Report
	// counted means that the final usage counted the output.
	counted bool
}

// openCall is a call whose input comes in pieces, or came whole when the block began.
type openCall struct {
	input string
	// hasDelta means that a delta has come.
	hasDelta bool
}

// Decode reads one frame.
func (d *decoder) Decode(dst []llm.Event, event, data []byte) ([]llm.Event, error) {
	if d.finished {
		return dst, llm.ErrEnd
	}
	if string(data) == "[DONE]" {
		// The data is not an event of this style. End reports whether the answer is complete.
		return dst, nil
	}
	f := &d.frame
	f.reset()
	if err := json.Unmarshal(data, f, llm.Lenient); err != nil {
		return dst, llm.ErrMalformed
	}
	if len(data) > keptBytes {
		defer func() { d.frame, d.plain = frame{}, nil }()
	}
	kind := d.scratchText(f.Type)
	if len(kind) == 0 {
		kind = event
	}
	switch string(kind) {
	case "message_start":
		if d.open == llm.Call && d.call.hasDelta {
			// The provider has begun another message within the input of a call, which stays incomplete.
			return dst, llm.ErrBroken
		}
		return d.start(dst, f.Message), nil
	case "content_block_start":
		return d.blockStart(dst)
	case "content_block_delta":
		return d.blockDelta(dst)
	case "content_block_stop":
		return d.blockStop(dst), nil
	case "message_delta":
		d.messageDelta()
		return dst, nil
	case "message_stop":
		return d.messageStop(dst)
	case "error":
		return dst, &llm.UpstreamError{Body: bytes.Clone(data)}
	}
	if !llm.IsNull(f.Error) {
		return dst, &llm.UpstreamError{Body: bytes.Clone(data)}
	}
	return dst, nil
}

// scratchText returns a string that is valid until the next call.
func (d *decoder) scratchText(v jsontext.Value) []byte {
	if len(v) == 0 || v.Kind() != '"' {
		return nil
	}
	// The only error says that bytes which are not UTF-8 were replaced.
	d.plain, _ = jsontext.AppendUnquote(d.plain[:0], v)
	return d.plain
}

// text returns a copy of a string.
func (d *decoder) text(v jsontext.Value) string { return string(d.scratchText(v)) }

func (d *decoder) start(dst []llm.Event, message jsontext.Value) []llm.Event {
	if d.started {
		return dst
	}
	d.started = true
	e := llm.Event{Kind: llm.EventStart}
	var w answer
	if !llm.IsNull(message) && json.Unmarshal(message, &w, llm.Lenient) == nil {
		e.ID = string(w.ID)
		d.reader.ReadAnswer(&d.report, message)
		d.reader.ReadUsage(&d.report, w.Usage)
		e.Usage, e.Reported = d.report.Usage()
	}
	return append(dst, e)
}

// at returns the index of the frame's block.
func (d *decoder) at() int64 {
	n := int64(0)
	decodeCount(&n, d.frame.Index)
	return n
}

// begin opens a part, after it has ended the open one.
func (d *decoder) begin(dst []llm.Event, e llm.Event) []llm.Event {
	dst = d.end(d.start(dst, nil), true)
	d.open, d.index = e.Part, d.at()
	e.Kind = llm.EventPart
	return append(dst, e)
}

// end closes the open part. When a whole call had no deltas, end first appends the input that came with its start.
func (d *decoder) end(dst []llm.Event, whole bool) []llm.Event {
	d.skip = false
	if d.open == 0 {
		return dst
	}
	if d.open == llm.Call && !d.call.hasDelta && whole {
		dst = append(dst, llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: d.call.input})
	}
	dst = append(dst, llm.Event{Kind: llm.EventPartEnd, Part: d.open, Signature: d.signature, Redacted: d.redacted})
	d.open, d.call, d.signature, d.redacted = 0, openCall{}, "", false
	return dst
}

func appendDelta(dst []llm.Event, part llm.PartKind, words string) []llm.Event {
	if words == "" {
		return dst
	}
	return append(dst, llm.Event{Kind: llm.EventDelta, Part: part, Delta: words})
}

func (d *decoder) blockStart(dst []llm.Event) ([]llm.Event, error) {
	var p piece
	if err := json.Unmarshal(d.frame.Block, &p, llm.Lenient); err != nil || p.isBroken {
		return dst, llm.ErrMalformed
	}
	switch p.Type {
	case "text":
		dst = d.begin(dst, llm.Event{Part: llm.Text})
		dst = appendDelta(dst, llm.Text, string(p.Text))
	case "thinking":
		dst = d.begin(dst, llm.Event{Part: llm.Reasoning})
		d.signature = string(p.Signature)
		dst = appendDelta(dst, llm.Reasoning, string(p.Thinking))
	case "redacted_thinking":
		dst = d.begin(dst, llm.Event{Part: llm.Reasoning})
		d.signature, d.redacted = string(p.Data), true
	case "tool_use":
		dst = d.begin(dst, llm.Event{Part: llm.Call, Call: decodeCall(&p, d.options, d.calls)})
		d.call = openCall{input: decodeInput(p.Input)}
		d.calls++
	default:
		dst = d.end(d.start(dst, nil), true)
		d.skip, d.index = true, d.at()
	}
	return dst, nil
}

func (d *decoder) blockDelta(dst []llm.Event) ([]llm.Event, error) {
	w := &d.frame.Delta
	here := d.at() == d.index
	if d.skip && here {
		return dst, nil
	}
	switch string(d.scratchText(w.Type)) {
	case "text_delta":
		return d.addText(dst, llm.Text, here, w.Text), nil
	case "thinking_delta":
		return d.addText(dst, llm.Reasoning, here, w.Thinking), nil
	case "signature_delta":
		if d.open == llm.Reasoning && here {
			d.signature = d.text(w.Signature)
		}
	case "input_json_delta":
		if d.open != llm.Call || !here {
			// It is unknown which call the input belongs to.
			return dst, llm.ErrMalformed
		}
		piece := d.text(w.PartialJSON)
		d.call.hasDelta = d.call.hasDelta || piece != ""
		return appendDelta(dst, llm.Call, piece), nil
	}
	return dst, nil
}

// addText adds text to the open part. Text of another kind or block opens a part of its own.
func (d *decoder) addText(dst []llm.Event, part llm.PartKind, here bool, v jsontext.Value) []llm.Event {
	words := d.text(v)
	if words == "" {
		return dst
	}
	if d.open != part || !here {
		dst = d.begin(dst, llm.Event{Part: part})
	}
	return appendDelta(dst, part, words)
}

func (d *decoder) blockStop(dst []llm.Event) []llm.Event {
	if d.at() != d.index {
		return dst
	}
	return d.end(dst, true)
}

func (d *decoder) messageDelta() {
	w := &d.frame.Delta
	if word := d.text(w.StopReason); word != "" {
		d.stop = word
	}
	if met := d.text(w.StopSequence); met != "" {
		d.stopText = met
	}
	d.counted = d.reader.ReadUsage(&d.report, d.frame.Usage) || d.counted
}

// messageStop reads the end mark. Without a stop_reason the answer is incomplete, which End reports.
func (d *decoder) messageStop(dst []llm.Event) ([]llm.Event, error) {
	if d.stop == "" {
		return dst, llm.ErrMalformed
	}
	return d.finish(dst), llm.ErrEnd
}

func (d *decoder) finish(dst []llm.Event) []llm.Event {
	dst = d.end(d.start(dst, nil), true)
	d.finished = true
	e := llm.Event{Kind: llm.EventFinish, Stop: decodeStop(d.stop, d.calls), StopText: d.stopText}
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
