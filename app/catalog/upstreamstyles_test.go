package catalog

import (
	"slices"
	"strings"
	"testing"

	"umg/app/llm"
)

// TestProvidersSpeakStylesThatClientsDoNot has routes in the styles that only providers speak. A model has them neither among its own
// styles nor as a prefill.
func TestProvidersSpeakStylesThatClientsDoNot(t *testing.T) {
	t.Parallel()
	raw := strings.NewReplacer(
		"styles: [messages]}", "styles: [converse, cohere], paths: {converse: \"/m/{model}/{method}\", cohere: /v2/chat}}",
		"model: one-2, style: messages", "model: one-2, style: converse",
		"order: 2, weight: 3}", "order: 2, weight: 3}\n      - {provider: south, model: one-3, style: cohere, order: 3}",
	).Replace(smallFile)
	if all := Check(parse(t, raw)); len(all) > 0 {
		t.Errorf("%v", all)
	}
	raw = strings.Replace(raw, "    name: One\n", "    name: One\n    styles: [chat, converse]\n", 1)
	all := Check(parse(t, raw))
	isRefused := func(err error) bool {
		p, ok := err.(FileError)
		return ok && p.Path == "models[0].styles" && strings.Contains(p.Text, "not one of the styles [chat messages responses native]")
	}
	if !slices.ContainsFunc(all, isRefused) {
		t.Errorf("%v", all)
	}
}

// TestRoutesOfAllStylesAreStored applies a model with a route of each style that providers speak.
func TestRoutesOfAllStylesAreStored(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	f := parse(t, smallFile)
	m := &f.Models[0]
	at := m.Routes[0]
	m.Routes = nil
	for i, style := range llm.RouteStyles() {
		r := at
		r.Style, r.Order = style, i+1
		m.Routes = append(m.Routes, r)
	}
	for i := range f.Providers {
		f.Providers[i].Styles = nil
	}
	if err := ApplyAs(t.Context(), b.db, f, HistoryAction{BelowCost: true}); err != nil {
		t.Fatal(err)
	}
	if stored, err := Export(t.Context(), b.db); err != nil || len(stored.Models[0].Routes) != len(llm.RouteStyles()) {
		t.Errorf("%v, %v", stored.Models[0].Routes, err)
	}
}
