// Package quirk writes chat requests as their provider takes them, by a table of what providers refuse, ignore or name otherwise. Of
// returns the rules of a provider, and Rewrite applies them.
package quirk
