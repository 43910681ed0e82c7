package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestThePlaygroundOffersWhatTheModelTakes opens the form for models that take no tools, no format of an answer, or some of both.
func TestThePlaygroundOffersWhatTheModelTakes(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("offers@example.com")
	const tools, format, json, schema = `<section data-shared="tools">`, `<section class="play-format" data-shared="format">`,
		`value="json_object"`, `value="json_schema"`
	for _, c := range []struct {
		query         string
		offers, lacks []string
	}{
		{"model=meridian/atlas-large&style=chat", []string{tools, format, json, schema, `data-param="temperature"`}, nil},
		{"model=meridian/atlas-large&style=messages", []string{tools, format, schema}, []string{json}},
		{"model=meridian/atlas-nano&style=chat", []string{format, json}, []string{tools, schema, `data-param="reasoning_effort"`}},
		{"model=quillon/folio-pocket&style=messages", []string{tools}, []string{format, json, schema, `data-param="output_config.effort"`}},
		{"model=quillon/folio-pocket&style=messages&format=json_schema", []string{format, schema}, []string{json}},
		{"model=meridian/atlas-nano&style=chat&tools=[]", []string{tools}, nil},
	} {
		a := p.see("/console/playground?" + c.query)
		for _, want := range c.offers {
			if a.status != http.StatusOK || !strings.Contains(a.body, want) {
				t.Errorf("%s does not offer %s: %d", c.query, want, a.status)
			}
		}
		for _, wrong := range c.lacks {
			if strings.Contains(a.body, wrong) {
				t.Errorf("%s offers %s", c.query, wrong)
			}
		}
	}
	events := p.stream(url.Values{"model": {"meridian/atlas-nano"}, "style": {"chat"}, "prompt": {"hi"},
		"tools": {`[{"name":"f","description":"d","parameters":{"type":"object"}}]`}})
	if e := events[len(events)-1]; e.Kind != "error" || e.Field != "tools" || !strings.Contains(e.Text, "Leave it out") {
		t.Errorf("tools of a model that takes none: %+v", e)
	}
}
