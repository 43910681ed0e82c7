package operator

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/console/page"
	"umg/app/preset"
	"umg/app/provider/credentialstore"
	"umg/app/provider/health"
	"umg/billing/usage"
	"umg/views"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

// oneProviderRoutes are the pages about one provider of the catalog.
func (c *Console) oneProviderRoutes() []page.Route {
	a := page.Area{Operator: true, Missing: c.o.DB == nil}
	return []page.Route{
		a.Get("/operator/providers/:id", c.provider),
		a.Get("/operator/providers/:id/edit", c.askProvider), a.Post("/operator/providers/:id/edit", c.changeProvider),
		a.Get("/operator/providers/:id/credential", c.askKey), a.Post("/operator/providers/:id/credential", c.replaceKey),
		a.Get("/operator/providers/:id/on", c.turnOn), a.Post("/operator/providers/:id/on", c.turnOn),
		a.Get("/operator/providers/:id/delete", c.removeProvider), a.Post("/operator/providers/:id/delete", c.removeProvider),
		a.Post("/operator/providers/:id/preset", c.confirmPreset),
	}
}

// provider is the page of a provider.
func (c *Console) provider(p *page.Page) error {
	f, one, version, err := c.providerOf(p)
	if err != nil {
		return err
	}
	v := operatorpages.ProviderDetail{
		Shell: c.Shell(p), ID: one.ID, Name: providerName(&f, one.ID), Version: version, Disabled: one.Disabled, Facts: providerFacts(one),
	}
	if known := presetOf(one); known != nil {
		v.Preset, v.Docs = known.Name, known.Docs
	}
	c.fillProviderState(&v, one)
	v.Routes = providerModels(&f, one.ID)
	if v.Credentials, err = c.providerKeys(p, &f, one); err != nil {
		return err
	}
	changed, err := catalog.PresetChangeOf(p.Request().Context(), c.o.DB, one)
	if err != nil {
		return err
	}
	v.PresetFrom, v.PresetLines = changed.Since, changed.Lines
	report, failure, err := c.margins(p, usage.MarginQuery{Provider: one.ID})
	if err != nil {
		return err
	}
	v.Failure, v.MarginDays, v.MarginTotal = failure, managedDays, marginLine(&report.Total, "")
	for i := range report.Models {
		v.Margin = append(v.Margin, marginLine(&report.Models[i], report.Models[i].Model))
	}
	return c.Render(p, http.StatusOK, operatorpages.ProviderPage(v))
}

// fillProviderState fills in what is so on this server now: pauses, spend and why the provider cannot be called.
func (c *Console) fillProviderState(v *operatorpages.ProviderDetail, one *catalog.FileProvider) {
	reason := ""
	if pause := c.pauseOf(health.KindProvider, one.ID); pause != nil {
		v.Stranded, _ = c.dependents(one.ID)
		shown := pauseOf(*pause, firstOf(v.Stranded))
		v.Pause, reason = &shown, pause.Reason
	}
	routes := 0
	if known, ok := c.o.Catalog.Snapshot().Provider(one.ID); ok {
		if !one.Disabled {
			v.Unusable = known.Unusable
		}
		if c.o.Spend != nil {
			for _, u := range c.o.Spend.Usages(known) {
				v.Spend = append(v.Spend, operatorpages.ProviderSpend{
					Credential: u.Credential, Period: string(u.Period), Cap: u.Cap, Spent: u.Spent, ResetsAt: u.ResetsAt,
				})
			}
		}
	}
	for _, m := range c.o.Catalog.Snapshot().Models() {
		if by, _ := c.served(m, one.ID); by {
			routes++
		}
	}
	v.State, _ = c.providerState(one, routes, v.Pause != nil, reason)
}

// providerFacts are the settings of a provider in words.
func providerFacts(one *catalog.FileProvider) (facts []operatorpages.Fact) {
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, operatorpages.Fact{Name: name, Value: value})
		}
	}
	expanded := one.Expanded()
	add("Address", cmp.Or(one.BaseURL, expanded.BaseURL))
	if known := presetOf(one); known != nil {
		for i := range known.Fields {
			if f := &known.Fields[i]; !f.Secret {
				add(f.Label, one.With[f.ID])
			}
		}
	}
	styles := make([]string, len(expanded.Styles))
	for i, s := range expanded.Styles {
		styles[i] = string(s)
	}
	add("Styles", strings.Join(styles, ", "))
	add("Proxy", one.Proxy)
	add("Calls at once", numberText(one.Limits.Concurrency))
	add("Requests a minute", numberText(one.Limits.RequestsPerMinute))
	add("When a call is cancelled", string(expanded.AfterCancel))
	return facts
}

