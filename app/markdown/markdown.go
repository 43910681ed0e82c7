// Package markdown turns text into HTML that is safe to put into a page: Markdown of strangers, which may be hostile in every
// way, Markdown of our own documentation, and code with its colours. It knows nothing of pages. All work is bounded by the
// size of what it is given: text that would take too long, or nest too deep, is shown as it was written.
package markdown

import (
	"bytes"
	"html"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// HTML is markup that was made safe by this package. Nothing else turns a text into it.
type HTML string

// Heading is a place in a page that links may lead to.
type Heading struct {
	ID    string
	Text  string
	Level int
}

// What is beyond these bounds is shown as it was written.
const (
	formattedBytesMax = 256 << 10 // A text is read as Markdown up to this size.
	plainBytesMax     = 1 << 20   // This much of the rest is shown without format. A sentence says that more is left out.
	nestingMax        = 64        // This limits nested elements.
	markersMax        = 24        // This limits the quotes and lists that one line opens.
	indentColumnsMax  = 512
)

// newParser has the block parsers and inline parsers as the library has them, but for raw HTML: a tag is text like any other.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(breakParser{}, 400),
			util.Prioritized(parser.NewEmphasisParser(), 500),
		),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
}

func newMarkdown(n *nodes) goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParser(newParser()),
		goldmark.WithExtensions(
			extension.Linkify, extension.Strikethrough, extension.TaskList,
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		),
		goldmark.WithRenderer(renderer.NewRenderer(renderer.WithNodeRenderers(
			util.Prioritized(goldhtml.NewRenderer(), 1000),
			util.Prioritized(n, 100),
		))),
	)
}

var (
	untrusted = newMarkdown(&nodes{})
	manual    = newMarkdown(&nodes{ours: true})
)

// Untrusted formats Markdown that a model or a user wrote. The result loads nothing, runs nothing, carries no id or class
// of the text's choosing, and leads only to addresses of the web and of mail.
func Untrusted(markdown string) HTML {
	markdown = clean(markdown)
	head, rest := cut(markdown, formattedBytesMax)
	out := format(untrusted, head)
	if rest != "" {
		out += plain(rest)
	}
	return HTML(out)
}

// Manual formats Markdown of our own documentation: headings can be linked to, and links may lead to other pages here.
func Manual(markdown string) (HTML, []Heading) {
	source := []byte(clean(markdown))
	doc := manual.Parser().Parse(text.NewReader(source))
	var headings []Heading
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			words := wordsOf(h, source)
			headings = append(headings, Heading{ID: slug(words), Text: words, Level: h.Level})
		}
	}
	return HTML(rendered(manual, source, doc)), headings
}

// Fill puts values in place of the names that stand in double braces. A value is text, never markup.
func (h HTML) Fill(values map[string]string) HTML {
	pairs := make([]string, 0, 4*len(values))
	for name, value := range values {
		pairs = append(pairs, "{{"+name+"}}", html.EscapeString(value))       // In texts, the braces are not escaped.
		pairs = append(pairs, "%7B%7B"+name+"%7D%7D", url.QueryEscape(value)) // In addresses, the braces are escaped.
	}
	return HTML(strings.NewReplacer(pairs...).Replace(string(h)))
}

func format(m goldmark.Markdown, markdown string) string {
	if !modest(markdown) {
		return plain(markdown)
	}
	source := []byte(markdown)
	doc := m.Parser().Parse(text.NewReader(source))
	if depth(doc) > nestingMax {
		return plain(markdown)
	}
	return rendered(m, source, doc)
}

func rendered(m goldmark.Markdown, source []byte, doc ast.Node) string {
	var out bytes.Buffer
	if err := m.Renderer().Render(&out, source, doc); err != nil {
		return plain(string(source)) // A buffer never fails, so this is a fault of the renderer.
	}
	return out.String()
}

// plain shows a text as it was written.
func plain(s string) string {
	s, rest := cut(s, plainBytesMax)
	if rest != "" {
		rest = "<p>The rest is too long to be shown.</p>\n"
	}
	return `<pre class="prose-plain" tabindex="0" role="group" aria-label="Unformatted text">` + html.EscapeString(s) + "</pre>\n" + rest
}

// cut divides a text behind the last line that ends within the first bytesMax.
func cut(s string, bytesMax int) (head, rest string) {
	if len(s) <= bytesMax {
		return s, ""
	}
	at := strings.LastIndexByte(s[:bytesMax], '\n') + 1
	if at == 0 {
		for at = bytesMax; !utf8.RuneStart(s[at]); at-- {
		}
	}
	return s[:at], s[at:]
}

// clean makes a text valid UTF-8 with line feeds, and takes out what no reader sees: control characters, which browsers and
// terminals understand in ways of their own.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, s)
}

// depth is how deep the nodes below doc nest. It climbs, as a text may nest deeper than calls should.
func depth(doc ast.Node) int {
	deepest, at := 0, 0
	for n := doc; ; {
		if child := n.FirstChild(); child != nil {
			n, at = child, at+1
			deepest = max(deepest, at)
			continue
		}
		for n != doc && n.NextSibling() == nil {
			n, at = n.Parent(), at-1
		}
		if n == doc {
			return deepest
		}
		n = n.NextSibling()
	}
}
