package translate

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/dialect/rawjson"
	"umg/app/sse"
)

// pattern is the last frame that had one piece of text and nothing else. A frame that differs from it only in the text, and in its
// number in styles that number frames, needs no decoder.
type pattern struct {
	// head ends before the number, or with the opening quote of the text when there is no number.
	head []byte
	// middle is between the number and the text; empty without a number.
	middle []byte
	// tail begins with the closing quote of the text.
	tail     []byte
	numbered bool
	// framing is the number of bytes of the frame that are not data.
	framing int
	// misses is the number of frames in a row that did not match.
	misses int
	plain  []byte
}

// numberMember is the member with the sequence number of a frame of the responses style.
const numberMember = `"sequence_number":`

const (
	// patternMissesMax is how many frames in a row may differ from the pattern before the transcript stops to use it.
	patternMissesMax = 4
	// patternBytesMax bounds the length of a frame that becomes the pattern.
	patternBytesMax = 4 << 10

	frameSuffix = "\n\n"
)

// deltaEvent ends the names of the events with a piece of text.
var deltaEvent = []byte("delta")

// match returns the text of a frame that fits the pattern, valid until the next call, and its number.
func (p *pattern) match(f sse.Frame) (text []byte, number int64, ok bool) {
	if len(p.head) == 0 || len(f.Raw)-len(f.Data) != p.framing || !bytes.HasPrefix(f.Raw, p.head) || !bytes.HasSuffix(f.Raw, p.tail) {
		return nil, 0, false
	}
	rest := f.Raw[len(p.head):]
	if p.numbered {
		digits := digitsOf(rest)
		var err error
		if number, err = strconv.ParseInt(string(rest[:digits]), 10, 64); err != nil || !bytes.HasPrefix(rest[digits:], p.middle) {
			return nil, 0, false
		}
		rest = rest[digits+len(p.middle):]
	}
	end := len(rest) - len(p.tail) + 1
	if end < 3 || rawjson.StringEnd(rest, 0) != end {
		// An empty text is not a piece of the answer.
		return nil, 0, false
	}
	if text, ok = p.unquote(rest[:end]); !ok {
		// The decoder may join half of a letter with the next text.
		p.forget()
		return nil, 0, false
	}
	p.misses = 0
	return text, number, true
}

// runs reports whether the pattern may match several frames in a row by next. Frames with numbers are read one by one.
func (p *pattern) runs() bool {
	return len(p.head) > 0 && !p.numbered && bytes.HasSuffix(p.tail, []byte(frameSuffix))
}

// next returns the text of the frame at the beginning of some bytes, when that frame is whole, fits the pattern and has no escapes in its
// text, and the length of the frame.
func (p *pattern) next(ahead []byte) (text []byte, size int) {
	if !bytes.HasPrefix(ahead, p.head) {
		return nil, 0
	}
	inside := ahead[len(p.head):]
	if len(inside) == 0 || inside[0] != '"' {
		return nil, 0
	}
	inside = inside[1:]
	quote := rawjson.LineStringEnd(inside)
	if quote <= 0 || !bytes.HasPrefix(inside[quote:], p.tail) {
		return nil, 0
	}
	if text = inside[:quote]; bytes.IndexByte(text, '\\') >= 0 || !utf8.Valid(text) {
		return nil, 0
	}
	return text, len(p.head) + 1 + quote + len(p.tail)
}

// unquote returns a JSON string with its escapes resolved.
func (p *pattern) unquote(quoted []byte) ([]byte, bool) {
	inside := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside, utf8.Valid(inside)
	}
	var err error
	p.plain, err = jsontext.AppendUnquote(p.plain[:0], quoted)
	return p.plain, err == nil
}

// forget makes that no frame matches until another one is learned.
func (p *pattern) forget() { p.head = p.head[:0] }

// learn makes a frame with that piece of text, and nothing else, the pattern when the position of the text is certain.
func (p *pattern) learn(f sse.Frame, text string) {
	p.forget()
	if p.misses++; p.misses > patternMissesMax || len(f.Raw) > patternBytesMax || len(f.Event) > 0 && !bytes.HasSuffix(f.Event, deltaEvent) {
		return
	}
	quoted := append(append(append(p.plain[:0], '"'), text...), '"')
	p.plain = quoted
	data, at := len(f.Raw)-len(frameSuffix)-len(f.Data), bytes.Index(f.Data, quoted)
	if data < 0 || at < 0 || !bytes.HasPrefix(f.Raw[data:], f.Data) || bytes.Contains(f.Data[at+1:], quoted) ||
		rawjson.StringEnd(f.Data, at) != at+len(quoted) {
		return
	}
	from := data + at
	p.framing, p.numbered, p.middle = len(f.Raw)-len(f.Data), false, p.middle[:0]
	p.tail = append(p.tail[:0], f.Raw[from+len(quoted)-1:]...)
	if n := bytes.Index(f.Data[:at], []byte(numberMember)); n >= 0 {
		n += data + len(numberMember)
		digits := digitsOf(f.Raw[n:])
		p.numbered, p.middle = true, append(p.middle, f.Raw[n+digits:from]...)
		from = n
	}
	p.head = append(p.head, f.Raw[:from]...)
}

// digitsOf returns the number of digits at the beginning of a text.
func digitsOf(text []byte) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}
