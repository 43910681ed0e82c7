package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// speaking makes a model for every style of an upstream; each may be called in all styles.
func (k *checklist) speaking(t *testing.T) {
	t.Helper()
	k.speaks = map[string]string{}
	var models []harness.Model
	for _, p := range harness.AllStyles() {
		k.speaks[p.Name] = harness.UniqueName("test/speaks-" + p.Name)
		models = append(models, harness.Model{ID: k.speaks[p.Name], UpstreamModel: "sim-" + p.Name, Style: p.Name, Extra: harness.EveryStyle})
	}
	k.AddModels(t, models...)
}

// each shows a line every answer of a style: one from an upstream that speaks it, and three that were translated.
func each(style string, holds func(t *testing.T, o map[string]any)) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		t.Helper()
		p := harness.Styles[style]
		for _, upstream := range slices.Sorted(maps.Keys(k.speaks)) {
			if k.wholes[style+upstream] == nil {
				s, a := p.Complete(t, k.Customer, p.Request(k.speaks[upstream], "echo: one answer"))
				if s.Text != "one answer" {
					t.Fatalf("%s from %s: %s", style, upstream, a.Body)
				}
				k.wholes[style+upstream] = harness.DecodeObject(t, a.Body)
			}
			holds(t, k.wholes[style+upstream])
		}
	}
}

// exists proves that a route is there, for models of its own style and of others, and that only POST is taken.
func exists(style string) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		t.Helper()
		p := harness.Styles[style]
		for _, id := range []string{p.Model, p.TranslatedModel} {
			if s, a := p.Complete(t, k.Customer, p.Request(id, "echo: it exists")); s.Text != "it exists" || s.Model != id {
				t.Errorf("%s: %s", id, a.Body)
			}
		}
		a := k.Call(t, http.MethodGet, p.Path, "")
		p.CheckError(t, a, "method", "method_not_allowed", "")
		if !strings.Contains(a.Header.Get("Allow"), "POST") {
			t.Errorf("Allow is %q", a.Header.Get("Allow"))
		}
	}
}

// onlyJSON refuses every other media type in the layout of the route.
func onlyJSON(style string) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		t.Helper()
		p := harness.Styles[style]
		body := p.Request(p.Model, "echo: x")
		for _, media := range []string{"application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8"} {
			p.Complete(t, k.Customer, body, "Content-Type", media)
		}
		for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", ""} {
			p.CheckError(t, p.Send(t, k.Customer, body, "Content-Type", media), "media", "unsupported_media_type", "")
		}
		p.CheckError(t, p.Send(t, k.Customer, body, "Content-Encoding", "gzip"), "media", "unsupported_media_type", "")
	}
}

// namesModel demands the model as a text that is not empty.
func namesModel(style string) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		t.Helper()
		p := harness.Styles[style]
		rest := strings.TrimPrefix(p.Request("m", "x"), `{"model":"m",`)
		p.CheckError(t, p.Send(t, k.Customer, "{"+rest), "invalid", p.MissingCode(), "model")
		for _, m := range []string{`""`, `null`, `7`, `true`, `["` + p.Model + `"]`, `{}`} {
			p.CheckError(t, p.Send(t, k.Customer, `{"model":`+m+`,`+rest), "invalid", "", "model")
		}
	}
}

// identifiers counts the models of a route, and calls each of them there. Calls of every other text model must fail.
func identifiers(style string, want int) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		t.Helper()
		p := harness.Styles[style]
		served := 0
		for id, styles := range protocolsOf(t, k.Customer) {
			body := p.Request(id, "echo: on the list", p.OutputLimit(64))
			if slices.Contains(styles, style) {
				served++
				if s, a := p.Complete(t, k.Customer, body); s.Model != id || s.Text != "on the list" {
					t.Errorf("%s: %s", id, a.Body)
				}
				continue
			}
			r := p.CheckError(t, p.Send(t, k.Customer, body), "not found", "model_not_found", "model")
			if !strings.Contains(r.Message, id) {
				t.Errorf("the message does not name the model: %s", r.Message)
			}
		}
		if served != want {
			t.Errorf("%d models are served on %s, not %d", served, p.Path, want)
		}
	}
}

