package views

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/views/format"
)

// UnitThousand is the unit of a list that shows prices of a thousand tokens. Without a unit prices are of a million.
const UnitThousand = "1k"

// DocumentPath is where the console serves one of the model's two contract documents.
func (m Model) DocumentPath(name string) string {
	return "/console/model/" + name + "?model=" + url.QueryEscape(m.ID)
}

// APIDocumentPath is where programs fetch the same document.
func (m Model) APIDocumentPath(name string) string { return "/v1/model/" + name + "?model=" + m.ID }

// SizesText lists the sizes of images or videos that the model makes.
func (m Model) SizesText() string { return strings.Join(m.Sizes, ", ") }

// SecondsText lists the lengths of a video, in seconds.
func (m Model) SecondsText() string {
	words := make([]string, len(m.Seconds))
	for i, s := range m.Seconds {
		words[i] = format.Count(s)
	}
	return strings.Join(words, ", ")
}

// Dates are the days of the model's life.
func (m Model) Dates(now time.Time) []LimitRow {
	rows := []LimitRow{{Name: "Released", Value: format.Day(m.Released)}}
	if m.Released.After(now) {
		rows[0].Name = "Expected"
	}
	for _, one := range []struct {
		name string
		at   *time.Time
	}{{"Deprecated", m.Deprecated}, {"Shuts down", m.Shutdown}} {
		if one.at != nil {
			rows = append(rows, LimitRow{Name: one.name, Value: format.Day(*one.at)})
		}
	}
	return rows
}

// PartPath is the address from which a part of the model's page is loaded again.
func (m Model) PartPath(part string) string {
	return "/console/model/" + part + "?" + url.Values{"model": {m.ID}}.Encode()
}

// ModelRef names a model in a link.
type ModelRef struct{ ID, Name string }

// ModelNow is how a model does: the calls of the last 24 hours over all accounts, and what to call while it does badly. What is not known
// is zero.
type ModelNow struct {
	Answered, Failed           int64
	Judged                     bool // There were enough calls to judge the model.
	NoRoute                    bool // Every provider was set aside, because it fails.
	FirstByteP50, FirstByteP95 time.Duration
	DurationP50, DurationP95   time.Duration
	Speed                      int64 // Speed is in thousandths of tokens per second.
	Instead                    []ModelRef
}

// Calls is how many calls count for or against the model.
func (n ModelNow) Calls() int64 { return n.Answered + n.Failed }

// TooFewCalls stands where a share of calls would say nothing.
const TooFewCalls = "Too few calls to judge"

// HealthText is the share of calls that succeeded, their number and the time they are of.
func (n ModelNow) HealthText() string {
	if !n.Judged {
		return TooFewCalls
	}
	return SuccessShare(n.Answered, n.Calls()) + " success · " + format.CountOf(n.Calls(), "call", "calls") + " · 24 h"
}

// SuccessShare is a share of calls in percent with a decimal. It is rounded down, so that not quite all are never shown as all.
func SuccessShare(answered, calls int64) string {
	const parts = 1000
	if calls <= 0 {
		return "–"
	}
	n := answered * parts / calls
	if n == parts {
		return "100%"
	}
	return format.Decimal(n, 1) + "%"
}

// SpeedText prints tokens a second in three digits or so.
func (n ModelNow) SpeedText() string {
	const thousandths, whole = 1000, 100_000
	switch {
	case n.Speed <= 0:
		return "–"
	case n.Speed >= whole:
		return format.Count(n.Speed / thousandths)
	}
	return format.Decimal(n.Speed/(thousandths/10), 1)
}

// From these shares of failures, in thousandths, a day of a model is drawn as troubled and as failing.
const (
	TroubledFrom = 10
	FailingFrom  = 100
)

// AmountOf is the price of a meter as people quote it, -1 for none.
func (m Model) AmountOf(meter string) int64 {
	if p, ok := m.Price(meter); ok {
		amount, _ := p.Quoted()
		return int64(amount)
	}
	return -1
}

// thousand is how many thousands a million has.
const thousand = 3

