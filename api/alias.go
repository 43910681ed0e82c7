package api

import (
	"net/url"
	"strings"

	"umg/app/dialect"
)

const (
	videosOperation = "videos"

	modelPlaceholder = "{model}"
	streamSuffix     = ".stream"
	modelsPrefix     = "models/" // Clients of the native style write it before an id.
)

// pathAlias is what the path of an alias adds to its operation.
type pathAlias struct {
	model  string // The path names the model, so the body need not.
	stream bool
	array  bool // The stream is one JSON array in place of events.
}

// resolveAlias serves the other spellings of paths that the catalog has, such as the ones unmodified clients call: it puts the
// operation's own path in place before routing. A path that is served under its own name is never rewritten.
func (a *API) resolveAlias(u *url.URL, l *RequestLog) {
	if a.paths[u.Path] {
		return
	}
	for _, alias := range a.o.Catalog.Snapshot().PathAliases() {
		path, known := a.operations[strings.TrimSuffix(alias.Operation, streamSuffix)]
		if !known {
			continue
		}
		if alias.Operation == videosOperation { // The alias also serves every path below it.
			if rest, ok := strings.CutPrefix(u.EscapedPath(), alias.Path); ok && (rest == "" || rest[0] == '/') {
				u.Path, u.RawPath = path+strings.TrimPrefix(u.Path, alias.Path), ""
				return
			}
			continue
		}
		if found, ok := match(alias.Path, u.EscapedPath()); ok {
			found.stream = strings.HasSuffix(alias.Operation, streamSuffix)
			found.array = found.stream && u.Query().Get("alt") != "sse"
			l.alias = found
			u.Path, u.RawPath = path, ""
			return
		}
	}
}

// match compares a path with the pattern of an alias, in which {model} matches an id of any number of segments.
func match(spelling, path string) (pathAlias, bool) {
	before, after, hasModel := strings.Cut(spelling, modelPlaceholder)
	if !hasModel {
		return pathAlias{}, spelling == path
	}
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return pathAlias{}, false
	}
	id, ok := strings.CutSuffix(rest, after)
	if !ok {
		return pathAlias{}, false
	}
	if plain, err := url.PathUnescape(id); err == nil {
		id = plain
	}
	id = strings.TrimPrefix(id, modelsPrefix)
	return pathAlias{model: id}, id != ""
}

// withPathModel puts the model that the path of an alias names into the body, where the gateway reads it.
func (x *call) withPathModel(body []byte) ([]byte, error) {
	if x.log.alias.model == "" {
		return body, nil
	}
	return dialect.NameModel(body, x.log.alias.model, x.log.alias.stream)
}
