package console

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/markdown"
	"umg/app/prompt"
	"umg/views"
	playpages "umg/views/playground"
)

const (
	paramField = "param."
	varField   = "var_"
)

// savePrompt keeps a pane of the playground: as a version of the prompt that it names, or as a prompt of its own, which is
// asked for a name. The pages in between carry the prompt as a file.
func (c *Console) savePrompt(p *page) error {
	form, err := playValues(p)
	if err != nil {
		return err
	}
	content, err := savedContent(p, form)
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
		v.Shell, v.Title = c.shell(p), saveTitle
		return c.render(p, http.StatusOK, playpages.PromptSavePage(v))
	}
	made, err := c.o.Prompts.Create(p.Request().Context(), p.principal(), v.Name, content)
	if err != nil {
		return c.refuseSave(p, v, err)
	}
	return c.leave(p, made.Name+" is saved.", playgroundPath+"?prompt="+made.ID)
}

const saveTitle = "Save the prompt"

// refuseSave shows the page with the name again with what is wrong; other faults come back as they are.
func (c *Console) refuseSave(p *page, v playpages.PromptSave, err error) error {
	refusal, ours := errors.AsType[*app.Error](err)
	if !ours || refusal.Kind != app.Invalid && refusal.Kind != app.Conflict {
		return err
	}
	if refusal.Param == "name" {
		v.NameError = refusal.Message
	} else {
		v.FormError = refusal.Message
	}
	v.Shell, v.Title = c.shell(p), saveTitle
	return c.render(p, http.StatusUnprocessableEntity, playpages.PromptSavePage(v))
}

func (c *Console) saveVersion(p *page, id, base string, content prompt.Content) error {
	ctx, who := p.Request().Context(), p.principal()
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
		return c.render(p, http.StatusConflict, playpages.PromptConflictPage(playpages.PromptConflict{
			Shell: c.shell(p), Prompt: viewPrompt(one), Base: began, Document: string(file),
		}))
	}
	if err != nil {
		return c.refuseSave(p, playpages.PromptSave{}, err)
	}
	if number == began {
		return c.leave(p, "Nothing has changed since version "+base+".", playgroundPath+"?prompt="+id)
	}
	return c.leave(p, "Saved as version "+strconv.Itoa(number)+".", playgroundPath+"?prompt="+id)
}

// savedContent is what the form says: the fields of a pane, or the file that a page in between carries.
func savedContent(p *page, form url.Values) (prompt.Content, error) {
	if form.Has("document") {
		_, content, err := prompt.Import([]byte(form.Get("document")))
		return content, err
	}
	return paneContent(p, form)
}

func paneContent(p *page, form url.Values) (prompt.Content, error) {
	text := func(field string) string { return prompt.TextOf(form.Get(field)) }
	c := prompt.Content{
		Model: text("model"), Style: text("style"), Stream: form.Get("stream") == "true", System: text("system"), Prompt: text("prompt"),
		Image: cmp.Or(form.Get("image"), strings.TrimSpace(form.Get("image_url"))), ToolChoice: text("tool_choice"), Format: text("format"),
		SchemaName: text("schema_name"),
	}
	for field := range form {
		if key, ok := strings.CutPrefix(field, paramField); ok && form.Get(field) != "" {
			if c.Params == nil {
				c.Params = map[string]string{}
			}
			c.Params[prompt.TextOf(key)] = text(field)
		}
	}
	var err, failed error
	if c.Turns, failed = paneTurns(form); failed != nil {
		err = failed
	}
	if c.Tools, failed = prompt.JSONOf("tools", form.Get("tools")); failed != nil {
		err = failed
	}
	if c.Schema, failed = prompt.JSONOf("schema", form.Get("schema")); failed != nil {
		err = failed
	}
	if picture, failed := formFile(p, "image_file", imageBytesMax); failed != nil {
		err = failed
	} else if picture != nil {
		c.Image = "data:" + http.DetectContentType(picture) + ";base64," + base64.StdEncoding.EncodeToString(picture)
	}
	for _, name := range c.VariableNames() {
		if value := text(varField + name); value != "" {
			if c.Variables == nil {
				c.Variables = map[string]string{}
			}
			c.Variables[name] = value
		}
	}
	return c, err
}

// toolCallForm is a call in a form. What it is called with is a text; JSON that was not made one is taken as it is written.
type toolCallForm struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func paneTurns(form url.Values) ([]prompt.Turn, error) {
	at := func(name string, i int) string {
		if values := form[name]; i < len(values) {
			return prompt.TextOf(values[i])
		}
		return ""
	}
	var turns []prompt.Turn
	for i, role := range form["turn_role"][:min(len(form["turn_role"]), turnsMax)] {
		t := prompt.Turn{Role: role, Text: at("turn_text", i), Image: at("turn_image", i)}
		if role == prompt.Tool {
			t.Call = at("turn_call", i)
		}
		if written := at("turn_calls", i); written != "" && role == prompt.Assistant {
			var calls []toolCallForm
			if err := json.Unmarshal([]byte(written), &calls); err != nil {
				field := "turn_calls[" + strconv.Itoa(i) + "]"
				return nil, app.Errorf(app.Invalid, "invalid_request_error", "%s is not a JSON array of calls.", field).At(field).Because(err)
			}
			for _, one := range calls {
				call := prompt.Call{ID: one.ID, Name: one.Name}
				if json.Unmarshal(one.Arguments, &call.Arguments) != nil {
					call.Arguments = string(one.Arguments)
				}
				t.Calls = append(t.Calls, call)
			}
		}
		if t.Text != "" || t.Image != "" || len(t.Calls) > 0 || t.Call != "" {
			turns = append(turns, t)
		}
	}
	return turns, nil
}

// formFile is a file of a form; nil when none was sent.
func formFile(p *page, field string, bytesMax int64) ([]byte, error) {
	form := p.Request().MultipartForm
	if form == nil || len(form.File[field]) == 0 || form.File[field][0].Size == 0 {
		return nil, nil
	}
	file, err := form.File[field][0].Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, bytesMax+1))
	if err == nil && int64(len(raw)) > bytesMax {
		const kilo = 1000
		err = app.Errorf(app.Invalid, "invalid_request_error", "The file is larger than %d kB.", bytesMax/kilo).At(field)
	}
	return raw, err
}

// viewContent is a content to read.
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
