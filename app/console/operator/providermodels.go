package operator

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/library"
	"umg/app/meter"
	"umg/app/provider/selection"
	"umg/views"
	"umg/views/format"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const (
	// markupUsual is the markup of a new selection.
	markupUsual = "10%"
	// inputBytes bounds the text of a markup or a price.
	inputBytes = 24
	// markupMax is in percent.
	markupMax = 1000

	markupWords = "Enter a markup such as 10% or 0%, at most 1000%."
	// Writing to a cache costs this part more than other input, as providers of the messages style charge for it.
	cacheWritePart = 4

	priceWords = "Enter dollars for a million tokens, such as 0.50."
)

// offered are the models of one provider to choose from.
type offered struct {
	provider catalog.FileProvider
	file     catalog.File
	version  int64
	library  *library.Library
	choices  []library.Choice
	selected selection.Selection
	// routed are the ids of models with a route of the provider, and known those of all models of the catalog.
	routed, known map[string]bool
}

func (c *Console) offered(p *page.Page) (*offered, error) {
	file, found, version, err := c.providerOf(p)
	if err != nil {
		return nil, err
	}
	o := &offered{provider: *found, file: file, version: version, routed: map[string]bool{}, known: map[string]bool{}}
	if o.choices, o.selected, err = c.choicesOf(p.Request().Context(), found); err != nil {
		return nil, err
	}
	if o.library, err = library.Load(p.Request().Context(), c.o.DB); err != nil {
		return nil, err
	}
	o.selected.Markup = cmp.Or(o.selected.Markup, markupUsual)
	for i := range file.Models {
		m := &file.Models[i]
		o.known[m.ID] = true
		if slices.ContainsFunc(m.Routes, func(r catalog.FileRoute) bool { return r.Provider == found.ID }) {
			o.routed[m.ID] = true
		}
	}
	return o, nil
}

// familyOf is the id of the family of a choice. Models that the library does not know have none.
func familyOf(choice *library.Choice) string {
	if !choice.Known {
		return ""
	}
	return choice.Model.Family
}

// version is the space in the number of a version, such as 4 5.
var version = regexp.MustCompile(`(\d) (\d)`)

// acronymLetters is the length of words that are written in capital letters, such as GPT.
const acronymLetters = 3

// familyName is a family in words.
func familyName(id string) string {
	words := strings.Fields(strings.NewReplacer("-", " ", "/", " ", "_", " ").Replace(id))
	for i, word := range words {
		if len(word) == acronymLetters {
			words[i] = strings.ToUpper(word)
		} else {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return version.ReplaceAllString(strings.Join(words, " "), "$1.$2")
}

// picked returns what is written about a model, and whether it is selected.
func (o *offered) picked(id string) (selection.Pick, bool) {
	pick, ok := o.selected.Picks[id]
	return pick, ok && !o.routed[id]
}

// markup is the markup of a model as a factor. It reports false for one that is not valid.
func (o *offered) markup(pick selection.Pick) (catalog.Factor, bool) {
	return parseMarkup(cmp.Or(pick.Markup, o.selected.Markup))
}

// parseMarkup reads a markup in percent, such as 10% or 12.5.
func parseMarkup(text string) (catalog.Factor, bool) {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "%"))
	digits, isNegative := strings.CutPrefix(strings.Replace(text, "\u2212", "-", 1), "-")
	percent, err := app.ParseAmount(strings.TrimPrefix(digits, "+"))
	const hundredth = app.Dollar / 100 // The factor has hundredths of a percent.
	if err != nil || percent < 0 || percent > markupMax*app.Dollar || percent%hundredth != 0 {
		return 0, false
	}
	const one = 10_000
	factor := catalog.Factor(percent / hundredth)
	if isNegative {
		factor = -factor
	}
	return one + factor, one+factor > 0
}

