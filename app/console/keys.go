package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/console/page"
	"umg/app/llm"
	"umg/views"
	"umg/views/codesample"
	keypages "umg/views/keys"
	"umg/views/ui"
)

const (
	keysPath    = page.ConsolePath + "/keys"
	lately      = 24 * time.Hour // A key that was used within this time counts as in use.
	maskEllipse = "…"
)

// keyRoutes are the pages about API keys.
func (c *Console) keyRoutes() []page.Route {
	const (
		all = "/keys"
		one = all + "/:id"
	)
	a := page.Area{Right: app.ManageKeys}
	return []page.Route{
		a.Get(all, c.keys), a.Post(all, c.createKey), a.Get(all+"/new", c.newKey),
		a.Get(one, c.key), a.Post(one, c.updateKey),
		a.Post(one+"/disable", c.disableKey), a.Post(one+"/enable", c.enableKey),
		a.Get(one+"/rotate", c.askRotateKey), a.Post(one+"/rotate", c.rotateKey),
		a.Get(one+"/end-old", c.askEndOldSecret), a.Post(one+"/end-old", c.endOldSecret),
		a.Get(one+"/delete", c.askDeleteKey), a.Post(one+"/delete", c.deleteKey),
	}
}

func (c *Console) keys(p *page.Page) error {
	q := keypages.ParseQuery(p.QueryParams())
	keys, err := c.listKeys(p)
	if err != nil {
		return err
	}
	spend, err := c.keySpend(p)
	if err != nil {
		return err
	}
	p.ReplaceURL(q.Path())
	return c.Render(p, http.StatusOK, keypages.ListPage(keypages.List{Shell: c.Shell(p), Query: q, Keys: keys, Spend: spend}))
}

func (c *Console) listKeys(p *page.Page) ([]views.Key, error) {
	found, err := c.o.APIKeys.List(p.Request().Context(), p.Principal())
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(found))
	for _, k := range found {
		names[k.ID] = k.Name
	}
	keys := make([]views.Key, len(found))
	for i, k := range found {
		keys[i] = viewKey(k)
		if k.CreatedByKey != "" {
			keys[i].ByKey = cmp.Or(names[k.CreatedByKey], k.CreatedByKey)
		}
	}
	if err := c.fillNetworks(p, keys); err != nil {
		return nil, err
	}
	return keys, c.fillBudgets(p, keys, found)
}

// fillNetworks adds to the keys that were used from a new network which it is.
func (c *Console) fillNetworks(p *page.Page, keys []views.Key) error {
	found, err := c.o.APIKeys.NewNetworks(p.Request().Context(), p.Principal())
	for i := range keys {
		if n, there := found[keys[i].ID]; there {
			keys[i].Network = &views.KeyNetwork{Network: n.Network.String(), Since: n.Since}
		}
	}
	return err
}

// fillBudgets adds to the keys that have a budget how far it is spent.
func (c *Console) fillBudgets(p *page.Page, keys []views.Key, found []apikey.Key) error {
	if !slices.ContainsFunc(found, func(k apikey.Key) bool { return k.BudgetID != "" }) {
		return nil
	}
	budgets, err := c.o.Ledger.Budgets(p.Request().Context(), p.User.AccountID)
	if err != nil {
		return err
	}
	for i := range keys {
		if b, found := budgets[keys[i].ID]; found {
			keys[i].Budget = &views.KeyBudget{
				Limit: b.Limit, Spent: b.Spent, Left: b.Left, Period: string(b.Period), ResetsAt: b.ResetsAt,
			}
		}
	}
	return nil
}

