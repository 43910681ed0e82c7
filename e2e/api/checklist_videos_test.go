package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// videoRoots are all spellings of the video routes: the service's, the compatible one, the guide's, and an alias of the
// default catalog.
var videoRoots = []string{harness.VideosPath, "/v1/vendora/videos", "/videos", "/v1/openai/videos"}

// videoModels are the models of the default catalog that make videos, one for each style of upstream and the pro one.
var videoModels = []string{harness.VideosModel, harness.OperationsModel, harness.OperationsProModel, harness.TasksModel}

// videoSizes are what they make, the standard first, and videoLengths how long.
var (
	videoSizes = map[string][]string{
		harness.VideosModel: {"720x1280", "1280x720"}, harness.OperationsModel: {"720x1280", "1280x720"},
		harness.OperationsProModel: {"720x1280", "1280x720", "1024x1792", "1792x1024", "1080x1920", "1920x1080"},
		harness.TasksModel:         {"1280x720", "720x1280", "960x960", "1920x1080", "1080x1920"},
	}
	videoLengths = map[string][]int{harness.VideosModel: {4, 8, 12}, harness.OperationsModel: {4, 8, 12}, harness.OperationsProModel: {4, 8, 12, 16, 20}, harness.TasksModel: {5, 10}}
)

// films are what the lines about videos share: a customer of the gateway that makes videos, and one film of each model.
type films struct {
	harness.Customer

	// made has the answers of create, by model.
	made map[string]map[string]any
	// done has the same tasks after their end.
	done map[string]map[string]any
}

func newFilms(t *testing.T) *films {
	t.Helper()
	v := &films{Customer: harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "films"), made: map[string]map[string]any{}, done: map[string]map[string]any{}}
	for _, id := range videoModels {
		v.made[id] = v.CreateVideo(t, harness.VideoBody(id, "a lighthouse at dusk"))
	}
	for id, o := range v.made {
		v.done[id] = v.WaitVideo(t, harness.TextMember(o, "id"))
		if harness.TextMember(v.done[id], "status") != "completed" {
			t.Fatalf("%s: %v", id, v.done[id])
		}
	}
	return v
}

// filmed is a line about videos. Such lines wait for jobs, so they run beside each other.
func filmed(holds func(*testing.T, *films)) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		t.Parallel()
		holds(t, k.films)
	}
}

