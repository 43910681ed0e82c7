package console_test

import (
	"encoding/json"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"umg/app/ratelimit"
	"umg/app/simulator"
)

// anyForm is a form of the playground with random values of every kind: turns, images, tool calls and their results, tools, a
// schema, variables and settings.
func anyForm(r *rand.Rand) url.Values {
	one := func(words ...string) string { return words[r.IntN(len(words))] }
	text := func() string {
		return one("Hello", "two\r\nlines", "<b>\"quoted\"</b> & \\n", "é 😀 \u2028", "{{name}} and {{name}}", "1e400", "  spaces  ")
	}
	const dot = "data:image/png;base64,iVBORw0KGgo="
	form := url.Values{"model": {allStyles}, "prompt": {text()}, "var_name": {one("Ada", "{{name}}", "\"}")}}
	if r.IntN(2) == 0 {
		form.Set("stream", "true")
	}
	form.Set("system", one("", "Be kind, {{name}}.", text()))
	form.Set("image_url", one("", "", "https://example.com/a.png?x=<1>&y=2"))
	form.Set("image", one("", "", dot))
	form.Set("param.temperature", one("", "0", "0.5", "1"))
	form.Set("param.max", one("", "64"))
	form.Set("param.stop", one("", "END", "one\r\ntwo"))
	tools := r.IntN(2) == 0
	if tools {
		form.Set("tools", one(weatherTool, `[{"name": "get_weather"}, {"name": "b", "description": "<&>", "parameters": {"type": "object", "properties": {"n": {"type": "number", "maximum": 1.50}}}}]`))
		form.Set("tool_choice", one("", "auto", "none", "required", "get_weather"))
	}
	switch r.IntN(3) {
	case 0:
		form.Set("format", "json_schema")
		form.Set("schema", citySchema)
		form.Set("schema_name", one("", "place"))
	case 1:
		form.Set("format", "json_object")
	}
	turn := func(role, text, image, calls, call string) {
		for name, value := range map[string]string{"turn_role": role, "turn_text": text, "turn_image": image, "turn_calls": calls, "turn_call": call} {
			form.Add(name, value)
		}
	}
	for range r.IntN(3) {
		turn("user", text(), one("", dot), "", "")
		turn("assistant", text(), "", "", "")
		if tools && r.IntN(2) == 0 {
			turn("user", text(), "", "", "")
			turn("assistant", one("", "I look."), "", `[{"id":"call_1","name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}]`, "")
			turn("tool", one(`{"degrees": 21}`, "warm"), "", "", "call_1")
		}
	}
	return form
}

var shownBodies = regexp.MustCompile(`(?s)<pre hidden hx-ignore data-body="([a-z]+)"[^>]*>(.*?)</pre>`)

// TestTheCodeIsWhatIsSent compares the bodies of the code view in all styles with the bodies that the text pipeline gets, for
// random forms. A style that cannot express a form says so in both places.
func TestTheCodeIsWhatIsSent(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("code@example.com")
	r := rand.New(rand.NewPCG(7, 7)) // A fixed seed makes failures reproducible.
	equal := func(a, b string) bool {
		var one, other any
		x, y := json.NewDecoder(strings.NewReader(a)), json.NewDecoder(strings.NewReader(b))
		x.UseNumber()
		y.UseNumber()
		return x.Decode(&one) == nil && y.Decode(&other) == nil && reflect.DeepEqual(one, other)
	}
	compared := map[string]int{}
	for range 8 {
		form := anyForm(r)
		form.Set("style", textStyles[r.IntN(len(textStyles))])
		code := p.send("/console/playground/code", form)
		shown := map[string]string{}
		for _, m := range shownBodies.FindAllStringSubmatch(code.body, -1) {
			shown[m[1]] = html.UnescapeString(m[2])
		}
		for _, style := range textStyles {
			form.Set("style", style)
			events := p.stream(form)
			sent, said := first(events, "request").Body, shown[style]
			if code.status != http.StatusOK || said != "" && !equal(said, sent) || said == "" && last(events).Kind != "error" {
				t.Errorf("%s of %v: %d\nshown %s\nsent  %s\n%+v", style, form, code.status, said, sent, last(events))
			}
			if said != "" {
				compared[style]++
			}
		}
	}
	for _, style := range textStyles {
		if compared[style] < 3 {
			t.Errorf("only %d bodies of %s were compared", compared[style], style)
		}
	}
}

// TestSeveralPanesCountAgainstThePlacesOfTheAccount fills the account's places with panes that are being answered: one more is
// refused as one more call of a key would be, and is answered when a place is free again.
func TestSeveralPanesCountAgainstThePlacesOfTheAccount(t *testing.T) {
	t.Parallel()
	began, free := make(chan struct{}, ratelimit.ConcurrencyStandard), make(chan struct{})
	model := simulator.New(simulator.Options{})
	p := withUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-free
		model.ServeHTTP(w, r)
	})).signedIn("panes@example.com")
	form := url.Values{"model": {allStyles}, "style": {"chat"}, "prompt": {"echo: hi"}}
	var panes sync.WaitGroup
	for range ratelimit.ConcurrencyStandard {
		one := &person{fixture: p.fixture, cookies: p.cookies, headers: map[string]string{}}
		panes.Go(func() {
			if events := one.stream(form); last(events).Kind != "done" {
				t.Errorf("a pane with a place: %+v", last(events))
			}
		})
		<-began
	}
	if e := last(p.stream(form)); e.Kind != "error" || !strings.Contains(e.Text, "Too many concurrent requests") {
		t.Errorf("one pane too many: %+v", e)
	}
	close(free)
	panes.Wait()
	if e := last(p.stream(form)); e.Kind != "done" {
		t.Errorf("after a place was free: %+v", e)
	}
}
