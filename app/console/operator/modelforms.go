package operator

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/console/page"
	"umg/views"
	operatorpages "umg/views/operator"
)

// modelAccountsMax bounds the accounts of a form. Each of them is looked up.
const modelAccountsMax = 200

// modelOf reads the model that a form is about, for a page or for the form.
func (c *Console) modelOf(p *page.Page) (catalog.File, *catalog.FileModel, int64, error) {
	return c.findModel(p, p.QueryParam("id"))
}

// modelEdit is what the edits of a model have in common.
func modelEdit(m *catalog.FileModel, title, verb string) *edit {
	to := views.OperatorModelPath(m.ID)
	return &edit{
		ask:   operatorpages.CatalogConfirm{Title: title, Text: m.ID, Verb: verb, Back: to, BackText: m.Name},
		about: subject{"model", m.ID}, to: to,
	}
}

// isField returns a function that maps the paths of a model to the fields of a form that are called like them.
func isField(names ...string) func(path string) string {
	return func(path string) string {
		for _, name := range names {
			if path == name || strings.HasPrefix(path, name+".") || strings.HasPrefix(path, name+"[") {
				return name
			}
		}
		return ""
	}
}

// numberText is a number of a form; empty for zero.
func numberText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// askModel shows the form with the name, the visibility and the limits of a model.
func (c *Console) askModel(p *page.Page) error {
	_, m, version, err := c.modelOf(p)
	if err != nil {
		return err
	}
	f := operatorpages.ModelForm{
		Shell: c.Shell(p), CatalogForm: operatorpages.CatalogForm{Version: version}, ID: m.ID, Model: m.Name, Name: m.Name,
		Description: m.Description, Notice: m.Notice, Visibility: operatorpages.VisibleToAll, Accounts: strings.Join(m.Accounts, "\n"),
		Aliases: strings.Join(m.Aliases, "\n"), IsText: m.Kind == catalog.KindText,
		ContextTokens: numberText(m.ContextTokens), OutputMax: numberText(m.MaxOutputTokens),
		RequestsPerMinute: numberText(m.Limits.RequestsPerMinute), TokensPerMinute: numberText(m.Limits.TokensPerMinute),
		RequestsPerDay: numberText(m.Limits.RequestsPerDay), Concurrency: numberText(m.Limits.Concurrency),
		JobsPerDay: numberText(m.Limits.JobsPerDay), JobsRunning: numberText(m.Limits.JobsRunning),
	}
	if len(m.Accounts) > 0 {
		f.Visibility = operatorpages.VisibleToSome
	}
	// The theme form returns to this path.
	f.Path = views.OperatorModelsPath
	return c.Render(p, http.StatusOK, operatorpages.ModelFormPage(f))
}

// changeModel changes the name, the visibility and the limits of a model.
func (c *Console) changeModel(p *page.Page) error {
	_, m, _, err := c.modelOf(p)
	if err != nil {
		return err
	}
	e := modelEdit(m, "Change the model?", "Change the model")
	e.ask.Action = operatorpages.ModelFormPath("edit", m.ID)
	e.note, e.said = "Changed the model "+m.ID+".", "Changed "+m.Name+". All servers know within a second."
	e.field = isField(
		"name", "description", "notice", "aliases", "accounts", "limits.requests_per_minute", "limits.tokens_per_minute",
		"limits.requests_per_day", "limits.concurrency", "limits.jobs_per_day", "limits.jobs_running", "context_tokens",
		"max_output_tokens",
	)
	next, errFields := c.readModel(p, *m)
	e.change = func(f catalog.File) (catalog.File, error) {
		if errFields != nil {
			return f, errFields
		}
		return withFields(f, next)
	}
	e.form = func(status int, f operatorpages.CatalogForm) error {
		v := operatorpages.ModelForm{
			Shell: c.Shell(p), CatalogForm: f, ID: m.ID, Model: m.Name, Name: p.FormValue("name"), Description: p.FormValue("description"),
			Notice: p.FormValue("notice"), Visibility: p.FormValue("visibility"), Accounts: p.FormValue("accounts"),
			Aliases: p.FormValue("aliases"),
			IsText:  m.Kind == catalog.KindText, ContextTokens: p.FormValue("context_tokens"), OutputMax: p.FormValue("max_output_tokens"),
			RequestsPerMinute: p.FormValue("requests_per_minute"), TokensPerMinute: p.FormValue("tokens_per_minute"),
			RequestsPerDay: p.FormValue("requests_per_day"), Concurrency: p.FormValue("concurrency"),
			JobsPerDay:  p.FormValue("jobs_per_day"),
			JobsRunning: p.FormValue("jobs_running"),
		}
		v.Path = views.OperatorModelsPath
		return c.Render(p, status, operatorpages.ModelFormPage(v))
	}
	return c.runEdit(p, e)
}

