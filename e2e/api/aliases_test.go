package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// nativeAt is the path of a method of a model, as clients of the native style write it.
func nativeAt(version, id, method string) string {
	return "/" + version + "/models/" + id + ":" + method
}

// withoutModel is a request of a style that does not name the model.
func withoutModel(p harness.Style, prompt string, members ...string) string {
	return "{" + strings.TrimPrefix(p.Request("m", prompt, members...), `{"model":"m",`)
}

// spellings are the ways to write an id in a path.
func spellings(id string) []string {
	return []string{id, url.PathEscape(id), strings.ReplaceAll(id, "/", "%2f"), "models/" + id, strings.ReplaceAll(url.PathEscape(id), ":", "%3A")}
}

// TestAPIAliasesOfTheNativeStyle calls models by their names in paths, whole, streamed as events and as one array, and
// counts their tokens.
func TestAPIAliasesOfTheNativeStyle(t *testing.T) {
	t.Parallel()
	k := &checklist{Customer: harness.StartDemo(t, "--token-interval", "0s").NewCustomer(t, "native-aliases")}
	k.SetLimits(t, 1000)
	k.speaking(t)
	p := harness.Styles["native"]
	colon := harness.UniqueName("test/with:variant")
	k.AddModels(t, harness.Model{ID: colon, UpstreamModel: "sim-colon", Style: "native", Extra: harness.EveryStyle})
	for _, folder := range []string{"/v1beta/models/", "/v1/models/", "/v1beta/"} {
		for _, id := range []string{"boreal/fjord-flash", harness.CheapModel, colon, k.speaks["messages"], k.speaks["responses"]} {
			for _, spelled := range spellings(id) {
				t.Run(url.PathEscape(folder+spelled), func(t *testing.T) {
					at := folder + spelled
					a := k.Call(t, http.MethodPost, at+":generateContent", withoutModel(p, "echo: by the path"))
					if s := p.ReadAnswer(t, harness.DecodeObject(t, a.Body)); a.Status != http.StatusOK || s.Model != id || s.Text != "by the path" || s.Cost == "" {
						t.Errorf("%d %s", a.Status, a.Body)
					}
					count := k.Call(t, http.MethodPost, at+":countTokens", withoutModel(p, "echo: by the path"))
					if count.Status != http.StatusOK || harness.TokensMember(t, harness.DecodeObject(t, count.Body), "totalTokens") < 4 {
						t.Errorf("%d %s", count.Status, count.Body)
					}
					streamed := k.Call(t, http.MethodPost, at+":streamGenerateContent?alt=sse", withoutModel(p, "count to 5"))
					all := p.Frames(t, streamed.Body)
					if p.CheckEnd(t, all); streamed.Status != http.StatusOK || p.Text(t, all) != "1 2 3 4 5" || !strings.HasPrefix(streamed.Header.Get("Content-Type"), "text/event-stream") {
						t.Errorf("%d %v %s", streamed.Status, streamed.Header, streamed.Body)
					}
				})
			}
		}
	}
}

// elements reads a stream that came as one JSON array, as a client does that reads it whole.
func elements(t *testing.T, a harness.Response) []harness.StreamEvent {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v: %d %v %s", err, a.Status, a.Header, a.Body)
	}
	frames := []harness.StreamEvent{}
	for _, raw := range list {
		frames = append(frames, harness.StreamEvent{Data: string(raw)})
	}
	return frames
}

