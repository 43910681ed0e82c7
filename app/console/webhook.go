package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/app/console/page"
	"umg/app/webhook"
	"umg/views/ui"
	webhookpages "umg/views/webhooks"
)

const (
	deliveriesShown = 20
	spanUsual       = "24h"
	spanMax         = 30 * 24 * time.Hour // Events are deleted after this time.
	fieldTime       = "2006-01-02T15:04"  // Browsers write times in this layout.
	replacement     = "\uFFFD"
)

// webhook shows one endpoint. The script of the page polls it.
func (c *Console) webhook(p *page.Page) error { return c.renderWebhook(p, http.StatusOK, nil, "") }

func (c *Console) renderWebhook(p *page.Page, status int, test *webhookpages.TestResult, testType string) error {
	ctx, who := p.Request().Context(), p.Principal()
	e, err := c.o.Webhooks.Get(ctx, who, p.Param("id"))
	if err != nil {
		return err
	}
	reports, err := c.o.Webhooks.Reports(ctx, who)
	if err != nil {
		return err
	}
	q := webhookpages.ParseDeliveryQuery(p.QueryParams())
	found, err := c.o.Webhooks.Deliveries(ctx, who, webhook.DeliveryQuery{
		EndpointID: e.ID, State: webhook.State(q.State), EventType: q.Event, ObjectID: q.Object, After: q.After, Limit: deliveriesShown,
	})
	if err != nil {
		return err
	}
	d := webhookpages.Detail{
		Shell: c.Shell(p), Hook: viewWebhook(e, reports[e.ID]), Language: p.Language(), Test: test, TestType: testType, Query: q,
		More: found.More,
	}
	d.Path = webhooksPath + "/" + e.ID // Forms of the page return to this path.
	for _, one := range found.Deliveries {
		d.Deliveries = append(d.Deliveries, viewDelivery(one))
	}
	return c.Render(p, status, webhookpages.DetailPage(d))
}

func viewDelivery(d webhook.Delivery) webhookpages.Delivery {
	return webhookpages.Delivery{
		ID: d.ID, EventID: d.EventID, EventType: d.EventType, ObjectID: d.ObjectID, State: string(d.State), Attempts: d.Attempts,
		NextAt: d.NextAt, LastStatus: d.LastStatus, LastError: d.LastError, CreatedAt: d.CreatedAt,
	}
}

func viewAttempt(number int, x webhook.Exchange) webhookpages.Attempt {
	// An answer need not be text, so its other bytes are marked.
	answer := strings.ReplaceAll(strings.ToValidUTF8(string(x.ResponseBody), replacement), "\x00", replacement)
	return webhookpages.Attempt{
		Number: number, At: x.StartedAt, Took: x.Duration, URL: x.URL, Sent: viewLines(x.RequestHeaders), Got: viewLines(x.ResponseHeaders),
		SentBody: string(x.RequestBody), GotBody: answer, Status: x.Status, Error: x.Error,
	}
}

func viewLines(headers []webhook.Header) []webhookpages.Line {
	lines := make([]webhookpages.Line, len(headers))
	for i, h := range headers {
		lines[i] = webhookpages.Line{Name: h.Name, Value: h.Value}
	}
	return lines
}

// testWebhook waits for the receiver and shows its answer. A refusal by the gateway is shown in the same place.
func (c *Console) testWebhook(p *page.Page) error {
	eventType := p.FormValue("event_type")
	x, err := c.o.Webhooks.Test(p.Request().Context(), p.Principal(), p.Param("id"), eventType)
	if refusal, ok := page.Refusal(err); ok {
		return c.renderWebhook(p, http.StatusUnprocessableEntity, &webhookpages.TestResult{Refusal: refusal.Message}, eventType)
	}
	if err != nil {
		return err
	}
	return c.renderWebhook(p, http.StatusOK, &webhookpages.TestResult{Event: eventType, Attempt: viewAttempt(1, x)}, eventType)
}

// askWebhook serves the page that asks before something happens to an endpoint.
func (c *Console) askWebhook(draw func(webhookpages.Question) templ.Component) page.Handler {
	return func(p *page.Page) error {
		w, err := c.hook(p)
		if err != nil {
			return err
		}
		return c.Render(p, http.StatusOK, draw(webhookpages.Question{Shell: c.Shell(p), Hook: w, Since: spanUsual}))
	}
}

