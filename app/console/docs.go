package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"umg/app"
	"umg/app/account"
	"umg/app/catalog"
	"umg/app/docs"
	"umg/app/llm"
	"umg/views"
	docpages "umg/views/docs"
	"umg/views/ui"
)

const (
	docsHitsMax    = 20
	docsModel      = "a/model" // placeholder while the catalog has no model
	docsKey        = "sk-umg-…"
	quickstartPage = "quickstart"
)

// docsRoutes are the documentation. All the world may read it.
func docsRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/docs", Open: true, serve: (*Console).docs},
		{Method: http.MethodGet, Path: "/docs/:page", Open: true, serve: (*Console).document},
	}
}

func (c *Console) docs(p *page) error {
	d := docpages.Index{Shell: c.shell(p), Query: strings.TrimSpace(p.QueryParam("q")), Groups: docsGroups()}
	d.Query = views.SearchText(d.Query)
	if forScript(p.Request()) {
		p.Response().Header().Set("HX-Replace-Url", d.Address())
	}
	for _, h := range docs.Search(d.Query, docsHitsMax) {
		d.Hits = append(d.Hits, docpages.Link{Title: h.Title, Text: h.Excerpt, Path: h.Path})
	}
	return c.render(p, http.StatusOK, docpages.IndexPage(d))
}

func docsGroups() []docpages.Group {
	var groups []docpages.Group
	for _, g := range docs.Groups() {
		group := docpages.Group{Name: g.Name}
		for _, page := range g.Pages {
			group.Pages = append(group.Pages, *docsLink(page))
		}
		groups = append(groups, group)
	}
	return groups
}

func docsLink(page *docs.Page) *docpages.Link {
	if page == nil {
		return nil
	}
	return &docpages.Link{Title: page.Title, Text: page.Description, Path: page.Path()}
}

// document is one page, or its Markdown where the address ends in .md.
func (c *Console) document(p *page) error {
	name, plain := strings.CutSuffix(p.Param("page"), ".md")
	found := docs.Find(name)
	if found == nil {
		return app.Errorf(app.NotFound, "not_found", "There is no such page in the documentation.")
	}
	values, err := c.docsValues(p)
	if err != nil {
		return err
	}
	if plain {
		p.Response().Header().Set("Cache-Control", "no-store") // the page may contain the reader's key hint
		return p.Blob(http.StatusOK, "text/markdown; charset=utf-8", []byte(found.Markdown(values)))
	}
	before, after := found.Around()
	d := docpages.Document{
		Shell: c.shell(p), Title: found.Title, Description: found.Description, Group: found.Group, Path: found.Path(),
		Markdown: found.Markdown(values), Language: language(p), Groups: docsGroups(), Headings: found.Headings(),
		Before: docsLink(before), After: docsLink(after),
	}
	if name == quickstartPage {
		d.Try = consolePath + "/playground?" + url.Values{"model": {values["model"]}, "prompt_text": {"Hello!"}}.Encode()
	}
	for _, b := range found.Blocks(values) {
		block := docpages.Block{HTML: b.HTML}
		for _, s := range b.Samples {
			block.Code = append(block.Code, docsSample(s))
		}
		d.Blocks = append(d.Blocks, block)
	}
	return c.render(p, http.StatusOK, docpages.DocumentPage(d))
}

func docsSample(s docs.Sample) ui.Sample { return docpages.Sample(s.Language, s.Title, s.Source) }

// docsValues are what the pages say of this server and of the reader: models that they may call, and which key is theirs.
func (c *Console) docsValues(p *page) (map[string]string, error) {
	key, err := c.docsKey(p)
	if err != nil {
		return nil, err
	}
	values := DocsValues(c.o.Catalog.Snapshot(), c.o.BaseURL, key.Models)
	if key.LastFour != "" {
		values["key"] = "sk-umg-…" + key.LastFour
	}
	return values, nil
}

// docsKey is the newest key of the reader's account that works, or none.
func (c *Console) docsKey(p *page) (account.Key, error) {
	if p.user.AccountID == "" || !p.user.Role.Rights().Has(app.ManageKeys) {
		return account.Key{}, nil
	}
	keys, err := c.o.Accounts.Keys(p.Request().Context(), p.principal())
	if err != nil {
		return account.Key{}, err
	}
	var best account.Key
	for _, k := range keys {
		ended := k.ExpiresAt != nil && !k.ExpiresAt.After(c.o.Now())
		if !k.Disabled && !ended && k.Rights.Has(app.CallText) && (best.ID == "" || k.CreatedAt.After(best.CreatedAt)) {
			best = k
		}
	}
	return best, nil
}

// DocsValues are the values for the pages of the documentation. Where only lists models, the examples use those.
func DocsValues(s *catalog.Snapshot, baseURL string, only []string) map[string]string {
	values := map[string]string{
		"server": baseURL, "base_url": baseURL + "/v1", "key": docsKey, "video_model": docsModel, "asset_model": docsModel,
	}
	may := func(m *catalog.Model) bool { return len(only) == 0 || slices.Contains(only, m.ID) }
	for name, style := range map[string]llm.Style{
		"model": llm.Chat, "messages_model": llm.Messages, "responses_model": llm.Responses, "native_model": llm.Native,
	} {
		values[name] = docsTextModel(s, style, only)
	}
	for _, m := range s.Models() {
		if m.Kind != catalog.KindVideo || !m.Available || m.Paused || !may(m) {
			continue
		}
		if values["video_model"] == docsModel {
			values["video_model"] = m.ID
		}
		if m.AssetsMax > 0 && values["asset_model"] == docsModel {
			values["asset_model"] = m.ID
		}
	}
	values["tools_model"] = docsModel
	able, _ := s.Fitting(catalog.Needs{Style: llm.Chat, Tools: true})
	if i := slices.IndexFunc(able, may); i >= 0 {
		values["tools_model"] = able[i].ID
	}
	return values
}

// docsTextModel is the model of the examples of a style: the first usable one of only, or the cheapest where only lists none.
func docsTextModel(s *catalog.Snapshot, style llm.Style, only []string) string {
	for _, m := range s.Models() {
		if slices.Contains(only, m.ID) && m.Available && !m.Paused && m.Serves(style) {
			return m.ID
		}
	}
	if m, ok := s.Cheapest(style); ok {
		return m.ID
	}
	return docsModel
}
