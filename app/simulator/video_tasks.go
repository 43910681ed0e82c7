package simulator

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tasksService is /v1/videos/text2video and its neighbours: tasks that call back, in an envelope with a code.
var tasksService = videoService{
	style: style{name: "tasks", idHeader: "X-Request-Id", fail: tasksError},
	key:   bearer,
	refusal: func(g *guardrail) failure {
		return failure{status: http.StatusBadRequest, code: codePolicy,
			message: "Trigger the content security policy of the platform (risk control): " + g.text}
	},
}

// The kinds of tasks are also their paths.
const (
	kindText   = "text2video"
	kindImage  = "image2video"
	kindExtend = "video-extend"
)

// codePolicy is the code of what the content policy refuses.
const codePolicy = "1301"

// taskCodes are the codes of the envelope by status.
var taskCodes = map[int]string{400: "1201", 401: "1002", 403: "1103", 404: "1203", 405: "1202", 413: "1201", 415: "1200", 429: "1302",
	500: "5000", 503: "5001", 504: "5002"}

// tasksError is the envelope of an error. A code that is a number stays; others become the usual one of the status.
func tasksError(b *buffer, x *exchange, e failure) {
	code := e.code
	if _, err := strconv.Atoi(code); err != nil {
		code = cmp.Or(taskCodes[e.status], "5000")
	}
	b.raw(`{"code":`).raw(code).raw(`,"message":`).str(e.words().text).raw(`,"request_id":`).str(x.id).raw(`}`)
}

// taskPath matches the routes of tasks.
func taskPath(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, videosRoute+"/")
	kind, _, _ := strings.Cut(rest, "/")
	return rest, ok && slices.Contains([]string{kindText, kindImage, kindExtend}, kind)
}

// serveTasks answers every call of the tasks service.
func serveTasks(x *exchange) {
	if !x.enter(&tasksService) {
		return
	}
	kind, id, one := strings.Cut(x.tail, "/")
	switch {
	case !one && x.r.Method == http.MethodPost:
		x.createTask(kind)
	case !one:
		x.wrongMethod(http.MethodPost)
	case x.r.Method == http.MethodGet:
		x.showTask(kind, id)
	default:
		x.wrongMethod(http.MethodGet)
	}
}

type taskRequest struct {
	ModelName      string   `json:"model_name"`
	Prompt         string   `json:"prompt"`
	NegativePrompt string   `json:"negative_prompt"`
	CfgScale       *float64 `json:"cfg_scale"`
	Mode           string   `json:"mode"`
	AspectRatio    string   `json:"aspect_ratio"`
	Duration       *string  `json:"duration"`
	Image          string   `json:"image"`
	VideoID        string   `json:"video_id"`
	CallbackURL    string   `json:"callback_url"`
	ExternalTaskID string   `json:"external_task_id"`

	Assets []taskAsset `json:"assets"`
}

// taskAsset is how a task names an asset of the assets service.
type taskAsset struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// taskAssetsMax is how many assets a task may name.
const taskAssetsMax = 8

const (
	taskSecondsMin = 3
	taskSecondsMax = 15
	// taskPictureSideMin is the shortest side of an input image.
	taskPictureSideMin = 300
)

// taskSizes are what a mode makes of an aspect ratio.
var taskSizes = map[string]map[string][2]int{
	"std": {"16:9": {1280, 720}, "9:16": {720, 1280}, "1:1": {960, 960}},
	"pro": {"16:9": {1920, 1080}, "9:16": {1080, 1920}, "1:1": {1440, 1440}},
}

