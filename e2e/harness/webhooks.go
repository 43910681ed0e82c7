package harness

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// CheckRetriesEqual insists that each object's event has one id and one body however often it came.
func CheckRetriesEqual(t *testing.T, hits []WebhookRequest) {
	t.Helper()
	first := map[string]WebhookRequest{}
	for _, h := range hits {
		object := TextMember(h.Event(t), "data", "id")
		if was, again := first[object]; again && (was.Header.Get("Webhook-Id") != h.Header.Get("Webhook-Id") || was.Body != h.Body) {
			t.Errorf("%s was told as %s %s, then as %s %s", object, was.Header.Get("Webhook-Id"), was.Body, h.Header.Get("Webhook-Id"), h.Body)
		}
		first[object] = h
		if h.Header.Get("Webhook-Id") == "" {
			t.Errorf("%s was told without an id", object)
		}
	}
}

// Webhooks has the receivers of webhooks of this test process.
var Webhooks = &webhookReceivers{}

// WebhookRequest is one request that a receiver got.
type WebhookRequest struct {
	Method     string
	Header     http.Header
	Body       string
	receivedAt time.Time
}

// Event is the payload of the request.
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

// NewWebhookReceiver is an address that answers 204 until AnswerWith changes that.
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

// WaitForEvent waits until an event of the type about the job has come, and returns all requests about the job.
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

// CheckSignature fails the test unless the request is signed with the secret as Standard Webhooks specifies.
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
