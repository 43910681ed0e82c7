package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/app/apptest"
	"umg/app/console"
)

// holds reports what a page lacks.
func holds(t *testing.T, what string, a reply, status int, wants ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("%s: %d, want %d", what, a.status, status)
	}
	for _, want := range wants {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s lacks %q", what, want)
		}
	}
}

// TestANewcomerHasAnAnswerWithoutATerminal presses what the first steps offer: one click for a key, one for a request.
func TestANewcomerHasAnAnswerWithoutATerminal(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("newcomer@example.com")
	holds(t, "the first page", p.see("/console"), http.StatusOK, "Make my key", "Send it from here", "Waiting for your first request", "UMG_API_KEY")
	if a := p.see("/console/first-request"); a.status != http.StatusNoContent {
		t.Errorf("nothing to tell of: %d %s", a.status, a.body)
	}
	made := p.send("/console/keys", url.Values{"from": {"overview"}, "name": {"First key"}, "mode": {"standard"}})
	secret := secretPattern.FindString(made.body)
	holds(t, "the page with the key", made, http.StatusOK, "http://gateway.test/v1", "/v1/messages", "/v1/responses", "/vendorc/native", "Waiting for your first request")
	if secret == "" || strings.Count(made.body, secret) < 16 {
		t.Errorf("the key is not in the code of all styles and languages: %d times", strings.Count(made.body, secret))
	}
	sent := p.send("/console/onboarding/send", nil)
	holds(t, "the page with the answer", sent, http.StatusOK, "says</figcaption>")
	if strings.Contains(sent.body, secret) {
		t.Error("the secret is shown again")
	}
	eventually(t, "the first request", func() bool {
		a := p.see("/console/first-request")
		return a.status == http.StatusOK && strings.Contains(a.body, "Your first request was answered") && strings.Contains(a.body, "$0.0")
	})
	holds(t, "the page afterwards", p.see("/console"), http.StatusOK, "You are up and running", "Set up my tool", `data-testid="request"`)
	p.send("/console/onboarding", url.Values{"show": {"false"}})
	if a := p.see("/console"); strings.Contains(a.body, `id="onboarding"`) || !strings.Contains(a.body, "Show first steps") {
		t.Error("the first steps cannot be put away")
	}
	p.send("/console/onboarding", url.Values{"show": {"true"}})
	holds(t, "the page with the steps back", p.see("/console"), http.StatusOK, `id="onboarding"`)
}

func TestARecipeMakesAKeyWithTrueStatusesAndTellsWhatArrived(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("recipes@example.com")
	holds(t, "the list", p.see("/console/recipes"), http.StatusOK, "Claude Code", "/console/recipes/n8n", "OpenAI SDK")
	holds(t, "a recipe without /v1", p.see("/console/recipes/claude-code"), http.StatusOK, `ANTHROPIC_BASE_URL=`, "http://gateway.test&#34;",
		"Authorization: Bearer", "/console/keys/new?mode=standard")
	made := p.send("/console/recipes/aider/key", nil)
	secret := secretPattern.FindString(made.body)
	holds(t, "the recipe with a key", made, http.StatusOK, "OPENAI_API_KEY", "http://gateway.test/v1", secret)
	if a := p.see("/console/keys"); secret == "" || !strings.Contains(a.body, "aider") {
		t.Error("there is no key of that name")
	}
	begin := p.see("/console/recipes/aider?since=now")
	if begin.status != http.StatusSeeOther || !strings.HasPrefix(begin.header.Get("Location"), "/console/recipes/aider?since=2") {
		t.Fatalf("the test begins at %s", begin.header.Get("Location"))
	}
	here := begin.header.Get("Location")
	holds(t, "the test that waits", p.see(here), http.StatusOK, "Waiting for a call of aider", "/console/recipes/aider/calls?since=")
	call := p.call(secret, `{"model":"meridian/atlas-nano","messages":[{"role":"user","content":"hi"}],"max_tokens":5}`)
	if call.status != http.StatusOK {
		t.Fatalf("the call: %d %s", call.status, call.body)
	}
	eventually(t, "the call", func() bool {
		a := p.see(here)
		return strings.Contains(a.body, "Answered") && strings.Contains(a.body, "/console/requests/req_") && strings.Contains(a.body, "meridian/atlas-nano")
	})
	holds(t, "an unknown tool", p.see("/console/recipes/nothing"), http.StatusNotFound)
}

