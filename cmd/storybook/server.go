package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// run serves until ctx ends.
func run(ctx context.Context, address string, out io.Writer) error {
	l, err := listenLoopback(ctx, address)
	if err != nil {
		return err
	}
	srv := newServer()
	done := make(chan error, 1)
	// goroutine: run owns it; it ends when run shuts the server down.
	go func() { done <- srv.Serve(l) }()
	if _, err := fmt.Fprintf(out, "Storybook: http://%s/\n", l.Addr()); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownMax)
	defer cancel()
	if err := srv.Shutdown(stopping); err != nil {
		return err
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
