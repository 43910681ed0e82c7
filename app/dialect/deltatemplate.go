package dialect

import (
	"bytes"

	"umg/app/dialect/rawjson"
	"umg/app/sse"
)

const (
	// templateMissesMax is how many frames in a row may differ from the template before the stream stops to use it.
	templateMissesMax = 4
	// templateBytesMax bounds the frame and its output together.
	templateBytesMax = 4 << 10
	// runTextBytesMax bounds the text of a frame in a run. A longer one is read by itself.
	runTextBytesMax = 8 << 10
)

// deltaTemplate is the last frame with one text and nothing else. Most frames of a stream differ from the frame before them only in
// their text, so that they need no parser and have the same edits.
type deltaTemplate struct {
	// head ends with the opening quote of the text in the frame of the provider, and tail begins with the closing quote.
	head, tail []byte
	// outHead and outTail are the same parts of the frame for the client.
	outHead, outTail []byte
	// framing is the number of bytes of the frame that are not data. It changes when the lines of the frame change.
	framing int
	misses  int
}

// reuseBuffers returns an empty template that reuses the buffers of this one.
func (t *deltaTemplate) reuseBuffers() deltaTemplate {
	return deltaTemplate{head: t.head[:0], tail: t.tail[:0], outHead: t.outHead[:0], outTail: t.outTail[:0]}
}

// text returns the inside of the text of a frame that matches the template, and nil for any other frame.
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

// next returns the inside of the text of the frame at the beginning of some bytes, when that frame is whole and matches the template, and
// the length of the frame. It looks at each byte once. The frame must end in an empty line with LF.
func (t *deltaTemplate) next(ahead []byte) (text []byte, size int) {
	if !bytes.HasPrefix(ahead, t.head) {
		return nil, 0
	}
	rest := ahead[len(t.head):min(len(ahead), len(t.head)+len(t.tail)+runTextBytesMax)]
	quote := rawjson.LineStringEnd(rest)
	if quote <= 0 || !bytes.HasPrefix(rest[quote:], t.tail) {
		return nil, 0
	}
	return rest[:quote], len(t.head) + quote + len(t.tail)
}

// runs reports whether the template may match several frames in a row by next.
func (t *deltaTemplate) runs() bool {
	return len(t.head) > 0 && bytes.HasSuffix(t.tail, []byte(frameEnd)) && t.head[0] != '\n'
}

// learn makes a frame the template. The text is its only text, and out is the same frame for the client.
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
