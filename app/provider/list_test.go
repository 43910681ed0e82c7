package provider_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/preset"
	"umg/app/provider"
)

// listOf is a provider with a list at an address.
func listOf(address string) (*catalog.Provider, *catalog.ModelList) {
	p := route(address).Provider
	p.Credentials = append(p.Credentials, catalog.NewSecret("second-credential-8"))
	l := &catalog.ModelList{ModelList: preset.ModelList{Path: "/models?limit=7", List: "data", ID: "id"}}
	l.Wire.Base, l.Wire.Headers = address+"/lists", map[string]string{"X-Version": "2"}
	p.Lists = []*catalog.ModelList{l}
	return p, l
}

func TestAListIsAskedForAsTheCatalogSays(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 2)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		_, _ = io.WriteString(w, `{"data":[]}`)
	})
	p, l := listOf(s.URL)
	c := client(t, provider.Options{})
	for i, want := range []string{credential, "second-credential-8"} {
		reply, f := c.List(t.Context(), p, l, i, url.Values{"after": {"a b"}})
		if f != nil {
			t.Fatal(f)
		}
		_ = reply.Close()
		r := <-seen
		if r.Method != http.MethodGet || r.URL.Path != "/lists/models" || r.URL.Query().Get("limit") != "7" || r.URL.Query().Get("after") != "a b" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		h := r.Header
		if h.Get("Authorization") != "Bearer "+want || h.Get("X-Version") != "2" || h.Get("X-Extra") != "yes" || h.Get("Content-Type") != "" {
			t.Errorf("%v", h)
		}
	}
}

func TestWhatAProviderSaysHasNoCredential(t *testing.T) {
	t.Parallel()
	const said = `{"error":{"message":"The key upstream-credential-7 of org-abcdef1234 with Bearer abc is wrong.\tSee https://acme.example/keys"}}`
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, said)
	})
	p, l := listOf(s.URL)
	c := client(t, provider.Options{})
	reply, f := c.List(t.Context(), p, l, 0, nil)
	if f != nil {
		t.Fatal(f)
	}
	body, _ := reply.ReadAll(1 << 10)
	_ = reply.Close()
	words := reply.StatusFault(reply.Status, body).ProviderWords()
	if want := "The key [redacted] of [redacted] with Bearer [redacted] is wrong. See https://acme.example/keys"; words != want {
		t.Errorf("%q", words)
	}
	_, f = send(t, c, route(s.URL), false)
	if words := f.ProviderWords(); strings.Contains(words, credential) || !strings.Contains(words, "is wrong") {
		t.Errorf("%q", words)
	}
	if words := provider.NewFault(provider.ClassConnect, io.EOF).ProviderWords(); words != "" {
		t.Errorf("a fault without an answer says %q", words)
	}
}

func TestTheHeaderOfAnAnswerIsObserved(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Seen", "yes")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{}`)
	})
	c := client(t, provider.Options{})
	r := &catalog.Route{Provider: route(s.URL).Provider, Model: "up", Style: llm.Chat, Timeouts: catalog.Timeouts{Connect: time.Second}}
	for _, status = range []int{http.StatusOK, http.StatusTooManyRequests} {
		observed := ""
		p := payload(`{}`)
		a, _ := c.Send(t.Context(), provider.Attempt{Route: r, Payload: p, Observe: func(h http.Header) { observed = h.Get("X-Seen") }})
		if a != nil {
			a.Close()
		}
		p.Release()
		if observed != "yes" {
			t.Errorf("%d: the header was not observed", status)
		}
	}
}
