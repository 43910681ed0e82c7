package api_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/audit"
	"umg/app/contentlog"
)

// keeping is a house that keeps content, with its worker.
func keeping(t *testing.T) (*house, *contentlog.Service) {
	t.Helper()
	var room *contentlog.Service
	h := setup(t, func(p *plan) {
		ids := app.IDs{Now: time.Now, Random: rand.Reader}
		room = contentlog.New(p.db, contentlog.Options{Audit: audit.New(p.db, time.Now, ids), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		p.api.Content = room
	})
	return h, room
}

// written is what is kept of calls once all that waits is written.
func written(t *testing.T, h *house, room *contentlog.Service, id string) (contentlog.Record, bool) {
	t.Helper()
	h.line(id) // The client may read the end of the response before the call is over.
	ended, end := context.WithCancel(t.Context())
	end()
	must(t, room.Run(ended)) // Run writes once more when its context ends.
	k, found, err := room.Of(t.Context(), h.owner.AccountID, id)
	must(t, err)
	return k, found
}

func TestContentIsKeptAsTheClientSawItWhereTheAccountAndTheKeyWantIt(t *testing.T) {
	t.Parallel()
	h, room := keeping(t)
	must(t, room.Change(t.Context(), h.owner.Principal(), contentlog.Asked, 30))
	key, asks := h.key(apikey.Spec{LogContent: true, ErrorMode: apikey.Standard})
	_, silent := h.key(apikey.Spec{})
	said := `[{"role":"user","content":"echo: my key is ` + asks + ` and so on"}]`
	for style, c := range map[string]struct{ path, body string }{
		"chat":      {"/v1/chat/completions", `{"model":"test/plain","messages":` + said},
		"messages":  {"/v1/messages", `{"model":"test/plain","max_tokens":100,"messages":` + said},
		"responses": {"/v1/responses", `{"model":"test/plain","input":` + said},
		"native":    {"/vendorc/native", `{"model":"test/plain","contents":` + strings.NewReplacer("content\":\"", "parts\":[{\"text\":\"", "so on\"", "so on\"}]").Replace(said)},
	} {
		for _, more := range []string{"}", `,"stream":true}`} {
			a := h.call("POST", c.path, c.body+more, bearer(asks)...)
			if a.status != http.StatusOK {
				t.Fatalf("%s: %d %s", style, a.status, a.body)
			}
			k, found := written(t, h, room, a.header.Get("X-Request-Id"))
			if !found || k.KeyID != key.ID || k.Style != style || k.Streamed != (more != "}") || k.AnswerBytes != int64(len(a.body)) || k.AnswerCut {
				t.Fatalf("%s%s: %v %+v", style, more, found, k)
			}
			if want := strings.Replace(c.body+more, asks, "[redacted API key]", 1); k.Request != want {
				t.Errorf("%s: the request is %s", style, k.Request)
			}
			if !json.Valid([]byte(k.Answer)) || !strings.Contains(k.Answer, "my key is [redacted API key] and so on") || strings.Contains(k.Answer, asks) {
				t.Errorf("%s%s: the answer is %s", style, more, k.Answer)
			}
			if more == "}" && k.Answer != strings.Replace(a.body, asks, "[redacted API key]", 1) {
				t.Errorf("%s: the answer is %s, not %s", style, k.Answer, a.body)
			}
		}
	}
	if a := h.call("POST", "/v1/chat/completions", ask("test/plain", ""), bearer(silent)...); a.status != http.StatusOK {
		t.Fatal(a.body)
	} else if k, found := written(t, h, room, a.header.Get("X-Request-Id")); found {
		t.Errorf("kept of a key that does not ask: %+v", k)
	}
}

func TestContentOfFailuresIsKeptAndOfRefusalsNot(t *testing.T) {
	t.Parallel()
	h, room := keeping(t)
	_, secret := h.key(apikey.Spec{ErrorMode: apikey.Standard})
	call := func(body string, headers ...string) (reply, contentlog.Record, bool) {
		a := h.call("POST", "/v1/chat/completions", body, append(headers, bearer(secret)...)...)
		k, found := written(t, h, room, a.header.Get("X-Request-Id"))
		return a, k, found
	}
	if _, k, found := call(ask("test/plain", "")); found {
		t.Fatalf("kept although the account never wanted it: %+v", k)
	}
	must(t, room.Change(t.Context(), h.owner.Principal(), contentlog.All, 1))
	if a, k, found := call(ask("test/plain", "")); found {
		// The gateway reads the key again seconds later, because nothing in this test listens for changes.
		t.Fatalf("the key is still known as before: %d %+v", a.status, k)
	}
	_, secret = h.key(apikey.Spec{ErrorMode: apikey.Standard})
	if a, k, found := call(ask("test/failing", "")); a.status < 500 || !found || k.Answer != a.body || !strings.Contains(k.Request, "echo: hello") {
		t.Errorf("a failure: %d %v %+v", a.status, found, k)
	}
	for what, c := range map[string][]string{
		"a model that is none": {ask("test/none", "")}, "what breaks the contract": {`{"model":"test/plain"}`},
		"a dry run": {ask("test/plain", ""), "X-Dry-Run", "1"},
	} {
		if a, k, found := call(c[0], c[1:]...); found {
			t.Errorf("%s: %d %+v", what, a.status, k)
		}
	}
	a, k, found := call(ask("test/plain", `,"stream":true,"user":"`+strings.Repeat("x ", contentlog.BytesMax)+`"`))
	if !found || !k.RequestCut || len(k.Request) != contentlog.BytesMax || k.RequestBytes < 2*contentlog.BytesMax {
		t.Errorf("a long request: %d %.300s %v %d of %d", a.status, a.body, found, len(k.Request), k.RequestBytes)
	}
}
