// Package framing reads the framings of streams. NewReader returns a stream of any framing as server-sent events.
package framing