// TestAPIAliasesStreamAsOneArray streams without alt=sse: one JSON array that parses, at its end, and when the upstream
// breaks off in the middle too; a failure before that is an ordinary error.
func TestAPIAliasesStreamAsOneArray(t *testing.T) {
	t.Parallel()
	k := &checklist{Customer: harness.StartDemo(t, "--token-interval", "0s").NewCustomer(t, "arrays")}
	k.SetLimits(t, 1000)
	k.speaking(t)
	p := harness.Styles["native"]
	for upstream, id := range k.speaks {
		for _, folder := range []string{"/v1beta/models/", "/v1/models/", "/v1beta/"} {
			path := folder + id + ":streamGenerateContent"
			for _, query := range []string{"", "?alt=json", "?$alt=json&prettyPrint=false", "?key=" + k.APIKey} {
				all := elements(t, k.Call(t, http.MethodPost, path+query, withoutModel(p, "count to 30")))
				if p.CheckEnd(t, all); len(all) < 2 || len(strings.Fields(p.Text(t, all))) != 30 || harness.NativeAnswer(t, harness.DecodeObject(t, all[len(all)-1].Data)).Cost == "" {
					t.Errorf("from %s: %v", upstream, all)
				}
			}
			for _, does := range []string{"cut-after=6t", "error-after=6t", "reset-after=6t"} {
				a := k.Call(t, http.MethodPost, path, withoutModel(p, "simulate: "+does+"\ncount to 50"))
				all := elements(t, a)
				if kind := p.ReadStreamError(t, all); kind != "INTERNAL" || !strings.HasPrefix(p.Text(t, all[:len(all)-1]), "1 2 3") {
					t.Errorf("%s from %s: %s in %s", does, upstream, kind, a.Body)
				}
				if r := k.UsageRecord(t, a.Header.Get("X-Request-Id")); r.Outcome != "cut" || r.Cost == 0 || !r.Estimated {
					t.Errorf("%s from %s: the record is %+v", does, upstream, r)
				}
			}
			p.CheckError(t, k.Call(t, http.MethodPost, path, withoutModel(p, "simulate: status=422\nx")), "refused", "", "")
			p.CheckError(t, k.Call(t, http.MethodPost, path, withoutModel(p, "x", `"safetySettings":7`)), "invalid", "", "safetySettings")
			p.CheckError(t, k.Call(t, http.MethodPost, folder+"unknown/nothing:streamGenerateContent", withoutModel(p, "x")), "not found", "model_not_found", "model")
		}
	}
}

// TestAPIAliasesNameTheModelOnce lets the path decide about the model and the stream, whatever the body says of them.
func TestAPIAliasesNameTheModelOnce(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "named-once")
	p := harness.Styles["native"]
	path := nativeAt("v1beta", "boreal/fjord-flash", "generateContent")
	for _, members := range []string{`"model":"boreal/fjord-flash"`, `"model":"models/boreal/fjord-flash"`, `"model":"unknown/nothing"`, `"stream":true`, `"stream":false`} {
		a := c.Call(t, http.MethodPost, path, withoutModel(p, "echo: once", members))
		if s := p.ReadAnswer(t, harness.DecodeObject(t, a.Body)); a.Status != http.StatusOK || s.Model != "boreal/fjord-flash" || s.Text != "once" {
			t.Errorf("%s: %d %s", members, a.Status, a.Body)
		}
	}
	p.CheckError(t, c.Call(t, http.MethodPost, nativeAt("v1beta", "tessera/mosaic", "generateContent"), withoutModel(p, "x")), "not found", "model_not_found", "model")
	for _, path := range []string{
		nativeAt("v1beta", "boreal/fjord-flash", "embedContent"), "/v1beta/:generateContent", "/v1beta/nothing",
		"/v1beta/boreal/fjord-flash", "/v1beta/boreal/fjord-flash:embedContent",
	} {
		p.CheckError(t, c.Call(t, http.MethodPost, path, withoutModel(p, "x")), "not found", "not_found", "")
	}
	p.CheckError(t, c.Call(t, http.MethodGet, path, ""), "method", "method_not_allowed", "")
	// At the first path SDKs read the list of models.
	for _, path := range []string{"/v1beta/models/boreal/fjord-flash", "/v1beta/models/:generateContent"} {
		p.CheckError(t, c.Call(t, http.MethodPost, path, withoutModel(p, "x")), "method", "method_not_allowed", "")
	}
	p.CheckError(t, c.Call(t, http.MethodPost, path, `[1]`), "invalid", "", "")
	p.CheckError(t, c.Call(t, http.MethodPost, path, `{`), "invalid", "invalid_json", "")
	p.CheckError(t, c.Call(t, http.MethodPost, path, withoutModel(p, "x"), "Content-Type", "text/plain"), "media", "unsupported_media_type", "")
}

