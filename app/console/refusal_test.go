package console_test

import (
	"context"
	"crypto/rand"
	"encoding/csv"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/console"
	"umg/app/postgres/pgtest"
	"umg/app/refusal"
	"umg/app/simulator"
)

func TestRefusedRequestsAreFoundListedAndExplainedToTheirAccountOnly(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p, stranger := h.signedIn("refused@example.com"), h.signedIn("stranger@example.com")
	const id = "req_01kb4a6zt4h2s8j5y7r3w9mvaq"
	_, err := h.db.Exec(`
		insert into refusals (request_id, account_id, key_id, at, method, route, style, model, status, code, param, message, duration_micros,
			represents, unknown_model)
		select $1, $2, 'key_1', now(), 'POST', '/v1/chat/completions', 'chat', '', 404, 'model_not_found', 'model', 'There is no model "…".', 900, 1,
			'acme/<b>one'
		union all select 'req_01kb4a6zt4h2s8j5y7r3w9mvbq', $2, 'key_1', now(), 'POST', '/v1/videos', 'videos', '', 429, 'rate_limit_exceeded', '',
			'=1+1', 900, 1284, ''`, id, h.accountOf("refused@example.com"))
	apptest.Must(t, err)
	has(t, "the palette", p.see("/console/search?q="+id), 200, "/console/requests/"+id, "Refused: Unknown model")
	for name, query := range map[string]string{
		"all": "", "refused": "?outcome=refused", "all errors": "?outcome=not_succeeded", "an id": "?q=" + id, "a code": "?error=model_not_found",
	} {
		has(t, name, p.see("/console/requests"+query), 200, "row-"+id, "Refused", "Unknown model", "POST /v1/chat/completions",
			"acme/&lt;b&gt;one", `<span class="muted">unknown model</span>`)
	}
	if failed := p.see("/console/requests?outcome=failed"); strings.Contains(failed.body, id) {
		t.Error("it is among the failed ones")
	}
	has(t, "its page", p.see("/console/requests/"+id), 200, "<h1>Refused: model not found</h1>", "How to fix it", "There is no model", "404 Not Found",
		"/console/docs/errors#model_not_found", "See all models", "$0", "Newer", "acme/&lt;b&gt;one</code>")
	has(t, "a sample", p.see("/console/requests/req_01kb4a6zt4h2s8j5y7r3w9mvbq"), 200, "the last of 1,284 requests", "See your limits")
	has(t, "the overview", p.see("/console"), 200, "row-"+id, "Over the model")
	has(t, "usage", p.see("/console/usage?range=24h&metric=rate_limited"), 200, "1,285 refused", "1,284 over your limits", "No model")
	file := p.see("/console/requests.csv")
	rows, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
	if err != nil || len(rows) != 3 || len(rows[1]) != len(rows[0]) || !strings.Contains(file.body, "429,,'=1+1,1284,\n") ||
		!strings.Contains(file.body, ",refusals,unknown_model\n") || !strings.Contains(file.body, ",1,acme/<b>one\n") {
		t.Errorf("%v: %s", err, file.body)
	}
	if j := p.see("/console/requests.json"); !strings.Contains(j.body, `"refusal":{"status":404,"field":"model"`) ||
		!strings.Contains(j.body, `"unknown_model":"acme/\u003cb\u003eone"`) {
		t.Error(j.body)
	}
	has(t, "another account", stranger.see("/console/requests/"+id), 404)
	for _, path := range []string{"/console/search?q=" + id, "/console/requests?q=" + id, "/console/requests.csv", "/console"} {
		if other := stranger.see(path); strings.Contains(other.body, "/requests/"+id) || strings.Contains(other.body, "row-"+id) {
			t.Errorf("another account finds it at %s", path)
		}
	}
}

// TestRefusedCallsOfThePlaygroundAreRecorded makes calls that no usage record tells of, and finds each by its id.
func TestRefusedCallsOfThePlaygroundAreRecorded(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(simulator.New(simulator.Options{Now: time.Now}))
	t.Cleanup(upstream.Close)
	db, secrets := pgtest.New(t), map[string]string{"UMG_SIMULATOR_URL": upstream.URL, "UMG_SIMULATOR_KEY": "any"}
	file, err := catalog.ParseFile(catalog.Default())
	apptest.Must(t, err)
	apptest.Must(t, catalog.Apply(t.Context(), db, file))
	refusals := refusal.New(db, refusal.Options{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Owner: func(context.Context, string) (string, string, bool) { return "", "", false },
	})
	h := newFixture(t, db, db, secrets, func(o *console.Options) {
		o.Refusals, o.Videos, o.IDs = refusals, newVideos(t, db, upstream.URL, secrets), app.IDs{Now: time.Now, Random: rand.Reader}
	})
	p := h.signedIn("refused-play@example.com")
	form := url.Values{"model": {allStyles}, "style": {"messages"}, "prompt": {"my secret prompt"}, "param.temperature": {"9"}}
	streamed := p.stream(form)
	whole := p.send("/console/playground", form)
	film := p.send("/console/playground/video", film(""))
	answered := p.stream(url.Values{"model": {allStyles}, "style": {"chat"}, "prompt": {"echo: fine"}})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	apptest.Must(t, refusals.Run(ended))
	for id, want := range map[string][]string{
		streamed[len(streamed)-1].Request: {"POST /console/playground", allStyles, "temperature", "400 Bad Request"},
		whole.header.Get("X-Request-Id"):  {"POST /console/playground", allStyles, "temperature", "400 Bad Request"},
		film.header.Get("X-Request-Id"):   {"POST /console/playground/video", cheapFilm, "prompt", "400 Bad Request"},
	} {
		a := p.see("/console/requests/" + id)
		has(t, id, a, 200, append(want, "<h1>Refused: ", "Playground")...)
		if strings.Contains(a.body, "secret prompt") {
			t.Errorf("%s shows the prompt", id)
		}
	}
	var n int
	apptest.Must(t, db.Get(&n, `select count(*) from refusals where key_id = ''`))
	if end := answered[len(answered)-1]; n != 3 || end.Kind != "done" {
		t.Errorf("%d refusals after %+v", n, end)
	}
}
