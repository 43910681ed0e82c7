package dialect

import (
	"bytes"
	"errors"
	"slices"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/sse"
)

const (
	// heldBytesMax bounds the frames that are held at the beginning, and again at the end.
	heldBytesMax = 256 << 10
	// keptBytes bounds the buffers that a stream in the pool keeps.
	keptBytes       = 16 << 10
	failureBytesMax = 64 << 10
)

type phase uint8

const (
	// opening is before the first content.
	opening phase = iota
	flowing
	// ending means that every choice has its finish reason.
	ending
)

// frameKind is what a frame means to a stream.
type frameKind uint8

const (
	// nothing is not for the client.
	nothing frameKind = iota
	// note is neither content nor an end.
	note
	content
	// halves has content and the end. Two calls append one half each.
	halves
	// ends is the end of the answer.
	ends
	// bills comes after the end and has the usage for the client.
	bills
)

// reading is what a frame says.
type reading struct {
	says frameKind
	// last means that the frame is the end mark of its stream.
	last bool
	// more means that the answer continues after an earlier end.
	more bool
	// text is the only new string in the data; the zero Span when more is new.
	text rawjson.Span
}

// reader knows the frames of one style.
type reader interface {
	// read counts what a frame says. It returns llm.ErrMalformed when the frame cannot be read, an *llm.UpstreamError
	// when it is an error, and an *llm.FailedError when the answer ends with it and has failed.
	read(f sse.Frame) (reading, error)
	// append appends the frame that was read, as the client has it.
	append(dst []byte, f sse.Frame) []byte
	// preface appends what must stand before the first frame and has not come.
	preface(dst []byte) []byte
}

// passthrough passes a stream on to a client of the same style. It keeps back what must not be seen yet: the frames before
// the first content, since such a stream may still be replaced by another, and the frames from the end of the answer
// on, since the charge must be durable before the client can know that the answer is whole.
type passthrough struct {
	reader reader
	ask    Ask
	// model is the public id of the model, as JSON.
	model   string
	phase   phase
	done    bool
	heldMax int
	tally   StreamStats
	twin    deltaTemplate
	held    []byte
	// bill is the frame with the usage.
	bill []byte
	// billAt is the index in held at which bill belongs.
	billAt  int
	scratch []byte
}

// renewed is a passer for another stream, with the buffers of this one.
func (p *passthrough) renewed(a Ask) passthrough {
	return passthrough{
		ask: a, model: rawjson.Quote(a.Model), heldMax: heldBytesMax, twin: p.twin.emptied(),
		held: p.held[:0], bill: p.bill[:0], scratch: p.scratch[:0],
	}
}

// trim gives back the buffers that grew large.
func (p *passthrough) trim(more ...*[]byte) {
	for _, b := range append(more, &p.held, &p.bill, &p.scratch) {
		if cap(*b) > keptBytes {
			*b = nil
		}
	}
}

// Tally is what was seen so far.
func (p *passthrough) Tally() StreamStats {
	t := p.tally
	t.Progress = t.ContentBytes
	t.Ended = p.done && t.Finish != ""
	t.Whole = !p.done && p.phase == ending && t.Finish != ""
	return t
}

// Frame passes one frame on.
func (p *passthrough) Frame(dst []byte, f sse.Frame) ([]byte, Step, error) {
	if len(f.Data) == 0 {
		return dst, Idle, nil
	}
	before, at := p.phase, len(dst)
	if before == flowing {
		if text := p.twin.text(f); text != nil {
			p.counted(rawjson.UnescapedLen(text))
			return p.twin.append(dst, text), Content, nil
		}
	}
	r, err := p.reader.read(f)
	if err != nil {
		if errors.Is(err, llm.ErrMalformed) && (p.phase == ending || IsIgnorable(f)) {
			err = nil
		}
		return dst, Idle, err
	}
	if r.more {
		dst = p.release(dst)
	}
	step := Idle
	// An end mark without a finish reason is not an end.
	if !r.last || p.phase == ending || r.says >= ends {
		dst, step, err = p.pass(dst, f, r.says)
	}
	if before == flowing && r.says == content && r.text.Found() {
		p.twin.learn(f, r.text, dst[at:])
	}
	if r.last && err == nil {
		p.done = true
		step = Done
	}
	return dst, step, err
}

func (p *passthrough) pass(dst []byte, f sse.Frame, says frameKind) ([]byte, Step, error) {
	switch {
	case says == nothing:
		return dst, Idle, nil
	case says == bills:
		p.end()
		return p.keepBill(dst, f)
	case says == halves && p.phase != ending:
		dst = p.reader.append(p.flow(dst), f)
		p.end()
		dst, _, err := p.hold(dst, f)
		return dst, Content, err
	case says == ends:
		p.end()
	case says == content && p.phase != ending:
		return p.reader.append(p.flow(dst), f), Content, nil
	case p.phase == flowing:
		return p.reader.append(dst, f), Content, nil
	}
	return p.hold(dst, f)
}

// counted notes content. A reading of the usage that content follows is not the last one.
func (p *passthrough) counted(contentBytes int64) {
	p.tally.Reported = false
	p.tally.ContentBytes += contentBytes
	p.tally.ContentFrames++
}