var videoCreateLines = []checkLine{
	{"A10 on video routes the authentication failure has the type authentication_error", filmed(videosDemandKey)},
	{"A19 the paths of the guide without a version mean the same operations", filmed(spellingsAgree("/videos"))},
	{"G127 POST v1 videos exists", filmed(createsAt(harness.VideosPath))},
	{"G128 POST v1 vendora videos behaves identically", filmed(createsAt("/v1/vendora/videos"))},
	{"G128 the other spellings behave identically", filmed(func(t *testing.T, v *films) {
		createsAt("/videos")(t, v)
		createsAt("/v1/openai/videos")(t, v)
	})},
	{"G129 the Content-Type application json is accepted", filmed(createTakesJSON)},
	{"G130 the Content-Type multipart form-data is accepted, with a file and without", filmed(createTakesForms)},
	{"G131 a task is returned at once", filmed(createWaitsForNoRender)},
	{"G132 model is a required string", filmed(createNeedsModel)},
	{"G133 prompt is a required string", filmed(createNeedsPrompt)},
	{"G134 size is width x height, landscape or portrait", filmed(sizesHold)},
	{"G135 seconds is a string or an integer", filmed(secondsHold)},
	{"G136 input_reference is the first frame, in every form", filmed(firstFrames)},
	{"G137 input_reference is JPEG, PNG or WebP", filmed(frameTypes)},
	{"G138 input_reference has exactly the target size", filmed(frameSizes)},
	{"G139 stream sends the task at each change until it has ended", filmed(createStreams)},
	{"G139 stream is refused where the contract has none", filmed(func(t *testing.T, v *films) {
		v.refusesVideo(t, harness.VideoBody(harness.TasksModel, "x", `"stream":true`), "invalid_value", "stream")
		harness.DecodeVideo(t, v.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.TasksModel, "x", `"stream":false`)))
		body, contentType := harness.FormBody(t, harness.FormPart{Name: "model", Value: harness.TasksModel}, harness.FormPart{Name: "prompt", Value: "x"}, harness.FormPart{Name: "stream", Value: "true"})
		a := v.Call(t, "POST", harness.VideosPath, body, "Content-Type", contentType)
		if r := harness.OpenAIError(t, a); a.Status != 400 || r.Param != "stream" {
			t.Errorf("a form: %d %+v", a.Status, r)
		}
	})},
	{"G140 remix_video_id makes a remix of a completed video", filmed(remixesByField)},
	{"G141 there is a fast variant and a pro one, which is better, slower and dearer", filmed(fastAndPro)},
	{"G142 a task has an id that remix, content and delete take", filmed(idServesAll)},
	{"G143 a task has the object video", filmed(eachTask(func(t *testing.T, o map[string]any) { is(t, o, "object", "video") }))},
	{"G144 a task has created_at in Unix seconds", filmed(eachTask(func(t *testing.T, o map[string]any) {
		if age := time.Now().Unix() - harness.IntMember(t, o, "created_at"); age < 0 || age > 900 {
			t.Errorf("created %d s ago", age)
		}
	}))},
	{"G145 a task has one of four statuses", filmed(eachTask(func(t *testing.T, o map[string]any) {
		if !slices.Contains([]string{"queued", "in_progress", "completed", "failed"}, harness.TextMember(o, "status")) {
			t.Errorf("the status is %v", o["status"])
		}
	}))},
	{"G146 a task has the model used", filmed(func(t *testing.T, v *films) {
		for id := range v.made {
			is(t, v.made[id], "model", id)
			is(t, v.done[id], "model", id)
		}
	})},
	{"G147 a task has its progress in per cent", filmed(eachTask(func(t *testing.T, o map[string]any) {
		if n := harness.IntMember(t, o, "progress"); n < 0 || n > 100 || (n == 100) != (harness.TextMember(o, "status") == "completed") {
			t.Errorf("%d %% of %v", n, o["status"])
		}
	}))},
	{"G148 a task has seconds", filmed(func(t *testing.T, v *films) {
		for id := range v.made {
			is(t, v.made[id], "seconds", fmt.Sprint(videoLengths[id][0]))
			is(t, v.done[id], "seconds", fmt.Sprint(videoLengths[id][0]))
		}
	})},
	{"G149 a task has size", filmed(func(t *testing.T, v *films) {
		for id := range v.made {
			is(t, v.made[id], "size", videoSizes[id][0])
			is(t, v.done[id], "size", videoSizes[id][0])
		}
	})},
	{"G150 a new task is queued or in_progress", filmed(func(t *testing.T, v *films) {
		for _, o := range v.made {
			isNew(t, o)
		}
	})},
}

// isNew insists that a task is what create answers with: every member that is documented, and nothing that is not yet.
func isNew(t *testing.T, o map[string]any) {
	t.Helper()
	harness.OnlyMembers(t, o, "id", "object", "created_at", "created", "status", "model", "progress", "prompt", "seconds", "size", "completed_at",
		"expires_at", "remixed_from_video_id", "error", "metadata")
	for _, name := range []string{"completed_at", "expires_at", "error"} {
		if value, told := o[name]; !told || value != nil {
			t.Errorf("%s is %v in %v", name, value, o)
		}
	}
	if s := harness.TextMember(o, "status"); s != "queued" && s != "in_progress" {
		t.Errorf("a new task is %s", s)
	}
	if harness.IntMember(t, o, "created") != harness.IntMember(t, o, "created_at") || harness.IntMember(t, o, "progress") > 99 {
		t.Errorf("a new task is %v", o)
	}
}

