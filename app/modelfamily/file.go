package modelfamily

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"gopkg.in/yaml.v3"

	"umg/app/llm"
)

//go:embed families.yaml
var text []byte

// Family is what models with alike names have in common.
type Family struct {
	ID string `yaml:"id"`
	// Owner is the maker of the models, as it begins their public ids.
	Owner string `yaml:"owner"`
	// Models is the pattern of the names, in small letters and without the prefixes of presets. The first family that matches is taken.
	Models pattern `yaml:"models"`
	// Parameters are those that the models take, in the words of the catalog.
	Parameters []string `yaml:"parameters"`
	// Thinking lists the ways to ask for thinking in the messages style; empty for all.
	Thinking []string `yaml:"thinking"`
	// Efforts are the values of the parameter reasoning_effort; empty when they are not known.
	Efforts []string `yaml:"efforts"`
	// Capabilities are those of the catalog.
	Capabilities []string `yaml:"capabilities"`
	// ContextTokens and MaxOutputTokens are those of models about which nothing else is known.
	ContextTokens   int64 `yaml:"context_tokens"`
	MaxOutputTokens int64 `yaml:"max_output_tokens"`
	// Unserved says why the gateway cannot call the models, such as makes images. It is empty for text models.
	Unserved string `yaml:"unserved"`

	// Style is the style of the route at the preset. It is empty when the preset does not serve the family in any known style.
	Style llm.Style `yaml:"-"`
	// Name is the part of the public id after the owner, as far as the name of the model tells it.
	Name string `yaml:"-"`
	// Variant is the place to which the provider's name binds calls, such as eu. It is empty for most models.
	Variant string `yaml:"-"`
}

// PublicID is the id under which the gateway offers the model: owner/name, or owner/name:variant.
func (f *Family) PublicID() string {
	id := f.Owner + "/" + f.Name
	if f.Variant != "" {
		id += ":" + f.Variant
	}
	return id
}

// file is the form of families.yaml.
type file struct {
	// Spellings are changes of names that hold at all presets, in this order.
	Spellings []spelling `yaml:"spellings"`
	// Owners maps the spellings of owners at resellers to those of public ids.
	Owners   map[string]string `yaml:"owners"`
	Presets  []presetRules     `yaml:"presets"`
	Families []Family          `yaml:"families"`
}

// spelling replaces a pattern in a name.
type spelling struct {
	From pattern `yaml:"from"`
	To   string  `yaml:"to"`
}

// presetRules is how a preset spells models, and in which styles it serves them.
type presetRules struct {
	ID string `yaml:"id"`
	// Variant has one group: the part of a name that binds calls to a place. The part is no variant when Anywhere matches it.
	Variant  pattern    `yaml:"variant"`
	Anywhere pattern    `yaml:"anywhere"`
	Names    []spelling `yaml:"names"`
	// Styles are tried in their order with the provider's whole name.
	Styles []styleRule `yaml:"styles"`
}

// styleRule is the style of models whose names match.
type styleRule struct {
	Models pattern   `yaml:"models"`
	Style  llm.Style `yaml:"style"`
}

// pattern is a regular expression that is a scalar in the file. The zero value matches everything.
type pattern struct{ *regexp.Regexp }

// UnmarshalYAML compiles the pattern.
func (p *pattern) UnmarshalYAML(v *yaml.Node) error {
	compiled, err := regexp.Compile(v.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", v.Line, err)
	}
	p.Regexp = compiled
	return nil
}

func (p pattern) matches(s string) bool { return p.Regexp == nil || p.MatchString(s) }

// load reads the data on first use.
var load = sync.OnceValue(func() *file {
	f, err := parse(text)
	if err != nil {
		panic(err)
	}
	return f
})

func parse(text []byte) (*file, error) {
	f := &file{}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(f); err != nil {
		return nil, fmt.Errorf("modelfamily: %w", err)
	}
	return f, nil
}

func (f *file) preset(id string) *presetRules {
	i := slices.IndexFunc(f.Presets, func(p presetRules) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &f.Presets[i]
}
