package server

import (
	"github.com/labstack/echo/v4"

	"umg/api"
	"umg/app"
	"umg/app/pulse"
)

// count adds a request of the API to the figures of the last hour: a text call that asked a provider or could not, or anything
// that was refused before. What was refused by the caller's own fault is in none of them.
func (s *Server) count(c echo.Context, x *api.RequestLog) {
	if s.o.MinuteCounts == nil || !api.Owns(c.Request().URL.Path) {
		return
	}
	if why := refusal(x); why != pulse.NotRefused {
		s.o.MinuteCounts.Count(pulse.CallResult{Refused: why})
		return
	}
	failed := x.Failed && (isServerFault(x.ErrorKind) || x.ErrorKind == app.Upstream || x.ErrorKind == app.Timeout)
	if x.Style == "" || x.Model == "" || x.Attempts == 0 && !failed {
		return
	}
	s.o.MinuteCounts.Count(pulse.CallResult{Failed: failed, FirstByte: x.FirstByte, Overhead: x.Own})
}

// refusal is why a call of the API was refused before any provider was asked.
func refusal(x *api.RequestLog) pulse.Refusal {
	switch {
	case !x.Failed || x.Attempts > 0:
		return pulse.NotRefused
	case x.ErrorKind == app.Exhausted:
		return pulse.RateLimited
	case x.ErrorKind == app.Unfunded:
		return pulse.InsufficientCredit
	case x.ErrorCode == overloadedCode:
		return pulse.Overloaded
	}
	return pulse.NotRefused
}

// overloadedCode is what the API calls a replica that has enough to do.
const overloadedCode = "overloaded"
