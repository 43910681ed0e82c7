package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"umg/app"
	"umg/app/apikey"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/docs"
	"umg/app/llm"
	"umg/views"
	docpages "umg/views/docs"
)

const (
	docsHitsMax    = 20
	docsModel      = "a/model" // Code samples name this model while the catalog has none.
	docsKey        = "sk-umg-…"
	quickstartPage = "quickstart"
)

// docsRoutes are the documentation, which is public, and the operator guide.
func (c *Console) docsRoutes() []page.Route {
	return []page.Route{
		{Method: http.MethodGet, Path: "/docs", Open: true, Serve: c.docs},
		{Method: http.MethodGet, Path: "/docs/:page", Open: true, Serve: c.document},
		{Method: http.MethodGet, Path: "/operator/help", Operator: true, Serve: c.operatorHelp},
		{Method: http.MethodGet, Path: "/operator/help/:page", Operator: true, Serve: c.operatorHelpPage},
	}
}

func (c *Console) docs(p *page.Page) error {
	return c.docsIndex(p, docs.Search, docpages.Index{Groups: docsGroups(docs.Groups())})
}

// operatorHelp is the list of the pages of the operator guide, or what a search in them found.
func (c *Console) operatorHelp(p *page.Page) error {
	return c.docsIndex(p, docs.OperatorGuide.Search, docpages.Index{IsOperatorGuide: true, Groups: docsGroups(docs.OperatorGuide.Groups())})
}

func (c *Console) docsIndex(p *page.Page, search func(q string, most int) []docs.Hit, d docpages.Index) error {
	d.Shell, d.Query = c.Shell(p), strings.TrimSpace(p.QueryParam("q"))
	d.Query = views.SearchText(d.Query)
	p.ReplaceURL(d.Address())
	for _, h := range search(d.Query, docsHitsMax) {
		d.Hits = append(d.Hits, docpages.Link{Title: h.Title, Text: h.Excerpt, Path: h.Path})
	}
	return c.Render(p, http.StatusOK, docpages.IndexPage(d))
}

func docsGroups(all []docs.Group) []docpages.Group {
	var groups []docpages.Group
	for _, g := range all {
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
func (c *Console) document(p *page.Page) error {
	return c.docsPage(p, docs.Find, docpages.Document{Groups: docsGroups(docs.Groups())})
}

// operatorHelpPage is one page of the operator guide, its Markdown where the address ends in .md, or a file for another program.
func (c *Console) operatorHelpPage(p *page.Page) error {
	if text, contentType, ok := docs.OperatorFile(p.Param("page")); ok {
		p.Response().Header().Set("Content-Disposition", `attachment; filename="`+p.Param("page")+`"`)
		p.Response().Header().Set("Cache-Control", "no-store")
		return p.Blob(http.StatusOK, contentType, text)
	}
	return c.docsPage(p, docs.OperatorGuide.Find, docpages.Document{IsOperatorGuide: true, Groups: docsGroups(docs.OperatorGuide.Groups())})
}

func (c *Console) docsPage(p *page.Page, find func(name string) *docs.Page, d docpages.Document) error {
	name, plain := strings.CutSuffix(p.Param("page"), ".md")
	found := find(name)
	if found == nil {
		return app.Errorf(app.NotFound, "not_found", "There is no such page in the documentation.")
	}
	key, err := c.docsKey(p)
	if err != nil {
		return err
	}
	values := DocsValues(c.catalogFor(p), c.o.BaseURL, key.Models)
	if key.Secret.LastFour != "" {
		values["key"] = docsKey + key.Secret.LastFour
	}
	if plain {
		p.Response().Header().Set("Cache-Control", "no-store") // The page may contain the key hint of the reader.
		return p.Blob(http.StatusOK, "text/markdown; charset=utf-8", []byte(found.Markdown(values)))
	}
	before, after := found.Around()
	d.Shell, d.Title, d.Description, d.Group, d.Path = c.Shell(p), found.Title, found.Description, found.Group, found.Path()
	d.Markdown, d.Language, d.Headings = found.Markdown(values), p.Language(), found.Headings()
	d.Before, d.After = docsLink(before), docsLink(after)
	if name == quickstartPage && !d.IsOperatorGuide {
		d.Try = page.ConsolePath + "/playground?" + url.Values{"model": {values["model"]}, "prompt_text": {"Hello!"}}.Encode()
	}
	for _, b := range found.Blocks(values) {
		block := docpages.Block{HTML: b.HTML}
		for _, s := range b.Samples {
			block.Code = append(block.Code, docpages.Sample(s.Language, s.Title, s.Source))
		}
		d.Blocks = append(d.Blocks, block)
	}
	return c.Render(p, http.StatusOK, docpages.DocumentPage(d))
}

// docsKey is the newest key of the reader's account that works, or none.
func (c *Console) docsKey(p *page.Page) (apikey.Key, error) {
	if p.User.AccountID == "" || !p.User.Role.Rights().Has(app.ManageKeys) {
		return apikey.Key{}, nil
	}
	keys, err := c.o.APIKeys.List(p.Request().Context(), p.Principal())
	if err != nil {
		return apikey.Key{}, err
	}
	var best apikey.Key
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
