// Package sse reads and writes the frames of server-sent events as bytes. It knows the line rules of the protocol
// and how much memory a frame may take. It does not know what the frames say, any text style, HTTP or the clock.
package sse
