package e2e

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
)

// nativeAt is the path of a method of a model, as clients of the native style write it.
func nativeAt(version, id, method string) string {
	return "/" + version + "/models/" + id + ":" + method
}

// unnamed is a request of a style that does not name the model.
func (p protocol) unnamed(prompt string, members ...string) string {
	return "{" + strings.TrimPrefix(p.ask("m", prompt, members...), `{"model":"m",`)
}

// spellings are the ways to write an id in a path.
func spellings(id string) []string {
	return []string{id, url.PathEscape(id), strings.ReplaceAll(id, "/", "%2f"), "models/" + id, strings.ReplaceAll(url.PathEscape(id), ":", "%3A")}
}

// TestAPIAliasesOfTheNativeStyle calls models by their names in paths, whole, streamed as events and as one array, and
// counts their tokens.
func TestAPIAliasesOfTheNativeStyle(t *testing.T) {
	t.Parallel()
	k := &checklist{customer: start(t, "--token-interval", "0s").newCustomer(t, "native-aliases")}
	k.setLimits(t, 1000)
	k.speaking(t)
	p := protocols["native"]
	colon := once("test/with:variant")
	k.addModels(t, model{id: colon, upstream: "sim-colon", speaks: "native", more: everything})
	for _, folder := range []string{"/v1beta/models/", "/v1/models/", "/v1beta/"} {
		for _, id := range []string{"boreal/fjord-flash", cheapModel, colon, k.speaks["messages"], k.speaks["responses"]} {
			for _, spelled := range spellings(id) {
				t.Run(url.PathEscape(folder+spelled), func(t *testing.T) {
					at := folder + spelled
					a := k.call(t, http.MethodPost, at+":generateContent", p.unnamed("echo: by the path"))
					if s := p.whole(t, object(t, a.body)); a.status != http.StatusOK || s.model != id || s.text != "by the path" || s.cost == "" {
						t.Errorf("%d %s", a.status, a.body)
					}
					count := k.call(t, http.MethodPost, at+":countTokens", p.unnamed("echo: by the path"))
					if count.status != http.StatusOK || tokensAt(t, object(t, count.body), "totalTokens") < 4 {
						t.Errorf("%d %s", count.status, count.body)
					}
					streamed := k.call(t, http.MethodPost, at+":streamGenerateContent?alt=sse", p.unnamed("count to 5"))
					all := p.frames(t, streamed.body)
					if p.last(t, all); streamed.status != http.StatusOK || p.textOf(t, all) != "1 2 3 4 5" || !strings.HasPrefix(streamed.header.Get("Content-Type"), "text/event-stream") {
						t.Errorf("%d %v %s", streamed.status, streamed.header, streamed.body)
					}
				})
			}
		}
	}
}

// elements reads a stream that came as one JSON array, as a client does that reads it whole.
func elements(t *testing.T, a answer) []sseFrame {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v: %d %v %s", err, a.status, a.header, a.body)
	}
	frames := []sseFrame{}
	for _, raw := range list {
		frames = append(frames, sseFrame{data: string(raw)})
	}
	return frames
}

// TestAPIAliasesStreamAsOneArray streams without alt=sse: one JSON array that parses, at its end, and when the upstream
// breaks off in the middle too; a failure before that is an ordinary error.
func TestAPIAliasesStreamAsOneArray(t *testing.T) {
	t.Parallel()
	k := &checklist{customer: start(t, "--token-interval", "0s").newCustomer(t, "arrays")}
	k.setLimits(t, 1000)
	k.speaking(t)
	p := protocols["native"]
	for upstream, id := range k.speaks {
		for _, folder := range []string{"/v1beta/models/", "/v1/models/", "/v1beta/"} {
			path := folder + id + ":streamGenerateContent"
			for _, query := range []string{"", "?alt=json", "?$alt=json&prettyPrint=false", "?key=" + k.APIKey} {
				all := elements(t, k.call(t, http.MethodPost, path+query, p.unnamed("count to 30")))
				if p.last(t, all); len(all) < 2 || len(strings.Fields(p.textOf(t, all))) != 30 || nativeSaid(t, object(t, all[len(all)-1].data)).cost == "" {
					t.Errorf("from %s: %v", upstream, all)
				}
			}
			for _, does := range []string{"cut-after=6t", "error-after=6t", "reset-after=6t"} {
				a := k.call(t, http.MethodPost, path, p.unnamed("simulate: "+does+"\ncount to 50"))
				all := elements(t, a)
				if kind := p.late(t, all); kind != "INTERNAL" || !strings.HasPrefix(p.textOf(t, all[:len(all)-1]), "1 2 3") {
					t.Errorf("%s from %s: %s in %s", does, upstream, kind, a.body)
				}
				if r := k.record(t, a.header.Get("X-Request-Id")); r.Outcome != "cut" || r.Cost == 0 || !r.Estimated {
					t.Errorf("%s from %s: the record is %+v", does, upstream, r)
				}
			}
			p.fails(t, k.call(t, http.MethodPost, path, p.unnamed("simulate: status=422\nx")), "refused", "", "")
			p.fails(t, k.call(t, http.MethodPost, path, p.unnamed("x", `"safetySettings":7`)), "invalid", "", "safetySettings")
			p.fails(t, k.call(t, http.MethodPost, folder+"nobody/nothing:streamGenerateContent", p.unnamed("x")), "not found", "model_not_found", "model")
		}
	}
}

