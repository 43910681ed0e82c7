package playground

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/prompt"
	"umg/views"
	playpages "umg/views/playground"
)

const (
	imageBytesMax   = 500_000 // A body has at most one mebibyte, and later turns send the image again.
	turnsMax        = 500
	varPrefix       = "var_"
	formMemoryBytes = 8 << 20
	filledBytesMax  = 4 << 20 // This bounds all texts of a request, in bytes, after variables are filled in.
)

// imageData is an image of a kind that every style can carry.
var imageData = regexp.MustCompile(`^data:(image/(?:png|jpeg|webp|gif));base64,([A-Za-z0-9+/]+={0,2})$`)

// pane is one request of the playground: the form of a pane, and the model that it is for.
type pane struct {
	view        playpages.Playground
	form        url.Values
	model       *catalog.Model
	style       llm.Style
	action      string
	formErr     error // The form itself has this error, which the page shows.
	filledBytes int   // This counts the bytes of all texts of one request after variables are filled in.
}

// readPanes reads the form of a pane, or all panes that an address names. Invalid input is kept in the view and noted in formErr, so that
// the page can show it again. Only a form that cannot be parsed is an error.
func (c *Console) readPanes(p *page.Page) (*pane, error) {
	if run, err := c.runPanes(p); run != nil || err != nil {
		return run, err
	}
	form, err := FormValues(p)
	if err == nil && p.Request().Method != http.MethodPost {
		form, err = c.linkValues(p, form)
	}
	if err != nil {
		return nil, err
	}
	models := form["model"]
	if len(models) == 0 {
		models = []string{""}
	}
	s := c.readPane(p, form, models[0])
	if p.Request().Method == http.MethodPost {
		return s, nil
	}
	for i, model := range models[1:min(len(models), playpages.PanesMax)] { // The other panes stand beside the first.
		other := c.readPane(p, form, model)
		other.view.Number = i + 1
		s.view.Others = append(s.view.Others, other.view.Pane)
	}
	return s, nil
}

func (c *Console) readPane(p *page.Page, form url.Values, model string) *pane {
	s := &pane{form: form, action: form.Get("do")}
	if n, err := strconv.Atoi(form.Get("pane")); err == nil && n > 0 && n < playpages.PanesMax {
		s.view.Number = n
	}
	s.view.Form = playpages.Form{
		System: PlainLines(form.Get("system")), Prompt: PlainLines(form.Get("prompt")), ImageURL: strings.TrimSpace(form.Get("image_url")),
		Image: form.Get("image"), Stream: form.Get("stream") == "true",
		Tools: PlainLines(form.Get("tools")), ToolChoice: form.Get("tool_choice"), Format: form.Get("format"),
		SchemaName: strings.TrimSpace(form.Get("schema_name")), Schema: PlainLines(form.Get("schema")),
		PromptID: form.Get("prompt_id"), PromptVersion: form.Get("prompt_version"), OwnSettings: form.Get("own_settings") == "true",
	}
	s.view.Form.Turns, s.formErr = readTurns(form)
	s.readVars()
	c.chooseModel(p, s, model, form.Get("style"))
	if s.model == nil {
		return s
	}
	if err := s.takeImage(p); err != nil {
		s.formErr = errors.Join(s.formErr, err)
	}
	return s
}

// readVars finds the variables in the texts, with their values in the form.
func (s *pane) readVars() {
	f := &s.view.Form
	// Variables are filled into the texts that people write. What a model or a tool has said is sent back unchanged.
	texts := []string{f.System}
	for _, t := range f.Turns {
		if !t.Answer && t.CallID == "" {
			texts = append(texts, t.Text)
		}
	}
	for _, name := range prompt.Variables(strings.Join(append(texts, f.Prompt), "\n")) {
		f.Vars = append(f.Vars, playpages.Variable{Name: name, Value: PlainLines(s.form.Get(varPrefix + name))})
	}
}

// fillVariables returns a text with the values of its variables. The error names a variable without a value.
func (s *pane) fillVariables(text string) (string, error) {
	values := map[string]string{}
	for _, v := range s.view.Form.Vars {
		if v.Value != "" {
			values[v.Name] = v.Value
		}
	}
	text, err := prompt.Fill(text, values)
	if s.filledBytes += len(text); err == nil && s.filledBytes > filledBytesMax {
		err = app.Errorf(app.TooLarge, "request_too_large",
			"With its variables filled in, the conversation is larger than %d MB. Use shorter values.", filledBytesMax>>20)
	}
	return text, err
}

// setStyle chooses a style of the model, and reads the parameters of that style from the form.
func (s *pane) setStyle(style views.Style) {
	s.view.Style, s.style, s.view.Params = style, llm.Style(style), nil
	contract, ok := s.model.Contract(s.style)
	if !ok {
		return
	}
	s.view.Params = paramsOf(contract.Schema())
	for i := range s.view.Params {
		one := &s.view.Params[i]
		one.Value = PlainLines(s.form.Get(one.FormName()))
		if _, err := paramValue(*one, one.Value); err != nil {
			one.Error = app.AsError(err).Message
		}
	}
}