// ownRates are the prices that the operator has entered for a model without a known cost. Cached input costs as much as other input.
func ownRates(pick selection.Pick) (catalog.Rates, bool) {
	in, okIn := parseMillion(pick.Input)
	out, okOut := parseMillion(pick.Output)
	if !okIn || !okOut {
		return nil, false
	}
	write := in
	write.Amount += (in.Amount + cacheWritePart - 1) / cacheWritePart
	return catalog.Rates{
		meter.InputTokens.String(): in, meter.OutputTokens.String(): out, meter.CacheReadTokens.String(): in,
		meter.CacheWriteTokens.String(): write,
	}, true
}

func parseMillion(text string) (catalog.Price, bool) {
	amount, err := app.ParseAmount(strings.TrimPrefix(strings.TrimSpace(text), "$"))
	if err != nil || amount < 0 {
		return catalog.Price{}, false
	}
	const million = 1_000_000
	return catalog.Price{Amount: amount, Per: million}, true
}

// row is a choice as the page shows it.
func (o *offered) row(choice *library.Choice) operatorpages.ChoiceRow {
	pick, isSelected := o.picked(choice.ID)
	r := operatorpages.ChoiceRow{
		ID: choice.ID, Name: choice.Model.Name, ProviderModel: choice.ProviderModel, FamilyID: familyOf(choice),
		Context:  choice.Offer.ContextTokens,
		Selected: isSelected, Published: o.routed[choice.ID], Elsewhere: o.known[choice.ID] && !o.routed[choice.ID], Known: choice.Known,
		Deprecated: choice.Model.Status == "deprecated", OwnMarkup: pick.Markup, SetIn: pick.Input, SetOut: pick.Output,
	}
	r.Family = familyName(r.FamilyID)
	if choice.Known {
		r.Context = cmp.Or(choice.Offer.ContextTokens, choice.Model.ContextTokens)
	}
	if day := time.Time(choice.Offer.Shutdown); !day.IsZero() {
		r.Shutdown = format.Day(day)
	}
	if choice.Priced {
		o.priceRow(&r, choice, pick)
	} else if _, ok := ownRates(pick); isSelected && !ok && pick.Input+pick.Output != "" && !r.Elsewhere {
		r.PriceError = priceWords
	}
	return r
}

func (o *offered) priceRow(r *operatorpages.ChoiceRow, choice *library.Choice, pick selection.Pick) {
	rates := choice.Offer.Cost.Rates
	factor, ok := o.markup(pick)
	if !ok && pick.Markup != "" {
		r.MarkupError = markupWords
	}
	hasPrice := ok && !r.Published && !r.Elsewhere
	for name, texts := range map[string][2]*string{
		meter.InputTokens.String(): {&r.CostIn, &r.PriceIn}, meter.OutputTokens.String(): {&r.CostOut, &r.PriceOut},
	} {
		price, isPriced := rates[name]
		if !isPriced {
			continue
		}
		cost := int64(price.PerMillion())
		*texts[0] = format.Dollars(app.Amount(cost))
		if hasPrice {
			*texts[1] = format.Dollars(app.Amount(factor.MarkUp(cost)))
		}
	}
	// The prices of input and output are shown.
	if others := len(rates) + len(choice.Offer.Cost.Conditions) - 2; others > 0 {
		r.More = "and " + format.CountOf(int64(others), "other", "others")
	}
}

// isReady reports whether a selected model can be published: it has a valid markup or prices.
func (o *offered) isReady(choice *library.Choice) bool {
	pick, _ := o.picked(choice.ID)
	if o.known[choice.ID] {
		return true
	}
	if choice.Priced {
		_, ok := o.markup(pick)
		return ok
	}
	_, ok := ownRates(pick)
	return ok
}

// readQuery reads which models are shown.
func readQuery(values url.Values) operatorpages.ChoiceQuery {
	q := operatorpages.ChoiceQuery{Text: views.FilterText(values.Get("q")), Family: views.FilterText(values.Get("family"))}
	shows := []string{operatorpages.ShowSelected, operatorpages.ShowUnpriced, operatorpages.ShowNew}
	if show := values.Get("show"); slices.Contains(shows, show) {
		q.Show = show
	}
	if n, err := strconv.Atoi(values.Get("page")); err == nil && n > 0 {
		q.Page = min(n, 1<<20)
	}
	return q
}

