// Package provider sends requests to upstreams over HTTP and classifies their failures. Client.Send makes an attempt of a text call. A
// Fault says whether another attempt may help, and what a client may know.
package provider