// since returns when a recovery begins.
func (c *Console) since(span, at string) (time.Time, error) {
	if span == webhookpages.RecoverAt {
		since, err := time.ParseInLocation(fieldTime, at, time.UTC)
		if err != nil {
			return time.Time{}, app.Errorf(app.Invalid, "invalid_request_error", "Enter a day and a time in UTC.").At("since")
		}
		return since, nil
	}
	d, err := time.ParseDuration(span)
	if err != nil || d <= 0 || d > spanMax {
		return time.Time{}, app.Errorf(app.Invalid, "invalid_request_error", "Choose one of the spans.").At("since")
	}
	return c.o.Now().Add(-d), nil
}

func (c *Console) recoverWebhook(p *page.Page) error {
	w, err := c.hook(p)
	if err != nil {
		return err
	}
	span, at := p.FormValue("since"), p.FormValue("at")
	since, err := c.since(span, at)
	var r webhook.Recovered
	if err == nil {
		r, err = c.o.Webhooks.Recover(p.Request().Context(), p.Principal(), w.ID, since)
	}
	if refusal, ok := page.Refusal(err); ok {
		ask := webhookpages.Question{Shell: c.Shell(p), Hook: w, Since: span, At: at, SinceError: consoleWords(refusal)}
		return c.Render(p, http.StatusUnprocessableEntity, webhookpages.RecoverPage(ask))
	}
	if err != nil {
		return err
	}
	return c.leave(p, recoveredText(r), webhooksPath+"/"+w.ID)
}

// consoleWords replaces refusals that use names of the API.
func consoleWords(refusal *app.Error) string {
	switch {
	case refusal.Code == "webhook_endpoint_disabled":
		return "This endpoint is disabled. Enable it first."
	case refusal.Message == "since must be in the past.":
		return "The time must be in the past."
	default:
		return refusal.Message
	}
}

func recoveredText(r webhook.Recovered) string {
	n := r.Requeued + r.Created
	switch {
	case r.More:
		return strconv.Itoa(n) + " events were queued. There are more: recover the same span again."
	case n == 0:
		return "Nothing to send again: no event of that time failed or was missed."
	case n == 1:
		return "1 event was queued and is sent now."
	default:
		return strconv.Itoa(n) + " events were queued and are sent now."
	}
}

// deliveryOf returns the delivery that the path names, if it belongs to the endpoint of the path.
func (c *Console) deliveryOf(p *page.Page) (webhook.Endpoint, webhook.DeliveryDetail, error) {
	ctx, who := p.Request().Context(), p.Principal()
	e, err := c.o.Webhooks.Get(ctx, who, p.Param("id"))
	if err != nil {
		return e, webhook.DeliveryDetail{}, err
	}
	d, err := c.o.Webhooks.Delivery(ctx, who, p.Param("delivery"))
	if err == nil && d.EndpointID != e.ID {
		err = page.ErrNotFound()
	}
	return e, d, err
}

func (c *Console) delivery(p *page.Page) error {
	e, d, err := c.deliveryOf(p)
	if err != nil {
		return err
	}
	v := webhookpages.DeliveryDetail{
		Shell: c.Shell(p), Hook: viewWebhook(e, webhook.Report{}), Delivery: viewDelivery(d.Delivery), Body: string(d.Body),
	}
	for _, a := range d.Log {
		v.Log = append(v.Log, viewAttempt(a.Number, a.Exchange))
	}
	return c.Render(p, http.StatusOK, webhookpages.DeliveryPage(v))
}

func (c *Console) resendDelivery(p *page.Page) error {
	e, d, err := c.deliveryOf(p)
	if err != nil {
		return err
	}
	next := webhooksPath + "/" + e.ID + "/deliveries/" + d.ID
	_, err = c.o.Webhooks.Resend(p.Request().Context(), p.Principal(), d.ID)
	if refusal, ok := page.Refusal(err); ok {
		return c.RedirectWithToast(p, ui.Danger, consoleWords(refusal), next)
	}
	return c.Done(p, err, "Queued: it is sent now.", next)
}
