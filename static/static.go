// Package static holds the console's stylesheet, script and fonts, embedded under names that carry the hash of their
// content, and serves them with headers that let a browser cache them without limit. A page gets the address of
// a file from URL, and the server mounts Handler at Prefix.
package static

import (
	"embed"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// Prefix is the path below which Handler expects its files.
const Prefix = "/static/"

//go:embed all:dist
var dist embed.FS

// table is made once from the embedded files and is never changed.
var table = load()

// asset is one file in the encodings that are embedded; identity is always among them.
type asset struct {
	contentType string
	tag         string
	bodies      map[string][]byte
}

type assets struct {
	urls   map[string]string
	byFile map[string]asset
}

// contentTypes are those of the embedded files. The operating system's own list is not used, since it differs between machines.
var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".png":   "image/png",
	".woff2": "font/woff2",

	".webmanifest": "application/manifest+json",
}

// encodings are in the order of preference.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// load reads the manifest and the files it names. What is embedded was checked when it was built, so a fault in it is
// a fault of the build and stops the program at once.
func load() assets {
	raw, err := dist.ReadFile("dist/manifest.json")
	if err != nil {
		panic(fmt.Errorf("static: %w", err))
	}
	var manifest map[string]string
	if err := json.Unmarshal(raw, &manifest); err != nil {
		panic(fmt.Errorf("static: manifest: %w", err))
	}
	a := assets{urls: map[string]string{}, byFile: map[string]asset{}}
	for name, file := range manifest {
		body, err := dist.ReadFile("dist/" + file)
		if err != nil {
			panic(fmt.Errorf("static: %w", err))
		}
		one := asset{contentType: contentTypes[path.Ext(file)], tag: file, bodies: map[string][]byte{"": body}}
		for _, e := range encodings {
			if packed, err := dist.ReadFile("dist/" + file + e.suffix); err == nil {
				one.bodies[e.name] = packed
			}
		}
		a.urls[name], a.byFile[file] = Prefix+file, one
	}
	return a
}

// URL is the path of an asset by the name it has in the sources, such as "app.css". An unknown name gives a path
// that answers 404, which the tests of the views look for.
func URL(name string) string {
	if url, ok := table.urls[name]; ok {
		return url
	}
	return Prefix + name
}

// Handler serves every embedded asset under Prefix. A path that names none of them is 404: nothing is looked up in a
// file system, so no path can lead outside.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one, ok := table.byFile[strings.TrimPrefix(r.URL.Path, Prefix)]
		if !ok || !strings.HasPrefix(r.URL.Path, Prefix) {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		one.serve(w, r)
	})
}

func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	encoding := a.choose(r.Header.Get("Accept-Encoding"))
	tag := a.tag
	if encoding != "" {
		tag += "-" + encoding
	}
	tag = strconv.Quote(tag)
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("ETag", tag)
	h.Set("X-Content-Type-Options", "nosniff")
	if len(a.bodies) > 1 {
		h.Set("Vary", "Accept-Encoding")
	}
	if matches(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.contentType)
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	body := a.bodies[encoding]
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body)
	}
}

// choose picks the best encoding that we have and the client accepts. Weights other than a refusal are ignored: the
// files have the same content, and the smallest is the best for every client.
func (a asset) choose(header string) string {
	accepted := map[string]bool{}
	for part := range strings.SplitSeq(header, ",") {
		name, params, err := mime.ParseMediaType("x/" + strings.TrimSpace(part))
		if err != nil {
			continue
		}
		q, err := strconv.ParseFloat(params["q"], 64)
		accepted[strings.TrimPrefix(name, "x/")] = params["q"] == "" || (err == nil && q > 0)
	}
	for _, e := range encodings {
		ok, named := accepted[e.name]
		if _, have := a.bodies[e.name]; have && (ok || !named && accepted["*"]) {
			return e.name
		}
	}
	return ""
}

// matches says whether a client's If-None-Match names the tag.
func matches(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimPrefix(strings.TrimSpace(part), "W/")
		if part == tag || part == "*" {
			return true
		}
	}
	return false
}
