package console_test

import (
	"bytes"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"umg/app"
)

var (
	promptAddress = regexp.MustCompile(`^/console/playground\?prompt=(prompt_[0-9a-z]{26})$`)
	documentField = regexp.MustCompile(`name="document" value="([^"]*)"`)
	linkPattern   = regexp.MustCompile(`http://gateway\.test(/console/shared/([A-Za-z0-9_-]{32}))`)
	revokePattern = regexp.MustCompile(`action="(/console/prompts/prompt_[0-9a-z]{26}/shares/share_[0-9a-z]{26}/revoke)"`)
	madeIDs       = regexp.MustCompile(`req_[0-9a-z]{26}`)
)

// promptPane is a pane of the playground with something in each of its fields.
func promptPane() url.Values {
	return url.Values{
		"model": {allStyles}, "style": {"messages"}, "stream": {"true"}, "system": {"Speak of {{topic}}.\r\nBriefly."}, "prompt": {"And <b>now</b>?"},
		"var_topic": {"tea & rain"}, "param.temperature": {"0.5"}, "tools": {weatherTool}, "tool_choice": {"auto"},
		"format": {"json_schema"}, "schema_name": {"place"}, "schema": {citySchema}, "image": {"data:image/png;base64,iVBORw0KGgo="},
		"turn_role": {"user", "assistant", "tool"}, "turn_text": {"Weather in Oslo?", "I look.", `{"degrees": 21}`}, "turn_image": {"", "", ""},
		"turn_calls": {"", `[{"id":"call_1","name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}]`, ""}, "turn_call": {"", "", "call_1"},
	}
}

func documentIn(a reply) string {
	if m := documentField.FindStringSubmatch(a.body); m != nil {
		return html.UnescapeString(m[1])
	}
	return ""
}

// keep saves a pane under a name, past the page that asks for it, and returns the prompt's id.
func (p *person) keep(pane url.Values, name string) string {
	p.t.Helper()
	asked := p.send("/console/prompts", pane)
	if asked.status != http.StatusOK || documentIn(asked) == "" || !strings.Contains(asked.body, `name="name"`) {
		p.t.Fatalf("no name is asked for: %d %.800s", asked.status, asked.body)
	}
	saved := p.send("/console/prompts", url.Values{"document": {documentIn(asked)}, "name": {name}})
	m := promptAddress.FindStringSubmatch(saved.header.Get("Location"))
	if saved.status != http.StatusSeeOther || m == nil {
		p.t.Fatalf("not saved: %d %s %.800s", saved.status, saved.header, saved.body)
	}
	return m[1]
}

func TestAPaneIsSavedOpenedAndSavedAgainAsAVersion(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("prompts@example.com")
	if a := p.send("/console/prompts", url.Values{"document": {documentIn(p.send("/console/prompts", promptPane()))}, "name": {" "}}); a.status != http.StatusUnprocessableEntity || documentIn(a) == "" || !strings.Contains(a.body, "Enter a name") {
		t.Errorf("without a name: %d", a.status)
	}
	id := p.keep(promptPane(), "Weather <1>")
	at := "/console/prompts/" + id
	opened := p.see("/console/playground?prompt=" + id)
	for _, want := range []string{
		`name="prompt_id" value="` + id, `name="prompt_version" value="1"`, "Speak of {{topic}}.\nBriefly.", "And &lt;b&gt;now&lt;/b&gt;?", "tea &amp; rain",
		"get_weather", "additionalProperties", "Weather in Oslo?", `value="call_1"`, `value="0.5"`, "iVBORw0KGgo=", "place",
	} {
		if opened.status != http.StatusOK || !strings.Contains(opened.body, want) {
			t.Errorf("the playground lacks %q: %d", want, opened.status)
		}
	}
	again := promptPane()
	again["prompt_id"], again["prompt_version"] = []string{id}, []string{"1"}
	if a := p.send("/console/prompts", again); a.status != http.StatusSeeOther || !strings.Contains(p.see(at).body, "Nothing has changed since version 1") {
		t.Errorf("unchanged: %d", a.status)
	}
	again.Set("system", "Speak of {{topic}}.\r\nAt length.")
	if a := p.send("/console/prompts", again); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/playground?prompt="+id {
		t.Errorf("a second version: %d %s", a.status, a.header)
	}
	again.Set("system", "Mine")
	conflict := p.send("/console/prompts", again)
	if conflict.status != http.StatusConflict || !strings.Contains(conflict.body, "A newer version was saved") || !strings.Contains(conflict.body, `name="prompt_version" value="2"`) {
		t.Errorf("a conflict: %d", conflict.status)
	}
	mine := url.Values{"document": {documentIn(conflict)}, "prompt_id": {id}, "prompt_version": {"2"}}
	if a := p.send("/console/prompts", mine); a.status != http.StatusSeeOther {
		t.Errorf("mine: %d", a.status)
	}
	diff := p.see(at + "/diff?from=1&to=2")
	for _, want := range []string{">At length.<", ">Briefly.<", "lines added"} {
		if diff.status != http.StatusOK || !strings.Contains(diff.body, want) {
			t.Errorf("the comparison lacks %q: %d", want, diff.status)
		}
	}
	if a := p.send(at+"/restore", url.Values{"version": {"1"}}); a.status != http.StatusSeeOther {
		t.Errorf("restore: %d", a.status)
	}
	page := p.see(at)
	for _, want := range []string{"Version 4", "restored from version 1", "Briefly.", "Weather &lt;1&gt;"} {
		if page.status != http.StatusOK || !strings.Contains(page.body, want) {
			t.Errorf("the prompt's page lacks %q: %d", want, page.status)
		}
	}
	for _, wrong := range []string{"/console/playground?prompt=" + id + "&version=9", at + "?version=9", at + "?version=x", at + "/diff?from=9"} {
		if a := p.see(wrong); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", wrong, a.status)
		}
	}
	again.Set("tools", "[{]")
	if a := p.send("/console/prompts", again); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "tools") {
		t.Errorf("tools that are none: %d", a.status)
	}
}

