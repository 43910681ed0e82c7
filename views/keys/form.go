package keys

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/views"
	"umg/views/codesample"
	"umg/views/format"
	"umg/views/ui"
)

// What a form says when no expiry is asked for, or one on a day; the other choices are numbers of days.
const (
	ExpiryNever = "never"
	ExpiryOn    = "date"
)

// DayLayout is how a form writes the last day of a key.
const DayLayout = "2006-01-02"

// envOptions are the environment tags a key can carry.
var envOptions = []ui.Option{
	{Value: "", Label: "None"},
	{Value: "development", Label: "Development"},
	{Value: "staging", Label: "Staging"},
	{Value: "production", Label: "Production"},
}

// expiryOptions are the times after which a key may end.
var expiryOptions = []ui.ChipOption{
	{Value: ExpiryNever, Label: "Never"}, {Value: "30", Label: "In 30 days"}, {Value: "90", Label: "In 90 days"},
	{Value: "365", Label: "In a year"}, {Value: ExpiryOn, Label: "After a day…"},
}

// kindOptions say what a key is for.
var kindOptions = []ui.Option{
	{Value: "", Label: "Calling models", Text: "For programs that generate text and videos. Their usage is charged to this account."},
	{
		Value: views.ScopeManagement, Label: "Managing the account",
		Text: "For scripts that make and change keys, members and settings by API. Such a key can never spend.",
	},
}

// ScopeChoice is one scope that a form offers.
type ScopeChoice struct {
	Value  string
	Text   string
	Spends bool // the scope spends or reads content, so a management key cannot have it
}

// Choices are what the form of a key offers to its reader.
type Choices struct {
	Scopes     []ScopeChoice
	Models     []string
	Address    string // the reader's own address, empty if unknown
	Management bool   // the reader may make management keys
	Content    views.ContentChoice
}

// Form is the form for a key, first shown or shown again with what was wrong.
type Form struct {
	Choices Choices

	Name       string
	Env        string
	Mode       string
	Kind       string // ScopeManagement, or empty for a key that calls models
	Scopes     []string
	Models     []string
	Limits     LimitForm
	Networks   NetworkForm
	Expiry     ExpiryForm
	LogContent bool
	Strict     bool
	Budget     BudgetForm

	NameError   string
	EnvError    string
	ModeError   string
	KindError   string
	ScopesError string
	ModelsError string
	FormError   string
}

// LimitForm is the part of a form that is about a key's own limits, as numbers that the user typed.
type LimitForm struct {
	Requests         string
	RequestsError    string
	Tokens           string
	TokensError      string
	Concurrency      string
	ConcurrencyError string
}

// NetworkForm is the part of a form that is about the addresses from which a key is accepted.
type NetworkForm struct {
	Lines string // an address or a network on each line
	Error string
	Added bool // the reader's address was just added to the list, which gets the focus
}

// ExpiryForm is the part of a form that is about the end of a key.
type ExpiryForm struct {
	Choice string // ExpiryNever, ExpiryOn or a number of days
	Day    string // last day in the form of DayLayout, for ExpiryOn
	Error  string
}

// NewForm is the form as it is first shown: most keys are for an SDK, and may do what keys usually may.
func NewForm(c Choices) Form {
	f := Form{
		Choices: c, Mode: views.ModeStandard, Expiry: ExpiryForm{Choice: ExpiryNever},
		Budget: BudgetForm{Period: "month", Alerts: []string{"80", "100"}},
	}
	for _, s := range c.Scopes {
		f.Scopes = append(f.Scopes, s.Value)
	}
	return f
}

// FormOf is the form of a key that is there.
func FormOf(k views.Key, c Choices) Form {
	f := Form{
		Choices: c, Name: k.Name, Env: k.Env, Mode: k.ErrorMode, Scopes: k.Scopes, Models: k.Models,
		Limits:   LimitForm{Requests: plainCount(k.Requests), Tokens: plainCount(k.Tokens), Concurrency: plainCount(k.Concurrency)},
		Networks: NetworkForm{Lines: strings.Join(k.Addresses, "\n")}, Expiry: ExpiryForm{Choice: ExpiryNever},
		LogContent: k.LogContent, Strict: k.Strict, Budget: BudgetForm{Period: "month"},
	}
	if k.Manages() {
		f.Kind = views.ScopeManagement
	}
	if k.ExpiresAt != nil {
		f.Expiry = ExpiryForm{Choice: ExpiryOn, Day: DayOf(*k.ExpiresAt)}
	}
	if k.Budget != nil {
		f.Budget = BudgetForm{Limit: k.Budget.Limit.String(), Period: k.Budget.Period}
	}
	for _, share := range k.Alerts {
		f.Budget.Alerts = append(f.Budget.Alerts, strconv.Itoa(share))
	}
	return f
}

