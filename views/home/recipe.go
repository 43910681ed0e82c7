package home

import (
	"net/url"
	"strings"
	"time"

	"umg/views"
	"umg/views/codesample"
	"umg/views/format"
	"umg/views/ui"
)

// Needs are what a tool asks of a model: numbers in tokens, zero for any.
type Needs struct {
	Tools      bool // Tools means that the tool sends functions.
	Effort     bool // Effort means that the tool sends a reasoning effort.
	ContextMin int64
	OutputMin  int64
}

// listed joins what is of one kind in a sentence.
func listed(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

// any reports whether every model that answers in the style will do.
func (n Needs) any() bool { return n == Needs{} }

// text names the needs, to follow "needs".
func (n Needs) text() string {
	var all []string
	for _, part := range []struct {
		is   bool
		text string
	}{
		{n.Tools, "tools"},
		{n.Effort, "an effort that can be set"},
		{n.ContextMin > 0, "a context of " + format.Count(n.ContextMin) + " tokens"},
		{n.OutputMin > 0, "answers of " + format.Count(n.OutputMin) + " tokens"},
	} {
		if part.is {
			all = append(all, part.text)
		}
	}
	return listed(all)
}

// RecipeModel is a model as the picker of a recipe shows it.
type RecipeModel struct {
	ID        string
	Context   int64 // Context is in tokens.
	MaxOutput int64 // MaxOutput is in tokens.
	// Price is what a million output tokens cost. It is empty for a model without such a price.
	Price   string
	Reasons []string // Reasons say why the model does not fit; empty when it does.
}

func (m RecipeModel) label() string {
	label := m.ID + " · " + format.Count(m.Context) + " context · " + format.Count(m.MaxOutput) + " output"
	if m.Price != "" {
		label += " · " + m.Price + " per 1M output tokens"
	}
	return label
}

// text says in sentences what the label says in short, because a narrow window cuts the label off.
func (m RecipeModel) text() string {
	text := m.ID + " accepts up to " + format.Count(m.Context) + " tokens of context and answers with up to " + format.Count(m.MaxOutput) +
		" tokens."
	if m.Price != "" {
		text += " It costs " + m.Price + " per million output tokens."
	}
	return text
}

// Why names what the model lacks, to follow its name.
func (m RecipeModel) Why() string { return format.Marked(listed(m.Reasons)) }

// Recipe is how one tool is set up for this gateway.
type Recipe struct {
	ID    string
	Name  string
	Kind  string      // Kind is the group of the program.
	Text  string      // Text describes the program.
	Style views.Style // Style is that of the program's requests.
	Base  string      // Base is the base URL that the program needs: baseV1 or baseBare.
	// Install is the command that installs the tool, empty where there is none.
	Install string
	Needs   Needs
	Steps   []RecipeStep
	Trips   []string // Trips are common mistakes.
}

// RecipeStep is one thing to do: in words, and as text to copy where there is any.
type RecipeStep struct {
	Title   string // Title is empty for the default title.
	Text    string
	Samples []ui.Sample // Samples may have the placeholders {base}, {origin}, {key}, {model}, {context} and {output}.
}

// These are the base URLs that tools want.
const (
	baseV1   = "with /v1"
	baseBare = "without /v1"
)

// These are the groups of recipes, in their order.
const (
	kindCoding   = "Coding assistants"
	kindChat     = "Chat and automation"
	kindLibrary  = "Libraries"
	kindOfficial = "Official SDKs"
)

var recipeKinds = []string{kindCoding, kindChat, kindLibrary, kindOfficial}

func lines(label, source string) []ui.Sample {
	return []ui.Sample{{Name: "text", Label: label, Source: source}}
}

// Recipes are all recipes, by group.
func Recipes() []Recipe {
	var all []Recipe
	all = append(all, codingRecipes...)
	all = append(all, chatRecipes...)
	return append(all, libraryRecipes...)
}

// RecipeOf finds a recipe.
func RecipeOf(id string) (Recipe, bool) {
	for _, r := range Recipes() {
		if r.ID == id {
			return r, true
		}
	}
	return Recipe{}, false
}

// RecipeList is the page with all recipes.
type RecipeList struct {
	views.Shell
}

func (RecipeList) of(kind string) (list []Recipe) {
	for _, r := range Recipes() {
		if r.Kind == kind {
			list = append(list, r)
		}
	}
	return list
}

// RecipeDetail is the page with one recipe.
type RecipeDetail struct {
	views.Shell
	Recipe Recipe
	Model  RecipeModel   // Model is the model in the snippets; it has no id when none fits.
	Models []RecipeModel // Models are those that fit, the best first.
	Others []RecipeModel // Others are models that do not fit.
	// ModelError says why the model that was asked for is not used.
	ModelError string
	KeyHint    string // KeyHint is the masked newest key, with preference for keys with true statuses; empty without a key.
	Fresh      *views.FreshKey
	KeyError   string
	MayKey     bool // MayKey means that the reader may make keys.
	Language   string
	Since      time.Time // Since is the start of the test; zero when none runs.
	Late       bool      // Late means that the test has waited for a minute.
	Arrived    []Arrival // Arrived has the newest call first.
}

func (r Recipe) path() string { return RecipePath(r.ID) }

// baseURL is the base URL as the tool wants it.
func (d RecipeDetail) baseURL() string {
	if d.Recipe.Base == baseBare {
		return d.origin()
	}
	return d.BaseURL
}

func (d RecipeDetail) origin() string { return strings.TrimSuffix(d.BaseURL, "/v1") }

func (d RecipeDetail) key() string {
	if d.Fresh != nil {
		return d.Fresh.Secret
	}
	return codesample.KeyPlaceholder
}

// code is the text of a step with the reader's own values in it.
func (d RecipeDetail) code(i int, s RecipeStep) ui.CodeProps {
	fill := strings.NewReplacer("{base}", d.BaseURL, "{origin}", d.origin(), "{key}", d.key(), "{model}", d.Model.ID,
		"{context}", format.Int64(d.Model.Context), "{output}", format.Int64(d.Model.MaxOutput))
	c := ui.CodeProps{ID: "recipe-" + format.Int(i), Title: "Language", Group: "language", Selected: d.Language}
	for _, sample := range s.Samples {
		if d.Fresh == nil && isProgram(sample.Name) {
			sample.Source = codesample.WithKey(sample.Name, strings.ReplaceAll(sample.Source, `"{key}"`, `{key"}`), "")
		}
		sample.Source = fill.Replace(sample.Source)
		c.Samples = append(c.Samples, sample)
	}
	if len(c.Samples) == 1 {
		c.Title = c.Samples[0].Label
	}
	return c
}

// isProgram reports whether a sample is a program, which reads the key from its variable. Other samples set the key.
func isProgram(name string) bool { return name == "python" || name == "javascript" || name == "go" }

// newKeyPath leads to the form of a key that answers with true statuses, which every tool expects.
func (d RecipeDetail) newKeyPath() string {
	return views.KeysPath + "/new?mode=" + views.ModeStandard + "&name=" + url.QueryEscape(d.Recipe.Name)
}

func (d RecipeDetail) waits() bool { return !d.Since.IsZero() }

func (d RecipeDetail) callsPath() string {
	return d.Recipe.path() + "/calls?since=" + d.Since.UTC().Format(time.RFC3339)
}

// testPath begins the test, with the model that the page shows.
func (d RecipeDetail) testPath() string {
	return d.Recipe.path() + "?since=now&model=" + url.QueryEscape(d.Model.ID)
}

func (d RecipeDetail) modelOptions() (all []ui.Option) {
	for _, m := range d.Models {
		all = append(all, ui.Option{Value: m.ID, Label: m.label()})
	}
	return all
}

// lateHint says what to check when no call arrives.
func (d RecipeDetail) lateHint() string {
	text := "Nothing has arrived for a minute. Is the base URL exactly " + d.baseURL() + "? If the tool still uses its old settings, " +
		"restart it."
	if strings.Contains(d.BaseURL, "//127.0.0.1") || strings.Contains(d.BaseURL, "//localhost") {
		text += " This server is reached at an address of this machine alone: a tool in a container or on another machine cannot see it."
	}
	return text
}

// header is how the tool sends the key.
func (r Recipe) header() string {
	if r.ID == "genai-sdk" {
		return "x-goog-api-key"
	}
	return "Authorization: Bearer"
}

func recipeTitle(r Recipe, i int) string {
	switch {
	case r.Steps[i].Title != "":
		return r.Steps[i].Title
	case len(r.Steps) == 1:
		return "Run this"
	case i == 0:
		return "Configure it"
	default:
		return "Use it"
	}
}

// recipeState marks the step that the reader is at, as far as the page can know.
func recipeState(d RecipeDetail, step int) ui.StepState {
	last := len(d.Recipe.Steps) + 2
	reached := 1
	switch {
	case len(d.Arrived) > 0 && d.Arrived[0].answered() && d.Arrived[0].Logged != nil:
		reached = last + 1
	case d.waits():
		reached = last
	case d.Fresh != nil:
		reached = 2
	}
	switch {
	case step < reached:
		return ui.StepDone
	case step == reached:
		return ui.StepCurrent
	}
	return ui.StepNext
}

func (a Arrival) tone() string {
	if a.answered() {
		return ""
	}
	return "warning"
}

func (a Arrival) icon() ui.IconName {
	if a.answered() {
		return ui.IconCircleCheck
	}
	return ui.IconTriangleAlert
}

// RecipePath leads to the recipe of a tool.
func RecipePath(id string) string { return views.RecipesPath + "/" + id }
