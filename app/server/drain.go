package server

import (
	"context"
	"net/http"
	"time"

	"umg/app"
	"umg/app/server/plainhttp"
)

const (
	cutTimeMax        = 5 * time.Second // Calls get this time to end properly after the drain timeout.
	shuttingDownRetry = time.Second
)

// closingHandler asks connections to close while the server leaves, each with an answer. To close one that only looks idle would
// cut off the call that is on its way in it. HTTP/2 has a frame for that, which this header makes the library send.
func (s *Server) closingHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header()["Connection"] = []string{"close"}
		}
		s.handler.ServeHTTP(w, r)
	})
}

// lameDuck fails /readyz and serves on for the lame-duck time, so that balancers stop sending before connections are refused.
func (s *Server) lameDuck() {
	s.draining.Store(true)
	if s.o.LameDuck > 0 {
		s.o.Log.Info("shutdown: lame duck started, /readyz fails", "lame_duck", s.o.LameDuck.String())
		time.Sleep(s.o.LameDuck)
	}
}

// drain lets running requests finish. Those that outlive the drain timeout have their context ended with a cause that
// they can put into words, and a moment to do so.
func (s *Server) drain(main *plainhttp.Server, cut context.CancelCauseFunc) {
	s.draining.Store(true)
	if s.o.Console != nil {
		s.o.Console.Leave()
	}
	patience, cancel := context.WithTimeout(context.Background(), s.o.DrainTimeout)
	defer cancel()
	if main.Shutdown(patience) == nil {
		return
	}
	s.o.Log.Warn("shutdown: drain timeout reached, canceling requests", "in_flight", s.metrics.inFlight.Load())
	cut(app.Errorf(app.Unavailable, "shutting_down", "The server is restarting; send the request again.").After(shuttingDownRetry))
	last, cancelLast := context.WithTimeout(context.Background(), cutTimeMax)
	defer cancelLast()
	if main.Shutdown(last) != nil {
		_ = main.Close()
	}
}
