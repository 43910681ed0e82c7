package library

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"umg/app/catalog"
)

// An update replaces the sources with these names.
const (
	sourceModels = "models.dev"
	sourcePrices = "genai-prices"
)

// fileBytesMax bounds a file of an update.
const fileBytesMax = 64 << 20

// Update returns the library with the data of a newer file, api.json of models.dev or data.json of genai-prices, and the differences. Day
// is the day of the file. Prices that a file does not tell stay as long as those of input and output do. An error says what is wrong
// with the file or the day.
func Update(current *Library, file []byte, day string) (*Library, []Change, error) {
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return nil, nil, fmt.Errorf("library: day: %q is not a day; write it as 2026-05-31", day)
	}
	if day < current.Date {
		return nil, nil, fmt.Errorf("library: day: %s is before %s, the day of the present data", day, current.Date)
	}
	if len(file) > fileBytesMax {
		return nil, nil, fmt.Errorf("library: a file of %d bytes is larger than %d", len(file), fileBytesMax)
	}
	known, err := loadFacts()
	if err != nil {
		return nil, nil, err
	}
	b := &builder{facts: known, day: day, bases: map[string]devModel{}}
	source, err := b.addFile(current, bytes.TrimSpace(file))
	if err != nil {
		return nil, nil, err
	}
	next := b.library(day, updatedSources(current.Sources, source, day), current)
	return next, Differences(current, next), nil
}

// errUnknownFile means that a file has none of the known forms.
var errUnknownFile = errors.New("library: the file is neither api.json of models.dev nor data.json of genai-prices")

// addFile adds what a file says, and what the library has beside it. It returns the name of the source.
func (b *builder) addFile(current *Library, file []byte) (source string, err error) {
	if !json.Valid(file) {
		return "", errors.New("library: the file is not JSON, or is cut off")
	}
	if file[0] == '{' {
		var providers map[string]devProvider
		err := json.Unmarshal(file, &providers)
		updated := b.presetsOf(providers)
		if err == nil && len(updated) > 0 {
			b.addLibraryBases(current)
			if err := b.addProviders(providers); err != nil {
				return "", err
			}
			b.addLibrary(current, updated)
			b.addFacts()
			return sourceModels, nil
		}
	}
	prices, err := parsePrices(file)
	isKnown := slices.ContainsFunc(prices, func(p pricesProvider) bool {
		return slices.ContainsFunc(b.facts.Presets, func(f factPreset) bool { return f.Prices == p.ID && p.ID != "" && len(p.Models) > 0 })
	})
	if err != nil || !isKnown {
		return "", errUnknownFile
	}
	b.addLibrary(current, nil)
	return sourcePrices, b.applyPrices(prices, "")
}

// presetsOf are the presets whose providers have models in a file.
func (b *builder) presetsOf(providers map[string]devProvider) map[string]bool {
	presets := map[string]bool{}
	for _, p := range b.facts.Presets {
		if len(providers[p.Models].Models) > 0 {
			presets[p.Preset] = true
		}
	}
	return presets
}

// addLibraryBases notes the models of a library, for files that leave out limits.
func (b *builder) addLibraryBases(l *Library) {
	for i := range l.Models {
		m := &l.Models[i]
		var base devModel
		base.Limit.Context, base.Limit.Output = m.ContextTokens, m.MaxOutputTokens
		base.Modalities.Input = m.Input
		b.bases[m.ID] = base
	}
}

func updatedSources(sources []Source, name, day string) []Source {
	sources = slices.Clone(sources)
	for i := range sources {
		if sources[i].Name == name {
			sources[i].Version = day
		}
	}
	return sources
}

// Change is one difference between two libraries.
type Change struct {
	// Model is the public id, and Preset the preset of the offer; empty for changes of the model itself.
	Model, Preset string
	// What is added, removed, or the name of what changed, such as input_tokens.
	What string
	// Old and New are the values as text; empty when there is none.
	Old, New string
}

// Change.What has these words for models and offers that are in one library only.
const (
	ChangeAdded   = "added"
	ChangeRemoved = "removed"
)

// String is the change in one line.
func (c Change) String() string {
	text := c.Model
	if c.Preset != "" {
		text += " at " + c.Preset
	}
	switch {
	case c.What == ChangeAdded || c.What == ChangeRemoved:
		return text + ": " + c.What
	case c.Old == "":
		return text + ": " + c.What + ": " + c.New + " (new)"
	case c.New == "":
		return text + ": " + c.What + ": no longer " + c.Old
	}
	return text + ": " + c.What + ": " + c.Old + " → " + c.New
}

