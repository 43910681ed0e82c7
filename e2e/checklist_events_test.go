package e2e

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var eventLines = []checkLine{
	{"J185 video.completed is emitted when a job completes", filmed(func(t *testing.T, v *films) {
		c, r, h := v.listener(t, "completed")
		for _, id := range videoModels {
			o := c.film(t, videoBody(id, "x"))
			isEvent(t, c, r, h, "video.completed", textAt(o, "id"))
		}
		isQuiet(t, c, r, len(videoModels))
	})},
	{"J186 video.failed is emitted when a job fails", filmed(func(t *testing.T, v *films) {
		c, r, h := v.listener(t, "failed")
		for _, id := range videoModels {
			for prompt, code := range map[string]string{"guardrail-late: likeness": "moderation_blocked", "simulate: fail=broken\nx": "generation_failed"} {
				o := c.flop(t, videoBody(id, prompt), code)
				isEvent(t, c, r, h, "video.failed", textAt(o, "id"))
			}
		}
		isQuiet(t, c, r, 2*len(videoModels))
	})},
	{"J187 there are exactly two types of events", filmed(exactlyTwoTypes)},
	{"J187 a job that is refused, or deleted while it runs, emits nothing", filmed(silentJobs)},
	{"J188 each event carries the id of its job, and little else", filmed(func(t *testing.T, v *films) {
		c, r, _ := v.listener(t, "thin")
		id := textAt(c.film(t, videoBody(reelModel, "a secret prompt")), "id")
		h := r.about(t, "video.completed", id)[0]
		o := h.event(t)
		only(t, o, "id", "object", "created_at", "type", "data")
		only(t, o["data"], "id")
		if age := time.Now().Unix() - whole(t, o, "created_at"); textAt(o, "object") != "event" || age < 0 || age > 60 || strings.Contains(h.body, "secret") {
			t.Errorf("the event is %s", h.body)
		}
	})},
	{"J189 webhooks are configured on a console page", filmed(configuredOnAPage)},
	{"J190 webhooks and polling both work, and neither waits for the other", filmed(pollingAndWebhooks)},
	{"J190 an event is sent again until it is taken, under the same id", filmed(sentAgain)},
	{"J191 remixed jobs emit the same events", filmed(func(t *testing.T, v *films) {
		c, r, h := v.listener(t, "remixed")
		for _, id := range []string{reelModel, fastModel, swiftModel} {
			source := textAt(c.film(t, videoBody(id, "x")), "id")
			isEvent(t, c, r, h, "video.completed", source)
			for prompt, eventType := range map[string]string{"y": "video.completed", "guardrail-late: copyright": "video.failed"} {
				byPath := taskOf(t, c.call(t, "POST", "/v1/vendora/videos/"+source+"/remix", `{"prompt":"`+prompt+`"}`))
				byField := c.makeVideo(t, videoBody(id, prompt, `"remix_video_id":"`+source+`"`))
				for _, o := range []map[string]any{byPath, byField} {
					isEvent(t, c, r, h, eventType, textAt(o, "id"))
				}
			}
		}
		isQuiet(t, c, r, 15)
	})},
}

// listener is a customer with a webhook endpoint.
func (v *films) listener(t *testing.T, name string) (customer, *receiver, hook) {
	t.Helper()
	c, r := filmmaker(t, v.gateway, name), newReceiver(t)
	return c, r, c.listens(t, r)
}

// configuredOnAPage adds an endpoint as a person without scripts does, and gets its events signed with the secret the page
// shows.
func configuredOnAPage(t *testing.T, v *films) {
	c, r := filmmaker(t, v.gateway, "by-page"), newReceiver(t)
	p := newPerson(t, v.gateway)
	p.signIn(t, c.Email, c.Password)
	a := p.visit(t, "/console/webhooks", url.Values{"name": {"By page"}, "url": {r.url}, "events": {"video.completed"}})
	secret := regexp.MustCompile(`whsec_[0-9A-Za-z+/]+=*`).FindString(html.UnescapeString(a.body))
	if a.status != http.StatusOK || secret == "" {
		t.Fatalf("the page answers %d %s", a.status, a.body)
	}
	if a = p.visit(t, "/console/webhooks", nil); !strings.Contains(a.body, "By page") || strings.Contains(a.body, secret) {
		t.Errorf("the list lacks the endpoint or shows its secret: %s", a.body)
	}
	id := textAt(c.film(t, videoBody(reelModel, "x")), "id")
	isEvent(t, c, r, hook{secret: secret}, "video.completed", id)
}