// matches reports whether a query shows a choice.
func (o *offered) matches(choice *library.Choice, q operatorpages.ChoiceQuery, words []string) bool {
	_, isSelected := o.picked(choice.ID)
	switch {
	case q.Family != "" && familyOf(choice) != q.Family,
		q.Show == operatorpages.ShowSelected && !isSelected,
		q.Show == operatorpages.ShowUnpriced && choice.Priced,
		q.Show == operatorpages.ShowNew && o.routed[choice.ID]:
		return false
	}
	if len(words) == 0 {
		return true
	}
	text := strings.ToLower(choice.ID + " " + choice.ProviderModel + " " + choice.Model.Name)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// matching are the choices that a query shows.
func (o *offered) matching(q operatorpages.ChoiceQuery) []*library.Choice {
	words := strings.Fields(strings.ToLower(q.Text))
	var all []*library.Choice
	for i := range o.choices {
		if o.matches(&o.choices[i], q, words) {
			all = append(all, &o.choices[i])
		}
	}
	return all
}

// viewOffered is the page of a query.
func (c *Console) viewOffered(p *page.Page, o *offered, q operatorpages.ChoiceQuery) operatorpages.ProviderModels {
	v := operatorpages.ProviderModels{
		Shell: c.Shell(p), Provider: aboutProvider(&o.provider, &o.file), All: len(o.choices), Markup: o.selected.Markup, Query: q,
		LibraryDate: o.library.Date, ListProblem: o.selected.ListProblem,
	}
	if day, err := time.Parse(time.DateOnly, o.library.Date); err == nil {
		v.LibraryDate = format.Day(day)
	}
	if !o.selected.ListedAt.IsZero() && len(o.selected.Listed) > 0 {
		v.ListedAt = &o.selected.ListedAt
	}
	if _, ok := parseMarkup(v.Markup); !ok {
		v.MarkupError = markupWords
	}
	families := map[string]int{}
	for i := range o.choices {
		choice := &o.choices[i]
		families[familyOf(choice)]++
		if _, isSelected := o.picked(choice.ID); isSelected {
			v.Selected++
			if !o.isReady(choice) {
				v.Unready++
			}
		}
	}
	v.Families = familyOptions(families, q.Family)
	found := o.matching(q)
	v.Matching = len(found)
	v.Query.Page = min(q.Page, max(0, (len(found)-1)/operatorpages.ChoicesPerPage))
	first := v.Query.Page * operatorpages.ChoicesPerPage
	for _, choice := range found[first:min(first+operatorpages.ChoicesPerPage, len(found))] {
		v.Rows = append(v.Rows, o.row(choice))
	}
	return v
}

func familyOptions(counts map[string]int, chosen string) []ui.Option {
	var options []ui.Option
	for id, n := range counts {
		if id != "" {
			options = append(options, ui.Option{Value: id, Label: familyName(id) + " (" + format.Count(int64(n)) + ")"})
		}
	}
	slices.SortFunc(options, func(a, b ui.Option) int { return strings.Compare(a.Label, b.Label) })
	return views.OptionsWithAll(options, chosen)
}

// providerModels shows the models to choose from.
func (c *Console) providerModels(p *page.Page) error {
	o, err := c.offered(p)
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, operatorpages.ProviderModelsPage(c.viewOffered(p, o, readQuery(p.QueryParams()))))
}

