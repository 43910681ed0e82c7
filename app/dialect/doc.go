// Package dialect reads requests of the four text styles and passes their answers through. Of returns the Dialect of a style. It edits
// raw bytes: it finds and replaces members of JSON and leaves everything else unchanged. Decoding and encoding again would be the
// highest cost of a gateway, and would lose unknown members.
package dialect
