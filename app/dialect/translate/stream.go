package translate

import (
	"bytes"
	"errors"
	"strings"

	"umg/app"
	"umg/app/dialect"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/sse"
)

// translatedStream reads the frames of one style and writes those of another. Like a stream that is passed through, it sends nothing
// before the first content, and nothing of the end before Finish.
type translatedStream struct {
	exchange *Exchange
	options  *llm.ResponseOptions
	decoder  llm.StreamDecoder
	encoder  llm.StreamEncoder
	events   []llm.Event
	// pattern is the last frame when it had one piece of text of this kind and nothing else.
	pattern pattern
	piece   llm.PartKind
	held    []byte
	phase   answerPhase
	// open is the kind of the part that has begun and not ended.
	open   llm.PartKind
	stops  stopWatcher
	finish llm.Event
	stats  dialect.StreamStats

	// digest is the digest of the open reasoning.
	digest uint64
	// wrapped means that the open call goes to a tool that takes free text.
	wrapped bool
	// freeText are the arguments of this call so far.
	freeText strings.Builder

	// resumer is nil when the client had nothing before.
	resumer *resumer
	// before is the usage of what the client had before.
	before llm.Usage
}

// answerPhase is the phase of a translated answer.
type answerPhase uint8

const (
	// phaseOpening is before the first content.
	phaseOpening answerPhase = iota
	phaseContent
	// phaseEnding is after the end of the last choice.
	phaseEnding
)

// Translates reports whether the call and its answer are translated.
func (x *Exchange) Translates() bool { return x.t != nil }

// NewStream returns the stream of the answer in the client's style. The caller closes it.
func (x *Exchange) NewStream(a llm.ResponseOptions) dialect.Stream {
	if x.t == nil {
		return x.client.NewStream(a)
	}
	return x.translated(x.options(a), x.client.Codec)
}

func (x *Exchange) translated(a *llm.ResponseOptions, out llm.StreamCodec) *translatedStream {
	return &translatedStream{
		exchange: x, options: a, decoder: x.upstream.Codec.Decoder(a), encoder: out.Encoder(a), stops: stopWatcher{list: x.t.stops},
	}
}

func (s *translatedStream) Stats() dialect.StreamStats { return s.stats }

func (s *translatedStream) Close() {}

// Frame reads the next frame. An empty frame means that the upstream has ended the stream.
func (s *translatedStream) Frame(dst []byte, f sse.Frame) ([]byte, dialect.Step, error) {
	var err error
	endedEarlier := s.stats.Last // An earlier frame may have ended the answer.
	switch {
	case s.phase == phaseEnding:
		// Later frames are not part of the answer.
		return dst, dialect.Idle, nil
	case len(f.Raw) == 0:
		s.events, err = s.decoder.End(s.events[:0])
		if errors.Is(err, llm.ErrCut) {
			// The statistics show that the answer is not complete. Open parts stay open.
			return dst, dialect.Idle, nil
		}
	case f.Data == nil:
		return dst, dialect.Idle, nil
	default:
		err = s.read(f)
	}
	if failed, ok := errors.AsType[*llm.UpstreamError](err); ok && failed.Reported {
		s.stats.Usage, s.stats.Reported = failed.Usage, true
	}
	failed := s.countEvents()
	if s.resumer != nil {
		if err = s.dropRepeated(err); errors.Is(err, ErrOtherAnswer) {
			return dst, dialect.Idle, err
		}
	}
	step := dialect.Idle
	for i := range s.events {
		dst = s.pass(dst, &s.events[i], &step)
	}
	switch {
	case failed != nil && s.phase != phaseEnding:
		return dst, step, failed
	case errors.Is(err, llm.ErrMalformed) && (endedEarlier || dialect.IsIgnorable(f)):
		return dst, step, nil
	case errors.Is(err, llm.ErrEnd), err == nil && s.phase == phaseEnding:
		return dst, dialect.Done, nil
	}
	return dst, step, err
}

