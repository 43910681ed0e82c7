// Package sse reads and writes the frames of server-sent events as bytes. It knows the line rules of the protocol and bounds the memory
// of a frame. It does not know the contents of the frames, any text style, HTTP or the clock.
package sse
