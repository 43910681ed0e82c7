package catalog

import (
	"slices"

	"umg/app/llm"
)

// The forms of a wish for thinking in the messages style.
const (
	thinkingEnabled  = "enabled"
	thinkingAdaptive = "adaptive"
	thinkingEffort   = "effort"

	// reasoningEffort is the parameter of models that think.
	reasoningEffort = "reasoning_effort"
)

var knownThinking = []string{thinkingEnabled, thinkingAdaptive, thinkingEffort}

// checkThinking asks for a form in which the model can be made to think, of a model that thinks.
func (m *FileModel) checkThinking(p problems) {
	if m.Thinking == nil {
		return
	}
	if !slices.Contains(m.Parameters, reasoningEffort) {
		p.addf("thinking", "only models with the parameter %s think", reasoningEffort)
	}
	checkWords(p, "thinking", m.Thinking, knownThinking)
	if !m.thinks(thinkingEnabled) && !m.thinks(thinkingAdaptive) {
		p.addf("thinking", "needs %s or %s", thinkingEnabled, thinkingAdaptive)
	}
}

// thinks reports whether a form is one that the model takes.
func (m *FileModel) thinks(form string) bool {
	return slices.Contains(m.Parameters, reasoningEffort) && (len(m.Thinking) == 0 || slices.Contains(m.Thinking, form))
}

// thinkingForms are the forms that the model refuses.
func (m *FileModel) thinkingForms() llm.ThinkingForms {
	forms := llm.ThinkingForms{
		NoBudget: !m.thinks(thinkingEnabled), NoAdaptive: !m.thinks(thinkingAdaptive), NoEffort: !m.thinks(thinkingEffort),
	}
	for _, effort := range m.Ranges[reasoningEffort].Values {
		forms.Efforts = append(forms.Efforts, llm.Effort(effort))
	}
	return forms
}
