package api_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/webhook"
	"umg/app/webhook/listen"
)

// laptop is a developer's own server: it checks signatures, keeps what it took, and refuses the first attempt at each event.
type laptop struct {
	secret []byte
	mu     sync.Mutex
	met    map[string]bool
	took   []string
	forged int
}

func (l *laptop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := r.Header.Get("webhook-id")
	mac := hmac.New(sha256.New, l.secret)
	mac.Write([]byte(id + "." + r.Header.Get("webhook-timestamp") + "." + string(body)))
	if r.Header.Get("webhook-signature") != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		l.forged++
	}
	if !l.met[id] {
		l.met[id] = true
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	l.took = append(l.took, string(body))
}

// listing tells when so many lines with a word were written.
type listing struct {
	mu   sync.Mutex
	text strings.Builder
	word string
	left int
	done func()
}

func (o *listing) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if strings.Contains(string(p), o.word) {
		if o.left--; o.left == 0 {
			o.done()
		}
	}
	return len(p), nil
}

// TestEventsAreForwardedToALaptopSignedAndInOrder runs the listener against a real gateway. It gets the events of its
// own account only, also those without an endpoint, each signed, in order and once. It sends an event again that the
// address refused.
func TestEventsAreForwardedToALaptopSignedAndInOrder(t *testing.T) {
	t.Parallel()
	var service *webhook.Service
	h := setup(t, withWebhooks(t, newInbox(t), &service))
	stranger, err := h.accounts.SignUp(t.Context(), account.SignUp{Email: "other@example.com", Password: "a long enough passphrase", IP: "192.0.2.2"})
	must(t, err)
	emit := func(account, kind, object string) {
		must(t, service.Emit(t.Context(), h.db, webhook.Event{AccountID: account, Type: kind, ObjectID: object}))
	}
	emit(h.owner.AccountID, webhook.VideoCompleted, "video_1")
	emit(stranger.AccountID, webhook.VideoCompleted, "video_2")
	emit(h.owner.AccountID, webhook.VideoFailed, "video_3")
	secret, err := webhook.NewSecret(strings.NewReader(strings.Repeat("s", 32)))
	must(t, err)
	local := &laptop{secret: []byte(strings.Repeat("s", 32)), met: map[string]bool{}}
	receiver := httptest.NewServer(local)
	defer receiver.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &listing{word: "200 OK", left: 2}
	out.done = func() { // Later polls return the first two events again.
		emit(h.owner.AccountID, webhook.VideoCompleted, "video_4")
		out.left, out.done = 1, stop
	}
	r, err := listen.New(listen.Options{
		Gateway: h.url, Key: h.secret(), Forward: receiver.URL + "/hook", Since: time.Hour, Secret: secret, Now: time.Now, Out: out,
		Waits: listen.Waits{Poll: time.Millisecond, Retry: []time.Duration{time.Millisecond}},
	})
	must(t, err)
	must(t, r.Run(ctx))
	took := strings.Join(local.took, "\n")
	if len(local.took) != 3 || local.forged != 0 || strings.Contains(took, "video_2") || !strings.Contains(took, "video_4") ||
		strings.Index(took, "video_1") > strings.Index(took, "video_3") {
		t.Errorf("%d forged, took %s", local.forged, took)
	}
	for _, want := range []string{secret.String(), "500 Internal Server Error; again in 1ms", "video.failed", "3 events were taken, 0 were not."} {
		if !strings.Contains(out.text.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.text.String())
		}
	}
}

// TestTheRelayEndsWhereItsKeyMayNotListen says why at once.
func TestTheRelayEndsWhereItsKeyMayNotListen(t *testing.T) {
	t.Parallel()
	var service *webhook.Service
	h := setup(t, withWebhooks(t, newInbox(t), &service))
	_, key := h.key(apikey.Spec{Scopes: []app.Scope{"videos"}})
	secret, err := webhook.ParseSecret("whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	must(t, err)
	for _, key := range []string{key, "sk-umg-wrong"} {
		r, err := listen.New(listen.Options{Gateway: h.url, Key: key, Forward: "http://127.0.0.1:9", Secret: secret, Now: time.Now, Out: io.Discard})
		must(t, err)
		if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "key") {
			t.Errorf("%v", err)
		}
	}
}

// TestEventsAreListedByPage walks the list from the oldest on.
func TestEventsAreListedByPage(t *testing.T) {
	t.Parallel()
	var service *webhook.Service
	h := setup(t, withWebhooks(t, newInbox(t), &service))
	auth := bearer(h.secret())
	for _, object := range []string{"video_1", "video_2", "video_3"} {
		must(t, service.Emit(t.Context(), h.db, webhook.Event{AccountID: h.owner.AccountID, Type: webhook.VideoCompleted, ObjectID: object}))
	}
	type list struct {
		Data []struct {
			ID, Body string
			Object   string `json:"object_id"`
		}
		More bool `json:"has_more"`
	}
	first := decode[list](t, h.call("GET", "/v1/webhook_events?limit=2&type=video.completed", "", auth...), 200)
	if len(first.Data) != 2 || !first.More || first.Data[0].Object != "video_1" || !strings.Contains(first.Data[0].Body, first.Data[0].ID) {
		t.Fatalf("%+v", first)
	}
	rest := decode[list](t, h.call("GET", "/v1/webhook_events?after="+first.Data[1].ID, "", auth...), 200)
	if len(rest.Data) != 1 || rest.More || rest.Data[0].Object != "video_3" {
		t.Errorf("%+v", rest)
	}
	for _, wrong := range []string{"after=evt_1", "type=video.queued", "since=-1", "limit=0"} {
		if a := h.call("GET", "/v1/webhook_events?"+wrong, "", append(auth, "X-Error-Status", "standard")...); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", wrong, a.status, a.body)
		}
	}
}
