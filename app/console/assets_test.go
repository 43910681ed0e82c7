package console_test

import (
	"bytes"
	"crypto/rand"
	"image"
	"image/png"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/app/asset"
	"umg/app/catalog"
	"umg/app/console"
	"umg/app/egress"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/provider/assetapi"
	"umg/app/simulator"
)

const assetModel = "kestrel/swift"

// gallery is a console over a real service of assets, whose upstream is the simulator and whose sources are a server of
// its own.
type gallery struct {
	*fixture

	assets  *asset.Service
	sources *httptest.Server
	fetched atomic.Int64
}

func withAssets(t *testing.T) *gallery {
	t.Helper()
	upstream := httptest.NewServer(simulator.New(simulator.Options{Now: time.Now}))
	t.Cleanup(upstream.Close)
	g := &gallery{}
	g.sources = httptest.NewServer(http.HandlerFunc(g.serveSource))
	t.Cleanup(g.sources.Close)
	db := pgtest.New(t)
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.Apply(t.Context(), db, file); err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{"UMG_SIMULATOR_URL": upstream.URL, "UMG_SIMULATOR_KEY": "any"}
	log := slog.New(slog.DiscardHandler)
	models, err := catalog.Open(t.Context(), db, catalog.Options{
		Now: time.Now, Log: log, Secrets: func(name string) (string, bool) { value, ok := secrets[name]; return value, ok },
	})
	if err != nil {
		t.Fatal(err)
	}
	outside, err := egress.New(egress.Options{Exceptions: []string{strings.TrimPrefix(g.sources.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	providers := provider.New(provider.Options{})
	t.Cleanup(func() { outside.Close(); providers.Close() })
	g.assets = asset.New(db, asset.Options{
		Egress: outside, Snapshot: models.Snapshot, Upstreams: assetapi.New(providers), Now: time.Now,
		IDs: app.IDs{Now: time.Now, Random: rand.Reader}, Log: log, Jitter: mathrand.Int64N,
	})
	videos := newVideos(t, db, upstream.URL, secrets)
	g.fixture = newFixture(t, db, db, secrets, func(o *console.Options) { o.Assets, o.Videos = g.assets, videos })
	return g
}

// serveSource answers with a picture, with what is none, or with a picture that says nothing of its length.
func (g *gallery) serveSource(w http.ResponseWriter, r *http.Request) {
	g.fetched.Add(1)
	switch {
	case strings.HasPrefix(r.URL.Path, "/page"):
		_, _ = w.Write([]byte("<!doctype html><script>alert(1)</script>"))
	case strings.HasPrefix(r.URL.Path, "/swap") && r.URL.Query().Get("now") == "" && g.fetched.Load() > 2:
		_, _ = w.Write([]byte("<!doctype html><script>alert(1)</script>"))
	case strings.HasPrefix(r.URL.Path, "/chunked"):
		w.Header().Set("Content-Type", "text/html")
		data := drawn()
		_, _ = w.Write(data[:10])
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(data[10:])
	default:
		http.ServeContent(w, r, "picture.png", time.Time{}, bytes.NewReader(drawn()))
	}
}

func drawn() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 12, 8)))
	return b.Bytes()
}

// register sends the form and gives the path of the new asset's page.
func (g *gallery) register(p *person, name, source string) string {
	g.t.Helper()
	a := p.send("/console/assets", url.Values{"type": {"image"}, "url": {g.sources.URL + source}, "name": {name}})
	if a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/console/assets/asset_") {
		g.t.Fatalf("%d %s %v", a.status, a.header.Get("Location"), alerts(a.body))
	}
	return a.header.Get("Location")
}

