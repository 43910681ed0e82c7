package markdown_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"umg/app/markdown"
)

// allowed are the elements that a text of a stranger may become, with their attributes; anything beyond is a hole.
var allowed = map[string][]string{
	"p": nil, "br": nil, "hr": nil, "em": nil, "strong": nil, "del": nil, "blockquote": nil, "ul": nil, "li": nil, "h3": nil, "h4": nil,
	"h5": nil, "h6": nil, "table": nil, "thead": nil, "tbody": nil, "tr": nil, "code": nil, "span": {"class"}, "ol": {"start"},
	"th": {"align"}, "td": {"align"}, "a": {"href", "rel", "target"}, "input": {"type", "disabled", "checked", "aria-label"},
	"pre": {"class", "tabindex", "role", "aria-label"}, "div": {"class", "tabindex", "role", "aria-label"},
	"button": {"type", "data-copy", "data-copy-said", "aria-label"},
}

var classes = []string{"prose-code", "prose-code-bar", "prose-plain", "prose-table", "k", "s", "n", "f", "c", "i", "d"}

// parse reads the rendered HTML of a text as a browser does, and fails for anything that should not be there.
func parse(t *testing.T, source string) []*html.Node {
	t.Helper()
	out := string(markdown.Untrusted(source))
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	top, err := html.ParseFragment(strings.NewReader(out), body)
	if err != nil {
		t.Fatalf("%.80q: %v", source, err)
	}
	var all []*html.Node
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		all = append(all, n)
		check(t, source, n)
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	for _, n := range top {
		walk(n)
	}
	return all
}

func check(t *testing.T, source string, n *html.Node) {
	t.Helper()
	switch n.Type {
	case html.TextNode:
		return
	case html.ElementNode:
	default:
		t.Errorf("%.120q became a node of kind %d", source, n.Type)
		return
	}
	attributes, ok := allowed[n.Data]
	if !ok || n.Namespace != "" {
		t.Errorf("%.120q became <%s>", source, n.Data)
	}
	for _, a := range n.Attr {
		switch {
		case !slices.Contains(attributes, a.Key):
			t.Errorf("%.120q became <%s %s=%q>", source, n.Data, a.Key, a.Val)
		case a.Key == "class" && !slices.Contains(classes, a.Val):
			t.Errorf("%.120q has the class %q", source, a.Val)
		case a.Key == "href" && !strings.HasPrefix(a.Val, "https://") && !strings.HasPrefix(a.Val, "http://") && !strings.HasPrefix(a.Val, "mailto:"):
			t.Errorf("%.120q leads to %q", source, a.Val)
		}
	}
}

func TestWhatMeansHarmBecomesWords(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`<script>alert(1)</script>`, `<ScRiPt src=//evil.example></sCrIpT>`, `<img src=x onerror=alert(1)>`, `<svg/onload=alert(1)>`,
		`<svg><style><img src=x onerror=alert(1)></style></svg>`, `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`,
		`<noscript><p title="</noscript><img src=x onerror=alert(1)>">`, `<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>`,
		`<a href="javascript:alert(1)">x</a>`, `<!--><img src=x onerror=alert(1)>-->`, `<![CDATA[<img src=x onerror=alert(1)>]]>`, `<?php echo 1 ?>`,
		`<iframe srcdoc="<script>alert(1)</script>"></iframe>`, `<base href="//evil.example">`, `<div hx-get="/console/keys" hx-trigger="load">x</div>`,
		`<p style="position:fixed">x</p>`, `<textarea><script>alert(1)</script>`, `<title><img src=x onerror=alert(1)>`, `<xmp><script>alert(1)</script>`,
		`[x](javascript:alert(1))`, `[x](JaVaScRiPt:alert(1))`, `[x](&#106;avascript:alert(1))`, `[x](&#x6A;&#x61;vascript&colon;alert(1))`,
		`[x](java&Tab;script:alert(1))`, "[x](<java\tscript:alert(1)>)", `[x](%6Aavascript:alert(1))`, `[x]( javascript:alert(1))`,
		"[x](\x01javascript:alert(1))", `[x](data:text/html;base64,PHNjcmlwdD4=)`, `[x](vbscript:msgbox(1))`, `[x](file:///etc/passwd)`, `[x](//evil.example)`,
		`[x](/console/keys)`, `[x](https:\\evil.example)`, `[x](https://user:pass@evil.example)`, `[x](https:evil)`, `<javascript:alert(1)>`,
		`<javascript&colon;alert(1)>`, "[x][1]\n\n[1]: javascript:alert(1)", "[x]\n\n[x]: <javascript:alert(1)> \"t\"",
		`[x](https://a.example "onmouseover=alert(1) \"><img src=x>")`, `[x](https://a.example/"onmouseover="alert(1))`, `![x](javascript:alert(1))`,
		`![x](https://evil.example/pixel.png)`, `![<img src=x onerror=alert(1)>](https://evil.example)`, `![a ![b](https://b.example)](https://a.example)`,
		`[![x](https://evil.example/p.png)](https://a.example)`, `[https://b.example](https://a.example)`, "```<img src=x onerror=alert(1)>\nx\n```",
		"```html\"onload=alert(1)\n<script>alert(1)</script>\n```", "```html\n</code></pre><script>alert(1)</script>\n```", "`</code><script>alert(1)</script>`",
		"# x {#id onclick=alert(1) .modal}", "| a |\n| - |\n| <img src=x onerror=alert(1)> |", "- [x] <input autofocus onfocus=alert(1)>",
		`<br onclick=alert(1)>`, `<br/onload=alert(1)>`, "a\x00b\x0bc\u0085d", `&lt;script&gt;alert(1)&lt;/script&gt;`, `&amp;lt;img src=x onerror=alert(1)&amp;gt;`,
		`www.evil.example/"><img src=x>`, `https://evil.example/"onmouseover=alert(1)`, `a@evil.example"onclick=alert(1)`, `mailto:a@b.example?subject=x`,
	} {
		all := parse(t, source)
		if strings.Contains(source, "](java") && slices.ContainsFunc(all, func(n *html.Node) bool { return n.Data == "a" }) {
			t.Errorf("%q became a link", source)
		}
	}
}