// read reads the events of a frame. A frame that differs from the last one only in its piece of text needs no decoder. Where the text
// itself may have marks of reasoning, every frame goes through the decoder.
func (s *translatedStream) read(f sse.Frame) (err error) {
	if text, _, ok := s.pattern.match(f); ok {
		s.events = append(s.events[:0], llm.Event{Kind: llm.EventDelta, Part: s.piece, Delta: string(text)})
		return nil
	}
	s.noteFinishReason(f.Data)
	s.events, err = s.decoder.Decode(s.events[:0], f.Event, f.Data)
	s.pattern.forget()
	if err != nil || len(s.events) != 1 || s.stats.Last || s.options.ThinkText {
		return err
	}
	if e := &s.events[0]; e.Kind == llm.EventDelta && (e.Part == llm.Text || e.Part == llm.Reasoning) {
		s.piece = e.Part
		s.pattern.learn(f, e.Delta)
	}
	return nil
}

// countEvents counts what the provider has sent with the last frame. It returns the error of an answer that has failed, without passing on
// its end.
func (s *translatedStream) countEvents() error {
	for i := range s.events {
		e := &s.events[i]
		s.stats.Progress += int64(len(e.Delta) + len(e.Call.Name))
		if e.Kind != llm.EventFinish {
			continue
		}
		if err := s.exchange.failedBy(e.Stop); err != nil {
			s.events = s.events[:i]
			return err
		}
	}
	return nil
}

// noteFinishReason records whether the answer may have ended with this frame. The native style has no end mark, and some providers send
// a finish reason in every frame.
func (s *translatedStream) noteFinishReason(data []byte) {
	name, native := finishMembers[s.exchange.upstream.Style], s.exchange.upstream.Style == llm.Native
	if name == "" {
		return
	}
	hasReason := hasFinishReason(data, name)
	s.stats.Doubtful = s.stats.Doubtful || native && hasReason && s.stats.Last
	s.stats.Last = s.stats.Last && !native || hasReason
}

// dropRepeated keeps only the events that are new to the client. It returns the error of reading them unchanged.
func (s *translatedStream) dropRepeated(read error) error {
	events, err := s.resumer.pass(s.events)
	if s.events = append(s.events[:0], events...); err != nil {
		return err
	}
	return read
}

// pass sends one event to the client.
func (s *translatedStream) pass(dst []byte, e *llm.Event, step *dialect.Step) []byte {
	if s.phase == phaseEnding {
		return dst
	}
	switch e.Kind {
	case llm.EventStart:
		// This usage has the input as far as it is known.
		s.stats.Usage = e.Usage
	case llm.EventPart:
		s.open, s.digest = e.Part, digestStart
		if e.Part == llm.Call {
			s.wrapped = s.exchange.t.freeText[e.Call.Name]
			s.exchange.t.restore(&e.Call, s.options)
		}
		// A call is content before its arguments come.
		s.stats.ContentBytes += int64(len(e.Call.Name))
	case llm.EventDelta:
		s.stats.ContentBytes += int64(len(e.Delta))
		s.stats.ContentFrames++
		switch {
		case e.Part == llm.Text && len(s.stops.list) > 0:
			return s.passWatchedText(dst, e, step)
		case e.Part == llm.Reasoning:
			s.digest = digestOf(s.digest, e.Delta)
		case s.wrapped:
			s.freeText.WriteString(e.Delta)
			return dst
		}
	case llm.EventPartEnd:
		s.open = 0
		if e.Part == llm.Reasoning {
			e.Signature = s.exchange.t.sealThought(s.exchange.upstream.Style, s.digest, e.Signature)
		}
		dst = s.passFreeText(dst, step)
		if rest := s.stops.rest(); rest != "" {
			dst = s.write(dst, &llm.Event{Kind: llm.EventDelta, Part: llm.Text, Delta: rest}, step)
		}
	case llm.EventFinish:
		s.end(*e)
		*step = dialect.Held
		return dst
	}
	return s.write(dst, e, step)
}

// passFreeText writes the input of a call to a tool that takes free text. The text is only known when its JSON is complete.
func (s *translatedStream) passFreeText(dst []byte, step *dialect.Step) []byte {
	if !s.wrapped {
		return dst
	}
	input := unwrapFreeText(s.freeText.String())
	s.wrapped = false
	s.freeText.Reset()
	if input == "" {
		return dst
	}
	return s.write(dst, &llm.Event{Kind: llm.EventDelta, Part: llm.Call, Delta: input}, step)
}