func viewKey(k apikey.Key) views.Key {
	v := views.Key{
		ID: k.ID, Name: k.Name, Masked: k.Secret.Prefix + maskEllipse + k.Secret.LastFour, Env: k.Env,
		ErrorMode: string(k.ErrorMode), Disabled: k.Disabled, CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy,
		LastUsed: k.LastUse.At, LastFrom: k.LastUse.IP, ExpiresAt: k.ExpiresAt,
		Models: k.Models, Requests: k.RequestsPerMinute, Tokens: k.TokensPerMinute, Concurrency: int64(k.Concurrency),
		LogContent: k.LogContent, Strict: k.Strict, Leaked: k.Secret.LeakedAt, Alerts: k.BudgetAlerts, Scopes: words(k.Scopes),
	}
	for _, a := range k.Addresses {
		text := a.String()
		if a.IsSingleIP() {
			text = a.Addr().String()
		}
		v.Addresses = append(v.Addresses, text)
	}
	if old := k.Secret; old.PreviousUntil != nil {
		v.Previous = &views.PreviousSecret{
			LastFour: maskEllipse + old.PreviousLastFour, Until: *old.PreviousUntil, LastUsed: old.PreviousUsedAt,
		}
	}
	return v
}

func (c *Console) newKey(p *page.Page) error {
	form := keypages.NewForm(c.keyChoices(p))
	form.Name = p.QueryParam("name")
	if mode := p.QueryParam("mode"); mode == views.ModeStandard || mode == views.ModeDocumented {
		form.Mode = mode
	}
	return c.Render(p, http.StatusOK, keypages.NewPage(keypages.NewKey{Shell: c.Shell(p), Form: form}))
}

// createKey answers with the secret itself instead of leading to another page: it is shown once and kept nowhere.
func (c *Console) createKey(p *page.Page) error {
	form, spec := c.readKeyForm(p, p.FormValue("kind") == views.ScopeManagement)
	fromOverview := p.FormValue("from") == "overview"
	again := func(status int) error {
		if fromOverview {
			return c.renderOverview(p, status, start{form: form})
		}
		return c.Render(p, status, keypages.NewPage(keypages.NewKey{Shell: c.Shell(p), Form: form}))
	}
	if addAddress(p, &form) {
		return again(http.StatusOK)
	}
	if form.Refused() {
		return again(http.StatusUnprocessableEntity)
	}
	key, secret, err := c.o.APIKeys.Create(p.Request().Context(), p.Principal(), spec)
	if err != nil {
		if err := explainKey(&form, err); err != nil {
			return err
		}
		return again(http.StatusUnprocessableEntity)
	}
	fresh := views.FreshKey{Key: viewKey(key), Secret: secret}
	if fromOverview {
		return c.renderOverview(p, http.StatusOK, start{form: keypages.NewForm(c.keyChoices(p)), fresh: &fresh})
	}
	keys, err := c.listKeys(p)
	if err != nil {
		return err
	}
	spend, err := c.keySpend(p)
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, keypages.CreatedPage(keypages.Created{
		Shell: c.Shell(p), Fresh: fresh, Call: c.sampleCall(p, secret), Language: p.Language(), Keys: keys, Spend: spend,
	}))
}

func (c *Console) key(p *page.Page) error {
	k, err := c.ownKey(p)
	if err != nil {
		return err
	}
	return c.renderKey(p, http.StatusOK, k, keypages.FormOf(k, c.keyChoices(p)))
}

func (c *Console) renderKey(p *page.Page, status int, k views.Key, form keypages.Form) error {
	// Only those who manage members may do more with a management key than look at it.
	fixed := slices.Contains(k.Scopes, views.ScopeManagement) && !p.User.Role.Rights().Has(app.ManageMembers)
	return c.Render(p, status, keypages.DetailPage(keypages.Detail{Shell: c.Shell(p), Key: k, Form: form, Fixed: fixed}))
}