// protocolsOf are the styles in which each text model of the default catalog may be called.
func protocolsOf(t *testing.T, c harness.Customer) map[string][]string {
	t.Helper()
	var list struct {
		Data []struct {
			ID        string   `json:"id"`
			Protocols []string `json:"protocols"`
		} `json:"data"`
	}
	a := c.Call(t, http.MethodGet, "/v1/models", "")
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	styles := map[string][]string{}
	for _, m := range list.Data {
		if !strings.HasPrefix(m.ID, "test/") && len(m.Protocols) > 0 {
			styles[m.ID] = m.Protocols
		}
	}
	return styles
}

// member is a member of a request: how right values are written, what an error calls it, and which values are wrong.
type member struct {
	style string
	// param is the name of the member in errors.
	param string
	// form is the member with %s for a value.
	form string
	// takes has values that reach a provider of the style unchanged.
	takes []string
	wrong []string

	// beside has members that the request needs too.
	beside string
	// carried is what providers of other styles get of the first right value.
	carried map[string]string
}

// endUserID is the id of an end user in requests.
const endUserID = "end-user-42"

// opaqueID is the form of the id of an end user that providers get.
var opaqueID = regexp.MustCompile(`\b[0-9a-f]{32}\b`)

// reached reports whether a text of the request is in what a provider got. An id of an end user is opaque there, and never the caller's.
func reached(got, sent string) bool {
	if !strings.Contains(sent, endUserID) {
		return strings.Contains(got, sent)
	}
	return !strings.Contains(got, endUserID) && strings.Contains(opaqueID.ReplaceAllString(got, endUserID), sent)
}

// holds proves of an optional member that a call may leave it out, that right values reach providers, and that wrong
// ones are refused by name.
func (m member) holds(t *testing.T, k *checklist) {
	t.Helper()
	p := harness.Styles[m.style]
	name, _, _ := strings.Cut(m.form, ":")
	name = name[strings.LastIndex(name, "{")+1:]
	beside := []string{}
	if m.beside != "" {
		beside = append(beside, m.beside)
	}
	mark := harness.UniqueName("echo: without")
	p.Complete(t, k.Customer, p.Request(p.Model, mark, beside...))
	if got := k.UpstreamBodies(t, mark); got == "" || strings.Contains(got, name+":") && name != `"max_tokens"` {
		t.Errorf("without %s the provider got %q", name, got)
	}
	for _, value := range m.takes {
		mark, written := harness.UniqueName("echo: with"), fmt.Sprintf(m.form, value)
		p.Complete(t, k.Customer, p.Request(p.Model, mark, append(beside, written)...))
		if got := k.UpstreamBodies(t, mark); !reached(got, written) {
			t.Errorf("%s did not reach the provider as it was: %s", written, got)
		}
	}
	for upstream, want := range m.carried {
		mark, written := harness.UniqueName("echo: carried"), fmt.Sprintf(m.form, m.takes[0])
		p.Complete(t, k.Customer, p.Request(k.speaks[upstream], mark, append(beside, written)...))
		if got := k.UpstreamBodies(t, mark); !reached(got, want) {
			t.Errorf("of %s a provider of the %s style got no %s: %s", written, upstream, want, got)
		}
	}
	for _, value := range m.wrong {
		written := fmt.Sprintf(m.form, value)
		p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, "x", append(beside, written)...)), "invalid", p.InvalidCode(), m.param)
	}
}

// streamFlag proves that a boolean in the body decides whether the answer comes as a stream of the style.
func streamFlag(style string) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		t.Helper()
		p := harness.Styles[style]
		for _, members := range [][]string{nil, {`"stream":false`}} {
			p.Complete(t, k.Customer, p.Request(p.Model, "echo: whole", members...))
		}
		for _, id := range []string{p.Model, p.TranslatedModel} {
			text, _ := p.Stream(t, k.Customer, p.Request(id, "count to 20", `"stream":true`))
			if words := strings.Fields(text); len(words) != 20 || words[19] != "20" {
				t.Errorf("%s: the text is %q", id, text)
			}
		}
		for _, wrong := range []string{`"true"`, `1`, `{}`} {
			p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, "x", `"stream":`+wrong)), "invalid", p.InvalidCode(), "stream")
		}
	}
}

