package server

import (
	"cmp"
	"net/http"
	"sync"

	"umg/api"
)

// serveHTTP serves text calls without the web framework, and everything else with it. To the client both are the same.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if t := s.o.API.FindText(w, r, s.clientIP); t != nil {
		s.serveText(t, w, r)
		return
	}
	s.framework.ServeHTTP(w, r)
}

// endings pools the records of ended requests, which would else be allocated for each.
var endings = sync.Pool{New: func() any { return &endedRequest{} }}

// serveText does for a text call what the middleware of the web framework does for other requests.
func (s *Server) serveText(t *api.TextCall, w http.ResponseWriter, r *http.Request) {
	l := &t.Log
	l.RequestID, l.Started = s.o.IDs.New("req"), s.o.Now()
	s.setCommonHeaders(w.Header(), t.HeaderValue(l.RequestID))
	s.metrics.inFlight.Add(1)
	defer s.metrics.inFlight.Add(-1)
	broken := s.runText(t, r)
	t.BoundUnreadBody(l.Started.Add(bodyFirstByteMax))
	x, _ := endings.Get().(*endedRequest)
	*x = endedRequest{
		RequestLog: l, request: r, header: w.Header(), status: cmp.Or(t.Status(), http.StatusOK), route: t.Route(),
		took: s.o.Now().Sub(l.Started),
	}
	s.end(x)
	*x = endedRequest{}
	endings.Put(x)
	if broken {
		panic(http.ErrAbortHandler) // This panic makes net/http drop the connection without a log line.
	}
	t.Done()
}

// runText runs a text call and answers its failure, a panic included. It reports a response that broke off half written.
func (s *Server) runText(t *api.TextCall, r *http.Request) (broken bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		broken = t.Status() != 0
		if isAbort(p) {
			broken = true
			return
		}
		t.WriteError(s.logPanic(r.Context(), &t.Log, p))
	}()
	if err := t.Serve(); err != nil {
		t.WriteError(err)
	}
	return false
}
