package server

import (
	"github.com/labstack/echo/v4"

	"umg/api"
	"umg/app"
	"umg/app/traffic"
)

// count adds a request of the API to the counts of the last hour: a text call that called or needed a provider, and every request
// that was refused before. It skips requests that failed through a mistake of the caller.
func (s *Server) count(c echo.Context, x *api.RequestLog) {
	if s.o.MinuteCounts == nil || !api.Owns(c.Request().URL.Path) {
		return
	}
	if why := refusal(x); why != traffic.NotRefused {
		s.o.MinuteCounts.Count(traffic.CallResult{Refused: why})
		return
	}
	failed := x.Failed && (isServerFault(x.ErrorKind) || x.ErrorKind == app.Upstream || x.ErrorKind == app.Timeout)
	if x.Style == "" || x.Model == "" || x.Attempts == 0 && !failed {
		return
	}
	s.o.MinuteCounts.Count(traffic.CallResult{Failed: failed, FirstByte: x.FirstByte, Overhead: x.Own})
}

// refusal returns why a call of the API was refused before any provider was called.
func refusal(x *api.RequestLog) traffic.Refusal {
	switch {
	case !x.Failed || x.Attempts > 0:
		return traffic.NotRefused
	case x.ErrorKind == app.Exhausted:
		return traffic.RateLimited
	case x.ErrorKind == app.Unfunded:
		return traffic.InsufficientCredit
	case x.ErrorCode == overloadedCode:
		return traffic.Overloaded
	}
	return traffic.NotRefused
}

// overloadedCode is what the API calls a replica that has enough to do.
const overloadedCode = "overloaded"
