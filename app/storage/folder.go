package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

const (
	// A blob's file ends in characters that no key has, so that the key a and the key a/b can both be kept, and no key
	// can name the folder of unfinished files.
	blobSuffix       = "+blob"
	unfinishedFolder = "+unfinished"

	unfinishedAgeMax   = 6 * time.Hour // No body takes that long. A younger file may be in use by another replica.
	unfinishedSweepMax = 10_000        // NewFolder looks at this many files.
	placeTriesMax      = 8             // A concurrent Delete may remove the directory of a new blob.
	trailerBytesMax    = 1024
	trailerMagic       = "umgblob1"
	trailerEndBytes    = 4 + len(trailerMagic)
)

// folder is a Store in a directory. A blob is one file: its bytes, and then a trailer with its metadata, so that one rename
// replaces both. os.Root follows no link out of the directory.
type folder struct{ root *os.Root }

// blobMetadata is the trailer of a file.
type blobMetadata struct {
	Size   int64  `json:"size"`
	Type   string `json:"type"`
	SHA256 string `json:"sha256"`
}

// NewFolder opens or makes a Store in a directory, and removes unfinished files of killed writers. It fails when the directory
// cannot be written.
func NewFolder(dir string, now func() time.Time) (Store, error) {
	if dir == "" {
		return nil, errors.New("storage: the folder has no path")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("storage: making the folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("storage: opening the folder: %w", err)
	}
	f := &folder{root: root}
	if err := f.prepare(dir, now()); err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("storage: preparing the folder: %w", err)
	}
	return f, nil
}

