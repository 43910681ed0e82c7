// Package chat is the chat-completions style: its words for errors and for the events that end or keep alive a
// stream. It knows the wire format of this one style. It knows no other style, no provider, no HTTP and no money.
package chat
