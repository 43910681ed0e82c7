package playground

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/console/page"
	"umg/app/prompt"
	playpages "umg/views/playground"
)

// promptValues returns the saved prompt that the query names as the fields of a pane, or nil if it names none. The fields prompt_id and
// prompt_version name the version from which the pane was opened.
func (c *Console) promptValues(p *page.Page) (url.Values, error) {
	id := p.QueryParam("prompt")
	if id == "" || c.o.Prompts == nil {
		return nil, nil
	}
	ctx, who := p.Request().Context(), p.Principal()
	one, err := c.o.Prompts.Get(ctx, who, id)
	if err != nil {
		return nil, err
	}
	number := one.Latest
	if version := p.QueryParam("version"); version != "" {
		if number, err = strconv.Atoi(version); err != nil {
			return nil, page.ErrNotFound()
		}
	}
	v, err := c.o.Prompts.Version(ctx, who, id, number)
	if err != nil {
		return nil, err
	}
	values, err := contentValues(&v.Content)
	if err != nil {
		return nil, err
	}
	values.Set("prompt_id", id)
	values.Set("prompt_version", strconv.Itoa(number))
	return values, nil
}

// nameOpened names the saved prompt that a pane was opened with, and reports whether the pane still has the content of that
// version. When the prompt was deleted in between, the pane loses its name, so that saving makes a new prompt.
func (c *Console) nameOpened(p *page.Page, s *pane, pane *playpages.Pane) error {
	f := &pane.Form
	id := f.PromptID
	number, _ := strconv.Atoi(f.PromptVersion) // An invalid number becomes zero, which is no version.
	f.PromptID, f.PromptVersion = "", ""
	if id == "" || number == 0 || c.o.Prompts == nil {
		return nil
	}
	ctx, who := p.Request().Context(), p.Principal()
	one, err := c.o.Prompts.Get(ctx, who, id)
	if err != nil && app.KindOf(err) == app.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := c.o.Prompts.Version(ctx, who, id, number)
	if err != nil && app.KindOf(err) == app.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	form := maps.Clone(s.form)
	if len(s.form["model"]) > 1 { // Panes side by side have different models.
		form.Set("model", pane.Model.ID)
	}
	written, err := PaneContent(p, form)
	same := err == nil && len(f.Turns) == len(v.Content.Turns) && sameContent(&written, &v.Content)
	f.PromptID, f.PromptVersion = id, strconv.Itoa(number)
	f.Opened = &playpages.OpenPrompt{Prompt: page.ViewPrompt(one), Version: number, Changed: !same}
	return nil
}

// sameContent compares contents as files. It ignores whether answers are streamed, because the page always streams.
func sameContent(a, b *prompt.Content) bool {
	x, y := *a, *b
	x.Stream, y.Stream = true, true
	left, failed := prompt.Export("", x)
	right, broken := prompt.Export("", y)
	return failed == nil && broken == nil && bytes.Equal(left, right)
}

// contentValues returns a content as the fields of a form, from which PaneContent reads it again.
func contentValues(c *prompt.Content) (url.Values, error) {
	form := url.Values{}
	set := func(name, value string) {
		if value != "" {
			form.Set(name, value)
		}
	}
	for name, value := range map[string]string{
		"model": c.Model, "style": c.Style, "system": c.System, "prompt": c.Prompt, "tools": prompt.Indented(c.Tools),
		"tool_choice": c.ToolChoice, "format": c.Format, "schema_name": c.SchemaName, "schema": prompt.Indented(c.Schema),
	} {
		set(name, value)
	}
	if c.Stream {
		form.Set("stream", "true")
	}
	if strings.HasPrefix(c.Image, "data:") {
		form.Set("image", c.Image)
	} else {
		set("image_url", c.Image)
	}
	for key, value := range c.Params {
		set((playpages.Param{Key: key}).FormName(), value)
	}
	for name, value := range c.Variables {
		set(varField+name, value)
	}
	for _, t := range c.Turns {
		calls := ""
		if len(t.Calls) > 0 {
			list := make([]playpages.ToolCall, len(t.Calls))
			for i, one := range t.Calls {
				list[i] = playpages.ToolCall{ID: one.ID, Name: one.Name, Arguments: one.Arguments}
			}
			written, err := json.Marshal(list)
			if err != nil {
				return nil, err
			}
			calls = string(written)
		}
		for name, value := range map[string]string{
			"turn_role": t.Role, "turn_text": t.Text, "turn_image": t.Image, "turn_note": "", "turn_calls": calls, "turn_call": t.Call,
		} {
			form.Add(name, value)
		}
	}
	return form, nil
}
