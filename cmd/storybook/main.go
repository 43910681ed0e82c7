// Command storybook serves every view of the console in every state with sample data, without a database or services. It also
// answers under the console's own paths, so that a developer can try dialogs, forms and the wait for a first request.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// headerMax and shutdownMax limit the time that one client may take.
const (
	headerMax   = 5 * time.Second
	shutdownMax = 2 * time.Second
)

func main() {
	listen := flag.String("listen", "127.0.0.1:7007", "loopback address to listen on; port 0 picks a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *listen, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "storybook:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, address string, out io.Writer) error {
	l, err := listenLoopback(ctx, address)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: newStorybook(), ReadHeaderTimeout: headerMax}
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

// listenLoopback refuses addresses that other machines could reach, because the storybook has no access control.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("%s is not a loopback address", address), l.Close())
	}
	return l, nil
}
