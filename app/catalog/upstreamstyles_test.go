package catalog

import (
	"slices"
	"strings"
	"testing"
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
