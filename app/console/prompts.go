package console

import (
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"umg/app"
	"umg/app/console/page"
	"umg/app/console/playground"
	"umg/app/prompt"
	playpages "umg/views/playground"
	"umg/views/ui"
)

const (
	promptsPath        = page.ConsolePath + "/prompts"
	promptFormBytesMax = 3 << 20 // A form holds a file of one mebibyte in any form encoding.
)

// promptRoutes are the pages about saved prompts, and about what links show of them.
func (c *Console) promptRoutes() []page.Route {
	const (
		all    = "/prompts"
		one    = all + "/:id"
		shared = "/shared/:token"
	)
	a := page.Area{Right: app.CallText, Missing: c.o.Prompts == nil}
	return []page.Route{
		a.Get(all, c.prompts), a.Post(all, c.savePrompt),
		a.Get(all+"/import", c.askImportPrompt), a.Post(all+"/import", c.importPrompt),
		a.Get(one, c.prompt), a.Get(one+"/export", c.exportPrompt), a.Get(one+"/diff", c.diffPrompt),
		a.Post(one+"/restore", c.restorePrompt), a.Post(one+"/duplicate", c.duplicatePrompt),
		a.Get(one+"/rename", c.askPrompt(playpages.PromptRenamePage)), a.Post(one+"/rename", c.renamePrompt),
		a.Get(one+"/delete", c.askPrompt(playpages.PromptDeletePage)), a.Post(one+"/delete", c.deletePrompt),
		a.Get(one+"/share", c.askSharePrompt), a.Post(one+"/share", c.sharePrompt),
		a.Post(one+"/shares/:share/revoke", c.revokeShare),
		page.Area{Open: true, Missing: c.o.Prompts == nil}.Get(shared, c.shared),
		a.Get(shared+"/copy", c.askCopyShared), a.Post(shared+"/copy", c.copyShared),
	}
}

func (c *Console) prompts(p *page.Page) error {
	q := playpages.ParsePromptQuery(p.QueryParams())
	found, err := c.o.Prompts.List(p.Request().Context(), p.Principal(), q.Text, playpages.PromptsShown, (q.Page-1)*playpages.PromptsShown)
	if err != nil {
		return err
	}
	v := playpages.Prompts{Shell: c.Shell(p), Query: q, Total: found.Total, Some: found.Total > 0}
	for _, one := range found.Prompts {
		v.List = append(v.List, page.ViewPrompt(one))
	}
	if !v.Some && q.Text != "" {
		all, err := c.o.Prompts.List(p.Request().Context(), p.Principal(), "", 1, 0)
		if err != nil {
			return err
		}
		v.Some = all.Total > 0
	}
	p.ReplaceURL(q.Path())
	return c.Render(p, http.StatusOK, playpages.PromptsPage(v))
}

func viewPromptVersion(v prompt.Version) playpages.PromptVersion {
	return playpages.PromptVersion{Number: v.Number, Model: v.Model, Author: v.Author, Restored: v.Restored, CreatedAt: v.CreatedAt}
}

// promptDetail reads the prompt that the path names, in the version that the request names; the newest without one.
func (c *Console) promptDetail(p *page.Page, version string) (playpages.PromptDetail, prompt.Content, error) {
	ctx, who, id := p.Request().Context(), p.Principal(), p.Param("id")
	d := playpages.PromptDetail{}
	one, err := c.o.Prompts.Get(ctx, who, id)
	if err != nil {
		return d, prompt.Content{}, err
	}
	number := one.Latest
	if version != "" {
		if number, err = strconv.Atoi(version); err != nil {
			return d, prompt.Content{}, page.ErrNotFound()
		}
	}
	v, err := c.o.Prompts.Version(ctx, who, id, number)
	if err != nil {
		return d, prompt.Content{}, err
	}
	d = playpages.PromptDetail{Shell: c.Shell(p), Prompt: page.ViewPrompt(one), Version: viewPromptVersion(v),
		Content: viewContent(&v.Content)}
	versions, err := c.o.Prompts.Versions(ctx, who, id)
	if err != nil {
		return d, v.Content, err
	}
	for _, v := range versions {
		d.Versions = append(d.Versions, viewPromptVersion(v))
	}
	d.Shares, err = c.promptShares(p, id)
	return d, v.Content, err
}

func (c *Console) prompt(p *page.Page) error {
	d, _, err := c.promptDetail(p, p.QueryParam("version"))
	return page.Show(c.Renderer, p, http.StatusOK, playpages.PromptPage, d, err)
}

// exportPrompt is a version as a file.
func (c *Console) exportPrompt(p *page.Page) error {
	d, content, err := c.promptDetail(p, p.QueryParam("version"))
	if err != nil {
		return err
	}
	file, err := prompt.Export(d.Prompt.Name, content)
	if err != nil {
		return err
	}
	name := mime.FormatMediaType("attachment", map[string]string{"filename": exportName(d.Prompt.Name) + ".json"})
	p.Response().Header().Set("Content-Disposition", name)
	return p.Blob(http.StatusOK, "application/json", file)
}

const exportNameMax = 60

// exportName is a name that every system takes for a file.
func exportName(name string) string {
	letters := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return ' '
	}
	words := strings.Join(strings.Fields(strings.Map(letters, name)), "-")
	if words = words[:min(len(words), exportNameMax)]; words == "" {
		return "prompt"
	}
	return words
}