// isEvent insists that exactly one event about a job came, that it is of the type and signed, and that the job has ended
// so when it comes.
func isEvent(t *testing.T, c customer, r *receiver, h hook, eventType, id string) {
	t.Helper()
	got := r.about(t, eventType, id)
	if len(got) != 1 {
		t.Errorf("%d events about %s", len(got), id)
	}
	for _, one := range got {
		o := one.event(t)
		one.signed(t, h.secret)
		if textAt(o, "type") != eventType || textAt(o, "data", "id") != id || one.method != http.MethodPost ||
			one.header.Get("Content-Type") != "application/json" || one.header.Get("Webhook-Id") != textAt(o, "id") || strings.Contains(textAt(o, "id"), ".") {
			t.Errorf("the event is %s %v", one.body, one.header)
		}
	}
	is(t, c.task(t, id), "status", strings.TrimPrefix(eventType, "video."))
}

// isQuiet insists that there are so many events of a customer and no more, in the table and at the receiver.
func isQuiet(t *testing.T, c customer, r *receiver, want int) {
	t.Helper()
	var emitted, types int
	err := c.db(t).QueryRow(`select count(*), count(*) filter (where type not in ('video.completed', 'video.failed')) from webhook_events where account_id = $1`,
		c.accountID).Scan(&emitted, &types)
	ids := map[string]bool{}
	for _, h := range r.hits() {
		ids[h.header.Get("Webhook-Id")] = true
	}
	if err != nil || emitted != want || len(ids) != want || types != 0 {
		t.Errorf("%d events, %d at the receiver, %d of other types, not %d: %v", emitted, len(ids), types, want, err)
	}
}

func exactlyTwoTypes(t *testing.T, v *films) {
	a := v.call(t, "GET", "/v1/webhook_event_types", "")
	if !sameJSON(a.body, `{"object":"list","data":["video.completed","video.failed"]}`) {
		t.Errorf("the types are %s", a.body)
	}
	c, r := filmmaker(t, v.gateway, "types"), newReceiver(t)
	for _, types := range []string{`["video.queued"]`, `["video.completed","video.deleted"]`, `["*"]`, `[]`, `"video.completed"`, `[7]`, `null`} {
		a := c.call(t, "POST", "/v1/webhook_endpoints", `{"name":"x","url":"`+r.url+`","event_types":`+types+`}`)
		if got := openAIRefusal(t, a); a.status != 400 || got.param != "event_types" {
			t.Errorf("%s: %d %s", types, a.status, a.body)
		}
	}
	narrow := newReceiver(t)
	c.listens(t, r)
	h := c.listens(t, narrow, "video.failed")
	done := textAt(c.film(t, videoBody(reelModel, "x")), "id")
	failed := textAt(c.flop(t, videoBody(reelModel, "guardrail-late: minors"), "moderation_blocked"), "id")
	r.about(t, "video.completed", done)
	r.about(t, "video.failed", failed)
	isEvent(t, c, narrow, h, "video.failed", failed)
	for _, one := range narrow.hits() {
		if textAt(one.event(t), "type") != "video.failed" {
			t.Errorf("an endpoint for failures got %s", one.body)
		}
	}
	document := v.call(t, "GET", "/v1/model/openapi.json?model="+reelModel, "")
	hooks, _ := object(t, document.body)["webhooks"].(map[string]any)
	if len(hooks) != 2 || hooks["video.completed"] == nil || hooks["video.failed"] == nil {
		t.Errorf("the contract has the events %v", hooks)
	}
}

