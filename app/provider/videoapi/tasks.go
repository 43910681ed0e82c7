package videoapi

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"umg/app/provider"
)

// These kinds of tasks have paths of their own. The id of a task in the gateway is kind/id.
const (
	textTask   = "text2video"
	imageTask  = "image2video"
	extendTask = "video-extend"

	standardSideMax = 960 // The std mode makes no larger shorter side.
)

var taskKinds = []string{textTask, imageTask, extendTask}

// tasksProtocol is the protocol of tasks that may call back. A task can be found by its reference, and cannot be cancelled.
type tasksProtocol struct{}

var tasks = style{
	protocol: tasksProtocol{}, root: "/videos", assets: true, codes: taskCodes,
	messages: []messageStatus{{"not found", http.StatusNotFound}, {"not exist", http.StatusNotFound}},
}

// taskCodes has the statuses of codes of errors.
var taskCodes = map[string]int{
	"1000": http.StatusUnauthorized, "1001": http.StatusUnauthorized, "1002": http.StatusUnauthorized,
	"1003": http.StatusUnauthorized, "1004": http.StatusUnauthorized,
	"1100": http.StatusPaymentRequired, "1101": http.StatusPaymentRequired, "1102": http.StatusPaymentRequired,
	"1103": http.StatusForbidden, "1304": http.StatusForbidden,
	"1200": http.StatusBadRequest, "1202": http.StatusMethodNotAllowed, "1203": http.StatusNotFound,
	"1300": statusModerated, "1301": statusModerated,
	"1302": http.StatusTooManyRequests, "1303": http.StatusTooManyRequests,
	"5000": http.StatusInternalServerError, "5001": http.StatusServiceUnavailable, "5002": http.StatusGatewayTimeout,
}

// taskStates has the states by their words. A task with an unknown word is running.
var taskStates = map[string]State{
	"submitted": Waiting, "processing": Running, "succeed": Succeeded, "succeeded": Succeeded, "failed": Failed,
}

// taskOrder is the body of the calls that create a task.
type taskOrder struct {
	Model     string `json:"model_name,omitempty"`
	Source    string `json:"video_id,omitempty"`
	Prompt    string `json:"prompt"`
	Mode      string `json:"mode,omitempty"`
	Shape     string `json:"aspect_ratio,omitempty"`
	Duration  string `json:"duration,omitempty"`
	Image     []byte `json:"image,omitempty"`
	Callback  string `json:"callback_url,omitempty"`
	Reference string `json:"external_task_id,omitempty"`

	Assets []taskAsset `json:"assets,omitempty"`
}

// taskAsset is how a task names an asset.
type taskAsset struct {
	ID   string `json:"id"`
	Kind string `json:"type"`
}

func (tasksProtocol) create(root, model string, o CreateRequest, source string) (provider.Call, string, error) {
	kind := kindOf(o)
	order := taskOrder{Prompt: o.Prompt, Callback: o.Callback, Reference: o.Reference}
	if kind == extendTask {
		order.Source = source
	} else {
		order.Model, order.Mode, order.Shape, order.Duration = model, "std", aspectRatio(o), strconv.Itoa(o.Seconds)
		if min(o.Width, o.Height) > standardSideMax {
			order.Mode = "pro"
		}
	}
	if kind == imageTask {
		order.Image = o.Image.Data
	}
	for _, one := range o.Assets {
		order.Assets = append(order.Assets, taskAsset(one))
	}
	payload, err := jsonBody(order, bodyBytes(o))
	return provider.Call{Method: http.MethodPost, Path: root + "/" + kind, Payload: payload}, kind, err
}

func kindOf(o CreateRequest) string {
	switch {
	case o.Source != nil:
		return extendTask
	case o.Image != nil:
		return imageTask
	}
	return textTask
}

func (tasksProtocol) status(root, id string) (provider.Call, string, bool) {
	kind, bare, _ := strings.Cut(id, "/")
	ok := isPathID(bare, false) && slices.Contains(taskKinds, kind)
	return provider.Call{Method: http.MethodGet, Path: root + "/" + kind + "/" + url.PathEscape(bare)}, kind, ok
}

// find looks for the reference under every kind, with that of the request first. A caller that looks for a lost task may not have its
// image.
func (tasksProtocol) find(root string, o CreateRequest) []lookup {
	if !isPathID(o.Reference, false) {
		return nil
	}
	own := kindOf(o)
	lookups := make([]lookup, 0, len(taskKinds))
	for _, kind := range taskKinds {
		call := provider.Call{Method: http.MethodGet, Path: root + "/" + kind + "/" + url.PathEscape(o.Reference)}
		if kind == own {
			lookups = slices.Insert(lookups, 0, lookup{call, kind})
			continue
		}
		lookups = append(lookups, lookup{call, kind})
	}
	return lookups
}

func (p tasksProtocol) found(raw []byte, kind, _ string, o CreateRequest) ([]Task, error) {
	t, err := p.read(raw, kind)
	if err != nil {
		return nil, err
	}
	if t.Reference != o.Reference {
		return nil, nil
	}
	return []Task{t}, nil
}

// source returns the id of the result, which is stored with the address of its file.
func (tasksProtocol) source(from Source) string {
	if id, _, ok := strings.Cut(from.URL, " "); ok {
		return id
	}
	return ""
}

func (tasksProtocol) file(_ string, t Task, v Variant) string {
	if v != Video {
		return ""
	}
	if _, address, ok := strings.Cut(t.Files.Video, " "); ok {
		return address
	}
	return t.Files.Video
}

func (tasksProtocol) read(raw []byte, kind string) (Task, error) {
	top, err := parse(raw)
	if err != nil {
		return Task{}, err
	}
	m := top.object("data")
	bare := m.text("task_id")
	if !isPathID(bare, false) {
		return Task{}, errShape
	}
	info := m.object("task_info")
	t := Task{
		ID: kind + "/" + bare, State: Running, Progress: m.percent("progress", "task_progress"),
		Reference: cmp.Or(info.text("external_task_id"), m.text("external_task_id")), CreatedAt: m.timestamp("created_at"),
	}
	if state, ok := taskStates[m.text("task_status")]; ok {
		t.State = state
	}
	switch t.State {
	case Succeeded:
		if err := t.finish(m.object("task_result")); err != nil {
			return Task{}, err
		}
	case Failed:
		t.Message = m.text("task_status_msg")
		t.Code = failureCode(taskCodes, t.Message, m.text("task_status_code"))
	}
	t.Metadata = metadataOf(m, "task_id", "task_status", "task_status_msg", "task_status_code", "task_info", "task_result",
		"external_task_id", "created_at", "updated_at", "progress", "task_progress")
	return t, nil
}

// finish reads the first result of a task. A finished task without a file is an error, so that the caller asks again later.
func (t *Task) finish(result members) error {
	for _, film := range result.list("videos") {
		address := film.text("url")
		if address == "" || strings.Contains(address, " ") {
			continue
		}
		t.Files.Video, t.Seconds = address, film.whole("duration", 0)
		if id := film.text("id"); isPathID(id, false) {
			t.Files.Video = id + " " + address
		}
		return nil
	}
	return errShape
}
