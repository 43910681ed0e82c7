package markdown

import (
	"html"
	"strings"
)

// colouredBytesMax is how much code of one block has colours.
const colouredBytesMax = 64 << 10

// Code colours one block of code: keywords are of class k, strings s, numbers n, names f, comments c; of a difference, lines
// that came are i and those that went d. It looks at each byte a bounded number of times, so it takes no longer for code that
// means harm, and what it does not understand has no colour.
func Code(name, source string) HTML {
	source = clean(source)
	lang, known := languages[canonical(name)]
	if !known || len(source) > colouredBytesMax {
		return HTML(html.EscapeString(source))
	}
	p := painter{lang: lang}
	for rest := source; rest != ""; {
		class, n := p.next(rest)
		p.put(class, rest[:n])
		rest = rest[n:]
	}
	p.flush()
	return HTML(p.out.String())
}

// painter writes runs of code, those of one colour together.
type painter struct {
	lang  language
	out   strings.Builder
	class string
	run   strings.Builder
	deep  bool // Deep means inside of a tag.
}

func (p *painter) put(class, text string) {
	if class != p.class {
		p.flush()
		p.class = class
	}
	p.run.WriteString(text)
}

func (p *painter) flush() {
	text := html.EscapeString(p.run.String())
	if p.class == "" {
		p.out.WriteString(text)
	} else if text != "" {
		p.out.WriteString(`<span class="` + p.class + `">` + text + "</span>")
	}
	p.run.Reset()
}

// next is the colour of what s begins with, and how long that is.
func (p *painter) next(s string) (class string, n int) {
	l := p.lang
	if l.lines {
		return differs(s)
	}
	for _, mark := range l.comments {
		if strings.HasPrefix(s, mark) {
			return "c", upTo(s, "\n", 0)
		}
	}
	if l.opens != "" && strings.HasPrefix(s, l.opens) {
		return "c", upTo(s, l.closes, len(l.closes))
	}
	for _, mark := range l.longs {
		if strings.HasPrefix(s, mark) {
			return "s", len(mark) + upTo(s[len(mark):], mark, len(mark))
		}
	}
	if l.tags {
		return p.tag(s)
	}
	switch c := s[0]; {
	case strings.IndexByte(l.quotes, c) >= 0:
		n = quoted(s)
		if l.keyed && labels(s[n:]) {
			return "f", n
		}
		return "s", n
	case c >= '0' && c <= '9':
		return "n", while(s, func(c byte) bool { return isWord(c) || c == '.' })
	case isWord(c) || l.flags && c == '-':
		return l.word(s)
	}
	return "", 1
}

// wordBytesMax is how long a word may be that is looked up.
const wordBytesMax = 24

func (l language) word(s string) (class string, n int) {
	n = 1 + while(s[1:], func(c byte) bool { return isWord(c) || (l.flags || l.dashes) && c == '-' })
	word, rest := s[:n], s[n:]
	look := word
	if l.folds && n <= wordBytesMax {
		look = strings.ToLower(word)
	}
	switch {
	case n <= wordBytesMax && strings.Contains(l.keywords, " "+look+" "):
		return "k", n
	case l.flags && word[0] == '-', strings.HasPrefix(rest, "("), l.keyed && labels(rest), l.assigns && strings.HasPrefix(rest, "="):
		return "f", n
	}
	return "", n
}

// tag colours markup: the names of tags and attributes, and their values.
func (p *painter) tag(s string) (class string, n int) {
	c := s[0]
	switch {
	case !p.deep && c == '<' && len(s) > 1 && (s[1] == '/' || s[1] == '!' || s[1] == '?' || isWord(s[1])):
		p.deep = true
		return "k", 2 + while(s[2:], func(c byte) bool { return isWord(c) || c == '-' || c == ':' })
	case !p.deep:
		return "", 1
	case c == '>' || c == '/':
		p.deep = c != '>'
		return "k", 1
	case c == '"' || c == '\'':
		return "s", quoted(s)
	case isWord(c):
		return "f", while(s, func(c byte) bool { return isWord(c) || c == '-' || c == ':' })
	}
	return "", 1
}

// differs colours a whole line of a difference.
func differs(s string) (class string, n int) {
	n = upTo(s, "\n", 1)
	switch s[0] {
	case '+':
		return "i", n
	case '-':
		return "d", n
	case '@':
		return "f", n
	}
	return "", n
}

// labels reports whether what follows a word or a string makes it the name of a member.
func labels(rest string) bool {
	rest = strings.TrimLeft(rest[:min(len(rest), 8)], " ")
	return strings.HasPrefix(rest, ":")
}

// quoted is the length of the string that s begins with, escapes and all. One that is not closed ends with its line.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\n':
			if s[0] != '`' {
				return i
			}
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}

// upTo is where the next end is, and with more behind it, or the length of s.
func upTo(s, end string, more int) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + more
	}
	return len(s)
}

func while(s string, ok func(byte) bool) int {
	for i := range len(s) {
		if !ok(s[i]) {
			return i
		}
	}
	return len(s)
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
