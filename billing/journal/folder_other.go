//go:build !linux

package journal

import "os"

func allocate(*os.File, int64) error { return nil }

func dataSync(f *os.File) error { return f.Sync() }

// backgroundSync does nothing on this system.
type backgroundSync struct{}

func newBackgroundSync() *backgroundSync { return nil }

func (*backgroundSync) sync(*os.File) (done bool, err error) { return false, nil }

func (*backgroundSync) close() {}
