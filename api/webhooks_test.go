package api_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/egress"
	"umg/app/webhook"
)

// inbox is a customer's server that keeps the bodies it is sent and answers with a status.
type inbox struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	bodies []string
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{status: http.StatusAccepted}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		in.bodies = append(in.bodies, string(body))
		w.WriteHeader(in.status)
		_, _ = io.WriteString(w, "thanks \xff")
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) last() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.bodies[len(in.bodies)-1]
}

func (in *inbox) answer(status int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.status = status
}

// withWebhooks serves the routes about webhooks and returns the service behind them.
func withWebhooks(t *testing.T, in *inbox, service **webhook.Service) func(*plan) {
	t.Helper()
	out, err := egress.New(egress.Options{Exceptions: []string{strings.TrimPrefix(in.URL, "http://")}})
	must(t, err)
	t.Cleanup(out.Close)
	return func(p *plan) {
		*service, err = webhook.New(p.db, webhook.Options{
			Egress: out, Now: time.Now, IDs: app.IDs{Now: time.Now, Random: rand.Reader}, Random: rand.Reader,
			Jitter: func(int64) int64 { return 0 }, Log: slog.New(slog.DiscardHandler), Key: [32]byte{1},
		})
		must(t, err)
		p.api.Webhooks = *service
	}
}

// endpoint is what clients read of an endpoint.
type endpoint struct {
	ID, Object, Name, URL, Status string
	CreatedAt                     int64    `json:"created_at"`
	UpdatedAt                     int64    `json:"updated_at"`
	EventTypes                    []string `json:"event_types"`
	Secret                        string   `json:"signing_secret"`
	Hint                          string   `json:"signing_secret_hint"`
	PreviousUntil                 *int64   `json:"previous_secret_valid_until"`
}

