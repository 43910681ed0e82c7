package simulator

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app/simulator/testvideo"
)

// videosService is /v1/videos: jobs with a status, files by the id of the job.
var videosService = videoService{
	style: style{name: "videos", idHeader: "X-Request-Id", fail: func(b *buffer, _ *exchange, e failure) { openError(b, e) }},
	key:   bearer,
	refusal: func(g *guardrail) failure {
		return failure{status: http.StatusBadRequest, code: "moderation_blocked",
			message: "Your request was blocked by our moderation system: " + g.text + "."}
	},
}

const (
	videosRoute = "/v1/videos"
	// videoFilesKept is how long a finished video says its files are there.
	videoFilesKept = time.Hour
	// videoListMax is the largest page of a list.
	videoListMax = 100
)

// videoSizes and videoSeconds are what the videos service makes. Who makes videos of others, whose models are called
// owner/name, also makes what these make.
var (
	videoSizes   = []string{"720x1280", "1280x720", "1024x1792", "1792x1024", "1080x1920", "1920x1080"}
	videoSeconds = []string{"4", "8", "12", "16", "20"}
	otherSizes   = []string{"960x960"}
	otherSeconds = []string{"5", "10"}
)

// serveVideos answers every call of the videos service.
func serveVideos(x *exchange) {
	if !x.enter(&videosService) {
		return
	}
	id, rest, _ := strings.Cut(x.tail, "/")
	switch {
	case id == "" && x.r.Method == http.MethodPost:
		x.createVideo()
	case id == "" && x.r.Method == http.MethodGet:
		x.listVideos()
	case id == "":
		x.wrongMethod("GET, POST")
	case rest == "remix" && x.r.Method == http.MethodPost:
		x.remixVideo(id)
	case rest == "remix":
		x.wrongMethod(http.MethodPost)
	case rest == "content" && x.r.Method == http.MethodGet:
		x.sendContent(id)
	case rest == "content":
		x.wrongMethod(http.MethodGet)
	case rest != "":
		x.fail(failure{status: http.StatusNotFound, code: "not_found", message: "No such route: " + x.r.URL.Path})
	case x.r.Method == http.MethodGet:
		x.showVideo(id)
	case x.r.Method == http.MethodDelete:
		x.deleteVideo(id)
	default:
		x.wrongMethod("GET, DELETE")
	}
}

// videoObject is a video as its service answers it.
type videoObject struct {
	ID          string      `json:"id"`
	Object      string      `json:"object"`
	Model       string      `json:"model"`
	Status      string      `json:"status"`
	Progress    int64       `json:"progress"`
	CreatedAt   *int64      `json:"created_at,omitempty"`
	Created     *int64      `json:"created,omitempty"`
	CompletedAt *int64      `json:"completed_at"`
	ExpiresAt   *int64      `json:"expires_at"`
	Prompt      string      `json:"prompt"`
	Size        string      `json:"size"`
	Seconds     string      `json:"seconds"`
	RemixedFrom *string     `json:"remixed_from_video_id"`
	Error       *videoError `json:"error"`
}

type videoError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// video is the object of a render in the state of a view.
func (r *render) video(v view) videoObject {
	created, ended := r.created.Unix(), v.ended.Unix()
	o := videoObject{ID: r.id, Object: "video", Model: r.model, Progress: v.progress, CreatedAt: &created, Prompt: r.text,
		Size: strconv.Itoa(r.width) + "x" + strconv.Itoa(r.height), Seconds: strconv.Itoa(r.seconds)}
	if r.fault.created {
		o.Created, o.CreatedAt = &created, nil
	}
	if r.from != "" {
		o.RemixedFrom = &r.from
	}
	o.Status = [...]string{waiting: "queued", rendering: "in_progress", succeeded: "completed", failed: "failed"}[v.stage]
	switch {
	case v.odd:
		o.Status = "postprocessing"
	case v.stage == succeeded:
		expires := v.ended.Add(videoFilesKept).Unix()
		o.CompletedAt, o.ExpiresAt = &ended, &expires
	case v.guard != nil:
		refusal := videosService.refusal(v.guard)
		o.Error = &videoError{refusal.code, refusal.message}
	case v.stage == failed:
		o.Error = &videoError{v.code, "The video could not be made (" + v.code + ")."}
	}
	return o
}

func (x *exchange) createVideo() {
	f, bad := x.form("model", "prompt", "seconds", "size", formFile)
	if bad == nil {
		bad = f.check()
	}
	if bad != nil {
		x.fail(*bad)
		return
	}
	width, height := measures(f.values["size"])
	seconds, _ := strconv.Atoi(f.values["seconds"]) // The form was checked before.
	o := &order{service: &videosService, kind: videosService.style.name, model: f.values["model"], text: f.values["prompt"],
		width: width, height: height, seconds: seconds, picture: f.picture}
	x.start(onCreate, o, x.sendNewVideo)
}

// sendNewVideo answers the call that made a video: it is always queued then.
func (x *exchange) sendNewVideo(r *render) { x.sendValue(r.video(view{stage: waiting})) }

// measures reads a size that is known to be one.
func measures(size string) (width, height int) {
	w, h, _ := strings.Cut(size, "x")
	width, _ = strconv.Atoi(w)
	height, _ = strconv.Atoi(h)
	return width, height
}

