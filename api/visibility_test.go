package api_test

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app/apikey"
	"umg/app/catalog"
	"umg/app/postgres/pgtest"
)

// privateModels are a model for all accounts, one for OWNER alone, and one for another account.
const privateModels = `
providers:
  - {id: up, name: Up, base_url: "${SIM}/up/v1"}
models:
  - {id: test/open, aliases: [open-1], fallbacks: [], ROUTES [{provider: up, model: open, style: chat}]}
  - {id: test/mine, aliases: [mine-1, models/mine], accounts: [OWNER], ROUTES [{provider: up, model: mine, style: chat}]}
  - {id: test/theirs, aliases: [theirs-1], accounts: [acct_other], ROUTES [{provider: up, model: theirs, style: chat}]}
`

// withPrivateModels is a catalog with a model of the house's owner.
func withPrivateModels(t *testing.T) func(*plan) {
	t.Helper()
	return func(p *plan) {
		var owner string
		must(t, p.db.Get(&owner, `select id from accounts`))
		db := pgtest.New(t)
		f, err := catalog.ParseFile([]byte(strings.NewReplacer("ROUTES", cheap, "OWNER", owner).Replace(privateModels)))
		must(t, err)
		must(t, catalog.Apply(t.Context(), db, f))
		c, err := catalog.Open(t.Context(), db, catalog.Options{
			Now: time.Now, Log: slog.New(slog.DiscardHandler), Secrets: func(name string) (string, bool) { return p.sim, name == "SIM" },
		})
		must(t, err)
		p.api.Catalog, p.text.Snapshot = c, c.Snapshot
	}
}

// TestAModelOfAnotherAccountDoesNotExist asks for it in every way in which the API takes or shows the id of a model.
func TestAModelOfAnotherAccountDoesNotExist(t *testing.T) {
	t.Parallel()
	h := setup(t, withPrivateModels(t))
	_, whole := h.key(apikey.Spec{ErrorMode: apikey.Standard})
	auth := bearer(whole)
	for path, list := range map[string][2]string{
		"/v1/models": {"data", "id"}, "/v1/models?limit=9": {"data", "id"}, "/v1beta/models": {"models", "name"},
	} {
		ids := idsOf(t, h.call("GET", path, "", auth...), list[0], list[1])
		for i := range ids {
			ids[i] = strings.TrimPrefix(ids[i], "models/")
		}
		if !slices.Equal(ids, []string{"test/open", "test/mine"}) {
			t.Errorf("%s lists %v", path, ids)
		}
	}
	zipped := h.call("GET", "/v1/models", "", append(auth, "Accept-Encoding", "gzip")...)
	if again := h.call("GET", "/v1/models", "", append(auth, "Accept-Encoding", "gzip")...); zipped.status != 200 || again.body != zipped.body {
		t.Errorf("the compressed list: %d, %d", zipped.status, again.status)
	}
	styled := h.call("GET", "/v1/models", "", append(auth, "Anthropic-Version", "2023-06-01")...)
	if ids := idsOf(t, styled, "data", "id"); !slices.Equal(ids, []string{"test/open", "test/mine"}) {
		t.Errorf("clients of the messages style list %v", ids)
	}
	for _, id := range []string{"test/theirs", "theirs-1", "test/nothing"} {
		none := map[string]reply{
			"the entry":        h.call("GET", "/v1/models/"+id, "", auth...),
			"the native entry": h.call("GET", "/v1beta/models/"+id, "", auth...),
			"the contract":     h.call("GET", "/v1/model/openapi.json?model="+id, "", auth...),
			"the guide":        h.call("GET", "/v1/model/api.md?model="+id, "", auth...),
			"a chat":           h.call("POST", "/v1/chat/completions", ask(id, ""), auth...),
			"a dry run":        h.call("POST", "/v1/chat/completions?dry_run=true", ask(id, ""), auth...),
			"a message":        h.call("POST", "/v1/messages", ask(id, `,"max_tokens":9`), auth...),
			"a count":          h.call("POST", "/v1/messages/count_tokens", ask(id, ""), auth...),
			"a response":       h.call("POST", "/v1/responses", `{"model":"`+id+`","input":"a"}`, auth...),
			"a native call":    h.call("POST", "/v1beta/models/"+id+":generateContent", `{"contents":[{"parts":[{"text":"a"}]}]}`, auth...),
		}
		for what, r := range none {
			if r.status != 404 || strings.Contains(strings.ReplaceAll(r.body, id, ""), "theirs") {
				t.Errorf("%s of %s: %d %s", what, id, r.status, r.body)
			}
		}
	}
	if r := h.call("POST", "/v1/chat/completions", ask("test/their", ""), auth...); r.status != 404 || strings.Contains(r.body, "theirs") {
		t.Errorf("a slip is corrected to a model of another account: %s", r.body)
	}
	_, narrow := h.key(apikey.Spec{ErrorMode: apikey.Standard, Models: []string{"test/theirs"}})
	if r := h.call("POST", "/v1/chat/completions", ask("test/theirs", ""), bearer(narrow)...); r.status != 404 {
		t.Errorf("a key that lists the model: %d %s", r.status, r.body)
	}
	if r := h.call("POST", "/v1/chat/completions", ask("test/open", ""), bearer(narrow)...); r.status != 403 {
		t.Errorf("a key for no model that exists: %d %s", r.status, r.body)
	}
}

