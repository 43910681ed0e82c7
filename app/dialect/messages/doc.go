// Package messages is the messages style in both of its API versions: it reads and writes requests, answers, streams
// and errors. It knows the wire format of this one style. It knows no other style, no provider, no HTTP and no money.
package messages
