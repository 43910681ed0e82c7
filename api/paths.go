package api

import (
	"strings"

	"github.com/labstack/echo/v4"

	"umg/app"
)

const shownBytesMax = 200

// prefix gives the layout in which a part of the path space speaks.
type prefix struct {
	path   string
	family Family
}

// prefixes are the face's share of the path space, most specific first. The second part are operations that clients
// ask for when their base URL lacks /v1: they get a hint instead of a page.
var prefixes = []prefix{
	{"/v1/chat", ChatFamily},
	{"/v1/messages", MessagesFamily},
	{"/v1", OpenAIFamily},
	{"/vendorc", NativeFamily},
	{"/v1beta", NativeFamily},
	{"/anthropic", MessagesFamily},
	{"/videos", OpenAIFamily},
	{"/callbacks", OpenAIFamily},
	{"/webhooks", OpenAIFamily},
	{"/chat", ChatFamily},
	{"/messages", MessagesFamily},
	{"/responses", OpenAIFamily},
	{"/models", OpenAIFamily},
	{"/files", OpenAIFamily},
	{"/completions", OpenAIFamily},
	{"/embeddings", OpenAIFamily},
}

// familyOf finds the layout for a path, and whether the path is the machine's at all.
func familyOf(path string) (Family, bool) {
	path = "/" + strings.TrimLeft(path, "/")
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(path, p.path); ok && (rest == "" || rest[0] == '/') {
			return p.family, true
		}
	}
	return OpenAIFamily, false
}

// tolerate serves /v1//models as /v1/models: the mistake of a base URL that ends in a slash is answered, not redirected,
// as a redirect would lose the body.
func tolerate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := c.Request().URL
		if rest, ok := strings.CutPrefix(u.Path, "/v1//"); ok {
			u.Path = "/v1/" + rest
			u.RawPath = strings.Replace(u.RawPath, "/v1//", "/v1/", 1)
		}
		return next(c)
	}
}

// operations are what may follow /v1 today, for the hint in a 404.
var operations = []string{"/chat/completions", "/messages", "/responses", "/models", "/videos", "/files", "/model"}

// notFound explains an unknown path, and names the mistake where it is one of the usual ones with base URLs.
func notFound(path string) *app.Error {
	e := app.Errorf(app.NotFound, "not_found", "There is no endpoint at %q.", shorten(path))
	switch clean := "/" + strings.TrimLeft(path, "/"); {
	case strings.HasPrefix(path, "//"):
		e.Message += " The path begins with two slashes: remove the slash at the end of the base URL."
	case strings.HasPrefix(clean, "/v1/v1/"):
		e.Message += " The path repeats /v1: this client adds it by itself, so leave it out of the base URL."
	case startsWithAny(clean, operations):
		e.Message += " Add /v1 to the base URL."
	case strings.HasSuffix(clean, "/") && len(clean) > 1:
		e.Message += " Remove the slash at its end."
	default:
		e.Message += " There are POST /v1/chat/completions, /v1/messages, /v1/responses, /vendorc/native and /v1/videos, and GET /v1/models."
	}
	return e
}

func startsWithAny(path string, list []string) bool {
	for _, p := range list {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// shorten bounds what a message repeats of a path.
func shorten(s string) string {
	if len(s) > shownBytesMax {
		return s[:shownBytesMax] + "…"
	}
	return s
}