// reported notes a reading of the usage, if it says anything. A sound reading is not replaced by one that is not, unless
// there was more content.
func (p *passthrough) reported(u llm.Usage, ok bool) {
	if ok && (u.Doubts == 0 || !p.tally.Reported || p.tally.Usage.Doubts != 0) {
		p.tally.Usage, p.tally.Reported = u, true
	}
}

// flow begins the content: what was held back comes first.
func (p *passthrough) flow(dst []byte) []byte {
	if p.phase != opening {
		return dst
	}
	p.phase = flowing
	dst = append(p.reader.preface(dst), p.held...)
	p.held = p.held[:0]
	return dst
}

// end begins the end: from here on everything is held back until the charge is durable.
func (p *passthrough) end() {
	if p.phase == opening {
		if first := p.reader.preface(nil); len(first) > 0 {
			p.held = slices.Insert(p.held, 0, first...)
		}
	}
	p.phase = ending
}

// release appends what was taken for the end.
func (p *passthrough) release(dst []byte) []byte {
	dst = append(dst, p.held[:p.billAt]...)
	dst = append(dst, p.bill...)
	dst = append(dst, p.held[p.billAt:]...)
	p.phase, p.held, p.bill, p.billAt = flowing, p.held[:0], p.bill[:0], 0
	return dst
}

// hold keeps a frame back.
func (p *passthrough) hold(dst []byte, f sse.Frame) ([]byte, Step, error) {
	p.scratch = p.reader.append(p.scratch[:0], f)
	if len(p.held)+len(p.scratch) > p.heldMax {
		if p.phase == opening {
			// The stream has only lifecycle frames.
			return dst, Idle, llm.ErrBroken
		}
		// The answer is complete, and later frames are not part of it.
		return dst, Idle, nil
	}
	p.held = append(p.held, p.scratch...)
	if p.phase == opening {
		return dst, Lifecycle, nil
	}
	return dst, Held, nil
}

// keepBill keeps the frame that says the usage. It is never too large to be kept, since the answer is not whole
// without it; of several it is the last.
func (p *passthrough) keepBill(dst []byte, f sse.Frame) ([]byte, Step, error) {
	if len(p.bill) > 0 && len(p.held)+len(p.bill) <= p.heldMax {
		p.held = slices.Insert(p.held, p.billAt, p.bill...)
	}
	p.bill, p.billAt = p.reader.append(p.bill[:0], f), len(p.held)
	return dst, Held, nil
}

// appendHeld appends what was held back, with the bill in its frame.
func (p *passthrough) appendHeld(dst []byte, m *meter, b Bill) []byte {
	dst = append(dst, p.held[:p.billAt]...)
	if len(p.bill) > 0 {
		from, to := dataStart(p.bill), len(p.bill)-len(frameEnd)
		dst = append(dst, p.bill[:from]...)
		dst = m.appendBilled(dst, p.bill[from:to], b)
		dst = append(dst, frameEnd...)
	}
	return append(dst, p.held[p.billAt:]...)
}

const (
	eventLine = "event: "
	dataLine  = "data: "
	frameEnd  = "\n\n"
)

// appendFrame appends a frame with the edits in its data made: as it came where it is as it should be, which is an
// event line when there is an event, one data line and nothing else.
func appendFrame(dst []byte, f sse.Frame, event []byte, e *rawjson.Edits) []byte {
	regular := isRegular(f, event)
	if regular && e.Empty() {
		return append(dst, f.Raw...)
	}
	if len(event) > 0 {
		dst = append(append(append(dst, eventLine...), event...), '\n')
	}
	dst = append(dst, dataLine...)
	from := len(dst)
	dst = e.AppendTo(dst, f.Data)
	if !regular {
		for i := from; i < len(dst); i++ {
			if dst[i] == '\n' {
				dst[i] = ' '
			}
		}
	}
	return append(dst, frameEnd...)
}

func isRegular(f sse.Frame, event []byte) bool {
	if len(event) == 0 {
		return f.Plain()
	}
	before := len(eventLine) + len(event) + len("\n"+dataLine)
	if len(f.Raw) != before+len(f.Data)+len(frameEnd) {
		return false
	}
	raw := f.Raw
	return string(raw[:len(eventLine)]) == eventLine && bytes.Equal(raw[len(eventLine):][:len(event)], event) &&
		string(raw[len(eventLine)+len(event):before]) == "\n"+dataLine && string(raw[len(raw)-len(frameEnd):]) == frameEnd
}

// dataStart is where the data of a frame begins that appendFrame has written.
func dataStart(frame []byte) int {
	if bytes.HasPrefix(frame, []byte(eventLine)) {
		return bytes.IndexByte(frame, '\n') + 1 + len(dataLine)
	}
	return len(dataLine)
}

// failure is the error of an upstream, whose JSON is as it came.
func failure(body ...[]byte) error {
	all := bytes.Join(body, nil)
	return &llm.UpstreamError{Body: all[:min(len(all), failureBytesMax)]}
}

// doneMark is what some upstreams end a stream with in whatever style.
const doneMark = "[DONE]"

// eventOf is the name of a frame's event: its type, or the event line of a frame without. It is nil when there is
// none that fits in a line.
func eventOf(f sse.Frame, kind rawjson.Span) []byte {
	event := f.Event
	if value := kind.Of(f.Data); len(value) > len(`""`) && value[0] == '"' {
		event = value[1 : len(value)-1]
	}
	if len(event) == 0 || bytes.IndexByte(event, '\n') >= 0 {
		return nil
	}
	return event
}
