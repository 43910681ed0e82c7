package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

func get(t *testing.T, method, target string, header map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestEveryAssetIsServedForEverWithItsType(t *testing.T) {
	t.Parallel()
	hashed := regexp.MustCompile(`^/static/[a-z-]+-[0-9a-f]{12}\.[a-z0-9]+$`)
	for name := range table.urls {
		res := get(t, http.MethodGet, URL(name), nil)
		if res.StatusCode != http.StatusOK || !hashed.MatchString(URL(name)) {
			t.Errorf("%s: %d at %s", name, res.StatusCode, URL(name))
		}
		if res.Header.Get("Content-Type") == "" || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s lacks a type or the permission to keep it: %v", name, res.Header)
		}
		if res.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s is encoded although the client did not ask for it", name)
		}
	}
	if len(table.urls) < 6 {
		t.Fatalf("only %d assets are embedded", len(table.urls))
	}
}

func TestEncodingsUnpackToTheSameBytes(t *testing.T) {
	t.Parallel()
	unpack := map[string]func(io.Reader) io.Reader{
		"br": func(r io.Reader) io.Reader { return brotli.NewReader(r) },
		"gzip": func(r io.Reader) io.Reader {
			z, err := gzip.NewReader(r)
			if err != nil {
				t.Error(err)
			}
			return z
		},
	}
	for name := range table.urls {
		plain, _ := io.ReadAll(get(t, http.MethodGet, URL(name), nil).Body)
		for encoding, reader := range unpack {
			res := get(t, http.MethodGet, URL(name), map[string]string{"Accept-Encoding": encoding})
			if strings.HasSuffix(name, ".woff2") || strings.HasSuffix(name, ".png") {
				if res.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s is packed twice", name)
				}
				continue
			}
			got, err := io.ReadAll(reader(res.Body))
			if err != nil || !bytes.Equal(got, plain) || res.Header.Get("Content-Encoding") != encoding {
				t.Errorf("%s as %s does not unpack to itself: %v", name, encoding, err)
			}
		}
	}
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"":                          "",
		"identity":                  "",
		"gzip":                      "gzip",
		"gzip, deflate, br":         "br",
		"gzip;q=1.0, br;q=0":        "gzip",
		"br;q=0, gzip;q=0":          "",
		"*":                         "br",
		"*;q=0":                     "",
		"br;q=0, *":                 "gzip",
		"zstd":                      "",
		"gzip;q=nonsense":           "",
		", ,;;= ,gzip":              "gzip",
		strings.Repeat("gzip,", 50): "gzip",
	} {
		res := get(t, http.MethodGet, URL("app.css"), map[string]string{"Accept-Encoding": header})
		if got := res.Header.Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q gives %q, want %q", header, got, want)
		}
		if res.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: a cache could mix encodings up", header)
		}
	}
}

func TestTagsTellEncodingsApartAndSpareTheBody(t *testing.T) {
	t.Parallel()
	packed := map[string]string{"Accept-Encoding": "br"}
	plain, small := get(t, http.MethodGet, URL("app.js"), nil), get(t, http.MethodGet, URL("app.js"), packed)
	if plain.Header.Get("ETag") == small.Header.Get("ETag") {
		t.Fatal("two encodings share a tag")
	}
	for _, tag := range []string{small.Header.Get("ETag"), "W/" + small.Header.Get("ETag"), `"other", ` + small.Header.Get("ETag"), "*"} {
		res := get(t, http.MethodGet, URL("app.js"), map[string]string{"Accept-Encoding": "br", "If-None-Match": tag})
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusNotModified || len(body) != 0 {
			t.Errorf("If-None-Match %s: %d with %d bytes", tag, res.StatusCode, len(body))
		}
	}
	if res := get(t, http.MethodGet, URL("app.js"), map[string]string{"If-None-Match": `"other"`}); res.StatusCode != http.StatusOK {
		t.Errorf("a foreign tag gives %d", res.StatusCode)
	}
}

func TestNothingElseIsServed(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		"/static/", "/static/app.css", "/static/manifest.json", "/static/../static.go", "/static/%2e%2e/static.go",
		"/static/dist/manifest.json", strings.TrimPrefix(URL("app.css"), "/static"), URL("app.css") + "/", URL("app.css") + ".br",
	} {
		if res := get(t, http.MethodGet, target, nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s answers %d", target, res.StatusCode)
		}
	}
	if res := get(t, http.MethodPost, URL("app.css"), nil); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") == "" {
		t.Errorf("POST answers %d", res.StatusCode)
	}
	res := get(t, http.MethodHead, URL("app.css"), nil)
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK || len(body) != 0 || res.Header.Get("Content-Length") == "" {
		t.Errorf("HEAD answers %d with %d bytes", res.StatusCode, len(body))
	}
	if URL("absent.css") != "/static/absent.css" {
		t.Errorf("an unknown name gives %s", URL("absent.css"))
	}
}

// TestScriptsStayWithinTheirBudget limits the size of a page's scripts, so that pages load fast on a slow line.
func TestScriptsStayWithinTheirBudget(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{
		"app.js": 26 << 10, "shared.js": 4 << 10, "playground.js": 18 << 10, "videos.js": 7 << 10, "app.css": 24 << 10,
		"money.css": 6 << 10, "requests.css": 4 << 10, "account.css": 6 << 10, "providers.css": 4 << 10, "models.css": 6 << 10, "play.css": 8 << 10, "start.css": 6 << 10, "docs.css": 6 << 10,
	} {
		file := strings.TrimPrefix(URL(name), Prefix)
		if n := len(table.byFile[file].bodies["gzip"]); n == 0 || n > most {
			t.Errorf("%s is %d bytes gzipped, at most %d are wanted", name, n, most)
		}
	}
}

// TestStylesAndScriptsNeedNoExceptionFromThePolicy looks for what a strict content security policy would block.
func TestStylesAndScriptsNeedNoExceptionFromThePolicy(t *testing.T) {
	t.Parallel()
	foreign := regexp.MustCompile(`url\(["']?(https?:)?//|@import`)
	css := table.byFile[strings.TrimPrefix(URL("app.css"), Prefix)].bodies[""]
	if m := foreign.Find(css); m != nil {
		t.Errorf("the stylesheet loads from elsewhere: %s", m)
	}
	for _, font := range []string{"geist.woff2", "geist-mono.woff2"} {
		if !bytes.Contains(css, []byte(strings.TrimPrefix(URL(font), Prefix))) {
			t.Errorf("the stylesheet does not use %s under its hashed name", font)
		}
	}
}

func TestNoticesNameEverythingServed(t *testing.T) {
	t.Parallel()
	notices, err := os.ReadFile("NOTICES")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"htmx.org 4.0.1", "basecoat-css 1.0.2", "tailwindcss 4.3.3", "geist 5.3.0", "geist-mono 5.3.0", "lucide"} {
		if !bytes.Contains(notices, []byte(name)) {
			t.Errorf("the notices do not name %s", name)
		}
	}
}
