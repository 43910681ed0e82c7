package simulator

import (
	"bytes"
	"encoding/json"
	"image"
	"image/jpeg"
	pngs "image/png"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a clock that stands until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: noon} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// json sends a value and decodes the answer.
func (u *upstream) json(method, path string, body any, header map[string]string) (int, object) {
	u.t.Helper()
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			u.t.Fatal(err)
		}
	}
	res := u.do(method, path, raw, header)
	if res.failed != nil || res.err != nil {
		u.t.Fatalf("%s %s: %v %v", method, path, res.failed, res.err)
	}
	var v object
	if err := json.Unmarshal(res.body, &v); err != nil {
		u.t.Fatalf("%s %s: %d %q", method, path, res.status, res.body)
	}
	return res.status, v
}

// dig follows keys and indexes into decoded JSON.
func dig(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(object)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func text(v any, path ...any) string {
	s, _ := dig(v, path...).(string)
	return s
}

func wantWords(t *testing.T, what string, v any, words ...string) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range words {
		if !strings.Contains(string(raw), w) {
			t.Errorf("%s: %q is missing in %s", what, w, raw)
		}
	}
}

// still is an image, with bytes after its end.
func still(t *testing.T, kind string, w, h int, extra string) []byte {
	t.Helper()
	var b bytes.Buffer
	picture := image.NewGray(image.Rect(0, 0, w, h))
	var err error
	if kind == "image/jpeg" {
		err = jpeg.Encode(&b, picture, nil)
	} else {
		err = pngs.Encode(&b, picture)
	}
	if err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), extra...)
}

// sent is a part of a multipart body.
type sent struct {
	name, file, kind string
	data             []byte
}

// multi sends a multipart body: fields in order of their names, then the files.
func (u *upstream) multi(path string, fields map[string]string, files ...sent) answered {
	u.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := w.WriteField(name, fields[name]); err != nil {
			u.t.Fatal(err)
		}
	}
	for _, f := range files {
		h := textproto.MIMEHeader{"Content-Type": {f.kind},
			"Content-Disposition": {multipart.FileContentDisposition(f.name, f.file)}}
		part, err := w.CreatePart(h)
		if err != nil {
			u.t.Fatal(err)
		}
		if _, err := part.Write(f.data); err != nil {
			u.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		u.t.Fatal(err)
	}
	return u.do(http.MethodPost, path, b.Bytes(), map[string]string{"Content-Type": w.FormDataContentType()})
}

const (
	videosAt = "/meridian/v1/videos"
	modelAt  = "/boreal/v1beta/models/pan-3:predictLongRunning"
	tasksAt  = "/kestrel/v1/videos/text2video"
)

// videoAsk and the functions after it are the smallest requests in each style.
func videoAsk(prompt string) object { return object{"model": "reel-2", "prompt": prompt} }

func operationAsk(prompt string) object { return object{"instances": []any{object{"prompt": prompt}}} }

func taskAsk(prompt string) object { return object{"model_name": "kite-1", "prompt": prompt} }

// service is one style, as far as the tests that are the same for all need it.
type service struct {
	name   string
	create string
	ask    func(prompt string) object
	at     func(created object) string // At is the path of the render.
	status func(v object) string       // Status returns a status of the videos style.
	file   func(u *upstream, at string, v object) answered
}

var statusWordsOf = map[string]string{"submitted": "queued", "processing": "in_progress", "succeed": "completed", "failed": "failed"}

var services = []service{
	{"videos", videosAt, videoAsk,
		func(v object) string { return videosAt + "/" + text(v, "id") },
		func(v object) string { return text(v, "status") },
		func(u *upstream, at string, _ object) answered { return u.do("GET", at+"/content", nil, nil) }},
	{"operations", modelAt, operationAsk,
		func(v object) string { return "/boreal/v1beta/" + text(v, "name") },
		func(v object) string {
			switch {
			case dig(v, "done") == false:
				return "in_progress"
			case dig(v, "response", "generateVideoResponse", "generatedSamples") != nil:
				return "completed"
			}
			return "failed"
		},
		func(u *upstream, _ string, v object) answered {
			uri := text(v, "response", "generateVideoResponse", "generatedSamples", 0, "video", "uri")
			moved := u.do("GET", strings.TrimPrefix(uri, u.url), nil, nil)
			return u.do("GET", moved.header.Get("Location"), nil, nil)
		}},
	{"tasks", tasksAt, taskAsk,
		func(v object) string { return tasksAt + "/" + text(v, "data", "task_id") },
		func(v object) string { return statusWordsOf[text(v, "data", "task_status")] },
		func(u *upstream, _ string, v object) answered {
			return u.do("GET", strings.TrimPrefix(text(v, "data", "task_result", "videos", 0, "url"), u.url), nil, nil)
		}},
}

// eachService runs a test for every style.
func eachService(t *testing.T, test func(t *testing.T, s service)) {
	t.Helper()
	for _, s := range services {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// begin makes a render and returns where it is asked for.
func (s service) begin(u *upstream, prompt string) string {
	u.t.Helper()
	status, v := u.json("POST", s.create, s.ask(prompt), nil)
	if status != 200 {
		u.t.Fatalf("%s: %d %v", s.name, status, v)
	}
	return s.at(v)
}

// look asks for the status.
func (s service) look(u *upstream, at string) (string, object) {
	u.t.Helper()
	_, v := u.json("GET", at, nil, nil)
	return s.status(v), v
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