// eachTask looks at tasks new and done.
func eachTask(holds func(*testing.T, map[string]any)) func(*testing.T, *films) {
	return func(t *testing.T, v *films) {
		for id := range v.made {
			holds(t, v.made[id])
			holds(t, v.done[id])
			holds(t, v.GetVideo(t, harness.TextMember(v.made[id], "id")))
		}
	}
}

// refusesVideo sends a body as JSON that must be refused as invalid, under the first spelling of the route.
func (v *films) refusesVideo(t *testing.T, body, code, param string) harness.APIError {
	t.Helper()
	return harness.CheckVideoError(t, v.Call(t, http.MethodPost, harness.VideosPath, body), 400, code, param)
}

// getQuote asks what a video would cost.
func getQuote(t *testing.T, c harness.Customer, body string) harness.Response {
	t.Helper()
	return c.Call(t, http.MethodPost, harness.VideosPath, body, "X-Dry-Run", "1")
}

// requireQuote insists that a body would be taken.
func requireQuote(t *testing.T, c harness.Customer, body string) map[string]any {
	t.Helper()
	a := getQuote(t, c, body)
	o := harness.DecodeObject(t, a.Body)
	if a.Status != http.StatusOK || harness.TextMember(o, "object") != "video.quote" {
		t.Errorf("no quote: %d %s\nfor %.300s", a.Status, a.Body, body)
	}
	return o
}

func createsAt(path string) func(*testing.T, *films) {
	return func(t *testing.T, v *films) {
		for _, id := range videoModels {
			a := v.Call(t, http.MethodPost, path, harness.VideoBody(id, "a kite", `"user":"u-1"`, `"metadata":{"a":"b"}`))
			o := harness.DecodeVideo(t, a)
			isNew(t, o)
			is(t, o, "prompt", "a kite")
			for _, name := range []string{"Openai-Poll-After-Ms", "Poll-Hint", "Retry-After"} {
				if a.Header.Get(name) == "" {
					t.Errorf("%s with %s: no header %s in %v", path, id, name, a.Header)
				}
			}
			if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("X-Request-Id") == "" || a.Header.Get("Request-Id") == "" {
				t.Errorf("%s: the headers are %v", path, a.Header)
			}
		}
		for _, sub := range []string{"edits", "extensions", "characters"} {
			harness.CheckVideoError(t, v.Call(t, http.MethodPost, path+"/"+sub, `{}`), 404, "unsupported_endpoint", "")
		}
	}
}

func createTakesJSON(t *testing.T, v *films) {
	for _, mediaType := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON"} {
		isNew(t, harness.DecodeVideo(t, v.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.VideosModel, "x"), "Content-Type", mediaType)))
	}
	for _, mediaType := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/octet-stream"} {
		harness.CheckVideoError(t, v.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.VideosModel, "x"), "Content-Type", mediaType), 415, "unsupported_media_type", "")
	}
	for _, accept := range []string{"application/binary", "text/html", "image/png"} {
		harness.DecodeVideo(t, v.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.VideosModel, "x"), "Accept", accept))
	}
	isNew(t, v.CreateVideo(t, harness.VideoBody(harness.VideosModel, "x", `"unknown_member":[1]`, `"size":null`, `"seconds":null`, `"input_reference":null`)))
}

func createTakesForms(t *testing.T, v *films) {
	for _, root := range videoRoots {
		for _, id := range videoModels {
			size := videoSizes[id][1]
			o := harness.DecodeVideo(t, v.PostForm(t, root, harness.FormPart{Name: "model", Value: id}, harness.FormPart{Name: "prompt", Value: "ein Boot, üö"},
				harness.FormPart{Name: "size", Value: size}, harness.FormPart{Name: "seconds", Value: fmt.Sprint(videoLengths[id][1])},
				harness.FormPart{Name: "user", Value: "u"}, harness.FormPart{Name: "metadata[a]", Value: "b"}))
			isNew(t, o)
			is(t, o, "prompt", "ein Boot, üö")
			is(t, o, "size", size)
			is(t, o, "seconds", fmt.Sprint(videoLengths[id][1]))
		}
	}
}

