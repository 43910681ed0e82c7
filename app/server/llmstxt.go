package server

import (
	"io"
	"net/http"
	"strings"

	"umg/app/docs"
	"umg/app/ratelimit"
)

// llmsDocuments are the documentation for language models: a list of its pages, and all of them in one text.
var llmsDocuments = map[string]func(values map[string]string) string{"/llms.txt": pageList, "/llms-full.txt": allPages}

func (s *Server) serveDocument(w http.ResponseWriter, r *http.Request, text func(map[string]string) string) error {
	if err := s.o.Addresses.Count(s.clientIP(r), ratelimit.Pages); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	_, err := io.WriteString(w, text(s.o.Manual()))
	return err
}

// pageList names every page with its address.
func pageList(values map[string]string) string {
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

// allPages is every page, one after the other.
func allPages(values map[string]string) string {
	var b strings.Builder
	for _, p := range docs.Pages() {
		b.WriteString(p.Markdown(values) + "\n---\n\n")
	}
	return b.String()
}
