package preset

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"umg/app/llm"
)

//go:embed providers/*.yaml
var files embed.FS

// folder has one file for each preset, whose name is the id of the preset.
const folder = "providers"

// Preset is a provider that the program knows.
type Preset struct {
	ID   string `yaml:"id"`
	Name string `yaml:"name"`
	// Docs is the address of the provider's documentation.
	Docs string `yaml:"docs"`
	// Note is a sentence for the operator; it may be empty.
	Note   string  `yaml:"note"`
	Fields []Field `yaml:"fields"`
	// Variables are further names for templates, whose values depend on a field.
	Variables map[string]Variable `yaml:"variables"`
	// Auth has the ways in which the provider takes its credential. The first one whose condition holds is used.
	Auth []Auth `yaml:"auth"`
	// Base is the template of the base URL.
	Base string `yaml:"base"`
	// Headers are templates of headers for all calls. A header that becomes empty is not sent.
	Headers map[string]string `yaml:"headers"`
	// Usage names the reader of usage, and the tables of errors and quirks. It is empty for those of the style.
	Usage string `yaml:"usage"`
	// AfterCancel is what the provider does with a cancelled call, in the words of the catalog.
	AfterCancel string `yaml:"after_cancel"`
	// Styles are the styles that the provider speaks. An empty map means any style.
	Styles map[llm.Style]*Style `yaml:"styles"`
	Models *ModelList           `yaml:"models"`
	// Tiers has, for paths in an answer, the provider's words for tiers of service and those of price conditions.
	Tiers map[string]map[string]string `yaml:"tiers"`
	// Limits has the headers with what is left of requests and of tokens.
	Limits map[string]string `yaml:"limits"`
	// RequestID is the header with the provider's id of a request.
	RequestID string `yaml:"request_id"`
}

// Field is a value that the operator fills in.
type Field struct {
	ID    string `yaml:"id"`
	Label string `yaml:"label"`
	// Secret values are parts of the credential and never stand in a catalog.
	Secret   bool `yaml:"secret"`
	Required bool `yaml:"required"`
	// Form is what the value looks like, one of forms.
	Form    string `yaml:"form"`
	Example string `yaml:"example"`
	// Options are the only values. The first one is the default.
	Options []string `yaml:"options"`
	// Env is the variable of the environment that tools of the provider use for the value.
	Env string `yaml:"env"`
	// When is the condition under which there is the field: a field and its value. It is empty for always.
	When map[string]string `yaml:"when"`
}

// Variable is a name for templates whose value depends on a field.
type Variable struct {
	By     string            `yaml:"by"`
	Values map[string]string `yaml:"values"`
	// Else is the template for all other values of the field.
	Else string `yaml:"else"`
}

// Auth is a way in which a provider takes its credential. Its members are those of the catalog, as templates.
type Auth struct {
	When      map[string]string `yaml:"when"`
	Kind      string            `yaml:"kind"`
	Header    string            `yaml:"header"`
	Parameter string            `yaml:"parameter"`
	Service   string            `yaml:"service"`
	Region    string            `yaml:"region"`
	Scope     string            `yaml:"scope"`
	Tenant    string            `yaml:"tenant"`
	ClientID  string            `yaml:"client_id"`
	Authority string            `yaml:"authority"`
	// Credential lists the secret fields of which the credential consists, with colons between them.
	Credential []string `yaml:"credential"`
}

// Style is how calls of one style go to the provider.
type Style struct {
	// Checked says whether recorded answers of the provider came from the address.
	Checked Checked `yaml:"checked"`
	// Base replaces that of the preset.
	Base string `yaml:"base"`
	// Path has {model} when the model is in the path.
	Path string `yaml:"path"`
	// StreamPath is the path of streams. The default is Path.
	StreamPath string `yaml:"stream_path"`
	// Service replaces the service in signatures.
	Service string            `yaml:"service"`
	Headers map[string]string `yaml:"headers"`
	Body    Body              `yaml:"body"`
	// Count is how tokens are counted. It is nil when the provider does not count them.
	Count *Count `yaml:"count"`
	// Framing is how streams are framed, one of framings. The default is sse.
	Framing string `yaml:"framing"`
	// Model is the form of the model in the path, one of modelForms.
	Model string `yaml:"model"`
}

