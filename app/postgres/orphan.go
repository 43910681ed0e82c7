package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Waiting for the server of a gateway that was killed.
const (
	orphanMax    = time.Minute            // a shutdown writes a checkpoint first
	orphanPolite = 300 * time.Millisecond // after this an orphan that still serves is asked to stop
	orphanEvery  = 20 * time.Millisecond
)

// awaitOrphan returns when no earlier server uses the cluster. A killed gateway leaves a server that shuts down by
// itself where the kernel tells it, and one that serves on where it does not. The caller holds the lock of the data
// folder, so no other gateway owns that server.
func (h home) awaitOrphan(ctx context.Context) error {
	start, asked := time.Now(), false
	for {
		pid, socket := h.postmaster()
		if pid == 0 {
			return nil
		}
		if !serves(pid) {
			return h.disown(pid)
		}
		waited := time.Since(start)
		if waited > orphanMax {
			return fmt.Errorf("process %d still uses %s: stop it, then start the gateway again", pid, h.cluster)
		}
		if waited > orphanPolite && !asked && answers(ctx, socket) {
			asked = true
			if err := syscall.Kill(pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
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

// postmaster reads the process and the socket's folder of the server that last used the cluster; zero when it ended
// cleanly.
func (h home) postmaster() (pid int, socket string) {
	text, err := os.ReadFile(filepath.Join(h.cluster, "postmaster.pid"))
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(text), "\n")
	pid, err = strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 0 {
		return 0, ""
	}
	if len(lines) > 4 {
		socket = lines[4]
	}
	return pid, socket
}

// serves reports whether the process may be a PostgreSQL server. A number that was given to another program after a
// restart is not, nor is a dead process that nobody has waited for.
func serves(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // no such file system here: the process exists, and that must do
	}
	_, rest, found := bytes.Cut(stat, []byte("(postgres) "))
	return found && !bytes.HasPrefix(rest, []byte("Z"))
}

// disown makes the note of a dead server one that the new server sees through. PostgreSQL trusts a process number
// that is alive, whoever it belongs to by now, except its parent's, which will be us. The rest of the note stays, so
// that PostgreSQL still checks whether a session of the dead server survives.
func (h home) disown(pid int) error {
	path := filepath.Join(h.cluster, "postmaster.pid")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("postgres: read the note of an earlier server: %w", err)
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	ours := append([]byte(strconv.Itoa(os.Getpid())+"\n"), rest...)
	if err := os.WriteFile(path, ours, 0o600); err != nil {
		return fmt.Errorf("postgres: take over from process %d: %w", pid, err)
	}
	return nil
}

func answers(ctx context.Context, socket string) bool {
	if socket == "" {
		return false
	}
	db, err := Open(ctx, localDSN(socket, "postgres"), Options{Connections: 1, ConnectMax: time.Second})
	if err != nil {
		return false
	}
	return db.Close() == nil
}
