package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// These limits apply to the wait for the server of a killed gateway.
const (
	orphanMax    = time.Minute            // A shutdown first writes a checkpoint, which takes time.
	orphanPolite = 300 * time.Millisecond // After this time, an orphan that still serves is asked to stop.
	orphanEvery  = 20 * time.Millisecond
)

// lockNote is what a server writes into its lock file, postmaster.pid.
type lockNote struct {
	pid    int    // It is zero when the file has no process number.
	dir    string // The server was started on this cluster.
	socket string // This folder contains the server's socket.
}

// awaitOrphan returns when no earlier server uses the cluster. The server of a killed gateway shuts down by itself on systems whose
// kernel signals it, and continues on others. The caller holds the lock of the data folder, so no other gateway owns that server.
func (h home) awaitOrphan(ctx context.Context) error {
	start, asked := time.Now(), false
	for {
		note, exists := h.readNote()
		waited := time.Since(start)
		switch {
		case !exists:
			return nil
		case note.pid == 0 && waited > orphanPolite:
			return h.removeNote()
		case note.pid != 0 && !h.serves(note):
			return h.replacePID(note.pid)
		case waited > orphanMax:
			return fmt.Errorf("process %d still uses %s: stop it, then start the gateway again", note.pid, h.cluster)
		case note.pid != 0 && waited > orphanPolite && !asked && acceptsConnections(ctx, note.socket):
			asked = true
			if err := syscall.Kill(note.pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("postgres: stop the server of an earlier gateway: %w", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(orphanEvery):
		}
	}
}

// readNote reads the lock file of the server that last used the cluster. A server that ended cleanly leaves none.
func (h home) readNote() (note lockNote, exists bool) {
	text, err := os.ReadFile(h.notePath())
	if err != nil {
		return note, !errors.Is(err, fs.ErrNotExist)
	}
	lines := strings.Split(string(text), "\n")
	if pid, err := strconv.Atoi(strings.TrimSpace(lines[0])); err == nil && pid > 0 {
		note.pid = pid
	}
	if len(lines) > 1 {
		note.dir = lines[1]
	}
	if len(lines) > 4 {
		note.socket = lines[4]
	}
	return note, true
}

func (h home) notePath() string { return filepath.Join(h.cluster, "postmaster.pid") }

// serves reports whether the process may be a PostgreSQL server on this very cluster. A number that was given to another program after a
// restart is not, nor is a dead process that its parent has not waited for, nor the server of the folder that this one is a copy of. A
// server works in the folder of its cluster, and one whose working folder we may not see is another user's, so it cannot be ours.
func (h home) serves(note lockNote) bool {
	if err := syscall.Kill(note.pid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", note.pid))
	if err != nil {
		return sameFolder(note.dir, h.cluster) // Without /proc, the server's own note decides.
	}
	_, rest, found := bytes.Cut(stat, []byte("(postgres) "))
	return found && !bytes.HasPrefix(rest, []byte("Z")) && sameFolder(fmt.Sprintf("/proc/%d/cwd", note.pid), h.cluster)
}

// sameFolder reports whether two paths lead to one folder, by whatever links.
func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// replacePID writes this process's number into the lock file of a dead server. PostgreSQL trusts the number of any process
// that is alive, except its parent's, which this process will be. The rest of the file stays: PostgreSQL uses it to
// check whether a session of the dead server survives.
func (h home) replacePID(pid int) error {
	text, err := os.ReadFile(h.notePath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("postgres: read the note of an earlier server: %w", err)
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	ours := append([]byte(strconv.Itoa(os.Getpid())+"\n"), rest...)
	if err := os.WriteFile(h.notePath(), ours, 0o600); err != nil {
		return fmt.Errorf("postgres: take over from process %d: %w", pid, err)
	}
	return nil
}

// removeNote removes a note that was cut by a crash. PostgreSQL refuses to start beside an empty one.
func (h home) removeNote() error {
	if err := os.Remove(h.notePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("postgres: remove the broken note of an earlier server: %w", err)
	}
	return nil
}

// removeSocket removes the socket of a dead server and the lock beside it, which PostgreSQL trusts as it does its note.
// The caller holds the lock of the data folder and has seen that no server uses the cluster.
func removeSocket(dir string) error {
	for _, name := range []string{socketName, socketName + ".lock"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("postgres: remove the socket of an earlier server: %w", err)
		}
	}
	return nil
}

func acceptsConnections(ctx context.Context, socket string) bool {
	if socket == "" {
		return false
	}
	db, err := connect(ctx, socketDSN(socket, "postgres"), time.Second)
	if err != nil {
		return false
	}
	return db.Close() == nil
}
