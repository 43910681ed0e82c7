package console_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/console"
	"umg/app/egress"
	"umg/app/notification"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/app/webhook"
	webhookpages "umg/views/webhooks"
)

var (
	hookSecret = regexp.MustCompile(`whsec_[0-9A-Za-z+/]{40,}={0,2}`)
	hookPath   = regexp.MustCompile(`/console/webhooks/whe_[0-9a-z]{26}`)
	sentPath   = regexp.MustCompile(`/console/webhooks/whe_[0-9a-z]{26}/deliveries/whd_[0-9a-z]{26}`)
)

// office is a console over a real service of webhooks, beside a receiver that it may reach.
type office struct {
	*fixture
	hooks  *webhook.Service
	url    string
	answer *atomic.Int64 // The receiver answers with this status.
	bodies chan string   // The channel gets the body of each request.
}

func withHooks(t *testing.T, change ...func(*console.Options)) *office {
	t.Helper()
	o := &office{answer: &atomic.Int64{}, bodies: make(chan string, 100)}
	o.answer.Store(http.StatusNoContent)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		o.bodies <- string(body)
		w.Header().Set("X-Receiver", "<b>here</b>")
		w.WriteHeader(int(o.answer.Load()))
		if o.answer.Load() != http.StatusNoContent {
			_, _ = io.WriteString(w, "<script>no</script>")
		}
	}))
	t.Cleanup(receiver.Close)
	o.url = receiver.URL + "/hook"
	out, err := egress.New(egress.Options{Exceptions: []string{strings.TrimPrefix(receiver.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Close)
	db := pgtest.New(t)
	o.hooks, err = webhook.New(db, webhook.Options{
		Egress: out, Now: time.Now, IDs: app.IDs{Now: time.Now, Random: rand.Reader}, Random: rand.Reader, Jitter: mathrand.Int64N,
		Log: slog.New(slog.DiscardHandler), Key: [32]byte{1},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.fixture = newFixture(t, db, db, nil, append(change, func(c *console.Options) { c.Webhooks, c.Notifications = o.hooks, notification.New(db, time.Now) })...)
	return o
}

// emit makes an event of the only account happen, and sends what is due.
func (o *office) emit(objectID string) {
	o.t.Helper()
	var accountID string
	if err := o.db.GetContext(o.t.Context(), &accountID, `select account_id from webhook_endpoints limit 1`); err != nil {
		o.t.Fatal(err)
	}
	err := postgres.InTx(o.t.Context(), o.db, func(tx *sqlx.Tx) error {
		return o.hooks.Emit(o.t.Context(), tx, webhook.Event{AccountID: accountID, Type: webhook.VideoCompleted, ObjectID: objectID})
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.deliver()
}

func (o *office) deliver() {
	o.t.Helper()
	if _, err := o.hooks.Deliver(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) form() url.Values {
	return url.Values{"name": {"Render"}, "url": {o.url}, "events": {webhook.VideoCompleted, webhook.VideoFailed}}
}

// endpoint adds the receiver, and gives the path of its page and its secret.
func (o *office) endpoint(p *person) (at, secret string) {
	o.t.Helper()
	a := p.send("/console/webhooks", o.form())
	at, secret = hookPath.FindString(a.body), hookSecret.FindString(a.body)
	if a.status != http.StatusOK || at == "" || secret == "" {
		o.t.Fatalf("create: %d %v", a.status, alerts(a.body))
	}
	return at, secret
}

// after follows a redirect.
func (p *person) after(a reply) reply {
	p.t.Helper()
	if a.status != http.StatusSeeOther {
		p.t.Fatalf("%d %v", a.status, alerts(a.body))
	}
	return p.see(a.header.Get("Location"))
}

// TestAnEndpointLivesByPlainForms goes the whole way without scripts.
func TestAnEndpointLivesByPlainForms(t *testing.T) {
	t.Parallel()
	o := withHooks(t)
	p := o.signedIn("hooks@example.com")
	has(t, "the empty list", p.see("/console/webhooks"), 200, "No endpoints yet", "With a webhook", "Without one")
	has(t, "the form", p.see("/console/webhooks/new"), 200, "Add a webhook endpoint")
	at, secret := o.endpoint(p)
	for _, path := range []string{"/console/webhooks", at, at + "/edit", at + "/rotate"} {
		if a := p.see(path); a.status != 200 || strings.Contains(a.body, secret) || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, or it shows the secret again", path, a.status)
		}
	}
	has(t, "edited", p.after(p.send(at+"/edit", url.Values{"name": {"Other <b>"}, "url": {" " + o.url + " "}, "events": {"video.completed"}})), 200,
		"Endpoint saved", "Other &lt;b&gt;")
	has(t, "disabled", p.after(p.send(at+"/disable", nil)), 200, "You disabled it", "Nothing is sent to it")
	has(t, "the list", p.see("/console/webhooks"), 200, "Disabled", "by you")
	has(t, "recovering it", p.send(at+"/recover", url.Values{"since": {"1h"}}), 422, "This endpoint is disabled. Enable it first.")
	has(t, "enabled from the list", p.after(p.send(at+"/enable", url.Values{"from": {"list"}})), 200, "is enabled", "Add endpoint")
	kept := p.send(at+"/rotate", url.Values{"old": {"keep"}})
	has(t, "rotated", kept, 200, "the old secret until")
	has(t, "two secrets", p.see(at), 200, "Events are also signed with the secret before it until")
	if next := hookSecret.FindString(kept.body); next == "" || next == secret {
		t.Error("rotating gives no new secret")
	}
	has(t, "replaced", p.send(at+"/rotate", url.Values{"old": {"replace"}}), 200, "This is the only time")
	if strings.Contains(p.see(at).body, "also signed with the secret before it") {
		t.Error("the old secret was kept")
	}
	has(t, "rotated wrongly", p.send(at+"/rotate", url.Values{"old": {"?"}}), 400)
	has(t, "before deletion", p.see(at+"/delete"), 200, "This cannot be undone")
	has(t, "deleted", p.after(p.send(at+"/delete", nil)), 200, "was deleted", "No endpoints yet")
	has(t, "afterwards", p.see(at), 404)
}

func TestMistakesInAnEndpointStandBesideTheirField(t *testing.T) {
	t.Parallel()
	o := withHooks(t)
	p := o.signedIn("mistakes@example.com")
	for _, c := range []struct{ field, value, id string }{
		{"name", "", "hook-name-error"}, {"name", strings.Repeat("é", 81), "hook-name-error"}, {"url", "", "hook-url-error"},
		{"url", "http://example.com/hook", "hook-url-error"}, {"url", "https://127.0.0.1/hook", "hook-url-error"},
		{"url", "https://10.0.0.1/hook", "hook-url-error"}, {"url", "ftp://x", "hook-url-error"}, {"events", "", "hook-events-error"},
		{"events", "video.odd", "hook-events-error"},
	} {
		form := o.form()
		form.Set(c.field, c.value)
		if c.value == "" {
			form.Del(c.field)
		}
		if a := p.send("/console/webhooks", form); a.status != 422 || !strings.Contains(a.body, `id="`+c.id+`"`) || hookSecret.MatchString(a.body) {
			t.Errorf("%s %q: %d %v", c.field, c.value, a.status, alerts(a.body))
		}
	}
	for range 20 {
		o.endpoint(p)
	}
	has(t, "one too many", p.send("/console/webhooks", o.form()), 422, "which is the limit")
}

func TestATestEventShowsWhatTheReceiverSaid(t *testing.T) {
	t.Parallel()
	o := withHooks(t)
	p := o.signedIn("test@example.com")
	at, _ := o.endpoint(p)
	has(t, "taken", p.send(at+"/test", url.Values{"event_type": {"video.failed"}}), 200, "Answered 204 No Content", "&lt;b&gt;here", "webhook-signature")
	if body := <-o.bodies; !strings.Contains(body, `"type":"video.failed"`) {
		t.Errorf("the receiver got %s", body)
	}
	o.answer.Store(500)
	a := p.send(at+"/test", url.Values{"event_type": {"video.completed"}})
	has(t, "refused", a, 200, "Answered 500 Internal Server Error")
	if strings.Contains(a.body, "<script>no") {
		t.Error("the answer became markup")
	}
	has(t, "of no type", p.send(at+"/test", nil), 422, "The test event was not sent")
}

// TestADeliveryIsSeenFailingAndSentAgain follows an event from its failure to its delivery, with the figures on the way.
func TestADeliveryIsSeenFailingAndSentAgain(t *testing.T) {
	t.Parallel()
	o := withHooks(t)
	p := o.signedIn("deliveries@example.com")
	at, _ := o.endpoint(p)
	has(t, "nothing yet", p.see(at), 200, "Nothing was sent yet")
	o.answer.Store(500)
	o.emit("video_1")
	list := p.see(at)
	has(t, "failing", list, 200, "Retrying", "Answered 500 Internal Server Error", "0%", "of 1 attempt", `hx-trigger="every 2s"`)
	has(t, "the list", p.see("/console/webhooks"), 200, "Failing", "1 attempt", "Answered 500")
	one := sentPath.FindString(list.body)
	has(t, "the delivery", p.see(one), 200, "Answered 500", "webhook-signature", "&lt;script&gt;no", "video_1", "Resend")
	has(t, "narrowed", p.see(at+"?state=delivered"), 200, "No delivery matches")
	has(t, "by its video", p.see(at+"?object_id=video_1&state=pending&event_type=video.completed"), 200, one)
	o.answer.Store(204)
	has(t, "sent again", p.after(p.send(one+"/resend", nil)), 200, "Queued: it is sent now")
	o.deliver()
	has(t, "delivered", p.see(one), 200, "Delivered", "Answered 204 No Content", "#2", "#1")
	has(t, "figures", p.see(at), 200, "50%", "of 2 attempts")
	p.send(at+"/disable", nil)
	has(t, "not while disabled", p.after(p.send(one+"/resend", nil)), 200, "Enable it first")
	o.emit("video_2")
	p.send(at+"/enable", nil)
	for wrong, form := range map[string]url.Values{
		"no time": {"since": {"at"}}, "odd": {"since": {"soon"}}, "too long": {"since": {"9000h"}},
		"future": {"since": {"at"}, "at": {time.Now().AddDate(1, 0, 0).UTC().Format("2006-01-02T15:04")}},
	} {
		if a := p.send(at+"/recover", form); a.status != 422 || !strings.Contains(a.body, `id="recover-at-error"`) {
			t.Errorf("%s: %d", wrong, a.status)
		}
	}
	has(t, "recovered", p.after(p.send(at+"/recover", url.Values{"since": {"at"}, "at": {time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04")}})), 200,
		"1 event was queued")
	o.deliver()
	has(t, "both", p.see(at+"?state=delivered"), 200, "video_2", "video_1")
	has(t, "nothing left", p.after(p.send(at+"/recover", url.Values{"since": {"24h"}})), 200, "Nothing to send again")
}

func TestDeliveriesAreTurnedPageByPage(t *testing.T) {
	t.Parallel()
	o := withHooks(t)
	p := o.signedIn("many@example.com")
	at, _ := o.endpoint(p)
	for i := range 25 {
		o.emit(fmt.Sprintf("video_%d", i))
	}
	older := regexp.MustCompile(`href="([^"]+)">Older`)
	first := p.see(at)
	next := older.FindStringSubmatch(first.body)
	if n := strings.Count(first.body, `data-testid="delivery"`); n != 20 || next == nil {
		t.Fatalf("the first page has %d deliveries", n)
	}
	second := p.see(next[1])
	if n := strings.Count(second.body, `data-testid="delivery"`); n != 5 || older.MatchString(second.body) || !strings.Contains(second.body, ">Newest") {
		t.Errorf("the second page has %d deliveries", n)
	}
}

// TestTheEndpointOfAnotherAccountIsNotThere asks for each page and form of another account's endpoint and delivery.
func TestTheEndpointOfAnotherAccountIsNotThere(t *testing.T) {
	t.Parallel()
	o := withHooks(t)
	owner := o.signedIn("owner@example.com")
	at, _ := o.endpoint(owner)
	o.emit("video_1")
	one := sentPath.FindString(owner.see(at).body)
	stranger := o.signedIn("stranger@example.com")
	own, _ := o.endpoint(stranger)
	for _, r := range console.Routes() {
		if !strings.HasPrefix(r.Path, "/webhooks/:id") {
			continue
		}
		for _, endpoint := range []string{at, own} {
			path := strings.Replace("/console"+r.Path, "/console/webhooks/:id", endpoint, 1)
			if endpoint == own && !strings.Contains(path, ":delivery") {
				continue
			}
			path = strings.Replace(path, ":delivery", one[strings.LastIndexByte(one, '/')+1:], 1)
			form := o.form()
			form.Set("old", "keep")
			form.Set("event_type", "video.failed")
			form.Set("since", "24h")
			if r.Method == http.MethodGet {
				form = nil
			}
			if a := stranger.do(r.Method, path, form); a.status != http.StatusNotFound || strings.Contains(a.body, o.url) {
				t.Errorf("%s %s: %d", r.Method, path, a.status)
			}
		}
	}
	has(t, "the owner's", owner.see(at), 200, "Enabled", "Render")
}

// TestTheCatalogueSaysWhatIsSent compares the schema of the page with a body that was sent.
func TestTheCatalogueSaysWhatIsSent(t *testing.T) {
	t.Parallel()
	o := withHooks(t)
	p := o.signedIn("events@example.com")
	at, _ := o.endpoint(p)
	page := p.see("/console/webhooks/events")
	schemas := webhookpages.EventSchemas()
	for _, name := range webhook.Types() {
		has(t, "the catalogue", page, 200, name)
		p.send(at+"/test", url.Values{"event_type": {name}})
		var schema struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		}
		var body map[string]any
		if err := json.Unmarshal([]byte(<-o.bodies), &body); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(schemas[name], &schema); err != nil || len(schema.Required) != len(body) {
			t.Errorf("%s: the schema has %v, the body is %v, %v", name, schema.Required, body, err)
		}
		for member := range body {
			if schema.Properties[member] == nil {
				t.Errorf("%s: the schema lacks %s", name, member)
			}
		}
	}
	if len(schemas) != len(webhook.Types()) {
		t.Errorf("the catalogue has %d events", len(schemas))
	}
}

// TestScriptsAreLedOnWithTheirSentence: what a dialog does leads to a page that says so.
func TestScriptsAreLedOnWithTheirSentence(t *testing.T) {
	t.Parallel()
	o := withHooks(t)
	p := o.signedIn("script@example.com")
	at, _ := o.endpoint(p)
	p.headers["HX-Request"] = "true"
	a := p.send(at+"/edit", o.form())
	if a.status != http.StatusNoContent || a.header.Get("HX-Redirect") != at {
		t.Fatalf("%d %v", a.status, a.header)
	}
	has(t, "afterwards", p.see(at), 200, "Endpoint saved")
}
