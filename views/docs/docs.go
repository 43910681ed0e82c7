package docs

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"umg/app/markdown"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// Index is the first page of the documentation or of the operator guide, or what a search in it found.
type Index struct {
	views.Shell
	IsOperatorGuide bool
	Query           string
	Hits            []Link
	Groups          []Group
}

// Address is the address of the page, so that a search can be reloaded and shared.
func (d Index) Address() string {
	if d.Query == "" {
		return docsHome(d.IsOperatorGuide)
	}
	return docsHome(d.IsOperatorGuide) + "?" + url.Values{"q": {d.Query}}.Encode()
}

// docsHome is the address of the list of pages.
func docsHome(isOperatorGuide bool) string {
	if isOperatorGuide {
		return views.OperatorHelpPath
	}
	return views.DocsPath
}

// Group is the pages of the documentation that belong together.
type Group struct {
	Name  string
	Pages []Link
}

// Link leads to a page of the documentation, or to a place in one.
type Link struct{ Title, Text, Path string }

// Document is one page of the documentation or of the operator guide.
type Document struct {
	views.Shell
	IsOperatorGuide           bool
	Title, Description, Group string
	Path                      string
	Markdown                  string // Markdown is the whole page, as a download.
	Language                  string // Language is that of code samples, as the reader chose it.
	Try                       string // Try is where the reader can run the page's example; empty without one.
	Groups                    []Group
	Blocks                    []Block
	Headings                  []markdown.Heading
	Before, After             *Link
}

// Block is a part of a page: text, or code in one or more languages.
type Block struct {
	HTML markdown.HTML
	Code []ui.Sample
}

// code is how a block of code is drawn. Blocks of one page have ids of their own.
func (d Document) code(number int, samples []ui.Sample) ui.CodeProps {
	props := ui.CodeProps{ID: "code-" + format.Count(int64(number)), Title: samples[0].Label, Samples: samples}
	if len(samples) > 1 {
		props.Title, props.Group, props.Selected = "Language", "language", d.Language
	}
	return props
}

// tabTitle is the title of the browser's tab. Both books may have a page of the same title.
func (d Document) tabTitle() string {
	if d.IsOperatorGuide {
		return "Operator help: " + d.Title
	}
	return d.Title
}

// contents are the headings that the list of contents shows: where there are very many, the first level alone.
func (d Document) contents() []markdown.Heading {
	const most = 24
	if len(d.Headings) <= most {
		return d.Headings
	}
	var top []markdown.Heading
	for _, h := range d.Headings {
		if h.Level == 2 {
			top = append(top, h)
		}
	}
	return top
}

// Sample is code of the documentation in a language, by the name it has there.
func Sample(language, title, source string) ui.Sample {
	label, ok := map[string]string{
		"curl": "curl", "bash": "Shell", "python": "Python", "javascript": "JavaScript", "go": "Go", "json": "JSON", "env": ".env",
		"sse":  "Events",
		"yaml": "YAML", "http": "HTTP", "ruby": "Ruby",
	}[language]
	if !ok {
		label = "Text"
	}
	name := language
	if language == "bash" {
		name = "curl"
	}
	if title != "" {
		label = strings.ToUpper(title[:1]) + title[1:]
	}
	return ui.Sample{Name: name, Label: label, Source: source}
}

func (d Index) title() string {
	name := "Documentation"
	if d.IsOperatorGuide {
		name = "Operator help"
	}
	if d.Query != "" {
		return name + ": " + d.Query
	}
	return name
}

func (d Index) found() string {
	switch len(d.Hits) {
	case 0:
		return "Nothing found"
	case 1:
		return "1 place"
	}
	return format.Count(int64(len(d.Hits))) + " places"
}

func markdownPath(d Document) templ.SafeURL { return templ.SafeURL(d.Path + ".md") }
