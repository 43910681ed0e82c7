// Package responses translates the responses style to and from the types of package llm. Codec reads and writes requests, answers and
// streams. AppendError writes errors.
package responses
