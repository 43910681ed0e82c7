package console

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"umg/app"
	"umg/app/webhook"
	"umg/views"
	"umg/views/ui"
	webhookpages "umg/views/webhooks"
)

const (
	webhooksPath = consolePath + "/webhooks"
	endpointsMax = 100 // more than an account can have
)

// webhookRoutes are the pages about webhooks.
func webhookRoutes() []Route {
	const (
		all      = "/webhooks"
		one      = all + "/:id"
		delivery = one + "/deliveries/:delivery"
	)
	get := func(path string, serve func(*Console, *page) error) Route {
		return Route{Method: http.MethodGet, Path: path, Right: app.UseWebhooks, serve: withWebhooks(serve)}
	}
	post := func(path string, serve func(*Console, *page) error) Route {
		return Route{Method: http.MethodPost, Path: path, Right: app.UseWebhooks, serve: withWebhooks(serve)}
	}
	return []Route{
		get(all, (*Console).webhooks), post(all, (*Console).createWebhook),
		get(all+"/new", (*Console).newWebhook), get(all+"/events", (*Console).webhookEvents),
		get(one, (*Console).webhook),
		get(one+"/edit", (*Console).editWebhook), post(one+"/edit", (*Console).updateWebhook),
		post(one+"/enable", (*Console).enableWebhook), post(one+"/disable", (*Console).disableWebhook),
		get(one+"/rotate", askWebhook(webhookpages.RotatePage)), post(one+"/rotate", (*Console).rotateWebhook),
		get(one+"/recover", askWebhook(webhookpages.RecoverPage)), post(one+"/recover", (*Console).recoverWebhook),
		get(one+"/delete", askWebhook(webhookpages.DeletePage)), post(one+"/delete", (*Console).deleteWebhook),
		post(one+"/test", (*Console).testWebhook),
		get(delivery, (*Console).delivery), post(delivery+"/resend", (*Console).resendDelivery),
	}
}

// withWebhooks keeps the pages unknown where nothing serves them.
func withWebhooks(serve func(*Console, *page) error) func(*Console, *page) error {
	return func(c *Console, p *page) error {
		if c.o.Webhooks == nil {
			return notFound(p)
		}
		return serve(c, p)
	}
}

func (c *Console) webhooks(p *page) error {
	list, err := c.listWebhooks(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, webhookpages.ListPage(webhookpages.List{Shell: c.shell(p), List: list}))
}

func (c *Console) listWebhooks(p *page) ([]views.Webhook, error) {
	ctx, who := p.Request().Context(), p.principal()
	found, err := c.o.Webhooks.List(ctx, who, "", endpointsMax)
	if err != nil {
		return nil, err
	}
	reports, err := c.o.Webhooks.Reports(ctx, who)
	if err != nil {
		return nil, err
	}
	list := make([]views.Webhook, len(found.Endpoints))
	for i, e := range found.Endpoints {
		list[i] = viewWebhook(e, reports[e.ID])
	}
	return list, nil
}

// troubledWebhooks returns the endpoints that need attention.
func (c *Console) troubledWebhooks(p *page) ([]views.Webhook, error) {
	if c.o.Webhooks == nil || !p.principal().Rights.Has(app.UseWebhooks) {
		return nil, nil
	}
	all, err := c.listWebhooks(p)
	return slices.DeleteFunc(all, func(w views.Webhook) bool { return !w.Troubled(c.o.Now()) }), err
}

func viewWebhook(e webhook.Endpoint, r webhook.Report) views.Webhook {
	w := views.Webhook{
		ID: e.ID, Name: e.Name, URL: e.URL, Events: e.EventTypes, Hint: e.SecretHint, OldUntil: e.PreviousUntil,
		Disabled: e.Status == webhook.Disabled, DisabledReason: e.DisabledReason, DisabledAt: e.DisabledAt, FailingSince: e.FailingSince,
		CreatedAt: e.CreatedAt,
		Health:    views.WebhookHealth{Succeeded: int64(r.Succeeded), Failed: int64(r.Failed), Median: r.Median, P95: r.P95},
	}
	if f := r.LastFailure; f != nil {
		w.Health.Last = &views.WebhookFailure{At: f.At, Status: f.Status, Error: f.Error, DeliveryID: f.DeliveryID}
	}
	return w
}

// hook is the endpoint that the path names.
func (c *Console) hook(p *page) (views.Webhook, error) {
	e, err := c.o.Webhooks.Get(p.Request().Context(), p.principal(), p.Param("id"))
	return viewWebhook(e, webhook.Report{}), err
}

func (c *Console) webhookEvents(p *page) error {
	return c.render(p, http.StatusOK, webhookpages.EventsPage(webhookpages.EventCatalog{Shell: c.shell(p), Language: language(p)}))
}

func (c *Console) newWebhook(p *page) error {
	return c.render(p, http.StatusOK, webhookpages.EditPage(webhookpages.Edit{Shell: c.shell(p), Form: webhookpages.NewForm()}))
}

// webhookForm is what was sent. Blanks around an address come from copying it.
func webhookForm(p *page) (webhookpages.Form, error) {
	values, err := p.FormParams()
	if err != nil {
		return webhookpages.Form{}, app.Errorf(app.Invalid, "invalid_request_error", "The form cannot be read.").Because(err)
	}
	return webhookpages.Form{Name: values.Get("name"), URL: strings.TrimSpace(values.Get("url")), Events: values["events"]}, nil
}