// readModel is the model with the fields of the form, or what is wrong with them.
func (c *Console) readModel(p *page.Page, m catalog.FileModel) (catalog.FileModel, error) {
	r := newFieldReader(p)
	m.Name, m.Description, m.Notice, m.Aliases = r.text("name"), r.text("description"), r.text("notice"), r.lines("aliases")
	m.Accounts = nil
	switch p.FormValue("visibility") {
	case operatorpages.VisibleToAll:
	case operatorpages.VisibleToSome:
		m.Accounts = r.lines("accounts")
		if problem := c.checkAccounts(p, m.Accounts); problem != "" {
			r.errors["accounts"] = problem
		}
	default:
		r.errors["visibility"] = "Choose who may call the model."
	}
	if m.Kind == catalog.KindText {
		m.ContextTokens, m.MaxOutputTokens = r.number("context_tokens", "context_tokens"), r.number("max_output_tokens",
			"max_output_tokens")
		m.Limits.RequestsPerMinute = r.number("requests_per_minute", "limits.requests_per_minute")
		m.Limits.TokensPerMinute = r.number("tokens_per_minute", "limits.tokens_per_minute")
		m.Limits.RequestsPerDay = r.number("requests_per_day", "limits.requests_per_day")
		m.Limits.Concurrency = r.number("concurrency", "limits.concurrency")
		return m.WithDefaults(), r.err()
	}
	m.Limits.JobsPerDay, m.Limits.JobsRunning = r.number("jobs_per_day", "limits.jobs_per_day"), r.number("jobs_running",
		"limits.jobs_running")
	return m, r.err()
}

// checkAccounts says what is wrong with the accounts of a form.
func (c *Console) checkAccounts(p *page.Page, ids []string) string {
	switch {
	case len(ids) == 0:
		return "Enter the id of at least one account."
	case len(ids) > modelAccountsMax:
		return "Enter at most " + strconv.Itoa(modelAccountsMax) + " accounts here. A catalog file may have more."
	case c.o.Actions == nil:
		return ""
	}
	for _, id := range ids {
		_, err := c.o.Actions.Account(p.Request().Context(), id, p.User.ID)
		if err != nil && app.KindOf(err) == app.NotFound {
			return "There is no account " + id + "."
		}
	}
	return ""
}

// withFields replaces the fields of a model that its form has. Its prices and routes stay those of the file.
func withFields(f catalog.File, from catalog.FileModel) (catalog.File, error) {
	i := slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == from.ID })
	if i < 0 {
		return f, errNoModel()
	}
	m := f.Models[i]
	m.Name, m.Description, m.Notice, m.Aliases, m.Accounts = from.Name, from.Description, from.Notice, from.Aliases, from.Accounts
	m.ContextTokens, m.MaxOutputTokens, m.Limits = from.ContextTokens, from.MaxOutputTokens, from.Limits
	return change.ReplaceModel(f, m)
}

func errNoModel() error {
	return app.Errorf(app.NotFound, "model_not_found", "There is no such model in the catalog.")
}