func (c *Console) diffPrompt(p *page.Page) error {
	d, to, err := c.promptDetail(p, p.QueryParam("to"))
	if err != nil {
		return err
	}
	from, err := strconv.Atoi(p.QueryParam("from"))
	if err != nil {
		from = max(d.Version.Number-1, 1)
	}
	old, err := c.o.Prompts.Version(p.Request().Context(), p.Principal(), d.Prompt.ID, from)
	if err != nil {
		return err
	}
	kinds := map[prompt.LineKind]string{prompt.Removed: playpages.PromptRemoved, prompt.Added: playpages.PromptAdded}
	v := playpages.PromptDiff{Shell: d.Shell, Prompt: d.Prompt, Versions: d.Versions, From: from, To: d.Version.Number}
	for _, change := range prompt.Diff(old.Content, to) {
		section := playpages.PromptChange{Title: change.Title}
		for _, l := range change.Lines {
			section.Lines = append(section.Lines, playpages.PromptLine{Kind: kinds[l.Kind], Text: l.Text})
		}
		v.Sections = append(v.Sections, section)
	}
	return c.Render(p, http.StatusOK, playpages.PromptDiffPage(v))
}

func (c *Console) restorePrompt(p *page.Page) error {
	version, err := strconv.Atoi(p.FormValue("version"))
	if err != nil {
		return app.Errorf(app.Invalid, "invalid_request_error", "version must be the number of a version.").At("version")
	}
	id := p.Param("id")
	number, err := c.o.Prompts.Restore(p.Request().Context(), p.Principal(), id, version)
	if err != nil {
		return err
	}
	text := "Version " + strconv.Itoa(version) + " is the newest again, as version " + strconv.Itoa(number) + "."
	return c.RedirectWithToast(p, ui.Success, text, promptsPath+"/"+id)
}

func (c *Console) duplicatePrompt(p *page.Page) error {
	made, err := c.o.Prompts.Duplicate(p.Request().Context(), p.Principal(), p.Param("id"))
	return c.Done(p, err, "This is the copy.", promptsPath+"/"+made.ID)
}

// askPrompt answers with a page that asks before something is done to a prompt.
func (c *Console) askPrompt(draw func(playpages.PromptAsk) templ.Component) page.Handler {
	return func(p *page.Page) error {
		one, err := c.o.Prompts.Get(p.Request().Context(), p.Principal(), p.Param("id"))
		if err != nil {
			return err
		}
		return c.Render(p, http.StatusOK, draw(playpages.PromptAsk{Shell: c.Shell(p), Prompt: page.ViewPrompt(one), Name: one.Name}))
	}
}

func (c *Console) renamePrompt(p *page.Page) error {
	ctx, who, id, name := p.Request().Context(), p.Principal(), p.Param("id"), p.FormValue("name")
	one, err := c.o.Prompts.Get(ctx, who, id)
	if err != nil {
		return err
	}
	err = c.o.Prompts.Rename(ctx, who, id, name)
	if refusal, ours := page.Refusal(err); ours {
		return c.Render(p, http.StatusUnprocessableEntity, playpages.PromptRenamePage(playpages.PromptAsk{
			Shell: c.Shell(p), Prompt: page.ViewPrompt(one), Name: name, Error: refusal.Message,
		}))
	}
	if err != nil {
		return err
	}
	return c.leave(p, "The prompt is renamed.", promptsPath+"/"+id)
}

func (c *Console) deletePrompt(p *page.Page) error {
	ctx, who := p.Request().Context(), p.Principal()
	one, err := c.o.Prompts.Get(ctx, who, p.Param("id"))
	if err != nil {
		return err
	}
	if err := c.o.Prompts.Delete(ctx, who, one.ID); err != nil {
		return err
	}
	return c.leave(p, one.Name+" was deleted.", promptsPath)
}

func (c *Console) askImportPrompt(p *page.Page) error {
	return c.Render(p, http.StatusOK, playpages.PromptImportPage(playpages.PromptImport{Shell: c.Shell(p)}))
}

// importPrompt makes a prompt of a file.
func (c *Console) importPrompt(p *page.Page) error {
	if _, err := playground.FormValues(p); err != nil {
		return err
	}
	made, err := c.imported(p)
	if err == nil {
		return c.leave(p, made.Name+" was imported.", promptsPath+"/"+made.ID)
	}
	refusal, ours := errors.AsType[*app.Error](err)
	if !ours || refusal.Kind != app.Invalid && refusal.Kind != app.Conflict {
		return err
	}
	return c.Render(p, http.StatusUnprocessableEntity, playpages.PromptImportPage(playpages.PromptImport{
		Shell: c.Shell(p), Error: refusal.Message, Field: refusal.Param,
	}))
}

func (c *Console) imported(p *page.Page) (prompt.Prompt, error) {
	file, err := playground.FormFile(p, "file", prompt.FileBytesMax)
	if err != nil {
		return prompt.Prompt{}, err
	}
	if file == nil {
		return prompt.Prompt{}, app.Errorf(app.Invalid, "invalid_request_error", "Choose a file first.")
	}
	name, content, err := prompt.Import(file)
	if err != nil {
		return prompt.Prompt{}, err
	}
	if strings.TrimSpace(name) == "" {
		name = "Imported prompt"
	}
	return c.o.Prompts.Create(p.Request().Context(), p.Principal(), name, content)
}
