package api

import (
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"umg/app/dialect"
)

const (
	aliasKey = "umg.alias"

	videosOperation = "videos"

	modelMark    = "{model}"
	streamSuffix = ".stream"
	modelsPrefix = "models/" // clients of the native style write it before an id
)

// aliased is what the path of an alias says in addition to the operation.
type aliased struct {
	model  string // named in the path, not in the body
	stream bool
	array  bool // a stream that is wanted as one JSON array and not as events
}

// alias serves the other spellings of paths that the catalog has, such as the ones unmodified clients call: it puts
// the operation's own path in place before routing. A path that is served under its own name is never rewritten.
func (a *API) alias(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := c.Request().URL
		if a.paths[u.Path] {
			return next(c)
		}
		for _, other := range a.catalog.Snapshot().PathAliases() {
			spelling, operation := other.Path, other.Operation
			path, known := a.operations[strings.TrimSuffix(operation, streamSuffix)]
			if !known {
				continue
			}
			if operation == videosOperation { // stands for everything below it too
				if rest, ok := strings.CutPrefix(u.EscapedPath(), spelling); ok && (rest == "" || rest[0] == '/') {
					u.Path, u.RawPath = path+strings.TrimPrefix(u.Path, spelling), ""
					break
				}
				continue
			}
			said, ok := match(spelling, u.EscapedPath())
			if !ok {
				continue
			}
			said.stream = strings.HasSuffix(operation, streamSuffix)
			said.array = said.stream && u.Query().Get("alt") != "sse"
			c.Set(aliasKey, said)
			u.Path, u.RawPath = path, ""
			break
		}
		return next(c)
	}
}

// match compares a path with the spelling of an alias, in which {model} stands for an id of any number of segments.
func match(spelling, path string) (aliased, bool) {
	before, after, named := strings.Cut(spelling, modelMark)
	if !named {
		return aliased{}, spelling == path
	}
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return aliased{}, false
	}
	id, ok := strings.CutSuffix(rest, after)
	if !ok {
		return aliased{}, false
	}
	if plain, err := url.PathUnescape(id); err == nil {
		id = plain
	}
	id = strings.TrimPrefix(id, modelsPrefix)
	return aliased{model: id}, id != ""
}

// named puts what the path of an alias says into the body, where every room looks for it.
func (x *call) named(body []byte) ([]byte, error) {
	said, ok := x.Get(aliasKey).(aliased)
	if !ok || said.model == "" {
		return body, nil
	}
	return dialect.NameModel(body, said.model, said.stream)
}
