package dialect

import (
	"bytes"

	"umg/app/dialect/rawjson"
	"umg/app/sse"
)

// After that many frames in a row that differ from the one before in more than their text, a stream is not watched for
// twins any more.
const (
	templateMissesMax = 4
	// templateBytesMax bounds the frame and its output together.
	templateBytesMax = 4 << 10
)

// deltaTemplate is the last frame that said one text and nothing else. Most frames of a stream differ from the one before in
// their text only, so that they need not be read: they mean the same, and what changes in them is the same.
type deltaTemplate struct {
	// head ends with the opening quote of the text in the frame of the provider, and tail begins with the closing quote.
	head, tail []byte
	// outHead and outTail are the same parts of the frame for the client.
	outHead, outTail []byte
	// framing is the number of bytes of the frame that are not data. It changes when the lines of the frame change.
	framing int
	misses  int
}

// reuseBuffers is a twin for another stream, with the buffers of this one.
func (t *deltaTemplate) reuseBuffers() deltaTemplate {
	return deltaTemplate{head: t.head[:0], tail: t.tail[:0], outHead: t.outHead[:0], outTail: t.outTail[:0]}
}

// text is the inside of the text of a frame that differs from the last one in it only; nil when it is no twin. A text
// that says nothing has none.
func (t *deltaTemplate) text(f sse.Frame) []byte {
	around := len(t.head) + len(t.tail)
	if len(t.head) == 0 || len(f.Raw) <= around || len(f.Raw)-len(f.Data) != t.framing ||
		!bytes.HasPrefix(f.Raw, t.head) || !bytes.HasSuffix(f.Raw, t.tail) {
		return nil
	}
	quoted := f.Raw[len(t.head)-1 : len(f.Raw)-len(t.tail)+1]
	if rawjson.StringEnd(quoted, 0) != len(quoted) {
		return nil
	}
	t.misses = 0
	return quoted[1 : len(quoted)-1]
}

func (t *deltaTemplate) append(dst, text []byte) []byte {
	return append(append(append(dst, t.outHead...), text...), t.outTail...)
}

// learn takes a frame that says one text, at that place of its data, and what the client has of it.
func (t *deltaTemplate) learn(f sse.Frame, text rawjson.Span, out []byte) {
	t.head = t.head[:0]
	if t.misses++; t.misses > templateMissesMax {
		return
	}
	from, quoted := len(f.Raw)-len(frameEnd)-len(f.Data), text.Of(f.Data)
	at := bytes.Index(out, quoted)
	if from < 0 || !bytes.HasPrefix(f.Raw[from:], f.Data) || at < 0 || bytes.Contains(out[at+1:], quoted) ||
		len(f.Raw)+len(out) > templateBytesMax {
		// The text must occur exactly once.
		return
	}
	t.head = append(t.head, f.Raw[:from+text.From+1]...)
	t.tail = append(t.tail[:0], f.Raw[from+text.To-1:]...)
	t.outHead = append(t.outHead[:0], out[:at+1]...)
	t.outTail = append(t.outTail[:0], out[at+len(quoted)-1:]...)
	t.framing = len(f.Raw) - len(f.Data)
}
