package library

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"gopkg.in/yaml.v3"

	"umg/app/catalog"
)

//go:embed facts.yaml
var factsText []byte

// facts is what is known beside the files of others.
type facts struct {
	Date       string       `yaml:"date"`
	ModelsDate string       `yaml:"models_date"`
	Sources    []Source     `yaml:"sources"`
	Presets    []factPreset `yaml:"presets"`
	Models     []factModel  `yaml:"models"`
	Surcharges []surcharge  `yaml:"surcharges"`
	Rules      []factRule   `yaml:"rules"`
}

// factPreset names a preset's provider in the files of others. A name is empty when a file does not have the provider.
type factPreset struct {
	Preset string `yaml:"preset"`
	Models string `yaml:"models"`
	Prices string `yaml:"prices"`
	// AddPriced also takes models that only the list of prices has at this preset, and that are known from other presets.
	AddPriced bool `yaml:"add_priced"`
}

// factModel is a model that no file has.
type factModel struct {
	Preset          string       `yaml:"preset"`
	Model           string       `yaml:"model"`
	Name            string       `yaml:"name"`
	Released        catalog.Date `yaml:"released"`
	ContextTokens   int64        `yaml:"context_tokens"`
	MaxOutputTokens int64        `yaml:"max_output_tokens"`
	Input           []string     `yaml:"input"`
	Efforts         []string     `yaml:"efforts"`
	// Cost may be absent when a rule has it.
	Cost   *catalog.FileCost `yaml:"cost"`
	Source string            `yaml:"source"`
}

// surcharge multiplies the cost of some models at providers whose field has none of some values.
type surcharge struct {
	Preset string         `yaml:"preset"`
	Models *regexpPattern `yaml:"models"`
	Field  string         `yaml:"field"`
	Except []string       `yaml:"except"`
	Times  catalog.Factor `yaml:"times"`
	Source string         `yaml:"source"`
}

// factRule changes the offers of some models at some presets.
type factRule struct {
	Presets []string       `yaml:"presets"`
	Models  *regexpPattern `yaml:"models"`
	// Input limits the rule to models that take it.
	Input string `yaml:"input"`
	// Skip leaves the offers out.
	Skip bool `yaml:"skip"`
	// Cost replaces what the files say, unless they are newer than the facts.
	Cost *catalog.FileCost `yaml:"cost"`
	// Multiples and Rates are prices of meters that have none.
	Multiples []multiple    `yaml:"multiples"`
	Rates     catalog.Rates `yaml:"rates"`
	// Conditions are added to those of the cost.
	Conditions []catalog.FileCondition `yaml:"conditions"`
	// Regional makes the cost of a variant from that of the model without one at the same preset.
	Regional catalog.Factor `yaml:"regional"`
	Shutdown catalog.Date   `yaml:"shutdown"`
	// Source is the page that says so.
	Source string `yaml:"source"`
}

// multiple is the price of a meter as a multiple of that of another one.
type multiple struct {
	Meter string         `yaml:"meter"`
	Of    string         `yaml:"of"`
	Times catalog.Factor `yaml:"times"`
}

// regexpPattern is a regular expression that is a scalar in a file.
type regexpPattern struct{ *regexp.Regexp }

// UnmarshalYAML compiles the pattern.
func (p *regexpPattern) UnmarshalYAML(v *yaml.Node) (err error) {
	if p.Regexp, err = regexp.Compile(v.Value); err != nil {
		return fmt.Errorf("line %d: %w", v.Line, err)
	}
	return nil
}

var loadFacts = sync.OnceValues(func() (*facts, error) {
	f := &facts{}
	d := yaml.NewDecoder(bytes.NewReader(factsText))
	d.KnownFields(true)
	if err := d.Decode(f); err != nil {
		return nil, fmt.Errorf("library: facts.yaml: %w", err)
	}
	return f, nil
})

// rank is the place of a preset in the order in which presets say what a model can do.
func (f *facts) rank(preset string) int {
	return slices.IndexFunc(f.Presets, func(p factPreset) bool { return p.Preset == preset })
}