// silentJobs makes jobs without a webhook, and a last one whose end is delivered to a webhook.
func silentJobs(t *testing.T, v *films) {
	c, r, h := v.listener(t, "silent")
	for _, model := range []string{reelModel, fastModel, swiftModel} {
		isRefused(t, c.call(t, "POST", videosPath, videoBody(model, "guardrail: minors")), 400, "content_policy_violation", "prompt")
		mark := once("deleted")
		id := textAt(c.makeVideo(t, videoBody(model, "simulate: render=hold\n"+mark)), "id")
		isDeleted(t, c.call(t, "DELETE", videosPath+"/"+id, ""), id)
		v.simulator(t, "POST", "/_control/finish?id="+mark, "")
	}
	for deadline := time.Now().Add(filmMax); c.money(t).Held != 0; time.Sleep(lookEvery) {
		if time.Now().After(deadline) {
			t.Fatal("the deleted jobs do not end")
		}
	}
	last := textAt(c.film(t, videoBody(reelModel, "heard")), "id")
	isEvent(t, c, r, h, "video.completed", last)
	isQuiet(t, c, r, 1)
}

// pollingAndWebhooks lets a receiver refuse everything, and be gone: polling still shows the end.
func pollingAndWebhooks(t *testing.T, v *films) {
	c, r, _ := v.listener(t, "both")
	r.answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	isDone(t, c.film(t, videoBody(reelModel, "while the receiver fails")))
	without := filmmaker(t, v.gateway, "without")
	isDone(t, without.film(t, videoBody(reelModel, "without any endpoint")))
	heard := newReceiver(t)
	h := c.listens(t, heard)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			o := taskOf(t, c.call(t, "POST", videosPath, videoBody(swiftModel, "watched and heard")))
			isEvent(t, c, heard, h, "video.completed", textAt(o, "id"))
		})
	}
	all.Wait()
}

// sentAgain refuses an event once: it comes again with the same id, another stamp, and a signature that fits it. One that
// was taken is sent once more when its owner asks.
func sentAgain(t *testing.T, v *films) {
	c, r, h := v.listener(t, "again")
	var mu sync.Mutex
	refused := 0
	r.answers(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if refused++; refused == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	id := textAt(c.film(t, videoBody(reelModel, "x")), "id")
	path := "/v1/webhook_endpoints/" + h.id + "/deliveries"
	var delivery map[string]any
	for deadline := time.Now().Add(filmMax); textAt(delivery, "state") != "delivered"; time.Sleep(lookEvery) {
		delivery, _ = at(object(t, c.call(t, "GET", path+"?object_id="+id, "").body), "data", 0).(map[string]any)
		if time.Now().After(deadline) {
			t.Fatalf("the event does not arrive: %v", delivery)
		}
	}
	if a := c.call(t, "POST", path+"/"+textAt(delivery, "id")+"/resend", ""); a.status != http.StatusOK {
		t.Errorf("resend: %d %s", a.status, a.body)
	}
	for deadline := time.Now().Add(filmMax); len(r.hits()) < 3; time.Sleep(lookEvery) {
		if time.Now().After(deadline) {
			t.Fatalf("%d attempts", len(r.hits()))
		}
	}
	for _, one := range r.hits() {
		one.signed(t, h.secret)
		if first := r.hits()[0]; one.header.Get("Webhook-Id") != first.header.Get("Webhook-Id") || one.body != first.body {
			t.Errorf("the attempts differ: %s and %s", one.body, first.body)
		}
	}
	other := v.newCustomer(t, "stranger")
	for _, e := range []endpoint{{"GET", path, "", ""}, {"GET", path + "/" + textAt(delivery, "id"), "", ""}, {"POST", path + "/" + textAt(delivery, "id") + "/resend", "", ""}} {
		if a := other.call(t, e.method, e.path, e.body); a.status != http.StatusNotFound || openAIRefusal(t, a).kind == "" {
			t.Errorf("a stranger gets %d %s", a.status, a.body)
		}
	}
}