// callsTool insists that each of the choices makes every kind of upstream call the tool, in the words of the style.
func callsTool(t *testing.T, k *checklist, style, tools, form string, choices []string, want ...string) {
	t.Helper()
	p := harness.Styles[style]
	models := append(slices.Sorted(maps.Values(k.speaks)), p.Model)
	for _, id := range models {
		for _, choice := range choices {
			body := p.Request(id, "what is the weather?", tools, fmt.Sprintf(form, choice))
			a := p.Send(t, k.Customer, body)
			for _, w := range want {
				if a.Status != http.StatusOK || !strings.Contains(a.Body, w) {
					t.Errorf("%s: %s calls no tool: %d %s", id, choice, a.Status, a.Body)
				}
			}
		}
	}
}

func isRecent(t *testing.T, o map[string]any, name string) {
	t.Helper()
	if age := time.Now().Unix() - harness.IntMember(t, o, name); age < 0 || age > 600 {
		t.Errorf("%s is %d seconds ago: %v", name, age, o)
	}
}

var allStylesLines = []checkLine{
	{"E119 all four text endpoints demand the model", func(t *testing.T, k *checklist) {
		for _, p := range harness.AllStyles() {
			namesModel(p.Name)(t, k)
		}
	}},
	{"E120 all four validate against the selected model's schema before forwarding", func(t *testing.T, k *checklist) {
		for _, p := range harness.AllStyles() {
			for upstream, id := range k.speaks {
				mark := harness.UniqueName("echo: " + p.Name + upstream)
				r := p.CheckError(t, p.Send(t, k.Customer, p.Request(id, mark, p.OutputLimit(16001))), "invalid", p.InvalidCode(), boundParam(p))
				if got := k.UpstreamBodies(t, mark); got != "" || !strings.Contains(r.Message, "16000") {
					t.Errorf("a provider of the %s style got %q: %s", upstream, got, r.Message)
				}
				p.Complete(t, k.Customer, p.Request(id, mark, p.OutputLimit(16000)))
			}
		}
	}},
	{"E121 all four stream in their own style, whatever the upstream speaks", func(t *testing.T, k *checklist) {
		for _, p := range harness.AllStyles() {
			for upstream, id := range k.speaks {
				text, all := p.Stream(t, k.Customer, p.Request(id, "count to 12", `"stream":true`, p.IncludeUsage()))
				if len(strings.Fields(text)) != 12 || len(all) < 12 {
					t.Errorf("%s from %s: %q in %d frames", p.Name, upstream, text, len(all))
				}
				if p.Name == "chat" {
					chatStreamHolds(t, all, id)
				}
			}
		}
	}},
}

// boundParam is what errors call the bound on the answer.
func boundParam(p harness.Style) string {
	if p.Name == "native" {
		return "generationConfig.maxOutputTokens"
	}
	name, _, _ := strings.Cut(p.LimitMember, ":")
	return strings.Trim(name, `"`)
}

// chatStreamHolds holds lines 58 to 64 against a stream that was asked to tell its usage.
func chatStreamHolds(t *testing.T, all []harness.StreamEvent, id string) {
	t.Helper()
	first, usage := harness.DecodeObject(t, all[0].Data), harness.DecodeObject(t, all[len(all)-2].Data)
	is(t, harness.Member(first, "choices", 0, "delta").(map[string]any), "role", "assistant")
	is(t, harness.Member(first, "choices", 0, "delta").(map[string]any), "content", "")
	if choices, _ := usage["choices"].([]any); len(choices) != 0 || harness.TokensMember(t, usage, "usage", "completion_tokens") != 12 {
		t.Errorf("the usage comes in %v", usage)
	}
	for i, f := range all[:len(all)-2] {
		o := harness.DecodeObject(t, f.Data)
		is(t, o, "object", "chat.completion.chunk")
		is(t, o, "id", first["id"])
		is(t, o, "model", id)
		isNow(t, o)
		choice, _ := harness.Member(o, "choices", 0).(map[string]any)
		delta, _ := choice["delta"].(map[string]any)
		last := i == len(all)-3
		if finish := choice["finish_reason"]; (finish == "stop") != last || !last && finish != nil || last && len(delta) != 0 {
			t.Errorf("the chunk %d of %d is %s", i, len(all), f.Data)
		}
	}
}
