package e2e

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
	videosPath = "/v1/videos"
	// The upstream of reelModel has the videos style.
	reelModel = "meridian/reel"
	// The upstream of fastModel has the operations style.
	fastModel = "boreal/drift:fast"
	// The upstream of proModel has the operations style; the model is better and more expensive.
	proModel = "boreal/drift:pro"
	// The upstream of swiftModel has the tasks style.
	swiftModel = "kestrel/swift"
	// filmMax is the time in which one job of the shared demo must end.
	filmMax = 30 * time.Second
	// hitsMax is the number of requests that one receiver remembers.
	hitsMax = 20_000
	// hitBytes is the part of a request's body that a receiver reads.
	hitBytes = 1 << 20
	// lookEvery is the time between two reads of a job.
	lookEvery = 25 * time.Millisecond
)

// listening has the receivers of webhooks of this test process.
var listening = &receivers{}

// videoDemo gives a test the gateway that all tests of videos share: renders take 0.3 s, and webhooks may go to the receivers.
// Tests that break things start one of their own with startVideos.
func videoDemo(t *testing.T) *gateway {
	t.Helper()
	return sharedVideo.start(t, "videos", videoFlags(listening.address())...)
}

// startVideos gives a test a demo of its own that makes videos quickly. Later flags win.
func startVideos(t *testing.T, args ...string) *gateway {
	t.Helper()
	return start(t, append(videoFlags(listening.address()), args...)...)
}

func videoFlags(receiver string) []string {
	return []string{"--pace", "0s", "--render", "300ms", "--video-poll", "100ms", "--egress-allow", receiver}
}

// filmmaker is a customer with room for many videos and money for them.
func filmmaker(t *testing.T, g *gateway, name string) customer {
	t.Helper()
	c := g.newCustomer(t, name)
	c.setLimits(t, 1000)
	c.setAvailable(t, 1_000_000_000_000)
	return c
}

// videoBody is a request for a video, with more members when given.
func videoBody(model, prompt string, members ...string) string {
	return `{"model":` + quoted(model) + `,"prompt":` + quoted(prompt) + strings.Join(append([]string{""}, members...), ",") + `}`
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// makeVideo asks for a video, which must be taken, and returns the task.
func (c customer) makeVideo(t *testing.T, body string, headers ...string) map[string]any {
	t.Helper()
	return taskOf(t, c.call(t, http.MethodPost, videosPath, body, headers...))
}

// taskOf reads a task from an answer that must be one.
func taskOf(t *testing.T, a answer) map[string]any {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("no task: %d %s", a.status, a.body)
	}
	o := object(t, a.body)
	if textAt(o, "object") != "video" || !strings.HasPrefix(textAt(o, "id"), "video_") {
		t.Fatalf("no task: %s", a.body)
	}
	return o
}

// task looks at a job.
func (c customer) task(t *testing.T, id string) map[string]any {
	t.Helper()
	return taskOf(t, c.call(t, http.MethodGet, videosPath+"/"+id, ""))
}

// ended reads a job until it has ended, and insists that its status and progress only move forward.
func (c customer) ended(t *testing.T, id string) map[string]any {
	t.Helper()
	order := map[string]int{"queued": 0, "in_progress": 1, "completed": 2, "failed": 2}
	at, progress := 0, int64(0)
	for deadline := time.Now().Add(filmMax); ; time.Sleep(lookEvery) {
		o := c.task(t, id)
		now, known := order[textAt(o, "status")]
		done := tokensAt(t, o, "progress")
		if !known || now < at || done < progress || done > 100 {
			t.Fatalf("after status %d and %d %% the task is %v", at, progress, o)
		}
		if at, progress = now, done; at == 2 {
			return o
		}
		if time.Now().After(deadline) {
			t.Fatalf("the job does not end within %s: %v", filmMax, o)
		}
	}
}

// film makes a video and waits until it is completed.
func (c customer) film(t *testing.T, body string) map[string]any {
	t.Helper()
	o := c.ended(t, textAt(c.makeVideo(t, body), "id"))
	if textAt(o, "status") != "completed" || tokensAt(t, o, "progress") != 100 {
		t.Fatalf("the job does not complete: %v", o)
	}
	return o
}

// flop makes a video that is taken and fails later, and returns the task with its error's code checked.
func (c customer) flop(t *testing.T, body, code string) map[string]any {
	t.Helper()
	o := c.ended(t, textAt(c.makeVideo(t, body), "id"))
	if textAt(o, "status") != "failed" || textAt(o, "error", "code") != code || textAt(o, "error", "message") == "" {
		t.Fatalf("the job does not fail for %s: %v", code, o)
	}
	return o
}

// money is the customer's balance.
func (c customer) money(t *testing.T) balance {
	t.Helper()
	return c.balanceOf(t, c.accountID)
}

// part is one field of a form; one with a file name is a file.
type formPart struct{ name, file, mediaType, value string }

