package console

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/llm"
	"umg/app/setup"
	"umg/views"
	"umg/views/format"
	setuppages "umg/views/setup"
)

// setupValue is the session value of the operator who has claimed the gateway and not finished its set-up.
const setupValue = "setup"

// setupRoutes are the pages that take an empty gateway into operation. The first one is open while the gateway has no operator.
func (c *Console) setupRoutes() []page.Route {
	open, next := page.Area{Open: true, Missing: c.o.Setup == nil}, page.Area{Missing: c.o.Setup == nil}
	return []page.Route{
		open.Get("/setup", c.setup), open.Post("/setup", c.claim),
		next.Get("/setup/keys", c.setupStep(c.setupKeys)),
		next.Get("/setup/models", c.setupStep(c.setupModels)), next.Post("/setup/models", c.setupStep(c.publishSetup)),
		next.Get("/setup/try", c.setupStep(c.setupTry)), next.Post("/setup/try", c.setupStep(c.sendSetup)),
		next.Post("/setup/finish", c.setupStep(c.finishSetup)),
	}
}

// setupStep limits a page to the operator who has just claimed the gateway.
func (c *Console) setupStep(serve page.Handler) page.Handler {
	return func(p *page.Page) error {
		if !p.User.Operator && !p.MustEnrol || p.Session.Values[setupValue] == nil {
			return page.ErrNotFound()
		}
		return serve(p)
	}
}

// setup shows the first step, or leads to the second one where the first is done.
func (c *Console) setup(p *page.Page) error {
	if p.SignedIn() && p.Session.Values[setupValue] != nil {
		return p.Redirect(http.StatusSeeOther, setuppages.KeysPath)
	}
	open, err := c.o.Setup.Open(p.Request().Context())
	if err != nil {
		return err
	}
	if !open {
		return page.ErrNotFound()
	}
	return c.Render(p, http.StatusOK, setuppages.AccountPage(c.claimForm(p)))
}

func (c *Console) claimForm(p *page.Page) setuppages.Account {
	return setuppages.Account{
		Shell: c.visitorShell(p), Code: p.FormValue("code"), Email: p.FormValue("email"), Credit: c.o.Setup.Credit(),
	}
}

// visitorShell is what surrounds the set-up pages, which have no menu.
func (c *Console) visitorShell(p *page.Page) views.Shell {
	return views.Shell{Path: p.Request().URL.Path, Theme: page.ThemeOf(p.Request()), Now: c.o.Now(), BaseURL: c.APIURL()}
}

// claim makes the first operator and signs them in.
func (c *Console) claim(p *page.Page) error {
	open, err := c.o.Setup.Open(p.Request().Context())
	if err != nil {
		return err
	}
	if !open {
		return page.ErrNotFound()
	}
	user, err := c.o.Setup.Claim(p.Request().Context(), setup.Claim{
		Code: p.FormValue("code"), Email: p.FormValue("email"), Password: p.FormValue("password"),
	}, p.Principal().From)
	if err != nil {
		return c.refuseClaim(p, err)
	}
	p.Session.Values[setupValue] = true
	if err := c.o.Sessions.Start(p.Response(), p.Request(), user); err != nil {
		return err
	}
	return p.Redirect(http.StatusSeeOther, setuppages.KeysPath)
}

// refuseClaim shows the form again with the refusal beside the field that it is about. It returns errors that are not the person's.
func (c *Console) refuseClaim(p *page.Page, err error) error {
	f, refusal, status := c.claimForm(p), app.AsError(err), http.StatusUnprocessableEntity
	switch refusal.Kind {
	case app.Exhausted:
		f.Wait, status = max(refusal.RetryAfter, 1), http.StatusTooManyRequests
	case app.Invalid, app.Conflict:
		page.PlaceRefusal(refusal, &f.FormError, map[string]*string{
			"code": &f.CodeError, "email": &f.EmailError, "password": &f.PasswordError,
		})
	default:
		return err
	}
	return c.Render(p, status, setuppages.AccountPage(f))
}

// setupKeys offers the keys that are in the environment of the server.
func (c *Console) setupKeys(p *page.Page) error { return c.renderKeys(p, http.StatusOK, "") }

func (c *Console) renderKeys(p *page.Page, status int, problem string) error {
	v := setuppages.Keys{Shell: c.visitorShell(p), Usual: setup.Usual(), Error: problem}
	for _, f := range c.o.Setup.Find() {
		v.Found = append(v.Found, setuppages.FoundKey{
			ID: f.Provider.ID, Name: f.Provider.Name, Variables: f.Variables, Published: c.o.Setup.Has(f.Provider.ID),
		})
	}
	v.Path = setuppages.KeysPath
	return c.Render(p, status, setuppages.KeysPage(v))
}

// offersOf reads the models of the providers that a form names, of all of them at once.
func (c *Console) offersOf(ctx context.Context, ids []string) []setup.Offer {
	found := slices.DeleteFunc(c.o.Setup.Find(), func(f setup.Found) bool { return !slices.Contains(ids, f.Provider.ID) })
	offers := make([]setup.Offer, len(found))
	var lists sync.WaitGroup
	for i, f := range found {
		// goroutine: this function waits for it; it ends with the list of the provider, whose reading is bounded.
		lists.Go(func() { offers[i] = c.o.Setup.Look(ctx, f) })
	}
	lists.Wait()
	return offers
}

