package library

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"umg/app/catalog"
	"umg/app/modelfamily"
)

// builder makes a library from files of others and facts.
type builder struct {
	facts  *facts
	drafts []draft
	// bases has models that a file describes in full, by public id.
	bases map[string]devModel
	// day is the day for which prices that begin on a day are chosen.
	day string
}

// Files are the data from which Build makes a library.
type Files struct {
	// Models has the text of each provider's models, by the id of the provider in models.dev.
	Models map[string][]byte
	// Prices is the text of genai-prices.
	Prices []byte
}

// Build makes a library from files and the facts of the program. An error names the file and the model.
func Build(files Files) (*Library, error) {
	known, err := loadFacts()
	if err != nil {
		return nil, err
	}
	providers := map[string]devProvider{}
	for _, p := range known.Presets {
		text, ok := files.Models[p.Models]
		if p.Models == "" || !ok {
			continue
		}
		var provider devProvider
		if err := json.Unmarshal(text, &provider); err != nil {
			return nil, fmt.Errorf("library: models of %s: %w", p.Models, err)
		}
		providers[p.Models] = provider
	}
	b := &builder{facts: known, day: known.Date, bases: map[string]devModel{}}
	if err := b.addProviders(providers); err != nil {
		return nil, err
	}
	b.addFacts()
	prices, err := parsePrices(files.Prices)
	if err != nil {
		return nil, err
	}
	b.addPriced(prices)
	if err := b.applyPrices(prices, known.ModelsDate); err != nil {
		return nil, err
	}
	return b.library(known.ModelsDate, known.Sources, nil), nil
}

// addProviders adds the models of the providers of models.dev that a preset has.
func (b *builder) addProviders(providers map[string]devProvider) error {
	for _, p := range b.facts.Presets {
		b.addBases(p.Preset, providers[p.Models])
	}
	for _, p := range b.facts.Presets {
		if err := b.addDev(p.Preset, providers[p.Models]); err != nil {
			return fmt.Errorf("library: %w", err)
		}
	}
	return nil
}

// addFacts adds the models that no file has.
func (b *builder) addFacts() {
	for i := range b.facts.Models {
		f := &b.facts.Models[i]
		family, _ := modelfamily.Find(f.Preset, f.Model)
		m := Model{
			ID: family.PublicID(), Name: f.Name, Owner: family.Owner, Family: family.ID, Input: f.Input, Output: []string{modalityText},
			ContextTokens: f.ContextTokens, MaxOutputTokens: f.MaxOutputTokens, Released: f.Released, Efforts: f.Efforts,
			Reasoning: slices.Contains(family.Parameters, reasoningEffort), Tools: slices.Contains(family.Parameters, "tools"),
			Schemas: slices.Contains(family.Parameters, "structured_outputs"),
		}
		isThere := slices.ContainsFunc(b.drafts, func(d draft) bool { return d.offer.Preset == f.Preset && d.offer.Model == f.Model })
		if !isThere {
			o := Offer{Preset: f.Preset, Model: f.Model, Style: family.Style}
			d := draft{family: family, model: m, offer: o, price: f.Model}
			if f.Cost != nil {
				d.offer.Cost, d.price = clone(f.Cost), ""
			}
			b.drafts = append(b.drafts, d)
		}
	}
}

// addPriced adds the models of lists of prices that are known from other presets.
func (b *builder) addPriced(prices []pricesProvider) {
	known := map[string]*draft{}
	for i := range b.drafts {
		if id := b.drafts[i].family.PublicID(); known[id] == nil {
			known[id] = &b.drafts[i]
		}
	}
	var more []draft
	for _, p := range b.facts.Presets {
		at := slices.IndexFunc(prices, func(list pricesProvider) bool { return list.ID == p.Prices })
		if at < 0 || !p.AddPriced {
			continue
		}
		for _, m := range prices[at].Models {
			family, _ := modelfamily.Find(p.Preset, m.ID)
			from := known[family.PublicID()]
			isThere := slices.ContainsFunc(b.drafts, func(d draft) bool { return d.offer.Preset == p.Preset && d.offer.Model == m.ID })
			if from == nil || isThere || family.Style == "" || family.Unserved != "" {
				continue
			}
			o := Offer{Preset: p.Preset, Model: m.ID, Style: family.Style}
			more = append(more, draft{family: family, model: from.model, offer: o, price: m.ID})
		}
	}
	b.drafts = append(b.drafts, more...)
}

// addLibrary adds the offers of a library, but for those of some presets.
func (b *builder) addLibrary(l *Library, except map[string]bool) {
	for i := range l.Models {
		m := &l.Models[i]
		for _, o := range m.Offers {
			if except[o.Preset] {
				continue
			}
			family, _ := modelfamily.Find(o.Preset, o.Model)
			copied := *m
			copied.Offers = nil
			if o.Cost != nil {
				o.Cost = clone(o.Cost)
			}
			copied.ContextTokens, copied.MaxOutputTokens = o.limits(m)
			b.drafts = append(b.drafts, draft{family: family, model: copied, offer: o, price: o.Model})
		}
	}
}

