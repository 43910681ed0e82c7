package library

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"umg/app/catalog"
	"umg/app/llm"
)

//go:generate go run ./build

//go:embed library.json
var embedded []byte

// Library is models and where the facts about them are from. It never changes.
type Library struct {
	// Date is the day of the data, such as 2026-07-02. Prices may have changed since.
	Date    string
	Sources []Source
	// Models are in the order of their ids.
	Models []Model
}

// Source is data from which a library was made.
type Source struct {
	Name    string `json:"name" yaml:"name"`
	URL     string `json:"url" yaml:"url"`
	License string `json:"license" yaml:"license"`
	// Version is a commit or a day.
	Version string `json:"version" yaml:"version"`
}

// Model is a model by its public id.
type Model struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Owner  string `json:"owner"`
	Family string `json:"family,omitempty"`
	// Input and Output are the modalities, in the words of the catalog.
	Input           []string `json:"input"`
	Output          []string `json:"output"`
	ContextTokens   int64    `json:"context_tokens"`
	MaxOutputTokens int64    `json:"max_output_tokens"`
	Reasoning       bool     `json:"reasoning,omitempty"`
	// Efforts are the values of reasoning_effort; empty when they are not known.
	Efforts []string `json:"efforts,omitempty"`
	Tools   bool     `json:"tools,omitempty"`
	Schemas bool     `json:"schemas,omitempty"`
	// FixedSampling is true for a model that refuses temperature and the like.
	FixedSampling bool `json:"fixed_sampling,omitempty"`
	// Status is empty, alpha, beta or deprecated.
	Status   string       `json:"status,omitempty"`
	Released catalog.Date `json:"released,omitzero"`
	Shutdown catalog.Date `json:"shutdown,omitzero"`
	Offers   []Offer      `json:"offers"`
}

// Offer is a model at the providers of a preset.
type Offer struct {
	Preset string `json:"preset"`
	// Model is the name of the model in calls to the provider.
	Model string `json:"model"`
	// Aliases are the provider's spellings under which the model may answer too. None of them means another model of the library.
	Aliases []string  `json:"aliases,omitempty"`
	Style   llm.Style `json:"style"`
	// Cost is what the provider charges; nil when that is not known.
	Cost *catalog.FileCost `json:"cost,omitempty"`
	// ContextTokens and MaxOutputTokens are zero when they are those of the model.
	ContextTokens   int64 `json:"context_tokens,omitempty"`
	MaxOutputTokens int64 `json:"max_output_tokens,omitempty"`
	// Shutdown is the day on which the provider ends the offer.
	Shutdown catalog.Date `json:"shutdown,omitzero"`
}

// limits are the tokens of the context and of the longest output of a model at a provider.
func (o *Offer) limits(m *Model) (contextTokens, maxOutputTokens int64) {
	contextTokens = cmp.Or(o.ContextTokens, m.ContextTokens)
	return contextTokens, min(cmp.Or(o.MaxOutputTokens, m.MaxOutputTokens), contextTokens)
}

// offer returns the offer of a model at a preset; nil when there is none.
func (m *Model) offer(preset string) *Offer {
	i := slices.IndexFunc(m.Offers, func(o Offer) bool { return o.Preset == preset })
	if i < 0 {
		return nil
	}
	return &m.Offers[i]
}

// Find returns the model with a public id; nil when there is none.
func (l *Library) Find(id string) *Model {
	i, found := slices.BinarySearchFunc(l.Models, id, func(m Model, id string) int { return strings.Compare(m.ID, id) })
	if !found {
		return nil
	}
	return &l.Models[i]
}

// Embedded is the library of the program. It is read on first use.
var Embedded = sync.OnceValue(func() *Library {
	l, err := Decode(embedded)
	if err != nil {
		panic(err)
	}
	return l
})

// header is the first line of the stored form.
type header struct {
	Date    string   `json:"date"`
	Sources []Source `json:"sources"`
}

// Encode prints the library: a line with the date and the sources, then one line for each model.
func (l *Library) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(header{Date: l.Date, Sources: l.Sources}); err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	for i := range l.Models {
		if err := e.Encode(any(&l.Models[i])); err != nil {
			return nil, fmt.Errorf("library: %s: %w", l.Models[i].ID, err)
		}
	}
	return b.Bytes(), nil
}

// Decode reads what Encode printed.
func Decode(text []byte) (*Library, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var h header
	if err := d.Decode(&h); err != nil {
		return nil, fmt.Errorf("library: first line: %w", err)
	}
	if _, err := time.Parse(time.DateOnly, h.Date); err != nil {
		return nil, fmt.Errorf("library: date: %q is not a day; write it as 2026-05-31", h.Date)
	}
	l := &Library{Date: h.Date, Sources: h.Sources}
	for {
		var m Model
		switch err := d.Decode(any(&m)); {
		case err == io.EOF:
			return l, nil
		case err != nil:
			return nil, fmt.Errorf("library: model %d: %w", len(l.Models)+1, err)
		}
		if n := len(l.Models); n > 0 && l.Models[n-1].ID >= m.ID {
			return nil, fmt.Errorf("library: model %d: id %q is not after %q", n+1, m.ID, l.Models[n-1].ID)
		}
		l.Models = append(l.Models, m)
	}
}