// importFile sends a file to the page that imports prompts.
func (p *person) importFile(file string) reply {
	p.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", "prompt.json")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err != nil || w.Close() != nil {
		p.t.Fatal(err)
	}
	return p.sendParts("/console/prompts/import", w.FormDataContentType(), &body)
}

func TestAPromptIsExportedAndImportedAndAWrongFileIsRefusedWithItsField(t *testing.T) {
	t.Parallel()
	h := withModels(t)
	p := h.signedIn("export@example.com")
	file := p.see("/console/prompts/" + p.keep(promptPane(), "To <go>") + "/export")
	if file.status != http.StatusOK || file.header.Get("Content-Disposition") != "attachment; filename=To-go.json" {
		t.Fatalf("%d %s", file.status, file.header)
	}
	other := h.signedIn("import@example.com")
	a := other.importFile(file.body)
	if to := a.header.Get("Location"); a.status != http.StatusSeeOther || other.see(to+"/export").body != file.body {
		t.Errorf("imported and exported again: %d %s", a.status, to)
	}
	for field, wrong := range map[string]string{
		"content.tools": strings.Replace(file.body, `"tools": [`, `"tools": 5, "x": [`, 1), "version": strings.Replace(file.body, `"version": 1`, `"version": 7`, 1),
		"Choose a file first": "", "Line 1": "hello",
	} {
		a := other.importFile(wrong)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, strings.TrimPrefix(field, "content.")) || !strings.Contains(a.body, `aria-invalid="true"`) {
			t.Errorf("%s: %d %.300s", field, a.status, a.body)
		}
	}
	if a := other.see("/console/prompts?q=go"); !strings.Contains(a.body, "To &lt;go&gt;") || strings.Count(a.body, `data-testid="prompt"`) != 1 {
		t.Errorf("the list: %d", a.status)
	}
}

// TestALinkShowsAPromptUntilItsEnd checks that links that ended, were revoked or never existed have the same answer.
func TestALinkShowsAPromptUntilItsEnd(t *testing.T) {
	t.Parallel()
	h := withModels(t)
	p := h.signedIn("share@example.com")
	at := "/console/prompts/" + p.keep(promptPane(), "Shared prompt")
	links := make([][]string, 3)
	for i := range links {
		a := p.send(at+"/share", url.Values{"version": {"1"}, "end": {"7"}})
		if links[i] = linkPattern.FindStringSubmatch(a.body); a.status != http.StatusOK || links[i] == nil {
			t.Fatalf("no link: %d %.500s", a.status, a.body)
		}
	}
	page := p.see(at)
	if strings.Contains(page.body, links[0][2]) || len(revokePattern.FindAllString(page.body, -1)) != len(links) {
		t.Error("a link is shown again, or cannot be revoked")
	}
	v := h.visitor()
	open := v.see(links[0][1])
	for _, want := range []string{"Shared prompt", "Speak of ", "And &lt;b&gt;now&lt;/b&gt;?", "get_weather", "Sign in to open in the playground"} {
		if open.status != http.StatusOK || !strings.Contains(open.body, want) {
			t.Errorf("the shared page lacks %q: %d", want, open.status)
		}
	}
	if strings.Contains(open.body, "share@example.com") || strings.Contains(open.body, "prompt_") {
		t.Error("the shared page tells whose it is")
	}
	revoke := revokePattern.FindAllStringSubmatch(page.body, -1)[0][1] // The newest link is listed first.
	if a := p.send(revoke, nil); a.status != http.StatusSeeOther {
		t.Errorf("revoke: %d", a.status)
	}
	if _, err := h.db.ExecContext(t.Context(), `update prompt_shares set created_at = now() - interval '2 days', expires_at = now() - interval '1 day'
		where id = (select id from prompt_shares where revoked_at is null order by id desc limit 1)`); err != nil {
		t.Fatal(err)
	}
	var gone []string
	for _, path := range []string{links[2][1], links[1][1], "/console/shared/" + strings.Repeat("x", 32), "/console/shared/short"} {
		a := v.see(path)
		own := strings.NewReplacer(path, "", url.QueryEscape(path), "") // Links that lead back to the page contain its path.
		gone = append(gone, madeIDs.ReplaceAllString(own.Replace(a.body), ""))
		if a.status != http.StatusNotFound || !strings.Contains(a.body, "This link shows nothing") || gone[0] != gone[len(gone)-1] {
			t.Errorf("%s: %d", path, a.status)
		}
		for name, want := range map[string]string{"X-Robots-Tag": "noindex, nofollow, noarchive", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
			if a.header.Get(name) != want || open.header.Get(name) != want {
				t.Errorf("%s is %q and %q", name, open.header.Get(name), a.header.Get(name))
			}
		}
	}
	q := h.signedIn("reader@example.com")
	copied := q.send(links[0][1]+"/copy", url.Values{"name": {"Mine now"}})
	if m := promptAddress.FindStringSubmatch(copied.header.Get("Location")); m == nil || !strings.Contains(q.see("/console/prompts").body, "Mine now") {
		t.Errorf("copied: %d %s", copied.status, copied.header)
	}
	for _, link := range links {
		if strings.Contains(h.log.String(), link[2]) {
			t.Error("the log holds the secret of a link")
		}
	}
	if !strings.Contains(h.log.String(), "/console/shared/:token") {
		t.Error("the log says nothing of shared pages")
	}
	for _, wrong := range []url.Values{{"end": {"9"}}, {"end": {"date"}, "until": {"tomorrow"}}, {"end": {"date"}, "until": {"2020-01-01"}}} {
		if a := p.send(at+"/share", wrong); a.status != http.StatusUnprocessableEntity || linkPattern.MatchString(a.body) {
			t.Errorf("%v: %d", wrong, a.status)
		}
	}
}

