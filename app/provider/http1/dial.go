package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
)

// ProxyError means that a proxy has refused to connect.
type ProxyError struct {
	Status int // Status is that of the proxy's answer.
}

// Error names the status.
func (e *ProxyError) Error() string {
	return fmt.Sprintf("http1: the proxy does not connect us: it answered %d", e.Status)
}

// proxy is the proxy of a Transport.
type proxy struct {
	url  *url.URL
	auth string // Auth is the value of Proxy-Authorization; empty for none.
}

// dial makes a connection to a host, through the proxy when there is one.
func (t *Transport) dial(ctx context.Context, h *host, trace *httptrace.ClientTrace) (*conn, error) {
	first := h
	if t.proxy.url != nil {
		first = &host{key: hostKey{t.proxy.url.Scheme, t.proxy.url.Host}}
		if first.key.scheme == "https" {
			first.tls = t.clientTLS(hostName(first.key.authority))
		}
	}
	raw, err := t.options.DialContext(ctx, "tcp", first.address())
	if err != nil && first != h {
		err = &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err}
	}
	if err != nil {
		return nil, err
	}
	s := newSocket(raw)
	stream, err := t.connect(ctx, s, first, h, trace)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	s.async = true
	c := newConn(s, stream)
	c.host = h
	return c, nil
}

// connect makes a stream to a host over a socket to the host or to the proxy.
func (t *Transport) connect(ctx context.Context, s *socket, first, h *host, trace *httptrace.ClientTrace) (net.Conn, error) {
	var stream net.Conn = s
	var err error
	if first != h {
		if first.tls != nil {
			if stream, err = t.handshake(ctx, stream, first.tls, trace); err != nil {
				return nil, &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err}
			}
		}
		if h.tls != nil {
			if err = t.tunnel(ctx, newConn(s, stream), h); err != nil {
				return nil, err
			}
		}
	}
	if h.tls == nil {
		return stream, nil
	}
	return t.handshake(ctx, stream, h.tls, trace)
}

// handshake makes a TLS connection over a stream.
func (t *Transport) handshake(ctx context.Context, stream net.Conn, config *tls.Config, trace *httptrace.ClientTrace) (net.Conn, error) {
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	limited, cancel := context.WithTimeout(ctx, t.options.ConnectTimeout)
	defer cancel()
	secure := tls.Client(stream, config)
	err := secure.HandshakeContext(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = errHandshakeTimeout
	}
	if trace != nil && trace.TLSHandshakeDone != nil {
		var state tls.ConnectionState
		if err == nil {
			state = secure.ConnectionState()
		}
		trace.TLSHandshakeDone(state, err)
	}
	if err != nil {
		return nil, err
	}
	return secure, nil
}

var errHandshakeTimeout = errors.New("http1: the TLS handshake took too long: TLS handshake timeout")

// tunnel asks the proxy for a connection to a host.
func (t *Transport) tunnel(ctx context.Context, c *conn, h *host) error {
	limited, cancel := context.WithTimeout(ctx, t.options.ConnectTimeout)
	defer cancel()
	stop := context.AfterFunc(limited, c.socket.abort)
	status, err := t.askTunnel(limited, c, h.address())
	if !stop() && err == nil {
		err = limited.Err()
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err}
	case status != http.StatusOK:
		return &ProxyError{Status: status}
	}
	return nil
}

func (t *Transport) askTunnel(ctx context.Context, c *conn, address string) (status int, err error) {
	var b strings.Builder
	b.WriteString("CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\nUser-Agent: " + userAgentStandard + "\r\n")
	if t.proxy.auth != "" {
		b.WriteString("Proxy-Authorization: " + t.proxy.auth + "\r\n")
	}
	if _, err := c.stream.Write([]byte(b.String() + "\r\n")); err != nil {
		return 0, err
	}
	x := &Exchange{exchange: exchange{transport: t, conn: c, ctx: ctx}}
	left := t.options.HeadBytesMax
	for range informationalMax {
		answer, err := x.nextHead(&left)
		switch {
		case err != nil:
			return 0, err
		case answer.status < 200:
			continue
		case answer.status == http.StatusOK && c.in.len() > 0:
			return 0, malformed("the proxy has sent bytes before the server")
		}
		return answer.status, nil
	}
	return 0, malformed("there are too many informational answers")
}
