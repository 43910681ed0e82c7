package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	lockName   = "lock"
	folderMode = 0o700
	fileMode   = 0o600
)

// Directory is a Disk of real files in one folder, which it locks against other processes.
type Directory struct {
	path string
	lock *os.File
	sync *backgroundSync
}

// Folder makes the folder if it is missing and locks it. It fails when another process has the lock, because two processes
// that write one journal would destroy it. Close releases the lock, and so does any end of the process.
func Folder(path string) (*Directory, error) {
	if err := os.MkdirAll(path, folderMode); err != nil {
		return nil, fmt.Errorf("journal: make its folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, fmt.Errorf("journal: lock its folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("journal: another process uses the folder %s: give each replica an id and a folder of its own", path)
		}
		return nil, fmt.Errorf("journal: lock its folder: %w", err)
	}
	d := &Directory{path: path, lock: lock, sync: newBackgroundSync()}
	for _, p := range []string{path, filepath.Dir(path)} { // The name of the folder itself must survive a power cut too.
		if err := syncFolder(p); err != nil {
			_ = d.Close()
			return nil, fmt.Errorf("journal: sync its folder: %w", err)
		}
	}
	return d, nil
}

// Close releases the folder for another process. Its files must be closed.
func (d *Directory) Close() error {
	d.sync.close()
	return d.lock.Close()
}

// List returns the names of the files except the lock.
func (d *Directory) List() ([]string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Name() != lockName && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Create makes a file of zeros and allocates its space on the disk.
func (d *Directory) Create(name string, size int64) (File, error) {
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if err != nil {
		return nil, err
	}
	err = allocate(f, size)
	if err == nil {
		err = fill(f, size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = syncFolder(d.path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return segmentFile{f, d.sync}, nil
}

// Open opens a file for reading and writing.
func (d *Directory) Open(name string) (File, error) {
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_RDWR, fileMode)
	if err != nil {
		return nil, err
	}
	return segmentFile{f, d.sync}, nil
}

// Remove deletes a file.
func (d *Directory) Remove(name string) error {
	if err := os.Remove(filepath.Join(d.path, name)); err != nil {
		return err
	}
	return syncFolder(d.path)
}

// Free is how many bytes the disk has left for this user.
func (d *Directory) Free() (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.path, &s); err != nil {
		return 0, fmt.Errorf("ask for the free bytes of %s: %w", d.path, err)
	}
	return int64(s.Bavail * uint64(s.Bsize)), nil
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// fill writes zeros in steps and syncs each, because a concurrent commit must not wait for all of them.
func fill(f *os.File, size int64) error {
	b := make([]byte, fillBytes)
	for at := int64(0); at < size; at += fillBytes {
		if _, err := f.WriteAt(b[:min(fillBytes, size-at)], at); err != nil {
			return err
		}
		if err := dataSync(f); err != nil {
			return err
		}
	}
	return nil
}

const fillBytes = 1 << 20

// segmentFile is a file of fixed size, so a sync need not write its metadata.
type segmentFile struct {
	*os.File

	sync *backgroundSync
}

// Sync makes the data durable.
func (f segmentFile) Sync() error {
	if done, err := f.sync.sync(f.File); done {
		return err
	}
	return dataSync(f.File)
}

// Size is the length of the file.
func (f segmentFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
