package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/apikey"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/docs"
	"umg/views"
	"umg/views/ui"
)

// objectVerb is something that can be done with one object, whose name follows the title.
type objectVerb struct {
	icon  ui.IconName
	title string
	// Words are further words that find the action.
	words string
	// Path is added to the address of the object. It is empty for the page of the object itself.
	path string
}

// keyVerbs are what can be done with a key. Each page asks before anything changes.
var keyVerbs = []objectVerb{
	{ui.IconRotateKey, "Rotate key ", "replace renew secret", "/rotate"},
	{ui.IconPencil, "Edit key ", "change budget limits scopes disable enable", ""},
	{ui.IconTrash, "Delete key ", "remove revoke", "/delete"},
}

// matchesAll reports whether each word of the query is part of one of the texts.
func matchesAll(query string, texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// findKeyActions finds what can be done with a key, such as "rotate laptop".
func (c *Console) findKeyActions(ctx context.Context, p *page.Page, query string) (hits []views.SearchHit, _ error) {
	if len(query) < partBytesMin {
		return nil, nil
	}
	keys, err := c.o.APIKeys.List(ctx, p.Principal())
	for i := range keys {
		hits = append(hits, keyActions(&keys[i], query)...)
	}
	return hits, err
}

func keyActions(k *apikey.Key, query string) (hits []views.SearchHit) {
	masked := k.Secret.Prefix + maskEllipse + k.Secret.LastFour
	for _, v := range keyVerbs {
		title := v.title + k.Name
		if matchesAll(query, title, masked, v.words) {
			hits = append(hits, views.SearchHit{Icon: v.icon, Title: title, Note: masked, Href: views.KeyPath(k.ID) + v.path})
		}
	}
	title := "Show requests of key " + k.Name
	if matchesAll(query, title, masked, "logs calls") {
		hits = append(hits, views.SearchHit{
			Icon: ui.IconActivity, Title: title, Note: masked, Href: views.RequestsPath + "?" + url.Values{"key": {k.ID}}.Encode(),
		})
	}
	return hits
}

// findModelActions finds what can be done with a model, such as "open atlas in playground". A name alone finds the model itself.
func (c *Console) findModelActions(_ context.Context, p *page.Page, query string) (hits []views.SearchHit, _ error) {
	if len(query) < partBytesMin {
		return nil, nil
	}
	for _, m := range c.catalogFor(p).Models() {
		if !m.Available {
			continue
		}
		for _, one := range modelActions(m) {
			if matchesAll(query, one.Title, m.ID, one.Note) {
				one.Note = m.ID
				hits = append(hits, one)
			}
		}
	}
	return hits, nil
}

// modelActions are what can be done with a model. Their notes are further words that find them.
func modelActions(m *catalog.Model) []views.SearchHit {
	playground := views.ModelPlaygroundPath(m.ID)
	if m.Kind == catalog.KindVideo {
		playground = views.VideoPlayPath + "?" + url.Values{"model": {m.ID}}.Encode()
	}
	return []views.SearchHit{
		{Icon: ui.IconMessage, Title: "Open " + m.Name + " in playground", Note: "try chat test", Href: playground},
		{Icon: ui.IconTerminal, Title: "Show code for " + m.Name, Note: "api call sample sdk", Href: views.ModelPath(m.ID) + "?tab=api"},
		{Icon: ui.IconLayers, Title: "Compare " + m.Name, Note: "side by side", Href: views.ComparePath + "?" + url.Values{"m": {m.ID}}.Encode()},
	}
}

// findErrors finds error codes of the documentation by their name.
func findErrors(_ context.Context, _ *page.Page, query string) (hits []views.SearchHit, _ error) {
	name := strings.ReplaceAll(strings.ToLower(query), " ", "_")
	if len(name) < partBytesMin {
		return nil, nil
	}
	for _, e := range docs.ErrorCodes() {
		if strings.Contains(e.Code, name) {
			explained, _ := docs.Explanation(e.Code)
			hits = append(hits, views.SearchHit{
				Icon: ui.IconTriangleAlert, Title: e.Code, Mono: true, Note: explained.Means, Href: docs.ErrorPath(e.Code),
			})
		}
	}
	sortByName(hits, name)
	return hits, nil
}

// findParameters finds parameters of requests by their name, and leads to the models that take them.
func (c *Console) findParameters(_ context.Context, p *page.Page, query string) (hits []views.SearchHit, _ error) {
	name := strings.ReplaceAll(strings.ToLower(query), " ", "_")
	if len(name) < partBytesMin {
		return nil, nil
	}
	models := map[string]int{}
	for _, m := range c.catalogFor(p).Models() {
		for _, parameter := range m.Parameters {
			if strings.Contains(parameter, name) {
				models[parameter]++
			}
		}
	}
	for parameter, n := range models {
		note := "Parameter of " + strconv.Itoa(n) + " models"
		if n == 1 {
			note = "Parameter of 1 model"
		}
		hits = append(hits, views.SearchHit{
			Icon: ui.IconBook, Title: parameter, Mono: true, Note: note,
			Href: views.ModelsPath + "?" + url.Values{"parameter": {parameter}}.Encode(),
		})
	}
	sortByName(hits, name)
	return hits, nil
}

// sortByName puts hits that begin with the name first, and orders the rest by title.
func sortByName(hits []views.SearchHit, name string) {
	slices.SortFunc(hits, func(a, b views.SearchHit) int {
		if x, y := strings.HasPrefix(a.Title, name), strings.HasPrefix(b.Title, name); x != y {
			return map[bool]int{true: -1, false: 1}[x]
		}
		return strings.Compare(a.Title, b.Title)
	})
}

// These limits bound the cost of the page for an unknown path.
const (
	nearMax      = 5 // The page suggests at most this many places.
	nearWordsMax = 5 // The page searches for at most this many words of the path.
)

// pathWords are the first words of a path that are long enough to be looked for, each once.
func pathWords(path string) (words []string) {
	for word := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune("/-_.:+ ", r) }) {
		if word = views.SearchText(word); len(word) > partBytesMin && !slices.Contains(words, word) {
			words = append(words, word)
		}
		if len(words) == nearWordsMax {
			break
		}
	}
	return words
}

// near are the pages, models and documents that the words of a path fit, for a path that is not there.
func (c *Console) near(p *page.Page) (hits []views.SearchHit) {
	words := pathWords(strings.TrimPrefix(p.Request().URL.Path, page.ConsolePath))
	add := func(h views.SearchHit) {
		if h.Href != "" && len(hits) < nearMax && !slices.ContainsFunc(hits, func(o views.SearchHit) bool { return o.Href == h.Href }) {
			hits = append(hits, h)
		}
	}
	s := views.Search{Shell: c.Shell(p)}
	for _, word := range words {
		s.Query = word
		for _, h := range s.PageHits() {
			add(h)
		}
	}
	if !p.SignedIn() || p.User.Role.Rights().Has(app.ReadModels) {
		for _, h := range c.modelsNamed(p, words...) {
			add(h)
		}
	}
	for _, word := range words {
		for _, d := range docs.Search(word, 1) {
			if holds(word, d.Title) {
				add(views.SearchHit{Icon: ui.IconBook, Title: d.Title, Href: d.Path})
			}
		}
	}
	return hits
}