// form writes a multipart body and its Content-Type.
func form(t *testing.T, parts ...formPart) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := `form-data; name="` + p.name + `"`
		if p.file != "" {
			disposition += `; filename="` + p.file + `"`
		}
		h.Set("Content-Disposition", disposition)
		if p.mediaType != "" {
			h.Set("Content-Type", p.mediaType)
		}
		out, err := w.CreatePart(h)
		if err == nil {
			_, err = io.WriteString(out, p.value)
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

// postForm sends a form to a path of the video routes.
func (c customer) postForm(t *testing.T, path string, parts ...formPart) answer {
	t.Helper()
	body, contentType := form(t, parts...)
	return c.call(t, http.MethodPost, path, body, "Content-Type", contentType)
}

// hit is one request that a receiver got.
type hit struct {
	method string
	header http.Header
	body   string
	at     time.Time
}

// event is the payload of a hit.
func (h hit) event(t *testing.T) map[string]any {
	t.Helper()
	return object(t, h.body)
}

// receiver is one address that webhooks may be sent to.
type receiver struct {
	url string

	mu     sync.Mutex
	got    []hit
	answer func(http.ResponseWriter, *http.Request)
}

// receivers serve all addresses of this run on one port, as it must be known before a demo starts.
type receivers struct {
	once   sync.Once
	server *httptest.Server
	mu     sync.Mutex
	byPath map[string]*receiver
}

// address is the host and port of all receivers.
func (all *receivers) address() string {
	all.once.Do(func() {
		all.byPath = map[string]*receiver{}
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
func (all *receivers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	all.mu.Lock()
	one := all.byPath[r.URL.Path]
	all.mu.Unlock()
	if one == nil {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, hitBytes))
	if err != nil {
		return
	}
	one.mu.Lock()
	if len(one.got) < hitsMax {
		one.got = append(one.got, hit{r.Method, r.Header.Clone(), string(body), time.Now()})
	}
	reply := one.answer
	one.mu.Unlock()
	if reply == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	reply(w, r)
}

// newReceiver is an address that answers 204, or what answers is given to do.
func newReceiver(t *testing.T) *receiver {
	t.Helper()
	host := listening.address()
	listening.mu.Lock()
	defer listening.mu.Unlock()
	path := fmt.Sprintf("/hook/%d", len(listening.byPath))
	r := &receiver{url: "http://" + host + path}
	listening.byPath[path] = r
	return r
}

// answers changes how the receiver answers; nil is 204.
func (r *receiver) answers(with func(http.ResponseWriter, *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = with
}

// hits are the requests that came so far.
func (r *receiver) hits() []hit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]hit(nil), r.got...)
}

// about waits until an event of the type about the job has come, and returns all hits about the job.
func (r *receiver) about(t *testing.T, eventType, id string) []hit {
	t.Helper()
	for deadline := time.Now().Add(filmMax); ; time.Sleep(lookEvery) {
		var found []hit
		seen := false
		for _, h := range r.hits() {
			if e := h.event(t); textAt(e, "data", "id") == id {
				found = append(found, h)
				seen = seen || textAt(e, "type") == eventType
			}
		}
		if seen {
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s about %s within %s", eventType, id, filmMax)
		}
	}
}

// hook is a webhook endpoint of a customer.
type hook struct{ id, secret string }

// listens registers the receiver for events of the types; for both when there are none.
func (c customer) listens(t *testing.T, r *receiver, types ...string) hook {
	t.Helper()
	if len(types) == 0 {
		types = []string{"video.completed", "video.failed"}
	}
	body, err := json.Marshal(map[string]any{"name": "for a test", "url": r.url, "event_types": types})
	if err != nil {
		t.Fatal(err)
	}
	a := c.call(t, http.MethodPost, "/v1/webhook_endpoints", string(body))
	o := object(t, a.body)
	h := hook{textAt(o, "id"), textAt(o, "signing_secret")}
	if a.status != http.StatusOK || h.id == "" || !strings.HasPrefix(h.secret, "whsec_") {
		t.Fatalf("no endpoint: %d %s", a.status, a.body)
	}
	return h
}

// signed insists that a hit is signed with the secret as Standard Webhooks says, by a reckoning of this test's own.
func (h hit) signed(t *testing.T, secret string) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		t.Fatalf("the secret has %d bytes: %v", len(key), err)
	}
	id, stamp := h.header.Get("Webhook-Id"), h.header.Get("Webhook-Timestamp")
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "." + h.body))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if age := h.at.Sub(time.Unix(seconds, 0)); err != nil || age < -2*time.Second || age > time.Minute {
		t.Errorf("the stamp %q is not of the time %s: %v", stamp, h.at, err)
	}
	for one := range strings.FieldsSeq(h.header.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(one), []byte(want)) {
			return
		}
	}
	t.Errorf("none of the signatures %q is %q", h.header.Get("Webhook-Signature"), want)
}
