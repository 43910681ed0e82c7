package markdown

import (
	"html"
	"net/url"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	extast "github.com/yuin/goldmark/extension/ast"
)

const (
	addressBytesMax = 2000
	levelShift      = 2 // Headings of users' texts are this many levels below those of the page.
	levelMax        = 6
)

// nodes draws what we draw differently from the library.
type nodes struct {
	ours bool // Ours is for our documentation: its headings have ids, and its links lead to pages here.
}

// RegisterFuncs tells the library which nodes are drawn here.
func (n *nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, n.link)
	r.Register(ast.KindImage, n.image)
	r.Register(ast.KindAutoLink, n.autoLink)
	r.Register(ast.KindHeading, n.heading)
	r.Register(ast.KindCodeBlock, n.code)
	r.Register(ast.KindFencedCodeBlock, n.code)
	r.Register(extast.KindTable, n.table)
	r.Register(extast.KindTaskCheckBox, n.checkBox)
}

// foreign is what every link to another place says: it learns nothing of us, and search engines do not follow.
const foreign = ` rel="noopener noreferrer nofollow" target="_blank">`

// open writes the beginning of a link, or nothing for an address that we do not lead to.
func (n *nodes) open(w util.BufWriter, address string) bool {
	if n.ours && local(address) {
		_, _ = w.WriteString(`<a href="` + html.EscapeString(address) + `">`)
		return true
	}
	if !reachable(address) {
		return false
	}
	_, _ = w.WriteString(`<a href="` + html.EscapeString(address) + `"` + foreign)
	return true
}

func local(address string) bool {
	return strings.HasPrefix(address, "#") || strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//")
}

// reachable reports whether an address, in the form in which it is written into the page, is one of the web or of mail.
func reachable(address string) bool {
	if len(address) > addressBytesMax {
		return false
	}
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Host != "" && u.Opaque == ""
	case "mailto":
		return u.Opaque != ""
	}
	return false
}

// destination is where a link leads, with entities resolved and everything that needs it escaped.
func destination(raw []byte) string { return string(util.URLEscape(raw, true)) }

func (n *nodes) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	link, is := node.(*ast.Link)
	if !is {
		return ast.WalkContinue, nil
	}
	address := destination(link.Destination)
	if entering {
		n.open(w, address)
	} else if n.ours && local(address) || reachable(address) {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

// image writes a link in place of a picture, as a picture tells its server who looks at it. Inside of a link it is words.
func (n *nodes) image(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	picture, is := node.(*ast.Image)
	if !is || !entering {
		return ast.WalkContinue, nil
	}
	address := destination(picture.Destination)
	words := wordsOf(node, source)
	isLink := !within(node, ast.KindLink) && strings.HasPrefix(address, "http") && n.open(w, address)
	if words == "" && isLink {
		words = address
	}
	_, _ = w.WriteString(html.EscapeString(words))
	if isLink {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkSkipChildren, nil
}

func within(node ast.Node, kind ast.NodeKind) bool {
	for at := node.Parent(); at != nil; at = at.Parent() {
		if at.Kind() == kind {
			return true
		}
	}
	return false
}

func (n *nodes) autoLink(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	l, is := node.(*ast.AutoLink)
	if !is || !entering {
		return ast.WalkContinue, nil
	}
	address := string(util.URLEscape(l.URL(source), false))
	if l.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		address = "mailto:" + address
	}
	isLink := !within(node, ast.KindLink) && n.open(w, address)
	_, _ = w.WriteString(html.EscapeString(string(l.Label(source))))
	if isLink {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func (n *nodes) heading(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	h, is := node.(*ast.Heading)
	if !is {
		return ast.WalkContinue, nil
	}
	level := h.Level
	if !n.ours {
		level = min(level+levelShift, levelMax)
	}
	tag := "h" + string(rune('0'+level))
	id := ""
	if n.ours && h.Parent().Kind() == ast.KindDocument {
		id = slug(wordsOf(h, source))
	}
	switch {
	case entering && id != "":
		_, _ = w.WriteString("<" + tag + ` id="` + id + `">`)
	case entering:
		_, _ = w.WriteString("<" + tag + ">")
	case id != "":
		_, _ = w.WriteString(` <a class="prose-anchor" href="#` + id + `" aria-label="Link to this section">#</a></` + tag + ">\n")
	default:
		_, _ = w.WriteString("</" + tag + ">\n")
	}
	return ast.WalkContinue, nil
}

// slug is the id of a heading: its letters, digits, hyphens and underscores, in lower case.
func slug(words string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(words) {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// wordsOf is the text below a node.
func wordsOf(node ast.Node, source []byte) string {
	var b strings.Builder
	for n := node; ; {
		switch t := n.(type) {
		case *ast.Text:
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(t.Value)
		case *ast.AutoLink:
			b.Write(t.Label(source))
		}
		if child := n.FirstChild(); child != nil {
			n = child
			continue
		}
		for n != node && n.NextSibling() == nil {
			n = n.Parent()
		}
		if n == node {
			return b.String()
		}
		n = n.NextSibling()
	}
}

// code writes a block of code below a bar that names its language. The console's script copies the code of a block.
func (n *nodes) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	name := ""
	if fenced, ok := node.(*ast.FencedCodeBlock); ok {
		name = string(fenced.Language(source))
	}
	var b strings.Builder
	for i := range node.Lines().Len() {
		line := node.Lines().At(i)
		b.Write(line.Value(source))
	}
	label := html.EscapeString(shown(name))
	_, _ = w.WriteString(`<div class="prose-code"><div class="prose-code-bar"><span>` + label + `</span>` +
		`<button type="button" data-copy data-copy-said="Copied the code" aria-label="Copy the code">Copy</button></div>` +
		`<pre tabindex="0" role="group" aria-label="` + label + `"><code>` +
		string(Code(name, b.String())) + "</code></pre></div>\n")
	return ast.WalkSkipChildren, nil
}

// table lies in a box of its own that can be scrolled, by keys too.
func (n *nodes) table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<div class="prose-table" tabindex="0" role="group" aria-label="Table"><table>` + "\n")
	} else {
		_, _ = w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

func (n *nodes) checkBox(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	task, is := node.(*extast.TaskCheckBox)
	if !is || !entering {
		return ast.WalkContinue, nil
	}
	box := `<input type="checkbox" disabled aria-label="Not done"> `
	if task.IsChecked {
		box = `<input type="checkbox" disabled checked aria-label="Done"> `
	}
	_, _ = w.WriteString(box)
	return ast.WalkContinue, nil
}

// breakParser reads the one tag that models write where Markdown has no mark: the end of a line inside of a table.
type breakParser struct{}

// Trigger is where such a tag may begin.
func (breakParser) Trigger() []byte { return []byte{'<'} }

// Parse takes the tag, if it is one.
func (breakParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	for _, tag := range []string{"<br>", "<br/>", "<br />"} {
		if len(line) >= len(tag) && strings.EqualFold(string(line[:len(tag)]), tag) {
			block.Advance(len(tag))
			br := ast.NewString([]byte("<br>"))
			br.SetCode(true)
			return br
		}
	}
	return nil
}