// providerModels are the routes of a provider, in the order of the models.
func providerModels(f *catalog.File, id string) (list []operatorpages.ProviderRoute) {
	for i := range f.Models {
		m := &f.Models[i]
		for j := range m.Routes {
			r := &m.Routes[j]
			if r.Provider != id {
				continue
			}
			isOther := func(other catalog.FileRoute) bool { return other.Provider != id }
			list = append(list, operatorpages.ProviderRoute{
				Model: m.ID, ModelName: m.Name, Upstream: r.Model, Style: string(r.Style), Order: r.Order, Weight: r.Weight,
				Only: !slices.ContainsFunc(m.Routes, isOther), Cost: costText(r.Cost),
			})
		}
	}
	return list
}

// providerKeys are the credentials of a provider, without their values.
func (c *Console) providerKeys(p *page.Page, f *catalog.File, one *catalog.FileProvider) (list []operatorpages.ProviderKey, err error) {
	var stored []credentialstore.Credential
	if c.o.Credentials != nil {
		if stored, err = c.o.Credentials.List(p.Request().Context()); err != nil {
			return nil, err
		}
	}
	uses := f.SealedNames()
	for _, reference := range append([]string{one.Credential}, one.Credentials...) {
		if reference == "" {
			continue
		}
		k := operatorpages.ProviderKey{Reference: reference}
		if name, isSealed := sealedName(reference); isSealed {
			k.Others = slices.DeleteFunc(slices.Clone(uses[name]), func(id string) bool { return id == one.ID })
			i := slices.IndexFunc(stored, func(s credentialstore.Credential) bool { return s.Name == name })
			switch {
			case i < 0 && c.o.Credentials != nil:
				k.Problem = "No credential of this name is stored."
			case i >= 0:
				k.Ending, k.By, k.At = strings.TrimSpace(stored[i].LastFour), stored[i].ChangedBy, stored[i].ChangedAt
				if !stored[i].IsReadable {
					k.Problem = "Encrypted with another secret key. Replace it."
				}
			}
		}
		list = append(list, k)
	}
	return list, nil
}

// sealedName is the name of a sealed credential in its reference.
func sealedName(reference string) (string, bool) { return strings.CutPrefix(reference, "sealed:") }

// providerEdit is what the edits of a provider have in common.
func providerEdit(f *catalog.File, one *catalog.FileProvider, title, verb string) *edit {
	to, name := views.ProviderPath(one.ID), providerName(f, one.ID)
	return &edit{
		ask:   operatorpages.CatalogConfirm{Title: title, Text: one.ID, Verb: verb, Back: to, BackText: name},
		about: subject{"provider", one.ID}, to: to,
	}
}

// askProvider shows the form with the settings of a provider.
func (c *Console) askProvider(p *page.Page) error {
	f, one, version, err := c.providerOf(p)
	if err != nil {
		return err
	}
	v := operatorpages.ProviderForm{
		CatalogForm: operatorpages.CatalogForm{Version: version}, Name: one.Name, Address: one.BaseURL, Proxy: one.Proxy,
		Concurrency: numberText(one.Limits.Concurrency), RequestsLimit: numberText(one.Limits.RequestsPerMinute),
		SpendDaily: capText(one.Spend.Daily), SpendMonthly: capText(one.Spend.Monthly),
	}
	return c.showProvider(p, http.StatusOK, &f, one, v, func(field string) string { return one.With[field] })
}

func capText(n catalog.CapAmount) string {
	if n == 0 {
		return ""
	}
	return app.Amount(n).String()
}

