package codesample

import (
	"strings"

	"umg/views"
	"umg/views/ui"
)

// Request is a request to be shown as programs that send exactly it.
type Request struct {
	Style   views.Style
	BaseURL string // ends in /v1
	Key     string // empty for code that reads KeyVariable
	Body    []byte // a JSON object
}

// languages are the languages of samples, in the order of their tabs.
var languages = []ui.Sample{
	{Name: "curl", Label: "cURL"}, {Name: "python", Label: "Python"}, {Name: "javascript", Label: "JavaScript"}, {Name: "go", Label: "Go"},
}

// OfRequest are the request as a program in each language: with the official SDK of the style where there is one, else
// with the standard library of the language alone.
func OfRequest(c Request) []ui.Sample {
	origin := strings.TrimSuffix(c.BaseURL, "/v1")
	address := origin + views.StylePaths[c.Style]
	fill := strings.NewReplacer(
		`{base"}`, Quote(c.BaseURL), `{origin"}`, Quote(origin), `{url"}`, Quote(address), "{url}", address,
		"{shell}", ShellText(jsonNotation.literal(c.Body, 1, "  ")), "{kwargs}", keywords(c.Body),
		"{dict}", pythonNotation.literal(c.Body, 1, "    "),
		"{object}", scriptNotation.literal(c.Body, 0, "  "), "{nested}", scriptNotation.literal(c.Body, 1, "  "),
		"{go}", goText(Pretty(c.Body, "\t")),
	)
	out := make([]ui.Sample, len(languages))
	for i, s := range languages {
		program := programs[c.Style][s.Name]
		s.Note, s.Source = program.note, fill.Replace(WithKey(s.Name, program.source(streams(c.Body)), c.Key))
		out[i] = s
	}
	return out
}

// streams says whether a request asks for a stream.
func streams(body []byte) bool {
	for _, m := range membersOf(body) {
		if m.name == "stream" {
			return m.value.Kind() == 't'
		}
	}
	return false
}

// program is the text of a program: how it begins, and how it reads an answer in one piece or as a stream.
type program struct {
	note                string
	head, whole, stream string
}

func (p program) source(streamed bool) string {
	if streamed {
		return p.head + p.stream
	}
	return p.head + p.whole
}