func TestAnAssetIsRegisteredSeenUsedAndDeleted(t *testing.T) {
	t.Parallel()
	g := withAssets(t)
	p := g.signedIn("assets@example.com")
	has(t, "before the first", p.see("/console/assets"), http.StatusOK, "No assets yet", "POST /v1/files/vendorx/assets", "asset_ids", assetModel)
	has(t, "the form", p.see("/console/assets/new"), http.StatusOK, "Check and register", "at most 30 MiB", "first bytes must be of the chosen type")
	at := g.register(p, "Mara, front", "/mara.png")
	id := strings.TrimPrefix(at, "/console/assets/")
	has(t, "its page", p.see(at), http.StatusOK, "Mara, front", "image/png", "12 × 8", "can be used in video requests", id, "client.post(", "The asset is registered.")
	has(t, "the list", p.see("/console/assets"), http.StatusOK, "1 of 10,000 assets", "9,999 more fit", "Mara, front", "Active", "PNG")
	has(t, "the cards", p.see("/console/assets?view=cards"), http.StatusOK, `class="video-grid`, "Mara, front")
	for query, found := range map[string]bool{
		"type=image": true, "type=video": false, "state=active": true, "state=failed": false, "q=MARA": true, "q=zebra": false, "page=2": false,
	} {
		if a := p.see("/console/assets?" + query); strings.Contains(a.body, at) != found || a.status != http.StatusOK {
			t.Errorf("%s: %d, listed is not %t", query, a.status, found)
		}
	}
	has(t, "the playground", p.see("/console/playground/video?model="+url.QueryEscape(assetModel)+"&asset_ids="+id), http.StatusOK,
		`name="asset_ids" value="`+id+`" checked`, "up to 4 assets")
	has(t, "the question", p.see(at+"/delete"), http.StatusOK, "Delete this asset?", "Mara, front")
	if a := p.send(at+"/delete", nil); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/assets" {
		t.Errorf("deleted: %d", a.status)
	}
	for _, gone := range []reply{p.see(at), p.see(at + "/delete"), p.send(at+"/delete", nil)} {
		has(t, "afterwards", gone, http.StatusNotFound, "There is no such page")
	}
	has(t, "the list", p.see("/console/assets"), http.StatusOK, "No assets yet", "The asset was deleted.")
}

func TestWhatIsWrongWithAnAssetIsSaidBesideItsField(t *testing.T) {
	t.Parallel()
	g := withAssets(t)
	p := g.signedIn("fields@example.com")
	const evil = `"><script>alert(1)</script>`
	for name, c := range map[string]struct{ kind, url, name, field, says string }{
		"no type":       {"", g.sources.URL + "/a.png", "", "asset-type-error", "Choose what the file is"},
		"a wrong type":  {"hologram", g.sources.URL + "/a.png", "", "asset-type-error", "Choose what the file is"},
		"no address":    {"image", "  ", "", "asset-url-error", "Enter the address"},
		"no picture":    {"image", g.sources.URL + "/page", "", "asset-url-error", "asset_type is image, but"},
		"not public":    {"image", "https://127.0.0.1/a.png", "", "asset-url-error", "not public"},
		"no address 2":  {"image", evil, "", "asset-url-error", "url"},
		"a foreign one": {"image", "javascript:alert(1)", "", "asset-url-error", "url"},
		"a long name":   {"image", g.sources.URL + "/a.png", strings.Repeat("x", 201), "asset-name-error", "at most 200 characters"},
	} {
		a := p.send("/console/assets", url.Values{"type": {c.kind}, "url": {c.url}, "name": {c.name}})
		_, at, found := strings.Cut(a.body, `id="`+c.field+`"`)
		if a.status != http.StatusUnprocessableEntity || !found || !strings.Contains(strings.SplitN(at, "</p>", 2)[0], c.says) {
			t.Errorf("%s: %d %v", name, a.status, alerts(a.body))
		}
		if strings.Contains(a.body, evil) {
			t.Errorf("%s: markup of the form came through", name)
		}
	}
	has(t, "the list", p.see("/console/assets"), http.StatusOK, "No assets yet")
	at := g.register(p, evil, "/evil.png?x="+url.QueryEscape(evil))
	for _, path := range []string{at, "/console/assets", "/console/assets?view=cards", at + "/delete", "/console/assets?q=" + url.QueryEscape(evil)} {
		if a := p.see(path); a.status != http.StatusOK || strings.Contains(a.body, "<script>alert") {
			t.Errorf("%s: %d, or a hostile name became markup", path, a.status)
		}
	}
}