func TestLimitsAreShownAndMoreIsAskedForOnce(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p, op := k.signedIn("limits@example.com"), k.operator("op@example.com")
	holds(t, "the page", p.see("/console/limits"), http.StatusOK, "Usual limits", "Calls at once", "<meter", pausable, "Request an increase")
	holds(t, "a form without a reason", p.send("/console/limits", url.Values{"times": {"5"}}), http.StatusUnprocessableEntity, "wish-reason-error")
	holds(t, "a model that is none", p.send("/console/limits", url.Values{"times": {"5"}, "model": {"x"}, "reason": {"y"}}),
		http.StatusUnprocessableEntity, "wish-model-error")
	form := url.Values{"times": {"5"}, "model": {pausable}, "reason": {"A <b>launch</b> on Monday."}}
	if a := p.send("/console/limits", form); a.status != http.StatusSeeOther {
		t.Fatalf("asked: %d", a.status)
	}
	holds(t, "the page with a request", p.see("/console/limits"), http.StatusOK, "with the operator of this server", "1× → 5×")
	holds(t, "another one", p.send("/console/limits", form), http.StatusUnprocessableEntity, "with the operator of this server")
	if a := p.see("/console/operator/limits"); a.status != http.StatusNotFound {
		t.Errorf("operators' page for others: %d", a.status)
	}
	list := op.see("/console/operator/limits")
	holds(t, "the operators' list", list, http.StatusOK, "&lt;b&gt;launch", "Answer")
	_, rest, _ := strings.Cut(list.body, `href="/console/operator/limits/`)
	id, _, _ := strings.Cut(rest, `"`)
	at := "/console/operator/limits/" + id
	holds(t, "the question", op.see(at), http.StatusOK, "&lt;b&gt;launch", "1× → 5×", `value="5"`, "Decline", "Grant", "Your current password")
	answer := url.Values{"do": {"declined"}, "answer": {"Not yet."}, "factor": {""}, "current_password": {password}}
	if a := p.send(at, answer); a.status != http.StatusNotFound {
		t.Errorf("answered by a user: %d", a.status)
	}
	answer.Set("current_password", "a wrong one, sadly")
	holds(t, "a wrong password", op.send(at, answer), http.StatusUnprocessableEntity, "That is not your password.", "Not yet.")
	answer.Set("current_password", password)
	answer.Set("do", "perhaps")
	if a := op.send(at, answer); a.status != http.StatusUnprocessableEntity {
		t.Errorf("an answer that is none: %d", a.status)
	}
	answer.Set("do", "declined")
	for range 2 {
		if a := op.send(at, answer); a.status != http.StatusSeeOther {
			t.Errorf("answered: %d", a.status)
		}
	}
	holds(t, "a second answer", op.see("/console/operator/limits"), http.StatusOK, "The request was answered already.", "Declined")
	holds(t, "the page with an answer", p.see("/console/limits"), http.StatusOK, "Declined", "Not yet.", "Send the request")
	p.send("/console/limits", form)
	list = op.see("/console/operator/limits")
	_, rest, _ = strings.Cut(list.body, `href="/console/operator/limits/`)
	id, _, _ = strings.Cut(rest, `"`)
	grant := url.Values{"do": {"done"}, "factor": {"many"}, "current_password": {password}}
	holds(t, "a multiplier that is none", op.send("/console/operator/limits/"+id, grant), http.StatusUnprocessableEntity, "confirm-factor-error")
	grant.Set("factor", "0")
	holds(t, "a multiplier of zero", op.send("/console/operator/limits/"+id, grant), http.StatusUnprocessableEntity, "confirm-factor-error")
	grant.Set("factor", "7")
	if a := op.send("/console/operator/limits/"+id, grant); a.status != http.StatusSeeOther {
		t.Errorf("granted: %d", a.status)
	}
	holds(t, "the page with higher limits", p.see("/console/limits"), http.StatusOK, "Done")
	if n := k.number(`select limit_factor from accounts where id = $1`, k.accountOf("limits@example.com")); n != 7 {
		t.Errorf("the multiplier is %d", n)
	}
}

// call calls a model with a key.
func (p *person) call(secret, body string) reply {
	r := httptest.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://gateway.test/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+secret)
	w := httptest.NewRecorder()
	p.web.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.String()}
}

// eventually looks again until something that is settled behind the answers has come.
func eventually(t *testing.T, what string, there func() bool) {
	t.Helper()
	apptest.Eventually(t, 5*time.Second, what, there)
}

