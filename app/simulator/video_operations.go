package simulator

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// operationsService is POST /v1beta/models/{model}:predictLongRunning: operations whose result holds a file address.
var operationsService = videoService{
	style: style{name: "operations", idHeader: nativeStyle.idHeader, fail: nativeError},
	key:   func(h http.Header) string { return h.Get("X-Goog-Api-Key") },
	refusal: func(g *guardrail) failure {
		return failure{status: http.StatusBadRequest, message: g.filtered()}
	},
}

const (
	operationsRoute = "/v1beta/"
	operationFiles  = "files/"
	// operationStore is where a file address leads.
	operationStore = "download/"
)

// A failed operation has one of these codes.
const (
	codeCancelled = 1
	codeInternal  = 13
)

// filtered is what a refusal says: the words of the usage guidelines, and the code of the category.
func (g *guardrail) filtered() string {
	return "The request could not be submitted: it violates the usage guidelines for safety, as it asks for " + g.text +
		". Try rephrasing the prompt. If you think this was an error, send feedback. Support codes: " + g.support
}

// operationPath matches what is below /v1beta and belongs to videos.
func operationPath(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, operationsRoute)
	if !ok {
		return "", false
	}
	model := strings.HasPrefix(rest, "models/") && (strings.HasSuffix(rest, ":predictLongRunning") || strings.Contains(rest, "/operations/"))
	return rest, model || strings.HasPrefix(rest, operationFiles) || strings.HasPrefix(rest, operationStore)
}

// serveOperations answers every call of the operations service.
func serveOperations(x *exchange) {
	if !x.enter(&operationsService) {
		return
	}
	method := http.MethodGet
	model, creates := strings.CutSuffix(x.tail, ":predictLongRunning")
	name, cancels := strings.CutSuffix(x.tail, ":cancel")
	if creates || cancels {
		method = http.MethodPost
	}
	switch file, found := strings.CutPrefix(x.tail, operationFiles); {
	case x.r.Method != method:
		x.wrongMethod(method)
	case creates:
		x.createOperation(strings.TrimPrefix(model, "models/"))
	case found:
		x.sendFileMove(file)
	case strings.HasPrefix(x.tail, operationStore):
		id := strings.TrimPrefix(x.tail, operationStore)
		if r := x.sim.renders.find(x.provider, operationsService.style.name, id); r != nil {
			x.sendOwnFile(r)
		} else {
			x.fail(failure{status: http.StatusNotFound, message: "File " + id + " not found."})
		}
	default:
		x.serveOperation(name, cancels)
	}
}

type operationRequest struct {
	Instances  []operationInstance `json:"instances"`
	Parameters struct {
		AspectRatio      string       `json:"aspectRatio"`
		Resolution       string       `json:"resolution"`
		DurationSeconds  *json.Number `json:"durationSeconds"`
		NegativePrompt   string       `json:"negativePrompt"`
		PersonGeneration string       `json:"personGeneration"`
		SampleCount      *int         `json:"sampleCount"`
		Seed             *int64       `json:"seed"`
	} `json:"parameters"`
}

type operationInstance struct {
	Prompt string `json:"prompt"`
	Image  *struct {
		Data string `json:"bytesBase64Encoded"`
		Type string `json:"mimeType"`
	} `json:"image"`
	Video *struct {
		URI string `json:"uri"`
	} `json:"video"`
}

const (
	operationSecondsMin = 4
	operationSecondsMax = 20
)

// operationSizes are the measures of a resolution when the video is wide.
var operationSizes = map[string][2]int{"720p": {1280, 720}, "1080p": {1920, 1080}, "1024p": {1792, 1024}}

