package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// stallStandard is how long a stalled request is kept when the options do not say.
	stallStandard = 10 * time.Minute
	// graceStandard is how long running answers may go on after the simulator is asked to stop.
	graceStandard = 2 * time.Second
)

// Options say how the simulator behaves. The zero value answers every request at once.
type Options struct {
	Pace       time.Duration    // Pace is the pause between two tokens of a stream.
	FirstToken time.Duration    // FirstToken is the pause before the first byte of an answer.
	Now        func() time.Time // Now dates answers; nil means time.Now.
	Key        string           // Every request must carry Key; empty accepts every request.
	Control    bool             // Control records requests and serves /_control.
	StallMax   time.Duration    // StallMax is how long a fault keeps a silent connection; zero means ten minutes.
	GraceMax   time.Duration    // GraceMax is how long Serve lets running answers finish; zero means two seconds.
	Render     time.Duration    // Render is how long a video takes; zero finishes it at the first look.
}

// Simulator is an upstream that answers by itself. It is an http.Handler.
type Simulator struct {
	options  Options
	buffers  buffers
	faults   faults
	gate     gate
	recorder *recorder
	renders  renders
	assets   assets
	films    films
	caller   *caller
	control  http.Handler
	served   atomic.Uint64
	origin   uint64
}

// New makes a simulator.
func New(o Options) *Simulator {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.StallMax == 0 {
		o.StallMax = stallStandard
	}
	if o.GraceMax == 0 {
		o.GraceMax = graceStandard
	}
	s := &Simulator{options: o, caller: newCaller(), origin: uint64(o.Now().UnixNano())}
	if o.Control {
		s.recorder = &recorder{now: o.Now}
		s.control = s.controls()
	}
	return s
}

// Requests are the latest requests the simulator received, oldest first. There are none without Options.Control.
func (s *Simulator) Requests() []Request {
	if s.recorder == nil {
		return nil
	}
	return s.recorder.all()
}

// surface is one route: how its path looks below an optional provider segment, and who answers it. A route that is not
// free takes POST only.
type surface struct {
	match func(path string) (tail string, ok bool)
	serve func(x *exchange)
	free  bool // The handler checks the method itself.
}

// surfaces are all routes.
var surfaces = []surface{
	{match: exactly("/v1/chat/completions"), serve: serveText(&chatStyle, false)},
	{match: exactly("/v1/messages"), serve: serveText(&messagesStyle, false)},
	{match: exactly("/v1/messages/count_tokens"), serve: serveText(&messagesStyle, true)},
	{match: exactly("/v1/responses"), serve: serveText(&responsesStyle, false)},
	{match: exactly("/v1/responses/input_tokens"), serve: serveText(&responsesStyle, true)},
	{match: nativeMethod("generateContent"), serve: serveText(&nativeStyle, false)},
	{match: nativeMethod("streamGenerateContent"), serve: serveText(&nativeStyle, false)},
	{match: nativeMethod("countTokens"), serve: serveText(&nativeStyle, true)},
	{match: taskPath, serve: serveTasks, free: true},
	{match: below(videosRoute), serve: serveVideos, free: true},
	{match: operationPath, serve: serveOperations, free: true},
	{match: mediaPath, serve: serveMedia, free: true},
	{match: below(assetsRoute), serve: serveAssets, free: true},
}

// below matches a route and everything under it.
func below(route string) func(string) (string, bool) {
	return func(path string) (string, bool) {
		rest, ok := strings.CutPrefix(path, route)
		return strings.TrimPrefix(rest, "/"), ok && (rest == "" || rest[0] == '/')
	}
}

func exactly(route string) func(string) (string, bool) {
	return func(path string) (string, bool) { return "", path == route }
}

// ServeHTTP answers one request.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == "/healthz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
		return
	case strings.HasPrefix(path, filesPath):
		s.serveSample(w, r, files[strings.TrimPrefix(path, filesPath)])
		return
	case strings.HasPrefix(path, samplesPath):
		s.serveSample(w, r, samples[strings.TrimPrefix(path, samplesPath)])
		return
	case s.control != nil && strings.HasPrefix(path, "/_control/"):
		s.control.ServeHTTP(w, r)
		return
	}
	found, provider, tail := find(path)
	x := &exchange{sim: s, w: w, r: r, provider: provider, tail: tail, style: &chatStyle, fault: &fault{}}
	x.created = s.options.Now().Unix()
	x.seed = s.origin ^ s.served.Add(1)<<20
	if s.recorder != nil {
		x.entry = s.recorder.begin(r, provider)
		// The client left when it went away before the answer was complete.
		defer func() { x.entry.end(errors.Is(r.Context().Err(), context.Canceled)) }()
	}
	switch {
	case found == nil:
		x.fail(failure{status: http.StatusNotFound, code: "not_found", message: "No such route: " + path})
	case r.Method != http.MethodPost && !found.free:
		w.Header().Set("Allow", http.MethodPost)
		x.fail(failure{status: http.StatusMethodNotAllowed})
	default:
		found.serve(x)
	}
}

// find looks the path up, as it is and below its first segment, which then names the provider.
func find(path string) (found *surface, provider, tail string) {
	for _, below := range []bool{false, true} {
		if below {
			rest, ok := strings.CutPrefix(path, "/")
			at := strings.IndexByte(rest, '/')
			if !ok || at < 1 {
				return nil, "", ""
			}
			provider, path = rest[:at], rest[at:]
		}
		for i := range surfaces {
			if tail, ok := surfaces[i].match(path); ok {
				return &surfaces[i], provider, tail
			}
		}
	}
	return nil, "", ""
}

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
