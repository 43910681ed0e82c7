package llm

import "strings"

// Folder collects the events of a stream into a whole answer.
type Folder struct {
	answer   Response
	text     strings.Builder
	open     Part
	finished bool
}

// Add takes the next event.
func (f *Folder) Add(e *Event) {
	switch e.Kind {
	case EventStart:
		f.answer.ID = e.ID
	case EventPart:
		f.open = Part{Kind: e.Part, Call: e.Call}
		f.text.Reset()
	case EventDelta:
		f.text.WriteString(e.Delta)
	case EventPartEnd:
		if f.open.Kind == Call {
			f.open.Call.Arguments = f.text.String()
		} else {
			f.open.Text = f.text.String()
		}
		f.open.Signature, f.open.Redacted = e.Signature, e.Redacted
		f.answer.Parts = append(f.answer.Parts, f.open)
		f.open = Part{}
		f.text.Reset()
	case EventFinish:
		f.answer.Stop, f.answer.StopText = e.Stop, e.StopText
		f.answer.Usage, f.answer.Reported, f.answer.Cost = e.Usage, e.Reported, e.Cost
		f.finished = true
	}
}

// Response returns the answer. It reports false when the stream has not ended.
func (f *Folder) Response() (*Response, bool) { return &f.answer, f.finished }

// Fold collects all events of a stream into a whole answer.
func Fold(events []Event) *Response {
	var f Folder
	for i := range events {
		f.Add(&events[i])
	}
	r, _ := f.Response()
	return r
}

// Unfold appends the events that make a whole answer, each part in one delta.
func Unfold(dst []Event, r *Response) []Event {
	dst = append(dst, Event{Kind: EventStart, ID: r.ID, Usage: r.Usage, Reported: r.Reported})
	for i := range r.Parts {
		p := &r.Parts[i]
		begin := Event{Kind: EventPart, Part: p.Kind, Call: p.Call}
		begin.Call.Arguments = ""
		dst = append(dst, begin)
		text := p.Text
		if p.Kind == Call {
			text = p.Call.Arguments
		}
		if text != "" {
			dst = append(dst, Event{Kind: EventDelta, Part: p.Kind, Delta: text})
		}
		dst = append(dst, Event{Kind: EventPartEnd, Part: p.Kind, Signature: p.Signature, Redacted: p.Redacted})
	}
	return append(dst, Event{
		Kind: EventFinish, Stop: r.Stop, StopText: r.StopText, Usage: r.Usage, Reported: r.Reported, Cost: r.Cost,
	})
}