// parsePrices reads genai-prices: a list of providers, or an object that has one.
func parsePrices(text []byte) (all []pricesProvider, err error) {
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '{' {
		var object struct {
			Providers []pricesProvider `json:"providers"`
		}
		err = json.Unmarshal(text, &object)
		all = object.Providers
	} else {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("library: prices: %w", err)
	}
	return all, nil
}

// applyPrices completes the costs of the offers with a list of prices. Where both have the price of input and output and differ, the
// list is right only when its price begins after a day. An empty day means always.
func (b *builder) applyPrices(prices []pricesProvider, day string) error {
	for i := range b.drafts {
		d := &b.drafts[i]
		rank := b.facts.rank(d.offer.Preset)
		if rank < 0 {
			continue
		}
		at := slices.IndexFunc(prices, func(p pricesProvider) bool { return p.ID != "" && p.ID == b.facts.Presets[rank].Prices })
		if at < 0 || d.price == "" {
			continue
		}
		name := strings.ToLower(d.price)
		found := slices.IndexFunc(prices[at].Models, func(m pricesModel) bool { return m.Match.matches(name) })
		if found < 0 {
			continue
		}
		cost, from, err := prices[at].Models[found].cost(b.day)
		if err != nil {
			return fmt.Errorf("library: prices of %s: %s: %w", prices[at].ID, prices[at].Models[found].ID, err)
		}
		if cost == nil {
			continue
		}
		cost.Conditions = slices.DeleteFunc(cost.Conditions, func(c catalog.FileCondition) bool {
			return c.PromptOver >= d.model.ContextTokens
		})
		switch {
		case d.offer.Cost == nil:
			d.offer.Cost = cost
		case sameBase(d.offer.Cost, cost):
			complete(d.offer.Cost, cost)
		case from > day || day == "":
			complete(cost, restOf(d.offer.Cost))
			d.offer.Cost = cost
		}
	}
	return nil
}

// sameBase reports whether two costs have the same prices of input and output.
func sameBase(a, b *catalog.FileCost) bool {
	return a.Rates[meterInput].PerUnit() == b.Rates[meterInput].PerUnit() && a.Rates[meterOutput].PerUnit() == b.Rates[meterOutput].PerUnit()
}

// complete adds the prices of meters that a cost does not have. It adds other conditions too, but those on the size of the prompt only
// to a cost that has none.
func complete(cost, from *catalog.FileCost) {
	addMissing(cost.Rates, from.Rates)
	own := slices.Clone(cost.Conditions)
	isTier := func(c catalog.FileCondition) bool { return c.PromptOver > 0 }
	for _, c := range from.Conditions {
		at := slices.IndexFunc(own, func(o catalog.FileCondition) bool { return isTier(c) && o.PromptOver == c.PromptOver })
		isThere := slices.ContainsFunc(own, func(o catalog.FileCondition) bool { return conditionText(&o) == conditionText(&c) })
		switch {
		case isThere:
		case at >= 0:
			addMissing(own[at].Rates, c.Rates)
		case !isTier(c) || !slices.ContainsFunc(own, isTier):
			cost.Conditions = append(cost.Conditions, c)
		}
	}
}

// addMissing adds the prices of meters that have none.
func addMissing(rates, from catalog.Rates) {
	for name, price := range from {
		if _, ok := rates[name]; !ok {
			rates[name] = price
		}
	}
}

// restOf is the part of a cost that stays right when the prices of tokens change: fees, and conditions that multiply prices, such as those
// of hours.
func restOf(cost *catalog.FileCost) *catalog.FileCost {
	rest := &catalog.FileCost{Rates: catalog.Rates{}}
	for name, price := range cost.Rates {
		if !strings.HasSuffix(name, "_tokens") {
			rest.Rates[name] = price
		}
	}
	for _, c := range cost.Conditions {
		if c.PromptOver == 0 && len(c.Rates) == 0 {
			rest.Conditions = append(rest.Conditions, c)
		}
	}
	return rest
}

// library merges the drafts. The previous library completes costs whose base has not changed.
func (b *builder) library(date string, sources []Source, previous *Library) *Library {
	b.name()
	if previous != nil {
		b.keep(previous)
	}
	b.applyRules()
	slices.SortStableFunc(b.drafts, func(x, y draft) int {
		return cmp.Or(strings.Compare(x.model.ID, y.model.ID), b.facts.rank(x.offer.Preset)-b.facts.rank(y.offer.Preset))
	})
	l := &Library{Date: date, Sources: sources}
	for i := range b.drafts {
		d := &b.drafts[i]
		if n := len(l.Models); n == 0 || l.Models[n-1].ID != d.model.ID {
			d.model.Name = strings.TrimSuffix(d.model.Name, " (latest)")
			if n > 0 {
				d.model.nameLike(&l.Models[n-1])
			}
			if d.model.Released.IsZero() {
				d.model.Released = dayOf(date)
			}
			l.Models = append(l.Models, d.model)
		}
		m := &l.Models[len(l.Models)-1]
		if m.offer(d.offer.Preset) != nil {
			continue
		}
		if m.Shutdown.IsZero() && len(m.Offers) == 0 {
			m.Shutdown = d.offer.Shutdown
		}
		d.offer.ContextTokens = other(d.model.ContextTokens, m.ContextTokens)
		d.offer.MaxOutputTokens = other(d.model.MaxOutputTokens, m.MaxOutputTokens)
		m.Offers = append(m.Offers, d.offer)
	}
	l.setAliases()
	return l
}

