// Package cohere translates version 2 of the chat API of Cohere, which only providers speak, to and from the types of package llm. Codec
// reads and writes requests, answers and streams.
//
// The text of a turn that also calls tools is its tool plan.
package cohere
