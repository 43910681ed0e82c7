//go:build !linux

package admission

// UseHugePages does nothing on this system.
func UseHugePages() error { return nil }
