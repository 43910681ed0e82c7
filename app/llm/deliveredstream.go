package llm

// FrameCounter is implemented by the DeliveredStream of a style that numbers its frames.
type FrameCounter interface {
	// Count notes the number of a frame that has only a piece of text, for which Note is not called.
	Count(number int64)
}

// DeliveredStream records the state of a stream at the client that a new encoder needs to continue it.
type DeliveredStream interface {
	// Note records the next frame: its event line, which may be empty, and its data.
	Note(event, data []byte)
	// Resume makes an encoder that continues after the last frame, with the ids and the numbers that the client knows. Open is the kind of
	// the part that has not ended yet, or zero, and text is its text so far. It reports false when the state at the client is not certain.
	Resume(open PartKind, text string) (StreamEncoder, bool)
}

// NotResumable is the DeliveredStream of a style that no client receives.
type NotResumable struct{}

// Note records nothing.
func (NotResumable) Note(_, _ []byte) {}

// Resume reports false.
func (NotResumable) Resume(PartKind, string) (StreamEncoder, bool) { return nil, false }
