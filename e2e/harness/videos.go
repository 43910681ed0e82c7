package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// CheckVideoError insists on a failure of the video routes.
func CheckVideoError(t *testing.T, a Response, status int, code, param string) APIError {
	t.Helper()
	r := OpenAIError(t, a)
	if a.Status != status || r.Code != code || r.Param != param || a.Header.Get("X-Request-Id") == "" || a.Header.Get("X-Error-Code") != code {
		t.Errorf("%d, not %d %s at %q: %s", a.Status, status, code, param, a.Body)
	}
	return r
}

// videoListPage is a list of videos.
type videoListPage struct {
	Data    []struct{ ID string }
	HasMore bool   `json:"has_more"`
	LastID  string `json:"last_id"`
}

// ListAll goes through a list by its cursor and returns how often each id came.
func (c Customer) ListAll(ctx context.Context, order string, limit int) (map[string]int, error) {
	seen, after := map[string]int{}, ""
	for range 20_000 {
		path := fmt.Sprintf("%s?limit=%d&order=%s", VideosPath, limit, order)
		if after != "" {
			path += "&after=" + after
		}
		a, err := c.TryCall(ctx, http.MethodGet, path, "")
		if err != nil {
			return nil, err
		}
		var p videoListPage
		if err := json.Unmarshal([]byte(a.Body), &p); err != nil || a.Status != http.StatusOK {
			return nil, fmt.Errorf("%d %s %w", a.Status, a.Body, err)
		}
		for _, one := range p.Data {
			seen[one.ID]++
			after = one.ID
		}
		if !p.HasMore || len(p.Data) == 0 {
			return seen, nil
		}
	}
	return nil, fmt.Errorf("the list does not end")
}

const (
	// VideosPath is the path of video jobs.
	VideosPath = "/v1/videos"
	// VideosModel is a model whose upstream has the videos style.
	VideosModel = "meridian/reel"
	// OperationsModel is a model whose upstream has the operations style.
	OperationsModel = "boreal/drift:fast"
	// OperationsProModel is a model whose upstream has the operations style; the model is better and more expensive.
	OperationsProModel = "boreal/drift:pro"
	// TasksModel is a model whose upstream has the tasks style.
	TasksModel = "kestrel/swift"
	// JobTimeMax is the time in which one job of the shared demo must end.
	JobTimeMax = 30 * time.Second
	// WebhooksMax is the number of requests that one receiver remembers.
	WebhooksMax = 20_000
	// WebhookBytesMax is the part of a request's body that a receiver reads.
	WebhookBytesMax = 1 << 20
	// PollInterval is the time between two reads of a job.
	PollInterval = 25 * time.Millisecond
)

// SharedVideoDemo gives a test the gateway that all tests of videos share: renders take 0.3 s, and webhooks may go to the receivers.
// Tests that break things start one of their own with StartVideoDemo.
func SharedVideoDemo(t *testing.T) *Gateway {
	t.Helper()
	return sharedVideo.start(t, "videos", VideoFlags(Webhooks.Address())...)
}

// StartVideoDemo gives a test a demo of its own that makes videos quickly. Later flags win.
func StartVideoDemo(t *testing.T, args ...string) *Gateway {
	t.Helper()
	return StartDemo(t, append(VideoFlags(Webhooks.Address()), args...)...)
}

// VideoFlags make a demo render videos quickly and let it send webhooks to the receivers.
func VideoFlags(receiver string) []string {
	return []string{"--token-interval", "0s", "--render-time", "300ms", "--video-poll-interval", "100ms", "--egress-allow", receiver}
}

// NewVideoCustomer is a customer with room for many videos and money for them.
func NewVideoCustomer(t *testing.T, g *Gateway, name string) Customer {
	t.Helper()
	c := g.NewCustomer(t, name)
	c.SetLimits(t, 1000)
	c.SetAvailable(t, 1_000_000_000_000)
	return c
}

