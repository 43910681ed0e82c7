package console

import (
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/console/page"
	"umg/app/console/playground"
	"umg/app/video"
	"umg/views"
	videopages "umg/views/videos"
)

const (
	videoPlayPath    = playground.Path + "/video"
	videoRemixRoute  = page.ConsolePath + "/videos/:id/remix"
	videoImageMax    = 20 << 20 // The API has the same limit in bytes.
	videoFormMemory  = 4 << 20  // The rest of a form is stored on disk.
	videoStartedMax  = 8        // The page keeps at most this many started videos.
	videoSizeBest    = "1280x720"
	videoSecondsBest = 8
	videoPromptParam = "prompt"
	videoImageParam  = "input_reference"
	videoAssetsParam = "asset_ids"
)

// videoFields are the fields of the form that can show a refusal.
var videoFields = []string{"model", "prompt", "size", "seconds", videoImageParam, videoAssetsParam}

// videoPlay shows the form, filled in from the address: a link may bring a prompt along.
func (c *Console) videoPlay(p *page.Page) error {
	v, err := c.videoForm(p, p.QueryParams())
	if err != nil {
		return err
	}
	return c.renderVideoPlay(p, http.StatusOK, v)
}

func (c *Console) renderVideoPlay(p *page.Page, status int, v videopages.Playground) error {
	v.Shell = c.Shell(p)
	v.Path = videoPlayPath
	return c.Render(p, status, videopages.PlaygroundPage(v))
}

// videoModels are the models that make videos for the account today, and paused and failing ones with their state.
func (c *Console) videoModels(p *page.Page) []videopages.Model {
	var models []videopages.Model
	states := c.pickedModels(p)
	for i, m := range c.catalogFor(p).Models() {
		state := states[i]
		if m.VideoContract() == nil || len(m.Sizes) == 0 || len(m.Seconds) == 0 || !state.Callable() && state.State != views.ModelPaused {
			continue
		}
		v := videopages.Model{
			ID: m.ID, Name: m.Name, Owner: m.Owner, Description: m.Description, Sizes: m.Sizes, PerSecond: map[string]app.Amount{},
			Pictures: slices.Contains(m.InputModalities, "image"), State: state,
		}
		if c.o.Assets != nil {
			v.Assets = m.AssetsMax
		}
		for _, n := range m.Seconds {
			v.Seconds = append(v.Seconds, int(n))
		}
		for _, size := range m.Sizes {
			v.PerSecond[size] = secondOf(m, size)
		}
		models = append(models, v)
	}
	if !slices.ContainsFunc(models, videopages.Model.Callable) {
		return nil
	}
	return models
}

// chooseVideoModel returns the place of the model to show for the one that a form or a link names. A form that was sent keeps its model,
// so that the call says why it cannot be made. A link to a paused model shows another, and the warning names the paused one.
func chooseVideoModel(v *videopages.Playground, id string, sent bool) int {
	place := func(id string, open bool) int {
		return slices.IndexFunc(v.Models, func(m videopages.Model) bool { return m.ID == id && (m.Callable() || !open) })
	}
	at := place(id, false)
	if at >= 0 {
		if m := &v.Models[at]; m.State.NeedsOther() {
			v.Warned = &m.State
		}
		if v.Models[at].Callable() || sent {
			return at
		}
		for _, other := range v.Models[at].State.Now.Instead {
			if instead := place(other.ID, true); instead >= 0 {
				return instead
			}
		}
	}
	return slices.IndexFunc(v.Models, videopages.Model.Callable)
}

// videoForm returns the form with the values of an address or of a sent form. Values that the model does not support are replaced.
func (c *Console) videoForm(p *page.Page, values url.Values) (videopages.Playground, error) {
	v := videopages.Playground{Models: c.videoModels(p), ImageMax: videoImageMax, Errors: map[string]string{}}
	if len(v.Models) == 0 {
		return v, nil
	}
	ctx := p.Request().Context()
	ask, err := c.o.Accounts.VideoAskAbove(ctx, p.User.ID)
	if err != nil {
		return v, err
	}
	v.Ask, v.Once = ask, c.onceToken()
	m := v.Models[chooseVideoModel(&v, values.Get("model"), p.Request().Method == http.MethodPost)]
	f := videopages.Form{Model: m.ID, Prompt: playground.PlainLines(values.Get(videoPromptParam)), Size: values.Get("size")}
	f.Seconds, _ = strconv.Atoi(values.Get("seconds"))
	if !slices.Contains(m.Sizes, f.Size) {
		f.Size = m.Sizes[0]
		if slices.Contains(m.Sizes, videoSizeBest) {
			f.Size = videoSizeBest
		}
	}
	if !slices.Contains(m.Seconds, f.Seconds) {
		f.Seconds = m.Seconds[0]
		if slices.Contains(m.Seconds, videoSecondsBest) {
			f.Seconds = videoSecondsBest
		}
	}
	if also := values.Get("also"); also != m.ID && slices.ContainsFunc(v.Models, func(m videopages.Model) bool { return m.ID == also }) {
		f.Also = also
	}
	v.Form = f
	c.chooseAssets(p, &v, values[videoAssetsParam])
	for _, id := range values["started"][:min(len(values["started"]), videoStartedMax)] {
		if job, err := c.o.Videos.Get(ctx, p.User.AccountID, id); err == nil {
			v.Started = append(v.Started, c.viewVideo(job, ""))
		}
	}
	return v, nil
}

