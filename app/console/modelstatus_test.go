package console_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/billing/usage"
)

// modelPart is the part of a page about one model: from its first link on, as far as a row or a card reaches.
func modelPart(t *testing.T, page, id string) string {
	t.Helper()
	const reach = 6000
	at := strings.Index(page, `class="row-link" href="/console/models/`+id+`"`)
	if at < 0 {
		t.Fatalf("the page does not name %s", id)
	}
	part := page[at:min(len(page), at+reach)]
	if end := strings.Index(part, "</tr>"); end > 0 {
		part = part[:end]
	}
	return part
}

// TestAPausedModelIsPausedEverywhere pauses a model as an operator does, and reads its state on every page that shows one.
func TestAPausedModelIsPausedEverywhere(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	if a := p.send("/console/operator/pause", decision("model", pausable, "It moves")); a.status != http.StatusSeeOther {
		t.Fatalf("%d", a.status)
	}
	if list := p.see("/console/models"); !strings.Contains(modelPart(t, list.body, pausable), "Paused") {
		t.Error("the list of models does not say that the model is paused")
	}
	shows(t, p.see("/console/models/"+pausable), http.StatusOK, " Paused</span>", "It moves", "Use instead")
	if found := p.see("/console/models?status=paused"); !strings.Contains(found.body, "1 of ") {
		t.Error("the filter by status does not find the paused model")
	}
	compared := p.see("/console/compare?" + url.Values{"m": {pausable, "meridian/atlas-mini"}}.Encode())
	shows(t, compared, http.StatusOK, "Paused")
	shows(t, p.see("/console/playground?model="+pausable), http.StatusOK, "is paused", "Use instead")
	if a := p.send("/console/operator/pause", decision("model", cheapFilm, "It moves")); a.status != http.StatusSeeOther {
		t.Fatalf("%d", a.status)
	}
	video := p.see(filmsPath + "?" + url.Values{"model": {cheapFilm}}.Encode())
	shows(t, video, http.StatusOK, "is paused", "Use instead")
	if !regexp.MustCompile(`<option value="`+cheapFilm+`" disabled[^>]*>[^<]*, paused<`).MatchString(video.body) ||
		regexp.MustCompile(`<option value="`+cheapFilm+`" selected`).MatchString(video.body) {
		t.Error("the list of models for videos offers the paused model")
	}
	shows(t, p.see("/console/operator/models?q="+url.QueryEscape(pausable)), http.StatusOK, "Paused")
}

// TestAModelIsJudgedByTwentyCallsAtLeast settles few failed calls, and then many.
func TestAModelIsJudgedByTwentyCallsAtLeast(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	hour := time.Now().UTC().Truncate(time.Hour)
	count := func(metric string, n int) {
		if _, err := k.db.ExecContext(t.Context(), `
			insert into model_provider_hours (hour, model, provider, metric, bucket, calls) values ($1, $2, 'meridian', $3, 0, $4)
			on conflict (model, hour, provider, metric, bucket) do update set calls = excluded.calls`,
			hour, pausable, metric, n); err != nil {
			t.Fatal(err)
		}
		k.refreshStats(t)
	}
	count("answered", 6)
	count("failed", 1)
	part := modelPart(t, p.see("/console/models").body, pausable)
	if !strings.Contains(part, "Available") || !strings.Contains(part, "Too few calls to judge") || strings.Contains(part, "%") {
		t.Errorf("seven calls are judged: %s", part)
	}
	shows(t, p.see("/console/models/"+pausable), http.StatusOK, " Available</span>", "Too few calls to judge")
	count("answered", 1183)
	count("failed", 21)
	for _, path := range []string{"/console/models", "/console/models/" + pausable, "/console/compare?m=" + pausable} {
		shows(t, p.see(path), http.StatusOK, "98.2% success · 1,204 calls · 24 h", "Degraded")
	}
	count("failed", 400)
	for _, path := range []string{
		"/console/models", "/console/models/" + pausable, "/console/compare?m=" + pausable, "/console/playground?model=" + pausable,
	} {
		shows(t, p.see(path), http.StatusOK, "Failing", "Use instead")
	}
}

// refreshStats adds up the hours again, as the worker does every minute.
func (k *operatorFixture) refreshStats(t *testing.T) {
	t.Helper()
	k.refreshed++
	ahead := time.Duration(k.refreshed) * 2 * time.Minute
	later := func() time.Time { return time.Now().Add(ahead) }
	if err := usage.NewReports(k.db, usage.Options{Now: later, Log: slog.New(slog.DiscardHandler)}).UpdateModelStats(t.Context()); err != nil {
		t.Fatal(err)
	}
}
