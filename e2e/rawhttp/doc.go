// Package rawhttp reads HTTP/1.1 messages from a connection for the programs of the benchmarks, at little cost. Make a Reader with
// NewReader, and call Head and then Body for each message.
package rawhttp