// videoMake answers the form: with the page and the videos on it for the script; without scripts by leading to the video.
func (c *Console) videoMake(p *page.Page) error {
	values, upload, err := videoValues(p)
	if err != nil {
		return err
	}
	v, err := c.videoForm(p, values)
	if err != nil {
		return err
	}
	v.Form.HadImage = upload != nil
	if len(v.Models) == 0 || values.Get("do") == "settings" {
		return c.renderVideoPlay(p, http.StatusOK, v)
	}
	calls := []video.Call{videoCall(p, v.Form, v.Form.Model, upload)}
	if v.Form.Also != "" {
		calls = append(calls, videoCall(p, v.Form, v.Form.Also, upload))
	}
	for i, one := range calls {
		quote, err := c.o.Videos.Quote(p.Request().Context(), one)
		if err != nil {
			return c.refuseVideo(p, v, i, err)
		}
		v.Total += quote.Cost
	}
	if v.Total > v.Ask && values.Get("agreed") != v.Total.String() {
		v.Confirm = true
		return c.renderVideoPlay(p, http.StatusUnprocessableEntity, v)
	}
	return c.makeVideos(p, v, calls, values.Get("once"))
}

// makeVideos makes the videos of the form one by one. If one is rejected, the form that is shown again asks for that one alone, so that
// the reader does not pay for the other twice.
func (c *Console) makeVideos(p *page.Page, v videopages.Playground, calls []video.Call, once string) error {
	var made []videopages.Video
	refused, refusal := 0, error(nil)
	for i, one := range calls {
		job, err := c.videoOnce(p, one, once)
		if err == nil {
			made = append(made, c.viewVideo(job, ""))
		} else if refusal == nil {
			refused, refusal = i, err
		}
	}
	v.Started = append(made, v.Started...)
	if refusal != nil {
		if len(made) > 0 {
			if refused > 0 {
				v.Form.Model = v.Form.Also
			}
			v.Form.Also, refused = "", 0
			named := *app.AsError(refusal)
			named.Message = v.Form.Model + ": " + named.Message
			refusal = &named
		}
		return c.refuseVideo(p, v, refused, refusal)
	}
	if p.ForScript() {
		return c.renderVideoPlay(p, http.StatusOK, v)
	}
	if len(made) == 1 {
		return p.Redirect(http.StatusSeeOther, videopages.Path(made[0].ID))
	}
	next := url.Values{"model": {v.Form.Model}, "also": {v.Form.Also}, "size": {v.Form.Size}, "seconds": {strconv.Itoa(v.Form.Seconds)}}
	for _, one := range made {
		next.Add("started", one.ID)
	}
	return p.Redirect(http.StatusSeeOther, videoPlayPath+"?"+next.Encode())
}

// refuseVideo shows the form again with the refusal beside its field. The second of two calls is that of the other model.
func (c *Console) refuseVideo(p *page.Page, v videopages.Playground, call int, err error) error {
	refusal := app.AsError(err)
	if refusal.Kind == app.Internal {
		return err
	}
	asked := v.Form.Model
	if call > 0 {
		asked = v.Form.Also
	}
	c.recordVideoRefusal(p, videoPlayPath, asked, err)
	field, _, _ := strings.Cut(refusal.Param, "[")
	switch {
	case call > 0 && slices.Contains([]string{"model", "size", "seconds", videoAssetsParam}, field):
		v.Errors["also"] = refusal.Message
	case slices.Contains(videoFields, field):
		v.Errors[field] = refusal.Message
	default:
		trouble := playground.CallTrouble(err, p.RequestID())
		if call > 0 {
			trouble.Message = v.Form.Also + ": " + trouble.Message
		}
		v.Trouble = &trouble
	}
	status := page.Status(refusal.Kind)
	if status == http.StatusBadRequest || status >= http.StatusInternalServerError {
		status = http.StatusUnprocessableEntity // The page shows the refusal, and scripts insert pages with this status.
	}
	return c.renderVideoPlay(p, status, v)
}

