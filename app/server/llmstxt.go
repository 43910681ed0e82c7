package server

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"umg/app/docs"
	"umg/app/ratelimit"
)

// documents are the documentation for programs that read: a list of its pages, and all of them in one text.
func documents(e *echo.Echo, values func() map[string]string, addresses *ratelimit.Addresses) {
	plain := func(text func(map[string]string) string) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := addresses.Count(c.RealIP(), ratelimit.Pages); err != nil {
				return err
			}
			c.Response().Header().Set("Cache-Control", "public, max-age=300")
			return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(text(values())))
		}
	}
	for path, text := range map[string]func(map[string]string) string{"/llms.txt": listed, "/llms-full.txt": whole} {
		e.GET(path, plain(text))
		e.HEAD(path, plain(text))
	}
}

// listed names every page with its address.
func listed(values map[string]string) string {
	var b strings.Builder
	b.WriteString("# Unified Model Gateway\n\n" +
		"> One API in front of generative models: text in four protocol styles, video, exact prices.\n\n" +
		"The base URL of the API is " + values["base_url"] + ". Calls carry `Authorization: Bearer KEY`. All of these pages in one text: " +
		values["server"] + "/llms-full.txt\n")
	for _, g := range docs.Groups() {
		b.WriteString("\n## " + g.Name + "\n\n")
		for _, p := range g.Pages {
			b.WriteString("- [" + p.Title + "](" + values["server"] + p.Path() + ".md): " + p.Description + "\n")
		}
	}
	return b.String()
}

// whole is every page, one after the other.
func whole(values map[string]string) string {
	var b strings.Builder
	for _, p := range docs.Pages() {
		b.WriteString(p.Markdown(values) + "\n---\n\n")
	}
	return b.String()
}
