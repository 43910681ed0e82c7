package video

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cmp"
	"context"
	"slices"

	"umg/app"
	"umg/app/catalog"
	"umg/app/meter"
	"umg/app/ratelimit"
	"umg/billing"
)

const (
	secondsMax       = 3600
	endUserRunesMax  = 256
	shownRunesMax    = 64 // An error repeats at most this many runes of a caller's text.
	paramImage       = "input_reference"
	paramRemixed     = "remix_video_id"
	paramAssets      = "asset_ids"
	paramSource      = "video_id" // This parameter is in the path.
	codeInvalid      = "invalid_request_error"
	codeMissingVideo = "video_not_found"
)

// Call is a request for a video.
type Call struct {
	// ID is the id for the job, or empty for a new one. A second call with the same id gets the same job.
	ID          string
	Principal   app.Principal
	Key         ratelimit.Key // Key has the limits of the calling key. It is zero for a member in the console.
	LimitFactor int           // LimitFactor multiplies the usual limits of the account. Zero means one.
	// Place is the slot that the call took before its body was read; nil when it took none.
	Place     *ratelimit.Slot
	Body      []byte  // Body is a JSON object, even if the call came as a form.
	Upload    *Upload // Upload is the first frame from a form, or nil.
	Source    string  // Source is the id of the video to change, if the path names one.
	Headers   http.Header
	RequestID string // RequestID is the id of the request that makes the call, for traces.
}

// Upload is a file as a form brought it.
type Upload struct {
	Name, Type string // The form declares these values, which are not trusted.
	Data       []byte
}

// members are what a body may say of a video, as they stand in it.
type members struct {
	Model     jsontext.Value `json:"model"`
	Prompt    jsontext.Value `json:"prompt"`
	Size      jsontext.Value `json:"size"`
	Seconds   jsontext.Value `json:"seconds"`
	Reference jsontext.Value `json:"input_reference"`
	Remixed   jsontext.Value `json:"remix_video_id"`
	Assets    jsontext.Value `json:"asset_ids"`
	User      jsontext.Value `json:"user"`
}

// createParams is what a body asks for. Zero values were not said.
type createParams struct {
	prompt, size string
	seconds      int
	imageURL     string
	endUser      string
	assets       []string // These are the ids of the assets to make the video with.
}

// peek finds the members of a body whose model, and so whose contract, is not known yet. Names that come twice and broken
// texts are left to the contract.
func (c *Call) peek() (members, error) {
	var m members
	raw := jsontext.Value(c.Body)
	if kind := raw.Kind(); kind != '{' {
		switch {
		case len(strings.TrimSpace(string(c.Body[:min(len(c.Body), shownRunesMax)]))) == 0:
			return m, errJSON("The body is empty; it must be a JSON object.", io.ErrUnexpectedEOF)
		case raw.IsValid():
			return m, errJSON("The body must be a JSON object.", nil)
		}
	}
	err := json.Unmarshal(c.Body, &m, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		return m, nil
	}
	if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return m, errJSON("The body is not valid JSON near byte "+strconv.FormatInt(at.ByteOffset+1, 10)+".", err)
	}
	return m, errJSON("The body is not valid JSON.", err)
}

// prepare understands a call, finds its model and routes, checks it against the contract, fills in what was left out and prices it.
func (s *Service) prepare(ctx context.Context, c *Call) (*plan, error) {
	m, err := c.peek()
	if err != nil {
		return nil, err
	}
	p, now := &plan{}, s.o.Now()
	id, err := modelOf(m, c.Source != "")
	if err != nil {
		return nil, err
	}
	if c.Source != "" { // The source has the members that the body leaves out.
		if err = s.loadSource(ctx, c, p, c.Source, paramSource); err != nil {
			return nil, err
		}
		id = cmp.Or(id, p.source.Model)
	}
	if p.model, err = s.choose(c.Principal, id, now); err != nil {
		return nil, err
	}
	if err = checkBody(p.model, c); err != nil {
		return nil, err
	}
	if p.params, err = m.read(); err != nil {
		return nil, err
	}
	if remixed := text(m.Remixed); c.Source == "" && remixed != "" {
		if err = s.loadSource(ctx, c, p, remixed, paramRemixed); err != nil {
			return nil, err
		}
	}
	return p, s.complete(c, p)
}

// loadSource finds the video that a call wants to change.
func (s *Service) loadSource(ctx context.Context, c *Call, p *plan, id, param string) error {
	row, err := visible(ctx, s.db, c.Principal.AccountID, id)
	if err == nil {
		err = row.ready(s.o.Now())
	}
	if e, ok := errors.AsType[*app.Error](err); ok && (e.Kind == app.NotFound || e.Kind == app.Invalid) {
		return e.At(param)
	}
	p.source, p.sourceParam = &row, param
	return err
}

