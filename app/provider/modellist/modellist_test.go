package modellist_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"umg/app/catalog"
	"umg/app/preset"
	"umg/app/provider"
	"umg/app/provider/modellist"
	"umg/app/simulator/emulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entries are the providers whose lists differ, with the path of the emulator and the name of the credential.
var entries = []struct {
	name, entry, key string
	// first is the first model, and context says whether the list has the context. Lists counts the lists.
	first   string
	context bool
	lists   int
	// pages is how many requests 10,000 more models take.
	pages int64
}{
	{"openai", `preset: openai, base_url: "SIM/openai/v1"`, "", "gpt-4o-mini", false, 1, 1},
	{"anthropic", `preset: anthropic, base_url: "SIM/anthropic/v1"`, "", "claude-haiku-4-5", true, 1, 11},
	{"gemini", `preset: gemini, base_url: "SIM/gemini/v1beta"`, "", "gemini-2.5-flash", true, 1, 11},
	{"cohere", `preset: cohere, base_url: "SIM/cohere"`, "", "command-a-03-2025", true, 1, 11},
	{"openrouter", `preset: openrouter, base_url: "SIM/openrouter/api/v1"`, "", "anthropic/claude-haiku-4.5", true, 1, 1},
	{"vertex", `preset: vertex, with: {project: p, location: us-east5}, base_url: "SIM/vertex"`, "GOOGLE_USER", "gemini-2.5-flash", false, 2, 102},
	{"bedrock", `preset: bedrock, with: {region: ` + emulator.Region + `}, base_url: "SIM/bedrock"`, "AWS", "us.amazon.nova-2-lite-v1:0", false, 2, 7},
	{"groq", `base_url: "SIM/groq/openai/v1"`, "", "moonshotai/kimi-k2-instruct-0905", false, 1, 1},
}

// bench is an emulator behind a server, and a client of providers.
type bench struct {
	*emulator.Emulator
	url    string
	client *provider.Client
	lists  atomic.Int64 // Lists counts the requests for lists.
}

func setup(t *testing.T) *bench {
	t.Helper()
	e := emulator.New(emulator.Options{Now: time.Now, Random: rand.Reader})
	b := &bench{Emulator: e, client: provider.New(provider.Options{})}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			b.lists.Add(1)
		}
		e.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(b.client.Close)
	b.url = s.URL
	return b
}

// provider is a provider of the catalog with the members of an entry.
func (b *bench) provider(t *testing.T, entry, name, key string) *catalog.Provider {
	t.Helper()
	if key == "" {
		key = "KEY"
	}
	text := fmt.Sprintf("providers:\n  - {id: p, name: P, credential: \"${%s}\", %s}\n", key, strings.ReplaceAll(entry, "SIM", b.url))
	f, err := catalog.ParseFile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"KEY": emulator.Key(name), "AWS": emulator.AccessKeyID + ":" + emulator.SecretAccessKey, "GOOGLE_USER": b.AuthorizedUser(b.url),
	}
	s, err := catalog.NewDraftSnapshot(f, &catalog.Sources{Env: func(name string) (string, bool) {
		value, has := values[name]
		return value, has
	}}, catalog.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	p := s.Providers()[0]
	if p.Unusable != "" {
		t.Fatal(p.Unusable)
	}
	return p
}

func TestListsOfProvidersAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range entries {
		b := setup(t)
		p := b.provider(t, c.entry, c.name, c.key)
		b.ListMore(c.name, 10_000/c.lists)
		reports := []int{}
		models, err := modellist.Read(t.Context(), b.client, p, func(read int) { reports = append(reports, read) })
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(models) < 10_000+1 || len(p.Lists) != c.lists || models[0].ID != c.first || (models[0].ContextTokens == 131072) != c.context {
			t.Errorf("%s: %d models of %d lists, the first is %+v", c.name, len(models), len(p.Lists), models[0])
		}
		if n := b.lists.Load(); n != c.pages {
			t.Errorf("%s: %d requests, not %d", c.name, n, c.pages)
		}
		if len(reports) < 10 || reports[len(reports)-1] != len(models) {
			t.Errorf("%s: %d reports of progress", c.name, len(reports))
		}
	}
}

// serve serves a handler as a provider.
func serve(t *testing.T, b *bench, h http.HandlerFunc) *catalog.Provider {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return b.provider(t, `base_url: "`+s.URL+`/v1"`, "any", "")
}

