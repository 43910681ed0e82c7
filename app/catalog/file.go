package catalog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"gopkg.in/yaml.v3"

	"umg/app/llm"
)

// fileBytesMax bounds a catalog file.
const fileBytesMax = 4 << 20

// File is the declarative catalog: what an operator writes, checks, applies and exports.
type File struct {
	Aliases   Aliases        `yaml:"aliases,omitempty"`
	Providers []FileProvider `yaml:"providers"`
	Models    []FileModel    `yaml:"models"`
}

// Aliases are other spellings under which the API answers, so that unmodified clients work. Those of DefaultAliases are always on, but for
// those in Off; a file that was read has none of them in Headers and Paths.
type Aliases struct {
	// Headers maps an alias to the header that it replaces.
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
	// Paths maps an alias to its operation. The alias of videos is a prefix: {id}, {id}/content and {id}/remix are served below it.
	Paths map[string]string `yaml:"paths,omitempty" json:"paths,omitempty"`
	// Off lists the default aliases, of headers and of paths, that the API does not answer.
	Off []string `yaml:"off,omitempty" json:"off,omitempty"`
}

// FileProvider is an upstream: its address, and the name of its credential. ${NAME} in the base URL, in the credential and in headers
// is looked up when the catalog is loaded; values are never stored. Without a credential header the credential is sent as
// Authorization: Bearer.
type FileProvider struct {
	ID string `yaml:"id" json:"id"`
	// Name may be empty with a preset, which has a name.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Preset names what the program knows about the provider. Members of the provider replace those of its preset.
	Preset string `yaml:"preset,omitempty" json:"preset,omitempty"`
	// With has the values of the fields of the preset, but no secrets.
	With map[string]string `yaml:"with,omitempty" json:"with,omitempty"`
	// Disabled providers are never called, and their variables need not be set.
	Disabled   bool   `yaml:"disabled,omitempty" json:"disabled,omitempty"`
	BaseURL    string `yaml:"base_url,omitempty" json:"base_url,omitempty"`
	Credential string `yaml:"credential,omitempty" json:"credential,omitempty"`
	// Credentials are further credentials, for when the first is refused or used up. Calls about videos and assets use the first alone,
	// because the objects that they create belong to it.
	Credentials      []string `yaml:"credentials,omitempty" json:"credentials,omitempty"`
	CredentialHeader string   `yaml:"credential_header,omitempty" json:"credential_header,omitempty"`
	// Auth is how the credential is used when it is not just a header.
	Auth Auth `yaml:"auth,omitempty" json:"auth,omitzero"`
	// Proxy is the HTTP proxy of the provider. When it is empty, no proxy is used, whatever the environment has. A proxy with a name
	// and a password is written as a reference.
	Proxy string `yaml:"proxy,omitempty" json:"proxy,omitempty"`
	// Prefill lists the styles in which the provider continues an assistant message that the request begins.
	Prefill []llm.Style `yaml:"prefill,omitempty,flow" json:"prefill,omitempty"`
	Breaker FileBreaker `yaml:"breaker,omitempty" json:"breaker,omitzero"`
	// Styles are those it speaks; any when empty.
	Styles []llm.Style `yaml:"styles,omitempty,flow" json:"styles,omitempty"`
	// Paths are the paths below the base URL that differ from those of the style.
	Paths    map[llm.Style]string `yaml:"paths,omitempty" json:"paths,omitempty"`
	Headers  map[string]string    `yaml:"headers,omitempty" json:"headers,omitempty"`
	Timeouts FileTimeouts         `yaml:"timeouts,omitempty" json:"timeouts,omitzero"`
	Limits   ProviderLimits       `yaml:"limits,omitempty" json:"limits,omitzero"`
	Assets   FileAssets           `yaml:"assets,omitempty" json:"assets,omitzero"`
	// Usage is the reader of the usage in its answers. The default is the reader of the style.
	Usage string `yaml:"usage,omitempty" json:"usage,omitempty"`
	// AfterCancel is what the provider does when the gateway cancels a request. The default is unknown.
	AfterCancel AfterCancel `yaml:"after_cancel,omitempty" json:"after_cancel,omitempty"`
	// ProviderCost is what a cost means that the provider states in its answers. The default is compare.
	ProviderCost ProviderCost `yaml:"provider_cost,omitempty" json:"provider_cost,omitempty"`
	// Spend is the most that calls of the provider may cost; calls go elsewhere when a cap is reached.
	Spend FileSpend `yaml:"spend,omitempty" json:"spend,omitzero"`
}

