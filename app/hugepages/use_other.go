//go:build !linux || race

package hugepages

import "errors"

// The race detector has memory of its own, most of which it never uses.
func use(bool) error { return errors.ErrUnsupported }