func TestPromptsAreForThoseWhoMayCallModels(t *testing.T) {
	t.Parallel()
	h := withModels(t)
	p := h.signedIn("rights@example.com")
	at := "/console/prompts/" + p.keep(promptPane(), "Kept")
	h.role("rights@example.com", app.RoleBilling)
	for _, path := range []string{"/console/prompts", at, at + "/export", at + "/diff", at + "/share", "/console/prompts/import"} {
		if a := p.see(path); a.status != http.StatusForbidden {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	stranger := h.signedIn("stranger@example.com")
	for _, path := range []string{at, at + "/export", at + "/diff", at + "/share", at + "/rename", at + "/delete"} {
		if a := stranger.see(path); a.status != http.StatusNotFound {
			t.Errorf("another account's %s: %d", path, a.status)
		}
	}
	for _, path := range []string{"/restore", "/duplicate", "/rename", "/delete", "/share"} {
		if a := stranger.send(at+path, url.Values{"version": {"1"}, "name": {"taken"}, "end": {"7"}}); a.status != http.StatusNotFound {
			t.Errorf("another account's %s: %d", path, a.status)
		}
	}
	pane := promptPane()
	pane["prompt_id"], pane["prompt_version"] = []string{strings.TrimPrefix(at, "/console/prompts/")}, []string{"1"}
	pane.Set("system", "taken over")
	if a := stranger.send("/console/prompts", pane); a.status != http.StatusNotFound {
		t.Errorf("another account's version: %d", a.status)
	}
}

// TestThePaneNamesTheSavedPromptItWasOpenedWith: its name and version, what saving makes of it, and whether it has changed since.
func TestThePaneNamesTheSavedPromptItWasOpenedWith(t *testing.T) {
	t.Parallel()
	h := withModels(t)
	p := h.signedIn("opened@example.com")
	id := p.keep(promptPane(), "Greeting")
	open := p.see("/console/playground?prompt=" + id).body
	for _, want := range []string{`href="/console/prompts/` + id + `">Greeting</a>`, `<span class="num">v1</span>`, "Save as v2", "data-opened-changed hidden"} {
		if !strings.Contains(open, want) {
			t.Errorf("the pane lacks %s", want)
		}
	}
	pane := promptPane()
	pane["prompt_id"], pane["prompt_version"] = []string{id}, []string{"1"}
	pane.Set("system", "Be brief.")
	if drawn := p.send("/console/playground/settings", pane).body; !strings.Contains(drawn, "Save as v2") || strings.Contains(drawn, "data-opened-changed hidden") {
		t.Error("a pane that was changed is said to be what was saved")
	}
	pane.Set("save_as", "new")
	if a := p.send("/console/prompts", pane); !strings.Contains(a.body, "Save the prompt") {
		t.Errorf("saved again: %d %s", a.status, a.header.Get("Location"))
	}
	p.send("/console/prompts/"+id+"/delete", nil)
	pane.Del("save_as")
	if drawn := p.send("/console/playground/settings", pane).body; strings.Contains(drawn, "prompt_id") || strings.Contains(drawn, "data-opened") {
		t.Error("a prompt that is gone is still open")
	}
}