// showProvider shows the form. The values of the fields of the preset come from a function.
func (c *Console) showProvider(
	p *page.Page, status int, f *catalog.File, one *catalog.FileProvider, v operatorpages.ProviderForm, value func(field string) string,
) error {
	v.Shell, v.ID, v.Provider = c.Shell(p), one.ID, providerName(f, one.ID)
	// The theme form returns to this path.
	v.Path = views.ProvidersPath
	if known := presetOf(one); known != nil {
		v.PresetName = known.Name
		bare := *one
		bare.BaseURL = ""
		v.AddressHint = bare.Expanded().BaseURL
		for i := range known.Fields {
			if field := &known.Fields[i]; !field.Secret {
				v.Fields = append(v.Fields, presetField(known, field, value(field.ID)))
			}
		}
	}
	return c.Render(p, status, operatorpages.ProviderFormPage(v))
}

// presetField is a field of a preset as a form has it.
func presetField(known *preset.Preset, field *preset.Field, value string) operatorpages.ProviderField {
	v := operatorpages.ProviderField{Name: field.ID, Label: field.Label, Value: value, Example: field.Example, Required: field.Required}
	for _, option := range field.Options {
		v.Options = append(v.Options, operatorpages.Choice{Value: option, Label: optionLabel(option)})
	}
	for _, id := range slices.Sorted(maps.Keys(field.When)) {
		label := id
		for i := range known.Fields {
			if known.Fields[i].ID == id {
				label = known.Fields[i].Label
			}
		}
		v.Condition = "Only for " + label + ": " + optionLabel(field.When[id]) + "."
	}
	return v
}

// changeProvider changes the settings of a provider.
func (c *Console) changeProvider(p *page.Page) error {
	f, one, _, err := c.providerOf(p)
	if err != nil {
		return err
	}
	e := providerEdit(&f, one, "Change the provider?", "Change the provider")
	e.ask.Action = views.ProviderPath(one.ID, "edit")
	e.note, e.said = "Changed the provider "+one.ID+".", "Changed the provider. All servers know within a second."
	e.field = func(path string) string {
		if strings.HasPrefix(path, "with.") {
			return path
		}
		return isField(
			"name", "base_url", "proxy", "limits.concurrency", "limits.requests_per_minute", "spend.daily", "spend.monthly",
		)(path)
	}
	set, errFields := readProvider(p, one)
	e.change = func(f catalog.File) (catalog.File, error) {
		i := slices.IndexFunc(f.Providers, func(other catalog.FileProvider) bool { return other.ID == one.ID })
		switch {
		case errFields != nil:
			return f, errFields
		case i < 0:
			return f, page.ErrNotFound()
		}
		next := f.Providers[i]
		set(&next)
		return change.ReplaceProvider(f, next)
	}
	e.form = func(status int, form operatorpages.CatalogForm) error {
		v := operatorpages.ProviderForm{
			CatalogForm: form, Name: p.FormValue("name"), Address: p.FormValue("base_url"), Proxy: p.FormValue("proxy"),
			Concurrency: p.FormValue("concurrency"), RequestsLimit: p.FormValue("requests_per_minute"),
			SpendDaily: p.FormValue("spend_daily"), SpendMonthly: p.FormValue("spend_monthly"),
		}
		return c.showProvider(p, status, &f, one, v, func(field string) string { return p.FormValue("with." + field) })
	}
	return c.runEdit(p, e)
}

// readProvider reads the form. It returns what sets the fields of a provider, or what is wrong with them.
func readProvider(p *page.Page, old *catalog.FileProvider) (func(*catalog.FileProvider), error) {
	r := newFieldReader(p)
	name, address, proxy := r.text("name"), r.text("base_url"), r.text("proxy")
	concurrency, requests := r.number("concurrency", "limits.concurrency"), r.number("requests_per_minute", "limits.requests_per_minute")
	amount := func(field, at string) catalog.CapAmount {
		text := strings.TrimPrefix(r.text(field), "$")
		if text == "" {
			return 0
		}
		n, err := app.ParseAmount(text)
		if err != nil || n < 0 {
			r.errors[at] = "Enter an amount in dollars, such as 25."
		}
		return catalog.CapAmount(n)
	}
	daily, monthly := amount("spend_daily", "spend.daily"), amount("spend_monthly", "spend.monthly")
	with := maps.Clone(old.With)
	if with == nil {
		with = map[string]string{}
	}
	if known := presetOf(old); known != nil {
		for i := range known.Fields {
			field := &known.Fields[i]
			text := r.text("with." + field.ID)
			isDefault := len(field.Options) > 0 && text == field.Options[0]
			switch _, had := with[field.ID]; {
			case field.Secret:
			case text == "" || isDefault && !had: // A default that the file leaves out stays left out.
				delete(with, field.ID)
			default:
				with[field.ID] = text
			}
		}
	}
	return func(v *catalog.FileProvider) {
		v.Name, v.BaseURL, v.Proxy, v.With = name, address, proxy, with
		if len(with) == 0 {
			v.With = nil
		}
		v.Limits.Concurrency, v.Limits.RequestsPerMinute, v.Spend.Daily, v.Spend.Monthly = concurrency, requests, daily, monthly
	}, r.err()
}

