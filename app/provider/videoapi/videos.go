package videoapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"time"

	"umg/app/provider"
)

const (
	clockSkewMax  = time.Minute // The upstream's clock may be so much behind ours.
	boundaryChars = 48          // The boundary is a part of a hash.
)

// videosProtocol is the protocol of POST /videos: jobs with ids, files below the job, and a list of the latest jobs.
type videosProtocol struct{}

var videos = style{
	protocol: videosProtocol{}, root: "/videos", codes: videoCodes,
}

// videoCodes has the statuses of codes of errors.
var videoCodes = map[string]int{
	"invalid_api_key": http.StatusUnauthorized, "insufficient_quota": http.StatusPaymentRequired,
	"billing_hard_limit_reached": http.StatusPaymentRequired, "account_deactivated": http.StatusForbidden,
}

// videoStates has the states by their words. A job with an unknown word is running.
var videoStates = map[string]State{
	"queued": Waiting, "pending": Waiting, "in_progress": Running, "completed": Succeeded, "succeeded": Succeeded,
	"failed": Failed, "cancelled": Failed, "canceled": Failed,
}

// videoVariants are the names of the files.
var videoVariants = map[Variant]string{Video: "video", Thumbnail: "thumbnail", Spritesheet: "spritesheet"}

// imageNames are file names for the types of first frames.
var imageNames = map[string]string{"image/jpeg": "frame.jpg", "image/png": "frame.png", "image/webp": "frame.webp"}

func (videosProtocol) create(root, model string, o CreateRequest, source string) (provider.Call, string, error) {
	call := provider.Call{Method: http.MethodPost, Path: root, Header: http.Header{}}
	if o.Reference != "" {
		// In lower case, the transport does not recognise the key. Otherwise it might send the request twice.
		call.Header["idempotency-key"] = []string{o.Reference}
	}
	var err error
	switch {
	case o.Source != nil:
		call.Path += "/" + url.PathEscape(source) + "/remix"
		call.Payload, err = jsonBody(struct {
			Prompt string `json:"prompt"`
		}{o.Prompt}, bodyBytes(o))
	case o.Image != nil:
		call.Payload, err = videoForm(model, o, call.Header)
	default:
		call.Payload, err = jsonBody(struct {
			Model   string `json:"model"`
			Prompt  string `json:"prompt"`
			Seconds string `json:"seconds"`
			Size    string `json:"size"`
		}{model, o.Prompt, strconv.Itoa(o.Seconds), sizeOf(o)}, bodyBytes(o))
	}
	return call, "", err
}

// videoForm writes a request with a first frame. The boundary is made from the hash of the frame, so that the same request has the same
// bytes.
func videoForm(model string, o CreateRequest, header http.Header) (*provider.Payload, error) {
	p := provider.NewPayload(len(o.Image.Data) + len(o.Prompt) + 2<<10)
	form := multipart.NewWriter((*body)(p))
	sum := sha256.Sum256(o.Image.Data)
	err := form.SetBoundary(hex.EncodeToString(sum[:])[:boundaryChars])
	for _, field := range [][2]string{{"model", model}, {"prompt", o.Prompt}, {"seconds", strconv.Itoa(o.Seconds)}, {"size", sizeOf(o)}} {
		err = cmp.Or(err, form.WriteField(field[0], field[1]))
	}
	file, fileErr := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf(`form-data; name="input_reference"; filename=%q`, cmp.Or(imageNames[o.Image.Type], "frame"))},
		"Content-Type":        {o.Image.Type},
	})
	if err = cmp.Or(err, fileErr); err == nil {
		_, err = file.Write(o.Image.Data)
	}
	if err = cmp.Or(err, form.Close()); err != nil {
		p.Release()
		return nil, err
	}
	header["Content-Type"] = []string{form.FormDataContentType()}
	return p, nil
}

func sizeOf(o CreateRequest) string { return strconv.Itoa(o.Width) + "x" + strconv.Itoa(o.Height) }

func (videosProtocol) status(root, id string) (provider.Call, string, bool) {
	return provider.Call{Method: http.MethodGet, Path: root + "/" + url.PathEscape(id)}, "", isPathID(id, false)
}

func (videosProtocol) source(from Source) string { return from.ID }

func (videosProtocol) cancel(root, id string) (provider.Call, bool) {
	return provider.Call{Method: http.MethodDelete, Path: root + "/" + url.PathEscape(id)}, isPathID(id, false)
}

func (videosProtocol) file(root string, t Task, v Variant) string {
	if !isPathID(t.ID, false) {
		return ""
	}
	return root + "/" + url.PathEscape(t.ID) + "/content?variant=" + videoVariants[v]
}

// find lists the latest jobs. They have no reference, so found compares their parameters. That does not work for a request with an image.
func (videosProtocol) find(root string, o CreateRequest) []lookup {
	if o.Image != nil {
		return nil
	}
	return []lookup{{call: provider.Call{Method: http.MethodGet, Path: root + "?limit=100&order=desc"}}}
}

func (videosProtocol) found(raw []byte, _, model string, o CreateRequest) ([]Task, error) {
	top, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if top["data"].Kind() != '[' {
		return nil, errShape
	}
	source := ""
	if o.Source != nil {
		source = o.Source.ID
	}
	var out []Task
	for _, m := range top.list("data") {
		t, err := videoOf(m)
		if err != nil || t.Prompt != o.Prompt || t.CreatedAt.Before(o.CreatedAt.Add(-clockSkewMax)) || m.text("remixed_from_video_id") != source {
			continue
		}
		// A remix has the model, size and length of its source.
		if o.Source != nil || t.Model == model && t.Size == sizeOf(o) && t.Seconds == o.Seconds {
			out = append(out, t)
		}
	}
	return out, nil
}

func (videosProtocol) read(raw []byte, _ string) (Task, error) {
	m, err := parse(raw)
	if err != nil {
		return Task{}, err
	}
	return videoOf(m)
}

func videoOf(m members) (Task, error) {
	t := Task{
		ID: m.text("id"), State: Running, Progress: m.percent("progress"), Model: m.text("model"), Prompt: m.text("prompt"),
		Size: m.text("size"), Seconds: m.whole("seconds", 0), CreatedAt: m.timestamp("created_at", "created"),
	}
	if !isPathID(t.ID, false) {
		return Task{}, errShape
	}
	word := m.text("status")
	if state, ok := videoStates[word]; ok {
		t.State = state
	}
	switch t.State {
	case Succeeded:
		t.Files = Files{Video: videoVariants[Video], Thumbnail: videoVariants[Thumbnail], Spritesheet: videoVariants[Spritesheet]}
	case Failed:
		problem := m.object("error")
		t.Message = cmp.Or(problem.text("message"), m.text("error"))
		t.Code = failureCode(videoCodes, t.Message, problem.text("code"), problem.text("type"), word)
	}
	t.Metadata = metadataOf(m, "id", "object", "status", "progress", "model", "prompt", "size", "seconds", "created_at", "created",
		"completed_at", "expires_at", "remixed_from_video_id", "error")
	return t, nil
}