// FormValues returns the fields of the form, or of the address when no form was sent.
func FormValues(p *page.Page) (url.Values, error) {
	if p.Request().Method != http.MethodPost {
		return p.QueryParams(), nil
	}
	return p.ReadForm(formMemoryBytes, "The conversation with its images is larger than this page takes. Start over, or use smaller images.")
}

// linkValues returns the fields that a link fills in: those of the saved prompt that it names, and its own.
func (c *Console) linkValues(p *page.Page, query url.Values) (url.Values, error) {
	form := url.Values{}
	if query.Get("prompt") != "" {
		saved, err := c.promptValues(p)
		if err != nil {
			return nil, err
		}
		if saved != nil {
			form = saved
		}
	}
	if text, ok := query["prompt_text"]; ok {
		form["prompt"] = text
	}
	for name, values := range query {
		if name != "prompt" && name != "prompt_text" {
			form[name] = values
		}
	}
	return form, nil
}

// PlainLines returns a text of a form with the line breaks that the reader typed. Browsers send others.
func PlainLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// chooseModel chooses the requested model and style, or others where these are not available. The list has paused models too, which a
// link cannot choose. A form that was sent keeps its model, so that the call says why it cannot be made.
func (c *Console) chooseModel(p *page.Page, s *pane, model, style string) {
	snapshot := c.o.Catalog.Snapshot().For(p.User.AccountID)
	all := c.o.ViewModels(p)
	s.listModels(snapshot, all)
	sent := p.Request().Method == http.MethodPost
	first := slices.IndexFunc(s.view.Models, func(v views.Model) bool { return v.Callable() || sent && v.ID == model })
	if first < 0 {
		s.view.Models = nil
		return
	}
	s.view.Model = s.view.Models[first]
	asked := slices.IndexFunc(all, func(v views.Model) bool { return v.ID == model })
	if cheapest, ok := snapshot.Cheapest(llm.Chat); ok && model == "" {
		model = cheapest.ID
	}
	if asked >= 0 && all[asked].NeedsOther() {
		s.view.Warned = &all[asked]
		if instead := all[asked].Now.Instead; !sent && !all[asked].Callable() && len(instead) > 0 {
			model = instead[0].ID
		}
	}
	for _, v := range s.view.Models {
		if v.ID == model && (sent || v.Callable()) {
			s.view.Model = v
		}
	}
	s.model, _ = snapshot.Model(s.view.Model.ID)
	s.view.ImageMax = imageBytesMax
	if style == "" {
		style = p.Cookie(page.StyleCookie)
	}
	if !slices.Contains(s.view.Model.Styles, views.Style(style)) {
		style = string(s.view.Model.Styles[0])
	}
	s.setStyle(views.Style(style))
}

// listModels lists the models that can be called, and paused ones, with the styles that the playground supports.
func (s *pane) listModels(snapshot *catalog.Snapshot, all []views.Model) {
	for _, v := range all {
		m, known := snapshot.Model(v.ID)
		if !known || !v.Callable() && v.State != views.ModelPaused || len(stylesOf(m)) == 0 {
			continue
		}
		v.Styles = stylesOf(m)
		s.view.Models = append(s.view.Models, v)
	}
}

// stylesOf returns the styles of a model that the playground supports.
func stylesOf(m *catalog.Model) []views.Style {
	var styles []views.Style
	for _, s := range m.Served() {
		if d, ok := dialect.Of(s); ok && d.Codec != nil {
			styles = append(styles, views.Style(s))
		}
	}
	return styles
}

// takeImage makes a data URL of an uploaded file, and checks images that the form names otherwise.
func (s *pane) takeImage(p *page.Page) error {
	f := &s.view.Form
	if !slices.Contains(s.model.InputModalities, "image") {
		f.Image, f.ImageURL = "", ""
		return nil
	}
	if f.ImageURL != "" && !strings.HasPrefix(f.ImageURL, "https://") {
		return app.Errorf(app.Invalid, "invalid_request_error", "The address of the image must begin with https://.").At("image_url")
	}
	raw, err := FormFile(p, "image_file", imageBytesMax)
	switch {
	case app.KindOf(err) == app.Invalid:
		return tooLargeImage(f)
	case err != nil:
		return err
	case len(raw) > 0:
		f.Image = "data:" + http.DetectContentType(raw) + ";base64," + base64.StdEncoding.EncodeToString(raw)
	}
	return checkImage(f)
}

func checkImage(f *playpages.Form) error {
	switch {
	case f.Image == "":
		return nil
	case base64.StdEncoding.DecodedLen(len(f.Image)) > imageBytesMax+len(f.Image)/100: // The length includes the prefix.
		return tooLargeImage(f)
	case !imageData.MatchString(f.Image):
		f.Image = ""
		return app.Errorf(app.Invalid, "invalid_request_error", "The file is not a PNG, JPEG, WebP or GIF image.").At("image_file")
	}
	return nil
}

func tooLargeImage(f *playpages.Form) error {
	f.Image = ""
	return app.Errorf(app.Invalid, "invalid_request_error", "The image is larger than %d kB.", imageBytesMax/1000).At("image_file")
}
