package api

import (
	"net/url"
	"strings"

	"umg/app"
)

const shownBytesMax = 200

// prefix gives the error layout of all paths below a path.
type prefix struct {
	path   string
	family ErrorFormat
}

// prefixes are the paths that the API answers, most specific first. The second half are operations that clients call when their base
// URL lacks /v1: they get a hint in place of a page.
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
	{"/api/v1", OpenAIFamily},
	{"/openai/v1", OpenAIFamily},
}

// familyOf finds the layout for a path, and whether the path is the machine's at all.
func familyOf(path string) (ErrorFormat, bool) {
	path = "/" + strings.TrimLeft(path, "/")
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(path, p.path); ok && (rest == "" || rest[0] == '/') {
			return p.family, true
		}
	}
	return OpenAIFamily, false
}

// cleanPath serves /v1//models as /v1/models, because base URLs often end in a slash. It does not redirect, as a redirect would lose
// the body.
func cleanPath(u *url.URL) {
	if rest, ok := strings.CutPrefix(u.Path, "/v1//"); ok {
		u.Path = "/v1/" + rest
		u.RawPath = strings.Replace(u.RawPath, "/v1//", "/v1/", 1)
	}
}

// shorten bounds how much of a caller's text a message repeats.
func shorten(s string) string { return app.TruncateBytes(s, shownBytesMax) }
