// Package keys draws the list of API keys and the pages that create, change, rotate and delete one. Form holds what a user typed and
// what is wrong with it.
package keys
