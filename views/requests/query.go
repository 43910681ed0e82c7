package requests

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// LogColumns are the columns that the list hides.
type LogColumns struct {
	Hidden []string
	// Columns is set when the address says which columns are hidden, and not the reader's own choice.
	Columns bool
}

// Query says which calls are listed, and how. It is the address of the page.
type Query struct {
	Range    string    // Range is a span that ends now; From and To are then empty.
	From, To time.Time // Zero From or To is no bound; To is exclusive.
	Zone     string    // Zone is the time zone in which moments are parsed and shown.
	Model, KeyID, Style, Reason, Outcome,
	EndUser, Transaction, Search string
	Provider, Used, Error, Finish string // Used is the provider's name of the model.
	Tag                           string // Tag is a tag of keys.
	Streamed                      string // Streamed is yes, no or empty for both.
	Source                        string // Source is api, playground or empty for both.
	CostFrom, CostTo              string // These are dollars, both included.
	Slower                        string // Slower is the minimum in seconds.
	Rows                          int
	After                         string // The page begins after the request After.

	LogColumns
}

const (
	momentForm  = "2006-01-02T15:04"
	momentFormZ = momentForm + "Z"
	slowestMax  = 24 * time.Hour
	rowsUsual   = 50

	rangeToday     = "today"
	rangeYesterday = "yesterday"
	// rowsDense is the number of rows from which on each row is one line high.
	rowsDense = 1000
)

// These are the answers to yes-or-no filters, and the values of other filters.
const (
	FilterYes        = "yes"
	FilterNo         = "no"
	SourceAPI        = "api"
	SourcePlayground = "playground"
	OutcomeErrors    = "not_succeeded" // OutcomeErrors is every outcome but success and a disconnected client.
	// OutcomeRefused stands for requests that were refused before any provider was called.
	OutcomeRefused = "refused"
)

var (
	outcomeOptions = []ui.Option{
		{Value: "succeeded", Label: "Answered"}, {Value: OutcomeErrors, Label: "All errors"}, {Value: "failed", Label: "Failed"},
		{Value: OutcomeRefused, Label: "Refused"}, {Value: "cut", Label: "Cut off"}, {Value: "timed_out", Label: "Timed out"},
		{Value: "client_left", Label: "You disconnected"},
	}
	streamedOptions = []ui.Option{{Value: FilterYes, Label: "Streamed"}, {Value: FilterNo, Label: "In one piece"}}
	sourceOptions   = []ui.Option{{Value: SourceAPI, Label: "API"}, {Value: SourcePlayground, Label: "Playground"}}
	rangeOptions    = []ui.Option{
		{Value: rangeToday, Label: "Today"}, {Value: rangeYesterday, Label: "Yesterday"},
		{Value: "1h", Label: "Last hour"}, {Value: "24h", Label: "Last 24 hours"},
		{Value: "7d", Label: "Last 7 days"}, {Value: "30d", Label: "Last 30 days"},
	}
	rangeSpans  = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}
	rowsOptions = []ui.Option{
		{Value: "50", Label: "50"}, {Value: "200", Label: "200"},
		{Value: "1000", Label: format.Count(1000)}, {Value: "10000", Label: format.Count(10_000)},
	}
	// columnOptions are what of a row can be hidden.
	columnOptions = []ui.Option{
		{Value: "key", Label: "Key"}, {Value: "result", Label: "Result"}, {Value: "tokens", Label: "Tokens"},
		{Value: "cost", Label: "Cost"}, {Value: "first", Label: "First byte"}, {Value: "duration", Label: "Duration"},
	}
)

// optionsNamed are the options after one for all of them, with what is chosen among them.
func optionsNamed(all string, options []ui.Option, value string) []ui.Option {
	list := views.OptionsWithAll(options, value)
	list[0].Label = all
	return list
}

func oneOf(options []ui.Option, value string) string {
	if slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
		return value
	}
	return ""
}

// field is one text of the query under its name in the address.
type field struct {
	name, label string
	of          func(*Query) *string
	read        func(string) string
	options     []ui.Option // The labels of options explain the values.
}

func choiceOf(options []ui.Option) func(string) string {
	return func(text string) string { return oneOf(options, text) }
}