// FileAssets marks a provider that keeps material assets. The first such provider of a file registers new ones.
type FileAssets struct {
	// Group is the gateway's resource group at the provider.
	Group string `yaml:"group" json:"group"`
}

// FileBreaker is when a model of the provider is ejected; absent numbers take the defaults.
type FileBreaker struct {
	// Failures counts consecutive failures. The default is 5.
	Failures int `yaml:"failures,omitempty" json:"failures,omitempty"`
	// FailurePercent is the share of failures in the last half minute. The default is 50.
	FailurePercent int `yaml:"failure_percent,omitempty" json:"failure_percent,omitempty"`
	// CallsMin is how many calls are needed before the percentage counts. The default is 20.
	CallsMin int `yaml:"calls_min,omitempty" json:"calls_min,omitempty"`
	// Ejection is the length of the first ejection. The default is 5s. An ejection after a failed probe lasts twice as long as the one
	// before, up to EjectionMax. An ejection after a failure for which callers had to wait, such as a timeout, lasts EjectionMax.
	Ejection Duration `yaml:"ejection,omitempty" json:"ejection,omitempty"`
	// EjectionMax defaults to 15s, or to Ejection when that is longer.
	EjectionMax Duration `yaml:"ejection_max,omitempty" json:"ejection_max,omitempty"`
}

// ProviderLimits are the limits of the gateway at a provider; zero means unknown.
type ProviderLimits struct {
	Concurrency       int64 `yaml:"concurrency,omitempty" json:"concurrency,omitempty"`
	RequestsPerMinute int64 `yaml:"requests_per_minute,omitempty" json:"requests_per_minute,omitempty"`
}

// FileTimeouts bound the waits for a provider, written like 5s or 2m; absent ones take the defaults.
type FileTimeouts struct {
	Connect   Duration `yaml:"connect,omitempty" json:"connect,omitempty"`
	FirstByte Duration `yaml:"first_byte,omitempty" json:"first_byte,omitempty"`
	Idle      Duration `yaml:"idle,omitempty" json:"idle,omitempty"`
	// Content bounds the time without content in a stream whose provider sends other frames. The default is five times first_byte
	// before the first content and five times idle after it, at most 5m.
	Content Duration `yaml:"content,omitempty" json:"content,omitempty"`
	// Total bounds one attempt. Its default is the timeout of the model, which bounds it too.
	Total Duration `yaml:"total,omitempty" json:"total,omitempty"`
}

