package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/local"
	"umg/migrations"
)

const (
	modelPrefix = "umg-test-model-" // The user id follows, because one user cannot replace the files of another.
	modelFor    = "made-for"        // This file is written last, so a model that has it is complete.
	clusterName = "postgres"
	lockEvery   = 10 * time.Millisecond
)

// model is a cluster with the newest schema that every test binary of this user copies, so that of sixty binaries only
// the first makes one. The holder of its lock may read or rebuild it.
type model struct {
	dir  string
	held *os.File
}

// lockModel waits until no other binary copies or makes the model.
func lockModel(ctx context.Context) (*model, error) {
	m := &model{dir: filepath.Join(os.TempDir(), modelPrefix+strconv.Itoa(os.Getuid()))}
	if err := os.Mkdir(m.dir, 0o711); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // Postgres passes through
		return nil, err
	}
	var err error
	if m.held, err = os.OpenFile(filepath.Join(m.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(m.held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return m, err
		}
		if err := app.Sleep(ctx, lockEvery); err != nil {
			return nil, errors.Join(err, m.held.Close())
		}
	}
}

func (m *model) release() error { return m.held.Close() }

// copyTo puts a cluster into a data folder that has none.
func (m *model) copyTo(ctx context.Context, dir string) error {
	key, err := schemaKey()
	if err != nil {
		return err
	}
	mark := filepath.Join(m.dir, modelFor)
	if made, err := os.ReadFile(mark); err != nil || string(made) != key {
		if err := m.make(ctx, mark, key); err != nil {
			return err
		}
	}
	return copyTree(filepath.Join(m.dir, clusterName), filepath.Join(dir, clusterName))
}

// copyTree keeps the mode and the owner of each file, which Postgres insists on.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if entry.IsDir() {
			err = os.Mkdir(target, info.Mode().Perm())
		} else {
			err = copyFile(path, target, info.Mode().Perm())
		}
		if owner, is := info.Sys().(*syscall.Stat_t); is && err == nil {
			err = os.Chown(target, int(owner.Uid), int(owner.Gid))
		}
		return err
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // The file was only read, so Close loses nothing.
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// make runs a server in the model's folder until its schema is the newest.
func (m *model) make(ctx context.Context, mark, key string) error {
	if err := errors.Join(os.RemoveAll(mark), os.RemoveAll(filepath.Join(m.dir, clusterName))); err != nil {
		return err
	}
	pg, err := local.Start(ctx, local.Options{Dir: m.dir})
	if err != nil {
		return err
	}
	if err := errors.Join(migrate(ctx, pg.DSN()), pg.Stop(ctx)); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(key), 0o600)
}

// forget makes the next binary rebuild the model.
func (m *model) forget() error { return os.RemoveAll(filepath.Join(m.dir, modelFor)) }

func migrate(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn, postgres.Options{StatementMax: -1})
	if err != nil {
		return err
	}
	_, err = postgres.Migrate(ctx, db, postgres.MigrateOptions{})
	return errors.Join(err, db.Close())
}

// schemaKey is another one for every other text of the migrations.
func schemaKey() (string, error) {
	sum := sha256.New()
	files, err := fs.Glob(migrations.FS, "*.sql")
	for _, name := range files {
		text, errRead := fs.ReadFile(migrations.FS, name)
		err = errors.Join(err, errRead)
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text) // A write to a hash never fails.
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}
