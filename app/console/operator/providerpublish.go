package operator

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"umg/app"
	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/console/page"
	"umg/views"
	"umg/views/format"
	operatorpages "umg/views/operator"
)

// askPublish shows what publishing the selected models changes.
func (c *Console) askPublish(p *page.Page) error {
	o, err := c.offered(p)
	if err != nil {
		return err
	}
	v, err := c.viewPublish(p, o)
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, operatorpages.ProviderPublishPage(v))
}

// published is the catalog with the selected models of the provider, which is enabled.
func (o *offered) published(f catalog.File) (catalog.File, error) {
	next, err := change.AddModels(f, o.fileModels())
	if err != nil {
		return f, err
	}
	return change.PauseProvider(next, o.provider.ID, false)
}

// viewPublish compares the catalog in force with the one that publishing makes.
func (c *Console) viewPublish(p *page.Page, o *offered) (operatorpages.ProviderPublish, error) {
	v := operatorpages.ProviderPublish{Shell: c.Shell(p), Provider: aboutProvider(&o.provider, &o.file), Version: o.version}
	models := c.viewOffered(p, o, operatorpages.ChoiceQuery{})
	if v.Models = models.Selected; v.Models == 0 {
		v.Empty = "No model is selected"
		return v, nil
	}
	if problem := publishProblem(&models); problem != "" {
		v.Problems = []string{problem}
		return v, nil
	}
	sources, err := c.o.References(p.Request().Context())
	if err != nil {
		return v, err
	}
	enabled := o.provider
	enabled.Disabled = false
	for _, problem := range catalog.CheckReferences(catalog.File{Providers: []catalog.FileProvider{enabled}}, sources) {
		if found, ok := errors.AsType[catalog.FileError](problem); ok {
			v.Problems = append(v.Problems, sentence(found.Text))
		}
	}
	next, err := o.published(o.file)
	if err != nil {
		v.Problems = append(v.Problems, app.AsError(err).Message)
		return v, nil
	}
	changes, err := change.Preview(o.file, next)
	if err != nil {
		return v, err
	}
	for _, problem := range changes.Problems {
		v.Problems = append(v.Problems, nameModel(problem, &next))
	}
	if len(v.Problems) > 0 {
		return v, nil
	}
	before := catalog.BelowCost(o.file)
	v.BelowCost = slices.DeleteFunc(changes.BelowCost, func(line string) bool { return slices.Contains(before, line) })
	v.Diff = changes.Diff
	o.viewChanges(&v, &changes)
	return v, nil
}

// nameModel is a problem with the id of the model in place of its number in the file.
func nameModel(problem catalog.FileError, f *catalog.File) string {
	for i := range f.Models {
		if rest, ok := cutPath(problem.Path, "models["+strconv.Itoa(i)+"]"); ok {
			return f.Models[i].ID + ": " + rest + " " + problem.Text
		}
	}
	return problem.Error()
}

func cutPath(path, prefix string) (rest string, ok bool) {
	if len(path) < len(prefix) || path[:len(prefix)] != prefix {
		return "", false
	}
	rest = path[len(prefix):]
	if rest != "" && rest[0] == '.' {
		rest = rest[1:]
	}
	return rest, true
}

// viewChanges says what customers will see.
func (o *offered) viewChanges(v *operatorpages.ProviderPublish, changes *change.Changes) {
	words := map[string][]string{}
	for _, m := range changes.New {
		words[m.ID] = m.Prices
	}
	for i := range o.choices {
		choice := &o.choices[i]
		if _, isSelected := o.picked(choice.ID); !isSelected {
			continue
		}
		if o.known[choice.ID] {
			v.More = append(v.More, choice.ID)
			continue
		}
		v.New = append(v.New, operatorpages.PublishedModel{ID: choice.ID, Name: choice.Model.Name, Prices: words[choice.ID]})
	}
	for _, line := range changes.Prices {
		if words[line.Model] == nil {
			v.Prices = append(v.Prices, format.Marked(line.Text))
		}
	}
}

// publish adds the selected models to the catalog and enables the provider, when the operator has confirmed it by password.
func (c *Console) publish(p *page.Page) error {
	o, err := c.offered(p)
	if err != nil {
		return err
	}
	v, err := c.viewPublish(p, o)
	if err != nil {
		return err
	}
	v.Accepted = p.FormValue("below_cost") != ""
	version, _ := strconv.ParseInt(p.FormValue("version"), 10, 64)
	switch {
	case v.Empty != "" || len(v.Problems) > 0:
		return c.Render(p, http.StatusUnprocessableEntity, operatorpages.ProviderPublishPage(v))
	case version <= 0:
		v.Problem = "Read what changes, and publish it then."
		return c.Render(p, http.StatusUnprocessableEntity, operatorpages.ProviderPublishPage(v))
	case len(v.BelowCost) > 0 && !v.Accepted:
		v.BelowError = "Confirm that you want prices below cost, or raise the markup."
		return c.Render(p, http.StatusUnprocessableEntity, operatorpages.ProviderPublishPage(v))
	}
	if err := c.o.Accounts.Prove(p.Request().Context(), p.Principal(), p.FormValue("current_password")); err != nil {
		return c.refusePublish(p, v, err)
	}
	action := catalog.HistoryAction{
		By:        p.User.Email,
		Note:      format.Plain("Publish " + format.CountOf(int64(v.Models), "model", "models") + " of " + o.provider.ID),
		BelowCost: true,
	}
	if _, err = catalog.Edit(p.Request().Context(), c.o.DB, action, version, o.published); err != nil {
		return c.refusePublish(p, v, err)
	}
	if err := c.selections.Clear(p.Request().Context(), o.provider.ID); err != nil {
		return err
	}
	published := "Published " + format.CountOf(int64(v.Models), "model", "models") + " of " + v.Provider.Name
	return c.Done(p, nil, published+". All servers use them within a second.", views.ProvidersPath)
}

// refusePublish shows the question again with why it was not done.
func (c *Console) refusePublish(p *page.Page, v operatorpages.ProviderPublish, err error) error {
	refusal := app.AsError(err)
	status := http.StatusUnprocessableEntity
	switch {
	case refusal.Param == "current_password":
		v.PasswordError = refusal.Message
	case refusal.Kind == app.Exhausted:
		v.Problem, status = refusal.Message, http.StatusTooManyRequests
	case refusal.Kind == app.Conflict:
		v.Conflict, status = refusal.Message, http.StatusConflict
	case errors.Is(err, catalog.ErrProblems):
		v.Problem, status = "The catalog has problems now: "+err.Error(), http.StatusConflict
	default:
		return err
	}
	return c.Render(p, status, operatorpages.ProviderPublishPage(v))
}
