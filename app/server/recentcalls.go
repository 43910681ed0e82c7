package server

import (
	"umg/api"
	"umg/app"
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
			Reason: reason(x.Err), Refused: x.Err != nil,
		})
	}
}

// reason returns what tells the cause of an error apart from others with its code; empty for no error.
func reason(err *app.Error) string {
	if err == nil {
		return ""
	}
	return err.Reason
}
