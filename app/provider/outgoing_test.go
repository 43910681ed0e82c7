package provider_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"umg/app/provider"
)

var errLeft = errors.New("the client left")

// TestAFaultSaysWhetherTheRequestWasSent gives up attempts at each step of a request. The server says when the step is reached.
func TestAFaultSaysWhetherTheRequestWasSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scheme string
		serve  func(conn net.Conn, reached context.CancelFunc)
		class  provider.Class
		sent   bool
	}{
		"without a connection": {"https", func(_ net.Conn, reached context.CancelFunc) { reached() }, provider.ClassClient, false},
		"sent and unanswered": {"http", func(conn net.Conn, reached context.CancelFunc) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				reached()
			}
		}, provider.ClassClient, true},
		"refused by a status": {"http", func(conn net.Conn, _ context.CancelFunc) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = conn.Write([]byte("HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"))
			}
		}, provider.ClassServer, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, leave := context.WithCancelCause(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				c.serve(conn, func() { leave(errLeft) })
				<-ctx.Done()
			}()
			f := refusedSend(t, ctx, c.scheme+"://"+l.Addr().String())
			leave(nil)
			_ = l.Close()
			<-ended
			if f.Class != c.class || f.Sent != c.sent {
				t.Errorf("%v, sent %t, want %t", f, f.Sent, c.sent)
			}
		})
	}
}

func refusedSend(t *testing.T, ctx context.Context, address string) *provider.Fault { //nolint:revive // the test comes first
	t.Helper()
	p := provider.NewPayload(16)
	defer p.Release()
	p.Data = append(p.Data, strings.Repeat("x", 16)...)
	a, f := client(t, provider.Options{}).Send(ctx, provider.Attempt{Route: route(address), Payload: p})
	if f == nil {
		a.Close()
		t.Fatal("there is an answer")
	}
	return f
}
