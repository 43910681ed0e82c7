package emulator

import (
	"encoding/binary"
	"hash/crc32"
)

// eventFrame is an event in the framing of AWS: the lengths of the whole and of the headers, their checksum, the headers, the payload, and
// the checksum of all before it.
func eventFrame(name string, payload []byte) []byte {
	return framed(payload, ":event-type", name, ":content-type", "application/json", ":message-type", "event")
}

// framed is a payload with headers, which are pairs of names and values.
func framed(payload []byte, pairs ...string) []byte {
	var headers []byte
	for i := 0; i+1 < len(pairs); i += 2 {
		headers = append(append(headers, byte(len(pairs[i]))), pairs[i]...)
		headers = append(headers, 7) // A value that is a text has this type.
		headers = binary.BigEndian.AppendUint16(headers, uint16(len(pairs[i+1])))
		headers = append(headers, pairs[i+1]...)
	}
	const prelude, checksum = 12, 4
	frame := binary.BigEndian.AppendUint32(nil, uint32(prelude+len(headers)+len(payload)+checksum))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(headers)))
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	frame = append(append(frame, headers...), payload...)
	return binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
}
