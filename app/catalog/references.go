package catalog

import (
	"fmt"
	"slices"
	"strings"

	"umg/billing"
)

// fieldText is a text of a provider that may hold ${NAME} references, and the field that it is in.
type fieldText struct{ field, text string }

// referring are the texts of a provider in which references are looked up.
func (v *FileProvider) referring() []fieldText {
	texts := []fieldText{{"base_url", v.BaseURL}, {"credential", v.Credential}, {"proxy", v.Proxy}}
	for i, one := range v.Credentials {
		texts = append(texts, fieldText{fmt.Sprintf("credentials[%d]", i), one})
	}
	for _, name := range sortedKeys(v.Headers) {
		texts = append(texts, fieldText{"headers." + name, v.Headers[name]})
	}
	return texts
}

// Names lists the ${NAME} references of the file, each once, in order.
func (f File) Names() []string {
	var names []string
	for i := range f.Providers {
		for _, one := range f.Providers[i].referring() {
			for _, match := range reference.FindAllStringSubmatch(one.text, -1) {
				if !slices.Contains(names, match[1]) {
					names = append(names, match[1])
				}
			}
		}
	}
	return names
}

// Unset lists the references that lookup finds no value for, a line each, with the provider and the field. A disabled provider
// needs none.
func Unset(f File, lookup SecretLookup) []string {
	var all []string
	for i := range f.Providers {
		p := &f.Providers[i]
		if p.Disabled {
			continue
		}
		for _, one := range p.referring() {
			for _, match := range reference.FindAllStringSubmatch(one.text, -1) {
				if value, ok := lookup(match[1]); !ok || value == "" {
					all = append(all, fmt.Sprintf("providers[%d].%s: ${%s} of provider %s is not set", i, one.field, match[1], p.ID))
				}
			}
		}
	}
	return all
}

// Warnings lists what a file, which must be right, says without effect, and what most files have and this one lacks, a line
// each.
func Warnings(f File) []string {
	return slices.Concat(missingAliases(f.Aliases), idleTotals(f), idleRates(f))
}

// idleRates warns of prices for what no call counts.
func idleRates(f File) (all []string) {
	for i := range f.Models {
		m := &f.Models[i]
		for _, meter := range []billing.Meter{billing.Images, billing.Characters} {
			if _, priced := m.Rates[meter.String()]; priced && m.Availability == Available {
				all = append(all, fmt.Sprintf("models[%d].rates.%s: no call of %s counts %s, so the price has no effect", i, meter, m.ID, meter))
			}
		}
	}
	return all
}

// missingAliases warns of spellings that the built-in catalog has and a file lacks: official SDKs use them.
func missingAliases(a Aliases) []string {
	standard, err := ParseFile(Default())
	if err != nil {
		return nil
	}
	var lacking []string
	for _, name := range sortedKeys(standard.Aliases.Headers) {
		if a.Headers[name] == "" {
			lacking = append(lacking, name)
		}
	}
	for _, path := range sortedKeys(standard.Aliases.Paths) {
		if a.Paths[path] == "" {
			lacking = append(lacking, path)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return []string{"aliases: official SDKs use these headers and paths, which the file does not name and the server will not know: " +
		strings.Join(lacking, ", ")}
}
