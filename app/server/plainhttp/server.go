package plainhttp

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	acceptPauseMin = 5 * time.Millisecond // After a failure that passes, such as too many open files, Accept is called again later.
	acceptPauseMax = time.Second
	idlePoll       = 5 * time.Millisecond
)

// Options configure a Server. Both are required.
type Options struct {
	// Main serves the connections with other requests. Its handler, base context, time limits and log hold for plain requests too.
	Main *http.Server
	// Paths are those of plain requests.
	Paths []string
}

// Server serves connections.
type Server struct {
	main    *http.Server
	paths   map[string]bool
	base    context.Context //nolint:containedctx // It is that of all requests.
	others  handover
	closing atomic.Bool

	mu       sync.Mutex
	listener net.Listener
	conns    map[*conn]struct{}
}

// New makes a Server. It panics without Options.Main.
func New(o Options) *Server {
	if o.Main == nil {
		panic("plainhttp.New: Options.Main is required")
	}
	s := &Server{main: o.Main, paths: map[string]bool{}, conns: map[*conn]struct{}{}}
	for _, path := range o.Paths {
		s.paths[path] = true
	}
	return s
}

// Serve accepts connections until Shutdown or Close. It returns http.ErrServerClosed then, and the error of the listener when that broke.
func (s *Server) Serve(l net.Listener) error {
	s.base = context.Background()
	if s.main.BaseContext != nil {
		s.base = s.main.BaseContext(l)
	}
	s.others.begin(l.Addr())
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	if s.closing.Load() {
		_ = l.Close()
		return http.ErrServerClosed
	}
	var others sync.WaitGroup
	// goroutine: Serve owns it and waits for it; it ends when the listener of handed connections is closed.
	others.Go(func() { _ = s.main.Serve(&s.others) })
	err := s.accept(l)
	_ = s.others.Close()
	others.Wait()
	return err
}

func (s *Server) accept(l net.Listener) error {
	for pause := time.Duration(0); ; {
		c, err := l.Accept()
		if err == nil {
			pause = 0
			s.start(c)
			continue
		}
		if s.closing.Load() {
			return http.ErrServerClosed
		}
		if passing, ok := errors.AsType[net.Error](err); !ok || !passing.Temporary() { //nolint:staticcheck // net/http asks the same.
			return err
		}
		pause = min(max(2*pause, acceptPauseMin), acceptPauseMax)
		time.Sleep(pause)
	}
}

// start begins to serve a connection.
func (s *Server) start(rwc net.Conn) {
	c := newConn(s, rwc)
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	// goroutine: the connection owns it; it ends with the connection, or when net/http gets that.
	go c.serve()
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// Shutdown ends the server: it accepts no more connections, closes those without a request, and waits for the others until the context
// ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	s.closeIdle()
	if err := s.main.Shutdown(ctx); err != nil {
		return err
	}
	ticker := time.NewTicker(idlePoll)
	defer ticker.Stop()
	for !s.closeIdle() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// Close ends the server and all its connections at once.
func (s *Server) Close() error {
	s.stop()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.rwc.Close()
	}
	s.mu.Unlock()
	return s.main.Close()
}

// stop ends the accepting of connections.
func (s *Server) stop() {
	s.closing.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		_ = s.listener.Close()
	}
}

// closeIdle closes the connections without a request. It reports whether no others are left.
func (s *Server) closeIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.state.CompareAndSwap(stateIdle, stateClosed) {
			_ = c.rwc.Close()
			delete(s.conns, c)
		}
	}
	return len(s.conns) == 0
}

// logf logs to the log of the main server.
func (s *Server) logf(format string, args ...any) {
	if l := s.main.ErrorLog; l != nil {
		l.Printf(format, args...)
		return
	}
	log.Printf(format, args...)
}