// passWatchedText passes on the text that cannot be part of a stop sequence, and ends the answer at one.
func (s *translatedStream) passWatchedText(dst []byte, e *llm.Event, step *dialect.Step) []byte {
	safe, stop := s.stops.pass(e.Delta)
	if safe != "" {
		dst = s.write(dst, &llm.Event{Kind: llm.EventDelta, Part: llm.Text, Delta: safe}, step)
	}
	if stop != "" {
		dst = s.write(dst, &llm.Event{Kind: llm.EventPartEnd, Part: llm.Text}, step)
		s.end(llm.Event{Kind: llm.EventFinish, Stop: llm.StopSequence, StopText: stop})
		*step = dialect.Held
	}
	return dst
}

// write encodes an event. Events before the first content are held until it comes.
func (s *translatedStream) write(dst []byte, e *llm.Event, step *dialect.Step) []byte {
	content := e.Kind == llm.EventDelta && e.Delta != "" || e.Kind == llm.EventPart && e.Part == llm.Call
	if s.phase == phaseOpening && !content {
		s.held = s.encoder.Append(s.held, e)
		*step = max(*step, dialect.Lifecycle)
		return dst
	}
	if s.phase == phaseOpening {
		s.phase = phaseContent
		dst = append(dst, s.held...)
		s.held = nil
	}
	*step = max(*step, dialect.Content)
	return s.encoder.Append(dst, e)
}

// end records how the answer ended. The client gets the end when the charge is durable.
func (s *translatedStream) end(finish llm.Event) {
	s.phase, s.finish = phaseEnding, finish
	s.stats.Finish, s.stats.Reported = string(finish.Stop), finish.Reported
	if finish.Reported {
		s.stats.Usage = finish.Usage
	}
	if s.exchange.prefix != "" {
		// The provider counts only the end of the answer, and the beginning as input.
		s.stats.Usage, s.stats.Reported = s.before, false
	}
	s.stats.Ended = true
}

func (s *translatedStream) Finish(dst []byte, b llm.Charge) []byte {
	dst = append(dst, s.held...)
	if b.Truncated {
		if s.finish = (llm.Event{Kind: llm.EventFinish, Stop: llm.StopLength}); s.open != 0 {
			var step dialect.Step
			// Half of a JSON text is not an input.
			s.wrapped = false
			dst = s.pass(dst, &llm.Event{Kind: llm.EventPartEnd, Part: s.open}, &step)
		}
	}
	s.finish.Usage, s.finish.Reported, s.finish.Cost = b.Usage, true, &b.Cost
	return s.encoder.Append(dst, &s.finish)
}

func (s *translatedStream) Fail(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte {
	return s.encoder.Fail(dst, e, requestID, charge)
}

// Frames writes a whole answer of the provider as the frames of its style.
func (x *Exchange) Frames(raw []byte) ([]byte, error) { return x.upstream.Frames(raw) }

// finishMembers are the members with the finish reason, in the styles in which frames may follow it.
var finishMembers = map[llm.Style]string{llm.Chat: `"finish_reason"`, llm.Messages: `"stop_reason"`, llm.Native: `"finishReason"`}

// hasFinishReason reports whether a frame has a finish reason in the member called name.
func hasFinishReason(data []byte, name string) bool {
	i := bytes.Index(data, []byte(name))
	if i < 0 {
		return false
	}
	from := rawjson.SkipSpace(data, i+len(name))
	if from >= len(data) || data[from] != ':' {
		return false
	}
	from = rawjson.SkipSpace(data, from+1)
	to := rawjson.StringEnd(data, from)
	if to < 0 {
		return false
	}
	value := data[from:to]
	return len(value) > len(`""`) && value[0] == '"' && !bytes.HasSuffix(value, []byte(`_UNSPECIFIED"`))
}

// failedBy returns the error of an answer that ended for a reason that its client would not accept. The responses style reports every
// reason without a status of its own as a failure.
func (x *Exchange) failedBy(stop llm.Stop) error {
	if stop.Failed() || stop == llm.StopOther && x.client.Style == llm.Responses {
		return &llm.FailedError{Stop: stop}
	}
	return nil
}