// in is the price in the unit that the reader chose. It is exact: what is too fine for an amount is shifted as digits.
func (p Price) in(unit string) (text, per string) {
	amount, per := p.Quoted()
	if unit != UnitThousand || per != "1M tokens" && per != "1M characters" {
		return format.Dollars(amount), per
	}
	return "$" + shiftedRight(amount, thousand), "1K" + strings.TrimPrefix(per, "1M")
}

// shiftedRight divides an amount by a power of ten without rounding, with two decimals at least.
func shiftedRight(a app.Amount, places int) string {
	whole, fraction, _ := strings.Cut(a.String(), ".")
	whole = strings.Repeat("0", places) + whole
	fraction = whole[len(whole)-places:] + fraction
	whole = strings.TrimLeft(whole[:len(whole)-places], "0")
	if whole == "" {
		whole = "0"
	}
	fraction = strings.TrimRight(fraction, "0")
	for len(fraction) < 2 {
		fraction += "0"
	}
	return format.Number(whole + "." + fraction)
}

// TextIn is the price in the unit that the reader chose.
func (p Price) TextIn(unit string) string {
	text, _ := p.in(unit)
	return text
}

// SpanIn is span in the unit that the reader chose.
func (m Model) SpanIn(unit string) (text, per string) {
	if len(m.SizePrices) == 0 && len(m.Prices) == 1 {
		return m.Prices[0].in(unit)
	}
	return m.span()
}

// ShortIn is the price for a card in the unit that the reader chose.
func (m Model) ShortIn(unit string) string {
	if !m.ByToken() {
		if text, per := m.SpanIn(unit); text != "" {
			return text + " per " + per
		}
		return "not priced yet"
	}
	var parts []string
	per := ""
	for _, name := range []string{"input_tokens", "output_tokens"} {
		if p, ok := m.Price(name); ok {
			var text string
			text, per = p.in(unit)
			parts = append(parts, text+" "+MeterWords[name].short)
		}
	}
	return strings.Join(parts, " · ") + " per " + per
}

// ModelFeatures are what a request may ask of a model in addition to an answer: its name in an address, the parameter of the
// contract that allows it, and its words.
var ModelFeatures = []struct{ Name, parameter, Label string }{
	{"tools", "tools", "Tools"},
	{"json", "response_format", "JSON answers"},
	{"schema", "structured_outputs", "JSON Schema"},
	{"reasoning", "reasoning_effort", "Reasoning effort"},
	{"seed", "seed", "Seed"},
	{"logprobs", "logprobs", "Log probabilities"},
	{"vision", "", "Image input"},
}

// Supports says whether the model's contracts allow a feature.
func (m Model) Supports(feature string) bool {
	for _, f := range ModelFeatures {
		if f.Name == feature {
			return f.parameter == "" && m.Takes("image") || f.parameter != "" && slices.Contains(m.Parameters, f.parameter)
		}
	}
	return false
}

// Statuses are what the list of models is filtered by: the state of the model, and whether it is deprecated.
func (m Model) Statuses(now time.Time) []string {
	list := []string{string(m.State)}
	if m.Deprecated != nil && !m.Deprecated.After(now) {
		list = append(list, "deprecated")
		if m.State == ModelAvailable {
			list = list[1:]
		}
	}
	return list
}

// Heading is the price that models are chosen by: of a million tokens in, or of the least of whatever else it is priced by.
func (m Model) Heading() (app.Amount, bool) {
	for _, name := range []string{"input_tokens", "output_tokens"} {
		if p, ok := m.Price(name); ok {
			amount, _ := p.Quoted()
			return amount, true
		}
	}
	least, _, _, known := m.bounds()
	return least, known
}

// StyleNames are the stable names of the styles in which the model answers.
func (m Model) StyleNames() []string {
	names := make([]string, len(m.Styles))
	for i, s := range m.Styles {
		names[i] = string(s)
	}
	return names
}

// OtherPrices are prices of a model that differ from the usual ones: by size, and for some calls.
type OtherPrices struct {
	SizePrices []SizePrice
	Conditions []PriceCondition
}

