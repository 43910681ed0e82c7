// Package dialect is the table of the text styles: for each the few functions that the text pipeline needs to read a
// request, send it on, and pass the answer back.
// It works on raw bytes: it finds and replaces members of JSON and leaves everything else as it came, because decoding
// and encoding again is the highest cost of a gateway and loses unknown members.
package dialect
