// Package errorclass decides what the errors of providers mean, by a table of their statuses, codes and texts. Read reads an error, and
// Of returns the table of a provider that classifies it.
package errorclass