// setupModels shows what the chosen providers have.
func (c *Console) setupModels(p *page.Page) error {
	ids := p.QueryParams()["provider"]
	if len(ids) == 0 {
		return c.renderKeys(p, http.StatusUnprocessableEntity, "Choose a provider, or skip this step.")
	}
	offers := c.offersOf(p.Request().Context(), ids)
	if len(offers) == 0 {
		return c.renderKeys(p, http.StatusUnprocessableEntity, "The key of this provider is not in the environment of the server any more.")
	}
	return c.renderModels(p, http.StatusOK, offers, setuppages.Models{Markup: "0%"})
}

func (c *Console) renderModels(p *page.Page, status int, offers []setup.Offer, v setuppages.Models) error {
	v.Shell = c.visitorShell(p)
	for _, o := range offers {
		v.Offers = append(v.Offers, c.viewOffer(o))
	}
	return c.Render(p, status, setuppages.ModelsPage(v))
}

func (c *Console) viewOffer(o setup.Offer) setuppages.Offer {
	v := setuppages.Offer{
		ID: o.Provider.ID, Name: o.Provider.Name, Listed: o.Listed, Unpriced: o.Unpriced, Problem: o.Problem, Advice: o.Advice,
		ProviderWords: o.ProviderWords, Published: c.o.Setup.Has(o.Provider.ID),
	}
	for _, m := range o.Choices {
		v.Models = append(v.Models, setuppages.ModelLine{
			ID: m.ID, Input: costWords(m.Offer.Cost.Rates["input_tokens"]), Output: costWords(m.Offer.Cost.Rates["output_tokens"]),
		})
	}
	return v
}

// costWords is a cost of a million tokens; a dash for none.
func costWords(p catalog.Price) string {
	const million = 1_000_000
	if p.Per <= 0 {
		return "–"
	}
	return "$" + format.Number((p.Amount * app.Amount(million/p.Per)).String())
}

// publishSetup publishes the chosen providers with their models.
func (c *Console) publishSetup(p *page.Page) error {
	form, err := p.FormParams()
	if err != nil {
		return err
	}
	offers := c.offersOf(p.Request().Context(), form["provider"])
	v := setuppages.Models{Markup: form.Get("markup")}
	if len(offers) == 0 {
		return c.renderKeys(p, http.StatusUnprocessableEntity, "Choose a provider, or skip this step.")
	}
	markup, err := setup.ParseMarkup(v.Markup)
	if err != nil {
		v.MarkupError = app.AsError(err).Message
		return c.renderModels(p, http.StatusUnprocessableEntity, offers, v)
	}
	by := catalog.HistoryAction{By: p.User.Email, Note: "set-up: providers whose keys are in the environment"}
	if _, err = c.o.Setup.Publish(p.Request().Context(), by, offers, markup); err != nil {
		if app.KindOf(err) == app.Unavailable {
			return err
		}
		v.Error = app.Truncate(err.Error(), setupErrorRunesMax)
		return c.renderModels(p, http.StatusUnprocessableEntity, offers, v)
	}
	return p.Redirect(http.StatusSeeOther, setuppages.TryPath)
}

// setupErrorRunesMax bounds the problems of a catalog on the page.
const setupErrorRunesMax = 2_000

func (c *Console) setupTry(p *page.Page) error {
	return c.Render(p, http.StatusOK, setuppages.TryPage(c.tryView(p)))
}

func (c *Console) tryView(p *page.Page) setuppages.Try {
	v := setuppages.Try{Shell: c.visitorShell(p), Credit: c.o.Setup.Credit(), Enrols: p.MustEnrol}
	s := c.o.Catalog.Snapshot()
	for _, m := range s.Models() {
		if m.Available {
			v.Models++
		}
	}
	if m, ok := s.Cheapest(llm.Chat); ok {
		v.Model = m.ID
	}
	return v
}

// sendSetup makes a first call, as a call of the operator.
func (c *Console) sendSetup(p *page.Page) error {
	v, sent, status := c.tryView(p), c.sendSample(p), http.StatusOK
	if sent.Trouble != "" {
		status = http.StatusUnprocessableEntity
	}
	v.Sent = &sent
	return c.Render(p, status, setuppages.TryPage(v))
}

// finishSetup ends the set-up and opens the console: at the providers when there is no model yet, or when the operator needs sign-in codes,
// which that page asks for first.
func (c *Console) finishSetup(p *page.Page) error {
	delete(p.Session.Values, setupValue)
	if err := c.SaveSession(p); err != nil {
		return err
	}
	if p.MustEnrol || c.tryView(p).Models == 0 {
		return p.Redirect(http.StatusSeeOther, views.ProvidersPath)
	}
	return p.Redirect(http.StatusSeeOther, page.ConsolePath)
}