// createWaitsForNoRender asks for a video that is never rendered on its own: the answer comes all the same.
func createWaitsForNoRender(t *testing.T, v *films) {
	for _, id := range videoModels {
		mark := harness.UniqueName("held")
		o := v.CreateVideo(t, harness.VideoBody(id, "simulate: render=hold\n"+mark))
		isNew(t, o)
		renders := harness.DecodeJSON[struct {
			Renders []struct{ Status string }
		}](t, v.CallSimulator(t, "GET", "/_control/renders?text="+mark, ""))
		if len(renders.Renders) != 1 || renders.Renders[0].Status == "completed" {
			t.Errorf("%s: the renders are %+v", id, renders)
		}
		v.CallSimulator(t, "POST", "/_control/finish?id="+mark, "")
		if o = v.WaitVideo(t, harness.TextMember(o, "id")); harness.TextMember(o, "status") != "completed" {
			t.Errorf("%s: %v", id, o)
		}
	}
}

func createNeedsModel(t *testing.T, v *films) {
	for _, model := range []string{``, `"model":null,`} {
		r := v.refusesVideo(t, `{`+model+`"prompt":"x"}`, "missing_required_parameter", "model")
		if r.Type != "invalid_request_error" || !strings.Contains(r.Message, "/v1/models") {
			t.Errorf("%q: %+v", model, r)
		}
	}
	for _, model := range []string{`""`, `7`, `true`, `[]`, `{}`} {
		v.refusesVideo(t, `{"model":`+model+`,"prompt":"x"}`, "invalid_value", "model")
	}
}

func createNeedsPrompt(t *testing.T, v *films) {
	for _, id := range videoModels {
		for _, prompt := range []string{``, `,"prompt":null`, `,"prompt":""`, `,"prompt":"  \n"`, `,"prompt":7`, `,"prompt":["x"]`, `,"prompt":"a\u0000b"`,
			`,"prompt":` + harness.Quote(strings.Repeat("ü", 32_001))} {
			code := "invalid_value"
			if prompt == "" {
				code = "missing_required_parameter"
			}
			v.refusesVideo(t, `{"model":`+harness.Quote(id)+prompt+`}`, code, "prompt")
		}
		for _, prompt := range []string{"x", strings.Repeat("ü", 32_000)} {
			requireQuote(t, v.Customer, harness.VideoBody(id, prompt))
		}
	}
	long := v.CompleteVideo(t, harness.VideoBody(harness.VideosModel, strings.Repeat("長い", 4000)))
	is(t, long, "prompt", strings.Repeat("長い", 4000))
}

func sizesHold(t *testing.T, v *films) {
	for _, id := range videoModels {
		var asked []map[string]any
		for _, size := range videoSizes[id] {
			asked = append(asked, v.CreateVideo(t, harness.VideoBody(id, "measures", `"size":`+harness.Quote(size))))
		}
		for i, o := range asked {
			o = v.WaitVideo(t, harness.TextMember(o, "id"))
			is(t, o, "size", videoSizes[id][i])
			film := v.Call(t, "GET", harness.VideosPath+"/"+harness.TextMember(o, "id")+"/content", "")
			if f := harness.ReadMP4(t, film.Body); fmt.Sprintf("%dx%d", f.Width, f.Height) != videoSizes[id][i] {
				t.Errorf("%s in %s is %+v", id, videoSizes[id][i], f)
			}
		}
		for _, size := range []string{`""`, `"720"`, `"1x1"`, `"720X1280"`, `"1280x720 "`, `"1280×720"`, `7`, `["1280x720"]`, `"1000x1000"`} {
			v.refusesVideo(t, harness.VideoBody(id, "x", `"size":`+size), "invalid_value", "size")
		}
	}
}