// prepare makes the folder of unfinished files, tests that it can be written, and removes old files.
func (f *folder) prepare(dir string, now time.Time) error {
	if err := f.root.Mkdir(unfinishedFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	file, name, err := f.unfinished()
	if err != nil {
		return err
	}
	file.Close()
	if err := f.root.Remove(name); err != nil {
		return err
	}
	if err := f.sync("."); err != nil {
		return err
	}
	if above, err := os.Open(filepath.Dir(filepath.Clean(dir))); err == nil { // This syncs the folder's own entry, which another user may own.
		_ = above.Sync()
		above.Close()
	}
	return f.sweep(now)
}

// sweep removes unfinished files that are too old for any writer.
func (f *folder) sweep(now time.Time) error {
	list, err := f.root.Open(unfinishedFolder)
	if err != nil {
		return err
	}
	defer list.Close()
	entries, err := list.ReadDir(unfinishedSweepMax)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || now.Sub(info.ModTime()) < unfinishedAgeMax {
			continue
		}
		if err := f.root.Remove(path.Join(unfinishedFolder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// unfinished makes a new file with a unique name. All of them are in one directory of the same file system, so
// that sweep lists one short directory and not every blob.
func (f *folder) unfinished() (*os.File, string, error) {
	name := path.Join(unfinishedFolder, rand.Text())
	file, err := f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	return file, name, err
}

// Put writes the blob to an unfinished file, makes it durable, and then renames it.
func (f *folder) Put(ctx context.Context, key, mediaType string, size int64, body io.Reader) (Info, error) {
	if err := checkKey(key); err != nil {
		return Info{}, err
	}
	if err := checkSize(size); err != nil {
		return Info{}, err
	}
	mediaType, err := checkType(mediaType)
	if err != nil {
		return Info{}, err
	}
	file, name, err := f.unfinished()
	if err != nil {
		return Info{}, fmt.Errorf("storage: making a file: %w", err)
	}
	info, err := writeBlob(ctx, file, mediaType, size, body)
	if e := file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = f.place(name, key+blobSuffix)
	}
	if err != nil {
		_ = f.root.Remove(name) // The file is already gone when the rename succeeded.
		return Info{}, err
	}
	return info, nil
}

// writeBlob writes the bytes and their trailer, and makes them durable.
func writeBlob(ctx context.Context, file *os.File, mediaType string, size int64, body io.Reader) (Info, error) {
	sum := sha256.New()
	n, err := copyBody(ctx, io.MultiWriter(file, sum), body, size)
	if err != nil {
		return Info{}, err
	}
	t := blobMetadata{Size: n, Type: mediaType, SHA256: hex.EncodeToString(sum.Sum(nil))}
	text, err := json.Marshal(t)
	if err != nil {
		return Info{}, err
	}
	text = binary.BigEndian.AppendUint32(text, uint32(len(text)))
	if _, err := file.Write(append(text, trailerMagic...)); err != nil {
		return Info{}, fmt.Errorf("storage: writing the blob: %w", err)
	}
	if err := file.Sync(); err != nil {
		return Info{}, fmt.Errorf("storage: making the blob durable: %w", err)
	}
	stat, err := file.Stat()
	if err != nil {
		return Info{}, err
	}
	return t.info(stat.ModTime()), nil
}

// place renames a finished file to its name, and makes the entry of every directory above it durable.
func (f *folder) place(from, to string) error {
	var err error
	for range placeTriesMax {
		if err = f.root.MkdirAll(path.Dir(to), 0o700); err != nil {
			continue
		}
		if err = f.root.Rename(from, to); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("storage: giving the blob its name: %w", err)
	}
	return f.syncAbove(to)
}

// syncAbove makes the entries of all directories above a file durable, also those of directories that existed before:
// the process that made them may have died before it synced them. A missing directory was deleted since.
func (f *folder) syncAbove(name string) error {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if err := f.sync(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("storage: making the directory durable: %w", err)
		}
		if dir == "." {
			return nil
		}
	}
}

func (f *folder) sync(dir string) error {
	d, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Open opens the file. A blob that is deleted or replaced afterwards can still be read to its end.
func (f *folder) Open(ctx context.Context, key string) (Blob, error) {
	if err := errors.Join(checkKey(key), ctx.Err()); err != nil {
		return nil, err
	}
	file, err := f.root.Open(key + blobSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("storage: opening the blob: %w", err)
	}
	t, modified, err := readTrailer(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%w: %s", err, key)
	}
	return &fileBlob{SectionReader: io.NewSectionReader(file, 0, t.Size), file: file, info: t.info(modified), ctx: ctx}, nil
}

// readTrailer reads the metadata of a file. It fails for a file that was truncated or has grown.
func readTrailer(file *os.File) (blobMetadata, time.Time, error) {
	stat, err := file.Stat()
	if err != nil {
		return blobMetadata{}, time.Time{}, err
	}
	end := make([]byte, min(stat.Size(), trailerBytesMax))
	if _, err := file.ReadAt(end, stat.Size()-int64(len(end))); err != nil {
		return blobMetadata{}, time.Time{}, fmt.Errorf("storage: reading the trailer: %w", err)
	}
	text, found := bytes.CutSuffix(end, []byte(trailerMagic))
	if !found || len(text) < 4 {
		return blobMetadata{}, time.Time{}, ErrDamaged
	}
	n := int64(binary.BigEndian.Uint32(text[len(text)-4:]))
	text = text[:len(text)-4]
	if n > int64(len(text)) {
		return blobMetadata{}, time.Time{}, ErrDamaged
	}
	var t blobMetadata
	if err := json.Unmarshal(text[int64(len(text))-n:], &t); err != nil || t.Size != stat.Size()-n-int64(trailerEndBytes) {
		return blobMetadata{}, time.Time{}, ErrDamaged
	}
	return t, stat.ModTime(), nil
}

func (t blobMetadata) info(modified time.Time) Info {
	return Info{Size: t.Size, Type: t.Type, ETag: `"` + t.SHA256 + `"`, ModifiedAt: modified}
}

// Delete removes the file and the directories that it leaves empty, because each video has its own directory.
func (f *folder) Delete(ctx context.Context, key string) error {
	if err := errors.Join(checkKey(key), ctx.Err()); err != nil {
		return err
	}
	name := key + blobSuffix
	if err := f.root.Remove(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("storage: deleting the blob: %w", err)
	}
	dir := path.Dir(name)
	for dir != "." && f.root.Remove(dir) == nil { // The loop ends at a directory that is not empty.
		dir = path.Dir(dir)
	}
	if err := f.sync(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("storage: making the deletion durable: %w", err)
	}
	return nil
}

func (f *folder) Close() error { return f.root.Close() }

// fileBlob is an open file without its trailer.
type fileBlob struct {
	*io.SectionReader
	file *os.File
	info Info
	ctx  context.Context
}

func (b *fileBlob) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.SectionReader.Read(p)
}

func (b *fileBlob) Info() Info   { return b.info }
func (b *fileBlob) Close() error { return b.file.Close() }