// TestAnAliasIsAnotherIDOfAModel calls and reads models by their aliases. Answers, the log and filters have the id.
func TestAnAliasIsAnotherIDOfAModel(t *testing.T) {
	t.Parallel()
	h := setup(t, withPrivateModels(t))
	_, narrow := h.key(apikey.Spec{ErrorMode: apikey.Standard, Models: []string{"mine-1"}})
	_, byID := h.key(apikey.Spec{ErrorMode: apikey.Standard, Models: []string{"test/mine"}})
	for _, secret := range []string{h.secret(), narrow, byID} {
		auth := bearer(secret)
		for _, r := range []reply{
			h.call("POST", "/v1/chat/completions", ask("mine-1", ""), auth...), h.call("POST", "/v1/chat/completions", ask("models/mine", ""), auth...),
			h.call("POST", "/v1/messages", ask("mine-1", `,"max_tokens":9`), auth...), h.call("GET", "/v1/models/mine-1", "", auth...),
			h.call("GET", "/v1/models/models/mine", "", auth...), h.call("POST", "/v1/chat/completions?dry_run=true", ask("mine-1", ""), auth...),
			h.call("POST", "/v1beta/models/mine-1:generateContent", `{"contents":[{"parts":[{"text":"echo: a"}]}]}`, auth...),
			h.call("POST", "/v1/messages/count_tokens", ask("mine-1", ""), auth...), h.call("GET", "/v1/model/api.md?model=mine-1", "", auth...),
		} {
			if r.status != 200 {
				t.Errorf("%d %s", r.status, r.body)
			}
			var answer struct{ Model string }
			if json.Unmarshal([]byte(r.body), &answer) == nil && answer.Model != "" && answer.Model != "test/mine" {
				t.Errorf("the answer is of %s: %s", answer.Model, r.body)
			}
		}
	}
	r := h.call("POST", "/v1/chat/completions", ask("mine-1", ""), bearer(narrow)...)
	if line := h.line(r.header.Get("X-Request-Id")); line["model"] != "test/mine" {
		t.Errorf("the log says %v", line)
	}
	refused := h.call("POST", "/v1/chat/completions", ask("mine-1", `,"temperature":9`), bearer(narrow)...)
	if line := h.line(refused.header.Get("X-Request-Id")); refused.status != 400 || line["model"] != "test/mine" {
		t.Errorf("the log of a refused call says %v", line)
	}
	if r := h.call("POST", "/v1/chat/completions", ask("open-1", ""), bearer(narrow)...); r.status != 403 || !strings.Contains(r.body, "test/open") {
		t.Errorf("a key for another model: %d %s", r.status, r.body)
	}
	usage := h.call("GET", "/v1/usage?model=mine-1", "", bearer(h.secret())...)
	if other := h.call("GET", "/v1/usage?model=test/mine", "", bearer(h.secret())...); usage.status != 200 || strings.Contains(usage.body, "mine-1") ||
		len(other.body) != len(usage.body) {
		t.Errorf("usage: %d %s", usage.status, usage.body)
	}
}