// TestAPreviewIsAPictureAndNothingElse: its type is proven, and what it is cannot act in the browser.
func TestAPreviewIsAPictureAndNothingElse(t *testing.T) {
	t.Parallel()
	g := withAssets(t)
	p := g.signedIn("preview@example.com")
	for _, source := range []string{"/mara.png", "/chunked.png"} {
		a := p.see(g.register(p, "", source) + "/preview")
		if a.status != http.StatusOK || a.body != string(drawn()) || a.header.Get("Content-Length") != strconv.Itoa(len(drawn())) {
			t.Errorf("%s: %d, %d bytes of %s", source, a.status, len(a.body), a.header.Get("Content-Length"))
		}
		for header, want := range map[string]string{
			"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
			"Cache-Control": "private, max-age=600",
		} {
			if got := a.header.Get(header); got != want {
				t.Errorf("%s: %s is %q", source, header, got)
			}
		}
	}
	mine := g.register(p, "", "/mine.png")
	other := g.signedIn("stranger@example.com")
	before := g.fetched.Load()
	for _, path := range []string{mine + "/preview", "/console/assets/asset_none/preview"} {
		if a := other.see(path); a.status != http.StatusNotFound || a.body != "" {
			t.Errorf("%s to a stranger: %d %q", path, a.status, a.body)
		}
	}
	if g.fetched.Load() != before {
		t.Error("a stranger made the server fetch a source")
	}
	if a := p.do(http.MethodHead, mine+"/preview", nil); a.status != http.StatusOK || a.body != "" || a.header.Get("Content-Type") != "image/png" {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
	swapped := g.register(p, "", "/swap?now=1")
	if _, err := g.db.ExecContext(t.Context(), `update assets set url = replace(url, '?now=1', '') where id = $1`, strings.TrimPrefix(swapped, "/console/assets/")); err != nil {
		t.Fatal(err)
	}
	if a := p.see(swapped + "/preview"); a.status != http.StatusNotFound || strings.Contains(a.body, "script") {
		t.Errorf("a source that became a page: %d %q", a.status, a.body)
	}
}

func TestForeignAssetsAreUnknownAndStay(t *testing.T) {
	t.Parallel()
	g := withAssets(t)
	p, other := g.signedIn("mine@example.com"), g.signedIn("theirs@example.com")
	at := g.register(p, "Mine alone", "/mine.png")
	id := strings.TrimPrefix(at, "/console/assets/")
	unknown := other.see("/console/assets/asset_none")
	for name, a := range map[string]reply{
		"page": other.see(at), "question": other.see(at + "/delete"), "deletion": other.send(at+"/delete", nil),
	} {
		same := strings.ReplaceAll(a.body, id, "asset_none")
		if a.status != http.StatusNotFound || name == "page" && same != unknown.body {
			t.Errorf("%s: %d, or not the page of an unknown one", name, a.status)
		}
	}
	has(t, "a bulk deletion", other.send("/console/assets/delete", url.Values{"id": {id}, "sure": {"true"}}), http.StatusOK, "Nothing is selected")
	if a := other.see("/console/assets"); strings.Contains(a.body, "Mine alone") {
		t.Error("a stranger sees it in the list")
	}
	has(t, "mine", p.see(at), http.StatusOK, "Mine alone")
}

func TestSeveralAssetsAreDeletedAfterAQuestion(t *testing.T) {
	t.Parallel()
	g := withAssets(t)
	p := g.signedIn("several@example.com")
	var ids []string
	for _, name := range []string{"one", "two", "three"} {
		ids = append(ids, strings.TrimPrefix(g.register(p, name, "/"+name+".png"), "/console/assets/"))
	}
	has(t, "nothing", p.send("/console/assets/delete", nil), http.StatusOK, "Nothing is selected")
	form := url.Values{"id": append(ids[:2:2], "asset_none")}
	has(t, "the question", p.send("/console/assets/delete", form), http.StatusOK, "Delete 2 assets?", "one", "two")
	has(t, "before the answer", p.see("/console/assets"), http.StatusOK, "3 of 10,000 assets")
	form.Set("sure", "true")
	if a := p.send("/console/assets/delete", form); a.status != http.StatusSeeOther {
		t.Errorf("%d", a.status)
	}
	has(t, "afterwards", p.see("/console/assets"), http.StatusOK, "2 assets were deleted.", "1 of 10,000 assets", "three")
}

func TestAFrozenOrFullAccountRegistersNothingAndDeletesStill(t *testing.T) {
	t.Parallel()
	g := withAssets(t)
	p := g.signedIn("frozen@example.com")
	at := g.register(p, "kept", "/kept.png")
	form := url.Values{"type": {"image"}, "url": {g.sources.URL + "/more.png"}}
	set := func(statement string) {
		t.Helper()
		if _, err := g.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	set(`update asset_counts set live = 10000`)
	has(t, "the form", p.see("/console/assets/new"), http.StatusOK, "10,000 of 10,000 assets", "Delete assets you do not need")
	has(t, "the list", p.see("/console/assets"), http.StatusOK, "The limit is reached", "Why no new asset?")
	has(t, "the attempt", p.send("/console/assets", form), http.StatusForbidden, "10,000 of 10,000 assets")
	set(`update asset_counts set live = 1`)
	set(`update accounts set frozen_at = now(), frozen_reason = 'by hand'`)
	has(t, "the form", p.see("/console/assets/new"), http.StatusOK, "This account is frozen")
	has(t, "the attempt", p.send("/console/assets", form), http.StatusForbidden, "This account is frozen", "look at its assets and delete them")
	if a := p.send(at+"/delete", nil); a.status != http.StatusSeeOther {
		t.Errorf("a frozen account cannot delete: %d", a.status)
	}
}

func TestTheListLeadsFromPageToPage(t *testing.T) {
	t.Parallel()
	g := withAssets(t)
	p := g.signedIn("pages@example.com")
	for i := range 22 {
		g.register(p, "number "+strconv.Itoa(i)+".", "/n.png")
	}
	first := p.see("/console/assets")
	has(t, "the first page", first, http.StatusOK, "1–20 of 22 assets", "Page 1 of 2", "number 21.")
	next := regexp.MustCompile(`href="(/console/assets\?page=2)"`).FindStringSubmatch(first.body)
	if next == nil || strings.Contains(first.body, "number 1.<") {
		t.Fatal("the first page leads nowhere, or holds all")
	}
	has(t, "the second page", p.see(next[1]), http.StatusOK, "21–22 of 22 assets", "Page 2 of 2", "number 1.", "number 0.")
	has(t, "all", p.see("/console/assets?size=50"), http.StatusOK, "22 assets", "number 0.")
	p.headers["HX-Request"] = "true"
	if got := p.see("/console/assets?q=number+1&type=&state=&size=50").header.Get("HX-Replace-Url"); got != "/console/assets?q=number+1&size=50" {
		t.Errorf("the address becomes %q", got)
	}
	if got := p.see("/console/assets?page=2").header.Get("HX-Replace-Url"); got != "" {
		t.Errorf("a look at the same page changes the address to %q", got)
	}
}

func TestAssetsAreUnknownWhereNothingServesThem(t *testing.T) {
	t.Parallel()
	p := setup(t).signedIn("none@example.com")
	for _, r := range console.Routes() {
		if strings.HasPrefix(r.Path, "/assets") && p.do(r.Method, path(r), url.Values{}).status != http.StatusNotFound {
			t.Errorf("%s %s is known", r.Method, r.Path)
		}
	}
}