// selectProviderModels takes what a form has selected, and shows what its button or its filter asks for.
func (c *Console) selectProviderModels(p *page.Page) error {
	values, err := p.FormParams()
	if err != nil {
		return err
	}
	o, err := c.offered(p)
	if err != nil {
		return err
	}
	q := readQuery(values)
	if !q.Follows(values.Get("was")) {
		q.Page = 0
	}
	if n, err := strconv.Atoi(values.Get("go")); err == nil {
		q.Page = max(0, min(n, 1<<20))
	}
	err = c.selections.Change(p.Request().Context(), o.provider.ID, p.User.Email, func(s *selection.Selection) error {
		s.Markup = cmp.Or(s.Markup, markupUsual)
		o.take(s, values, q)
		o.selected = *s
		return nil
	})
	if err != nil && app.KindOf(err) != app.Invalid {
		return err
	}
	v := c.viewOffered(p, o, q)
	path := q.Path(views.ProviderPath(o.provider.ID, "models"))
	if err != nil {
		v.Problem = app.AsError(err).Message
		return c.Render(p, http.StatusUnprocessableEntity, operatorpages.ProviderModelsPage(v))
	}
	if values.Get("do") == "publish" {
		if v.Problem = publishProblem(&v); v.Problem == "" {
			return p.Redirect(http.StatusSeeOther, views.ProviderPath(o.provider.ID, "publish"))
		}
		return c.Render(p, http.StatusUnprocessableEntity, operatorpages.ProviderModelsPage(v))
	}
	if p.ForScript() {
		p.ReplaceURL(path)
		return c.Render(p, http.StatusOK, operatorpages.ProviderModelsPage(v))
	}
	return p.Redirect(http.StatusSeeOther, path)
}

// publishProblem is why a selection cannot be published yet.
func publishProblem(v *operatorpages.ProviderModels) string {
	switch {
	case v.Selected == 0:
		return "Select at least one model."
	case v.MarkupError != "":
		return v.MarkupError
	case v.Unready > 0:
		unready := format.CountOf(int64(v.Unready), "model has", "models have")
		return "Give each selected model a valid markup or price first: " + unready + " none."
	}
	return ""
}

// take changes a selection as a form says. Only models of the provider can be selected.
func (o *offered) take(s *selection.Selection, values url.Values, q operatorpages.ChoiceQuery) {
	known := make(map[string]*library.Choice, len(o.choices))
	for i := range o.choices {
		known[o.choices[i].ID] = &o.choices[i]
	}
	if values.Has("markup") {
		s.Markup = short(values.Get("markup"))
	}
	picked := map[string]bool{}
	for _, id := range values["pick"] {
		picked[id] = true
	}
	for _, id := range values["shown"] {
		if known[id] == nil {
			continue
		}
		if !picked[id] {
			delete(s.Picks, id)
			continue
		}
		pick := s.Picks[id]
		for name, text := range map[string]*string{"markup:": &pick.Markup, "in:": &pick.Input, "out:": &pick.Output} {
			if values.Has(name + id) {
				*text = short(values.Get(name + id))
			}
		}
		s.Picks[id] = pick
	}
	o.selected = *s
	switch values.Get("do") {
	case "select":
		o.pickAll(s, o.matching(q))
	case "clear":
		clear(s.Picks)
	}
	if values.Has("family_select") {
		family := values.Get("family_select")
		var all []*library.Choice
		for i := range o.choices {
			if familyOf(&o.choices[i]) == family {
				all = append(all, &o.choices[i])
			}
		}
		o.pickAll(s, all)
	}
	for id := range s.Picks { // What the provider does not list any more cannot be published.
		if known[id] == nil || o.routed[id] {
			delete(s.Picks, id)
		}
	}
}

func (o *offered) pickAll(s *selection.Selection, choices []*library.Choice) {
	for _, choice := range choices {
		if _, isPicked := s.Picks[choice.ID]; !isPicked && !o.routed[choice.ID] {
			s.Picks[choice.ID] = selection.Pick{}
		}
	}
}

func short(text string) string { return app.MakeStorable(strings.TrimSpace(text), inputBytes) }

// fileModels are the selected models as models of a catalog.
func (o *offered) fileModels() []catalog.FileModel {
	var all []catalog.FileModel
	for i := range o.choices {
		choice := &o.choices[i]
		pick, isSelected := o.picked(choice.ID)
		if !isSelected {
			continue
		}
		factor, _ := o.markup(pick)
		m := choice.FileModel(o.provider.ID, 1, factor)
		if rates, ok := ownRates(pick); ok && !choice.Priced {
			m.Markup, m.Rates = 0, rates
		}
		all = append(all, m)
	}
	return all
}
