// Command storybook serves every view of the console in every state with sample data, without a database or services. It also
// answers under the console's own paths, so that a developer can try dialogs, forms and the wait for a first request.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
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

func newServer() *http.Server {
	return &http.Server{Handler: newStorybook(), ReadHeaderTimeout: headerMax}
}
