package operator

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/library"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/preset"
	"umg/app/provider/check"
	"umg/app/provider/modellist"
	"umg/app/provider/selection"
	"umg/views"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const (
	fieldModel = "model_"
	// suggestionsMax bounds the suggested names of models for each style.
	suggestionsMax   = 300
	modelNameBytes   = 256
	listProblemBytes = 1000
)

// stepNames are the steps of tests in words.
var stepNames = map[string]string{
	check.StepCredential: "Credential", check.StepList: "Model list", check.StepClock: "Clock", check.StepCall: "Call",
	check.StepStream: "Stream", check.StepTools: "Tools", check.StepUsage: "Usage",
}

// styleNames name the styles that only providers speak. The others have their names from the views.
var styleNames = map[llm.Style]string{"converse": "Converse", "cohere": "Cohere"}

func styleName(s llm.Style) string {
	if s == "" {
		return ""
	}
	return cmp.Or(styleNames[s], views.Style(s).Label())
}

// providerTest shows what a test of the provider will call, or how far it is.
func (c *Console) providerTest(p *page.Page) error {
	file, found, _, err := c.providerOf(p)
	if err != nil {
		return err
	}
	v := operatorpages.ProviderTest{Shell: c.Shell(p), Provider: aboutProvider(found, &file)}
	run, _, isKnown := c.o.Tests.Get(found.ID)
	if isKnown {
		viewRun(&v, &run)
		if err := c.keepList(p, &run); err != nil {
			return err
		}
	}
	if v.Models, err = c.testModels(p.Request().Context(), found); err != nil {
		return err
	}
	if isKnown {
		for i := range v.Models {
			v.Models[i].Model = cmp.Or(testedModel(&run, v.Models[i].Style), v.Models[i].Model)
		}
	}
	return c.Render(p, http.StatusOK, operatorpages.ProviderTestPage(v))
}

// testedModel is the model that a test called in a style.
func testedModel(run *check.Status, style string) string {
	for i := range run.Steps {
		if string(run.Steps[i].Style) == style && run.Steps[i].Model != "" {
			return run.Steps[i].Model
		}
	}
	return ""
}

func viewRun(v *operatorpages.ProviderTest, run *check.Status) {
	v.Started, v.Took, v.Calls, v.Cost, v.Listed = run.Started, run.Result.Took, run.Result.Calls, run.Result.Cost, len(run.Result.Models)
	switch {
	case !run.Done:
		v.State = operatorpages.TestRunning
	case run.Cancelled || run.Result.Cancelled:
		v.State = operatorpages.TestCancelled
	case run.Result.Passed:
		v.State = operatorpages.TestPassed
	default:
		v.State = operatorpages.TestFailed
	}
	for i := range run.Steps {
		s := &run.Steps[i]
		v.Steps = append(v.Steps, operatorpages.TestStep{
			Name: cmp.Or(stepNames[s.Name], s.Name), Style: styleName(s.Style), Model: s.Model, State: string(s.State), Took: s.Took,
			Detail: s.Detail, ProviderWords: s.ProviderWords, Advice: s.Advice, Input: s.Tokens.Input, Output: s.Tokens.Output, Cost: s.Cost,
		})
	}
}

// keepList keeps the model list that a test has read, or why it could not be read, once the test has ended.
func (c *Console) keepList(p *page.Page, run *check.Status) error {
	if !run.Done {
		return nil
	}
	known, err := c.selections.Read(p.Request().Context(), run.ID)
	if err != nil {
		return err
	}
	problem := ""
	for i := range run.Steps {
		if s := &run.Steps[i]; s.Name == check.StepList && s.State == check.Failed {
			problem = app.MakeStorable(strings.TrimSpace(s.Detail+" "+s.ProviderWords), listProblemBytes)
		}
	}
	hasList := run.Result.Models != nil && problem == ""
	if hasList && !known.ListedAt.Before(run.Started) || !hasList && known.ListProblem == problem {
		return nil
	}
	return c.selections.Change(p.Request().Context(), run.ID, p.User.Email, func(s *selection.Selection) error {
		s.ListProblem = problem
		if hasList {
			s.Listed, s.ListedAt = run.Result.Models, c.o.Now()
		}
		return nil
	})
}

