package api

import (
	"umg/app"
	"umg/app/contentlog"
	"umg/app/gateway"
	"umg/billing"
)

// contentRecorder returns the recorder of a call's request and answer. It is nil when the account does not keep contents, which is
// known with the key, so that no query is needed.
func (a *API) contentRecorder(x *call) *contentlog.Recorder {
	if !x.key.KeepContent || a.o.Content == nil {
		return nil
	}
	return a.o.Content.Start(contentlog.Call{
		AccountID: x.key.AccountID, KeyID: x.key.ID, RequestID: x.log.RequestID, Style: string(x.route.Style), At: x.log.Started,
	})
}

// recordContent stores the request and the response, if the call has a usage record: only such calls have a page that shows them. When
// nothing was sent, the response is the error, which is written later.
func (x *call) recordContent(recorder *contentlog.Recorder, report *gateway.Report, err error) {
	switch {
	case recorder == nil || !billing.RuleOf(report.Reason).Recorded:
	case err != nil:
		recorder.Expect(report.Model)
		x.log.recorder = recorder
	default:
		recorder.Expect(report.Model)
		recorder.End()
	}
}

// contentRoutes read and change which requests and responses the account stores, and delete what is stored. They are an extension. The
// stored texts themselves are in the console and in the export of the account.
func contentRoutes() []Route {
	const path = "/v1/content"
	g := group{app.ManageAccount, func(o *Options) bool { return o.Content != nil }}
	return []Route{g.get(path, (*API).getContentSettings), g.post(path, (*API).setContent), g.delete(path, (*API).clearContent)}
}

// contentJSON is what the account has decided.
type contentJSON struct {
	Object    string            `json:"object"`
	Keep      contentlog.Policy `json:"keep"`
	Days      int               `json:"days"`
	KeptBytes int64             `json:"kept_bytes"`
	ClearedAt *int64            `json:"cleared_at"`
}

func (a *API) getContentSettings(x *call) error {
	s, err := a.o.Content.Settings(x.Request().Context(), x.key.AccountID)
	return reply(a, x, s, err, func(s contentlog.Settings) contentJSON {
		return contentJSON{"content_settings", s.Keep, s.Days, s.KeptBytes, seconds(s.ClearedAt)}
	})
}

// setContent changes the settings that the body has and leaves the others.
func (a *API) setContent(x *call) error {
	f, err := a.strict(x, "keep", "days")
	if err != nil {
		return err
	}
	s, err := a.o.Content.Settings(x.Request().Context(), x.key.AccountID)
	if err != nil {
		return err
	}
	f.read("keep", `"never", "asked" or "all"`, &s.Keep)
	f.read("days", "a whole number from 1 to 90", &s.Days)
	if f.err != nil {
		return f.err
	}
	if err := a.o.Content.Change(x.Request().Context(), x.principal(), s.Keep, s.Days); err != nil {
		return err
	}
	return a.getContentSettings(x)
}

func (a *API) clearContent(x *call) error {
	if err := a.o.Content.Clear(x.Request().Context(), x.principal()); err != nil {
		return err
	}
	return a.getContentSettings(x)
}
