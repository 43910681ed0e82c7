// Package responses is the responses style: it reads and writes its requests, answers, streams and errors. It knows
// the wire format of this one style and the one form they are turned into. It knows no other style, no provider, no
// HTTP and no money.
package responses
