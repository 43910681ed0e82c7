// Package chat is the chat-completions style: its requests, answers and streams as the one form of a text call and
// back, its words for errors, and the frames that end or keep alive a stream. It knows the wire format of this one
// style. It knows no other style, no provider, no HTTP and no prices.
package chat