// FileModel is a model by the id that clients use. Fields that are stored in tables of their own are not part of its JSON form.
type FileModel struct {
	ID string `yaml:"id" json:"id"`
	// Aliases are other ids under which the API answers for the model, such as the spelling of its provider.
	Aliases []string `yaml:"aliases,omitempty,flow" json:"aliases,omitempty"`
	// Accounts are the ids of the only accounts that see the model and may call it. An empty list is every account.
	Accounts        []string    `yaml:"accounts,omitempty,flow" json:"accounts,omitempty"`
	Name            string      `yaml:"name" json:"name"`
	Description     string      `yaml:"description,omitempty" json:"description,omitempty"`
	Owner           string      `yaml:"owner" json:"owner"`
	Kind            Kind        `yaml:"kind" json:"kind"`
	Capabilities    []string    `yaml:"capabilities,flow" json:"capabilities"`
	Input           []string    `yaml:"input,flow" json:"input"`
	Output          []string    `yaml:"output,flow" json:"output"`
	ContextTokens   int64       `yaml:"context_tokens,omitempty" json:"context_tokens,omitempty"`
	MaxOutputTokens int64       `yaml:"max_output_tokens,omitempty" json:"max_output_tokens,omitempty"`
	Styles          []llm.Style `yaml:"styles,omitempty,flow" json:"styles,omitempty"`
	// Parameters left out are those of the model's family, where the first route is of a known one, and else none.
	Parameters ParameterList    `yaml:"parameters,omitempty,flow" json:"parameters,omitzero"`
	Ranges     map[string]Range `yaml:"ranges,omitempty" json:"ranges,omitempty"`
	// Thinking lists the ways to ask for thinking that providers of the messages style take for this model: enabled (a budget of
	// tokens), adaptive, and effort (output_config.effort). An absent list takes all three.
	Thinking []string `yaml:"thinking,omitempty,flow" json:"thinking,omitempty"`
	Sizes    []string `yaml:"sizes,omitempty,flow" json:"sizes,omitempty"`
	Seconds  []int64  `yaml:"seconds,omitempty,flow" json:"seconds,omitempty"`
	// Assets is how many material assets a video call may name.
	Assets int64  `yaml:"assets,omitempty" json:"assets,omitempty"`
	Limits Limits `yaml:"limits,omitempty" json:"limits,omitzero"`
	// Timeout bounds a whole call, over all its attempts. The default is 10m.
	Timeout Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	// Timeouts bound one attempt. They replace those of the providers.
	Timeouts FileTimeouts `yaml:"timeouts,omitempty" json:"timeouts,omitzero"`
	// OnCut is recover, the default, or error.
	OnCut OnCut `yaml:"on_cut,omitempty" json:"on_cut,omitempty"`
	// LongerContext is the text model with a longer context that serves calls which are too long for this one: at its own price, and
	// only for keys that may use it. It is called at most once for a call, and the answer names it.
	LongerContext string `yaml:"longer_context,omitempty" json:"longer_context,omitempty"`
	// Fallbacks are text models, at most three, that serve a call in this order when no provider of this model answers:
	// each at its own price and within its own limits, and only for keys that may use it. Their own fallbacks do not count.
	Fallbacks []string `yaml:"fallbacks,omitempty,flow" json:"fallbacks,omitempty"`
	// Hedge starts a second attempt on another route when the first one is later than 95% of the answers of its route. The default is
	// true for text models. The first route with content wins. The other is cancelled and costs the client nothing, but its provider
	// may charge for it. After the first ten calls, at most a tenth of the calls of a route are hedged.
	Hedge *bool `yaml:"hedge,omitempty" json:"hedge,omitempty"`

	Notice     string `yaml:"notice,omitempty" json:"notice,omitempty"`
	Released   Date   `yaml:"released" json:"released,omitzero"`
	Deprecated Date   `yaml:"deprecated,omitempty" json:"deprecated,omitzero"`
	Shutdown   Date   `yaml:"shutdown,omitempty" json:"shutdown,omitzero"`
	// Successor is the model to use instead.
	Successor string `yaml:"successor,omitempty" json:"successor,omitempty"`

	Availability Availability `yaml:"availability" json:"-"`
	Paused       bool         `yaml:"paused,omitempty" json:"-"`
	Rates        Rates        `yaml:"rates,omitempty" json:"-"`
	// Conditions are other prices for some calls, in this order.
	Conditions []FileCondition `yaml:"conditions,omitempty" json:"-"`
	// Markup makes the prices from the cost of the first route, in place of Rates and Conditions. A file in force has both.
	Markup Factor `yaml:"markup,omitempty" json:"markup,omitempty"`
	// SizeRates are rates that differ by output size.
	SizeRates map[string]Rates `yaml:"size_rates,omitempty" json:"-"`
	Announced *FileAnnounced   `yaml:"announced,omitempty" json:"announced,omitempty"`
	Routes    []FileRoute      `yaml:"routes,omitempty" json:"-"`
}

// FileRoute is one provider of a model. Routes with a lower order come first; among equals the weight decides how often each is tried
// first.
type FileRoute struct {
	Provider string       `yaml:"provider" json:"provider"`
	Model    string       `yaml:"model" json:"model"`
	Style    llm.Style    `yaml:"style,omitempty" json:"style,omitempty"`
	Order    int          `yaml:"order" json:"order"`
	Weight   int          `yaml:"weight" json:"weight"`
	Timeouts FileTimeouts `yaml:"timeouts,omitempty" json:"timeouts,omitzero"`
	// Cost is what the provider charges the operator for calls of the route; nil when that is unknown.
	Cost *FileCost `yaml:"cost,omitempty" json:"-"`
}

// FileCost is the prices of a provider, in the form of those of a model.
type FileCost struct {
	Rates      Rates           `yaml:"rates" json:"rates"`
	Conditions []FileCondition `yaml:"conditions,omitempty" json:"conditions,omitempty"`
}