// fields are all texts of a query, in the order in which chips show them.
var fields = []field{
	{"range", "", func(q *Query) *string { return &q.Range }, choiceOf(rangeOptions), rangeOptions},
	{"q", "Id begins with", func(q *Query) *string { return &q.Search }, views.FilterText, nil},
	{"model", "Model", func(q *Query) *string { return &q.Model }, views.FilterText, nil},
	{"used", "Provider's model", func(q *Query) *string { return &q.Used }, views.FilterText, nil},
	{"provider", "Provider", func(q *Query) *string { return &q.Provider }, views.FilterText, nil},
	{"key", "Key", func(q *Query) *string { return &q.KeyID }, views.FilterText, nil},
	{"tag", "Tag", func(q *Query) *string { return &q.Tag }, views.FilterText, nil},
	{"source", "Made by", func(q *Query) *string { return &q.Source }, choiceOf(sourceOptions), sourceOptions},
	{"style", "Style", func(q *Query) *string { return &q.Style }, views.FilterText, styleOptions},
	{"streamed", "", func(q *Query) *string { return &q.Streamed }, choiceOf(streamedOptions), streamedOptions},
	{"outcome", "Result", func(q *Query) *string { return &q.Outcome }, views.FilterText, outcomeOptions},
	{"error", "Error code", func(q *Query) *string { return &q.Error }, views.FilterText, nil},
	{"finish", "Finish reason", func(q *Query) *string { return &q.Finish }, views.FilterText, nil},
	{"reason", "Reason", func(q *Query) *string { return &q.Reason }, views.FilterText, nil},
	{"end_user", "End user", func(q *Query) *string { return &q.EndUser }, views.FilterText, nil},
	{"transaction", "Transaction", func(q *Query) *string { return &q.Transaction }, views.FilterText, nil},
	{"cost_from", "Cost from $", func(q *Query) *string { return &q.CostFrom }, filterAmount, nil},
	{"cost_to", "Cost to $", func(q *Query) *string { return &q.CostTo }, filterAmount, nil},
	{"slower", "Slower than", func(q *Query) *string { return &q.Slower }, filterSeconds, nil},
}

// filterAmount is an amount of dollars as it is written shortest, empty for what is none.
func filterAmount(text string) string {
	a, err := app.ParseAmount(strings.TrimPrefix(strings.TrimSpace(text), "$"))
	if err != nil || a < 0 {
		return ""
	}
	return a.String()
}

// filterSeconds is a number of seconds as it is written shortest, empty for what is none.
func filterSeconds(text string) string {
	text = strings.TrimSpace(text)
	if strings.Trim(text, "0123456789.") != "" || text == "" {
		return ""
	}
	d, err := time.ParseDuration(text + "s")
	if err != nil || d < time.Millisecond || d > slowestMax {
		return ""
	}
	whole, rest := d.Milliseconds()/1000, d.Milliseconds()%1000
	if rest == 0 {
		return strconv.FormatInt(whole, 10)
	}
	return strconv.FormatInt(whole, 10) + "." + strings.TrimRight(strconv.FormatInt(1000+rest, 10)[1:], "0")
}

// ParseQuery reads an address; what cannot be meant is left out.
func ParseQuery(values url.Values) Query {
	q := Query{Zone: zoneName(values.Get("tz")), After: views.FilterText(values.Get("after"))}
	for _, f := range fields {
		*f.of(&q) = f.read(values.Get(f.name))
	}
	if q.Range == "" {
		q.From = momentOr(values.Get("from"), q.Zone, 0)
		q.To = momentOr(values.Get("to"), q.Zone, 1)
	}
	q.Hidden = knownColumns(values["hide"])
	q.Columns = len(q.Hidden) > 0
	if n, err := strconv.Atoi(oneOf(rowsOptions, values.Get("rows"))); err == nil && n != rowsUsual {
		q.Rows = n
	}
	return q
}

// knownColumns are the values that name columns, in the order of the table.
func knownColumns(values []string) (known []string) {
	for _, o := range columnOptions {
		if slices.Contains(values, o.Value) {
			known = append(known, o.Value)
		}
	}
	return known
}

// HiddenColumns are the columns that are hidden when those of the values are shown.
func HiddenColumns(shown []string) (hidden []string) {
	for _, o := range columnOptions {
		if !slices.Contains(shown, o.Value) {
			hidden = append(hidden, o.Value)
		}
	}
	return hidden
}

// WithColumns is the query with the reader's own hidden columns, unless the address says which are hidden.
func (q Query) WithColumns(hidden []string) Query {
	if !q.Columns {
		q.Hidden = knownColumns(hidden)
	}
	return q
}

// ownColumns is the query of the list, with the reader's own columns.
func (q Query) ownColumns() string {
	q.Columns, q.After = false, ""
	return q.values().Encode()
}

// momentOr reads a moment with its zone or in that of the query, or a day: its beginning, or that of a day later.
func momentOr(text, zone string, daysLater int) time.Time {
	t, err := time.Parse(momentFormZ, text)
	if err != nil {
		t, err = time.ParseInLocation(momentForm, text, location(zone))
	}
	if err != nil {
		if t, err = time.ParseInLocation(format.DayLayout, text, location(zone)); err == nil {
			t = t.AddDate(0, 0, daysLater)
		}
	}
	if err != nil || t.Year() < 2000 || t.Year() > 9998 {
		return time.Time{}
	}
	return t.UTC()
}

// Path is the address of the list.
func (q Query) Path() string { return q.at(views.RequestsPath) }

