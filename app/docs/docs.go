// Package docs holds the embedded documentation: the public pages about the API, the operator guide, and the table of error codes.
// Find, Pages, Groups and Search serve the public pages; OperatorGuide has the same methods for the pages that only operators read.
package docs

import (
	"cmp"
	"embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"umg/app/markdown"
)

// Path is where the documentation begins; a page is below it, by its name.
const Path = "/console/docs"

// OperatorPath is where the operator guide begins. The console serves it to operators only.
const OperatorPath = "/console/operator/help"

//go:embed pages/*.md operator/*.md operator/alerts.yaml operator/dashboard.json
var files embed.FS

// Book is a set of pages below one address. The public documentation and the operator guide are two books, so that a search in
// one of them, and a list of its pages, never contains a page of the other.
type Book struct {
	path   string
	folder string
	groups []string // Groups are in the order in which they are listed.
	opened func() *pageIndex
}

var (
	public = newBook(Path, "pages", "Start", "Text", "Video and files", "Account and money", "Reference")

	// OperatorGuide holds the pages for the people who run the gateway.
	OperatorGuide = newBook(OperatorPath, "operator", "Run", "Providers", "Watch", "Change")
)

// Page is one page of the documentation.
type Page struct {
	Name        string // Name is the last element of the path.
	Title       string
	Description string
	Group       string
	Order       int

	book     *Book
	source   string
	rendered func() renderedPage
	sections func() []section
}

// Block is a part of a page: text, or code in one or more languages.
type Block struct {
	HTML    markdown.HTML
	Samples []Sample
}

// Sample is one program, with a title above it unless that is empty.
type Sample struct{ Language, Title, Source string }

// Group is the pages that belong together, in order.
type Group struct {
	Name  string
	Pages []*Page
}

type renderedPage struct {
	blocks   []Block
	headings []markdown.Heading
}

type pageIndex struct {
	pages  []*Page
	byName map[string]*Page
}

// newBook describes a book. Its pages are read at the first request for one, so that they do not delay the start of the server.
func newBook(path, folder string, groups ...string) *Book {
	b := &Book{path: path, folder: folder, groups: groups}
	b.opened = sync.OnceValue(b.open)
	return b
}

// open panics when a page is malformed. Pages are part of the program, and a test reads all of them.
func (b *Book) open() *pageIndex {
	index := &pageIndex{byName: map[string]*Page{}}
	entries, err := files.ReadDir(b.folder)
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".md" {
			continue // OperatorFile serves it.
		}
		raw, err := files.ReadFile(b.folder + "/" + e.Name())
		if err != nil {
			panic(err)
		}
		p, err := b.parse(strings.TrimSuffix(path.Base(e.Name()), ".md"), string(raw))
		if err != nil {
			panic(err)
		}
		index.pages = append(index.pages, p)
		index.byName[p.Name] = p
	}
	slices.SortFunc(index.pages, func(x, y *Page) int {
		return cmp.Or(slices.Index(b.groups, x.Group)-slices.Index(b.groups, y.Group), x.Order-y.Order, cmp.Compare(x.Name, y.Name))
	})
	return index
}

// parse reads a page: its title and other properties between two lines of hyphens, and then its text.
func (b *Book) parse(name, raw string) (*Page, error) {
	head, body, ok := strings.Cut(strings.TrimPrefix(raw, "---\n"), "\n---\n")
	if !ok {
		return nil, fmt.Errorf("manual: %s does not begin with what is said of it", name)
	}
	p := &Page{Name: name, book: b}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "title":
			p.Title = value
		case "description":
			p.Description = value
		case "group":
			p.Group = value
		case "order":
			order, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("manual: the order of %s: %w", name, err)
			}
			p.Order = order
		default:
			return nil, fmt.Errorf("manual: %s says something unknown of itself: %q", name, key)
		}
	}
	if p.Title == "" || p.Description == "" || !slices.Contains(b.groups, p.Group) {
		return nil, fmt.Errorf("manual: %s lacks a title, a description or a group", name)
	}
	body, err := withPresets(body)
	if err != nil {
		return nil, fmt.Errorf("manual: %s: %w", name, err)
	}
	p.source = strings.TrimSpace(strings.Replace(body, errorsMark, errorsMarkdown(), 1)) + "\n"
	p.rendered = sync.OnceValue(func() renderedPage { return render(p.source) })
	p.sections = sync.OnceValue(p.divide)
	return p, nil
}

// operatorFiles are the files that the operator guide offers for other programs, with their content types.
var operatorFiles = map[string]string{"alerts.yaml": "application/yaml", "dashboard.json": "application/json"}

