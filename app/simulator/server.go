package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	// headerWait bounds how long a client may take to send its headers.
	headerWait = 10 * time.Second
	// idleWait is how long an idle connection is kept.
	idleWait = 2 * time.Minute
)

// Serve answers on the listener until ctx ends, lets running answers finish for as long as the options say, and
// closes what still runs then. The listener is closed when it returns; an orderly end is no error.
func (s *Simulator) Serve(ctx context.Context, l net.Listener) error {
	// Requests outlive ctx by the grace, so they hang on a context of their own.
	requests, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerWait,
		IdleTimeout:       idleWait,
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
	failed := make(chan error, 1)
	// goroutine: Serve owns it; it ends when Serve shuts the server down.
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("simulator: serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(requests, s.options.GraceMax)
	defer cancel()
	if server.Shutdown(grace) != nil {
		// The connections go first, so that a stalled answer is cut and does not look complete.
		_ = server.Close()
		abandon()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("simulator: serve: %w", err)
	}
	return nil
}