func decode[T any](t testing.TB, r reply, status int) (v T) {
	t.Helper()
	if r.status != status {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	return v
}

func TestEndpointsAreManagedAsTheSDKDoesIt(t *testing.T) {
	t.Parallel()
	var service *webhook.Service
	in := newInbox(t)
	h := setup(t, withWebhooks(t, in, &service))
	auth := bearer(h.secret())
	const all = "/v1/webhook_endpoints"
	made := decode[endpoint](t, h.call("POST", all,
		`{"name":"mine","url":"`+in.URL+`/hook","event_types":["video.completed"]}`, auth...), 200)
	if !strings.HasPrefix(made.ID, "whe_") || made.Object != "webhook_endpoint" || !strings.HasPrefix(made.Secret, "whsec_") || made.Hint == "" ||
		made.CreatedAt == 0 || made.UpdatedAt != made.CreatedAt || made.Name != "mine" || made.URL != in.URL+"/hook" || made.Status != "enabled" {
		t.Errorf("%+v", made)
	}
	one := all + "/" + made.ID
	second := decode[endpoint](t, h.call("POST", all, `{"name":"2","url":"`+in.URL+`","event_types":["video.failed","video.completed"]}`, auth...), 200)
	type list struct {
		Object  string
		Data    []endpoint
		FirstID *string `json:"first_id"`
		LastID  *string `json:"last_id"`
		HasMore bool    `json:"has_more"`
	}
	page := decode[list](t, h.call("GET", all+"?limit=1", "", auth...), 200)
	if page.Object != "list" || len(page.Data) != 1 || page.Data[0].ID != second.ID || !page.HasMore || *page.LastID != second.ID || page.Data[0].Secret != "" {
		t.Errorf("%+v", page)
	}
	page = decode[list](t, h.call("GET", all+"?after="+*page.LastID, "", auth...), 200)
	if len(page.Data) != 1 || page.Data[0].ID != made.ID || page.HasMore {
		t.Errorf("%+v", page)
	}
	page = decode[list](t, h.call("GET", all+"?after="+made.ID, "", auth...), 200)
	if page.Data == nil || len(page.Data) != 0 || page.FirstID != nil || page.LastID != nil {
		t.Errorf("%+v", page)
	}
	if got := decode[endpoint](t, h.call("GET", one, "", auth...), 200); got.Secret != "" || got.Name != "mine" {
		t.Errorf("%+v", got)
	}
	changed := decode[endpoint](t, h.call("POST", one, `{"name":"new","url":null,"status":"disabled"}`, auth...), 200)
	if changed.Name != "new" || changed.URL != made.URL || changed.Status != "disabled" {
		t.Errorf("%+v", changed)
	}
	rotated := decode[endpoint](t, h.call("POST", one+"/rotate_secret", `{"keep_old_secret_active_for_24_hours":true}`, auth...), 200)
	if rotated.Secret == made.Secret || rotated.Secret == "" || rotated.PreviousUntil == nil {
		t.Errorf("%+v", rotated)
	}
	if again := decode[endpoint](t, h.call("POST", one+"/rotate_secret", "", auth...), 200); again.Secret == rotated.Secret || again.PreviousUntil != nil {
		t.Errorf("%+v", again)
	}
	types := decode[struct{ Data []string }](t, h.call("GET", "/v1/webhook_event_types", "", auth...), 200)
	if fmt.Sprint(types.Data) != "[video.completed video.failed]" {
		t.Errorf("%v", types)
	}
	gone := h.call("DELETE", one, "", auth...)
	if gone.status != 200 || gone.body != `{"id":"`+made.ID+`","object":"webhook_endpoint.deleted","deleted":true}` {
		t.Errorf("%d %s", gone.status, gone.body)
	}
	if a := h.call("DELETE", one, "", auth...); a.status != 404 || a.header.Get("X-Error-Code") != "webhook_endpoint_not_found" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestATestEventAnswersWithWhatTheReceiverSaid(t *testing.T) {
	t.Parallel()
	var service *webhook.Service
	in := newInbox(t)
	h := setup(t, withWebhooks(t, in, &service))
	auth := bearer(h.secret())
	made := decode[endpoint](t, h.call("POST", "/v1/webhook_endpoints", `{"name":"n","url":"`+in.URL+`","event_types":["video.failed"]}`, auth...), 200)
	path := "/v1/webhook_endpoints/" + made.ID + "/test"
	for _, status := range []int{202, 500} {
		in.answer(status)
		got := decode[struct {
			Object, ResponseBody string
			EndpointID           string `json:"webhook_endpoint_id"`
			EventType            string `json:"event_type"`
			StatusCode           int    `json:"status_code"`
			Body                 string `json:"response_body"`
			Sent                 string `json:"request_body"`
			Success              bool
		}](t, h.call("POST", path, `{"event_type":"video.completed"}`, auth...), 200)
		if got.Object != "webhook_endpoint.test" || got.StatusCode != status || !got.Success || got.EndpointID != made.ID || got.Body != "thanks \ufffd" ||
			got.EventType != "video.completed" || !strings.Contains(got.Sent, `"video_test_`) || got.Sent != in.last() {
			t.Errorf("%+v", got)
		}
	}
	in.Close()
	a := h.call("POST", path, `{"event_type":"video.completed"}`, auth...)
	if a.status != http.StatusBadGateway || a.header.Get("X-Error-Code") != "webhook_endpoint_unreachable" || a.header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
}

func TestDeliveriesAreSeenAndSentAgain(t *testing.T) {
	t.Parallel()
	var service *webhook.Service
	in := newInbox(t)
	h := setup(t, withWebhooks(t, in, &service))
	auth := bearer(h.secret())
	made := decode[endpoint](t, h.call("POST", "/v1/webhook_endpoints", `{"name":"n","url":"`+in.URL+`","event_types":["video.failed"]}`, auth...), 200)
	other := decode[endpoint](t, h.call("POST", "/v1/webhook_endpoints", `{"name":"o","url":"`+in.URL+`","event_types":["video.completed"]}`, auth...), 200)
	in.answer(500)
	must(t, service.Emit(t.Context(), h.db, webhook.Event{AccountID: h.owner.AccountID, Type: webhook.VideoFailed, ObjectID: "video_1"}))
	deliver := func() {
		t.Helper()
		if n, err := service.Deliver(t.Context()); err != nil || n != 1 {
			t.Fatalf("%d, %v", n, err)
		}
	}
	deliver()
	type delivery struct {
		ID, State string
		ObjectID  string `json:"object_id"`
		Attempts  int
		NextAt    *int64 `json:"next_attempt_at"`
		Last      *int   `json:"last_status_code"`
		Body      string
		Log       []struct {
			Number  int
			Status  *int             `json:"status_code"`
			Headers []webhook.Header `json:"request_headers"`
		}
	}
	base := "/v1/webhook_endpoints/" + made.ID + "/deliveries"
	page := decode[struct{ Data []delivery }](t, h.call("GET", base+"?state=pending&object_id=video_1&event_type=video.failed&limit=5", "", auth...), 200)
	if len(page.Data) != 1 || page.Data[0].NextAt == nil || *page.Data[0].Last != 500 || page.Data[0].ObjectID != "video_1" {
		t.Fatalf("%+v", page)
	}
	id := page.Data[0].ID
	in.answer(200)
	decode[delivery](t, h.call("POST", base+"/"+id+"/resend", "", auth...), 200)
	deliver()
	got := decode[delivery](t, h.call("GET", base+"/"+id, "", auth...), 200)
	if got.State != "delivered" || got.Attempts != 2 || len(got.Log) != 2 || *got.Log[0].Status != 200 || len(got.Log[0].Headers) != 4 || got.Body != in.last() {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{"/v1/webhook_endpoints/" + other.ID + "/deliveries/" + id, base + "/whd_x"} {
		if a := h.call("GET", path, "", auth...); a.status != 404 || a.header.Get("X-Error-Code") != "webhook_delivery_not_found" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	recovered := h.call("POST", "/v1/webhook_endpoints/"+made.ID+"/recover", fmt.Sprintf(`{"since":%d}`, time.Now().Unix()-60), auth...)
	if recovered.status != 200 || !strings.Contains(recovered.body, `"requeued":0,"created":0,"has_more":false`) {
		t.Errorf("%d %s", recovered.status, recovered.body)
	}
}

func TestEachWrongFieldAboutWebhooksIsNamed(t *testing.T) {
	t.Parallel()
	var service *webhook.Service
	in := newInbox(t)
	h := setup(t, withWebhooks(t, in, &service))
	auth := bearer(h.secret())
	made := decode[endpoint](t, h.call("POST", "/v1/webhook_endpoints", `{"name":"n","url":"`+in.URL+`","event_types":["video.failed"]}`, auth...), 200)
	all, one := "/v1/webhook_endpoints", "/v1/webhook_endpoints/"+made.ID
	for _, c := range []struct {
		method, path, body, param, code string
	}{
		{"POST", all, `{"url":"https://example.com","event_types":["video.failed"]}`, "name", "missing_required_parameter"},
		{"POST", all, `{"name":7}`, "name", "invalid_value"},
		{"POST", all, `{"name":"\ud800","url":"https://localhost","event_types":["video.failed"]}`, "url", "url_not_allowed"},
		{"POST", all, `{"name":"n","event_types":["video.failed"]}`, "url", "missing_required_parameter"},
		{"POST", all, `{"name":"n","url":"https://127.1/","event_types":["video.failed"]}`, "url", "url_not_allowed"},
		{"POST", all, `{"name":"n","url":"http://example.com/","event_types":["video.failed"]}`, "url", "url_not_allowed"},
		{"POST", all, `{"name":"n","url":"https://example.com"}`, "event_types", "missing_required_parameter"},
		{"POST", all, `{"name":"n","url":"https://example.com","event_types":"video.failed"}`, "event_types", "invalid_value"},
		{"POST", all, `{"name":"n","url":"https://example.com","event_types":["balance.low"]}`, "event_types", "invalid_value"},
		{"POST", all, ``, "name", "missing_required_parameter"},
		{"GET", all + "?limit=0", ``, "limit", "invalid_value"},
		{"GET", all + "?limit=x", ``, "limit", "invalid_value"},
		{"GET", all + "?after=x", ``, "after", "invalid_value"},
		{"POST", one, `{"status":"paused"}`, "status", "invalid_value"},
		{"POST", one, `{"event_types":[]}`, "event_types", "missing_required_parameter"},
		{"POST", one + "/rotate_secret", `{"keep_old_secret_active_for_24_hours":"yes"}`, "keep_old_secret_active_for_24_hours", "invalid_value"},
		{"POST", one + "/test", `{}`, "event_type", "missing_required_parameter"},
		{"POST", one + "/test", `{"event_type":"x"}`, "event_type", "invalid_value"},
		{"POST", one + "/recover", `{}`, "since", "missing_required_parameter"},
		{"POST", one + "/recover", `{"since":1.5}`, "since", "invalid_value"},
		{"POST", one + "/recover", `{"since":-1}`, "since", "invalid_value"},
		{"POST", one + "/recover", `{"since":9223372036854775807}`, "since", "invalid_value"},
		{"GET", one + "/deliveries?state=x", ``, "state", "invalid_value"},
	} {
		a := h.call(c.method, c.path, c.body, auth...)
		if a.status != 400 || a.param(t) != c.param || a.header.Get("X-Error-Code") != c.code {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.body)
		}
	}
	for body, status := range map[string]int{`[]`: 400, `null`: 400, `{`: 400, "{\"name\":\"\xff\"}": 400, `{"name":"` + strings.Repeat("x", 70_000) + `"}`: 413} {
		if a := h.call("POST", all, body, auth...); a.status != status {
			t.Errorf("%.20s: %d %s", body, a.status, a.body)
		}
	}
	if a := h.call("POST", all, `{}`, append(auth, "Content-Type", "text/plain")...); a.status != http.StatusUnsupportedMediaType {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestWebhooksOfAnotherAccountAreUnknown(t *testing.T) {
	t.Parallel()
	var service *webhook.Service
	in := newInbox(t)
	h := setup(t, withWebhooks(t, in, &service))
	auth := bearer(h.secret())
	made := decode[endpoint](t, h.call("POST", "/v1/webhook_endpoints", `{"name":"n","url":"`+in.URL+`","event_types":["video.failed"]}`, auth...), 200)
	stranger, err := h.accounts.SignUp(t.Context(), account.SignUp{Email: "other@example.com", Password: "a long enough passphrase", IP: "192.0.2.2"})
	must(t, err)
	_, secret, err := h.apiKeys.Create(t.Context(), stranger.Principal(), apikey.Spec{Name: "k"})
	must(t, err)
	one, none := "/v1/webhook_endpoints/"+made.ID, "/v1/webhook_endpoints/whe_"+strings.Repeat("0", 26)
	for _, c := range [][3]string{
		{"GET", "", ""}, {"POST", "", `{"name":"x"}`}, {"DELETE", "", ""}, {"POST", "/rotate_secret", ""}, {"POST", "/test", `{"event_type":"video.failed"}`},
		{"POST", "/recover", `{"since":1}`}, {"GET", "/deliveries", ""}, {"GET", "/deliveries/whd_1", ""}, {"POST", "/deliveries/whd_1/resend", ""},
	} {
		a, b := h.call(c[0], one+c[1], c[2], bearer(secret)...), h.call(c[0], none+c[1], c[2], bearer(secret)...)
		if a.status != 404 || a.body != b.body || a.header.Get("X-Error-Code") != "webhook_endpoint_not_found" {
			t.Errorf("%s %s: %d %s, and for an unknown one %s", c[0], c[1], a.status, a.body, b.body)
		}
	}
	if a := h.call("GET", "/v1/webhook_endpoints", "", bearer(secret)...); strings.Contains(a.body, made.ID) {
		t.Errorf("%s", a.body)
	}
}

func TestWithoutTheServiceItsRoutesAreUnknown(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for _, path := range []string{"/v1/webhook_endpoints", "/v1/webhook_event_types"} {
		if a := h.call("GET", path, "", bearer(h.secret())...); a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
