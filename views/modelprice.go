package views

import (
	"maps"
	"strings"

	"umg/app/meter"
	"umg/views/format"
)

// ModelState says whether a model can be called, and how its calls go. Package modelstatus decides it.
type ModelState string

// The states of a model.
const (
	ModelAvailable ModelState = "available"
	ModelDegraded  ModelState = "degraded" // A hundredth of its calls fail.
	ModelFailing   ModelState = "failing"  // A tenth of its calls fail, or no provider answers.
	ModelPaused    ModelState = "paused"
	ModelUnserved  ModelState = "unavailable" // None of its providers can be used.
	ModelComing    ModelState = "coming"
	ModelEnded     ModelState = "ended"
)

// Style is one of the API's protocol styles, by its stable name.
type Style string

// StyleLabels name the styles for people, styleNotes say where they are called.
var StyleLabels = map[Style]string{
	"chat": "Chat completions", "messages": "Messages", "responses": "Responses", "native": "Native", VideosStyle: "Videos",
}

// VideosStyle is what the one way to call a video model is named by.
const VideosStyle Style = "videos"

// Path is where the style is called.
func (s Style) Path() string {
	if s == VideosStyle {
		return "/v1/videos"
	}
	return StylePaths[s]
}

// Address is where the style is called, for other packages.
func (s Style) Address() string { return s.Path() }

// Label is the style's name for people.
func (s Style) Label() string {
	if label, ok := StyleLabels[s]; ok {
		return label
	}
	return string(s)
}

// StylePaths are where each style is called, below the address of the server.
var StylePaths = map[Style]string{
	"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses", "native": "/vendorc/native",
}

// Limits are what the reader's account may do with a model. Zero is no limit.
type Limits struct {
	RequestsPerMinute, RequestsPerDay, TokensPerMinute, Concurrency, JobsPerDay, JobsRunning int64

	AccountRequests, AccountTokens int64 // per minute, on all models together
	// UsualConcurrency is the concurrency of a model without a limit of its own.
	UsualConcurrency int64
	Left             *LimitsLeft // now; nil when it was not read
}

// LimitsLeft is what is left of limits now, as far as there are such limits.
type LimitsLeft struct {
	RequestsPerMinute, RequestsPerDay, TokensPerMinute, Concurrency, AccountRequests, AccountTokens int64
}

// SizePrice is a price that differs by the size of the output.
type SizePrice struct {
	Size  string
	Price Price
}

// MeterWord says what a meter counts: its name in a table, and its name in a line.
type MeterWord struct{ Label, short string }

// MeterWords are the words of all meters.
var MeterWords = meterWords()

func meterWords() map[string]MeterWord {
	words := map[string]MeterWord{}
	for m := range meter.Count {
		words[m.String()] = MeterWord{Label: m.Info().Label}
	}
	maps.Copy(words, map[string]MeterWord{
		"input_tokens": {"Input", "in"}, "output_tokens": {"Output", "out"}, "reasoning_tokens": {"Reasoning", "reasoning"},
		"cache_read_tokens": {"Cached input, read", "cached"}, "cache_write_tokens": {"Cached input, written", "cache write"},
		"images": {"Each image", ""}, "seconds": {"Each second", ""}, "requests": {"Each request", ""},
	})
	return words
}

// MeterOrder is the order in which prices are read: what goes in, what comes out, other media, and fees.
var MeterOrder = meterOrder()

func meterOrder() []string {
	sides := []meter.Side{meter.SideInput, meter.SideOutput, meter.SideMedia, meter.SideFee}
	var names []string
	for _, side := range sides {
		for m := range meter.Count {
			if m.Info().Side == side {
				names = append(names, m.String())
			}
		}
	}
	return names
}

// PriceCondition is other prices for some calls, in words: which calls, and what they cost.
type PriceCondition struct{ Calls, Effect string }

// ConditionsNote says for which calls a model has other prices. It is empty for none.
func (p OtherPrices) ConditionsNote() string {
	words := make([]string, len(p.Conditions))
	for i, c := range p.Conditions {
		words[i] = strings.ToLower(c.Calls[:1]) + c.Calls[1:]
	}
	return strings.Join(words, "; ")
}

// ConditionLines are the conditions of a model, one sentence each.
func (p OtherPrices) ConditionLines() []string {
	lines := make([]string, len(p.Conditions))
	for i, c := range p.Conditions {
		lines[i] = c.Calls + ": " + c.Effect
	}
	return lines
}

// VideoKind is the kind of models that make videos.
const VideoKind = "video"

// Lines are the limits that people meet first, and what is left of them now.
func (l Limits) Lines() (first, second string) {
	left := l.left()
	if l.RequestsPerMinute > 0 {
		first = ofLimit(left.RequestsPerMinute, l.RequestsPerMinute) + " req/min"
	}
	switch {
	case l.TokensPerMinute > 0:
		second = ofLimit(left.TokensPerMinute, l.TokensPerMinute) + " tok/min"
	case l.JobsPerDay > 0:
		second = format.ShortCount(l.JobsPerDay) + " jobs/day"
	case l.RequestsPerDay > 0:
		second = ofLimit(left.RequestsPerDay, l.RequestsPerDay) + " req/day"
	}
	return first, second
}

// Differ says whether the model has limits other than those of the account for all models.
func (l Limits) Differ() bool {
	own := func(n, account int64) bool { return n > 0 && n != account }
	return own(l.RequestsPerMinute, l.AccountRequests) || own(l.TokensPerMinute, l.AccountTokens) || own(l.Concurrency, l.UsualConcurrency) ||
		l.RequestsPerDay > 0 || l.JobsPerDay > 0 || l.JobsRunning > 0
}

// unknownLeft is the number of requests or tokens left where that is not known.
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
		return format.ShortCount(limit)
	}
	return format.ShortCount(left) + " of " + format.ShortCount(limit)
}

// LimitRow is one line of the table of limits.
type LimitRow struct{ Name, Value, Left string }

// Rows are the limits that there are, for the table.
func (l Limits) Rows() []LimitRow {
	left := l.left()
	var rows []LimitRow
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
		row := LimitRow{Name: one.name, Value: format.Count(one.n)}
		if one.left != unknownLeft {
			row.Left = format.Count(one.left)
		}
		rows = append(rows, row)
	}
	return rows
}
