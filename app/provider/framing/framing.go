package framing

import (
	"fmt"
	"io"
)

// Kind is how a provider frames a stream.
type Kind string

// The kinds of framing.
const (
	SSE         Kind = "sse"
	EventStream Kind = "eventstream"
	NDJSON      Kind = "ndjson"
	JSONArray   Kind = "json_array"
)

// contentTypes are the content types of the kinds.
var contentTypes = map[Kind]string{
	SSE: "text/event-stream", EventStream: "application/vnd.amazon.eventstream", NDJSON: "application/x-ndjson", JSONArray: "application/json",
}

// ContentType returns the content type of answers with the framing.
func (k Kind) ContentType() string { return contentTypes[k] }

// NewReader returns a reader of the stream as server-sent events.
func NewReader(kind Kind, r io.ReadCloser) io.ReadCloser {
	if kind == SSE {
		return r
	}
	return unreadable{Closer: r, kind: kind}
}

// unreadable is a stream of a framing that cannot be read.
type unreadable struct {
	io.Closer
	kind Kind
}

// Read fails.
func (u unreadable) Read([]byte) (int, error) {
	return 0, fmt.Errorf("framing: %s cannot be read", u.kind)
}
