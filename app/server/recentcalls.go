package server

import (
	"github.com/labstack/echo/v4"

	"umg/api"
	"umg/app/traffic"
)

// modelList is the route that client programs call first, to check their key.
const modelList = "/v1/models"

// note records a call of the API that leaves no usage record: one that was refused before any provider was called, or a
// list of models. It skips calls that overload refused, which have their own metrics and must not make work.
func (s *Server) note(c echo.Context, x *api.RequestLog) {
	if s.o.RecentCalls == nil || !api.Owns(c.Request().URL.Path) || x.ErrorCode == overloadedCode || x.Failed && x.Attempts > 0 {
		return
	}
	if r := route(c); x.Failed || r == modelList && x.AccountID != "" {
		s.o.RecentCalls.Record(traffic.RecentCall{
			At: x.Started, RequestID: x.RequestID, AccountID: x.AccountID, IP: c.RealIP(), KeyID: x.KeyID, Method: method(c.Request().Method),
			Route: r, Style: x.Style, Model: x.Model, Status: c.Response().Status, Code: x.ErrorCode, Refused: x.Failed,
		})
	}
}
