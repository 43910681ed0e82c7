package api

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"umg/app"
	"umg/app/catalog"
)

const (
	nearMax      = 3  // A 404 names at most so many similar paths.
	nearBytesMax = 80 // Longer paths get no suggestions.
)

// notFound explains an unknown path: it names the mistake where it is one of the usual ones with base URLs, and else the paths
// that are nearest.
func notFound(path string) *app.Error {
	e := app.Errorf(app.NotFound, "not_found", "There is no endpoint at %q.", shorten(path))
	clean := "/" + strings.TrimLeft(path, "/")
	known := knownPaths()
	before, operation, _ := cutKnown(clean, known)
	method, ofNative := nativeMethod(clean)
	switch {
	case strings.HasPrefix(path, "//"):
		e.Message += " The path begins with two slashes: remove the slash at the end of the base URL."
	case ofNative:
		e.Message += " Models have no method " + quoted(shorten(method)) + " here. There are " + strings.Join(catalog.NativeMethods(), ", ") + "."
	case strings.HasPrefix(clean, "/v1/v1/"):
		e.Message += " The path repeats /v1: this client adds it by itself, so leave it out of the base URL."
	case strings.HasPrefix(clean, "/v1/v1beta/"), strings.HasPrefix(clean, "/v1beta/v1beta/"):
		e.Message += " This client adds /v1beta by itself, so leave the version out of the base URL."
	case slices.ContainsFunc(known, func(p string) bool { return fits("/v1"+strings.TrimSuffix(clean, "/"), p) }) || isOlderOperation(clean):
		e.Message += " Add /v1 to the base URL."
	case strings.HasSuffix(clean, "/") && len(clean) > 1:
		e.Message += " Remove the slash at its end."
	case before != "":
		e.Message += " " + operation + " is served: leave " + quoted(shorten(before)) + " out of the base URL."
	default:
		e.Message += nearest(clean)
	}
	return e
}

// isOlderOperation reports whether a path is an operation of widespread clients without the version in front of it, for which this
// gateway has no route.
func isOlderOperation(path string) bool {
	for _, p := range []string{"/chat", "/messages", "/responses", "/models", "/videos", "/files", "/model"} {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// knownPaths are the paths of all routes that callers ask for, in the form of the routes.
func knownPaths() []string {
	var all []string
	for _, r := range Routes() {
		if !r.Open && !strings.HasSuffix(r.Path, "/") && !slices.Contains(all, r.Path) {
			all = append(all, r.Path)
		}
	}
	return all
}

// fits reports whether a path matches the path of a route, in which a segment that begins with a colon matches any segment, and *
// matches the rest.
func fits(path, route string) bool {
	have, want := strings.Split(path, "/"), strings.Split(route, "/")
	for i, w := range want {
		switch {
		case w == "*":
			return len(have) > i && have[i] != ""
		case i >= len(have), w != have[i] && (!strings.HasPrefix(w, ":") || have[i] == ""):
			return false
		}
	}
	return len(have) == len(want)
}

// cutKnown divides a path that ends with a known operation into the part before the operation and the operation.
func cutKnown(path string, known []string) (before, operation string, found bool) {
	for i := 1; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		if slices.ContainsFunc(known, func(p string) bool { return strings.HasPrefix(p, "/v1/") && fits(path[i:], p) }) {
			return path[:i], path[i:], true
		}
	}
	return "", "", false
}

// nativeMethod is the method that a path of the native style asks of a model.
func nativeMethod(path string) (method string, found bool) {
	rest, found := strings.CutPrefix(path, "/v1beta/models/")
	colon := strings.LastIndexByte(rest, ':')
	if !found || colon < 0 || slices.Contains(catalog.NativeMethods(), rest[colon+1:]) {
		return "", false
	}
	return rest[colon+1:], true
}

// nearest names the routes that are most like a path, as the end of a message.
func nearest(path string) string {
	type near struct {
		route Route
		far   int
	}
	var all []near
	have := strings.Split(path, "/")
	for _, r := range Routes() {
		if r.Open || len(path) > nearBytesMax {
			continue
		}
		// The segments of the route that stand for any text are those of the path.
		want := strings.Split(r.Path, "/")
		for i := range want {
			if strings.HasPrefix(want[i], ":") && i < len(have) {
				want[i] = have[i]
			}
		}
		if far := distance(path, strings.Join(want, "/")); far > 0 && far <= max(2, len(path)/3) {
			all = append(all, near{r, far})
		}
	}
	if len(all) == 0 {
		return " There are POST /v1/chat/completions, /v1/messages, /v1/responses, /vendorc/native and /v1/videos, and GET /v1/models."
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, n := range all[:min(len(all), nearMax)] {
		names = append(names, n.route.Method+" "+n.route.Path)
	}
	return " Near it are " + strings.Join(names, ", ") + "."
}

// distance is how many bytes have to be put in, taken out or changed to make one text of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// wrongMethod explains a path that is served, but not with the method of the request.
func wrongMethod(method, path, allow string) *app.Error {
	if _, native := nativeMethod(path); native && method == http.MethodPost {
		return notFound(path)
	}
	e := app.Errorf(app.MethodNotAllowed, "method_not_allowed", "The path %s takes %s, not %q.", shorten(path), allow, shorten(method))
	e.Allow = allow
	return e
}
