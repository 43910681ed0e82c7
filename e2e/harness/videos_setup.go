package harness

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	VideosPath = "/v1/videos"
	// The upstream of reelModel has the videos style.
	VideosModel = "meridian/reel"
	// The upstream of fastModel has the operations style.
	OperationsModel = "boreal/drift:fast"
	// The upstream of proModel has the operations style; the model is better and more expensive.
	OperationsProModel = "boreal/drift:pro"
	// The upstream of swiftModel has the tasks style.
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

// Webhooks has the receivers of webhooks of this test process.
var Webhooks = &webhookReceivers{}

// SharedVideoDemo gives a test the gateway that all tests of videos share: renders take 0.3 s, and webhooks may go to the receivers.
// Tests that break things start one of their own with startVideos.
func SharedVideoDemo(t *testing.T) *Gateway {
	t.Helper()
	return sharedVideo.start(t, "videos", VideoFlags(Webhooks.Address())...)
}

// StartVideoDemo gives a test a demo of its own that makes videos quickly. Later flags win.
func StartVideoDemo(t *testing.T, args ...string) *Gateway {
	t.Helper()
	return StartDemo(t, append(VideoFlags(Webhooks.Address()), args...)...)
}

func VideoFlags(receiver string) []string {
	return []string{"--pace", "0s", "--render", "300ms", "--video-poll", "100ms", "--egress-allow", receiver}
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

func Quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
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
			t.Fatalf("the job does not end within %s: %v", JobTimeMax, o)
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

// part is one field of a form; one with a file name is a file.
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

// WebhookRequest is one request that a receiver got.
type WebhookRequest struct {
	Method     string
	Header     http.Header
	Body       string
	receivedAt time.Time
}

// Event is the payload of a hit.
func (h WebhookRequest) Event(t *testing.T) map[string]any {
	t.Helper()
	return DecodeObject(t, h.Body)
}

// WebhookReceiver is one address that webhooks may be sent to.
type WebhookReceiver struct {
	URL string

	mu       sync.Mutex
	received []WebhookRequest
	handler  func(http.ResponseWriter, *http.Request)
}

// webhookReceivers serve all addresses of this run on one port, as it must be known before a demo starts.
type webhookReceivers struct {
	once   sync.Once
	server *httptest.Server
	mu     sync.Mutex
	byPath map[string]*WebhookReceiver
}

// Address is the host and port of all receivers.
func (all *webhookReceivers) Address() string {
	all.once.Do(func() {
		all.byPath = map[string]*WebhookReceiver{}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		all.server = httptest.NewUnstartedServer(all)
		_ = all.server.Listener.Close()
		all.server.Listener = ln
		all.server.Start()
	})
	return all.server.Listener.Addr().String()
}

// ServeHTTP hands a request to the receiver whose path it names.
func (all *webhookReceivers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	all.mu.Lock()
	one := all.byPath[r.URL.Path]
	all.mu.Unlock()
	if one == nil {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, WebhookBytesMax))
	if err != nil {
		return
	}
	one.mu.Lock()
	if len(one.received) < WebhooksMax {
		one.received = append(one.received, WebhookRequest{r.Method, r.Header.Clone(), string(body), time.Now()})
	}
	reply := one.handler
	one.mu.Unlock()
	if reply == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	reply(w, r)
}

// NewWebhookReceiver is an address that answers 204, or what answers is given to do.
func NewWebhookReceiver(t *testing.T) *WebhookReceiver {
	t.Helper()
	host := Webhooks.Address()
	Webhooks.mu.Lock()
	defer Webhooks.mu.Unlock()
	path := fmt.Sprintf("/hook/%d", len(Webhooks.byPath))
	r := &WebhookReceiver{URL: "http://" + host + path}
	Webhooks.byPath[path] = r
	return r
}

// AnswerWith changes how the receiver answers; nil is 204.
func (r *WebhookReceiver) AnswerWith(with func(http.ResponseWriter, *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handler = with
}

// Received are the requests that came so far.
func (r *WebhookReceiver) Received() []WebhookRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]WebhookRequest(nil), r.received...)
}

// WaitForEvent waits until an event of the type about the job has come, and returns all hits about the job.
func (r *WebhookReceiver) WaitForEvent(t *testing.T, eventType, id string) []WebhookRequest {
	t.Helper()
	for deadline := time.Now().Add(JobTimeMax); ; time.Sleep(PollInterval) {
		var found []WebhookRequest
		seen := false
		for _, h := range r.Received() {
			if e := h.Event(t); TextMember(e, "data", "id") == id {
				found = append(found, h)
				seen = seen || TextMember(e, "type") == eventType
			}
		}
		if seen {
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s about %s within %s", eventType, id, JobTimeMax)
		}
	}
}

// WebhookEndpoint is a webhook endpoint of a customer.
type WebhookEndpoint struct{ ID, Secret string }

// AddWebhook registers the receiver for events of the types; for both when there are none.
func (c Customer) AddWebhook(t *testing.T, r *WebhookReceiver, types ...string) WebhookEndpoint {
	t.Helper()
	if len(types) == 0 {
		types = []string{"video.completed", "video.failed"}
	}
	body, err := json.Marshal(map[string]any{"name": "for a test", "url": r.URL, "event_types": types})
	if err != nil {
		t.Fatal(err)
	}
	a := c.Call(t, http.MethodPost, "/v1/webhook_endpoints", string(body))
	o := DecodeObject(t, a.Body)
	h := WebhookEndpoint{TextMember(o, "id"), TextMember(o, "signing_secret")}
	if a.Status != http.StatusOK || h.ID == "" || !strings.HasPrefix(h.Secret, "whsec_") {
		t.Fatalf("no endpoint: %d %s", a.Status, a.Body)
	}
	return h
}

// CheckSignature insists that a hit is signed with the secret as Standard Webhooks says, by a reckoning of this test's own.
func (h WebhookRequest) CheckSignature(t *testing.T, secret string) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		t.Fatalf("the secret has %d bytes: %v", len(key), err)
	}
	id, stamp := h.Header.Get("Webhook-Id"), h.Header.Get("Webhook-Timestamp")
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "." + h.Body))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if age := h.receivedAt.Sub(time.Unix(seconds, 0)); err != nil || age < -2*time.Second || age > time.Minute {
		t.Errorf("the stamp %q is not of the time %s: %v", stamp, h.receivedAt, err)
	}
	for one := range strings.FieldsSeq(h.Header.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(one), []byte(want)) {
			return
		}
	}
	t.Errorf("none of the signatures %q is %q", h.Header.Get("Webhook-Signature"), want)
}