func secondsHold(t *testing.T, v *films) {
	for _, id := range videoModels {
		for i, n := range videoLengths[id] {
			for _, written := range []string{`"%d"`, `%d`, `%d.0`} {
				is(t, requireQuote(t, v.Customer, harness.VideoBody(id, "x", `"seconds":`+fmt.Sprintf(written, n))), "seconds", fmt.Sprint(n))
			}
			if i != 1 {
				continue
			}
			for _, written := range []string{`"%d"`, `%d`} {
				o := v.CompleteVideo(t, harness.VideoBody(id, "length", `"seconds":`+fmt.Sprintf(written, n)))
				is(t, o, "seconds", fmt.Sprint(n))
				film := v.Call(t, "GET", harness.VideosPath+"/"+harness.TextMember(o, "id")+"/content", "")
				if f := harness.ReadMP4(t, film.Body); f.Seconds < float64(n)-0.5 || f.Seconds > float64(n)+0.5 {
					t.Errorf("%s of %d s is %+v", id, n, f)
				}
			}
		}
		for _, seconds := range []string{`""`, `"8s"`, `"08"`, `7`, `0`, `-4`, `8.5`, `"8.5"`, `true`, `[8]`, `1e9`, `"eight"`, `3600`} {
			v.refusesVideo(t, harness.VideoBody(id, "x", `"seconds":`+seconds), "invalid_value", "seconds")
		}
	}
}

// createStreams follows a job in the answer to its creation.
func createStreams(t *testing.T, v *films) {
	for _, id := range []string{harness.VideosModel, harness.OperationsModel, harness.OperationsProModel} {
		for prompt, end := range map[string]string{"a stream": "completed", "guardrail-late: minors": "failed"} {
			a := v.Call(t, "POST", harness.VideosPath, harness.VideoBody(id, prompt, `"stream":true`))
			v.isFollowed(t, a, end)
			body, contentType := harness.FormBody(t, harness.FormPart{Name: "model", Value: id}, harness.FormPart{Name: "prompt", Value: prompt}, harness.FormPart{Name: "stream", Value: "true"})
			v.isFollowed(t, v.Call(t, "POST", "/videos", body, "Content-Type", contentType), end)
		}
	}
	isNew(t, v.CreateVideo(t, harness.VideoBody(harness.VideosModel, "x", `"stream":false`)))
	v.refusesVideo(t, harness.VideoBody(harness.VideosModel, "x", `"stream":"true"`), "invalid_value", "stream")
	harness.CheckVideoError(t, v.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.VideosModel, "guardrail: minors", `"stream":true`)), 400, "content_policy_violation", "prompt")
}

// isFollowed insists that an answer is a stream of one task on its way to an end.
func (v *films) isFollowed(t *testing.T, a harness.Response, end string) {
	t.Helper()
	if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") || !strings.HasSuffix(a.Body, "\n\n") {
		t.Fatalf("no stream: %d %v %s", a.Status, a.Header, a.Body)
	}
	var last map[string]any
	frames := 0
	for frame := range strings.SplitSeq(strings.TrimSuffix(a.Body, "\n\n"), "\n\n") {
		data, isData := strings.CutPrefix(frame, "data: ")
		if !isData && strings.HasPrefix(frame, ":") {
			continue
		}
		o := harness.DecodeObject(t, data)
		if strings.Contains(data, "\n") || last != nil && (o["id"] != last["id"] || harness.TokensMember(t, o, "progress") < harness.TokensMember(t, last, "progress")) ||
			last != nil && slices.Contains([]string{"completed", "failed"}, harness.TextMember(last, "status")) {
			t.Fatalf("after %v comes %s", last, data)
		}
		if frames++; last == nil {
			isNew(t, o)
		}
		last = o
	}
	got, err := json.Marshal(v.GetVideo(t, harness.TextMember(last, "id")))
	want, errLast := json.Marshal(last)
	if frames < 2 || harness.TextMember(last, "status") != end || string(got) != string(want) || err != nil || errLast != nil {
		t.Errorf("%d frames end with %v, the task is %s", frames, last, got)
	}
}
