package native

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
	"umg/app/usagereader"
)

// lastMark is not part of this style, but some upstreams send it.
const lastMark = "[DONE]"

// decoder reads the frames of one stream. In this style a part ends when the next one begins.
type decoder struct {
	// options is nil for the history of a request, whose calls get no minted id.
	options *llm.ResponseOptions
	// frame is reused for each frame.
	frame response

	open     llm.PartKind
	begun    bool
	finished bool
	// content means that the frame has content.
	content bool
	// malformed means that a call could not be parsed.
	malformed bool
	// partial is the open call when it comes in pieces.
	partial *partialCall
	// ids are the ids of the calls so far.
	ids      []string
	stop     llm.Stop
	report   llm.Report
	usage    llm.Usage
	reported bool
}

// Decode appends the events of one frame. This style has no event lines.
func (d *decoder) Decode(dst []llm.Event, _, data []byte) ([]llm.Event, error) {
	if d.finished {
		return dst, nil
	}
	if string(bytes.TrimSpace(data)) == lastMark {
		return d.endMark(dst)
	}
	f := &d.frame
	*f = response{Candidates: f.Candidates[:0], Usage: f.Usage[:0], Error: f.Error[:0]}
	if err := json.Unmarshal(data, f, llm.Lenient); err != nil {
		return dst, llm.ErrMalformed
	}
	if k := f.Error.Kind(); k == '{' || k == '"' {
		return dst, &llm.UpstreamError{Body: bytes.Clone(data)}
	}
	return d.answer(dst, data), nil
}

// endMark appends the finish, if it is known. Otherwise End says that the answer was cut.
func (d *decoder) endMark(dst []llm.Event) ([]llm.Event, error) {
	if d.stop == "" {
		return dst, nil
	}
	return d.finish(dst), llm.ErrEnd
}

// answer appends the events of the frame that was read. It ignores frames that are not part of the answer.
func (d *decoder) answer(dst []llm.Event, data []byte) []llm.Event {
	f := &d.frame
	// After the end of the answer, a candidate with content and without a finish reason is not part of it.
	continues := slices.ContainsFunc(f.Candidates, func(c candidate) bool {
		return c.Index == 0 && len(c.Content.Parts) > 0 && llm.StopOf(c.Finish) == ""
	})
	blocked := f.Feedback.Blocked != "" && !isUnspecified(f.Feedback.Blocked)
	if len(f.Candidates) == 0 && !blocked && len(f.Usage) == 0 || d.stop != "" && continues {
		return dst
	}
	reader := usagereader.For(d.options, llm.Native)
	reader.ReadAnswer(&d.report, data)
	hasUsage := len(f.Usage) > 0 && f.Usage.Kind() == '{'
	if hasUsage {
		reader.ReadUsage(&d.report, f.Usage)
		d.usage, d.reported = d.report.Usage()
	}
	if !d.begun {
		d.begun = true
		dst = append(dst, llm.Event{Kind: llm.EventStart, ID: f.ID, Usage: d.usage, Reported: d.reported})
	}
	d.content = false
	for i := range f.Candidates {
		if c := &f.Candidates[i]; c.Index == 0 {
			dst = d.candidate(dst, c)
		}
	}
	if d.content && !hasUsage {
		// A usage before content does not count the content.
		d.usage, d.reported = llm.Usage{}, false
	}
	if len(f.Candidates) == 0 && blocked {
		d.stop = llm.StopFilter
	}
	return dst
}

func (d *decoder) candidate(dst []llm.Event, c *candidate) []llm.Event {
	for i := range c.Content.Parts {
		dst = d.piece(dst, &c.Content.Parts[i])
	}
	if stop := llm.StopOf(c.Finish); stop != "" {
		d.stop = stop
	}
	return dst
}

// piece appends the events of one part, which may continue the part of the last frame. A signature belongs to the thought before it,
// even when it comes with a later part.
func (d *decoder) piece(dst []llm.Event, p *piece) []llm.Event {
	signature := unseal(p.Signature)
	if p.Call != nil {
		return d.call(dst, p.Call, signature)
	}
	if p.Thought {
		if p.Text == "" && signature == "" {
			return dst
		}
		dst = d.addText(dst, llm.Reasoning, p.Text)
		if signature != "" {
			dst = d.close(dst, signature)
		}
		return dst
	}
	if signature != "" && d.open == llm.Reasoning {
		dst = d.close(dst, signature)
	}
	if text := p.text(); text != "" {
		dst = d.addText(dst, llm.Text, text)
	}
	return dst
}