// checkFrame refuses a picture where there can be none.
func (p *plan) checkFrame(c *Call) error {
	switch {
	case c.Upload == nil && p.params.imageURL == "":
		return nil
	case p.source != nil:
		return badImage("A remix begins with its source; leave input_reference out.")
	case !slices.Contains(p.model.InputModalities, "image"):
		return badImage("The model " + p.model.ID + " takes no picture as its first frame; leave input_reference out.")
	}
	return nil
}

// costOf is the price of a video of so many seconds.
func costOf(card billing.RateCard, seconds int64) (app.Amount, error) {
	var usage meter.Counts
	usage[meter.Seconds] = seconds * millisecondsPerSecond
	return card.Cost(usage, meter.Terms{})
}

// invalid is the error for a member of the call that is wrong.
func invalid(param, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, codeInvalid, format, args...).At(param)
}

func errJSON(message string, cause error) error {
	return app.Errorf(app.Invalid, "invalid_json", "%s", message).Because(cause)
}

// modelOf is the model that a body names. Only a remix may leave it out: of a model that is not there, the empty text.
func modelOf(m members, isRemix bool) (string, error) {
	if absent(m.Model) {
		if isRemix {
			return "", nil
		}
		e := invalid("model", "model is required; it must be the id of a model that makes videos, such as GET /v1/models lists.")
		e.Missing = true
		return "", e
	}
	id := text(m.Model)
	if id == "" {
		return "", invalid("model", "model must be a non-empty string: the id of a model that makes videos, such as GET /v1/models lists.")
	}
	return id, nil
}

// checkBody holds a body against what the model accepts.
func checkBody(m *catalog.Model, c *Call) error {
	contract := m.VideoContract()
	if c.Source != "" {
		contract = m.RemixContract()
	}
	if contract == nil {
		return noModel("The model %s makes no videos. GET /v1/models lists those that do.", m.ID)
	}
	return contract.Check(c.Body)
}

// read takes the members of a body that has kept its contract.
func (m members) read() (createParams, error) {
	w := createParams{
		prompt: text(m.Prompt), size: text(m.Size), endUser: firstRunes(strings.ReplaceAll(text(m.User), "\x00", ""), endUserRunesMax),
	}
	if strings.TrimSpace(w.prompt) == "" {
		return createParams{}, invalid("prompt", "prompt is blank; say what the video shows.")
	}
	if strings.ContainsRune(w.prompt, 0) {
		return createParams{}, invalid("prompt", "prompt has a zero character (\\u0000); remove it.")
	}
	var err error
	if w.seconds, err = seconds(m.Seconds); err != nil {
		return createParams{}, err
	}
	if !absent(m.Reference) {
		var reference struct {
			ImageURL string `json:"image_url"`
		}
		if json.Unmarshal(m.Reference, &reference) != nil || reference.ImageURL == "" {
			return createParams{}, badImage("input_reference must be an object with image_url, or a file of a form.")
		}
		w.imageURL = reference.ImageURL
	}
	if !absent(m.Assets) && json.Unmarshal(m.Assets, &w.assets) != nil {
		return createParams{}, invalid(paramAssets, "asset_ids must be an array of ids of material assets.")
	}
	return w, nil
}

// seconds reads a length that is a text or a number, and whole either way. It is zero when none was said.
func seconds(raw jsontext.Value) (int, error) {
	if absent(raw) {
		return 0, nil
	}
	bad := invalid("seconds", "seconds must be a whole number of seconds, as a text or a number, such as \"8\".")
	word := string(raw)
	if raw.Kind() == '"' {
		word = text(raw)
		if strings.Trim(word, "0123456789") != "" {
			return 0, bad
		}
	}
	n, err := strconv.ParseFloat(word, 64) // The values 8.0 and 8e0 are whole numbers, too.
	if err != nil || n < 1 || n > secondsMax || n != float64(int(n)) {
		return 0, bad
	}
	return int(n), nil
}

func absent(raw jsontext.Value) bool { return len(raw) == 0 || raw.Kind() == 'n' }

// text is a JSON text without its quotes; the empty text for anything else.
func text(raw jsontext.Value) string {
	var s string
	if raw.Kind() != '"' || json.Unmarshal(raw, &s, jsontext.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	return s
}

// firstRunes returns the beginning of a text, at most runesMax characters.
func firstRunes(s string, runesMax int) string {
	if utf8.RuneCountInString(s) <= runesMax {
		return s
	}
	return string([]rune(s)[:runesMax])
}
