// Package server assembles the HTTP server: the API and the console on one listener; health, metrics and profiles on another. New makes
// a Server. Every request gets an id, limits in time, recovery from a panic, one log line and metrics, and Run drains requests before
// the process stops.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"umg/api"
	"umg/app"
	"umg/app/logwriter"
	"umg/app/ratelimit"
	"umg/app/server/plainhttp"
	"umg/app/traffic"
)

const (
	headerTimeout     = 10 * time.Second
	idleTimeout       = 120 * time.Second
	headerBytesMax    = 32 << 10
	streamsPerConnMax = 250
	bodyFirstByteMax  = 30 * time.Second // Requests whose body is not read get this; readers of bodies set their own time.
	pageWriteMax      = 60 * time.Second
	pageBodyBytesMax  = 1 << 20
	opsWriteTimeout   = 2 * time.Minute // A CPU profile takes half a minute.
	clientIDBytesMax  = 128
	loggedCauseMax    = 512
)

// Options are what the server is assembled from.
type Options struct {
	API     *api.API
	Console Console                  // A nil Console leaves the pages out.
	Static  http.Handler             // Static serves whole paths that begin with /static/. Nil leaves them out.
	Manual  func() map[string]string // Manual returns the documents under /llms.txt. Nil leaves them out.
	IDs     app.IDs
	Now     app.Clock
	Log     *slog.Logger // With a handler of logwriter, the lines of requests are encoded by hand and written together.

	BaseURL        string         // BaseURL is the public address. With https, responses have HSTS.
	TrustedProxies []netip.Prefix // TrustedProxies are the proxies whose X-Forwarded-For is believed; empty means none.
	H2C            bool           // H2C serves HTTP/2 without TLS, for a proxy in front that speaks it.

	Addresses *ratelimit.Addresses // Addresses counts readers of documents. Nil means no limit.

	Profiles bool // Profiles lets the listener for operators serve profiles of the process.

	LameDuck     time.Duration // LameDuck is the time between failing /readyz and refusing connections.
	DrainTimeout time.Duration // DrainTimeout is the time for running requests to finish at shutdown.

	// Metrics are served at /metrics. They should include Server.Collectors; nil means those alone.
	Metrics prometheus.Gatherer

	Unfit        func() error                // Unfit tells /readyz why this replica refuses every call for long. It may be nil.
	StoreAway    func(context.Context) error // StoreAway tells /readyz why the store cannot be reached. It may be nil.
	MinuteCounts *traffic.MinuteCounts       // MinuteCounts counts the calls of the last hour. It may be nil.
	RecentCalls  *traffic.RecentCalls        // RecentCalls records calls that leave no usage record. It may be nil.
	FormBytesMax map[string]int64            // FormBytesMax bounds, by path, the bodies of pages that take files.
}

// Server serves the API, the console and the listener for operators.
type Server struct {
	o         Options
	handler   http.Handler
	framework http.Handler // Framework serves all requests but text calls.
	routes    []Route
	clientIP  func(*http.Request) string
	metrics   *metrics
	lines     *logwriter.Writer // Lines gets the lines of requests; nil when they go to the logger.
	isSecure  bool              // The server is reached by https.
	draining  atomic.Bool
}

// New assembles the server. It panics when a required option is missing.
func New(o Options) *Server {
	app.RequireOptions("server.New", map[string]bool{
		"Options.API": o.API != nil, "Options.IDs.Now": o.IDs.Now != nil, "Options.IDs.Random": o.IDs.Random != nil,
		"Options.Now": o.Now != nil, "Options.Log": o.Log != nil,
	})
	s := &Server{o: o, clientIP: ClientIP(o.TrustedProxies), metrics: newMetrics(o), isSecure: strings.HasPrefix(o.BaseURL, "https://")}
	if h, ok := o.Log.Handler().(*logwriter.Handler); ok {
		s.lines = h.Lines()
	}
	if o.Metrics == nil {
		registry := prometheus.NewRegistry()
		registry.MustRegister(s.Collectors()...)
		s.o.Metrics = registry
	}
	s.framework, s.routes = s.router()
	s.handler = http.HandlerFunc(s.serveHTTP)
	return s
}

// Handler is the public handler, for tests that need no listener.
func (s *Server) Handler() http.Handler { return s.handler }

// Routes lists the method and path of every public route.
func (s *Server) Routes() []Route { return s.routes }

// Run serves both listeners until ctx ends, then drains: /readyz fails, and for the lame-duck time connections are asked
// to close after their next answer. Then no new connections are accepted, running requests get the drain timeout to
// finish, and the rest are canceled. Run returns nil after a shutdown, and the error when a listener broke.
func (s *Server) Run(ctx context.Context, public, ops net.Listener) error {
	calls, cut := context.WithCancelCause(context.Background())
	defer cut(nil)
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(s.o.H2C)
	main := &http.Server{
		Handler: s.closingHandler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytesMax,
		Protocols: protocols, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streamsPerConnMax},
		BaseContext: func(net.Listener) context.Context { return calls },
		ErrorLog:    s.netLog(),
	}
	front := plainhttp.New(plainhttp.Options{Main: main, Paths: s.o.API.TextPaths()})
	side := &http.Server{
		Handler: s.opsHandler(), ReadTimeout: headerTimeout, WriteTimeout: opsWriteTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: headerBytesMax, ErrorLog: s.netLog(),
	}
	broken := make(chan error, 2)
	// goroutine: Run owns it; it ends when drain shuts the public server down.
	go func() { broken <- serve("public listener", front, public) }()
	// goroutine: Run owns it; it ends when Run closes the ops server.
	go func() { broken <- serve("ops listener", side, ops) }()
	var err error
	select {
	case err = <-broken:
	case <-ctx.Done():
		s.lameDuck()
	}
	s.drain(front, cut)
	_ = side.Close()
	return err
}

func serve(name string, srv interface{ Serve(l net.Listener) error }, l net.Listener) error {
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("server: %s: %w", name, err)
	}
	return nil
}
