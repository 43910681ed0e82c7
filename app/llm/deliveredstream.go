package llm

// FrameCounter is a Seen of a style that numbers its frames.
type FrameCounter interface {
	// Count takes the number of a frame that is passed on without a Note, since it says nothing but a piece of text.
	Count(number int64)
}

// DeliveredStream follows what a client of one style was sent of a stream, as far as another encoder must know it to go on.
type DeliveredStream interface {
	// Note takes the next frame: its event line, which may be empty, and its data.
	Note(event, data []byte)
	// Resume makes an encoder that goes on behind the last frame, with the ids and the numbers that the client knows.
	// Open is the part that has begun and not ended, zero when none has, and text what there is of it. It reports false
	// when the frames leave that to doubt.
	Resume(open PartKind, text string) (StreamEncoder, bool)
}
