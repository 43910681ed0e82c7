// Package usagereader reads what providers say a call used, by a table that says where each provider keeps each count. Callers ask Of for
// the reader of a provider in one style, or Default for that of the style itself.
package usagereader