// Kind is what a model makes.
type Kind string

// These are the kinds of models.
const (
	KindText   Kind = "text"
	KindImage  Kind = "image"
	KindVideo  Kind = "video"
	KindSpeech Kind = "speech"
)

// OnCut is what the gateway does when an upstream cuts a stream that has begun.
type OnCut string

// The client gets a cut as an error, or the answer is recovered on another route where that is possible.
const (
	CutError   OnCut = "error"
	CutRecover OnCut = "recover"
)

// Availability is whether a model can be called.
type Availability string

// Available models can be called; coming ones are only shown.
const (
	Available Availability = "available"
	Coming    Availability = "coming"
)

// Limits bound the calls of one account to one model. Zero takes the default, where there is one.
type Limits struct {
	RequestsPerMinute int64 `yaml:"requests_per_minute,omitempty" json:"requests_per_minute,omitempty"`
	TokensPerMinute   int64 `yaml:"tokens_per_minute,omitempty" json:"tokens_per_minute,omitempty"`
	// Concurrency of zero leaves only the limit of the account.
	Concurrency    int64 `yaml:"concurrency,omitempty" json:"concurrency,omitempty"`
	RequestsPerDay int64 `yaml:"requests_per_day,omitempty" json:"requests_per_day,omitempty"`
	JobsPerDay     int64 `yaml:"jobs_per_day,omitempty" json:"jobs_per_day,omitempty"`
	JobsRunning    int64 `yaml:"jobs_running,omitempty" json:"jobs_running,omitempty"`
}

// Duration is a wait written as 5s or 2m30s.
type Duration time.Duration

// UnmarshalText reads the usual Go form.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// MarshalText prints the usual Go form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Date is a day in UTC, written as 2026-05-31.
type Date time.Time

// IsZero reports whether there is no day.
func (d Date) IsZero() bool { return time.Time(d).IsZero() }

// UnmarshalText reads a day.
func (d *Date) UnmarshalText(text []byte) error {
	day, err := time.Parse(time.DateOnly, string(text))
	*d = Date(day)
	return err
}

// MarshalText prints a day.
func (d Date) MarshalText() ([]byte, error) { return []byte(time.Time(d).Format(time.DateOnly)), nil }

// UnmarshalYAML takes the scalar as text, since YAML has dates of its own.
func (d *Date) UnmarshalYAML(v *yaml.Node) error {
	if err := d.UnmarshalText([]byte(v.Value)); err != nil {
		return fmt.Errorf("line %d: %q is not a day; write it as 2026-05-31", v.Line, v.Value)
	}
	return nil
}

// ParseFile reads a catalog file. Unknown fields are errors. Defaults are written out, so that an omitted field reads the same as its
// default.
func ParseFile(raw []byte) (File, error) {
	var f File
	if len(raw) > fileBytesMax {
		return f, fmt.Errorf("catalog: a file of %d bytes is larger than %d", len(raw), fileBytesMax)
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return File{}, fmt.Errorf("catalog: %w", nameFields(raw, err))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return File{}, errors.New("catalog: the file holds more than one document")
	}
	f.Aliases = f.Aliases.withoutDefaults()
	for i := range f.Models {
		m := &f.Models[i]
		m.Kind, m.Availability = cmp.Or(m.Kind, KindText), cmp.Or(m.Availability, Available)
		if m.Kind == KindText {
			if m.Styles == nil {
				m.Styles = llm.Styles()
			}
			m.Limits.RequestsPerMinute = cmp.Or(m.Limits.RequestsPerMinute, requestsPerMinuteDefault)
			m.Limits.TokensPerMinute = cmp.Or(m.Limits.TokensPerMinute, tokensPerMinuteDefault)
		}
		for j := range m.Routes {
			r := &m.Routes[j]
			r.Order, r.Weight = cmp.Or(r.Order, 1), cmp.Or(r.Weight, 1)
		}
	}
	return f, nil
}

// A text model that names no limits has these.
const (
	requestsPerMinuteDefault = 60
	tokensPerMinuteDefault   = 200_000
)

// Bytes prints the file in its canonical form: ParseFile gives the same file back.
func (f File) Bytes() ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("catalog: print: %w", err)
	}
	return b.Bytes(), nil
}