// updateKey changes the fields of the form. A key cannot become a management key or stop being one.
func (c *Console) updateKey(p *page.Page) error {
	k, err := c.ownKey(p)
	if err != nil {
		return err
	}
	form, spec := c.readKeyForm(p, slices.Contains(k.Scopes, views.ScopeManagement))
	if addAddress(p, &form) {
		return c.renderKey(p, http.StatusOK, k, form)
	}
	if form.Refused() {
		return c.renderKey(p, http.StatusUnprocessableEntity, k, form)
	}
	patch := apikey.Patch{
		Name: &spec.Name, Env: &spec.Env, Models: &spec.Models, Addresses: &spec.Addresses, Scopes: &spec.Scopes,
		LogContent: &spec.LogContent, Strict: &spec.Strict, Concurrency: &spec.Concurrency,
		RequestsPerMinute: &spec.RequestsPerMinute, TokensPerMinute: &spec.TokensPerMinute, Budget: &spec.Budget,
	}
	if spec.ErrorMode != "" {
		patch.ErrorMode = &spec.ErrorMode
	}
	if spec.BudgetAlerts != nil {
		patch.BudgetAlerts = &spec.BudgetAlerts
	}
	if !sameExpiry(form, k) {
		patch.ExpiresAt = &spec.ExpiresAt
	}
	if _, err := c.o.APIKeys.Update(p.Request().Context(), p.Principal(), k.ID, patch); err != nil {
		if err := explainKey(&form, err); err != nil {
			return err
		}
		return c.renderKey(p, http.StatusUnprocessableEntity, k, form)
	}
	return c.RedirectWithToast(p, ui.Success, "Saved. Every server knows within a second.", views.KeyPath(k.ID))
}

// sampleCall is a call of the cheapest chat model, for code samples.
func (c *Console) sampleCall(p *page.Page, secret string) codesample.Call {
	call := codesample.Call{BaseURL: c.APIURL(), Key: secret}
	if m, ok := c.catalogFor(p).Cheapest(llm.Chat); ok {
		call.Model = m.ID
	}
	return call
}

func (c *Console) disableKey(p *page.Page) error {
	return c.switchKey(p, true, "Key disabled. Programs that use it are refused.")
}

func (c *Console) enableKey(p *page.Page) error { return c.switchKey(p, false, "Key enabled.") }

func (c *Console) switchKey(p *page.Page, disabled bool, done string) error {
	return c.Done(p, c.o.APIKeys.Disable(p.Request().Context(), p.Principal(), p.Param("id"), disabled), done, backToKeys(p))
}

// backToKeys returns the page from which a form was sent: the list of keys with its filters, or the page of the key.
func backToKeys(p *page.Page) string {
	from, err := url.Parse(p.Request().Referer())
	switch {
	case err == nil && from.Path == keysPath:
		return keypages.ParseQuery(from.Query()).Path()
	case err == nil && from.Path == views.KeyPath(p.Param("id")):
		return from.Path
	}
	return keysPath
}

// ownKey is the key that the path names, among the account's own.
func (c *Console) ownKey(p *page.Page) (views.Key, error) {
	keys, err := c.listKeys(p)
	if err != nil {
		return views.Key{}, err
	}
	at := slices.IndexFunc(keys, func(k views.Key) bool { return k.ID == p.Param("id") })
	if at < 0 {
		return views.Key{}, app.Errorf(app.NotFound, "key_not_found", "There is no such key.")
	}
	return keys[at], nil
}

// deletion finds the key that the page is about among the account's own.
func (c *Console) deletion(p *page.Page) (keypages.Delete, error) {
	k, err := c.ownKey(p)
	if err != nil {
		return keypages.Delete{}, err
	}
	inUse := k.LastUsed != nil && c.o.Now().Sub(*k.LastUsed) < lately
	return keypages.Delete{Shell: c.Shell(p), Key: k, TypeName: inUse}, nil
}

func (c *Console) askDeleteKey(p *page.Page) error {
	d, err := c.deletion(p)
	return page.Show(c.Renderer, p, http.StatusOK, keypages.DeletePage, d, err)
}

func (c *Console) deleteKey(p *page.Page) error {
	d, err := c.deletion(p)
	if err != nil {
		return err
	}
	// A browser shows several blanks as one, so that one blank is enough.
	if d.TypeName && !slices.Equal(strings.Fields(p.FormValue("name")), strings.Fields(d.Key.Name)) {
		d.NameError = "Type the name exactly as it is shown: " + d.Key.Name
		return c.Render(p, http.StatusUnprocessableEntity, keypages.DeletePage(d))
	}
	return c.Done(p, c.o.APIKeys.Delete(p.Request().Context(), p.Principal(), d.Key.ID), d.Key.Name+" was deleted.", keysPath)
}
