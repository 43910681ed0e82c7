package console

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"umg/app"
	"umg/app/console/page"
	"umg/app/console/playground"
	"umg/app/markdown"
	"umg/app/prompt"
	"umg/views"
	playpages "umg/views/playground"
)

// savePrompt saves a pane of the playground: as a version of the prompt that it names, or as a new prompt, whose name is asked for. The
// pages in between carry the prompt as a file.
func (c *Console) savePrompt(p *page.Page) error {
	form, err := playground.FormValues(p)
	if err != nil {
		return err
	}
	var content prompt.Content
	if form.Has("document") { // A page in between carries the prompt as a file.
		_, content, err = prompt.Import([]byte(form.Get("document")))
	} else {
		content, err = playground.PaneContent(p, form)
	}
	if err != nil {
		return c.refuseSave(p, playpages.PromptSave{Name: form.Get("name")}, err)
	}
	if id := form.Get("prompt_id"); id != "" && form.Get("save_as") != "new" {
		return c.saveVersion(p, id, form.Get("prompt_version"), content)
	}
	v := playpages.PromptSave{Name: form.Get("name")}
	file, err := prompt.Export("", content)
	if err != nil {
		return c.refuseSave(p, v, err)
	}
	v.Document = string(file)
	if !form.Has("name") {
		v.Shell, v.Title = c.Shell(p), saveTitle
		return c.Render(p, http.StatusOK, playpages.PromptSavePage(v))
	}
	made, err := c.o.Prompts.Create(p.Request().Context(), p.Principal(), v.Name, content)
	if err != nil {
		return c.refuseSave(p, v, err)
	}
	return c.leave(p, made.Name+" is saved.", playground.Path+"?prompt="+made.ID)
}

const saveTitle = "Save the prompt"

// refuseSave shows the page with the name again with the refusal. It returns all other errors.
func (c *Console) refuseSave(p *page.Page, v playpages.PromptSave, err error) error {
	refusal, ours := errors.AsType[*app.Error](err)
	if !ours || refusal.Kind != app.Invalid && refusal.Kind != app.Conflict {
		return err
	}
	if refusal.Param == "name" {
		v.NameError = refusal.Message
	} else {
		v.FormError = refusal.Message
	}
	v.Shell, v.Title = c.Shell(p), saveTitle
	return c.Render(p, http.StatusUnprocessableEntity, playpages.PromptSavePage(v))
}

func (c *Console) saveVersion(p *page.Page, id, base string, content prompt.Content) error {
	ctx, who := p.Request().Context(), p.Principal()
	began, err := strconv.Atoi(base)
	if err != nil || began < 1 {
		return app.Errorf(app.Invalid, "invalid_request_error", "prompt_version must be the number of the version that this one began from.").
			At("prompt_version")
	}
	number, err := c.o.Prompts.Save(ctx, who, id, began, content)
	if refusal := app.AsError(err); refusal != nil && refusal.Code == prompt.ErrNewer {
		one, err := c.o.Prompts.Get(ctx, who, id)
		if err != nil {
			return err
		}
		file, err := prompt.Export("", content)
		if err != nil {
			return err
		}
		return c.Render(p, http.StatusConflict, playpages.PromptConflictPage(playpages.PromptConflict{
			Shell: c.Shell(p), Prompt: page.ViewPrompt(one), Base: began, Document: string(file),
		}))
	}
	if err != nil {
		return c.refuseSave(p, playpages.PromptSave{}, err)
	}
	if number == began {
		return c.leave(p, "Nothing has changed since version "+base+".", playground.Path+"?prompt="+id)
	}
	return c.leave(p, "Saved as version "+strconv.Itoa(number)+".", playground.Path+"?prompt="+id)
}

// viewContent returns the content of a prompt for a page.
func viewContent(c *prompt.Content) playpages.PromptContent {
	v := playpages.PromptContent{
		System: c.System, Message: playpages.PromptTurn{Role: prompt.User, Text: c.Prompt, Image: c.Image}, Tools: prompt.Indented(c.Tools),
		Schema: prompt.Indented(c.Schema),
	}
	if c.Image != "" {
		v.Message.Words = prompt.ImageWords(c.Image)
	}
	for _, f := range []views.Fact{
		{Name: "Model", Value: c.Model}, {Name: "API style", Value: c.Style}, {Name: "Answer", Value: c.Format},
		{Name: "Schema", Value: c.SchemaName}, {Name: "Tool choice", Value: c.ToolChoice},
	} {
		if f.Value != "" {
			v.Settings = append(v.Settings, f)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Params)) {
		v.Settings = append(v.Settings, views.Fact{Name: key, Value: c.Params[key]})
	}
	for _, name := range c.VariableNames() {
		v.Variables = append(v.Variables, playpages.Variable{Name: name, Value: c.Variables[name]})
	}
	for _, t := range c.Turns {
		turn := playpages.PromptTurn{Role: t.Role, Text: t.Text, Image: t.Image, CallID: t.Call}
		if t.Image != "" {
			turn.Words = prompt.ImageWords(t.Image)
		}
		if t.Role == prompt.Assistant && t.Text != "" {
			turn.HTML = markdown.Untrusted(t.Text)
		}
		for _, one := range t.Calls {
			turn.Calls = append(turn.Calls, playpages.ToolCall{ID: one.ID, Name: one.Name, Arguments: one.Arguments})
		}
		v.Turns = append(v.Turns, turn)
	}
	return v
}
