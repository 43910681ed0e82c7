package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/app/console/playground"
	"umg/app/contentlog"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/refusal"
	"umg/billing"
	"umg/views"
	requestpages "umg/views/requests"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

// contentSoon is how long after the end of a call its content may not be stored yet.
const contentSoon = 5 * time.Second

// contentRoutes are the pages about the stored prompts and answers.
func (c *Console) contentRoutes() []page.Route {
	const (
		ofAccount = "/settings/account/content"
		ofCall    = "/requests/:id/content/delete"
	)
	manage := page.Area{Right: app.ManageAccount, Missing: c.o.Content == nil}
	read := page.Area{Right: app.ReadContent, Missing: c.o.Content == nil}
	return []page.Route{
		manage.Post(ofAccount, c.chooseContent), manage.Get(ofAccount+"/delete", c.askClearContent),
		manage.Post(ofAccount+"/delete", c.clearContent),
		read.Get(ofCall, c.askDeleteContent), read.Post(ofCall, c.deleteContent),
	}
}

// contentSettings returns what the account has decided. It is nil on servers that store no content.
func (c *Console) contentSettings(p *page.Page) (*settingpages.ContentSettings, error) {
	if c.o.Content == nil {
		return nil, nil
	}
	s, err := c.o.Content.Settings(p.Request().Context(), p.User.AccountID)
	return &settingpages.ContentSettings{
		Keep: string(s.Keep), Days: strconv.Itoa(s.Days), KeptBytes: s.KeptBytes, MostBytes: contentlog.BytesAccountMax,
	}, err
}

// contentChoice is what the form of a key says about the choice of the account. It is zero if the choice cannot be read.
func (c *Console) contentChoice(p *page.Page) views.ContentChoice {
	if c.o.Content == nil {
		return views.ContentChoice{Keep: views.KeepNever}
	}
	s, err := c.o.Content.Settings(p.Request().Context(), p.User.AccountID)
	if err != nil {
		return views.ContentChoice{}
	}
	return views.ContentChoice{Keep: string(s.Keep), Days: s.Days}
}

func (c *Console) chooseContent(p *page.Page) error {
	keep, typed := p.FormValue("keep"), strings.TrimSpace(p.FormValue("days"))
	days, _ := strconv.Atoi(typed) // A text that is no number becomes zero, which is rejected.
	err := c.o.Content.Change(p.Request().Context(), p.Principal(), contentlog.Policy(keep), days)
	if err == nil {
		return c.RedirectWithToast(p, ui.Success, "The choice was saved. It counts for calls from now on.", accountSettingsPath)
	}
	refusal := app.AsError(err)
	if refusal.Kind != app.Invalid {
		return err
	}
	v, err := c.viewAccount(p)
	if err != nil {
		return err
	}
	v.Content.Keep, v.Content.Days = keep, typed
	if refusal.Param == "days" {
		v.Content.DaysError = refusal.Message
	} else {
		v.Content.KeepError = "Choose one of these."
	}
	return c.Render(p, http.StatusUnprocessableEntity, settingpages.AccountPage(v))
}

func (c *Console) askClearContent(p *page.Page) error {
	s, err := c.contentSettings(p)
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, settingpages.ContentDeletePage(settingpages.ContentDelete{Shell: c.Shell(p), KeptBytes: s.KeptBytes}))
}

func (c *Console) clearContent(p *page.Page) error {
	return c.Done(p, c.o.Content.Clear(p.Request().Context(), p.Principal()), "All kept content was deleted.", accountSettingsPath)
}

func (c *Console) askDeleteContent(p *page.Page) error {
	id := p.Param("id")
	k, found, err := c.o.Content.Of(p.Request().Context(), p.User.AccountID, id)
	if err != nil {
		return err
	}
	if !found || k.DeletedAt != nil {
		return app.Errorf(app.NotFound, "content_not_found", "The content of this call is not stored.")
	}
	return c.Render(p, http.StatusOK, settingpages.ContentDeletePage(settingpages.ContentDelete{Shell: c.Shell(p), RequestID: k.RequestID}))
}

func (c *Console) deleteContent(p *page.Page) error {
	id := p.Param("id")
	err := c.o.Content.Delete(p.Request().Context(), p.Principal(), id)
	return c.Done(p, err, "The content of the call was deleted.", views.RequestPath(id))
}

