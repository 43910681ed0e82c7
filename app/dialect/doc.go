// Package dialect is the table of the text styles: for each the few functions the text corridor needs to read a
// request, send it on, and pass the answer back. It works on raw bytes: it finds and replaces members of JSON and
// leaves everything else as it came, because decoding and encoding again is what costs a gateway most and loses what
// it does not know. It knows wire formats. It does not know providers, HTTP, the ledger, the clock or whose call it is.
package dialect