// addText appends a piece of text or of a thought.
func (d *decoder) addText(dst []llm.Event, kind llm.PartKind, text string) []llm.Event {
	d.content = true
	if d.open != kind {
		dst = d.close(dst, "")
		dst = append(dst, llm.Event{Kind: llm.EventPart, Part: kind})
		d.open = kind
	}
	if text != "" {
		dst = append(dst, llm.Event{Kind: llm.EventDelta, Part: kind, Delta: text})
	}
	return dst
}

// close appends the end of the open part, if there is one.
func (d *decoder) close(dst []llm.Event, signature string) []llm.Event {
	if d.open == 0 {
		return dst
	}
	if p := d.partial; p != nil { // The call is not whole. Its arguments so far are valid JSON.
		d.partial, d.malformed = nil, true
		dst = append(dst, llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: string(p.arguments.append(nil))})
	}
	end := llm.Event{Kind: llm.EventPartEnd, Part: d.open}
	if d.open == llm.Reasoning {
		end.Signature = signature
	}
	d.open = 0
	return append(dst, end)
}

// call appends a call, or a piece of the open one. An incomplete call makes the answer malformed.
func (d *decoder) call(dst []llm.Event, c *functionCall, signature string) []llm.Event {
	d.content = true
	if c.Name == "" && d.partial != nil {
		return d.continueCall(dst, c)
	}
	args, ok := c.arguments()
	if !ok || c.Name == "" {
		d.malformed = true
		return dst
	}
	switch d.open {
	case llm.Reasoning:
		dst = d.close(dst, signature)
	default:
		dst = d.close(dst, "")
		if signature != "" {
			dst = append(dst, llm.Event{Kind: llm.EventPart, Part: llm.Reasoning},
				llm.Event{Kind: llm.EventPartEnd, Part: llm.Reasoning, Signature: signature})
		}
	}
	dst = append(dst,
		llm.Event{Kind: llm.EventPart, Part: llm.Call, Call: llm.ToolCall{ID: d.callID(c.ID), Name: strings.ToValidUTF8(c.Name, "\ufffd")}})
	if !c.isPartial() {
		return append(dst, llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: args}, llm.Event{Kind: llm.EventPartEnd, Part: llm.Call})
	}
	d.open, d.partial = llm.Call, &partialCall{}
	return d.continueCall(dst, c)
}

// continueCall adds a piece to the open call. The last piece ends it, and then its arguments follow as a whole, because the pieces may
// come in any order.
func (d *decoder) continueCall(dst []llm.Event, c *functionCall) []llm.Event {
	switch p := d.partial; {
	case !p.add(c.Partial):
		return d.close(dst, "")
	case c.More:
		return dst
	default:
		d.partial = nil
		dst = append(dst, llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: string(p.arguments.append(nil))})
		return d.close(dst, "")
	}
}

// callID returns the id of the next call. It mints an id when there is none, or when an earlier call has the same.
func (d *decoder) callID(id string) string {
	if d.options == nil {
		return id
	}
	if id == "" || slices.Contains(d.ids, id) {
		id = d.options.MintID("call_", len(d.ids))
	}
	d.ids = append(d.ids, id)
	return id
}

// isPartial reports whether a call comes in pieces.
func (c *functionCall) isPartial() bool { return c.More || !llm.IsNull(c.Partial) }

// arguments returns the arguments of a call as compact JSON in their order. It reports false when they are not an object.
func (c *functionCall) arguments() (string, bool) {
	switch c.Args.Kind() {
	case '{':
		args := string(compact(c.Args))
		if !utf8.ValidString(args) {
			args = strings.ToValidUTF8(args, "\ufffd")
		}
		return args, true
	case 'n', jsontext.KindInvalid:
		return "{}", true
	}
	return "", false
}

// End appends the end of the answer. The style has no end mark.
func (d *decoder) End(dst []llm.Event) ([]llm.Event, error) {
	if d.finished {
		return dst, nil
	}
	if d.stop == "" {
		return d.close(dst, ""), llm.ErrCut
	}
	return d.finish(dst), nil
}

func (d *decoder) finish(dst []llm.Event) []llm.Event {
	d.finished = true
	dst = d.close(dst, "") // It tells whether the last call was whole.
	if d.stop == llm.StopEnd && len(d.ids) > 0 {
		// The style has no finish reason for tool calls.
		d.stop = llm.StopToolCalls
	}
	if d.malformed && (d.stop == llm.StopEnd || d.stop == llm.StopToolCalls) {
		d.stop = llm.StopMalformed
	}
	return append(dst, llm.Event{Kind: llm.EventFinish, Stop: d.stop, Usage: d.usage, Reported: d.reported})
}