// TestAPIAliasesNameTheModelOnce lets the path decide about the model and the stream, whatever the body says of them.
func TestAPIAliasesNameTheModelOnce(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "named-once")
	p := protocols["native"]
	path := nativeAt("v1beta", "boreal/fjord-flash", "generateContent")
	for _, members := range []string{`"model":"boreal/fjord-flash"`, `"model":"models/boreal/fjord-flash"`, `"model":"nobody/nothing"`, `"stream":true`, `"stream":false`} {
		a := c.call(t, http.MethodPost, path, p.unnamed("echo: once", members))
		if s := p.whole(t, object(t, a.body)); a.status != http.StatusOK || s.model != "boreal/fjord-flash" || s.text != "once" {
			t.Errorf("%s: %d %s", members, a.status, a.body)
		}
	}
	p.fails(t, c.call(t, http.MethodPost, nativeAt("v1beta", "tessera/mosaic", "generateContent"), p.unnamed("x")), "not found", "model_not_found", "model")
	for _, path := range []string{
		nativeAt("v1beta", "boreal/fjord-flash", "embedContent"), "/v1beta/:generateContent", "/v1beta/nothing",
		"/v1beta/boreal/fjord-flash", "/v1beta/boreal/fjord-flash:embedContent",
	} {
		p.fails(t, c.call(t, http.MethodPost, path, p.unnamed("x")), "not found", "not_found", "")
	}
	p.fails(t, c.call(t, http.MethodGet, path, ""), "method", "method_not_allowed", "")
	// At the first path SDKs read the list of models.
	for _, path := range []string{"/v1beta/models/boreal/fjord-flash", "/v1beta/models/:generateContent"} {
		p.fails(t, c.call(t, http.MethodPost, path, p.unnamed("x")), "method", "method_not_allowed", "")
	}
	p.fails(t, c.call(t, http.MethodPost, path, `[1]`), "invalid", "", "")
	p.fails(t, c.call(t, http.MethodPost, path, `{`), "invalid", "invalid_json", "")
	p.fails(t, c.call(t, http.MethodPost, path, p.unnamed("x"), "Content-Type", "text/plain"), "media", "unsupported_media_type", "")
}

// TestAPIAliasesOfTheMessagesStyle calls and counts under the prefix that its clients know.
func TestAPIAliasesOfTheMessagesStyle(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "messages-aliases")
	p := protocols["messages"]
	p.path, p.count = "/anthropic/v1/messages", "/anthropic/v1/messages/count_tokens"
	for _, id := range []string{p.model, p.other} {
		if s, a := p.answers(t, c, p.ask(id, "echo: by another name")); s.text != "by another name" || s.model != id {
			t.Errorf("%s: %s", id, a.body)
		}
		if text, _ := p.streams(t, c, p.ask(id, "count to 4", `"stream":true`)); text != "1 2 3 4" {
			t.Errorf("%s: the stream says %q", id, text)
		}
		if a := c.call(t, http.MethodPost, p.count, p.ask(id, "x")); a.status != http.StatusOK || tokensAt(t, object(t, a.body), "input_tokens") < 3 {
			t.Errorf("%s: %d %s", id, a.status, a.body)
		}
	}
	p.fails(t, p.send(t, c, p.ask("nobody/nothing", "x")), "not found", "model_not_found", "model")
	p.fails(t, c.call(t, http.MethodGet, p.path, ""), "method", "method_not_allowed", "")
	p.fails(t, c.call(t, http.MethodPost, "/anthropic/v1/other", `{}`), "not found", "not_found", "")
}

