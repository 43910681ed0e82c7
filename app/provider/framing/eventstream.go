package framing

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// A message begins with its length, the length of its headers and the checksum of both. Headers, payload and a checksum of all
// follow. Numbers are big-endian.
const (
	preludeBytes    = 12
	checksumBytes   = 4
	messageBytesMin = preludeBytes + checksumBytes
	headersBytesMax = 128 << 10
	// readBytes is how much of a message is read at a time, so that no memory is taken for bytes that never come.
	readBytes = 4 << 10
)

// eventSource reads the messages of an AWS event stream.
type eventSource struct {
	src io.Reader
	// message is the memory of the last message.
	message []byte
	chunk   []byte
}

// next appends the frame of the next message.
func (s *eventSource) next(dst []byte) ([]byte, error) {
	message, err := s.read()
	if err != nil {
		return dst, err
	}
	headersEnd := preludeBytes + int(binary.BigEndian.Uint32(message[4:]))
	h, err := readHeaders(message[preludeBytes:headersEnd])
	if err != nil {
		return dst, err
	}
	return s.appendMessage(dst, &h, message[headersEnd:len(message)-checksumBytes])
}

// read reads and checks one message. It returns io.EOF when the source ends before the first byte of a message.
func (s *eventSource) read() ([]byte, error) {
	if cap(s.message) > keptBytes {
		s.message = nil
	}
	if cap(s.message) < preludeBytes {
		s.message = make([]byte, 0, readBytes)
	}
	b := s.message[:preludeBytes]
	if _, err := io.ReadFull(s.src, b); err != nil {
		return nil, err
	}
	total, headers := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	switch {
	case crc32.ChecksumIEEE(b[:8]) != binary.BigEndian.Uint32(b[8:]):
		return nil, ErrChecksum
	case total > messageBytesMax || headers > headersBytesMax:
		return nil, ErrTooLarge
	case total < messageBytesMin || headers > total-messageBytesMin:
		return nil, ErrMalformed
	}
	for len(b) < int(total) {
		from := len(b)
		to := min(int(total), max(cap(b), from+readBytes))
		b = append(b, make([]byte, to-from)...)
		if _, err := io.ReadFull(s.src, b[from:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	s.message = b
	end := len(b) - checksumBytes
	if crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		return nil, ErrChecksum
	}
	return b, nil
}

// headers are the headers of a message that have a meaning here.
type headers struct {
	messageType, eventType, exceptionType, errorCode, errorMessage []byte
}

// valueBytes has the size of the values of each type of header. The types without an entry have a length before the value.
var valueBytes = map[byte]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

const (
	typeBytes  = 6
	typeString = 7
)

// readHeaders reads the headers of a message, which are a name with its length, the type of the value and the value.
func readHeaders(b []byte) (h headers, err error) {
	for len(b) > 0 {
		nameBytes := int(b[0])
		if len(b) < 1+nameBytes+1 {
			return h, ErrMalformed
		}
		name, kind := b[1:1+nameBytes], b[1+nameBytes]
		b = b[1+nameBytes+1:]
		size, isFixed := valueBytes[kind]
		if !isFixed {
			if kind != typeBytes && kind != typeString || len(b) < 2 {
				return h, ErrMalformed
			}
			size = int(binary.BigEndian.Uint16(b))
			b = b[2:]
		}
		if len(b) < size {
			return h, ErrMalformed
		}
		if kind == typeString {
			h.set(name, b[:size])
		}
		b = b[size:]
	}
	return h, nil
}

func (h *headers) set(name, value []byte) {
	switch string(name) {
	case ":message-type":
		h.messageType = value
	case ":event-type":
		h.eventType = value
	case ":exception-type":
		h.exceptionType = value
	case ":error-code":
		h.errorCode = value
	case ":error-message":
		h.errorMessage = value
	}
}

// appendMessage appends the frame of a message.
func (s *eventSource) appendMessage(dst []byte, h *headers, payload []byte) ([]byte, error) {
	switch string(h.messageType) {
	case "event":
		if string(h.eventType) == "chunk" {
			return s.appendChunk(dst, payload)
		}
		if !isWord(h.eventType) {
			return dst, ErrMalformed
		}
		return appendFrame(dst, h.eventType, payload), nil
	case "exception":
		return appendException(dst, h.exceptionType, payload)
	case "error":
		message := append(llm.Quote([]byte(`{"message":`), string(h.errorMessage)), '}')
		return appendException(dst, h.errorCode, message)
	}
	return dst, ErrMalformed
}

// appendChunk appends the event of a model's own style that a chunk carries as base64.
func (s *eventSource) appendChunk(dst, payload []byte) ([]byte, error) {
	if cap(s.chunk) > keptBytes {
		s.chunk = nil
	}
	carrier := struct {
		Bytes []byte `json:"bytes"`
	}{s.chunk[:0]}
	if json.Unmarshal(payload, &carrier, llm.Lenient) != nil {
		return dst, ErrMalformed
	}
	s.chunk = carrier.Bytes
	var event struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(carrier.Bytes, &event, llm.Lenient) != nil || event.Type != "" && !isWord([]byte(event.Type)) {
		return dst, ErrMalformed
	}
	return appendFrame(dst, []byte(event.Type), carrier.Bytes), nil
}

// appendException appends the frame of an exception. Its other members stay beside the message.
func appendException(dst, kind, payload []byte) ([]byte, error) {
	if !isWord(kind) {
		return dst, ErrMalformed
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(payload, &members, llm.Lenient) != nil {
		members = map[string]jsontext.Value{"message": llm.Quote(nil, string(payload))}
	}
	if text, hasUpper := members["Message"]; hasUpper && members["message"] == nil {
		members["message"] = text
	}
	if members == nil {
		members = map[string]jsontext.Value{}
	}
	members["type"] = llm.Quote(nil, string(kind))
	// The values were valid JSON when they were read.
	failure, _ := json.Marshal(members, llm.Lenient, json.Deterministic(true))
	return appendFrame(dst, kind, append(append([]byte(`{"type":"error","error":`), failure...), '}')), nil
}

// isWord reports whether text can stand in the event line of a frame.
func isWord(text []byte) bool {
	for _, c := range text {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return len(text) > 0
}