// DayOf is the last day on which a key with this expiry works.
func DayOf(expires time.Time) string {
	return expires.UTC().Add(-time.Nanosecond).Format(DayLayout)
}

func plainCount(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// folded reports whether something is filled in, or wrong, in the part of the form that is closed at first.
func (f Form) folded() bool {
	hasError := slices.ContainsFunc(f.foldedErrors(), func(text *string) bool { return *text != "" })
	return f.Limits.Requests+f.Limits.Tokens+f.Limits.Concurrency+strings.TrimSpace(f.Networks.Lines) != "" || hasError ||
		len(f.Models) > 0 || f.LogContent || f.Strict || (f.Expiry.Choice != ExpiryNever && f.Expiry.Choice != "") ||
		f.Networks.Added || f.scopesMissing()
}

// foldedErrors are the errors of the fields that are closed at first.
func (f *Form) foldedErrors() []*string {
	return []*string{
		&f.ScopesError, &f.ModelsError, &f.Limits.RequestsError, &f.Limits.TokensError, &f.Limits.ConcurrencyError, &f.Networks.Error,
		&f.Expiry.Error,
	}
}

// errors are the errors of all fields, and that of the form as a whole.
func (f *Form) errors() []*string {
	return append(f.foldedErrors(), &f.NameError, &f.EnvError, &f.ModeError, &f.KindError, &f.FormError,
		&f.Budget.LimitError, &f.Budget.PeriodError, &f.Budget.AlertsError)
}

// ForgetErrors clears all errors.
func (f *Form) ForgetErrors() {
	for _, text := range f.errors() {
		*text = ""
	}
}

// Refused reports whether anything in the form was refused.
func (f Form) Refused() bool {
	return slices.ContainsFunc(f.errors(), func(text *string) bool { return *text != "" })
}

// scopesMissing reports whether the key may do less than others of its kind.
func (f Form) scopesMissing() bool {
	for _, s := range f.Choices.Scopes {
		if !slices.Contains(f.Scopes, s.Value) && f.Kind == "" {
			return true
		}
	}
	return false
}

// models are those that the form offers, with those that the key has and the catalog no longer does.
func (f Form) models() []string {
	list := slices.Clone(f.Choices.Models)
	for _, m := range f.Models {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

func (f Form) modelsWords() string {
	if len(f.Models) == 0 {
		return "All models"
	}
	return format.CountOf(int64(len(f.Models)), "model", "models")
}

// envs are the tags that the form offers, with the key's own.
func (f Form) envs() []ui.Option {
	if slices.ContainsFunc(envOptions, func(o ui.Option) bool { return o.Value == f.Env }) {
		return envOptions
	}
	return append(slices.Clone(envOptions), ui.Option{Value: f.Env, Label: f.Env})
}

// hasAddress reports whether the reader's own address is in the list by itself.
func (f Form) hasAddress() bool {
	return slices.Contains(strings.Fields(f.Networks.Lines), f.Choices.Address)
}

// overlapOptions are how long the old secret of a key may go on working, in seconds.
var overlapOptions = []ui.Option{
	{Value: "0", Label: "Not at all", Text: "The old secret stops within a second. For a secret that was lost or seen by others."},
	{Value: "3600", Label: "1 hour", Text: "For a program that you restart yourself."},
	{Value: "86400", Label: "24 hours", Text: "Enough for most deployments."},
	{Value: "604800", Label: "7 days", Text: "For secrets that are spread over many places or teams."},
}

// DefaultOverlap is the choice of a form that is first shown: 24 hours, in seconds.
const DefaultOverlap = "86400"

const envFileName = "gateway.env"

// envFile is the lines for a program's environment as a file that the browser makes by itself.
func envFile(fresh views.FreshKey, c codesample.Call) string {
	return "data:text/plain;charset=utf-8," + url.PathEscape(codesample.EnvLines(fresh.Secret, c.BaseURL)+"\n")
}

// manageSamples try a key that manages the account.
func manageSamples(c codesample.Call) []ui.Sample {
	return []ui.Sample{{
		Name: "curl", Label: "cURL", Source: "curl " + c.BaseURL + "/keys \\\n  -H \"Authorization: Bearer " + c.Key + "\"",
	}}
}

// requestsPath is the list of the requests of a key, usagePath the report of its usage.
func requestsPath(id string) string {
	return views.RequestsPath + "?" + url.Values{"key": {id}}.Encode()
}

func usagePath(id string) string { return views.UsagePath + "?" + url.Values{"key": {id}}.Encode() }
