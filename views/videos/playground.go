package videos

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/codesample"
	"umg/views/format"
	"umg/views/ui"
)

// Playground is the page to make videos on.
type Playground struct {
	views.Shell
	Models   []Model      // models that make videos today, and paused ones
	Warned   *views.Model // the requested model when it is paused or failing
	Form     Form
	Errors   map[string]string // errors by field: model, also, prompt, size, seconds, input_reference, asset_ids
	Trouble  *views.PlayTrouble
	Ask      app.Amount // price above which a confirmation is needed; zero always asks
	Confirm  bool       // the price needs a confirmation
	Total    app.Amount // the price to confirm
	Once     string     // idempotency name: a form that is sent twice makes its videos once
	Started  []Video    // the videos that the form started
	ImageMax int64      // maximum bytes of an image
	Assets   []Asset    // active assets of the account to choose from, newest first
	More     int        // number of further active assets
}

// Model is a model that makes videos, with what it takes and charges.
type Model struct {
	ID, Name, Owner, Description string
	Sizes                        []string
	Seconds                      []int
	PerSecond                    map[string]app.Amount // price per second, by size
	Pictures                     bool                  // the model takes a first frame
	Assets                       int                   // maximum number of assets in a request; zero for a model that takes none
	State                        views.Model           // the state of the model, as all pages show it
}

// Callable reports whether calls of the model are let in.
func (m Model) Callable() bool { return m.State.Callable() }

// stateWords are the state of a model that readers should know of before they choose it, after a comma.
func (m Model) stateWords(now time.Time) string {
	if !m.State.Warns() {
		return ""
	}
	return ", " + strings.ToLower(m.State.Badge(now).Text)
}

// Form is what was written into the form.
type Form struct {
	Model, Also, Prompt, Size string
	Seconds                   int
	Assets                    []string // asset ids
	HadImage                  bool     // an image came with the form; a browser does not keep it
}

// PlaygroundPath is the playground with what a video was made of.
func PlaygroundPath(v Video) string {
	values := url.Values{
		"model": {v.Model}, "size": {v.Size}, "seconds": {strconv.Itoa(v.Seconds)}, "prompt": {format.Truncate(v.Prompt, linkRunesMax)},
	}
	if len(v.Assets) > 0 {
		values["asset_ids"] = v.Assets
	}
	return views.VideoPlayPath + "?" + values.Encode()
}

const linkRunesMax = 2000 // characters of a prompt in an address

func (p Playground) find(id string) (Model, bool) {
	for _, m := range p.Models {
		if m.ID == id {
			return m, true
		}
	}
	return Model{}, false
}

func (p Playground) model() Model {
	m, _ := p.find(p.Form.Model)
	return m
}

// cost is what the form's videos cost together.
func (p Playground) cost() app.Amount {
	total := app.Amount(0)
	for _, id := range []string{p.Form.Model, p.Form.Also} {
		if m, ok := p.find(id); ok {
			total += m.PerSecond[p.Form.Size] * app.Amount(p.Form.Seconds)
		}
	}
	return total
}

// priceWords is the calculation of the price, in words.
func (p Playground) priceWords() string {
	var parts []string
	for _, id := range []string{p.Form.Model, p.Form.Also} {
		if m, ok := p.find(id); ok {
			parts = append(parts, format.Seconds(p.Form.Seconds)+" × "+format.Dollars(m.PerSecond[p.Form.Size]))
		}
	}
	return strings.Join(parts, " + ") + " = " + format.Dollars(p.cost())
}

func (p Playground) balanceWords() string {
	if !p.Balance.Known || p.Balance.Uncharged {
		return ""
	}
	after := p.Balance.Available - p.cost()
	if after < 0 {
		return "more than your balance of " + format.Dollars(p.Balance.Available)
	}
	return "Balance after: " + format.Dollars(after)
}

// rates are the prices of a model for the script: size:nano-dollars for a second.
func (m Model) rates() string {
	words := make([]string, len(m.Sizes))
	for i, size := range m.Sizes {
		words[i] = size + ":" + strconv.FormatInt(int64(m.PerSecond[size]), 10)
	}
	return strings.Join(words, " ")
}

func (m Model) lengths() string {
	words := make([]string, len(m.Seconds))
	for i, n := range m.Seconds {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, " ")
}

