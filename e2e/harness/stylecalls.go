package harness

import (
	"regexp"
	"testing"
)

// styledProviders are providers of the default catalog that speak the styles.
var styledProviders = map[string]string{"chat": "meridian", "messages": "quillon", "responses": "tessera", "native": "boreal"}

// AddModelPerStyle adds one model for each style of upstream, all at one price, whose simulator follows the directives. It returns
// their ids by style.
func (g *Gateway) AddModelPerStyle(t *testing.T, name, does string) map[string]string {
	t.Helper()
	ids, models := StyleModels(name, does)
	g.AddModels(t, models...)
	return ids
}

// StyleModels are one catalog entry for each style of upstream, and their ids by style.
func StyleModels(name, does string) (ids map[string]string, models []Model) {
	ids = map[string]string{}
	for style, provider := range styledProviders {
		ids[style] = "test/" + name + "-" + style
		models = append(models, Model{ID: ids[style], UpstreamModel: "sim-" + style + does, Provider: provider, Style: style, Extra: EveryStyle})
	}
	return ids, models
}

// CostPattern finds the costs in an answer.
var CostPattern = regexp.MustCompile(`"cost":([0-9.]+)`)

// ShownCost is the one cost that an answer shows, in one piece or streamed.
func ShownCost(t *testing.T, body string) int64 {
	t.Helper()
	all := CostPattern.FindAllStringSubmatch(body, -1)
	if len(all) != 1 {
		t.Errorf("%d costs are shown in %s", len(all), body)
		return 0
	}
	return Nanos(t, all[0][1])
}

// StyleCall is a request of a style to a model, and how it is to be answered.
type StyleCall struct {
	Style

	Body    string
	Streams bool
}

// StyleCalls are one call for each style, each upstream, in one piece and streamed.
func StyleCalls(ids map[string]string, prompt string, members func(p Style) []string) []StyleCall {
	var all []StyleCall
	for _, p := range AllStyles() {
		for _, id := range ids {
			for _, stream := range []bool{false, true} {
				more := members(p)
				if stream {
					more = append(more, `"stream":true`)
				}
				if stream && p.Name == "chat" {
					more = append(more, `"stream_options":{"include_usage":true}`)
				}
				all = append(all, StyleCall{p, p.Request(id, prompt, more...), stream})
			}
		}
	}
	return all
}
