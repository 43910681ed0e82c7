package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/pprof"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	storeCheckMax     = time.Second
	readyRetrySeconds = "5" // A load balancer may check a replica that is not ready again after this time.
)

// opsHandler is the operator's listener: health, readiness, metrics and, where the operator asks for them, profiles, none of which the
// public may see.
//
// /healthz answers while the process lives. /readyz fails while draining, and while this replica refuses every call for a
// reason that lasts, which it names. A store that is away is no such reason as long as the replica has credit of accounts to
// give, because their calls, cached keys and the catalog still work. /readyz then names the store's state.
func (s *Server) opsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.o.Metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { state(w, http.StatusOK, map[string]any{"ok": true}) })
	mux.HandleFunc("GET /readyz", s.ready)
	if s.o.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", program)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// program answers with the name of the program alone, because its arguments may hold secrets.
func program(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, os.Args[0]) //nolint:gosec // the operator started the program by this name
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		state(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "reason": "draining"})
		return
	}
	if s.o.Unfit != nil {
		if err := s.o.Unfit(); err != nil {
			state(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "reason": err.Error()})
			return
		}
	}
	store := "ok"
	if s.o.StoreAway != nil {
		ctx, cancel := context.WithTimeout(r.Context(), storeCheckMax)
		defer cancel()
		if s.o.StoreAway(ctx) != nil {
			store = "unreachable"
		}
	}
	state(w, http.StatusOK, map[string]any{"ready": true, "store": store})
}

func state(w http.ResponseWriter, status int, v map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", readyRetrySeconds)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // words and truth values only, to an operator who may have left
}
