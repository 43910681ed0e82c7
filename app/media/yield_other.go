//go:build !unix

package media

// yield does nothing here: the program runs at the priority that it has.
func yield(int) { _ = nicePriority }