// testModels are the styles that a provider speaks, each with the cheapest model of it.
func (c *Console) testModels(ctx context.Context, f *catalog.FileProvider) ([]operatorpages.TestModel, error) {
	choices, _, err := c.choicesOf(ctx, f)
	if err != nil {
		return nil, err
	}
	byStyle := map[llm.Style][]*library.Choice{}
	for i := range choices {
		byStyle[choices[i].Offer.Style] = append(byStyle[choices[i].Offer.Style], &choices[i])
	}
	styles := llm.Styles()
	if known, ok := preset.Find(f.Preset); ok && len(known.Styles) > 0 {
		styles = styles[:0:0]
		for style := range known.Styles {
			styles = append(styles, style)
		}
		slices.Sort(styles)
	}
	var all []operatorpages.TestModel
	for _, style := range styles {
		m := operatorpages.TestModel{Style: string(style), Label: "Model for " + styleName(style)}
		if best := cheapest(byStyle[style]); best != nil {
			m.Model = best.ProviderModel
		}
		for _, choice := range byStyle[style] {
			if len(m.Suggestions) < suggestionsMax {
				m.Suggestions = append(m.Suggestions, choice.ProviderModel)
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// alternatives are the models of a style that may be tested in place of the cheapest one, cheapest first.
func alternatives(choices []library.Choice, f *catalog.FileProvider, style llm.Style) []catalog.FileModel {
	var left []*library.Choice
	for i := range choices {
		if choices[i].Offer.Style == style {
			left = append(left, &choices[i])
		}
	}
	var all []catalog.FileModel
	for best := cheapest(left); best != nil && len(all) < alternativesMax; best = cheapest(left) {
		all = append(all, best.FileModel(f.ID, 1, 0))
		left = slices.DeleteFunc(left, func(choice *library.Choice) bool { return choice == best })
	}
	return all
}

// alternativesMax bounds the models of a style from which a test chooses one that the provider lists.
const alternativesMax = 40

// cheapest is the choice with the cheapest output that is not at its end, one that calls tools where there is one. It is nil without one
// that has a cost.
func cheapest(choices []*library.Choice) *library.Choice {
	var best *library.Choice
	lowest := int64(math.MaxInt64)
	for _, choice := range choices {
		if choice.Offer.Cost == nil || choice.Model.Status != "" || !time.Time(choice.Offer.Shutdown).IsZero() {
			continue
		}
		price := int64(choice.Offer.Cost.Rates[meter.OutputTokens.String()].PerMillion())
		hasTools := choice.Model.Tools
		if price > 0 && (best == nil || hasTools && !best.Model.Tools || hasTools == best.Model.Tools && price < lowest) {
			best, lowest = choice, price
		}
	}
	return best
}

// choicesOf are the models of a provider to choose from, and what is selected of them.
func (c *Console) choicesOf(ctx context.Context, f *catalog.FileProvider) ([]library.Choice, selection.Selection, error) {
	selected, err := c.selections.Read(ctx, f.ID)
	if err != nil {
		return nil, selected, err
	}
	lib, err := library.Load(ctx, c.o.DB)
	if err != nil {
		return nil, selected, err
	}
	var listed []modellist.Model
	if !selected.ListedAt.IsZero() && len(selected.Listed) > 0 {
		listed = selected.Listed
	}
	key := choiceKey{provider: f.ID, preset: f.Preset, library: lib.Date, with: fmt.Sprint(f.With), listedAt: selected.ListedAt}
	choices, err := c.choices.of(key, func() ([]library.Choice, error) {
		all, err := lib.ChoicesFor(*f, listed)
		return sortedChoices(all), err
	})
	return choices, selected, err
}

// startProviderTest starts a test with the models of the form.
func (c *Console) startProviderTest(p *page.Page) error {
	file, found, _, err := c.providerOf(p)
	if err != nil {
		return err
	}
	ctx := p.Request().Context()
	v := operatorpages.ProviderTest{Shell: c.Shell(p), Provider: aboutProvider(found, &file)}
	if v.Models, err = c.testModels(ctx, found); err != nil {
		return err
	}
	sources, err := c.o.References(ctx)
	if err != nil {
		return err
	}
	o := check.Options{
		File: *found, Sources: sources, Client: c.o.ProviderClient, Now: c.o.Now, Store: c.o.TestCalls, By: p.User.Email,
	}
	choices, _, err := c.choicesOf(ctx, found)
	if err != nil {
		return err
	}
	lib, err := library.Load(ctx, c.o.DB)
	if err != nil {
		return err
	}
	isInvalid := c.takeTestModels(p, &v, &o, lib, choices)
	if isInvalid {
		return c.Render(p, http.StatusUnprocessableEntity, operatorpages.ProviderTestPage(v))
	}
	err = c.o.Tests.Start(found.ID, o)
	path := views.ProviderPath(found.ID, "test")
	switch kind := app.KindOf(err); {
	case err != nil && kind == app.Conflict:
		return c.RedirectWithToast(p, ui.Info, app.AsError(err).Message, path)
	case err != nil && kind == app.Exhausted:
		v.Problem = app.AsError(err).Message
		return c.Render(p, http.StatusTooManyRequests, operatorpages.ProviderTestPage(v))
	case err != nil:
		return err
	}
	return p.Redirect(http.StatusSeeOther, path)
}

// takeTestModels takes the models of the form into a test. It reports whether one of them has no possible name.
func (c *Console) takeTestModels(
	p *page.Page, v *operatorpages.ProviderTest, o *check.Options, lib *library.Library, choices []library.Choice,
) (isInvalid bool) {
	for i := range v.Models {
		m := &v.Models[i]
		proposed := m.Model
		m.Model = strings.TrimSpace(p.FormValue(fieldModel + m.Style))
		switch {
		case m.Model == "":
		case len(m.Model) > modelNameBytes || !app.Storable(m.Model) || strings.ContainsFunc(m.Model, unicode.IsSpace):
			m.Error, isInvalid = "Enter a name without spaces of at most 256 characters.", true
		default:
			o.Models = append(o.Models, testedFileModel(lib, choices, &o.File, llm.Style(m.Style), m.Model))
			if m.Model == proposed { // The provider may lack what the library proposes, but not what the operator chooses.
				o.Alternatives = append(o.Alternatives, alternatives(choices, &o.File, llm.Style(m.Style))...)
			}
		}
	}
	return isInvalid
}

// testedFileModel is a model of the provider with one route in a style. The library may not know it.
func testedFileModel(
	lib *library.Library, choices []library.Choice, f *catalog.FileProvider, style llm.Style, name string,
) catalog.FileModel {
	i := slices.IndexFunc(choices, func(choice library.Choice) bool { return choice.ProviderModel == name && choice.Offer.Style == style })
	if i < 0 {
		i = slices.IndexFunc(choices, func(choice library.Choice) bool { return choice.ProviderModel == name })
	}
	var choice library.Choice
	if i >= 0 {
		choice = choices[i]
	} else if found := lib.Choices(f.Preset, []modellist.Model{{ID: name}}); len(found) > 0 {
		choice = found[0]
	} else {
		choice = library.Choice{ID: name, Model: &library.Model{ID: name, Name: name, Tools: true}, Offer: &library.Offer{Preset: f.Preset}}
	}
	offer := *choice.Offer
	offer.Style = style
	choice.Offer, choice.ProviderModel = &offer, name
	return choice.FileModel(f.ID, 1, 0)
}

// cancelProviderTest ends a running test.
func (c *Console) cancelProviderTest(p *page.Page) error {
	_, found, _, err := c.providerOf(p)
	if err != nil {
		return err
	}
	c.o.Tests.Cancel(found.ID)
	return p.Redirect(http.StatusSeeOther, views.ProviderPath(found.ID, "test"))
}