// priceRange is what a second costs, from the cheapest size to the dearest.
func (m Model) priceRange() string {
	low, high := app.Amount(0), app.Amount(0)
	for i, size := range m.Sizes {
		price := m.PerSecond[size]
		if i == 0 || price < low {
			low = price
		}
		high = max(high, price)
	}
	if low == high {
		return format.Dollars(low) + "/s"
	}
	return format.Dollars(low) + "–" + format.Dollars(high) + "/s"
}

func (m Model) secondsOptions() []ui.ChipOption {
	options := make([]ui.ChipOption, len(m.Seconds))
	for i, n := range m.Seconds {
		options[i] = ui.ChipOption{Value: strconv.Itoa(n), Label: format.Seconds(n)}
	}
	return options
}

// alsoOptions are the models that can make the same video beside the chosen one.
func (p Playground) alsoOptions() []Model {
	var models []Model
	for _, m := range p.Models {
		if m.ID != p.Form.Model && (m.Callable() || m.ID == p.Form.Also) {
			models = append(models, m)
		}
	}
	return models
}

func (p Playground) wrong(field string) string { return p.Errors[field] }

// invalid is what marks a field that something is wrong with.
func (p Playground) invalid(field string) string {
	if p.Errors[field] != "" {
		return "true"
	}
	return "false"
}

// typedAssets are the ids in the form that are none of those to choose from.
func (p Playground) typedAssets() string {
	typed := slices.DeleteFunc(slices.Clone(p.Form.Assets), func(id string) bool {
		return slices.ContainsFunc(p.Assets, func(a Asset) bool { return a.ID == id })
	})
	return strings.Join(typed, " ")
}

// assetsHint says how many assets a video may use, and where others are.
func (p Playground) assetsHint() string {
	hint := "A video of this model may use up to " + format.CountOf(int64(p.model().Assets), "asset", "assets") + "."
	if p.More > 0 {
		hint += " " + format.CountOf(int64(p.More), "older one is", "older ones are") + " not listed here; give them by their ids."
	}
	return hint
}

// Code is a video as programs that make it.
type Code struct {
	views.Shell
	Video    Video
	KeyHint  string
	Language string
}

// samples are the programs that create the video.
func (c Code) samples(hook bool) []ui.Sample {
	v := c.Video
	return codesample.OfVideo(c.BaseURL, codesample.Video{Model: v.Model, Prompt: v.Prompt, Size: v.Size, Seconds: v.Seconds, Assets: v.Assets,
		RemixedFrom: v.RemixedFrom}, hook)
}

func (c Code) tabs() ui.TabsProps {
	return ui.TabsProps{
		ID: "video-code", Title: "Way",
		Tabs: []ui.Tab{{Name: "poll", Label: "Create, wait, download"}, {Name: "webhook", Label: "Be told by webhook"}},
	}
}

// objects is the pronoun for the form's videos in a sentence.
func (p Playground) objects() string {
	if p.Form.Also != "" {
		return "both"
	}
	return "it"
}

func (p Playground) countWords() string {
	if p.Form.Also != "" {
		return "2 videos"
	}
	return "video"
}

// AskWords say when the page asks for confirmation before it makes videos.
func AskWords(above app.Amount) string {
	if above == 0 {
		return "before each video"
	}
	return "before videos that cost more than " + format.Dollars(above)
}

// askWhy says why the price has to be agreed to.
func askWhy(above app.Amount) string {
	if above == 0 {
		return "You want to be asked each time, so please agree to it."
	}
	return "It is more than " + format.Dollars(above) + ", so please agree to it."
}

const askPath = views.SettingsPath + "#videos"

// balanceNanos is the balance for the script, empty while it is not known.
func (p Playground) balanceNanos() string {
	if !p.Balance.Known || p.Balance.Uncharged {
		return ""
	}
	return strconv.FormatInt(int64(p.Balance.Available), 10)
}

type box struct{ x, y, w, h string }

// drawn fits a size into a square of 32.
func drawn(size string) box {
	const side, longest = 32, 26
	w, h := dimensions(size)
	if w == 0 || h == 0 {
		w, h = 1, 1
	}
	most := max(w, h)
	w, h = max(w*longest/most, 1), max(h*longest/most, 1)
	return box{strconv.Itoa((side - w) / 2), strconv.Itoa((side - h) / 2), strconv.Itoa(w), strconv.Itoa(h)}
}
