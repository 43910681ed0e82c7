package console

import (
	"net/http"
	"slices"
	"strings"

	"umg/app"
	"umg/app/console/page"
	"umg/app/webhook"
	"umg/views"
	"umg/views/ui"
	webhookpages "umg/views/webhooks"
)

const (
	webhooksPath = page.ConsolePath + "/webhooks"
	endpointsMax = 100 // The limit is higher than the number of endpoints that an account can have.
)

// webhookRoutes are the pages about webhooks.
func (c *Console) webhookRoutes() []page.Route {
	const (
		all      = "/webhooks"
		one      = all + "/:id"
		delivery = one + "/deliveries/:delivery"
	)
	a := page.Area{Right: app.UseWebhooks, Missing: c.o.Webhooks == nil}
	return []page.Route{
		a.Get(all, c.webhooks), a.Post(all, c.createWebhook),
		a.Get(all+"/new", c.newWebhook), a.Get(all+"/events", c.webhookEvents),
		a.Get(one, c.webhook),
		a.Get(one+"/edit", c.editWebhook), a.Post(one+"/edit", c.updateWebhook),
		a.Post(one+"/enable", c.enableWebhook), a.Post(one+"/disable", c.disableWebhook),
		a.Get(one+"/rotate", c.askWebhook(webhookpages.RotatePage)), a.Post(one+"/rotate", c.rotateWebhook),
		a.Get(one+"/recover", c.askWebhook(webhookpages.RecoverPage)), a.Post(one+"/recover", c.recoverWebhook),
		a.Get(one+"/delete", c.askWebhook(webhookpages.DeletePage)), a.Post(one+"/delete", c.deleteWebhook),
		a.Post(one+"/test", c.testWebhook),
		a.Get(delivery, c.delivery), a.Post(delivery+"/resend", c.resendDelivery),
	}
}

func (c *Console) webhooks(p *page.Page) error {
	list, err := c.listWebhooks(p)
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, webhookpages.ListPage(webhookpages.List{Shell: c.Shell(p), List: list}))
}

