// Package llm is the canonical form of a text call: requests, answers, the events of a stream and the tokens used. A Codec for each
// style reads and writes it.
package llm

// Style is one of the text protocols.
type Style string

// These are the styles that clients and providers speak.
const (
	Chat      Style = "chat"
	Messages  Style = "messages"
	Responses Style = "responses"
	Native    Style = "native"
)

// Only providers speak these styles. A call is always translated to them.
const (
	// Converse is the API of Amazon Bedrock that is common to its models.
	Converse Style = "converse"
	// Cohere is version 2 of the chat API of Cohere.
	Cohere Style = "cohere"
)

// Styles lists the four styles of clients, in the order they are shown.
func Styles() []Style { return []Style{Chat, Messages, Responses, Native} }

// UpstreamStyles lists the styles that only providers speak.
func UpstreamStyles() []Style { return []Style{Converse, Cohere} }

// RouteStyles lists the styles that providers speak: those of clients and UpstreamStyles.
func RouteStyles() []Style { return append(Styles(), UpstreamStyles()...) }
