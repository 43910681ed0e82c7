package server

import (
	"umg/api"
	"umg/app"
	"umg/app/traffic"
)

// count adds a request of the API to the counts of the last hour: a text call that called or needed a provider, and every request
// that was refused before. It skips requests that failed through a mistake of the caller.
func (s *Server) count(x *endedRequest) {
	if s.o.MinuteCounts == nil || !api.Owns(x.request.URL.Path) {
		return
	}
	if why := refusal(x.RequestLog); why != traffic.NotRefused {
		s.o.MinuteCounts.Count(traffic.CallResult{Refused: why})
		return
	}
	failed := x.Err != nil && (isServerFault(x.Err.Kind) || x.Err.Kind == app.Upstream || x.Err.Kind == app.Timeout)
	if x.Style == "" || x.Model == "" || x.Result.Attempts == 0 && !failed {
		return
	}
	s.o.MinuteCounts.Count(traffic.CallResult{Failed: failed, FirstByte: x.FirstByte, Overhead: x.Overhead})
}

// refusal returns why a call of the API was refused before any provider was called.
func refusal(x *api.RequestLog) traffic.Refusal {
	switch {
	case x.Err == nil || x.Result.Attempts > 0:
		return traffic.NotRefused
	case x.Err.Kind == app.Exhausted:
		return traffic.RateLimited
	case x.Err.Kind == app.Unfunded:
		return traffic.InsufficientCredit
	case x.Err.Code == overloadedCode:
		return traffic.Overloaded
	}
	return traffic.NotRefused
}

// overloadedCode is what the API calls a replica that has enough to do.
const overloadedCode = "overloaded"