// TestARecipeChoosesAModelThatCanDoTheWork checks that each tool gets the best model that can do its work, and others on demand.
func TestARecipeChoosesAModelThatCanDoTheWork(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("recipemodels@example.com")
	chosen := func(path string) string {
		t.Helper()
		a := p.see("/console/recipes/" + path)
		found := regexp.MustCompile(`<option value="([^"]+)" selected`).FindStringSubmatch(a.body)
		if a.status != http.StatusOK || found == nil {
			t.Fatalf("%s: %d, no model is chosen", path, a.status)
		}
		return found[1]
	}
	for path, want := range map[string]string{
		"claude-code": "quillon/folio-swift", "codex": "boreal/fjord-flash", "cline": "boreal/fjord-flash", "continue": "boreal/fjord-flash",
		"opencode": "boreal/fjord-flash", "gemini-cli": "boreal/fjord-flash", "qwen-code": "boreal/fjord-flash", "openai-sdk": "meridian/atlas-nano",
		"claude-code?model=quillon/marginalia": "quillon/marginalia",
	} {
		if got := chosen(path); got != want {
			t.Errorf("%s chooses %s, not %s", path, got, want)
		}
	}
	page := p.see("/console/recipes/claude-code?model=quillon/marginalia")
	holds(t, "the limits of the model", page, http.StatusOK, "400000", "64000", "tessera/mosaic-pro", "quillon/folio-pocket",
		"takes no reasoning effort, has a context of 100,000 tokens instead of 128,000 and writes at most 8,192 tokens instead of 32,000.",
		"quillon/marginalia accepts up to 400,000 tokens of context", "It costs $8.00 per million output tokens.")
	if strings.Contains(page.body, `<option value="meridian/atlas-nano"`) {
		t.Error("a model that takes no tools can be chosen")
	}
	holds(t, "a model that cannot do it", p.see("/console/recipes/claude-code?model=meridian/atlas-nano"), http.StatusUnprocessableEntity,
		"meridian/atlas-nano cannot be used with Claude Code: it does not answer in the messages style")
	holds(t, "a model that is not there", p.see("/console/recipes/claude-code?model=unknown/unknown"), http.StatusUnprocessableEntity, "not in the catalog")
	made := p.send("/console/recipes/claude-code/key", url.Values{"model": {"quillon/marginalia"}})
	holds(t, "the model beside a new key", made, http.StatusOK, `<option value="quillon/marginalia" selected`, "400000", secretPattern.FindString(made.body))
	at := p.see("/console/recipes/claude-code?since=now&model=quillon/marginalia").header.Get("Location")
	if !strings.HasSuffix(at, "&model=quillon%2Fmarginalia") {
		t.Errorf("the test forgets the model: %s", at)
	}
}

// TestOperatorsAreToldHowToAddAProvider opens the overview of a demo as an operator and as another person.
func TestOperatorsAreToldHowToAddAProvider(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	const hint = `id="provider-hint"`
	if shown := k.operator("ops@example.com").see("/console"); shown.status != http.StatusOK || strings.Contains(shown.body, hint) {
		t.Errorf("a server that is no demo: %d\n%s", shown.status, shown.body)
	}
	demo := withOperators(t, func(o *console.Options) { o.Simulated = true })
	demo.signedIn("ada@example.com")
	if shown := demo.signedIn("bob@example.com").see("/console"); strings.Contains(shown.body, hint) {
		t.Errorf("a person who is no operator sees the hint:\n%s", shown.body)
	}
	ops := demo.operator("ops@example.com")
	ops.wants(ops.see("/console"), http.StatusOK, "All models of this server are simulated")
}

// TestEachWrongKeyHasItsOwnDiagnosis calls with a cut key from the address of the reader, before and after they signed up.
func TestEachWrongKeyHasItsOwnDiagnosis(t *testing.T) {
	t.Parallel()
	h := withRecentCalls(t)
	recorded := func(want int) {
		t.Helper()
		eventually(t, "the records of calls", func() bool {
			var n int
			return h.db.Get(&n, `select count(*) from arrivals where reason = 'key_cut' and status = 401`) == nil && n == want
		})
	}
	if a := h.visitor().call("sk-umg-cut", "{}"); a.status != http.StatusUnauthorized {
		t.Fatalf("a cut key: %d", a.status)
	}
	recorded(1)
	p := h.signedIn("wrongkeys@example.com")
	if a := p.see("/console"); strings.Contains(a.body, `data-testid="refused"`) {
		t.Error("a call from before the account existed is shown")
	}
	h.db.MustExec(`delete from arrivals`)
	p.call("sk-umg-cut", "{}")
	recorded(1)
	for reason, want := range map[string]string{
		"key_cut": "The API key is cut", "key_missing": "The request had no API key", "key_foreign": "The key belongs to another service",
		"key_unknown": "The key belongs to another environment, or was deleted", "key_mistyped": "The API key was mistyped",
	} {
		h.db.MustExec(`update arrivals set reason = $1`, reason)
		holds(t, reason, p.see("/console"), http.StatusOK, want, "A request from your address was refused.")
	}
}

// withRecentCalls is a console with models whose server records calls without a valid key.
func withRecentCalls(t *testing.T) *fixture {
	t.Helper()
	h := withModels(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.recent.Run(ctx) }() // goroutine: ends with the test, which waits for it
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return h
}
