// Package converse translates the Converse API of Amazon Bedrock, which only providers speak, to and from the types of package llm. Codec
// reads and writes requests, answers and streams. The frames of a stream are those of package framing.
//
// A body has the members model and stream, which the API has in its path. Package dialect removes them.
package converse
