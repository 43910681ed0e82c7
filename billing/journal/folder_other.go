//go:build !linux

package journal

import "os"

func allocate(*os.File, int64) error { return nil }

func dataSync(f *os.File) error { return f.Sync() }