// Count is how tokens of requests are counted.
type Count struct {
	Path string `yaml:"path"`
	Body Body   `yaml:"body"`
}

// Body has the changes of a request body.
type Body struct {
	// Drop lists the members that are not sent.
	Drop []string `yaml:"drop"`
	// Add has the texts of members that are added, or that replace those of the request.
	Add map[string]string `yaml:"add"`
	// Betas is the member that lists the trial features of the header anthropic-beta. It is empty when the header is sent.
	Betas string `yaml:"betas"`
}

// IsZero reports whether the body is sent as it is.
func (b *Body) IsZero() bool { return len(b.Drop) == 0 && len(b.Add) == 0 && b.Betas == "" }

// Checked says whether something was compared with recorded answers of the provider.
type Checked string

// Recorded means that there are recorded answers. Never means that the program has never seen a real answer.
const (
	Recorded Checked = "recorded"
	Never    Checked = "never"
)

// ModelList is where a provider lists its models.
type ModelList struct {
	// Base replaces that of the preset.
	Base string `yaml:"base"`
	Path string `yaml:"path"`
	// List is the member with the array.
	List string `yaml:"list"`
	// ID is the member of a model with its id, which begins with IDPrefix.
	ID       string `yaml:"id"`
	IDPrefix string `yaml:"id_prefix"`
	// Context is the member with the number of tokens of the context. It is empty when the list does not say it.
	Context string `yaml:"context"`
	// Headers are templates of headers that requests for the list need, in addition to those of the preset.
	Headers map[string]string `yaml:"headers"`
	// Open lists answer anyone, so that an answer says nothing about the credential.
	Open  bool   `yaml:"open"`
	Pages *Pages `yaml:"pages"`
	// Further are other lists of the provider, which have none of their own.
	Further []ModelList `yaml:"further"`
}

// Pages is how a list continues on further pages.
type Pages struct {
	// Next is the member of a page with the value for Parameter on the next page.
	Next      string `yaml:"next"`
	Parameter string `yaml:"parameter"`
	// More is the member that says whether there is another page. Without it, the last page has no Next.
	More string `yaml:"more"`
}

var presets = mustLoad()

// All returns all presets in the order of their ids. The caller must not change them.
func All() []*Preset { return presets }

// IDs returns the ids of all presets in order.
func IDs() []string {
	ids := make([]string, len(presets))
	for i, p := range presets {
		ids[i] = p.ID
	}
	return ids
}

// Find returns the preset with an id.
func Find(id string) (*Preset, bool) {
	i := slices.IndexFunc(presets, func(p *Preset) bool { return p.ID == id })
	if i < 0 {
		return nil, false
	}
	return presets[i], true
}

func mustLoad() []*Preset {
	all, err := load()
	if err != nil {
		panic(err)
	}
	return all
}

func load() ([]*Preset, error) {
	entries, err := files.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("preset: %w", err)
	}
	all := make([]*Preset, 0, len(entries))
	for _, e := range entries {
		text, err := files.ReadFile(path.Join(folder, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("preset: %w", err)
		}
		p, err := parse(text)
		if err == nil && p.ID+".yaml" != e.Name() {
			err = fmt.Errorf("id %q is not the name of the file", p.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("preset: %s: %w", e.Name(), err)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Preset) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// WithSettings is the preset with other settings: all its members in YAML or JSON, but those for people.
func (p *Preset) WithSettings(settings []byte) (*Preset, error) {
	other := &Preset{}
	d := yaml.NewDecoder(bytes.NewReader(settings))
	d.KnownFields(true)
	if err := d.Decode(other); err != nil {
		return nil, fmt.Errorf("preset: %s: %w", p.ID, err)
	}
	other.ID, other.Name, other.Docs, other.Note = p.ID, p.Name, p.Docs, p.Note
	if problems := other.problems(); len(problems) > 0 {
		return nil, fmt.Errorf("preset: %s: %s", p.ID, strings.Join(problems, "; "))
	}
	return other, nil
}

// parse reads and checks one file. An unknown member is an error.
func parse(text []byte) (*Preset, error) {
	p := &Preset{}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true) // The decoder also rejects duplicate members.
	if err := d.Decode(p); err != nil {
		return nil, err
	}
	if problems := p.problems(); len(problems) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	return p, nil
}
