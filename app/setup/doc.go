// Package setup takes a gateway into operation: it finds the providers whose credentials are in the environment, publishes their models
// from the library, and lets the first operator claim a gateway with a one-time code. Make a Service with New, call Begin when the server
// starts, and keep Run running.
package setup
