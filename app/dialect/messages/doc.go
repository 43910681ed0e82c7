// Package messages translates the messages style, in both of its API versions, to and from the types of package llm. Codec reads and writes
// requests, answers and streams. AppendError writes errors.
package messages