// VideoBody is a request for a video, with more members when given.
func VideoBody(model, prompt string, members ...string) string {
	return `{"model":` + Quote(model) + `,"prompt":` + Quote(prompt) + strings.Join(append([]string{""}, members...), ",") + `}`
}

// CreateVideo asks for a video, which must be taken, and returns the task.
func (c Customer) CreateVideo(t *testing.T, body string, headers ...string) map[string]any {
	t.Helper()
	return DecodeVideo(t, c.Call(t, http.MethodPost, VideosPath, body, headers...))
}

// DecodeVideo reads a task from an answer that must be one.
func DecodeVideo(t *testing.T, a Response) map[string]any {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("no task: %d %s", a.Status, a.Body)
	}
	o := DecodeObject(t, a.Body)
	if TextMember(o, "object") != "video" || !strings.HasPrefix(TextMember(o, "id"), "video_") {
		t.Fatalf("no task: %s", a.Body)
	}
	return o
}

// GetVideo looks at a job.
func (c Customer) GetVideo(t *testing.T, id string) map[string]any {
	t.Helper()
	return DecodeVideo(t, c.Call(t, http.MethodGet, VideosPath+"/"+id, ""))
}

// WaitVideo reads a job until it has ended, and insists that its status and progress only move forward.
func (c Customer) WaitVideo(t *testing.T, id string) map[string]any {
	t.Helper()
	order := map[string]int{"queued": 0, "in_progress": 1, "completed": 2, "failed": 2}
	at, progress := 0, int64(0)
	for deadline := time.Now().Add(JobTimeMax); ; time.Sleep(PollInterval) {
		o := c.GetVideo(t, id)
		now, known := order[TextMember(o, "status")]
		done := TokensMember(t, o, "progress")
		if !known || now < at || done < progress || done > 100 {
			t.Fatalf("after status %d and %d %% the task is %v", at, progress, o)
		}
		if at, progress = now, done; at == 2 {
			return o
		}
		if time.Now().After(deadline) {
			t.Fatalf("the job does not end within %s: %v\n%s", JobTimeMax, o, c.Warnings())
		}
	}
}

// CompleteVideo makes a video and waits until it is completed.
func (c Customer) CompleteVideo(t *testing.T, body string) map[string]any {
	t.Helper()
	o := c.WaitVideo(t, TextMember(c.CreateVideo(t, body), "id"))
	if TextMember(o, "status") != "completed" || TokensMember(t, o, "progress") != 100 {
		t.Fatalf("the job does not complete: %v", o)
	}
	return o
}

// FailVideo makes a video that is taken and fails later, and returns the task with its error's code checked.
func (c Customer) FailVideo(t *testing.T, body, code string) map[string]any {
	t.Helper()
	o := c.WaitVideo(t, TextMember(c.CreateVideo(t, body), "id"))
	if TextMember(o, "status") != "failed" || TextMember(o, "error", "code") != code || TextMember(o, "error", "message") == "" {
		t.Fatalf("the job does not fail for %s: %v", code, o)
	}
	return o
}

// Balance is the customer's balance.
func (c Customer) Balance(t *testing.T) Balance {
	t.Helper()
	return c.SettledBalance(t, c.AccountID)
}

// FormPart is one field of a form; one with a file name is a file.
type FormPart struct{ Name, File, MediaType, Value string }

// FormBody writes a multipart body and its Content-Type.
func FormBody(t *testing.T, parts ...FormPart) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := `form-data; name="` + p.Name + `"`
		if p.File != "" {
			disposition += `; filename="` + p.File + `"`
		}
		h.Set("Content-Disposition", disposition)
		if p.MediaType != "" {
			h.Set("Content-Type", p.MediaType)
		}
		out, err := w.CreatePart(h)
		if err == nil {
			_, err = io.WriteString(out, p.Value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

// PostForm sends a form to a path of the video routes.
func (c Customer) PostForm(t *testing.T, path string, parts ...FormPart) Response {
	t.Helper()
	body, contentType := FormBody(t, parts...)
	return c.Call(t, http.MethodPost, path, body, "Content-Type", contentType)
}