// export is the address of a download of all that is listed.
func (q Query) export(ending string) string {
	q.After, q.Rows, q.Hidden = "", 0, nil
	return q.at(views.RequestsPath + ending)
}

func (q Query) livePath() string {
	q.After = ""
	return q.at(views.RequestsPath + "/live")
}

func (q Query) at(path string) string {
	values := q.values()
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

func (q Query) values() url.Values {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	for _, f := range fields {
		set(f.name, *f.of(&q))
	}
	set("tz", q.Zone)
	set("after", q.After)
	if q.Rows > 0 {
		set("rows", strconv.Itoa(q.Rows))
	}
	if q.Columns && len(q.Hidden) > 0 {
		values["hide"] = q.Hidden
	}
	for name, t := range map[string]time.Time{"from": q.From, "to": q.To} {
		if !t.IsZero() {
			set(name, t.UTC().Format(momentFormZ))
		}
	}
	return values
}

// requestSuffix is the query as it goes along to the page of one call, so that its neighbours are those of the list.
func (q Query) requestSuffix() string {
	q.After, q.Rows, q.Hidden = "", 0, nil
	if values := q.values(); len(values) > 0 {
		return "?" + values.Encode()
	}
	return ""
}

// Span is the moments that the list is about; zero for no bound.
func (q Query) Span(now time.Time) (from, to time.Time) {
	if q.Range == rangeToday || q.Range == rangeYesterday {
		return daySpan(now.In(location(q.Zone)), q.Range == rangeYesterday)
	}
	if span, known := rangeSpans[q.Range]; known {
		return now.Add(-span), time.Time{}
	}
	return q.From, q.To
}

// daySpan is the day of a moment, which has no end yet, or the day before.
func daySpan(now time.Time, before bool) (from, to time.Time) {
	y, m, d := now.Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	if before {
		return time.Date(y, m, d-1, 0, 0, 0, 0, now.Location()), midnight
	}
	return midnight, time.Time{}
}

// Cost is the bounds of what calls cost, nil for none.
func (q Query) Cost() (from, to *app.Amount) {
	read := func(text string) *app.Amount {
		a, err := app.ParseAmount(text)
		if text == "" || err != nil {
			return nil
		}
		return &a
	}
	return read(q.CostFrom), read(q.CostTo)
}

// SlowerThan is the duration that calls took longer than, zero for any.
func (q Query) SlowerThan() time.Duration {
	d, err := time.ParseDuration(q.Slower + "s")
	if q.Slower == "" || err != nil {
		return 0
	}
	return d
}

// Location is the time zone of the query.
func (q Query) Location() *time.Location { return location(q.Zone) }

// PageRows is how many calls a page has.
func (q Query) PageRows() int {
	if q.Rows == 0 {
		return rowsUsual
	}
	return q.Rows
}

func (q Query) dense() bool { return q.Rows >= rowsDense }

func (q Query) shows(column string) bool { return !slices.Contains(q.Hidden, column) }

// shownMoment is a bound as the field of the form has it.
func (q Query) shownMoment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(location(q.Zone)).Format(momentForm)
}

func (q Query) after(cursor string) Query {
	q.After = cursor
	return q
}

// chip is one filter that is set, and the address of the list without it.
type chip struct{ text, href string }

// chips are the filters that are set.
func (q Query) chips(keys []ui.Option) []chip {
	var list []chip
	for _, f := range fields {
		value := *f.of(&q)
		if value == "" {
			continue
		}
		without := q
		*f.of(&without), without.After = "", ""
		text := value
		if f.options != nil {
			text = labelOf(f.options, value)
		}
		switch f.name {
		case "key":
			text = labelOf(keys, value)
		case "slower":
			text = format.Number(text) + " s"
		case "cost_from", "cost_to":
			text = format.Number(text)
		}
		if f.label != "" {
			text = strings.TrimSuffix(f.label, " $") + ": " + map[bool]string{true: "$"}[strings.HasSuffix(f.label, "$")] + text
		}
		list = append(list, chip{text, without.Path()})
	}
	const form = format.DayForm + ", 15:04"
	if !q.From.IsZero() {
		without := q
		without.From, without.After = time.Time{}, ""
		list = append(list, chip{"From " + q.From.In(location(q.Zone)).Format(form), without.Path()})
	}
	if !q.To.IsZero() {
		without := q
		without.To, without.After = time.Time{}, ""
		list = append(list, chip{"Until " + q.To.In(location(q.Zone)).Format(form), without.Path()})
	}
	return list
}

// narrowed reports whether calls are left out.
func (q Query) narrowed() bool { return len(q.chips(nil)) > 0 }

// backwards reports whether no call can be in the span.
func (q Query) backwards() bool {
	return !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To)
}

// all is the list without filters.
func (q Query) all() Query {
	return Query{Zone: q.Zone, Rows: q.Rows, LogColumns: q.LogColumns}
}
