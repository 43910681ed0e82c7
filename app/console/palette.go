package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/app/docs"
	"umg/app/video"
	"umg/billing/usage"
	"umg/views"
	"umg/views/ui"
)

const (
	hitsMax          = 5 // A search shows at most this many hits of each kind.
	searchWait       = 2 * time.Second
	partBytesMin     = 2 // Shorter queries match no names or prompts.
	requestIDPrefix  = "req_"
	videoIDPrefix    = "video_"
	searchedPromptOf = 80 // The title of a video has at most this many characters of its prompt.
)

// paletteRoutes are the search and the shortcuts of every page.
func (c *Console) paletteRoutes() []page.Route {
	return []page.Route{
		{Method: http.MethodGet, Path: "/search", Open: true, Serve: c.search},
		{Method: http.MethodGet, Path: "/shortcuts", Serve: c.shortcuts},
		{Method: http.MethodPost, Path: "/shortcuts", Serve: c.setShortcuts},
	}
}

// search answers the palette with a list of options, and other requests with a page. Visitors find what is open to them.
func (c *Console) search(p *page.Page) error {
	s := views.Search{Query: views.SearchText(p.QueryParam("q"))}
	c.find(p, &s)
	if p.ForScript() {
		if s.Mac = page.OnMac(p.Request()); p.SignedIn() {
			s.Viewer = page.ViewerOf(p)
		}
		return c.Render(p, http.StatusOK, views.SearchResults(s))
	}
	s.Shell = c.Shell(p)
	return c.Render(p, http.StatusOK, views.SearchPage(s))
}

// searchSource searches for things of one kind.
type searchSource struct {
	title, what string // The title is the heading, and what is the word for a failed search.
	right       app.Rights
	open        bool // Visitors may search an open source, too.
	operator    bool // Only operators may search an operator source.
	find        func(context.Context, *page.Page, string) ([]views.SearchHit, error)
}

// find asks every source that the reader may search. The page names the sources that failed.
func (c *Console) find(p *page.Page, s *views.Search) {
	if s.Query == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.Request().Context(), searchWait)
	defer cancel()
	for _, f := range []searchSource{
		{title: "Models", what: "models", open: true, find: c.findModels},
		{title: "API keys", what: "keys", right: app.ManageKeys, find: c.findKeys},
		{title: "Actions on keys", what: "actions on keys", right: app.ManageKeys, find: c.findKeyActions},
		{title: "Actions on models", what: "actions on models", right: app.CallText, find: c.findModelActions},
		{title: "Prompts", what: "prompts", right: app.CallText, find: c.findPrompts},
		{title: "Requests", what: "requests", right: app.ReadUsage, find: c.findRequests},
		{title: "Videos", what: "videos", right: app.UseVideos, find: c.findVideos},
		{title: "Errors", what: "errors", open: true, find: findErrors},
		{title: "Parameters", what: "parameters", open: true, find: c.findParameters},
		{title: "Documentation", what: "documentation", open: true, find: findDocs(docs.Search)},
		{title: "Operator help", what: "operator help", operator: true, find: findDocs(docs.OperatorGuide.Search)},
	} {
		if f.operator && !p.User.Operator || !f.open && !f.operator && (p.User.AccountID == "" || !p.User.Role.Rights().Has(f.right)) {
			continue
		}
		hits, err := f.find(ctx, p, s.Query)
		if err != nil {
			s.Missing = append(s.Missing, f.what)
			continue
		}
		s.Found = append(s.Found, views.SearchGroup{Title: f.title, Hits: hits[:min(len(hits), hitsMax)]})
	}
}

func holds(query string, texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), strings.ToLower(query)) {
			return true
		}
	}
	return false
}

func (c *Console) findModels(_ context.Context, p *page.Page, query string) ([]views.SearchHit, error) {
	return c.modelsNamed(p, query), nil
}

// modelsNamed are the models whose names contain one of the words, those with most words first.
func (c *Console) modelsNamed(p *page.Page, words ...string) []views.SearchHit {
	found := make([][]views.SearchHit, len(words)+1)
	for _, m := range c.catalogFor(p).Models() {
		missing := 0
		for _, word := range words {
			if !holds(word, m.ID, m.Name) {
				missing++
			}
		}
		hit := views.SearchHit{Icon: ui.IconLayers, Title: m.Name, Note: m.ID, Href: page.ConsolePath + "/models/" + m.ID}
		found[missing] = append(found[missing], hit)
	}
	return slices.Concat(found[:len(words)]...)
}