// TestAPIAliasesOfTheMessagesStyle calls and counts under the prefix that its clients know.
func TestAPIAliasesOfTheMessagesStyle(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "messages-aliases")
	p := harness.Styles["messages"]
	p.Path, p.CountPath = "/anthropic/v1/messages", "/anthropic/v1/messages/count_tokens"
	for _, id := range []string{p.Model, p.TranslatedModel} {
		if s, a := p.Complete(t, c, p.Request(id, "echo: by another name")); s.Text != "by another name" || s.Model != id {
			t.Errorf("%s: %s", id, a.Body)
		}
		if text, _ := p.Stream(t, c, p.Request(id, "count to 4", `"stream":true`)); text != "1 2 3 4" {
			t.Errorf("%s: the stream says %q", id, text)
		}
		if a := c.Call(t, http.MethodPost, p.CountPath, p.Request(id, "x")); a.Status != http.StatusOK || harness.TokensMember(t, harness.DecodeObject(t, a.Body), "input_tokens") < 3 {
			t.Errorf("%s: %d %s", id, a.Status, a.Body)
		}
	}
	p.CheckError(t, p.Send(t, c, p.Request("unknown/nothing", "x")), "not found", "model_not_found", "model")
	p.CheckError(t, c.Call(t, http.MethodGet, p.Path, ""), "method", "method_not_allowed", "")
	p.CheckError(t, c.Call(t, http.MethodPost, "/anthropic/v1/other", `{}`), "not found", "not_found", "")
}

// TestAPIAliasesOfKeys takes a key in a configured header only where there is no Authorization, and never in the query.
func TestAPIAliasesOfKeys(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "key-aliases")
	for _, p := range harness.AllStyles() {
		paths := []string{p.Path}
		switch p.Name {
		case "native":
			paths = append(paths, nativeAt("v1beta", p.Model, "generateContent"), nativeAt("v1", p.Model, "generateContent"), "/v1beta/"+p.Model+":generateContent")
		case "messages":
			paths = append(paths, "/anthropic/v1/messages")
		}
		for _, path := range paths {
			body := p.Request(p.Model, "echo: x")
			for _, header := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
				if a := c.Call(t, http.MethodPost, path, body, "Authorization", "", header, c.APIKey); a.Status != http.StatusOK {
					t.Errorf("%s with %s: %d %s", path, header, a.Status, a.Body)
				}
				for _, authorization := range []string{"Bearer sk-umg-wrong", "Basic eDp5", "Bearer "} {
					p.CheckError(t, c.Call(t, http.MethodPost, path, body, "Authorization", authorization, header, c.APIKey), "unauthenticated", "invalid_api_key", "")
				}
				p.CheckError(t, c.Call(t, http.MethodPost, path, body, "Authorization", "", header, "sk-umg-wrong"), "unauthenticated", "invalid_api_key", "")
				if a := c.Call(t, http.MethodPost, path, body, header, "sk-umg-wrong"); a.Status != http.StatusOK {
					t.Errorf("%s: %s counts beside Authorization: %d %s", path, header, a.Status, a.Body)
				}
			}
			two := []string{"Authorization", "", "X-Api-Key", c.APIKey, "X-Goog-Api-Key", "sk-umg-other"}
			p.CheckError(t, c.Call(t, http.MethodPost, path, body, two...), "unauthenticated", "invalid_api_key", "")
			query := "?key=" + c.APIKey + "&api_key=" + c.APIKey + "&access_token=" + c.APIKey
			p.CheckError(t, c.Call(t, http.MethodPost, path+query, body, "Authorization", ""), "unauthenticated", "invalid_api_key", "")
			if a := c.Call(t, http.MethodPost, path+"?key=sk-umg-wrong", body); a.Status != http.StatusOK {
				t.Errorf("%s: a key in the query counts: %d %s", path, a.Status, a.Body)
			}
		}
	}
	if a := c.Call(t, http.MethodGet, "/v1/models", "", "Authorization", "", "X-Goog-Api-Key", c.APIKey); a.Status != http.StatusOK {
		t.Errorf("/v1/models: %d", a.Status)
	}
}