func (x *exchange) createTask(kind string) {
	var q taskRequest
	if bad := x.readStrict(&q); bad != nil {
		x.fail(*bad)
		return
	}
	x.entry.shortened(x.body, q.Image)
	o := &order{service: &tasksService, kind: kind, model: q.ModelName, text: q.Prompt, external: q.ExternalTaskID, callback: q.CallbackURL}
	name, checks := onCreate, []func(*exchange, *order, *taskRequest) *failure{taskWords, taskMeasures, taskLength, taskPicture, taskAssets}
	if kind == kindExtend {
		name, checks = onRemix, []func(*exchange, *order, *taskRequest) *failure{taskSource, taskWords}
	}
	for _, check := range checks {
		if bad := check(x, o, &q); bad != nil {
			x.fail(*bad)
			return
		}
	}
	x.start(name, o, func(r *render) { x.sendTask(r, view{stage: waiting}) })
}

// taskWords checks what every task has.
func taskWords(_ *exchange, o *order, _ *taskRequest) *failure {
	if o.model == "" {
		return missing("model_name")
	}
	if bad := checkPrompt(o.text); bad != nil {
		return bad
	}
	if o.callback == "" {
		return nil
	}
	u, err := url.Parse(o.callback)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(o.callback) > callbackURLBytesMax {
		return badRequest("callback_url", "callback_url is not a valid address.")
	}
	return nil
}

func taskMeasures(_ *exchange, o *order, q *taskRequest) *failure {
	ratios, ok := taskSizes[cmp.Or(q.Mode, "std")]
	if !ok {
		return badRequest("mode", "mode value '"+q.Mode+"' is invalid: it must be std or pro.")
	}
	size, ok := ratios[cmp.Or(q.AspectRatio, "16:9")]
	if !ok {
		return badRequest("aspect_ratio", "aspect_ratio value '"+q.AspectRatio+"' is invalid: it must be 16:9, 9:16 or 1:1.")
	}
	o.width, o.height = size[0], size[1]
	return nil
}

