package simulator

import (
	"bytes"
	"encoding/binary"
	"image"
	_ "image/jpeg" // An input image may be a JPEG.
	"slices"
	"strings"
)

// guardrail is one thing that a video service refuses to make, in the words that it has for it.
type guardrail struct {
	kind    string
	text    string
	support string // Support is the code that the operations style names.
}

// guardrails are all of them. Faces concern the input image, the others the prompt.
var guardrails = []guardrail{
	{"minors", "content that is not suitable for minors", "58061214"},
	{"copyright", "copyrighted characters or music", "89371032"},
	{"likeness", "the likeness of a real person", "29310472"},
	{"faces", "an input image with a human face", "39322892"},
}

// anyContent is the guardrail behind a failure that names none.
var anyContent = guardrail{"policy", "content that is not allowed", "74803281"}

const (
	guardMark     = "guardrail: "
	lateGuardMark = "guardrail-late: "
	// faceMark are the bytes of an input image that shows a face.
	faceMark = "face"
)

// marked finds the guardrail that a prompt names after a mark.
func marked(prompt, mark string) *guardrail {
	for i := range guardrails {
		if strings.Contains(prompt, mark+guardrails[i].kind) {
			return &guardrails[i]
		}
	}
	return nil
}

// guardAt finds the guardrail that refuses an order at once.
func guardAt(prompt string, picture *picture) *guardrail {
	if g := marked(prompt, guardMark); g != nil {
		return g
	}
	faces := len(guardrails) - 1
	if picture != nil && bytes.Contains(picture.data, []byte(faceMark)) && marked(prompt, lateGuardMark) != &guardrails[faces] {
		return &guardrails[faces]
	}
	return nil
}

// picture is an input image.
type picture struct {
	kind          string // Kind is the media type that the bytes show.
	width, height int
	data          []byte
}

// pictureOf reads the type and the measures of an image, and nothing else of it.
func pictureOf(data []byte) (*picture, bool) {
	if w, h, ok := webpMeasures(data); ok {
		return &picture{kind: "image/webp", width: w, height: h, data: data}, true
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || !slices.Contains([]string{"png", "jpeg"}, format) {
		return nil, false
	}
	return &picture{kind: "image/" + format, width: c.Width, height: c.Height, data: data}, true
}

// webpMeasures reads the head of a WebP file, whose first chunk has one of three forms.
func webpMeasures(d []byte) (width, height int, ok bool) {
	const head = 30
	if len(d) < head || string(d[:4]) != "RIFF" || string(d[8:12]) != "WEBP" {
		return 0, 0, false
	}
	body := d[20:]
	switch string(d[12:16]) {
	case "VP8 ":
		const fourteenBits = 0x3fff
		if !bytes.Equal(body[3:6], []byte{0x9d, 0x01, 0x2a}) {
			return 0, 0, false
		}
		return int(binary.LittleEndian.Uint16(body[6:])) & fourteenBits, int(binary.LittleEndian.Uint16(body[8:])) & fourteenBits, true
	case "VP8L":
		const signature, fourteenBits = 0x2f, 1<<14 - 1
		bits := binary.LittleEndian.Uint32(body[1:])
		return int(bits&fourteenBits) + 1, int(bits>>14&fourteenBits) + 1, body[0] == signature
	case "VP8X":
		const threeBytes = 1<<24 - 1
		w, h := binary.LittleEndian.Uint32(body[4:]), binary.LittleEndian.Uint32(append(slices.Clone(body[7:10]), 0))
		return int(w&threeBytes) + 1, int(h&threeBytes) + 1, true
	}
	return 0, 0, false
}
