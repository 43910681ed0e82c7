package console_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"umg/app/catalog"
	"umg/app/console"
	"umg/app/postgres/pgtest"
	"umg/app/simulator"
)

// withModels is a console over the default catalog, whose providers are all the simulator.
func withModels(t *testing.T) *fixture {
	t.Helper()
	return withUpstream(t, simulator.New(simulator.Options{}))
}

// withUpstream is a console over the default catalog, whose providers are all the handler.
func withUpstream(t *testing.T, provider http.Handler, change ...func(*console.Options)) *fixture {
	t.Helper()
	upstream := httptest.NewServer(provider)
	t.Cleanup(upstream.Close)
	db := pgtest.New(t)
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.Apply(t.Context(), db, file); err != nil {
		t.Fatal(err)
	}
	return newFixture(t, db, db, map[string]string{"UMG_SIMULATOR_URL": upstream.URL, "UMG_SIMULATOR_KEY": "any"}, change...)
}

func TestModelPagesShowWhatTheCatalogSays(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("models@example.com")
	list := p.see("/console/models")
	for _, want := range []string{"meridian/atlas-large", "boreal/drift:pro", "$0.30 – $0.70", "per second", "per image", "per 1M characters", "60 req/min"} {
		if !strings.Contains(list.body, want) {
			t.Errorf("the list lacks %s", want)
		}
	}
	if a := p.see("/console/models?capability=video"); strings.Contains(a.body, "meridian/atlas-large") || !strings.Contains(a.body, "boreal/drift:pro") {
		t.Error("the filter does nothing without scripts")
	}
	p.headers["HX-Request"] = "true"
	if a := p.see("/console/models?q=&capability=code&sort="); a.header.Get("HX-Replace-Url") != "/console/models?capability=code" {
		t.Errorf("the address becomes %q", a.header.Get("HX-Replace-Url"))
	}
	delete(p.headers, "HX-Request")
	page := p.see("/console/models/meridian/atlas-large")
	page.body += p.see("/console/models/meridian/atlas-large?tab=api").body
	for _, want := range []string{
		"$2.50", "/ 1M tokens", "200,000", "max_completion_tokens", "generationConfig", "temperature", "Open in playground",
		"/console/model/api.md?model=meridian%2Fatlas-large", "/vendorc/native", "/v1/messages",
	} {
		if page.status != http.StatusOK || !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %s (%d)", want, page.status)
		}
	}
	if a := p.see("/console/models/boreal/drift:pro"); a.status != http.StatusOK || !strings.Contains(a.body, "$0.70") ||
		!strings.Contains(a.body, "/console/playground/video?model=boreal%2Fdrift%3Apro") {
		t.Errorf("a model of videos: %d", a.status)
	}
	if a := p.see("/console/models/tessera/canvas"); a.status != http.StatusOK || !strings.Contains(a.body, "$0.06") || strings.Contains(a.body, "Open in playground") {
		t.Errorf("a coming model: %d", a.status)
	}
	if a := p.see("/console/models/unknown/unknown"); a.status != http.StatusNotFound {
		t.Errorf("an unknown model: %d", a.status)
	}
	if a := p.see("/console/model/api.md?model=meridian/atlas-large"); a.status != http.StatusOK || !strings.HasPrefix(a.body, "# Atlas Large") {
		t.Errorf("api.md: %d", a.status)
	}
	if a := p.see("/console/model/openapi.json?model=meridian/atlas-large"); a.status != http.StatusOK || !json.Valid([]byte(a.body)) {
		t.Errorf("openapi.json: %d", a.status)
	}
}

// event is a line that the page's script reads.
type event struct {
	Kind, Text, Note, Request, Field, Doc string
	Method, Path, Body, HTML, Raw         string
	Call                                  struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	Facts   [][]string
	Credit  bool
	Balance struct{ Rounded, Exact string }
}

// stream sends the form as the script of the page does.
func (p *person) stream(form url.Values) []event {
	p.t.Helper()
	p.headers["Accept"], p.headers["HX-Request"] = "application/x-ndjson", "true"
	defer func() { p.headers = map[string]string{"Accept": "text/html"} }()
	a := p.send("/console/playground", form)
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/x-ndjson" {
		p.t.Fatalf("%d %s %s", a.status, a.header, a.body)
	}
	var events []event
	for line := range strings.Lines(a.body) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		events = append(events, e)
	}
	return events
}