// check fills in what may be left out and judges the rest.
func (f *form) check() *failure {
	if f.values["model"] == "" {
		return missing("model")
	}
	if bad := checkPrompt(f.values["prompt"]); bad != nil {
		return bad
	}
	sizes, seconds := videoSizes, videoSeconds
	if name, _ := splitModel(f.values["model"]); strings.Contains(name, "/") {
		sizes, seconds = slices.Concat(sizes, otherSizes), slices.Concat(seconds, otherSeconds)
	}
	for _, one := range []struct {
		name    string
		allowed []string
	}{{"size", sizes}, {"seconds", seconds}} {
		v, given := f.values[one.name]
		if !given {
			f.values[one.name] = one.allowed[0]
			continue
		}
		if !slices.Contains(one.allowed, v) {
			return badRequest(one.name, "Invalid value: '"+v+"'. Supported values are: '"+strings.Join(one.allowed, "', '")+"'.")
		}
	}
	if f.picture == nil {
		return nil
	}
	if w, h := measures(f.values["size"]); f.picture.width != w || f.picture.height != h {
		return badRequest(formFile, "Inpaint image must match the requested width and height")
	}
	return nil
}

// known finds a video and lets the fault of the call strike. It returns nil when the call is over.
func (x *exchange) known(call, id string) *render {
	r := x.sim.renders.find(x.provider, videosService.style.name, id)
	if r == nil {
		x.fail(failure{status: http.StatusNotFound, code: "video_not_found", message: "Video with id '" + id + "' not found.", param: "video_id"})
		return nil
	}
	if !x.about(call, r) {
		return nil
	}
	return r
}

func (x *exchange) showVideo(id string) {
	if r := x.known(onStatus, id); r != nil {
		x.sendValue(r.video(x.sim.renders.look(r, x.sim.options.Now())))
	}
}

func (x *exchange) remixVideo(id string) {
	f, bad := x.form("prompt")
	if bad == nil {
		bad = checkPrompt(f.values["prompt"])
	}
	if bad != nil {
		x.fail(*bad)
		return
	}
	source := x.sim.renders.find(x.provider, videosService.style.name, id)
	if source == nil {
		x.known(onRemix, id)
		return
	}
	if x.sim.renders.peek(source, x.sim.options.Now()).stage != succeeded {
		x.fail(*badRequest("video_id", "Only a completed video can be remixed."))
		return
	}
	o := source.order
	o.text, o.picture, o.source = f.values["prompt"], nil, source
	x.start(onRemix, &o, x.sendNewVideo)
}

// deleteVideo forgets a video; one that is on its way is cancelled by that.
func (x *exchange) deleteVideo(id string) {
	r := x.known(onCancel, id)
	if r == nil {
		return
	}
	x.sim.renders.remove(r)
	x.sendValue(map[string]any{"id": id, "object": "video.deleted", "deleted": true})
}

// listVideos shows the videos of the provider, a page at a time.
func (x *exchange) listVideos() {
	if !x.strikes(x.call(onList, &prompt{}, "")) || !x.proceeds() {
		return
	}
	q := x.r.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), "20"))
	if err != nil || limit < 1 || limit > videoListMax {
		x.fail(*badRequest("limit", "limit must be a number from 1 to "+strconv.Itoa(videoListMax)+"."))
		return
	}
	list := x.sim.renders.newest(x.provider, videosService.style.name)
	switch cmp.Or(q.Get("order"), "desc") {
	case "desc":
	case "asc":
		slices.Reverse(list)
	default:
		x.fail(*badRequest("order", "order must be asc or desc."))
		return
	}
	if after := q.Get("after"); after != "" {
		at := slices.IndexFunc(list, func(r *render) bool { return r.id == after })
		if at < 0 {
			x.fail(*badRequest("after", "after must be the id of a video."))
			return
		}
		list = list[at+1:]
	}
	page := struct {
		Object  string        `json:"object"`
		Data    []videoObject `json:"data"`
		FirstID *string       `json:"first_id"`
		LastID  *string       `json:"last_id"`
		HasMore bool          `json:"has_more"`
	}{Object: "list", Data: []videoObject{}, HasMore: len(list) > limit}
	now := x.sim.options.Now()
	for _, r := range list[:min(limit, len(list))] {
		page.Data = append(page.Data, r.video(x.sim.renders.peek(r, now)))
	}
	if n := len(page.Data); n > 0 {
		page.FirstID, page.LastID = &page.Data[0].ID, &page.Data[n-1].ID
	}
	x.sendValue(page)
}

// variants are a video and its stills.
var variants = map[string]struct {
	mime string
	draw func(testvideo.Spec) []byte
}{
	"video":       {"video/mp4", testvideo.MP4},
	"thumbnail":   {"image/webp", testvideo.Thumbnail},
	"spritesheet": {"image/jpeg", testvideo.Spritesheet},
}

func (x *exchange) sendContent(id string) {
	r := x.known(onContent, id)
	if r == nil {
		return
	}
	variant := cmp.Or(x.r.URL.Query().Get("variant"), "video")
	kind, ok := variants[variant]
	if !ok {
		x.fail(*badRequest("variant", "Invalid value: '"+variant+"'. Supported values are: 'video', 'thumbnail', and 'spritesheet'."))
		return
	}
	if x.sim.renders.peek(r, x.sim.options.Now()).stage != succeeded {
		x.fail(*badRequest("video_id", "Video is not ready yet, use GET /v1/videos/{video_id} to check status."))
		return
	}
	if r.fault.noStills && variant != "video" {
		x.fail(failure{status: http.StatusNotFound, code: "not_found", message: "This video has no " + variant + "."})
		return
	}
	x.sendFile(kind.mime, x.sim.films.get(filmKey{variant, r.film()}, kind.draw))
}