// callContent is what a page shows of the prompt and the answer of a call.
func (c *Console) callContent(p *page.Page, r *billing.UsageRecord) (v requestpages.CallContent, err error) {
	ctx := p.Request().Context()
	switch {
	case r.Style == "videos":
		return requestpages.CallContent{State: requestpages.ContentVideo}, nil
	case !p.User.Role.Rights().Has(app.ReadContent):
		return requestpages.CallContent{State: requestpages.ContentHidden}, nil
	case c.o.Content == nil:
		return requestpages.CallContent{State: requestpages.ContentOff}, nil
	}
	k, found, err := c.o.Content.Of(ctx, p.User.AccountID, r.RequestID)
	if err != nil {
		return v, err
	}
	if !found {
		return c.contentMissing(ctx, p, r)
	}
	if k.DeletedAt != nil {
		return requestpages.CallContent{State: requestpages.ContentDeleted, DeletedAt: *k.DeletedAt}, nil
	}
	return requestpages.CallContent{
		State: requestpages.ContentKept, Streamed: k.Streamed, Redacted: k.Redacted, ExpiresAt: k.ExpiresAt,
		Request: contentText(k.Request, k.RequestBytes, k.RequestCut), Answer: contentText(k.Answer, k.AnswerBytes, k.AnswerCut),
	}, nil
}

// contentText returns a prompt or an answer for a page. Complete JSON is indented; other text is shown as it was stored.
func contentText(text string, bytes int64, cut bool) requestpages.ContentText {
	pretty := playground.PrettyJSON([]byte(text))
	return requestpages.ContentText{Text: pretty, JSON: pretty != text || strings.HasPrefix(text, "{"), Bytes: bytes, Cut: cut}
}

// contentMissing returns why nothing is stored, as far as the present settings of the account and the key explain it.
func (c *Console) contentMissing(ctx context.Context, p *page.Page, r *billing.UsageRecord) (v requestpages.CallContent, err error) {
	s, err := c.o.Content.Settings(ctx, p.User.AccountID)
	if err != nil {
		return v, err
	}
	asks := false
	if s.Keep == contentlog.Asked && r.KeyID != "" {
		key, err := c.o.APIKeys.Get(ctx, p.Principal(), r.KeyID)
		if err != nil && app.KindOf(err) != app.NotFound {
			return v, err
		}
		asks = err == nil && key.LogContent
	}
	v = requestpages.CallContent{State: whyNoContent(s, r, asks, c.o.Now()), Days: s.Days}
	if s.ClearedAt != nil {
		v.DeletedAt = *s.ClearedAt
	}
	return v, nil
}

func whyNoContent(s contentlog.Settings, r *billing.UsageRecord, asks bool, now time.Time) requestpages.ContentState {
	switch {
	case s.ChangedAt.IsZero():
		return requestpages.ContentOff
	case s.ClearedAt != nil && !r.StartedAt.After(*s.ClearedAt):
		return requestpages.ContentCleared
	case s.Keep == contentlog.Never:
		return requestpages.ContentOff
	case r.StartedAt.Before(now.AddDate(0, 0, -s.Days)):
		return requestpages.ContentOver
	case s.Keep == contentlog.Asked && r.KeyID == "":
		return requestpages.ContentPlayed
	case s.Keep == contentlog.Asked && !asks:
		return requestpages.ContentSilent
	case r.StartedAt.Before(s.ChangedAt):
		return requestpages.ContentBefore
	case now.Sub(r.StartedAt.Add(r.Duration)) < contentSoon:
		return requestpages.ContentSoon
	}
	return requestpages.ContentNone
}

// generateKept makes a call for the reader. It stores the prompt and the answer if the account wants that for all calls, and records a
// refusal.
func (c *Console) generateKept(p *page.Page, call gateway.Call, out gateway.StreamWriter) (*gateway.Report, error) {
	report, err := c.generateWithContent(p, call, out)
	if err != nil && !billing.RuleOf(report.Reason).Recorded {
		c.recordRefusal(p, refusal.Record{Route: playground.Path, Style: string(call.Style), Model: report.Model, Duration: report.Duration}, err)
	}
	return report, err
}

// generateWithContent makes a call, and stores the prompt and the answer if the account wants that for all calls.
func (c *Console) generateWithContent(p *page.Page, call gateway.Call, out gateway.StreamWriter) (*gateway.Report, error) {
	ctx := p.Request().Context()
	if !p.User.KeepContent || c.o.Content == nil {
		return c.o.Gateway.Generate(ctx, call, out)
	}
	tape := c.o.Content.Start(contentlog.Call{
		AccountID: call.Principal.AccountID, RequestID: call.ID, Style: string(call.Style), At: c.o.Now(),
	})
	defer tape.Abandon()
	tape.Hear(call.Body)
	report, err := c.o.Gateway.Generate(ctx, call, tape.Over(out))
	if !billing.RuleOf(report.Reason).Recorded {
		return report, err
	}
	tape.Expect(report.Model)
	if err != nil {
		_, body := dialect.Error(call.Style, app.AsError(err), call.ID)
		tape.Error(body)
	}
	tape.End()
	return report, err
}