// OperatorFile is a file of the operator guide for another program: alert rules for Prometheus or a board for Grafana. It reports
// false for any other name.
func OperatorFile(name string) (text []byte, contentType string, ok bool) {
	if contentType, ok = operatorFiles[name]; !ok {
		return nil, "", false
	}
	text, err := files.ReadFile(OperatorGuide.folder + "/" + name)
	return text, contentType, err == nil
}

// Find is the public page of a name, nil for none.
func Find(name string) *Page { return public.Find(name) }

// Pages are all public pages in the order in which they are read.
func Pages() []*Page { return public.Pages() }

// Groups are the public pages by what they belong to.
func Groups() []Group { return public.Groups() }

// Search finds the places of the public pages that contain all words of q. Places with the words in their titles come first.
func Search(q string, most int) []Hit { return public.Search(q, most) }

// Find is the page of a name, nil for none.
func (b *Book) Find(name string) *Page { return b.opened().byName[name] }

// Pages are all pages of the book in the order in which they are read.
func (b *Book) Pages() []*Page { return slices.Clone(b.opened().pages) }

// Groups are the pages by what they belong to.
func (b *Book) Groups() []Group {
	all := make([]Group, 0, len(b.groups))
	for _, name := range b.groups {
		g := Group{Name: name}
		for _, p := range b.opened().pages {
			if p.Group == name {
				g.Pages = append(g.Pages, p)
			}
		}
		all = append(all, g)
	}
	return all
}

// Around are the pages before and after one in its book, nil at the ends.
func (p *Page) Around() (before, after *Page) {
	pages := p.book.opened().pages
	at := slices.Index(pages, p)
	if at > 0 {
		before = pages[at-1]
	}
	if at >= 0 && at+1 < len(pages) {
		after = pages[at+1]
	}
	return before, after
}

// Path is where the page is.
func (p *Page) Path() string { return p.book.path + "/" + p.Name }

// Headings are the headings of the page, to which links can lead.
func (p *Page) Headings() []markdown.Heading { return p.rendered().headings }

// Blocks are the parts of the page with values in place of the names in double braces.
func (p *Page) Blocks(values map[string]string) []Block {
	drawn := p.rendered().blocks
	fill := filler(values)
	out := make([]Block, len(drawn))
	for i, b := range drawn {
		out[i].HTML = b.HTML.Fill(values)
		for _, s := range b.Samples {
			s.Source = fill.Replace(s.Source)
			out[i].Samples = append(out[i].Samples, s)
		}
	}
	return out
}

// Markdown is the page as Markdown, with values in place of the names in double braces, and with absolute links.
func (p *Page) Markdown(values map[string]string) string {
	text := "# " + p.Title + "\n\n" + p.Description + "\n\n" + p.source
	text = strings.ReplaceAll(text, "](/", "]("+values["server"]+"/")
	text = strings.ReplaceAll(text, " tab\n", "\n") // This mark of code is for Blocks.
	return filler(values).Replace(text)
}

func filler(values map[string]string) *strings.Replacer {
	pairs := make([]string, 0, 2*len(values))
	for name, value := range values {
		pairs = append(pairs, "{{"+name+"}}", value)
	}
	return strings.NewReplacer(pairs...)
}

// render divides a text into blocks. Code at the margin is a block of its own. Pieces of code that are marked as tabs and follow one
// another are one block in several languages.
func render(source string) renderedPage {
	var d renderedPage
	var prose strings.Builder
	flush := func() {
		if text := strings.TrimSpace(prose.String()); text != "" {
			html, headings := markdown.Manual(text)
			d.blocks, d.headings = append(d.blocks, Block{HTML: html}), append(d.headings, headings...)
		}
		prose.Reset()
	}
	tabs := false
	for rest := source; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		info, fenced := strings.CutPrefix(line, "```")
		if !fenced {
			if strings.TrimSpace(line) != "" {
				tabs = false
			}
			prose.WriteString(line + "\n")
			rest = after
			continue
		}
		flush()
		code, tail, _ := strings.Cut(after, "\n```\n")
		language, mark, _ := strings.Cut(info, " ")
		sample := Sample{Language: language, Source: code}
		if mark == "tab" && tabs {
			last := &d.blocks[len(d.blocks)-1]
			last.Samples = append(last.Samples, sample)
		} else {
			sample.Title = strings.TrimPrefix(mark, "tab")
			d.blocks = append(d.blocks, Block{Samples: []Sample{sample}})
		}
		tabs, rest = mark == "tab", tail
	}
	flush()
	return d
}
