package dialect

import (
	"bytes"
	"errors"
	"slices"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/sse"
	"umg/app/usagereader"
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
	// phaseOpening is before the first content.
	phaseOpening phase = iota
	phaseContent
	// phaseEnding means that every choice has its finish reason.
	phaseEnding
)

// frameKind says what a frame is to a client.
type frameKind uint8

const (
	// A skippedFrame is not sent to the client.
	skippedFrame frameKind = iota
	// An otherFrame has neither content nor the end of the answer.
	otherFrame
	contentFrame
	// A splitFrame has content and the end. Two calls of append write one part each.
	splitFrame
	// A finishFrame has the end of the answer.
	finishFrame
	// A usageFrame comes after the end and has the usage for the client.
	usageFrame
)

// frameReading is the result of reading a frame.
type frameReading struct {
	kind frameKind
	// isEndMark means that the frame is the end mark of its stream.
	isEndMark bool
	// reopens means that the answer continues after an earlier end.
	reopens bool
	// text is the only new string in the data; the zero Span when more is new.
	text rawjson.Span
}

// frameReader reads and writes the frames of one style.
type frameReader interface {
	// read counts what a frame says. It returns llm.ErrMalformed when the frame cannot be read, an *llm.UpstreamError
	// when it is an error, and an *llm.FailedError when the answer ends with it and has failed.
	read(f sse.Frame) (frameReading, error)
	// append appends the frame that was read, as the client has it.
	append(dst []byte, f sse.Frame) []byte
	// preface appends what must stand before the first frame and has not come.
	preface(dst []byte) []byte
}

// passthrough passes a stream through to a client of the same style. It holds the frames before the first content, because another
// stream may still replace this one. It holds the frames from the end of the answer on, because the charge must be durable before the
// client can know that the answer is whole.
type passthrough struct {
	reader  frameReader
	options llm.ResponseOptions
	// model is the public id of the model, as JSON.
	model   string
	phase   phase
	done    bool
	heldMax int
	stats   StreamStats
	// usage reads the usage of the provider, and report has what it has read so far.
	usage    llm.UsageReader
	report   llm.Report
	template deltaTemplate
	held     []byte
	// usageFrame is the frame with the usage.
	usageFrame []byte
	// usageFrameAt is the index in held at which bill belongs.
	usageFrameAt int
	scratch      []byte
}

// reuseBuffers returns a passthrough for another stream of a style that reuses the buffers of this one.
func (p *passthrough) reuseBuffers(a llm.ResponseOptions, style llm.Style) passthrough {
	return passthrough{
		options: a, model: rawjson.Quote(a.Model), heldMax: heldBytesMax, template: p.template.reuseBuffers(),
		usage: usagereader.For(&a, style), report: usagereader.NewReport(),
		held: p.held[:0], usageFrame: p.usageFrame[:0], scratch: p.scratch[:0],
	}
}

// trim releases buffers that have grown large.
func (p *passthrough) trim(more ...*[]byte) {
	for _, b := range append(more, &p.held, &p.usageFrame, &p.scratch) {
		if cap(*b) > keptBytes {
			*b = nil
		}
	}
}

// Stats returns the statistics so far.
func (p *passthrough) Stats() StreamStats {
	t := p.stats
	t.Progress = t.ContentBytes
	t.Ended = p.done && t.Finish != ""
	t.Whole = !p.done && p.phase == phaseEnding && t.Finish != ""
	return t
}

// Frame passes one frame through.
func (p *passthrough) Frame(dst []byte, f sse.Frame) ([]byte, Step, error) {
	if len(f.Data) == 0 {
		return dst, Idle, nil
	}
	before, at := p.phase, len(dst)
	if before == phaseContent {
		if text := p.template.text(f); text != nil {
			p.addContent(rawjson.UnescapedLen(text))
			return p.template.append(dst, text), Content, nil
		}
	}
	r, err := p.reader.read(f)
	if err != nil {
		if errors.Is(err, llm.ErrMalformed) && (p.phase == phaseEnding || IsIgnorable(f)) {
			err = nil
		}
		return dst, Idle, err
	}
	if r.reopens {
		dst = p.releaseHeld(dst)
	}
	step := Idle
	// An end mark without a finish reason is not an end.
	if !r.isEndMark || p.phase == phaseEnding || r.kind >= finishFrame {
		dst, step, err = p.passFrame(dst, f, r.kind)
	}
	if before == phaseContent && r.kind == contentFrame && r.text.Found() {
		p.template.learn(f, r.text, dst[at:])
	}
	if r.isEndMark && err == nil {
		p.done = true
		step = Done
	}
	return dst, step, err
}

// Run passes the received frames through that differ from the last one only in their text, up to a limit.
func (p *passthrough) Run(dst []byte, r *sse.Reader, limit RunLimit) []byte {
	t := &p.template
	if p.phase != phaseContent || !t.runs() {
		return dst
	}
	ahead := r.Ahead()
	at, frames, content := 0, int64(0), int64(0)
	for frames < limit.Frames && content < limit.ContentBytes && len(dst) < limit.Bytes {
		text, size := t.next(ahead[at:])
		if size == 0 {
			break
		}
		content += rawjson.UnescapedLen(text)
		dst = t.append(dst, text)
		at += size
		frames++
	}
	if frames > 0 {
		r.Skip(at)
		t.misses = 0
		p.stats.Reported = false
		p.stats.ContentBytes += content
		p.stats.ContentFrames += frames
	}
	return dst
}