// askRetire shows the form that retires a model.
func (c *Console) askRetire(p *page.Page) error {
	f, m, version, err := c.modelOf(p)
	if err != nil {
		return err
	}
	v := operatorpages.RetireForm{CatalogForm: operatorpages.CatalogForm{Version: version}, When: operatorpages.RetireOn,
		Successor: m.Successor}
	if !m.Shutdown.IsZero() {
		v.Day = dayText(m.Shutdown)
	}
	return c.showRetire(p, http.StatusOK, &f, m, v)
}

func (c *Console) showRetire(p *page.Page, status int, f *catalog.File, m *catalog.FileModel, v operatorpages.RetireForm) error {
	v.Shell, v.ID, v.Name = c.Shell(p), m.ID, m.Name
	v.Path = views.OperatorModelsPath
	for i := range f.Models {
		other := &f.Models[i]
		if other.ID == m.ID {
			continue
		}
		if other.Kind == m.Kind {
			v.Models = append(v.Models, operatorpages.Choice{Value: other.ID, Label: other.Name})
		}
		if other.Successor == m.ID || other.LongerContext == m.ID || slices.Contains(other.Fallbacks, m.ID) {
			v.UsedBy = append(v.UsedBy, other.ID)
		}
	}
	return c.Render(p, status, operatorpages.RetireFormPage(v))
}

func dayText(d catalog.Date) string { return time.Time(d).Format(time.DateOnly) }

// retireModel retires a model at once, or announces the day on which it retires.
func (c *Console) retireModel(p *page.Page) error {
	f, m, _, err := c.modelOf(p)
	if err != nil {
		return err
	}
	when, day, successor := p.FormValue("when"), p.FormValue("day"), p.FormValue("successor")
	e := modelEdit(m, "Retire "+m.Name+"?", "Retire the model")
	e.ask.Action, e.ask.Destructive = operatorpages.ModelFormPath("retire", m.ID), true
	e.note, e.said = "Retired the model "+m.ID+".", "Retired "+m.Name+"."
	e.field = isField("shutdown", "successor")
	if when == operatorpages.RetireOn {
		e.note, e.said = "Announced the retirement of the model "+m.ID+".", "Customers of "+m.Name+" see that it retires on "+day+"."
	}
	e.change = func(f catalog.File) (catalog.File, error) {
		switch when {
		case operatorpages.RetireNow:
			return change.RetireModel(f, m.ID)
		case operatorpages.RetireOn:
			return c.retireOn(f, m.ID, day, successor)
		}
		return f, app.InvalidValue("when", "Choose when the model retires.")
	}
	e.form = func(status int, form operatorpages.CatalogForm) error {
		return c.showRetire(p, status, &f, m, operatorpages.RetireForm{CatalogForm: form, When: when, Day: day, Successor: successor})
	}
	return c.runEdit(p, e)
}

// retireOn announces the day on which a model retires.
func (c *Console) retireOn(f catalog.File, id, text, successor string) (catalog.File, error) {
	day, problem := c.laterDay(text)
	if problem != "" {
		return f, app.InvalidValue("shutdown", "%s", problem)
	}
	i := slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == id })
	if i < 0 {
		return f, errNoModel()
	}
	m := f.Models[i]
	m.Shutdown, m.Successor = day, successor
	today := catalog.Date(c.o.Now().UTC().Truncate(24 * time.Hour))
	if m.Deprecated.IsZero() || time.Time(m.Deprecated).After(time.Time(day)) {
		m.Deprecated = today
	}
	return change.ReplaceModel(f, m)
}

// laterDay reads a day after today, or says what is wrong with it.
func (c *Console) laterDay(text string) (day catalog.Date, problem string) {
	switch err := day.UnmarshalText([]byte(text)); {
	case err != nil:
		return day, "Enter a day, such as 2027-03-01."
	case !time.Time(day).After(c.o.Now()):
		return day, "Choose a day after today."
	}
	return day, ""
}
