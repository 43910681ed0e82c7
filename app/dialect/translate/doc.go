// Package translate makes the request and the answer of a call whose provider speaks another style than its client. New makes the
// Exchange of a call, which writes the request for the provider and reads the answer for the client.
package translate
