package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestRunsAreKeptAndSharedOnlyInsideTheAccount asks two models in one run, before and after the account keeps content.
func TestRunsAreKeptAndSharedOnlyInsideTheAccount(t *testing.T) {
	t.Parallel()
	h, _ := keeping(t)
	p, stranger := h.signedIn("runs@example.com"), h.signedIn("stranger@example.com")
	run := func(id string) url.Values {
		return url.Values{
			"model": {allStyles}, "style": {"chat"}, "system": {"Be <b>kind</b>."}, "prompt": {"echo: kept answer"}, "run": {id}, "stream": {"true"},
			"param.temperature": {"0.5"},
		}
	}
	early, id := "run_"+strings.Repeat("1", 26), "run_"+strings.Repeat("2", 26)
	p.stream(run(early))
	has(t, "no run", p.see("/console/playground/runs"), http.StatusOK, "This account keeps no runs")
	has(t, "a run that was not kept", p.see("/console/playground/runs/"+early), http.StatusNotFound)
	for _, who := range []*person{p, stranger} {
		if a := who.send("/console/settings/account/content", url.Values{"keep": {"all"}, "days": {"30"}}); a.status != http.StatusSeeOther {
			t.Fatalf("%d", a.status)
		}
	}
	p.stream(run(id))
	second := run(id)
	second.Set("pane", "1")
	second.Set("style", "messages")
	second.Del("stream")
	if a := p.send("/console/playground", second); a.status != http.StatusOK || strings.Contains(a.body, "could not be kept") {
		t.Errorf("%d", a.status)
	}
	has(t, "the list", p.see("/console/playground/runs"), http.StatusOK, "/console/playground/runs/"+id, "echo: kept answer", "runs@example.com", allStyles+", "+allStyles)
	page := p.see("/console/playground/runs/" + id)
	has(t, "the run", page, http.StatusOK, "kept answer", "Be &lt;b&gt;kind&lt;/b&gt;.", ">0.5<", "Cost", "/console/requests/req_", "Copy the link",
		"http://gateway.test/console/playground/runs/"+id)
	opened := p.see("/console/playground?run=" + id)
	has(t, "the playground", opened, http.StatusOK, "kept answer", `data-panes="2"`, "data-stats", `value="0.5"`)
	for _, path := range []string{"/console/playground/runs/" + id, "/console/playground/runs/" + id + "/delete", "/console/playground?run=" + id} {
		if a := stranger.see(path); a.status != http.StatusNotFound || strings.Contains(a.body, "kept answer") {
			t.Errorf("another account at %s: %d", path, a.status)
		}
	}
	if a := stranger.send("/console/playground/runs/"+id+"/delete", nil); a.status != http.StatusNotFound {
		t.Errorf("another account deletes it: %d", a.status)
	}
	stranger.stream(run(id)) // The same id is another run in another account.
	has(t, "the delete page", p.see("/console/playground/runs/"+id+"/delete"), http.StatusOK, "Delete this run?")
	if a := p.send("/console/playground/runs/"+id+"/delete", nil); a.status != http.StatusSeeOther {
		t.Errorf("deleting: %d", a.status)
	}
	has(t, "after deleting", p.see("/console/playground/runs"), http.StatusOK, "No runs yet")
	has(t, "the run of the other account", stranger.see("/console/playground/runs/"+id), http.StatusOK, "kept answer")
}