func TestMarkdownIsFormatted(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"# Title":                       "<h3>Title</h3>\n",
		"**a** _b_ ~~c~~ `d`":           "<p><strong>a</strong> <em>b</em> <del>c</del> <code>d</code></p>\n",
		"[x](https://a.example/?b&c)":   `<p><a href="https://a.example/?b&amp;c" rel="noopener noreferrer nofollow" target="_blank">x</a></p>` + "\n",
		"![cat](https://a.example/c)":   `<p><a href="https://a.example/c" rel="noopener noreferrer nofollow" target="_blank">cat</a></p>` + "\n",
		"![cat](data:image/png;base64)": "<p>cat</p>\n",
		"see a@b.example":               `<p>see <a href="mailto:a@b.example" rel="noopener noreferrer nofollow" target="_blank">a@b.example</a></p>` + "\n",
		"3. a\n4. b":                    "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n",
		"a<br>b":                        "<p>a<br>b</p>\n",
		"<b>a</b>":                      "<p>&lt;b&gt;a&lt;/b&gt;</p>\n",
		"- [x] a":                       "<ul>\n<li><input type=\"checkbox\" disabled checked aria-label=\"Done\"> a</li>\n</ul>\n",
	} {
		if got := string(markdown.Untrusted(source)); got != want {
			t.Errorf("%q:\n got %s\nwant %s", source, got, want)
		}
	}
	table := string(markdown.Untrusted("| a | b |\n| :- | -: |\n| 1 | 2 |"))
	if !strings.Contains(table, `<div class="prose-table" tabindex="0"`) || !strings.Contains(table, `<td align="right">2</td>`) {
		t.Errorf("a table became %s", table)
	}
}

func TestOurPagesHaveAnchorsAndLeadToOneAnother(t *testing.T) {
	t.Parallel()
	got, headings := markdown.Manual("## A `thing`, twice\n\n[on](/console/docs/x#y) at {{base_url}}\n\n### `model_not_found`\n")
	want := []markdown.Heading{{ID: "a-thing-twice", Text: "A thing, twice", Level: 2}, {ID: "model_not_found", Text: "model_not_found", Level: 3}}
	if !slices.Equal(headings, want) {
		t.Errorf("headings are %+v", headings)
	}
	filled := string(got.Fill(map[string]string{"base_url": "https://a.example/<b>"}))
	for _, part := range []string{`<h2 id="a-thing-twice">`, `<a href="/console/docs/x#y">on</a> at https://a.example/&lt;b&gt;`} {
		if !strings.Contains(filled, part) {
			t.Errorf("%s is not in %s", part, filled)
		}
	}
}

