package docs

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Hit is a place that a search found.
type Hit struct{ Title, Path, Excerpt string }

const (
	queryWordsMax    = 8
	queryBytesMax    = 200
	excerptBytesMax  = 160
	excerptLeadBytes = 40 // in front of the word
)

// section is a part of a page that a hit leads to: a heading with the text below it.
type section struct {
	page  *Page
	id    string
	title string
	text  string
}

// sections divides a page at its headings. Their ids are those that the page has when it is drawn.
func (p *Page) sections() []section {
	all := []section{{page: p, title: p.Title, text: p.Description + "\n"}}
	headings, fenced := p.Headings(), false
	for line := range strings.Lines(p.source) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if !fenced && strings.HasPrefix(line, "#") && len(headings) > 0 {
			all = append(all, section{page: p, id: headings[0].ID, title: headings[0].Text})
			headings = headings[1:]
			continue
		}
		all[len(all)-1].text += line
	}
	return all
}

// Search finds the places of the book that contain all words of q. Places with the words in their titles come first.
func (b *Book) Search(q string, most int) []Hit {
	words := strings.Fields(strings.ToLower(q[:min(len(q), queryBytesMax)]))
	words = words[:min(len(words), queryWordsMax)]
	if len(words) == 0 {
		return nil
	}
	type found struct {
		hit   Hit
		score int
	}
	var all []found
	for _, p := range b.opened().pages {
		for _, at := range p.sections() {
			if score := at.score(words); score > 0 {
				all = append(all, found{at.hit(words), score})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y found) int { return cmp.Compare(y.score, x.score) })
	hits := make([]Hit, 0, min(most, len(all)))
	for _, f := range all[:min(most, len(all))] {
		hits = append(hits, f.hit)
	}
	return hits
}

// score is how well a section matches, and zero for a section that lacks a word.
func (at section) score(words []string) int {
	title, text, score := strings.ToLower(at.title), strings.ToLower(at.text), 0
	for _, w := range words {
		switch {
		case title == w:
			score += 100
		case strings.HasPrefix(title, w):
			score += 20
		case strings.Contains(title, w):
			score += 10
		case strings.Contains(text, w):
			score += 2
		case at.id != "" && strings.Contains(strings.ToLower(at.page.Title), w):
			score++
		default:
			return 0
		}
	}
	if at.id == "" {
		score += 5 // a page before its parts
	}
	return score
}

func (at section) hit(words []string) Hit {
	h := Hit{Title: at.page.Title, Path: at.page.Path(), Excerpt: excerpt(at.text, words)}
	if at.id != "" {
		h.Title, h.Path = at.page.Title+" › "+at.title, h.Path+"#"+at.id
	}
	return h
}

// marksOf removes the marks of Markdown from an excerpt.
var marksOf = strings.NewReplacer("`", "", "**", "", "|", " ", "\n- ", " · ", "\n", " ", "---", "", "###", "", "{{", "", "}}", "")

// linkOf matches a link of Markdown, of which an excerpt shows the words.
var linkOf = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// excerpt is the text around the first of the words.
func excerpt(text string, words []string) string {
	text = plain(text)
	at := max(strings.Index(strings.ToLower(text), words[0])-excerptLeadBytes, 0)
	at = min(at, len(text))
	for at > 0 && (at >= len(text) || !utf8.RuneStart(text[at]) || text[at-1] != ' ') {
		at--
	}
	lead := ""
	if at > 0 {
		lead = "… "
	}
	end := min(at+excerptBytesMax, len(text))
	if end == len(text) {
		return lead + text[at:]
	}
	for end > at && text[end] != ' ' {
		end--
	}
	return lead + text[at:end] + " …"
}

// plain is Markdown without its marks, in one line.
func plain(text string) string {
	return strings.Join(strings.Fields(marksOf.Replace(linkOf.ReplaceAllString(text, "$1"))), " ")
}
