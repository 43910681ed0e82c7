package provider

import (
	"errors"
	"net"
	"net/url"
	"time"

	"umg/app/provider/http1"
)

const (
	headerBytesMax  = 64 << 10
	idleConnsMax    = 4096 // This bounds the idle connections of one host.
	idleConnAgeMax  = 90 * time.Second
	connectStandard = 5 * time.Second
	keepAlivePeriod = 30 * time.Second
	transportsMax   = 512
)

// transportKey identifies a transport by its time limit, its proxy, and whether each connection is for one request.
type transportKey struct {
	connect time.Duration
	proxy   string
	single  bool
}

// transport is shared by all providers with the same connect time-out and proxy. Names are resolved for every
// connection: neither the transport nor the resolver keeps addresses. The caller holds the lock.
func (c *Client) transport(l transportKey) (*http1.Transport, error) {
	if l.connect <= 0 {
		l.connect = connectStandard
	}
	if t := c.transports[l]; t != nil {
		return t, nil
	}
	var proxy *url.URL // There is no proxy of the environment.
	if l.proxy != "" {
		u, err := url.Parse(l.proxy)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("provider: the proxy is not an http or https address") // The address may have a password.
		}
		proxy = u
	}
	if len(c.transports) >= transportsMax {
		c.forgetTransports()
	}
	dialer := &net.Dialer{Timeout: l.connect, KeepAlive: keepAlivePeriod}
	t := http1.New(http1.Options{
		DialContext:       dialer.DialContext,
		Proxy:             proxy,
		TLS:               c.tls,
		ConnectTimeout:    l.connect,
		IdleAge:           idleConnAgeMax,
		IdleConnsMax:      idleConnsMax,
		HeadBytesMax:      headerBytesMax,
		DisableKeepAlives: l.single,
	})
	c.transports[l] = t
	return t, nil
}

// forgetTransports drops all transports when there are too many, after many changes of the catalog. Running requests continue.
func (c *Client) forgetTransports() {
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
	clear(c.transports)
	clear(c.targets)
}
