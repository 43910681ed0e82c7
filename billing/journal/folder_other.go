//go:build !linux

package journal

import "os"

func allocate(f *os.File, size int64) error { return fill(f, size) }

func dataSync(f *os.File) error { return f.Sync() }