// createWebhook answers with the secret itself instead of leading to another page: it is shown once.
func (c *Console) createWebhook(p *page) error {
	form, err := webhookForm(p)
	if err != nil {
		return err
	}
	e, secret, err := c.o.Webhooks.Create(p.Request().Context(), p.principal(), webhook.EndpointSpec{
		Name: form.Name, URL: form.URL, EventTypes: form.Events,
	})
	if err != nil {
		return c.refuseWebhook(p, webhookpages.Edit{Form: form}, err)
	}
	list, err := c.listWebhooks(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, webhookpages.SecretPage(webhookpages.Secret{
		Shell: c.shell(p), Hook: viewWebhook(e, webhook.Report{}), Secret: secret, Language: language(p), List: list,
	}))
}

// refuseWebhook shows the form again with the refusal beside the field it concerns; other faults come back as they are.
func (c *Console) refuseWebhook(p *page, w webhookpages.Edit, err error) error {
	refusal := app.AsError(err)
	switch {
	case refusal.Kind != app.Invalid && refusal.Kind != app.Conflict:
		return err
	case refusal.Param == "name" && w.Form.Name == "":
		w.Form.NameError = "Give it a name of 1 to 80 characters that tells it from the others."
	case refusal.Param == "name":
		w.Form.NameError = refusal.Message
	case refusal.Param == "url" && w.Form.URL == "":
		w.Form.URLError = "Enter the https address that events are sent to."
	case refusal.Param == "url":
		w.Form.URLError = refusal.Message
	case refusal.Param == "event_types" && len(w.Form.Events) == 0:
		w.Form.EventsError = "Choose at least one event."
	case refusal.Param == "event_types":
		w.Form.EventsError = refusal.Message
	default:
		w.Form.FormError = refusal.Message
	}
	w.Shell = c.shell(p)
	return c.render(p, http.StatusUnprocessableEntity, webhookpages.EditPage(w))
}

func (c *Console) editWebhook(p *page) error {
	w, err := c.hook(p)
	if err != nil {
		return err
	}
	form := webhookpages.Form{Name: w.Name, URL: w.URL, Events: w.Events}
	return c.render(p, http.StatusOK, webhookpages.EditPage(webhookpages.Edit{Shell: c.shell(p), ID: w.ID, Form: form}))
}

func (c *Console) updateWebhook(p *page) error {
	form, err := webhookForm(p)
	if err != nil {
		return err
	}
	id := p.Param("id")
	_, err = c.o.Webhooks.Update(p.Request().Context(), p.principal(), id, webhook.EndpointChange{
		Name: &form.Name, URL: &form.URL, EventTypes: &form.Events,
	})
	if err != nil {
		return c.refuseWebhook(p, webhookpages.Edit{ID: id, Form: form}, err)
	}
	return c.leave(p, "Endpoint saved.", webhooksPath+"/"+id)
}

// leave says one sentence on the next page and leads there, also from a dialog: what the script fetches itself would
// take the sentence with it.
func (c *Console) leave(p *page, text, next string) error {
	if !forScript(p.Request()) {
		return c.redirectWithToast(p, ui.Success, text, next)
	}
	p.session.Values[toastTone], p.session.Values[toastText] = string(ui.Success), text
	if err := c.o.Sessions.Save(p.Request(), p.Response(), p.session); err != nil {
		return err
	}
	p.Response().Header().Set("HX-Redirect", next)
	return p.NoContent(http.StatusNoContent)
}

func (c *Console) enableWebhook(p *page) error {
	e, err := c.o.Webhooks.Enable(p.Request().Context(), p.principal(), p.Param("id"))
	if err != nil {
		return err
	}
	next := webhooksPath
	if p.FormValue("from") != "list" {
		next += "/" + e.ID
	}
	return c.redirectWithToast(p, ui.Success, e.Name+" is enabled. What it missed is sent with Recover.", next)
}

func (c *Console) disableWebhook(p *page) error {
	e, err := c.o.Webhooks.Disable(p.Request().Context(), p.principal(), p.Param("id"))
	if err != nil {
		return err
	}
	return c.redirectWithToast(p, ui.Success, e.Name+" is disabled. Nothing is sent to it.", webhooksPath+"/"+e.ID)
}

func (c *Console) deleteWebhook(p *page) error {
	w, err := c.hook(p)
	if err != nil {
		return err
	}
	if err := c.o.Webhooks.Delete(p.Request().Context(), p.principal(), w.ID); err != nil {
		return err
	}
	return c.leave(p, w.Name+" was deleted.", webhooksPath)
}

func (c *Console) rotateWebhook(p *page) error {
	old := p.FormValue("old")
	if old != "keep" && old != "replace" {
		return app.Errorf(app.Invalid, "invalid_request_error", "Choose what happens to the old secret: keep or replace.").At("old")
	}
	e, secret, err := c.o.Webhooks.Rotate(p.Request().Context(), p.principal(), p.Param("id"), old == "keep")
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, webhookpages.SecretPage(webhookpages.Secret{
		Shell: c.shell(p), Hook: viewWebhook(e, webhook.Report{}), Secret: secret, Rotated: true, Language: language(p),
	}))
}

// isRefusal reports whether a fault is one that the person can mend.
func isRefusal(err error) (*app.Error, bool) {
	refusal, ours := errors.AsType[*app.Error](err)
	return refusal, ours && (refusal.Kind == app.Invalid || refusal.Kind == app.Exhausted || refusal.Kind == app.Forbidden)
}