func taskLength(_ *exchange, o *order, q *taskRequest) *failure {
	const standard = "5"
	given := standard
	if q.Duration != nil {
		given = *q.Duration
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < taskSecondsMin || n > taskSecondsMax {
		return badRequest("duration", fmt.Sprintf("duration value '%s' is invalid: it must be from \"%d\" to \"%d\".",
			given, taskSecondsMin, taskSecondsMax))
	}
	o.seconds = n
	return nil
}

// taskPicture wants an image where the route is for images, and nowhere else.
func taskPicture(_ *exchange, o *order, q *taskRequest) *failure {
	switch {
	case q.VideoID != "":
		return badRequest("video_id", "video_id belongs to "+kindExtend+".")
	case o.kind == kindText && q.Image != "":
		return badRequest("image", "image belongs to "+kindImage+".")
	case o.kind == kindText:
		return nil
	case q.Image == "":
		return missing("image")
	}
	data, err := base64.StdEncoding.DecodeString(q.Image)
	p, ok := pictureOf(data)
	if err != nil || !ok {
		return badRequest("image", "image must be plain base64 of a JPEG, PNG or WebP image, without any prefix.")
	}
	if p.width < taskPictureSideMin || p.height < taskPictureSideMin {
		return badRequest("image", fmt.Sprintf("image must have at least %d pixels a side.", taskPictureSideMin))
	}
	o.picture = p
	return nil
}

// taskAssets wants assets that are there, of the type that the task says, and active.
func taskAssets(x *exchange, o *order, q *taskRequest) *failure {
	if len(q.Assets) > taskAssetsMax {
		return badRequest("assets", "A task takes at most "+strconv.Itoa(taskAssetsMax)+" assets.")
	}
	for i, one := range q.Assets {
		at := func(member string) string { return "assets[" + strconv.Itoa(i) + "]." + member }
		a := x.sim.assets.find(x.provider, one.ID)
		switch {
		case a == nil:
			return badRequest(at("id"), "There is no asset '"+one.ID+"'.")
		case a.Type != one.Type:
			return badRequest(at("type"), "The asset '"+one.ID+"' is of the type "+a.Type+", not "+one.Type+".")
		case slices.Contains(o.assets, a.id):
			return badRequest(at("id"), "The asset '"+one.ID+"' is named twice.")
		}
		if status := x.sim.assets.peek(a, x.sim.options.Now()).status; status != assetActive {
			return badRequest(at("id"), "The asset '"+one.ID+"' is "+status+", not active.")
		}
		o.assets = append(o.assets, a.id)
	}
	return nil
}

// taskSource takes everything but the prompt from the video that is to be changed.
func taskSource(x *exchange, o *order, q *taskRequest) *failure {
	if q.ModelName != "" || q.Mode != "" || q.Duration != nil || q.AspectRatio != "" || q.Image != "" || len(q.Assets) > 0 {
		return badRequest("", "Model, mode, duration, measures and assets are those of the source.")
	}
	if q.VideoID == "" {
		return missing("video_id")
	}
	source := x.sim.renders.findResult(x.provider, q.VideoID)
	if source == nil || x.sim.renders.peek(source, x.sim.options.Now()).stage != succeeded {
		return badRequest("video_id", "There is no video '"+q.VideoID+"'.")
	}
	o.model, o.width, o.height, o.seconds, o.source = source.model, source.width, source.height, source.seconds, source
	return nil
}

func (x *exchange) showTask(kind, id string) {
	r := x.sim.renders.find(x.provider, kind, id)
	if r == nil {
		x.fail(failure{status: http.StatusNotFound, message: "Task '" + id + "' does not exist."})
		return
	}
	if !x.about(onStatus, r) {
		return
	}
	v := x.sim.renders.look(r, x.sim.options.Now())
	x.sendTask(r, v)
	x.flush()
	x.sim.tell(r, v)
}

// sendTask puts a task into the envelope.
func (x *exchange) sendTask(r *render, v view) {
	x.sendValue(map[string]any{"code": 0, "message": "SUCCEED", "request_id": x.id, "data": r.task(v, x.sim.options.Now())})
}

// taskObject is a task as its service sends it, in answers and callbacks.
type taskObject struct {
	ID      string      `json:"task_id"`
	Status  string      `json:"task_status"`
	Message string      `json:"task_status_msg"`
	Info    taskInfo    `json:"task_info"`
	Created int64       `json:"created_at"`
	Updated int64       `json:"updated_at"`
	Result  *taskResult `json:"task_result,omitempty"`
}

type taskInfo struct {
	External string `json:"external_task_id,omitempty"`
}

type taskResult struct {
	Videos []taskVideo `json:"videos"`
}

type taskVideo struct {
	ID       string `json:"id"`
	URL      string `json:"url"`
	Duration string `json:"duration"`
}

// taskWord is the status of a view.
func taskWord(v view) string {
	if v.odd {
		return "postprocessing"
	}
	return [...]string{waiting: "submitted", rendering: "processing", succeeded: "succeed", failed: "failed"}[v.stage]
}

// task is the object of a render in the state of a view.
func (r *render) task(v view, now time.Time) taskObject {
	o := taskObject{ID: r.id, Status: taskWord(v), Info: taskInfo{r.external}, Created: r.created.UnixMilli(), Updated: r.created.UnixMilli()}
	if v.stage >= succeeded {
		o.Updated = v.ended.UnixMilli()
	}
	switch {
	case v.stage == succeeded:
		o.Result = &taskResult{[]taskVideo{{ID: r.result, Duration: strconv.Itoa(r.shown()),
			URL: r.fileAddress(mediaRoute+r.result+".mp4", "", now)}}}
	case v.guard != nil:
		o.Message = "Failure to pass the risk control system: the content policy does not allow " + v.guard.text
	case v.stage == failed:
		o.Message = "The video could not be made (" + v.code + ")"
	}
	return o
}

// digits makes an id of the tasks service: a long number in a string.
func (x *exchange) digits() string {
	const floor, span = 100_000_000_000_000_000, 900_000_000_000_000_000
	h := fnv.New64a()
	_, _ = h.Write([]byte(x.mint("")))
	return strconv.FormatUint(floor+h.Sum64()%span, 10)
}