// TestAPIAliasesOfKeys takes a key in a configured header only where there is no Authorization, and never in the query.
func TestAPIAliasesOfKeys(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "key-aliases")
	for _, p := range allProtocols() {
		paths := []string{p.path}
		switch p.style {
		case "native":
			paths = append(paths, nativeAt("v1beta", p.model, "generateContent"), nativeAt("v1", p.model, "generateContent"), "/v1beta/"+p.model+":generateContent")
		case "messages":
			paths = append(paths, "/anthropic/v1/messages")
		}
		for _, path := range paths {
			body := p.ask(p.model, "echo: x")
			for _, header := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
				if a := c.call(t, http.MethodPost, path, body, "Authorization", "", header, c.APIKey); a.status != http.StatusOK {
					t.Errorf("%s with %s: %d %s", path, header, a.status, a.body)
				}
				for _, authorization := range []string{"Bearer sk-umg-wrong", "Basic eDp5", "Bearer "} {
					p.fails(t, c.call(t, http.MethodPost, path, body, "Authorization", authorization, header, c.APIKey), "unauthenticated", "invalid_api_key", "")
				}
				p.fails(t, c.call(t, http.MethodPost, path, body, "Authorization", "", header, "sk-umg-wrong"), "unauthenticated", "invalid_api_key", "")
				if a := c.call(t, http.MethodPost, path, body, header, "sk-umg-wrong"); a.status != http.StatusOK {
					t.Errorf("%s: %s counts beside Authorization: %d %s", path, header, a.status, a.body)
				}
			}
			two := []string{"Authorization", "", "X-Api-Key", c.APIKey, "X-Goog-Api-Key", "sk-umg-other"}
			p.fails(t, c.call(t, http.MethodPost, path, body, two...), "unauthenticated", "invalid_api_key", "")
			query := "?key=" + c.APIKey + "&api_key=" + c.APIKey + "&access_token=" + c.APIKey
			p.fails(t, c.call(t, http.MethodPost, path+query, body, "Authorization", ""), "unauthenticated", "invalid_api_key", "")
			if a := c.call(t, http.MethodPost, path+"?key=sk-umg-wrong", body); a.status != http.StatusOK {
				t.Errorf("%s: a key in the query counts: %d %s", path, a.status, a.body)
			}
		}
	}
	if a := c.call(t, http.MethodGet, "/v1/models", "", "Authorization", "", "X-Goog-Api-Key", c.APIKey); a.status != http.StatusOK {
		t.Errorf("/v1/models: %d", a.status)
	}
}

// TestAPIAliasesAreConfiguration switches the aliases off in the catalog, and others on: what is not configured is not
// found, the paths and headers of the service stay, and nothing needs a restart.
func TestAPIAliasesAreConfiguration(t *testing.T) {
	t.Parallel()
	g := start(t, "--token-interval", "0s")
	c := g.newCustomer(t, "no-aliases")
	native, messages := protocols["native"], protocols["messages"]
	path := nativeAt("v1beta", native.model, "generateContent")
	works := func(path string, headers ...string) bool {
		return c.call(t, http.MethodPost, path, native.unnamed("echo: x"), headers...).status == http.StatusOK
	}
	if !works(path) || !works(path, "Authorization", "", "X-Api-Key", c.APIKey) {
		t.Fatal("the aliases of the default catalog do not work")
	}
	g.setAliases(t, "aliases: {}\n")
	for deadline := time.Now().Add(callTimeMax); works(path); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the aliases are never switched off")
		}
	}
	for _, method := range []string{"generateContent", "streamGenerateContent", "streamGenerateContent?alt=sse", "countTokens"} {
		// The list of models is still read there.
		native.fails(t, c.call(t, http.MethodPost, nativeAt("v1beta", native.model, method), native.unnamed("x")), "method", "method_not_allowed", "")
		if a := c.call(t, http.MethodPost, nativeAt("v1", native.model, method), native.unnamed("x")); a.status != http.StatusMethodNotAllowed && a.status != http.StatusNotFound {
			t.Errorf("under /v1/models: %d %s", a.status, a.body)
		}
	}
	for _, path := range []string{"/anthropic/v1/messages", "/anthropic/v1/messages/count_tokens"} {
		messages.fails(t, c.call(t, http.MethodPost, path, messages.ask(messages.model, "x")), "not found", "not_found", "")
	}
	for _, header := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		a := c.call(t, http.MethodPost, messages.path, messages.ask(messages.model, "x"), "Authorization", "", header, c.APIKey)
		messages.fails(t, a, "unauthenticated", "invalid_api_key", "")
	}
	for _, p := range allProtocols() {
		p.answers(t, c, p.ask(p.model, "echo: the service's own path"))
	}
	g.setAliases(t, fmt.Sprintf("aliases:\n  headers: {x-acme-key: authorization}\n  paths: {%q: native, %q: messages}\n", "/acme/{model}/run", "/acme/chat"))
	for deadline := time.Now().Add(callTimeMax); !works("/acme/"+native.model+"/run", "Authorization", "", "X-Acme-Key", c.APIKey); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("other aliases are never switched on")
		}
	}
	messages.path = "/acme/chat"
	messages.answers(t, c, messages.ask(messages.model, "echo: x"))
}

// setAliases puts other aliases into force by the operator's own commands.
func (g *gateway) setAliases(t *testing.T, aliases string) {
	t.Helper()
	catalogs.Lock()
	defer catalogs.Unlock()
	env := []string{"DATABASE_URL=" + g.databaseURL(t)}
	text, status := run(t, env, "catalog", "export")
	at := strings.Index(text, "providers:\n")
	if status != 0 || at < 0 {
		t.Fatal(text)
	}
	file := filepath.Join(dataDir(t), "catalog.yaml")
	if err := os.WriteFile(file, []byte(aliases+text[at:]), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := run(t, env, "catalog", "apply", "--allow-unset", file); status != 0 {
		t.Fatalf("catalog apply: %s", out)
	}
}
