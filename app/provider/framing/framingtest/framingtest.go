// Package framingtest writes AWS event streams for tests. AppendEvent appends one message.
package framingtest

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
)

// Header is a header of a message with a string as its value.
type Header struct{ Name, Value string }

// Append appends a message with its headers and its payload.
func Append(dst []byte, headers []Header, payload []byte) []byte {
	const sizes, checksum = 8, 4
	var head []byte
	for _, h := range headers {
		head = append(append(head, byte(len(h.Name))), h.Name...)
		head = append(head, 7)
		head = binary.BigEndian.AppendUint16(head, uint16(len(h.Value)))
		head = append(head, h.Value...)
	}
	from := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(sizes+checksum+len(head)+len(payload)+checksum))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(head)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
	dst = append(append(dst, head...), payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
}

// AppendEvent appends an event of a Converse stream.
func AppendEvent(dst []byte, event, payload string) []byte {
	return Append(dst, []Header{
		{Name: ":event-type", Value: event}, {Name: ":content-type", Value: "application/json"}, {Name: ":message-type", Value: "event"},
	}, []byte(payload))
}

// AppendChunk appends an event of an invoke stream: an event of the model's own style.
func AppendChunk(dst []byte, event string) []byte {
	return AppendEvent(dst, "chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`","p":"abcdef"}`)
}

// AppendException appends an exception, which is an error in an answer with status 200.
func AppendException(dst []byte, kind, payload string) []byte {
	return Append(dst, []Header{
		{Name: ":exception-type", Value: kind}, {Name: ":content-type", Value: "application/json"}, {Name: ":message-type", Value: "exception"},
	}, []byte(payload))
}
