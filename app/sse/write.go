package sse

import "bytes"

const (
	dataPrefix = "data: "
	frameEnd   = "\n\n"
)

// AppendData appends a frame with one data line. The data of every style is JSON or a single word, so a line break in it can only be
// between two JSON tokens, where a space means the same.
func AppendData(dst, data []byte) []byte {
	dst = append(dst, dataPrefix...)
	from := len(dst)
	dst = append(dst, data...)
	if bytes.IndexByte(dst[from:], '\n') >= 0 {
		for i := from; i < len(dst); i++ {
			if dst[i] == '\n' {
				dst[i] = ' '
			}
		}
	}
	return append(dst, frameEnd...)
}

// Plain reports whether the frame is exactly one line "data: …" and a blank line, so that it can be relayed unchanged.
func (f Frame) Plain() bool {
	return len(f.Raw) == len(dataPrefix)+len(f.Data)+len(frameEnd) &&
		string(f.Raw[:len(dataPrefix)]) == dataPrefix && string(f.Raw[len(f.Raw)-len(frameEnd):]) == frameEnd
}
