package catalog

import (
	"fmt"
	"slices"

	"umg/app/meter"
)

// reference is the name of a variable that the catalog needs, and the field of a provider that names it.
type reference struct{ field, name string }

// references are the ${NAME} references in the texts of a provider, each with the field that it is in.
func (v *FileProvider) references() (all []reference) {
	find := func(field, text string) {
		for _, match := range referenceForm.FindAllStringSubmatch(text, -1) {
			all = append(all, reference{field, match[1]})
		}
	}
	for _, field := range sortedKeys(v.With) {
		find("with."+field, v.With[field])
	}
	find("base_url", v.BaseURL)
	find("credential", v.Credential)
	find("proxy", v.Proxy)
	for i, credential := range v.Credentials {
		find(fmt.Sprintf("credentials[%d]", i), credential)
	}
	for _, header := range sortedKeys(v.Headers) {
		find("headers."+header, v.Headers[header])
	}
	return all
}

// Names lists the ${NAME} references of the file, each once, in order.
func (f File) Names() []string {
	var names []string
	for i := range f.Providers {
		for _, r := range f.Providers[i].references() {
			if !slices.Contains(names, r.name) {
				names = append(names, r.name)
			}
		}
	}
	return names
}

// Warnings lists settings of a correct file that have no effect, and prices below cost, a line each.
func Warnings(f File) []string {
	return slices.Concat(idleTotals(f), idleRates(f), idleConditions(f), BelowCost(f))
}

// idleRates warns of prices for what no call counts.
func idleRates(f File) (all []string) {
	for i := range f.Models {
		m := &f.Models[i]
		for _, counted := range []meter.Meter{meter.Images, meter.Characters} {
			if _, priced := m.Rates[counted.String()]; priced && m.Availability == Available {
				all = append(all, fmt.Sprintf("models[%d].rates.%s: no call of %s counts %s, so the price has no effect", i, counted, m.ID, counted))
			}
		}
	}
	return all
}

// usualTiers are words of providers for their usual service. Served calls have no tier then, so that no condition on one holds.
var usualTiers = []string{"auto", "default", "standard", "on_demand"}

// idleConditions warns of conditions that hold for no call.
func idleConditions(f File) (all []string) {
	for i := range f.Models {
		m := &f.Models[i]
		for j := range m.Conditions {
			at, c := fmt.Sprintf("models[%d].conditions[%d]", i, j), &m.Conditions[j]
			if m.ContextTokens > 0 && c.PromptOver >= m.ContextTokens {
				all = append(all, fmt.Sprintf("%s.prompt_over: no prompt of %s is so long, so the condition has no effect", at, m.ID))
			}
			if slices.Contains(usualTiers, c.ServiceTier) {
				all = append(all, fmt.Sprintf("%s.service_tier: %s is the usual service, which has no tier, so the condition has no effect",
					at, c.ServiceTier))
			}
			if m.Kind == KindText && c.Size+c.Quality != "" {
				all = append(all, fmt.Sprintf("%s: no call of %s has a size or a quality, so the condition has no effect", at, m.ID))
			}
		}
	}
	return all
}
