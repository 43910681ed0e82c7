package provider

import (
	"crypto/tls"
	"log/slog"
	"sync"
	"time"

	"umg/app"
	"umg/app/provider/credential"
	"umg/app/provider/http1"
)

const (
	jsonType    = "application/json"
	eventStream = "text/event-stream"
)

// Options configure a Client. The zero value is right for production.
type Options struct {
	TLS    *tls.Config  // TLS has the roots of tests. Verification is always on.
	Traced bool         // Traced sends the trace context to upstreams.
	Now    app.Clock    // Now is time.Now when nil.
	Log    *slog.Logger // Log records tokens that cannot be renewed; it may be nil.
}

// Client sends calls to providers. It follows no redirects, uses no proxy of the environment and never asks for compression.
type Client struct {
	tls     *tls.Config
	now     app.Clock
	log     *slog.Logger
	traced  bool
	fetches *credential.Fetches

	mu         sync.RWMutex
	transports map[transportKey]*http1.Transport
	targets    map[targetKey]*target
	sources    map[sourceKey]credential.Source
}

// New makes a Client. Close ends its connections.
func New(o Options) *Client {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{
		tls: o.TLS, now: o.Now, log: o.Log, traced: o.Traced, fetches: credential.NewFetches(),
		transports: make(map[transportKey]*http1.Transport), targets: make(map[targetKey]*target),
		sources: make(map[sourceKey]credential.Source),
	}
}

// Close closes the connections that no call uses, and ends the requests for tokens. Later calls get no new tokens.
func (c *Client) Close() {
	c.fetches.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}
