package console

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/views"
)

const (
	imageBytesMax   = 500_000 // a page takes a body of one mebibyte, and later turns send the image again
	turnsMax        = 500
	formMemoryBytes = 8 << 20
)

// imageData is an image of a kind that every style can carry.
var imageData = regexp.MustCompile(`^data:(image/(?:png|jpeg|webp|gif));base64,([A-Za-z0-9+/]+={0,2})$`)

// play is one request of the playground: what the form says, and the model it is for.
type play struct {
	view   views.Playground
	model  *catalog.Model
	style  llm.Style
	action string
	refuse error // what is wrong with the form itself
}

// readPlay reads the form. What a person may have mistyped is kept in the view and noted in refuse, so that the page can
// be shown again with it; only a form that cannot be read at all is an error.
func (c *Console) readPlay(p *page) (*play, error) {
	form, err := playValues(p)
	if err != nil {
		return nil, err
	}
	s := &play{action: form.Get("do")}
	s.view.Form = views.PlayForm{
		System: plainLines(form.Get("system")), Prompt: plainLines(form.Get("prompt")), ImageURL: strings.TrimSpace(form.Get("image_url")),
		Image: form.Get("image"), Stream: form.Get("stream") == "true", Turns: readTurns(form),
	}
	c.choosePlay(p, s, form.Get("model"), form.Get("style"))
	if s.model == nil {
		return s, nil
	}
	for i := range s.view.Params {
		one := &s.view.Params[i]
		one.Value = plainLines(form.Get(one.FormName()))
		if _, err := paramValue(*one, one.Value); err != nil {
			one.Error = app.AsError(err).Message
			s.refuse = errors.Join(s.refuse, err)
		}
	}
	if err := s.takeImage(p); err != nil {
		s.refuse = errors.Join(s.refuse, err)
	}
	return s, nil
}

// playValues reads the body to its very end: the limit on its time is lifted only there, and an answer may take longer.
func playValues(p *page) (url.Values, error) {
	r := p.Request()
	if r.Method != http.MethodPost {
		return p.QueryParams(), nil
	}
	err := r.ParseMultipartForm(formMemoryBytes)
	if errors.Is(err, http.ErrNotMultipart) {
		err = nil // ParseMultipartForm has read the plain form
	}
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, app.Errorf(app.TooLarge, "request_too_large",
			"The conversation with its images is larger than this page takes. Start over, or use smaller images.")
	}
	if err != nil {
		return nil, app.Errorf(app.Invalid, "invalid_body", "The form could not be read.").Because(err)
	}
	return r.PostForm, nil
}

// plainLines undoes what browsers do to line breaks in forms.
func plainLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func readTurns(form url.Values) []views.PlayTurn {
	at := func(name string, i int) string {
		if values := form[name]; i < len(values) {
			return plainLines(values[i])
		}
		return ""
	}
	var turns []views.PlayTurn
	for i, role := range form["turn_role"][:min(len(form["turn_role"]), turnsMax)] {
		t := views.PlayTurn{
			Answer: role == "assistant", Text: at("turn_text", i), Image: at("turn_image", i), Note: at("turn_note", i),
		}
		if t.Text != "" || t.Image != "" {
			turns = append(turns, t)
		}
	}
	return turns
}

// choosePlay finds the model and the style, the wanted ones where they can be had, and what goes with them.
func (c *Console) choosePlay(p *page, s *play, model, style string) {
	snapshot := c.o.Catalog.Snapshot()
	for _, m := range snapshot.Models() {
		if v := viewModel(m, p.factor()); v.Callable() && len(playStyles(m)) > 0 {
			v.Styles = playStyles(m)
			s.view.Models = append(s.view.Models, v)
		}
	}
	if len(s.view.Models) == 0 {
		return
	}
	s.view.Model = s.view.Models[0]
	if cheapest, ok := snapshot.Cheapest(llm.Chat); ok && model == "" {
		model = cheapest.ID
	}
	for _, v := range s.view.Models {
		if v.ID == model {
			s.view.Model = v
		}
	}
	s.model, _ = snapshot.Model(s.view.Model.ID)
	s.view.Style = s.view.Model.Styles[0]
	if style == "" {
		style = preferred(p, styleCookie)
	}
	if slices.Contains(s.view.Model.Styles, views.Style(style)) {
		s.view.Style = views.Style(style)
	}
	s.style = llm.Style(s.view.Style)
	s.view.ImageMax = imageBytesMax
	if contract, ok := s.model.Contract(s.style); ok {
		s.view.Params = paramsOf(contract.Schema())
	}
}

// playStyles are the styles that a model answers in and the playground can write and read.
func playStyles(m *catalog.Model) []views.Style {
	var styles []views.Style
	for _, s := range m.Served() {
		if d, ok := dialect.Of(s); ok && d.Codec != nil {
			styles = append(styles, views.Style(s))
		}
	}
	return styles
}

// takeImage makes a data URL of a file that was sent, and checks what else names an image.
func (s *play) takeImage(p *page) error {
	f := &s.view.Form
	if !slices.Contains(s.model.InputModalities, "image") {
		f.Image, f.ImageURL = "", ""
		return nil
	}
	if f.ImageURL != "" && !strings.HasPrefix(f.ImageURL, "https://") {
		return app.Errorf(app.Invalid, "invalid_request_error", "The address of the image must begin with https://.").At("image_url")
	}
	if p.Request().MultipartForm == nil || len(p.Request().MultipartForm.File["image_file"]) == 0 {
		return checkImage(f)
	}
	file, err := p.Request().MultipartForm.File["image_file"][0].Open()
	if err != nil {
		return err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, imageBytesMax+1))
	if err != nil {
		return err
	}
	if len(raw) > imageBytesMax {
		return tooLargeImage(f)
	}
	if len(raw) > 0 {
		f.Image = "data:" + http.DetectContentType(raw) + ";base64," + base64.StdEncoding.EncodeToString(raw)
	}
	return checkImage(f)
}

func checkImage(f *views.PlayForm) error {
	switch {
	case f.Image == "":
		return nil
	case base64.StdEncoding.DecodedLen(len(f.Image)) > imageBytesMax+len(f.Image)/100: // its prefix is not of the image
		return tooLargeImage(f)
	case !imageData.MatchString(f.Image):
		f.Image = ""
		return app.Errorf(app.Invalid, "invalid_request_error", "The file is not a PNG, JPEG, WebP or GIF image.").At("image_file")
	}
	return nil
}

func tooLargeImage(f *views.PlayForm) error {
	f.Image = ""
	return app.Errorf(app.Invalid, "invalid_request_error", "The image is larger than %d kB.", imageBytesMax/1000).At("image_file")
}

// newTurn is the turn that the form's prompt and image make.
func (s *play) newTurn() views.PlayTurn {
	f := s.view.Form
	t := views.PlayTurn{Text: f.Prompt, Image: f.Image}
	if t.Image == "" {
		t.Image = f.ImageURL
	}
	return t
}

// edit makes a turn the prompt again and drops it and what follows.
func (s *play) edit(number int) {
	f := &s.view.Form
	if number < 0 || number >= len(f.Turns) || f.Turns[number].Answer {
		return
	}
	t := f.Turns[number]
	f.Prompt, f.Image, f.ImageURL, f.Turns = t.Text, "", "", f.Turns[:number]
	if imageData.MatchString(t.Image) {
		f.Image = t.Image
	} else {
		f.ImageURL = t.Image
	}
}