func (c *Console) findKeys(ctx context.Context, p *page.Page, query string) (hits []views.SearchHit, _ error) {
	if len(query) < partBytesMin {
		return nil, nil
	}
	keys, err := c.o.APIKeys.List(ctx, p.Principal())
	for _, k := range keys {
		if holds(query, k.Name, k.ID, k.Secret.Prefix+maskEllipse+k.Secret.LastFour) {
			hits = append(hits, views.SearchHit{
				Icon: ui.IconKey, Title: k.Name, Note: k.Secret.Prefix + maskEllipse + k.Secret.LastFour, Href: keysPath + "/" + k.ID,
			})
		}
	}
	return hits, err
}

func (c *Console) findPrompts(ctx context.Context, p *page.Page, query string) (hits []views.SearchHit, _ error) {
	if c.o.Prompts == nil || len(query) < partBytesMin {
		return nil, nil
	}
	found, err := c.o.Prompts.List(ctx, p.Principal(), query, hitsMax, 0)
	for _, one := range found.Prompts {
		hits = append(hits, views.SearchHit{Icon: ui.IconFileText, Title: one.Name, Note: one.Model, Href: promptsPath + "/" + one.ID})
	}
	return hits, err
}

// findDocs returns a function that looks in the public documentation or in the operator guide.
func findDocs(search func(query string, most int) []docs.Hit) func(context.Context, *page.Page, string) ([]views.SearchHit, error) {
	return func(_ context.Context, _ *page.Page, query string) (hits []views.SearchHit, _ error) {
		if len(query) < partBytesMin {
			return nil, nil
		}
		for _, one := range search(query, hitsMax) {
			hits = append(hits, views.SearchHit{Icon: ui.IconBook, Title: one.Title, Note: one.Excerpt, Href: one.Path})
		}
		return hits, nil
	}
}

// findRequests searches calls by the beginning of their id.
func (c *Console) findRequests(ctx context.Context, p *page.Page, query string) (hits []views.SearchHit, _ error) {
	if !strings.HasPrefix(query, requestIDPrefix) {
		return nil, nil
	}
	found, err := c.o.Reports.RequestLog(ctx, usage.RecordQuery{AccountID: p.User.AccountID, Search: query, Limit: hitsMax})
	for i := range found.Requests {
		r := viewLogged(&found.Requests[i], nil)
		note := r.Model
		if r.Refusal != nil {
			note = r.Badge().Text + ": " + r.Cause()
		}
		hits = append(hits, views.SearchHit{
			Icon: ui.IconActivity, Title: r.ID, Mono: true, Note: note, Href: r.Path(),
		})
	}
	return hits, err
}

// findVideos searches videos by their id or by their prompt.
func (c *Console) findVideos(ctx context.Context, p *page.Page, query string) ([]views.SearchHit, error) {
	if c.o.Videos == nil || len(query) < partBytesMin || strings.HasPrefix(query, requestIDPrefix) {
		return nil, nil
	}
	if strings.HasPrefix(query, videoIDPrefix) {
		job, err := c.o.Videos.Get(ctx, p.User.AccountID, query)
		if app.KindOf(err) == app.NotFound {
			return nil, nil
		}
		return []views.SearchHit{videoHit(job)}, err
	}
	found, err := c.o.Videos.List(ctx, p.User.AccountID, video.Query{Search: query, Limit: hitsMax})
	var hits []views.SearchHit
	for i := range found.Jobs {
		hits = append(hits, videoHit(found.Jobs[i]))
	}
	return hits, err
}

func videoHit(j video.Job) views.SearchHit {
	title := []rune(strings.Join(strings.Fields(j.Prompt), " "))
	return views.SearchHit{
		Icon: ui.IconFilm, Title: string(title[:min(len(title), searchedPromptOf)]), Note: j.Model, Href: videosPath + "/" + j.ID,
	}
}

func (c *Console) shortcuts(p *page.Page) error {
	return c.Render(p, http.StatusOK, views.ShortcutsPage(views.Shortcuts{Shell: c.Shell(p), Next: page.RequestedPage(p.Request())}))
}

// setShortcuts switches keys that work alone off or on, for this browser.
func (c *Console) setShortcuts(p *page.Page) error {
	value := "on"
	if p.FormValue("keys") == page.ShortcutsOff {
		value = page.ShortcutsOff
	}
	c.SetPreference(p, page.Preference{Name: page.ShortcutsCookie, Value: value})
	return c.RedirectWithToast(p, ui.Success, "Single-key shortcuts are "+value+" in this browser.", page.SafeNext(p.FormValue("next")))
}