// Differences lists what differs between two libraries, in the order of the ids of the models.
func Differences(old, next *Library) (all []Change) {
	ids := map[string]bool{}
	for _, l := range []*Library{old, next} {
		for i := range l.Models {
			ids[l.Models[i].ID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		before, after := old.Find(id), next.Find(id)
		switch {
		case before == nil:
			all = append(all, Change{Model: id, What: ChangeAdded})
		case after == nil:
			all = append(all, Change{Model: id, What: ChangeRemoved})
		default:
			all = append(all, modelChanges(before, after)...)
		}
	}
	return all
}

func modelChanges(before, after *Model) (all []Change) {
	add := func(preset, what, old, next string) {
		if old != next {
			all = append(all, Change{Model: after.ID, Preset: preset, What: what, Old: old, New: next})
		}
	}
	add("", "name", before.Name, after.Name)
	add("", "context_tokens", fmt.Sprint(before.ContextTokens), fmt.Sprint(after.ContextTokens))
	add("", "max_output_tokens", fmt.Sprint(before.MaxOutputTokens), fmt.Sprint(after.MaxOutputTokens))
	add("", "status", before.Status, after.Status)
	add("", "input", fmt.Sprint(before.Input), fmt.Sprint(after.Input))
	presets := map[string]bool{}
	for _, m := range []*Model{before, after} {
		for i := range m.Offers {
			presets[m.Offers[i].Preset] = true
		}
	}
	for _, preset := range slices.Sorted(maps.Keys(presets)) {
		old, next := before.offer(preset), after.offer(preset)
		switch {
		case old == nil:
			all = append(all, Change{Model: after.ID, Preset: preset, What: ChangeAdded})
		case next == nil:
			all = append(all, Change{Model: after.ID, Preset: preset, What: ChangeRemoved})
		default:
			add(preset, "model", old.Model, next.Model)
			add(preset, "shutdown", dayText(old.Shutdown), dayText(next.Shutdown))
			for _, c := range costChanges(old.Cost, next.Cost) {
				add(preset, c.What, c.Old, c.New)
			}
		}
	}
	return all
}

func dayText(d catalog.Date) string {
	if d.IsZero() {
		return ""
	}
	return time.Time(d).Format(time.DateOnly)
}

// costChanges are the prices that differ, without the model.
func costChanges(old, next *catalog.FileCost) (all []Change) {
	if old == nil {
		old = &catalog.FileCost{}
	}
	if next == nil {
		next = &catalog.FileCost{}
	}
	meters := map[string]bool{}
	for _, c := range []*catalog.FileCost{old, next} {
		for name := range c.Rates {
			meters[name] = true
		}
	}
	text := func(rates catalog.Rates, name string) string {
		price, ok := rates[name]
		if !ok {
			return ""
		}
		return "$" + price.String()
	}
	for _, name := range slices.Sorted(maps.Keys(meters)) {
		if a, b := text(old.Rates, name), text(next.Rates, name); a != b {
			all = append(all, Change{What: name, Old: a, New: b})
		}
	}
	a, b := conditionsText(old.Conditions), conditionsText(next.Conditions)
	if a != b {
		all = append(all, Change{What: "conditions", Old: a, New: b})
	}
	return all
}

// conditionsText is conditions in words. Equal conditions have equal words.
func conditionsText(conditions []catalog.FileCondition) string {
	all := make([]string, len(conditions))
	for i := range conditions {
		all[i] = conditionWords(&conditions[i])
	}
	return strings.Join(all, "; ")
}

// conditionWords says for which calls a condition is, and what they cost.
func conditionWords(c *catalog.FileCondition) string {
	var calls, costs []string
	for _, member := range []struct{ name, value string }{
		{"service tier", c.ServiceTier}, {"region", c.Region}, {"speed", c.Speed}, {"size", c.Size}, {"quality", c.Quality},
		{"", strings.Join(c.Days, ",")},
	} {
		if member.value != "" {
			calls = append(calls, strings.TrimSpace(member.name+" "+member.value))
		}
	}
	if c.PromptOver > 0 {
		calls = append(calls, fmt.Sprintf("prompts over %d tokens", c.PromptOver))
	}
	if c.EachOver > 0 {
		calls = append(calls, fmt.Sprintf("each over %d", c.EachOver))
	}
	for _, h := range c.Hours {
		calls = append(calls, h.String())
	}
	for _, day := range c.Except {
		calls = append(calls, "except "+dayText(day))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Rates)) {
		costs = append(costs, name+" $"+c.Rates[name].String())
	}
	if c.Times > 0 {
		costs = append(costs, strings.TrimSpace(strings.Join(c.Meters, ",")+" ×"+c.Times.String()))
	}
	return strings.Join(calls, " ") + ": " + strings.Join(costs, ", ")
}