func (c *Console) listWebhooks(p *page.Page) ([]views.Webhook, error) {
	ctx, who := p.Request().Context(), p.Principal()
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
func (c *Console) troubledWebhooks(p *page.Page) ([]views.Webhook, error) {
	if c.o.Webhooks == nil || !p.Principal().Rights.Has(app.UseWebhooks) {
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
func (c *Console) hook(p *page.Page) (views.Webhook, error) {
	e, err := c.o.Webhooks.Get(p.Request().Context(), p.Principal(), p.Param("id"))
	return viewWebhook(e, webhook.Report{}), err
}

func (c *Console) webhookEvents(p *page.Page) error {
	return c.Render(p, http.StatusOK, webhookpages.EventsPage(webhookpages.EventCatalog{Shell: c.Shell(p), Language: p.Language()}))
}

func (c *Console) newWebhook(p *page.Page) error {
	return c.Render(p, http.StatusOK, webhookpages.EditPage(webhookpages.Edit{Shell: c.Shell(p), Form: webhookpages.NewForm()}))
}

// webhookForm reads the form of an endpoint, without the blanks around a copied address.
func webhookForm(p *page.Page) (webhookpages.Form, error) {
	values, err := p.FormParams()
	if err != nil {
		return webhookpages.Form{}, app.Errorf(app.Invalid, "invalid_request_error", "The form cannot be read.").Because(err)
	}
	return webhookpages.Form{Name: values.Get("name"), URL: strings.TrimSpace(values.Get("url")), Events: values["events"]}, nil
}

// createWebhook answers with the secret itself instead of leading to another page: it is shown once.
func (c *Console) createWebhook(p *page.Page) error {
	form, err := webhookForm(p)
	if err != nil {
		return err
	}
	e, secret, err := c.o.Webhooks.Create(p.Request().Context(), p.Principal(), webhook.EndpointSpec{
		Name: form.Name, URL: form.URL, EventTypes: form.Events,
	})
	if err != nil {
		return c.refuseWebhook(p, webhookpages.Edit{Form: form}, err)
	}
	list, err := c.listWebhooks(p)
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, webhookpages.SecretPage(webhookpages.Secret{
		Shell: c.Shell(p), Hook: viewWebhook(e, webhook.Report{}), Secret: secret, Language: p.Language(), List: list,
	}))
}

// refuseWebhook shows the form again with the refusal beside the field that it is about. It returns all other errors.
func (c *Console) refuseWebhook(p *page.Page, w webhookpages.Edit, err error) error {
	refusal := app.AsError(err)
	switch {
	case refusal.Kind != app.Invalid && refusal.Kind != app.Conflict:
		return err
	case refusal.Param == "name" && w.Form.Name == "":
		w.Form.NameError = "Enter a name (1–80 characters)."
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
	w.Shell = c.Shell(p)
	return c.Render(p, http.StatusUnprocessableEntity, webhookpages.EditPage(w))
}

func (c *Console) editWebhook(p *page.Page) error {
	w, err := c.hook(p)
	if err != nil {
		return err
	}
	form := webhookpages.Form{Name: w.Name, URL: w.URL, Events: w.Events}
	return c.Render(p, http.StatusOK, webhookpages.EditPage(webhookpages.Edit{Shell: c.Shell(p), ID: w.ID, Form: form}))
}

func (c *Console) updateWebhook(p *page.Page) error {
	form, err := webhookForm(p)
	if err != nil {
		return err
	}
	id := p.Param("id")
	_, err = c.o.Webhooks.Update(p.Request().Context(), p.Principal(), id, webhook.EndpointChange{
		Name: &form.Name, URL: &form.URL, EventTypes: &form.Events,
	})
	if err != nil {
		return c.refuseWebhook(p, webhookpages.Edit{ID: id, Form: form}, err)
	}
	return c.leave(p, "Endpoint saved.", webhooksPath+"/"+id)
}

// leave stores one sentence for the next page and leads there, also from a dialog. A redirect that the script follows itself would
// lose the sentence.
func (c *Console) leave(p *page.Page, text, next string) error {
	p.SetToast(ui.Success, text)
	if err := c.SaveSession(p); err != nil {
		return err
	}
	return p.Navigate(next)
}

func (c *Console) enableWebhook(p *page.Page) error {
	e, err := c.o.Webhooks.Enable(p.Request().Context(), p.Principal(), p.Param("id"))
	if err != nil {
		return err
	}
	next := webhooksPath
	if p.FormValue("from") != "list" {
		next += "/" + e.ID
	}
	return c.RedirectWithToast(p, ui.Success, e.Name+" is enabled. Recover resends missed events.", next)
}

func (c *Console) disableWebhook(p *page.Page) error {
	e, err := c.o.Webhooks.Disable(p.Request().Context(), p.Principal(), p.Param("id"))
	return c.Done(p, err, e.Name+" is disabled. Nothing is sent to it.", webhooksPath+"/"+e.ID)
}

func (c *Console) deleteWebhook(p *page.Page) error {
	w, err := c.hook(p)
	if err != nil {
		return err
	}
	if err := c.o.Webhooks.Delete(p.Request().Context(), p.Principal(), w.ID); err != nil {
		return err
	}
	return c.leave(p, w.Name+" was deleted.", webhooksPath)
}

func (c *Console) rotateWebhook(p *page.Page) error {
	old := p.FormValue("old")
	if old != "keep" && old != "replace" {
		return app.Errorf(app.Invalid, "invalid_request_error", "Choose what happens to the old secret: keep or replace.").At("old")
	}
	e, secret, err := c.o.Webhooks.Rotate(p.Request().Context(), p.Principal(), p.Param("id"), old == "keep")
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, webhookpages.SecretPage(webhookpages.Secret{
		Shell: c.Shell(p), Hook: viewWebhook(e, webhook.Report{}), Secret: secret, Rotated: true, Language: p.Language(),
	}))
}
