package views

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/views/ui"
)

const modelsPath = "/console/models"

// ModelPath is the page of a model.
func ModelPath(id string) string {
	parts := strings.Split(id, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return modelsPath + "/" + strings.Join(parts, "/")
}

// PlaygroundPath is the playground with a model chosen.
func PlaygroundPath(model string) string {
	return playgroundPath + "?" + url.Values{"model": {model}}.Encode()
}

// ModelState says whether a model can be called.
type ModelState string

// The states of a model.
const (
	ModelAvailable ModelState = "available"
	ModelComing    ModelState = "coming"
	ModelPaused    ModelState = "paused"
	ModelUnserved  ModelState = "unserved" // no provider of it can be used
)

// Model is what the pages say about one model.
type Model struct {
	ID, Name, Description, Owner, Kind string
	Capabilities, Input, Output        []string
	ContextTokens, MaxOutput           int64
	Styles                             []Style // styles in which it answers today
	Prices                             []Price
	SizePrices                         []SizePrice
	Limits                             Limits
	Sizes                              []string
	Seconds                            []int64
	State                              ModelState
	Notice                             string
	Released                           time.Time
	Parameters                         []string // optional members that its contracts allow
	Now                                ModelNow
	Successor                          string // the model to use when this one is removed
	// Fallbacks are the models that serve, in this order, when no provider of this one answers.
	Fallbacks            []string
	Deprecated, Shutdown *time.Time
}

// Style is one of the API's protocol styles, by its stable name.
type Style string

// styleLabels name the styles for people, styleNotes say where they are called.
var styleLabels = map[Style]string{
	"chat": "Chat completions", "messages": "Messages", "responses": "Responses", "native": "Native", videosStyle: "Videos",
}

// videosStyle is what the one way to call a video model is named by.
const videosStyle Style = "videos"

// path is where the style is called.
func (s Style) path() string {
	if s == videosStyle {
		return "/v1/videos"
	}
	return stylePaths[s]
}

// Address is where the style is called, for other packages.
func (s Style) Address() string { return s.path() }

// Label is the style's name for people.
func (s Style) Label() string {
	if label, ok := styleLabels[s]; ok {
		return label
	}
	return string(s)
}

// stylePaths are where each style is called, below the address of the server.
var stylePaths = map[Style]string{
	"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses", "native": "/vendorc/native",
}

// Limits are what the reader's account may do with a model. Zero is no limit.
type Limits struct {
	RequestsPerMinute, RequestsPerDay, TokensPerMinute, Concurrency, JobsPerDay, JobsRunning int64

	AccountRequests, AccountTokens int64       // per minute, on all models together
	Left                           *LimitsLeft // now; nil when it was not read
}

// LimitsLeft is what is left of limits now, as far as there are such limits.
type LimitsLeft struct {
	RequestsPerMinute, RequestsPerDay, TokensPerMinute, Concurrency, AccountRequests, AccountTokens int64
}

// Price is what a quantity of a meter costs.
type Price struct {
	Meter  string // such as input_tokens
	Amount app.Amount
	Per    int64
	Like   string // the meter whose price applies when this one has none
}

// SizePrice is a price that differs by the size of the output.
type SizePrice struct {
	Size  string
	Price Price
}

// meterWords say what a meter counts: its name in a table, its name in a line, and the quantity that people price it by.
var meterWords = map[string]struct {
	label, short, unit string
	quantity           int64
}{
	"input_tokens":       {"Input", "in", "1M tokens", 1_000_000},
	"cache_read_tokens":  {"Cached input, read", "cached", "1M tokens", 1_000_000},
	"cache_write_tokens": {"Cached input, written", "cache write", "1M tokens", 1_000_000},
	"output_tokens":      {"Output", "out", "1M tokens", 1_000_000},
	"reasoning_tokens":   {"Reasoning", "reasoning", "1M tokens", 1_000_000},
	"images":             {"Each image", "", "image", 1},
	"seconds":            {"Each second", "", "second", 1},
	"characters":         {"Characters", "", "1M characters", 1_000_000},
	"requests":           {"Each request", "", "request", 1},
}

// meterOrder is the order in which prices are read.
var meterOrder = []string{
	"input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
	"images", "seconds", "characters", "requests",
}

// Label is what the price is for.
func (p Price) Label() string { return meterWords[p.Meter].label }

// quoted is the price in the quantity that people use for its meter.
func (p Price) quoted() (app.Amount, string) {
	w, known := meterWords[p.Meter]
	if !known || p.Per <= 0 || w.quantity%p.Per != 0 {
		return p.Amount, Count(p.Per) + " " + strings.ReplaceAll(p.Meter, "_", " ")
	}
	return p.Amount * app.Amount(w.quantity/p.Per), w.unit
}

// Unit is the quantity the price is for.
func (p Price) Unit() string {
	_, unit := p.quoted()
	return unit
}

// Text is the amount for one such quantity.
func (p Price) Text() string {
	amount, _ := p.quoted()
	return Dollars(amount)
}

// price is the model's own price of a meter.
func (m Model) price(meter string) (Price, bool) {
	for _, p := range m.Prices {
		if p.Meter == meter && p.Like == "" {
			return p, true
		}
	}
	return Price{}, false
}

// pricesInOrder are all prices in the order in which people read them.
func (m Model) pricesInOrder() []Price {
	prices := slices.Clone(m.Prices)
	slices.SortStableFunc(prices, func(a, b Price) int { return slices.Index(meterOrder, a.Meter) - slices.Index(meterOrder, b.Meter) })
	return prices
}

// byToken says whether the model is priced by tokens in and out.
func (m Model) byToken() bool {
	_, in := m.price("input_tokens")
	_, out := m.price("output_tokens")
	return in || out
}

// bounds are the least and the most that a model costs by anything but tokens, and the unit.
func (m Model) bounds() (least, most app.Amount, unit string, known bool) {
	note := func(p Price) {
		if p.Like != "" {
			return
		}
		amount, u := p.quoted()
		if !known || amount < least {
			least = amount
		}
		if !known || amount > most {
			most = amount
		}
		known, unit = true, u
	}
	for _, p := range m.Prices {
		note(p)
	}
	for _, s := range m.SizePrices {
		note(s.Price)
	}
	return least, most, unit, known
}

// span is the price of a model that is not priced by tokens: one amount, or the least and the most of its sizes.
func (m Model) span() (text, unit string) {
	least, most, unit, known := m.bounds()
	switch {
	case !known:
		return "", ""
	case least == most:
		return Dollars(least), unit
	default:
		return Dollars(least) + " – " + Dollars(most), unit
	}
}

// priceLine is the whole price in one short line.
func (m Model) priceLine() string {
	if m.byToken() {
		return m.priceShort() + " per 1M tokens"
	}
	return m.priceShort()
}

// priceShort is the price for lists to choose from.
func (m Model) priceShort() string {
	if !m.byToken() {
		if text, unit := m.span(); text != "" {
			return text + " per " + unit
		}
		return ""
	}
	var parts []string
	for _, meter := range []string{"input_tokens", "output_tokens"} {
		if p, ok := m.price(meter); ok {
			parts = append(parts, p.Text()+" "+meterWords[meter].short)
		}
	}
	return strings.Join(parts, " · ")
}

// verdict is the badge of the model at a moment.
func (m Model) verdict(now time.Time) verdict {
	switch {
	case m.State == ModelComing:
		return verdict{ui.Brand, "Coming"}
	case m.State == ModelPaused:
		return verdict{ui.Warning, "Paused"}
	case m.State == ModelUnserved:
		return verdict{ui.Danger, "No provider"}
	case m.Shutdown != nil && !m.Shutdown.After(now):
		return verdict{ui.Danger, "Shut down"}
	case m.Deprecated != nil && !m.Deprecated.After(now):
		return verdict{ui.Warning, "Deprecated"}
	default:
		return verdict{ui.Success, "Available"}
	}
}

// Callable says whether the model answers now.
func (m Model) Callable() bool {
	return m.State == ModelAvailable && (len(m.Styles) > 0 || m.Kind == videoKind)
}

const videoKind = "video"

// playgroundPath is where the model can be tried.
func (m Model) playgroundPath() string {
	if m.Kind == videoKind {
		return videoPlayPath + "?" + url.Values{"model": {m.ID}}.Encode()
	}
	return PlaygroundPath(m.ID)
}

// lifecycle is what is to be known of the model's state besides its badge: a title, a sentence and their tone. There is
// none for a model that simply works.
func (m Model) lifecycle(now time.Time) (title, text string, tone ui.Tone) {
	badge := m.verdict(now)
	title, text, tone = badge.text, m.Notice, badge.tone
	usual := ""
	switch {
	case m.State == ModelComing:
		usual, tone = "It is announced and cannot be called yet.", ui.Info
	case m.State == ModelPaused:
		usual = "It takes no new calls for now."
	case m.State == ModelUnserved:
		usual = "None of its providers can be used from this server."
	case m.Shutdown != nil && m.Shutdown.After(now):
		title, usual, tone = "Shuts down on "+dayTime(*m.Shutdown), "Move to another model before then.", ui.Warning
	case m.Shutdown != nil:
		usual = "Move to another model."
	case m.Deprecated != nil && m.Deprecated.After(now):
		title, usual, tone = "Deprecated from "+dayTime(*m.Deprecated), "It goes on working; newer models are the better choice.", ui.Info
	case m.Deprecated != nil:
		usual = "It goes on working; newer models are the better choice."
	default:
		title, tone = "Good to know", ui.Info
	}
	if text == "" {
		text = usual
	}
	return title, text, tone
}

// modality is what goes in and what comes out.
func (m Model) modality() string {
	return strings.Join(m.Input, ", ") + " → " + strings.Join(m.Output, ", ")
}

// takes says whether the model reads a kind of input.
func (m Model) takes(kind string) bool { return slices.Contains(m.Input, kind) }

// Short prints a count of tokens the way people say it: 128K, 1M, 65.5K.
func Short(n int64) string {
	const kilo, mega, giga = 1_000, 1_000_000, 1_000_000_000
	switch {
	case n >= giga:
		return shortened(n, giga) + "B"
	case n >= mega:
		return shortened(n, mega) + "M"
	case n >= kilo:
		return shortened(n, kilo) + "K"
	default:
		return strconv.FormatInt(n, 10)
	}
}

func shortened(n, unit int64) string {
	tenths := (n*10 + unit/2) / unit
	if tenths%10 == 0 || tenths >= 1000 {
		return strconv.FormatInt(tenths/10, 10)
	}
	return decimal(tenths, 1)
}

// lines are the limits that people meet first, and what is left of them now.
func (l Limits) lines() (first, second string) {
	left := l.left()
	if l.RequestsPerMinute > 0 {
		first = ofLimit(left.RequestsPerMinute, l.RequestsPerMinute) + " req/min"
	}
	switch {
	case l.TokensPerMinute > 0:
		second = ofLimit(left.TokensPerMinute, l.TokensPerMinute) + " tok/min"
	case l.JobsPerDay > 0:
		second = Short(l.JobsPerDay) + " jobs/day"
	case l.RequestsPerDay > 0:
		second = ofLimit(left.RequestsPerDay, l.RequestsPerDay) + " req/day"
	}
	return first, second
}

// unknownLeft stands for what is left where that is not known.
const unknownLeft = -1

// left is what is left of each limit.
func (l Limits) left() LimitsLeft {
	if l.Left != nil {
		return *l.Left
	}
	return LimitsLeft{unknownLeft, unknownLeft, unknownLeft, unknownLeft, unknownLeft, unknownLeft}
}

// ofLimit is a limit, with what is left of it where that is known.
func ofLimit(left, limit int64) string {
	if left == unknownLeft {
		return Short(limit)
	}
	return Short(left) + " of " + Short(limit)
}

// limitRow is one line of the table of limits.
type limitRow struct{ name, value, left string }

func (l Limits) rows() []limitRow {
	left := l.left()
	var rows []limitRow
	for _, one := range []struct {
		name    string
		n, left int64
	}{
		{"Requests a minute", l.RequestsPerMinute, left.RequestsPerMinute},
		{"Requests a day", l.RequestsPerDay, left.RequestsPerDay},
		{"Tokens a minute", l.TokensPerMinute, left.TokensPerMinute},
		{"Calls at once", l.Concurrency, left.Concurrency},
		{"Jobs a day", l.JobsPerDay, unknownLeft},
		{"Jobs running at once", l.JobsRunning, unknownLeft},
		{"Requests a minute, all models", l.AccountRequests, left.AccountRequests},
		{"Tokens a minute, all models", l.AccountTokens, left.AccountTokens},
	} {
		if one.n <= 0 {
			continue
		}
		row := limitRow{name: one.name, value: Count(one.n)}
		if one.left != unknownLeft {
			row.left = Count(one.left)
		}
		rows = append(rows, row)
	}
	return rows
}

// fallbackPrice says whose price a call costs that another model serves.
func (m Model) fallbackPrice() string {
	if len(m.Fallbacks) == 1 {
		return m.Fallbacks[0] + "’s"
	}
	return "its own"
}