// readStrict reads a body that is one JSON object without an unknown member. Numbers keep their form.
func (x *exchange) readStrict(v any) *failure {
	if bad := x.read(); bad != nil {
		return bad
	}
	d := json.NewDecoder(bytes.NewReader(x.body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return badRequest("", "invalid JSON payload received: "+err.Error())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequest("", "invalid JSON payload received: something follows the object")
	}
	return nil
}

func (x *exchange) createOperation(model string) {
	var q operationRequest
	if bad := x.readStrict(&q); bad != nil {
		x.fail(*bad)
		return
	}
	if len(q.Instances) != 1 {
		x.fail(*badRequest("instances", "instances must have one element."))
		return
	}
	o := &order{service: &operationsService, kind: operationsService.style.name, model: model, text: q.Instances[0].Prompt}
	if image := q.Instances[0].Image; image != nil {
		x.entry.shortened(x.body, image.Data)
	}
	for _, step := range []func(*exchange, *order, *operationRequest) *failure{
		operationSource, operationMeasures, operationLength, operationPicture,
	} {
		if bad := step(x, o, &q); bad != nil {
			x.fail(*bad)
			return
		}
	}
	name := onCreate
	if o.source != nil {
		name = onRemix
	}
	x.start(name, o, func(r *render) { x.sendValue(map[string]any{"name": r.operation()}) })
}

// operation is the name of a render.
func (r *render) operation() string { return "models/" + r.model + "/operations/" + r.id }

// operationSource wants a prompt, and the video that is to be changed, if any, to be a file of this service.
func operationSource(x *exchange, o *order, q *operationRequest) *failure {
	if bad := checkPrompt(o.text); bad != nil {
		return bad
	}
	video := q.Instances[0].Video
	if video == nil {
		return nil
	}
	_, file, _ := strings.Cut(video.URI, operationsRoute+operationFiles)
	id, ok := strings.CutSuffix(strings.Split(file, "?")[0], ":download")
	source := x.sim.renders.find(x.provider, operationsService.style.name, id)
	if !ok || source == nil || x.sim.renders.peek(source, x.sim.options.Now()).stage != succeeded {
		return badRequest("instances[0].video.uri", "The video must be one that this service made.")
	}
	o.source, o.width, o.height, o.seconds = source, source.width, source.height, source.seconds
	return nil
}

func operationMeasures(_ *exchange, o *order, q *operationRequest) *failure {
	ratio, resolution := q.Parameters.AspectRatio, q.Parameters.Resolution
	if o.source != nil && ratio == "" && resolution == "" {
		return nil
	}
	size, ok := operationSizes[cmp.Or(resolution, "720p")]
	if !ok {
		return badRequest("parameters.resolution", "resolution must be one of 720p, 1024p, 1080p; received '"+resolution+"'.")
	}
	o.width, o.height = size[0], size[1]
	switch cmp.Or(ratio, "16:9") {
	case "16:9":
	case "9:16":
		o.width, o.height = o.height, o.width
	default:
		return badRequest("parameters.aspectRatio", "aspectRatio must be one of 16:9, 9:16; received '"+ratio+"'.")
	}
	return nil
}

func operationLength(_ *exchange, o *order, q *operationRequest) *failure {
	const standard = 8
	given := q.Parameters.DurationSeconds
	if given == nil {
		if o.source == nil {
			o.seconds = standard
		}
		return nil
	}
	n, err := strconv.Atoi(given.String())
	if err != nil || n < operationSecondsMin || n > operationSecondsMax {
		return badRequest("parameters.durationSeconds", fmt.Sprintf("durationSeconds is out of bound: it must be a number from %d to %d.",
			operationSecondsMin, operationSecondsMax))
	}
	o.seconds = n
	return nil
}

func operationPicture(_ *exchange, o *order, q *operationRequest) *failure {
	image := q.Instances[0].Image
	if image == nil {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(image.Data)
	p, ok := pictureOf(data)
	if err != nil || !ok || p.kind != image.Type {
		return badRequest("instances[0].image", "image must hold base64 of a JPEG, PNG or WebP image, and its mimeType.")
	}
	o.picture = p
	return nil
}

// serveOperation shows or cancels one operation.
func (x *exchange) serveOperation(name string, cancels bool) {
	at := strings.LastIndex(name, "/operations/")
	r := x.sim.renders.find(x.provider, operationsService.style.name, name[at+len("/operations/"):])
	if r == nil || r.operation() != name {
		x.fail(failure{status: http.StatusNotFound, message: "Operation " + name + " not found."})
		return
	}
	now := x.sim.options.Now()
	switch {
	case !cancels && x.about(onStatus, r):
		x.sendValue(r.operationObject(x.sim.renders.look(r, now), now))
	case cancels && x.about(onCancel, r):
		x.sim.renders.cancel(r, now)
		x.sendValue(struct{}{})
	}
}

// operationObject is an operation in the state of a view.
func (r *render) operationObject(v view, now time.Time) map[string]any {
	metadata := map[string]any{"@type": "type.googleapis.com/simulator.VideoMetadata", "progressPercent": v.progress}
	if v.odd {
		metadata["state"] = "POSTPROCESSING"
	}
	o := map[string]any{"name": r.operation(), "metadata": metadata}
	if v.stage < succeeded {
		o["done"] = false
		return o
	}
	o["done"] = true
	switch {
	case v.stage == succeeded:
		uri := r.fileAddress(operationsRoute+operationFiles+r.id+":download", "alt=media", now)
		o["response"] = operationResult(map[string]any{
			"generatedSamples": []any{map[string]any{"video": map[string]any{"uri": uri, "encoding": "video/mp4"}}}})
	case v.guard != nil:
		o["response"] = operationResult(map[string]any{"raiMediaFilteredCount": 1, "raiMediaFilteredReasons": []string{v.guard.filtered()}})
	case v.cancelled:
		o["error"] = map[string]any{"code": codeCancelled, "message": "The operation was cancelled.", "status": "CANCELLED"}
	default:
		o["error"] = map[string]any{"code": codeInternal, "message": "The video could not be made (" + v.code + ").", "status": "INTERNAL"}
	}
	return o
}

func operationResult(result map[string]any) map[string]any {
	result["@type"] = "type.googleapis.com/simulator.PredictLongRunningResponse"
	return map[string]any{"@type": result["@type"], "generateVideoResponse": result}
}

// sendFileMove answers a file address: the file is at another path of the same host.
func (x *exchange) sendFileMove(file string) {
	id, ok := strings.CutSuffix(file, ":download")
	r := x.sim.renders.find(x.provider, operationsService.style.name, id)
	if !ok || r == nil || x.r.URL.Query().Get("alt") != "media" {
		x.fail(failure{status: http.StatusNotFound, message: "File " + file + " not found."})
		return
	}
	target := operationsRoute + operationStore + id + "?" + x.r.URL.RawQuery
	if x.provider != "" {
		target = "/" + x.provider + target
	}
	x.prompt = r.prompt
	x.head("text/plain; charset=utf-8").Set("Location", target)
	x.entry.status(http.StatusFound)
	x.w.WriteHeader(http.StatusFound)
}

// shortened records a long body without the image in it, so that the rest of it can be read.
func (e *entry) shortened(body []byte, image string) {
	if e == nil || len(body) <= recordBytesMax || image == "" {
		return
	}
	e.described(strings.Replace(string(body), image, fmt.Sprintf("(%d characters)", len(image)), 1))
}