func (p *passthrough) passFrame(dst []byte, f sse.Frame, says frameKind) ([]byte, Step, error) {
	switch {
	case says == skippedFrame:
		return dst, Idle, nil
	case says == usageFrame:
		p.beginEnd()
		return p.holdUsage(dst, f)
	case says == splitFrame && p.phase != phaseEnding:
		dst = p.reader.append(p.beginContent(dst), f)
		p.beginEnd()
		dst, _, err := p.holdFrame(dst, f)
		return dst, Content, err
	case says == finishFrame:
		p.beginEnd()
	case says == contentFrame && p.phase != phaseEnding:
		return p.reader.append(p.beginContent(dst), f), Content, nil
	case p.phase == phaseContent:
		return p.reader.append(dst, f), Content, nil
	}
	return p.holdFrame(dst, f)
}

// addContent counts the content of a frame. A usage before content is not the final one.
func (p *passthrough) addContent(contentBytes int64) {
	p.stats.Reported = false
	p.stats.ContentBytes += contentBytes
	p.stats.ContentFrames++
}

// readUsage reads the usage in a frame, or in the answer within it, from the member where the style has it or from another place. It
// reports whether there is one that can be correct.
func (p *passthrough) readUsage(answer, object []byte) bool {
	elsewhere := p.usage.ReadAnswer(&p.report, answer)
	if rawjson.IsNull(object) {
		if !elsewhere {
			return false
		}
	} else {
		p.usage.ReadUsage(&p.report, object)
	}
	u, ok := p.report.Usage()
	p.setUsage(u, ok)
	return ok
}

// setUsage records a usage, if it is known. A usage without doubts is only replaced by one with doubts after more content.
func (p *passthrough) setUsage(u llm.Usage, ok bool) {
	if ok && (u.Doubts == 0 || !p.stats.Reported || p.stats.Usage.Doubts != 0) {
		p.stats.Usage, p.stats.Reported = u, true
	}
}

// beginContent appends the held frames before the first content.
func (p *passthrough) beginContent(dst []byte) []byte {
	if p.phase != phaseOpening {
		return dst
	}
	p.phase = phaseContent
	dst = append(p.reader.preface(dst), p.held...)
	p.held = p.held[:0]
	return dst
}

// beginEnd begins the end of the answer. From here on all frames are held until the charge is durable.
func (p *passthrough) beginEnd() {
	if p.phase == phaseOpening {
		if first := p.reader.preface(nil); len(first) > 0 {
			p.held = slices.Insert(p.held, 0, first...)
		}
	}
	p.phase = phaseEnding
}

// releaseHeld appends the frames that were held as the end, because the answer continues.
func (p *passthrough) releaseHeld(dst []byte) []byte {
	dst = append(dst, p.held[:p.usageFrameAt]...)
	dst = append(dst, p.usageFrame...)
	dst = append(dst, p.held[p.usageFrameAt:]...)
	p.phase, p.held, p.usageFrame, p.usageFrameAt = phaseContent, p.held[:0], p.usageFrame[:0], 0
	return dst
}

// holdFrame holds a frame.
func (p *passthrough) holdFrame(dst []byte, f sse.Frame) ([]byte, Step, error) {
	p.scratch = p.reader.append(p.scratch[:0], f)
	if len(p.held)+len(p.scratch) > p.heldMax {
		if p.phase == phaseOpening {
			// The stream has only lifecycle frames.
			return dst, Idle, llm.ErrBroken
		}
		// The answer is complete, and later frames are not part of it.
		return dst, Idle, nil
	}
	p.held = append(p.held, p.scratch...)
	if p.phase == phaseOpening {
		return dst, Lifecycle, nil
	}
	return dst, Held, nil
}

// holdUsage holds the frame with the usage, whatever its size, because the answer is incomplete without it. Only the last of several
// such frames gets the charge.
func (p *passthrough) holdUsage(dst []byte, f sse.Frame) ([]byte, Step, error) {
	if len(p.usageFrame) > 0 && len(p.held)+len(p.usageFrame) <= p.heldMax {
		p.held = slices.Insert(p.held, p.usageFrameAt, p.usageFrame...)
	}
	p.usageFrame, p.usageFrameAt = p.reader.append(p.usageFrame[:0], f), len(p.held)
	return dst, Held, nil
}

// appendHeld appends the held frames, with the charge in the frame with the usage.
func (p *passthrough) appendHeld(dst []byte, m *usageFormat, b llm.Charge) []byte {
	dst = append(dst, p.held[:p.usageFrameAt]...)
	if len(p.usageFrame) > 0 {
		from, to := dataStart(p.usageFrame), len(p.usageFrame)-len(frameEnd)
		dst = append(dst, p.usageFrame[:from]...)
		dst = m.appendWithUsage(dst, p.usageFrame[from:to], b)
		dst = append(dst, frameEnd...)
	}
	return append(dst, p.held[p.usageFrameAt:]...)
}

const (
	eventLine = "event: "
	dataLine  = "data: "
	frameEnd  = "\n\n"
)

// appendFrame appends a frame with edits in its data. The frame stays unchanged when it has no edits and consists of the event line, if
// there is an event, and one data line.
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

// dataStart returns where the data begins in a frame that appendFrame has written.
func dataStart(frame []byte) int {
	if bytes.HasPrefix(frame, []byte(eventLine)) {
		return bytes.IndexByte(frame, '\n') + 1 + len(dataLine)
	}
	return len(dataLine)
}

// failure returns the error of an upstream, with its JSON unchanged.
func failure(body ...[]byte) error {
	all := bytes.Join(body, nil)
	return &llm.UpstreamError{Body: all[:min(len(all), failureBytesMax)]}
}

// doneMark ends the streams of some upstreams in any style.
const doneMark = "[DONE]"

// eventOf returns the event of a frame: the type of its data, or its event line. It is nil when there is none that fits in a line.
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
