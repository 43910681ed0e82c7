// Command mockupstream is the provider of the benchmarks: it answers every request with bytes that it made at its start, so that it
// takes a few microseconds of CPU a request. Call a path /KIND/v1/… with a kind of answers.go and the path of a protocol.
package main
