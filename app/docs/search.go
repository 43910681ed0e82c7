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
	excerptLeadBytes = 40 // An excerpt has this much text before the word.
)

// section is a part of a page that a hit leads to: a heading with the text below it. Its title and text are also kept in lower case,
// because every page that is not found searches the manual.
type section struct {
	page     *Page
	id       string
	title    string
	text     string
	lowTitle string
	lowText  string
}

// divide divides a page at its headings. Their ids are those that the page has when it is drawn.
func (p *Page) divide() []section {
	all, text := []section{{page: p, title: p.Title}}, p.Description+"\n"
	end := func() {
		last := &all[len(all)-1]
		last.text, last.lowTitle, last.lowText = text, strings.ToLower(last.title), strings.ToLower(text)
	}
	headings, fenced := p.Headings(), false
	for line := range strings.Lines(p.source) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if !fenced && strings.HasPrefix(line, "#") && len(headings) > 0 {
			end()
			all, text = append(all, section{page: p, id: headings[0].ID, title: headings[0].Text}), ""
			headings = headings[1:]
			continue
		}
		text += line
	}
	end()
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
		at    *section
		score int
	}
	var all []found
	for _, p := range b.opened().pages {
		sections := p.sections()
		for i := range sections {
			if score := sections[i].score(words); score > 0 {
				all = append(all, found{&sections[i], score})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y found) int { return cmp.Compare(y.score, x.score) })
	hits := make([]Hit, 0, min(most, len(all)))
	for _, f := range all[:min(most, len(all))] {
		hits = append(hits, f.at.hit(words))
	}
	return hits
}

// score is how well a section matches, and zero for a section that lacks a word.
func (at *section) score(words []string) int {
	title, text, score := at.lowTitle, at.lowText, 0
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
		score += 5 // A page comes before its parts.
	}
	return score
}

func (at *section) hit(words []string) Hit {
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
