package api

import (
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/refusal"
	"umg/billing"
)

// recordRefusal records a request that failed without a usage record, for the account that its key belongs to. It is the only place
// that does, and successful requests do not come here.
func (a *API) recordRefusal(x exchange, l *RequestLog, e *app.Error, status int) {
	if a.o.Refusals == nil || e.Kind == app.Canceled || l.hasUsageRecord() || !Owns(x.Request().URL.Path) {
		return
	}
	r := refusal.Record{
		RequestID: l.RequestID, AccountID: l.AccountID, KeyID: l.KeyID, At: l.Started, Method: x.Request().Method, Route: x.RoutePath(),
		Style: l.Style, Model: l.Model, Status: status, Code: e.Code, Param: e.Param, Message: e.Message, Duration: a.now().Sub(l.Started),
	}
	for _, base := range videoPaths { // Routes of videos have no style, and their calls have one in the log.
		if r.Route == base || strings.HasPrefix(r.Route, base+"/") {
			r.Style = string(catalog.VideosStyle)
		}
	}
	if e.Status != 0 {
		r.Message = "" // A provider's own message may repeat the prompt.
	}
	if r.AccountID == "" {
		secret, err := bearer(x.Request().Header, a.o.Catalog.Snapshot().KeyHeaders())
		if err != nil {
			return
		}
		r.Secret = secret
	}
	a.o.Refusals.Record(r)
}

// hasUsageRecord reports whether the settlement of the call wrote a usage record, which tells of the failure.
func (l *RequestLog) hasUsageRecord() bool {
	return l.Result.Reason != "" && billing.RuleOf(l.Result.Reason).Recorded
}