// videoValues reads the form to its end, and the picture that came with it.
func videoValues(p *page.Page) (url.Values, *video.Upload, error) {
	r := p.Request()
	values, err := p.ReadForm(videoFormMemory, fmt.Sprintf("The picture is too large. It may have at most %d MB.", videoImageMax>>20))
	if err != nil {
		return nil, nil, err
	}
	if r.MultipartForm == nil {
		return values, nil, nil
	}
	defer func() { _ = r.MultipartForm.RemoveAll() }()
	files := r.MultipartForm.File[videoImageParam]
	if len(files) == 0 || files[0].Size == 0 {
		return values, nil, nil // Browsers send a field without a file as an empty file.
	}
	upload, err := readUpload(files[0])
	return values, upload, err
}

func readUpload(head *multipart.FileHeader) (*video.Upload, error) {
	f, err := head.Open()
	if err == nil {
		defer func() { _ = f.Close() }()
		var data []byte
		if data, err = io.ReadAll(f); err == nil {
			return &video.Upload{Name: head.Filename, Type: head.Header.Get("Content-Type"), Data: data}, nil
		}
	}
	return nil, app.Errorf(app.Invalid, "invalid_body", "The picture could not be read.").Because(err)
}

// videoCall is the call of one model, with the form as the body of POST /v1/videos. It is the account's, made by its user and not by a key.
func videoCall(p *page.Page, f videopages.Form, model string, upload *video.Upload) video.Call {
	members := map[string]any{"model": model, "prompt": f.Prompt, "size": f.Size, "seconds": strconv.Itoa(f.Seconds)}
	if len(f.Assets) > 0 {
		members[videoAssetsParam] = f.Assets
	}
	return video.Call{Principal: p.Principal(), LimitFactor: p.LimitFactor(), Body: jsonOf(members), Upload: upload}
}

// jsonOf encodes an object of texts and lists of texts.
func jsonOf(members map[string]any) []byte {
	body, err := json.Marshal(members)
	if err != nil {
		return []byte("{}")
	}
	return body
}

// remixOf returns the form that makes a remix of a video, at the present price.
func (c *Console) remixOf(p *page.Page, j video.Job) videopages.Remix {
	r := videopages.Remix{Prompt: j.Prompt}
	m, ok := c.catalogFor(p).Model(j.Model)
	switch {
	case j.State != video.Completed:
		return videopages.Remix{}
	case j.PurgedAt != nil || j.ExpiresAt != nil && !c.o.Now().Before(*j.ExpiresAt):
		r.Closed = "The files of this video are not kept any more, so nothing can be made from it."
	case !ok || m.RemixContract() == nil || !c.board(p).Of(j.Model).IsCallable():
		r.Closed = "The model " + j.Model + " makes no videos right now."
	default:
		r.PerSecond = secondOf(m, j.Size)
		r.Cost = r.PerSecond * app.Amount(j.Seconds)
	}
	return r
}

// remixVideo makes another video from one.
func (c *Console) remixVideo(p *page.Page) error {
	d, err := c.videoDetail(p)
	if err != nil {
		return err
	}
	d.Remix.Prompt = playground.PlainLines(p.FormValue(videoPromptParam))
	again := func(status int) error { return c.Render(p, status, videopages.DetailPage(d)) }
	call := video.Call{
		Principal: p.Principal(), LimitFactor: p.LimitFactor(), Source: d.Video.ID,
		Body: jsonOf(map[string]any{"prompt": d.Remix.Prompt}),
	}
	ask, err := c.o.Accounts.VideoAskAbove(p.Request().Context(), p.User.ID)
	if err != nil {
		return err
	}
	d.Remix.Ask, d.Remix.Once = ask, c.onceToken()
	quote, err := c.o.Videos.Quote(p.Request().Context(), call)
	if err == nil && quote.Cost > ask && p.FormValue("agreed") != quote.Cost.String() {
		d.Remix.PerSecond, d.Remix.Cost, d.Remix.Confirm = quote.PerSecond, quote.Cost, true
		return again(http.StatusUnprocessableEntity)
	}
	var made video.Job
	if err == nil {
		made, err = c.videoOnce(p, call, p.FormValue("once"))
	}
	if err != nil {
		refusal := app.AsError(err)
		if refusal.Kind == app.Internal {
			return err
		}
		c.recordVideoRefusal(p, videoRemixRoute, d.Video.Model, err)
		if refusal.Param == videoPromptParam {
			d.Remix.PromptError = refusal.Message
		} else {
			trouble := playground.CallTrouble(err, p.RequestID())
			d.Remix.Error, d.Remix.NoCredit = strings.TrimSpace(trouble.Words()), trouble.NoCredit
		}
		return again(http.StatusUnprocessableEntity)
	}
	return p.Redirect(http.StatusSeeOther, videopages.Path(made.ID))
}