// nameLike names a variant after the model before it in the order of ids, which is the same model without a place or at another one.
func (m *Model) nameLike(before *Model) {
	plain, variant, isVariant := strings.Cut(m.ID, ":")
	if isVariant && (before.ID == plain || strings.HasPrefix(before.ID, plain+":")) {
		name, _, _ := strings.Cut(before.Name, " (")
		m.Name = name + " (" + strings.ToUpper(variant) + ")"
	}
}

// other is a number when it is not the usual one, and otherwise zero.
func other(n, usual int64) int64 {
	if n == usual {
		return 0
	}
	return n
}

var snapshotDate = regexp.MustCompile(`20\d{6}|20\d\d-\d\d-\d\d`)

// name gives each offer its public id. The names of one model at one preset become one offer, unless they are several dated snapshots
// or differ in price: then each dated one is a model of its own.
func (b *builder) name() {
	groups := map[string][]int{}
	for i := range b.drafts {
		key := b.drafts[i].offer.Preset + " " + b.drafts[i].family.PublicID()
		groups[key] = append(groups[key], i)
	}
	var out []draft
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		members := groups[key]
		dates := map[string]bool{}
		isAlike := true
		for _, i := range members {
			if date := snapshotDate.FindString(b.drafts[i].offer.Model); date != "" {
				dates[date] = true
			}
			isAlike = isAlike && sameCost(b.drafts[i].offer.Cost, b.drafts[members[0]].offer.Cost)
		}
		var alike []int
		for _, i := range members {
			d := b.drafts[i]
			d.model.ID = d.family.PublicID()
			if (len(dates) > 1 || !isAlike) && snapshotDate.MatchString(d.offer.Model) {
				d.model.ID = d.family.Owner + "/" + strings.ToLower(d.offer.Model)
				d.offer.Aliases = []string{d.offer.Model}
				out = append(out, d)
				continue
			}
			alike = append(alike, i)
		}
		if len(alike) == 0 {
			continue
		}
		slices.SortStableFunc(alike, func(x, y int) int { return preference(&b.drafts[y]) - preference(&b.drafts[x]) })
		d := b.drafts[alike[0]]
		d.model.ID = d.family.PublicID()
		for _, i := range alike {
			d.offer.Aliases = append(d.offer.Aliases, append(b.drafts[i].offer.Aliases, b.drafts[i].offer.Model)...)
		}
		out = append(out, d)
	}
	b.drafts = out
}

// preference orders names of one model at one preset. At Bedrock new models are called by the profile of all regions, and the list has the
// names with a version.
func preference(d *draft) int {
	name := d.offer.Model
	switch {
	case strings.HasPrefix(name, "global."):
		return 3
	case d.offer.Preset == "bedrock" && strings.Contains(name, ":"):
		return 2
	case !snapshotDate.MatchString(name):
		return 1
	}
	return 0
}

// sameCost reports whether two costs are equal, or one is not known.
func sameCost(a, b *catalog.FileCost) bool { return a == nil || b == nil || costText(a) == costText(b) }

// costText is a cost in a form that is equal for equal costs.
func costText(c *catalog.FileCost) string {
	if c == nil {
		return ""
	}
	text, err := json.Marshal(any(c))
	if err != nil {
		panic("library: cost: " + err.Error()) // A cost has only numbers and texts.
	}
	return string(text)
}

// keep completes costs with the prices of a library, where input and output cost what they did.
func (b *builder) keep(previous *Library) {
	for i := range b.drafts {
		d := &b.drafts[i]
		m := previous.Find(d.model.ID)
		if m == nil {
			continue
		}
		old := m.offer(d.offer.Preset)
		switch {
		case old == nil || old.Cost == nil:
		case d.offer.Cost == nil:
			d.offer.Cost = clone(old.Cost)
		case sameBase(d.offer.Cost, old.Cost):
			// Files tell the sizes of prompts that have other prices, so a file without them says that there are none any more.
			kept := clone(old.Cost)
			kept.Conditions = slices.DeleteFunc(kept.Conditions, func(c catalog.FileCondition) bool { return c.PromptOver > 0 })
			complete(d.offer.Cost, kept)
		default:
			complete(d.offer.Cost, restOf(old.Cost))
		}
	}
}

func clone(c *catalog.FileCost) *catalog.FileCost {
	out := &catalog.FileCost{Rates: maps.Clone(c.Rates), Conditions: slices.Clone(c.Conditions)}
	for i := range out.Conditions {
		out.Conditions[i].Rates = maps.Clone(out.Conditions[i].Rates)
	}
	return out
}