// turnOn asks before a provider is turned on that the catalog has turned off, and turns it on.
func (c *Console) turnOn(p *page.Page) error {
	f, one, _, err := c.providerOf(p)
	if err != nil {
		return err
	}
	e := providerEdit(&f, one, "Turn "+providerName(&f, one.ID)+" on?", "Turn it on")
	e.ask.Action = views.ProviderPath(one.ID, "on")
	e.note, e.said = "Turned the provider "+one.ID+" on.", "Turned the provider on. Calls go there within a second."
	e.change = func(f catalog.File) (catalog.File, error) { return change.PauseProvider(f, one.ID, false) }
	return c.runEdit(p, e)
}

// removeProvider asks before a provider is deleted with what depends on it, and deletes it.
func (c *Console) removeProvider(p *page.Page) error {
	f, one, _, err := c.providerOf(p)
	if err != nil {
		return err
	}
	name := providerName(&f, one.ID)
	e := providerEdit(&f, one, "Delete "+name+"?", "Delete the provider")
	e.ask.Text, e.ask.Destructive = "Its routes leave the catalog with it.", true
	e.ask.Action, e.to = views.ProviderPath(one.ID, "delete"), views.ProvidersPath
	e.note, e.said = "Deleted the provider "+one.ID+".", "Deleted "+name+"."
	e.change = func(f catalog.File) (catalog.File, error) {
		next, _, _, err := change.RemoveProvider(f, one.ID)
		return next, err
	}
	e.effects = func(old, _ catalog.File) []string { return removalEffects(old, one) }
	return c.runEdit(p, e)
}

// removalEffects are what follows when a provider is deleted, in sentences.
func removalEffects(f catalog.File, one *catalog.FileProvider) (lines []string) {
	_, removed, stranded, err := change.RemoveProvider(f, one.ID)
	if err != nil {
		return nil
	}
	for _, id := range stranded {
		lines = append(lines, id+" has no other provider and retires.")
	}
	var others []string
	for _, r := range removed {
		if !slices.Contains(stranded, r.Model) && !slices.Contains(others, r.Model) {
			others = append(others, r.Model)
		}
	}
	const named = 5
	for i, id := range others {
		if i == named {
			lines = append(lines, "So it is with other models.")
			break
		}
		lines = append(lines, id+" is served by its other providers alone.")
	}
	for _, reference := range append([]string{one.Credential}, one.Credentials...) {
		if name, isSealed := sealedName(reference); isSealed {
			others := slices.DeleteFunc(slices.Clone(f.SealedNames()[name]), func(id string) bool { return id == one.ID })
			if len(others) > 0 {
				lines = append(lines, "The credential "+reference+" stays stored: "+strings.Join(others, ", ")+" uses it too.")
			} else {
				lines = append(lines, "The credential "+reference+" stays stored. You can delete it under Credentials.")
			}
		}
	}
	return lines
}

// confirmPreset records that the operator has seen what an upgrade changed in the preset of a provider.
func (c *Console) confirmPreset(p *page.Page) error {
	_, one, _, err := c.providerOf(p)
	if err != nil {
		return err
	}
	if err := catalog.ConfirmPreset(p.Request().Context(), c.o.DB, one); err != nil {
		return err
	}
	return c.RedirectWithToast(p, ui.Success, "Confirmed the settings of the preset.", views.ProviderPath(one.ID))
}