// defaultAliases are all aliases that a catalog has without naming them.
var defaultAliases = []string{
	"anthropic-beta", "anthropic-version", "openai-poll-after-ms", "openai-processing-ms", "x-api-key", "x-goog-api-key",
	"/anthropic/v1/messages", "/anthropic/v1/messages/count_tokens", "/v1/openai/videos",
	"/v1/models/{model}:countTokens", "/v1/models/{model}:generateContent", "/v1/models/{model}:streamGenerateContent",
	"/v1beta/{model}:countTokens", "/v1beta/{model}:generateContent", "/v1beta/{model}:streamGenerateContent",
	"/v1beta/models/{model}:countTokens", "/v1beta/models/{model}:generateContent", "/v1beta/models/{model}:streamGenerateContent",
}

// TestAPIAliasesAreConfiguration switches the aliases off in the catalog, and others on: what is not configured is not
// found, the paths and headers of the service stay, and nothing needs a restart.
func TestAPIAliasesAreConfiguration(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t, "--token-interval", "0s")
	c := g.NewCustomer(t, "no-aliases")
	native, messages := harness.Styles["native"], harness.Styles["messages"]
	path := nativeAt("v1beta", native.Model, "generateContent")
	works := func(path string, headers ...string) bool {
		return c.Call(t, http.MethodPost, path, withoutModel(native, "echo: x"), headers...).Status == http.StatusOK
	}
	if !works(path) || !works(path, "Authorization", "", "X-Api-Key", c.APIKey) {
		t.Fatal("the aliases of the default catalog do not work")
	}
	setAliases(t, g, "aliases:\n  off:\n  - "+strings.Join(defaultAliases, "\n  - ")+"\n")
	for deadline := time.Now().Add(harness.CallTimeMax); works(path); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the aliases are never switched off")
		}
	}
	for _, method := range []string{"generateContent", "streamGenerateContent", "streamGenerateContent?alt=sse", "countTokens"} {
		// The list of models is still read there.
		native.CheckError(t, c.Call(t, http.MethodPost, nativeAt("v1beta", native.Model, method), withoutModel(native, "x")), "method", "method_not_allowed", "")
		if a := c.Call(t, http.MethodPost, nativeAt("v1", native.Model, method), withoutModel(native, "x")); a.Status != http.StatusMethodNotAllowed && a.Status != http.StatusNotFound {
			t.Errorf("under /v1/models: %d %s", a.Status, a.Body)
		}
	}
	for _, path := range []string{"/anthropic/v1/messages", "/anthropic/v1/messages/count_tokens"} {
		messages.CheckError(t, c.Call(t, http.MethodPost, path, messages.Request(messages.Model, "x")), "not found", "not_found", "")
	}
	for _, header := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		a := c.Call(t, http.MethodPost, messages.Path, messages.Request(messages.Model, "x"), "Authorization", "", header, c.APIKey)
		messages.CheckError(t, a, "unauthenticated", "invalid_api_key", "")
	}
	for _, p := range harness.AllStyles() {
		p.Complete(t, c, p.Request(p.Model, "echo: the service's own path"))
	}
	setAliases(t, g, fmt.Sprintf("aliases:\n  headers: {x-acme-key: authorization}\n  paths: {%q: native, %q: messages}\n", "/acme/{model}/run", "/acme/chat"))
	for deadline := time.Now().Add(harness.CallTimeMax); !works("/acme/"+native.Model+"/run", "Authorization", "", "X-Acme-Key", c.APIKey); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("other aliases are never switched on")
		}
	}
	messages.Path = "/acme/chat"
	messages.Complete(t, c, messages.Request(messages.Model, "echo: x"))
}

// setAliases puts other aliases into force by the operator's own commands.
func setAliases(t *testing.T, g *harness.Gateway, aliases string) {
	t.Helper()
	harness.CatalogLock.Lock()
	defer harness.CatalogLock.Unlock()
	env := []string{"DATABASE_URL=" + g.DatabaseURL(t)}
	text, status := harness.RunCommand(t, env, "catalog", "export")
	at := strings.Index(text, "providers:\n")
	if status != 0 || at < 0 {
		t.Fatal(text)
	}
	file := filepath.Join(harness.DataDir(t), "catalog.yaml")
	if err := os.WriteFile(file, []byte(aliases+text[at:]), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := harness.RunCommand(t, env, "catalog", "apply", "--allow-unset", file); status != 0 {
		t.Fatalf("catalog apply: %s", out)
	}
}