func said(events []event) string {
	var b strings.Builder
	for _, e := range events {
		if e.Kind == "text" {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

func fact(e event, name string) string {
	for _, f := range e.Facts {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

const allStyles = "meridian/atlas-large"

// TestPlaygroundAnswersAlikeInEveryStyle: streamed, whole for the script, and whole as a page, the answer, its tokens and
// its price are the same, and each is on record as a call of the account and of no key.
func TestPlaygroundAnswersAlikeInEveryStyle(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("styles@example.com")
	for _, style := range []string{"chat", "messages", "responses", "native"} {
		form := url.Values{
			"model": {allStyles}, "style": {style}, "system": {"Be kind."}, "prompt": {"echo: one <b>two</b> & three"}, "param.temperature": {"0.5"},
			"turn_role": {"user", "assistant"}, "turn_text": {"Hello", "Good\r\nday"}, "turn_image": {"", ""}, "turn_note": {"", ""},
		}
		whole := p.stream(form)
		form.Set("stream", "true")
		streamed := p.stream(form)
		for name, events := range map[string][]event{"streamed": streamed, "whole": whole} {
			end := events[len(events)-1]
			if said(events) != "one <b>two</b> & three" || events[0].Kind != "request" || end.Kind != "done" || fact(end, "Finish") != "stop" || !strings.HasPrefix(end.Request, "req_") ||
				!strings.HasPrefix(fact(end, "Cost"), "$0.0") || strings.Contains(fact(end, "Cost"), "estimated") || end.Balance.Rounded != "$4.99" || !strings.HasPrefix(end.Balance.Exact, "$4.99") {
				t.Errorf("%s, %s: %+v", style, name, events)
			}
		}
		first, second := streamed[len(streamed)-1], whole[len(whole)-1]
		for _, name := range []string{"Input", "Output", "Cost"} {
			if fact(first, name) != fact(second, name) || fact(first, name) == "" {
				t.Errorf("%s: %s is %q streamed and %q whole", style, name, fact(first, name), fact(second, name))
			}
		}
		a := p.send("/console/playground", form)
		if a.status != http.StatusOK || !strings.Contains(a.body, "one &lt;b&gt;two&lt;/b&gt; &amp; three") || strings.Contains(a.body, "one <b>") ||
			// Three of the turns are templates.
			!strings.Contains(a.body, fact(first, "Cost")) || strings.Count(a.body, `name="turn_role"`) != 4+3 {
			t.Errorf("%s: the page without scripts: %d", style, a.status)
		}
		var records, keyed int
		if err := p.db.QueryRowContext(t.Context(), `select count(*), count(*) filter (where key_id <> '') from usage_records where style = $1`,
			style).Scan(&records, &keyed); err != nil || records != 3 || keyed != 0 {
			t.Errorf("%s: %d records, %d of keys, %v", style, records, keyed, err)
		}
	}
	if a := p.see("/console"); !strings.Contains(a.body, "Playground") || strings.Contains(a.body, "deleted key") {
		t.Error("the overview does not say where the requests came from")
	}
}

func TestPlaygroundTellsWhatWasRefused(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("refused@example.com")
	for name, c := range map[string]struct {
		change      url.Values
		field, says string
	}{
		"out of range":   {url.Values{"param.temperature": {"9"}}, "temperature", "from 0 to 2"},
		"beyond a model": {url.Values{"param.max": {"99999999"}}, "max_completion_tokens", "must be an integer from 1 to"},
		"no number":      {url.Values{"param.temperature": {"warm"}}, "temperature", "must be a number"},
		"nothing to say": {url.Values{"prompt": {" "}}, "prompt", "Write a message"},
		"plain address":  {url.Values{"image_url": {"http://x/y.png"}}, "image_url", "https://"},
		"no image":       {url.Values{"image": {"data:text/html;base64,PGI+"}}, "image_file", "not a PNG"},
	} {
		form := url.Values{"model": {allStyles}, "style": {"chat"}, "prompt": {"echo: hello"}}
		maps.Copy(form, c.change)
		events := p.stream(form)
		if e := events[len(events)-1]; e.Kind != "error" || e.Field != c.field || !strings.Contains(e.Text, c.says) {
			t.Errorf("%s: %+v", name, events)
		}
		if a := p.send("/console/playground", form); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, c.says) {
			t.Errorf("%s as a page: %d", name, a.status)
		}
	}
}

func TestPlaygroundFormsWorkWithoutScripts(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("plain@example.com")
	first := p.see("/console/playground?model=meridian/atlas-small&style=responses")
	if first.status != http.StatusOK || !strings.Contains(first.body, "max_output_tokens") || !strings.Contains(first.body, "/v1/responses") {
		t.Fatalf("%d", first.status)
	}
	form := url.Values{
		"model": {"quillon/folio-large"}, "style": {"responses"}, "prompt": {"kept"}, "system": {"kept too"}, "param.temperature": {"0.4"},
		"turn_role": {"user", "assistant"}, "turn_text": {"the first", "an answer"}, "turn_image": {"", ""}, "turn_note": {"", "noted"},
	}
	other := p.send("/console/playground/settings", form)
	for _, want := range []string{"kept", "kept too", "the first", "an answer", "noted", `value="0.4"`, "/v1/chat/completions"} {
		if other.status != http.StatusOK || !strings.Contains(other.body, want) {
			t.Errorf("another model lacks %q: %d", want, other.status)
		}
	}
	form.Set("do", "edit-0")
	if a := p.send("/console/playground", form); !strings.Contains(a.body, ">the first</textarea>") || strings.Contains(a.body, "an answer") {
		t.Error("editing a turn does not take it back")
	}
	form.Set("do", "clear")
	if a := p.send("/console/playground", form); strings.Contains(a.body, "an answer") || !strings.Contains(a.body, "kept too") {
		t.Error("starting over keeps the conversation, or loses the system prompt")
	}
	form.Del("do")
	form.Set("model", allStyles)
	code := p.send("/console/playground/code", form)
	for _, want := range []string{"/v1/chat/completions", "/v1/messages", "/v1/responses", "/vendorc/native", "an answer", "kept too", "max_tokens", "0.4", "UMG_API_KEY"} {
		if code.status != http.StatusOK || !strings.Contains(code.body, want) {
			t.Errorf("the code lacks %q: %d", want, code.status)
		}
	}
	var id string
	done := p.stream(url.Values{"model": {allStyles}, "style": {"chat"}, "prompt": {"echo: x"}, "stream": {"true"}})
	id = done[len(done)-1].Request
	if a := p.see("/console/playground/calls/" + id); a.status != http.StatusOK || !strings.Contains(a.body, id) {
		t.Errorf("the record: %d", a.status)
	}
	other2 := p.signedIn("stranger@example.com")
	if a := other2.see("/console/playground/calls/" + id); a.status != http.StatusNoContent {
		t.Errorf("another account's record: %d", a.status)
	}
}

// sendFile sends the form with an image as a browser without scripts does.
func (p *person) sendFile(form url.Values, contentType string, file []byte) reply {
	p.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, values := range form {
		_ = w.WriteField(name, values[0])
	}
	part, _ := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="image_file"; filename="dot.png"`}, "Content-Type": {contentType},
	})
	_, _ = part.Write(file)
	_ = w.Close()
	return p.sendParts("/console/playground", w.FormDataContentType(), &body)
}

func TestPlaygroundSendsImages(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("images@example.com")
	png := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0}, 100)...)
	for _, style := range []string{"chat", "messages", "responses", "native"} {
		form := url.Values{"model": {allStyles}, "style": {style}, "prompt": {"What is this?"}}
		a := p.sendFile(form, "image/png", png)
		if a.status != http.StatusOK || !strings.Contains(a.body, "image/png") || !strings.Contains(a.body, `src="data:image/png;base64,`) {
			t.Errorf("%s: %d %.600s", style, a.status, a.body)
		}
	}
	form := url.Values{"model": {allStyles}, "style": {"chat"}, "prompt": {"What is this?"}}
	if a := p.sendFile(form, "image/png", []byte("<svg onload=alert(1)>")); a.status != http.StatusUnprocessableEntity || strings.Contains(a.body, "<svg onload") {
		t.Errorf("a file that is no image: %d", a.status)
	}
	if a := p.sendFile(form, "image/png", append(png, make([]byte, 600_000)...)); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a large image: %d", a.status)
	}
	if a := p.sendFile(form, "image/png", make([]byte, 2<<20)); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body beyond the limit: %d", a.status)
	}
	form.Set("model", "meridian/atlas-nano")
	if a := p.sendFile(form, "image/png", png); a.status != http.StatusOK || strings.Contains(a.body, `src="data:`) {
		t.Errorf("a model without images: %d", a.status)
	}
}
