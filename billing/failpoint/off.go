//go:build !failpoints

package failpoint

// Variables are the environment names that this build reads in addition to the settings: none.
func Variables() []string { return nil }

// At does nothing in this build.
func At(Point) {}

// On returns false in this build.
func On(Control) bool { return false }