// hostile are texts that make readers of Markdown slow, each of about bytes.
func hostile(bytes int) map[string]string {
	times := func(s string) string { return strings.Repeat(s, max(1, bytes/len(s))) }
	all := map[string]string{
		"quotes nested": strings.Repeat(">", 10_000) + "\n" + times("a\n"), "wide table": strings.Repeat("|a", 60) + "|\n" +
			strings.Repeat("|-", 60) + "|\n" + times("|\n"), "ticks growing": growing("`", bytes), "tildes growing": growing("~", bytes),
		"parentheses": "[a]" + times("("), "deep lists": deepList(), "strong nested": times("**a "), "one word": times("a"),
	}
	for _, part := range []string{
		"[", "]", "[](", "[a](", "![a](<", "[a][", "[[a]]", "`", "`a", "|", "|\n", "*a _b ", "<", "<!--", "&#1", "www.", "http://", "a@a.",
		"[a]: b\n", "[a]: <b> 'c'\n", "- a\n\n", "- ", "1. ", "~a", "!", ":", "```\n", "a\n=\n", "\t", "\\", "\n", "> a\n", "\x00", "\xff",
	} {
		all["repeated "+part] = times(part)
	}
	return all
}

func growing(mark string, bytes int) string {
	var b strings.Builder
	for i := 1; b.Len() < bytes; i++ {
		b.WriteString(strings.Repeat(mark, i) + " ")
	}
	return b.String()
}

func deepList() string {
	var b strings.Builder
	for i := range 240 {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

// TestHostileTextsTakeBoundedTime is about texts that make others take minutes, or the memory of the machine.
func TestHostileTextsTakeBoundedTime(t *testing.T) {
	t.Parallel()
	const bound = 5 * time.Second // The slowest text takes a tenth of this alone.
	for _, source := range hostile(24 << 10) {
		parse(t, source)
	}
	for _, part := range []string{"[", "[a](", "|", "`", "![a](<", "|-"} {
		begun := time.Now()
		out := markdown.Untrusted(strings.Repeat(part, 1<<20/len(part)))
		if took := time.Since(begun); took > bound || len(out) > 16<<20 {
			t.Errorf("a million bytes of %q took %v and became %d bytes", part, took, len(out))
		}
	}
	if out := markdown.Untrusted(strings.Repeat("a\n", 2<<20)); !strings.Contains(string(out), "too long to be shown") {
		t.Error("nothing says that the end of a long text is missing")
	}
}

func TestCodeIsColouredByteForByte(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"go": "func main() {\n\tx := \"a\\\"b\" // <c>\n}", "python": "def f(x):\n    '''a\nb'''\n    return 1.5 # x", "json": `{"a": [1, true, "b\"c"]}`,
		"html": `<p class="a">x & y<!-- z --></p>`, "diff": "+a\n-b\n c", "sql": "SELECT 'a' FROM t -- x", "yaml": "a-b: 'c' # d", "bash": `curl -H "A: $B" x`,
		"nothing": "<b>", "": "a\"b", "rust": "fn f<'a>(x: &'a str) {}", "js": "const a = `x\ny`;", "css": "a { b-c: 1px }",
	} {
		got := string(markdown.Code(name, source))
		nodes, err := html.ParseFragment(strings.NewReader(got), &html.Node{Type: html.ElementNode, Data: "code", DataAtom: atom.Code})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, n := range nodes {
			if n.FirstChild != nil {
				n = n.FirstChild
			}
			text.WriteString(n.Data)
		}
		if text.String() != source {
			t.Errorf("%s: %q reads %q", name, source, text.String())
		}
	}
	if got := string(markdown.Code("golang", "func f")); got != `<span class="k">func</span> f` {
		t.Errorf("a word of the language is drawn as %s", got)
	}
	if got := string(markdown.Code("go", strings.Repeat("func ", 20_000))); strings.Contains(got, "span") {
		t.Error("a block beyond the bound has colours")
	}
}

func FuzzUntrusted(f *testing.F) {
	for _, source := range hostile(64) {
		f.Add(source)
	}
	f.Add("[x](javascript:alert(1)) <img src=x onerror=alert(1)> ```html\n<script>\n```")
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) < 4096 {
			parse(t, source)
		}
	})
}

func BenchmarkUntrusted(b *testing.B) {
	answer := strings.Repeat("## Part\n\nSome **text** with `code` and a [link](https://a.example).\n\n- one\n- two\n\n```go\nfunc f() string { return \"x\" }\n```\n\n", 60)
	b.SetBytes(int64(len(answer)))
	for b.Loop() {
		if len(markdown.Untrusted(answer)) == 0 {
			b.Fatal(fmt.Errorf("nothing came of %d bytes", len(answer)))
		}
	}
}
