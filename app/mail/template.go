package mail

import (
	"fmt"
	"html/template"
	"strings"
)

// Template is a short message in the one layout of this house: a title, some paragraphs, at most one link, and a footer.
type Template struct {
	Title      string
	Paragraphs []string
	Action     Action // Action is a button after the paragraphs, unless it is empty.
	Footer     string
}

// Action is the link of a letter.
type Action struct {
	Label string
	URL   string
}

// letterTemplate has its styles in the elements, since mailboxes drop all others.
var letterTemplate = template.Must(template.New("letter").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no"><title>{{.Title}}</title></head>
<body style="margin:0;padding:24px;font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:16px;line-height:1.5">
<div style="max-width:32rem;margin:0 auto">
<h1 style="font-size:20px;margin:0 0 16px">{{.Title}}</h1>
{{range .Paragraphs}}<p style="margin:0 0 16px">{{.}}</p>
{{end}}{{if .Action.URL}}<p style="margin:0 0 16px"><a href="{{.Action.URL}}">{{.Action.Label}}</a></p>
<p style="margin:0 0 16px;font-size:14px;overflow-wrap:anywhere">{{.Action.URL}}</p>
{{end}}{{with .Footer}}<p style="margin:24px 0 0;font-size:14px;opacity:.75">{{.}}</p>
{{end}}</div></body></html>
`))

// Text is the letter for mailboxes that show text only.
func (l Template) Text() string {
	parts := append([]string{l.Title}, l.Paragraphs...)
	if l.Action.URL != "" {
		parts = append(parts, l.Action.Label+":\n"+l.Action.URL)
	}
	if l.Footer != "" {
		parts = append(parts, "--\n"+l.Footer)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// HTML is the letter as a page, with everything escaped.
func (l Template) HTML() (string, error) {
	var b strings.Builder
	if err := letterTemplate.Execute(&b, l); err != nil {
		return "", fmt.Errorf("mail: draw a letter: %w", err)
	}
	return b.String(), nil
}

// To addresses the letter, in both forms.
func (l Template) To(address, subject, kind string) (Message, error) {
	page, err := l.HTML()
	return Message{To: address, Subject: subject, Text: l.Text(), HTML: page, Kind: kind}, err
}