// Model is what the pages say about one model.
type Model struct {
	ID, Name, Description, Owner, Kind string
	Capabilities, Input, Output        []string
	ContextTokens, MaxOutput           int64
	Styles                             []Style // Styles are those in which the model answers today.
	Prices                             []Price
	OtherPrices
	Limits     Limits
	Sizes      []string
	Seconds    []int64
	State      ModelState
	Notice     string
	Released   time.Time
	Parameters []string // Parameters are optional members that the contracts allow.
	Now        ModelNow
	Successor  string // Successor is the model to use when this one is removed.
	// Fallbacks are the models that serve, in this order, when no provider of this one answers.
	Fallbacks            []string
	Deprecated, Shutdown *time.Time
}

// Price is what a quantity of a meter costs.
type Price struct {
	Meter  string // Meter is a name such as input_tokens.
	Amount app.Amount
	Per    int64
	Like   string // Like is the meter whose price applies when this one has none.
}

// Label is what the price is for.
func (p Price) Label() string { return MeterWords[p.Meter].Label }

// Quoted is the price in the quantity that people use for its meter.
func (p Price) Quoted() (app.Amount, string) {
	m, err := meter.Parse(p.Meter)
	if err != nil {
		return p.Amount, format.Count(p.Per) + " " + strings.ReplaceAll(p.Meter, "_", " ")
	}
	amount, unit := m.Quote(int64(p.Amount), p.Per)
	return app.Amount(amount), unit
}

// Unit is the quantity the price is for.
func (p Price) Unit() string {
	_, unit := p.Quoted()
	return unit
}

// Text is the amount for one such quantity.
func (p Price) Text() string {
	amount, _ := p.Quoted()
	return format.Dollars(amount)
}

// Price is the model's own price of a meter.
func (m Model) Price(meter string) (Price, bool) {
	for _, p := range m.Prices {
		if p.Meter == meter && p.Like == "" {
			return p, true
		}
	}
	return Price{}, false
}

// PricesInOrder are all prices in the order in which people read them.
func (m Model) PricesInOrder() []Price {
	prices := slices.Clone(m.Prices)
	slices.SortStableFunc(prices, func(a, b Price) int { return slices.Index(MeterOrder, a.Meter) - slices.Index(MeterOrder, b.Meter) })
	return prices
}

// ByToken says whether the model is priced by tokens in and out.
func (m Model) ByToken() bool {
	_, in := m.Price("input_tokens")
	_, out := m.Price("output_tokens")
	return in || out
}

// bounds are the least and the most that a model costs by anything but tokens, and the unit.
func (m Model) bounds() (least, most app.Amount, unit string, known bool) {
	first := ""
	for _, p := range m.PricesInOrder() {
		if p.Like == "" && first == "" {
			first = p.Meter
		}
	}
	// Prices of different meters cannot be compared. The first meter is what the model makes.
	note := func(p Price) {
		if p.Like != "" || first != "" && p.Meter != first {
			return
		}
		amount, u := p.Quoted()
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
		return format.Dollars(least), unit
	default:
		return format.Dollars(least) + " – " + format.Dollars(most), unit
	}
}

// PriceLine is the whole price in one short line.
func (m Model) PriceLine() string {
	if m.ByToken() {
		return m.PriceShort() + " per 1M tokens"
	}
	return m.PriceShort()
}

// PriceShort is the price for lists to choose from.
func (m Model) PriceShort() string {
	if !m.ByToken() {
		if text, unit := m.span(); text != "" {
			return text + " per " + unit
		}
		return ""
	}
	var parts []string
	for _, name := range []string{"input_tokens", "output_tokens"} {
		if p, ok := m.Price(name); ok {
			parts = append(parts, p.Text()+" "+MeterWords[name].short)
		}
	}
	return strings.Join(parts, " · ")
}

// Modality is what goes in and what comes out.
func (m Model) Modality() string {
	return strings.Join(m.Input, ", ") + " → " + strings.Join(m.Output, ", ")
}

// Takes says whether the model reads a kind of input.
func (m Model) Takes(kind string) bool { return slices.Contains(m.Input, kind) }

// FallbackPrice says whose price a call costs that another model serves.
func (m Model) FallbackPrice() string {
	if len(m.Fallbacks) == 1 {
		return m.Fallbacks[0] + "’s"
	}
	return "its own"
}

// Words are what the filter of the list of models looks in.
func (m Model) Words() string { return strings.ToLower(m.Name + " " + m.ID + " " + m.Owner) }
