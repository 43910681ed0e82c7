package catalog

import (
	"maps"
	"slices"

	"umg/app/modelfamily"
)

// ParameterList is the parameters that a model takes. Nil means that the file leaves them out, and an empty list that there are none.
type ParameterList []string

// IsZero reports whether the file leaves the parameters out.
func (l ParameterList) IsZero() bool { return l == nil }

// withFamilies is the file in which text models that leave their parameters out have those of their family, by the first route. So have
// their forms of thinking and the values of reasoning_effort, where the file leaves them out too.
func (f File) withFamilies() File {
	presets := map[string]string{}
	for i := range f.Providers {
		presets[f.Providers[i].ID] = f.Providers[i].Preset
	}
	models, isCopy := f.Models, false
	for i := range f.Models {
		m := &f.Models[i]
		first := m.firstRoute()
		if m.Parameters != nil || m.Kind != KindText || first == nil {
			continue
		}
		family, known := modelfamily.Find(presets[first.Provider], first.Model)
		if !known {
			continue
		}
		if !isCopy {
			models, isCopy = slices.Clone(f.Models), true
		}
		models[i].takeFamily(&family)
	}
	f.Models = models
	return f
}

func (m *FileModel) takeFamily(family *modelfamily.Family) {
	m.Parameters = family.Parameters
	if m.Thinking == nil {
		m.Thinking = family.Thinking
	}
	if _, has := m.Ranges[reasoningEffort]; !has && len(family.Efforts) > 0 && slices.Contains(family.Parameters, reasoningEffort) {
		m.Ranges = maps.Clone(m.Ranges)
		if m.Ranges == nil {
			m.Ranges = map[string]Range{}
		}
		m.Ranges[reasoningEffort] = Range{Values: family.Efforts}
	}
}
