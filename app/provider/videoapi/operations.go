package videoapi

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"umg/app/provider"
)

// operationsProtocol is the protocol of long-running operations. An operation has a name, and a finished one has the address of its
// file. It has no list, thumbnails or spritesheets.
type operationsProtocol struct{}

var operations = style{
	protocol: operationsProtocol{}, root: "/models/{model}:predictLongRunning", codes: operationCodes,
	messages: []messageStatus{
		{"api key not valid", http.StatusUnauthorized}, {"api key expired", http.StatusUnauthorized},
		{"location is not supported", http.StatusForbidden},
	},
}

// operationCodes has the statuses of codes of errors.
var operationCodes = map[string]int{
	// These codes are about the gateway's keys, regions and billing, never about a request.
	"API_KEY_INVALID": http.StatusUnauthorized, "FAILED_PRECONDITION": http.StatusForbidden,
}

// operationPicture is the first frame of a video.
type operationPicture struct {
	Data []byte `json:"bytesBase64Encoded"`
	Type string `json:"mimeType"`
}

// operationVideo is the video to change.
type operationVideo struct {
	URI string `json:"uri"`
}

type operationInstance struct {
	Prompt string            `json:"prompt"`
	Image  *operationPicture `json:"image,omitempty"`
	Video  *operationVideo   `json:"video,omitempty"`
}

type operationParameters struct {
	AspectRatio     string `json:"aspectRatio"`
	Resolution      string `json:"resolution"`
	DurationSeconds int    `json:"durationSeconds"`
}

func (operationsProtocol) create(root, model string, o CreateRequest, source string) (provider.Call, string, error) {
	instance := operationInstance{Prompt: o.Prompt}
	if o.Image != nil {
		instance.Image = &operationPicture{Data: o.Image.Data, Type: o.Image.Type}
	}
	if o.Source != nil {
		instance.Video = &operationVideo{URI: source}
	}
	payload, err := jsonBody(struct {
		Instances  []operationInstance `json:"instances"`
		Parameters operationParameters `json:"parameters"`
	}{
		[]operationInstance{instance},
		operationParameters{aspectRatio(o), strconv.Itoa(min(o.Width, o.Height)) + "p", o.Seconds},
	}, bodyBytes(o))
	path := strings.ReplaceAll(root, "{model}", escapePath(model))
	return provider.Call{Method: http.MethodPost, Path: path, Payload: payload}, "", err
}

// escapePath escapes a name with slashes for a path.
func escapePath(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

func (operationsProtocol) status(_, id string) (provider.Call, string, bool) {
	return provider.Call{Method: http.MethodGet, Path: "/" + escapePath(id)}, "", isPathID(id, true)
}

func (operationsProtocol) cancel(_, id string) (provider.Call, bool) {
	if !isPathID(id, true) {
		return provider.Call{}, false
	}
	payload := provider.NewPayload(2)
	payload.Data = append(payload.Data, "{}"...)
	return provider.Call{Method: http.MethodPost, Path: "/" + escapePath(id) + ":cancel", Payload: payload}, true
}

func (operationsProtocol) source(from Source) string { return from.URL }

func (operationsProtocol) file(_ string, t Task, v Variant) string {
	if v != Video {
		return ""
	}
	return t.Files.Video
}

func (operationsProtocol) read(raw []byte, _ string) (Task, error) {
	m, err := parse(raw)
	if err != nil {
		return Task{}, err
	}
	meta := m.object("metadata")
	t := Task{
		ID: m.text("name"), State: Running, CreatedAt: meta.timestamp("createTime", "create_time"),
		Progress: meta.percent("progressPercent", "progress_percent", "progressPercentage", "progress"),
	}
	if !isPathID(t.ID, true) {
		return Task{}, errShape
	}
	t.Metadata = metadataOf(meta, "@type", "progressPercent", "progress_percent", "progressPercentage", "progress")
	if !m.boolean("done") {
		return t, nil
	}
	if problem := m.object("error"); problem != nil {
		t.State, t.Message = Failed, problem.text("message")
		t.Code = failureCode(operationCodes, t.Message, problem.text("code"), problem.text("status"))
		return t, nil
	}
	finishOperation(&t, m.object("response"))
	return t, nil
}

// finishOperation reads the result of an operation, which has several forms. An operation without a video has failed, or was filtered.
func finishOperation(t *Task, response members) {
	result := response
	if inner := response.object("generateVideoResponse"); inner != nil {
		result = inner
	}
	for _, list := range []string{"generatedSamples", "generatedVideos", "videos"} {
		for _, sample := range result.list(list) {
			film := sample.object("video")
			if address := cmp.Or(film.text("uri"), sample.text("uri")); address != "" {
				t.State, t.Files.Video = Succeeded, address
				return
			}
		}
	}
	t.State, t.Code = Failed, Broken
	reasons := result.texts("raiMediaFilteredReasons")
	if filtered, _ := result.number("raiMediaFilteredCount"); filtered > 0 || len(reasons) > 0 {
		t.Code, t.Message = Moderated, strings.Join(reasons, " ")
	}
}
