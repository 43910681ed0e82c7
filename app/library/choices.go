package library

import (
	"cmp"
	"slices"
	"strings"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/modelfamily"
	"umg/app/provider/modellist"
)

// Choice is a model that can be published at a provider with a preset.
type Choice struct {
	// Model and Offer are never nil. For an unknown model they have what its name tells.
	Model *Model
	Offer *Offer
	// ID is the public id.
	ID string
	// ProviderModel is the name of the model in calls to the provider.
	ProviderModel string
	// Listed says that the list of the provider has the model.
	Listed bool
	// Known says that the library has the model.
	Known bool
	// Priced says that its cost is known. A model without a cost needs prices before it can be published.
	Priced bool
}

// Choices lists the text models of a preset in the order of their ids. With a list of the provider they are those of the list, and those
// that the library does not know come last. Listed models that are known to make something other than text are left out. Without
// a list they are all models that the library has for the preset.
func (l *Library) Choices(presetID string, listed []modellist.Model) []Choice {
	var all []Choice
	if listed == nil {
		for i := range l.Models {
			if o := l.Models[i].offer(presetID); o != nil {
				all = append(all, choiceOf(&l.Models[i], o))
			}
		}
		return all
	}
	index := l.index(presetID)
	seen := map[string]int{}
	for _, entry := range listed {
		c, ok := index.choice(entry)
		if !ok || c.ProviderModel != entry.ID && hasOnlyOtherProfiles(listed, entry.ID, c.ProviderModel) {
			continue
		}
		if at, twice := seen[c.ID]; twice {
			if c.ProviderModel == c.Offer.Model && c.Known {
				all[at] = c
			}
			continue
		}
		seen[c.ID] = len(all)
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Choice) int {
		if a.Known != b.Known {
			if a.Known {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

// hasOnlyOtherProfiles reports whether a list has profiles of Bedrock for a model, but not the one for its calls. The model is then called
// by the other profiles alone, which are choices of their own.
func hasOnlyOtherProfiles(listed []modellist.Model, model, profile string) bool {
	others := false
	for i := range listed {
		if listed[i].ID == profile {
			return false
		}
		others = others || strings.HasSuffix(listed[i].ID, "."+model)
	}
	return others
}

// ChoicesFor is Choices for a provider, with the costs that depend on its fields, such as the location.
func (l *Library) ChoicesFor(p catalog.FileProvider, listed []modellist.Model) ([]Choice, error) {
	all := l.Choices(p.Preset, listed)
	for i := range all {
		cost, err := costAt(&p, all[i].ID, all[i].Offer.Cost)
		if err != nil {
			return nil, err
		}
		if cost != all[i].Offer.Cost {
			o := *all[i].Offer
			o.Cost, all[i].Offer = cost, &o
		}
	}
	return all, nil
}

func choiceOf(m *Model, o *Offer) Choice {
	return Choice{Model: m, Offer: o, ID: m.ID, ProviderModel: o.Model, Known: true, Priced: o.Cost != nil}
}

// presetIndex finds the models of a preset by the names that a list may have for them.
type presetIndex struct {
	preset string
	date   catalog.Date
	// byName has the names in calls and the aliases, byID the public ids.
	byName, byID map[string]Choice
	// models has those of all presets by their public ids.
	models map[string]*Model
}

func (l *Library) index(presetID string) *presetIndex {
	index := &presetIndex{preset: presetID, date: l.day(), byName: map[string]Choice{}, byID: map[string]Choice{}, models: map[string]*Model{}}
	for i := range l.Models {
		m := &l.Models[i]
		index.models[m.ID] = m
		o := m.offer(presetID)
		if o == nil {
			continue
		}
		c := choiceOf(m, o)
		for _, alias := range o.Aliases {
			index.byName[strings.ToLower(alias)] = c
		}
		index.byID[m.ID] = c
	}
	for _, c := range index.byID {
		index.byName[strings.ToLower(c.Offer.Model)] = c
	}
	return index
}

func (l *Library) day() (d catalog.Date) {
	_ = d.UnmarshalText([]byte(l.Date)) // Decode has checked the day.
	return d
}

// choice is the choice of an entry of a list. It reports false when the model is not called about text.
func (index *presetIndex) choice(entry modellist.Model) (Choice, bool) {
	family, isKnownFamily := modelfamily.Find(index.preset, entry.ID)
	if family.Unserved != "" {
		return Choice{}, false
	}
	c, found := index.byName[strings.ToLower(entry.ID)]
	if !found {
		if c, found = index.byID[family.PublicID()]; found {
			c.ProviderModel = entry.ID
			// Lists have names without the profile of Bedrock and without the version of Vertex.
			if strings.HasSuffix(c.Offer.Model, "."+entry.ID) || strings.HasPrefix(c.Offer.Model, entry.ID+"@") {
				c.ProviderModel = c.Offer.Model
			}
		}
	}
	if !found {
		c = unknown(index, &family, isKnownFamily, entry)
	}
	if contextTokens, _ := c.Offer.limits(c.Model); entry.ContextTokens > 0 && entry.ContextTokens != contextTokens {
		o := *c.Offer
		o.ContextTokens = entry.ContextTokens
		c.Offer = &o
	}
	c.Listed = true
	return c, true
}

// An unknown model is assumed to have these limits.
const (
	contextTokensUnknown   = 32_768
	maxOutputTokensUnknown = 4_096
)

// unknown is the choice of a model that the library does not have at the preset. It may have it at others.
func unknown(index *presetIndex, f *modelfamily.Family, isKnownFamily bool, entry modellist.Model) Choice {
	o := &Offer{Preset: index.preset, Model: entry.ID, Style: cmp.Or(f.Style, llm.Chat)}
	if m := index.models[f.PublicID()]; m != nil {
		return Choice{Model: m, Offer: o, ID: m.ID, ProviderModel: entry.ID, Known: true}
	}
	m := &Model{
		ID: f.PublicID(), Name: entry.ID, Owner: f.Owner, Family: f.ID, Input: []string{"text"}, Output: []string{"text"},
		ContextTokens:   cmp.Or(entry.ContextTokens, f.ContextTokens, contextTokensUnknown),
		MaxOutputTokens: cmp.Or(f.MaxOutputTokens, maxOutputTokensUnknown), Released: index.date,
		Reasoning: slices.Contains(f.Parameters, reasoningEffort), Efforts: f.Efforts, Tools: slices.Contains(f.Parameters, "tools"),
		Schemas: slices.Contains(f.Parameters, "structured_outputs"), FixedSampling: !slices.Contains(f.Parameters, "temperature"),
	}
	if !isKnownFamily {
		m.FixedSampling, m.Tools = false, true
	}
	m.MaxOutputTokens = min(m.MaxOutputTokens, m.ContextTokens)
	return Choice{Model: m, Offer: o, ID: m.ID, ProviderModel: entry.ID}
}
