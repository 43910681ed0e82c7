package ui

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// language is what the colouring needs to know of one: which words are keywords, what starts a comment and which
// marks enclose strings. It colours short samples; it does not parse.
type language struct {
	keywords string // Keywords are separated by spaces, with one at either end.
	comment  string
	quotes   string
	flags    bool // Flags marks words that begin with a dash as names, as in a shell.
	numbers  bool // Numbers have their own color.
}

var languages = map[string]language{
	"curl": {keywords: " curl export ", comment: "#", quotes: `"'`, flags: true},
	"python": {
		keywords: " from import for in if is not None True False def return print with as ",
		comment:  "#", quotes: `"'`, numbers: true,
	},
	"javascript": {
		keywords: " import from const let await async new for of if function return true false null ",
		comment:  "//", quotes: "\"'`", numbers: true,
	},
	"go": {
		keywords: " package import func if for range return nil err := true false var const defer ",
		comment:  "//", quotes: "\"`", numbers: true,
	},
	"json": {keywords: " true false null ", quotes: `"`, numbers: true},
	"env":  {comment: "#", quotes: `"`},
}

// run is a piece of code of one colour; an empty class is plain ink.
type run struct {
	class string
	text  string
}

// highlight cuts code into runs. Joined, the runs are the code, byte for byte.
func highlight(name, source string) []run {
	lang, known := languages[name]
	if !known {
		return []run{{text: source}}
	}
	var runs []run
	for source != "" {
		next := lang.next(source)
		if n := len(runs); n > 0 && runs[n-1].class == next.class {
			runs[n-1].text += next.text
		} else {
			runs = append(runs, next)
		}
		source = source[len(next.text):]
	}
	return runs
}

func (l language) next(s string) run {
	switch c := s[0]; {
	case l.comment != "" && strings.HasPrefix(s, l.comment):
		return run{"c", s[:until(s, func(c byte) bool { return c == '\n' })]}
	case strings.IndexByte(l.quotes, c) >= 0:
		return run{"s", s[:quoted(s)]}
	case l.numbers && c >= '0' && c <= '9':
		return run{"n", s[:until(s, func(c byte) bool { return !isWord(c) && c != '.' })]}
	case isWord(c) || l.flags && c == '-':
		return l.word(s)
	default:
		return run{"", s[:1]}
	}
}

func (l language) word(s string) run {
	n := 1 + until(s[1:], func(c byte) bool { return !isWord(c) && (!l.flags || c != '-') })
	word, rest := s[:n], s[n:]
	switch {
	case strings.Contains(l.keywords, " "+word+" "):
		return run{"k", word}
	case l.flags && word[0] == '-', strings.HasPrefix(rest, "("), strings.HasPrefix(rest, "="):
		return run{"f", word}
	default:
		return run{"", word}
	}
}

// quoted is the length of the string that s starts with, escapes and all; an open one runs to the end.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}

func until(s string, stop func(byte) bool) int {
	for i := range len(s) {
		if stop(s[i]) {
			return i
		}
	}
	return len(s)
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// coloured writes code with a span for every run that has a colour. Go code writes it, because white space counts.
func coloured(name, source string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		for _, r := range highlight(name, source) {
			text := templ.EscapeString(r.text)
			if r.class == "" {
				b.WriteString(text)
			} else {
				b.WriteString(`<span class="` + r.class + `">` + text + `</span>`)
			}
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}
