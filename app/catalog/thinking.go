package catalog

import (
	"slices"

	"umg/app/llm"
)

// These are the ways to ask for thinking in the messages style.
const (
	thinkingEnabled  = "enabled"
	thinkingAdaptive = "adaptive"
	thinkingEffort   = "effort"

	// reasoningEffort is the parameter of models that think.
	reasoningEffort = "reasoning_effort"
)

var knownThinking = []string{thinkingEnabled, thinkingAdaptive, thinkingEffort}

// checkThinking checks that a model that thinks takes at least one of the ways to ask for it.
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

// thinks reports whether the model takes a way to ask for thinking.
func (m *FileModel) thinks(form string) bool {
	return slices.Contains(m.Parameters, reasoningEffort) && (len(m.Thinking) == 0 || slices.Contains(m.Thinking, form))
}

// thinkingForms are the ways to ask for thinking that the model refuses.
func (m *FileModel) thinkingForms() llm.ThinkingForms {
	forms := llm.ThinkingForms{
		NoBudget: !m.thinks(thinkingEnabled), NoAdaptive: !m.thinks(thinkingAdaptive), NoEffort: !m.thinks(thinkingEffort),
	}
	for _, effort := range m.Ranges[reasoningEffort].Values {
		forms.Efforts = append(forms.Efforts, llm.Effort(effort))
	}
	return forms
}

// effortNone is the effort of answers without reasoning.
const effortNone = "none"

// alwaysReasons reports whether the model takes efforts of which none switches reasoning off. It reports false when the catalog does not
// list the efforts.
func (m *Model) alwaysReasons() bool {
	return slices.Contains(m.Parameters, reasoningEffort) && len(m.Thinking.Efforts) > 0 && !slices.Contains(m.Thinking.Efforts, effortNone)
}
