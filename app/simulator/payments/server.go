package payments

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve answers on the listener until ctx ends, and ends the sending of webhooks. The listener is closed when it
// returns; an orderly end is no error.
func (s *Simulator) Serve(ctx context.Context, l net.Listener) error {
	defer s.Close()
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	// goroutine: Serve owns it; it ends when Serve closes the server.
	go func() { failed <- server.Serve(l) }()
	tick := time.NewTicker(asyncCheckEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case err := <-failed:
			return fmt.Errorf("payments: serve: %w", err)
		case <-tick.C:
			s.mu.Lock()
			s.passTime()
			s.mu.Unlock()
		case <-ctx.Done():
		}
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceStandard)
	defer cancel()
	if server.Shutdown(grace) != nil {
		_ = server.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("payments: serve: %w", err)
	}
	return nil
}
