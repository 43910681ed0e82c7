package chat

import (
	"bytes"
	"strings"
)

const escapeBytes = len(`\ud83d`)

// joinHalves joins what some upstreams cut in two: a character beyond the first 65,536 is two escapes in JSON, and the first
// may end one chunk while the second begins the next. Read apart, neither is a character.
func (d *decoder) joinHalves(data []byte) []byte {
	if len(d.half) == 0 && !bytes.Contains(data, []byte(`\u`)) {
		return data
	}
	if len(d.half) > 0 {
		if at := secondHalf(data); at >= 0 {
			data = bytes.Join([][]byte{data[:at], d.half, data[at:]}, nil)
		}
		d.half = d.half[:0]
	}
	if at := firstHalf(data); at >= 0 {
		d.half = append(d.half, data[at:at+escapeBytes]...)
		data = bytes.Join([][]byte{data[:at], data[at+escapeBytes:]}, nil)
	}
	return data
}

// secondHalf is where a string begins with the second half of a character, or none.
func secondHalf(data []byte) int {
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte(`"\u`))
		if i < 0 {
			return notFound
		}
		at += i + 1
		if isHalf(data[at:], "cdef") && !escaped(data, at-1) {
			return at
		}
	}
}

// firstHalf is where a string ends with the first half of a character, or none.
func firstHalf(data []byte) int {
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte(`\u`))
		if i < 0 {
			return notFound
		}
		at += i
		if isHalf(data[at:], "89ab") && len(data) > at+escapeBytes && data[at+escapeBytes] == '"' && !escaped(data, at) {
			return at
		}
		at++
	}
}

// isHalf reports whether an escape is one of the halves whose third digit is in the list.
func isHalf(escape []byte, third string) bool {
	return len(escape) >= escapeBytes && escape[2]|0x20 == 'd' && strings.IndexByte(third, escape[3]|0x20) >= 0
}

// escaped reports whether the backslash at a place is itself the escaped one of a pair.
func escaped(data []byte, at int) bool {
	n := 0
	for at-n > 0 && data[at-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}