func TestFormsOfLists(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		body string
		want int
		// class is that of the fault; empty means none.
		class provider.Class
	}{
		{`{"object":"list","data":[{"id":"a"},{"id":"b","context":{"x":[1,{}]}},{"id":"a"}]}`, 2, ""},
		{`[{"id":"a"},{"name":"no id"},"text",null,{"id":7},{"id":"with space"},{"id":"ok/1.2:free"}]`, 2, ""},
		{`{"data":[]}`, 0, ""},
		{`{"data":null}`, 0, provider.ClassContent},
		{`{"error":{"message":"no"}}`, 0, provider.ClassContent},
		{`{"data":[{"id":"a"},`, 1, provider.ClassContent},
		{`{"data":[{"id":"a"}]`, 1, provider.ClassContent},
		{`<html>`, 0, provider.ClassContent},
		{``, 0, provider.ClassContent},
		{`"text"`, 0, provider.ClassContent},
	} {
		p := serve(t, b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.body) })
		models, err := modellist.Read(t.Context(), b.client, p, nil)
		f, _ := errors.AsType[*provider.Fault](err)
		if len(models) != c.want || (err != nil) != (c.class != "") || f != nil && f.Class != c.class {
			t.Errorf("%s: %v, %v", c.body, models, err)
		}
	}
}

// TestAnEndlessListEnds reads lists without an end in one page and over many pages, and a page with one endless text.
func TestAnEndlessListEnds(t *testing.T) {
	b := setup(t)
	rows := []byte(strings.Repeat(`{"id":"m0","object":"model","description":"`+strings.Repeat("x", 4<<10)+`"},`, 10))
	for name, h := range map[string]http.HandlerFunc{
		"the same rows": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"data":[`)
			for r.Context().Err() == nil {
				_, _ = w.Write(rows)
			}
		},
		"other rows": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"data":[`)
			for i := 0; r.Context().Err() == nil; i++ {
				_, _ = fmt.Fprintf(w, `{"id":"m%d"},`, i)
			}
		},
		"a text": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"data":[{"id":"`)
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(strings.Repeat("x", 1<<10)))
			}
		},
	} {
		p := serve(t, b, h)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		models, err := modellist.Read(t.Context(), b.client, p, nil)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		f, _ := errors.AsType[*provider.Fault](err)
		if f == nil || f.Class != provider.ClassTooLarge || len(models) > modellist.RowsMax {
			t.Errorf("%s: %d models, %v", name, len(models), err)
		}
		if name == "the same rows" && after.TotalAlloc-before.TotalAlloc > 48<<20 || took > 20*time.Second {
			t.Errorf("%s: %d MiB in %s", name, (after.TotalAlloc-before.TotalAlloc)>>20, took)
		}
	}
	page := 0
	p := serve(t, b, func(w http.ResponseWriter, _ *http.Request) {
		page++
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"m%d"}],"next":"%d"}`, page, page)
	})
	p.Lists[0].Pages = pagesBy("next", "after")
	if models, err := modellist.Read(t.Context(), b.client, p, nil); err == nil || len(models) > 1000 || page > 1000 {
		t.Errorf("pages without end: %d models, %v", len(models), err)
	}
	p = serve(t, b, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}],"next":"same"}`)
	})
	p.Lists[0].Pages = pagesBy("next", "after")
	if _, err := modellist.Read(t.Context(), b.client, p, nil); err == nil || !strings.Contains(err.Error(), "unusable") && !strings.Contains(err.Error(), "content") {
		t.Errorf("a page that repeats: %v", err)
	}
}

func TestAListThatIsCancelledOrSlow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := serve(t, b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"a"},`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	_, err := modellist.ReadWith(t.Context(), modellist.Options{Client: b.client, Provider: p, TimeMax: 50 * time.Millisecond})
	if f, _ := errors.AsType[*provider.Fault](err); f == nil || f.Class != provider.ClassTotal {
		t.Errorf("a slow list: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = modellist.Read(ctx, b.client, p, nil)
	if f, _ := errors.AsType[*provider.Fault](err); f == nil || f.Class != provider.ClassClient {
		t.Errorf("a cancelled list: %v", err)
	}
}

func TestAProviderWithoutAList(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.provider(t, `preset: azure, with: {resource: res}, base_url: "SIM/azure/openai/v1"`, "azure", "")
	if _, err := modellist.Read(t.Context(), b.client, p, nil); !errors.Is(err, modellist.ErrNone) {
		t.Errorf("%v", err)
	}
	if n := b.lists.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func pagesBy(next, parameter string) *preset.Pages {
	return &preset.Pages{Next: next, Parameter: parameter}
}
