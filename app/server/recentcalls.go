package server

import (
	"umg/api"
	"umg/app/traffic"
)

// modelList is the route that client programs call first, to check their key.
const modelList = "/v1/models"

// note records a call of the API that leaves no usage record: one that was refused before any provider was called, or a
// list of models. It skips calls that overload refused, which have their own metrics and must not make work.
func (s *Server) note(x *endedRequest) {
	if s.o.RecentCalls == nil || !api.Owns(x.request.URL.Path) || x.ErrorCode() == overloadedCode || x.Err != nil && x.Result.Attempts > 0 {
		return
	}
	if x.Err != nil || x.route == modelList && x.AccountID != "" {
		s.o.RecentCalls.Record(traffic.RecentCall{
			At: x.Started, RequestID: x.RequestID, AccountID: x.AccountID, IP: s.clientIP(x.request), KeyID: x.KeyID,
			Method: method(x.request.Method), Route: x.route, Style: x.Style, Model: x.Model, Status: x.status, Code: x.ErrorCode(),
			Reason: x.ErrorReason(), Refused: x.Err != nil,
		})
	}
}
