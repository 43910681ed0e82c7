// Package native is the native (generateContent) style: its requests and answers as the one form of a text call, the
// two state machines of its streams, and its words for errors. It knows the wire format of this one style. It knows no
// other style, no provider, no HTTP and no money.
package native
