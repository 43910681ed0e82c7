// Package redistest gives a test a real Redis server of its own, which it can stop and start. It does not know any key, and
// nothing but tests may import it.
package redistest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	startMax  = 10 * time.Second
	pollEvery = 2 * time.Millisecond
)

// Server is a server on a socket of its own. It keeps nothing on disk.
type Server struct {
	Address string // Address is a URL such as unix:///tmp/….

	program string
	socket  string
	process *exec.Cmd // A nil process means that the server is stopped.
}

// Start starts a server that ends with the test, which fails when there is no program for it.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("there is no redis-server; install it with: sudo apt-get install -y --no-install-recommends redis-server")
	}
	dir, err := os.MkdirTemp("", "redis") // The name is short, because the path of a socket has at most 107 bytes.
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{program: program, socket: filepath.Join(dir, "s")}
	s.Address = "unix://" + s.socket
	t.Cleanup(func() {
		s.Kill(t)
		_ = os.RemoveAll(dir)
	})
	s.Restart(t)
	return s
}

// Restart starts a server that was killed, with nothing in it, and waits until it takes connections.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	//nolint:gosec // the program is the one on the PATH, and its words are ours
	s.process = exec.Command(s.program, "--port", "0", "--unixsocket", s.socket, "--save", "", "--appendonly", "no",
		"--dir", filepath.Dir(s.socket), "--loglevel", "warning")
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // The server also ends if the test is killed.
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(startMax); ; time.Sleep(pollEvery) {
		conn, err := net.Dial("unix", s.socket)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not start: %v", err)
		}
	}
}

// Kill ends the server without warning. What it knew is lost.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	s.process = nil
}

// Freeze lets the server take connections and answer nothing, until Thaw.
func (s *Server) Freeze(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, which syscall.Signal) {
	t.Helper()
	if err := s.process.Process.Signal(which); err != nil {
		t.Fatal(err)
	}
}
