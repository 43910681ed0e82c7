package api

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
)

var eventLines = []checkLine{
	{"J185 video.completed is emitted when a job completes", filmed(func(t *testing.T, v *films) {
		c, r, h := v.listener(t, "completed")
		for _, id := range videoModels {
			o := c.CompleteVideo(t, harness.VideoBody(id, "x"))
			isEvent(t, c, r, h, "video.completed", harness.TextMember(o, "id"))
		}
		isQuiet(t, c, r, len(videoModels))
	})},
	{"J186 video.failed is emitted when a job fails", filmed(func(t *testing.T, v *films) {
		c, r, h := v.listener(t, "failed")
		for _, id := range videoModels {
			for prompt, code := range map[string]string{"guardrail-late: likeness": "moderation_blocked", "simulate: fail=broken\nx": "generation_failed"} {
				o := c.FailVideo(t, harness.VideoBody(id, prompt), code)
				isEvent(t, c, r, h, "video.failed", harness.TextMember(o, "id"))
			}
		}
		isQuiet(t, c, r, 2*len(videoModels))
	})},
	{"J187 there are exactly two types of events", filmed(exactlyTwoTypes)},
	{"J187 a job that is refused, or deleted while it runs, emits nothing", filmed(silentJobs)},
	{"J188 each event carries the id of its job, and little else", filmed(func(t *testing.T, v *films) {
		c, r, _ := v.listener(t, "thin")
		id := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "a secret prompt")), "id")
		h := r.WaitForEvent(t, "video.completed", id)[0]
		o := h.Event(t)
		harness.OnlyMembers(t, o, "id", "object", "created_at", "type", "data")
		harness.OnlyMembers(t, o["data"], "id")
		if age := time.Now().Unix() - harness.IntMember(t, o, "created_at"); harness.TextMember(o, "object") != "event" || age < 0 || age > 60 || strings.Contains(h.Body, "secret") {
			t.Errorf("the event is %s", h.Body)
		}
	})},
	{"J189 webhooks are configured on a console page", filmed(configuredOnAPage)},
	{"J190 webhooks and polling both work, and neither waits for the other", filmed(pollingAndWebhooks)},
	{"J190 an event is sent again until it is taken, under the same id", filmed(sentAgain)},
	{"J191 remixed jobs emit the same events", filmed(func(t *testing.T, v *films) {
		c, r, h := v.listener(t, "remixed")
		for _, id := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
			source := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(id, "x")), "id")
			isEvent(t, c, r, h, "video.completed", source)
			for prompt, eventType := range map[string]string{"y": "video.completed", "guardrail-late: copyright": "video.failed"} {
				byPath := harness.DecodeVideo(t, c.Call(t, "POST", "/v1/vendora/videos/"+source+"/remix", `{"prompt":"`+prompt+`"}`))
				byField := c.CreateVideo(t, harness.VideoBody(id, prompt, `"remix_video_id":"`+source+`"`))
				for _, o := range []map[string]any{byPath, byField} {
					isEvent(t, c, r, h, eventType, harness.TextMember(o, "id"))
				}
			}
		}
		isQuiet(t, c, r, 15)
	})},
}

// listener is a customer with a webhook endpoint.
func (v *films) listener(t *testing.T, name string) (harness.Customer, *harness.WebhookReceiver, harness.WebhookEndpoint) {
	t.Helper()
	c, r := harness.NewVideoCustomer(t, v.Gateway, name), harness.NewWebhookReceiver(t)
	return c, r, c.AddWebhook(t, r)
}

// configuredOnAPage adds an endpoint as a person without scripts does, and gets its events signed with the secret the page
// shows.
func configuredOnAPage(t *testing.T, v *films) {
	c, r := harness.NewVideoCustomer(t, v.Gateway, "by-page"), harness.NewWebhookReceiver(t)
	p := harness.NewConsoleClient(t, v.Gateway)
	p.SignIn(t, c.Email, c.Password)
	a := p.Visit(t, "/console/webhooks", url.Values{"name": {"By page"}, "url": {r.URL}, "events": {"video.completed"}})
	secret := regexp.MustCompile(`whsec_[0-9A-Za-z+/]+=*`).FindString(html.UnescapeString(a.Body))
	if a.Status != http.StatusOK || secret == "" {
		t.Fatalf("the page answers %d %s", a.Status, a.Body)
	}
	if a = p.Visit(t, "/console/webhooks", nil); !strings.Contains(a.Body, "By page") || strings.Contains(a.Body, secret) {
		t.Errorf("the list lacks the endpoint or shows its secret: %s", a.Body)
	}
	id := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "x")), "id")
	isEvent(t, c, r, harness.WebhookEndpoint{Secret: secret}, "video.completed", id)
}

// isEvent insists that exactly one event about a job came, that it is of the type and signed, and that the job has ended
// so when it comes.
func isEvent(t *testing.T, c harness.Customer, r *harness.WebhookReceiver, h harness.WebhookEndpoint, eventType, id string) {
	t.Helper()
	got := r.WaitForEvent(t, eventType, id)
	if len(got) != 1 {
		t.Errorf("%d events about %s", len(got), id)
	}
	for _, one := range got {
		o := one.Event(t)
		one.CheckSignature(t, h.Secret)
		if harness.TextMember(o, "type") != eventType || harness.TextMember(o, "data", "id") != id || one.Method != http.MethodPost ||
			one.Header.Get("Content-Type") != "application/json" || one.Header.Get("Webhook-Id") != harness.TextMember(o, "id") || strings.Contains(harness.TextMember(o, "id"), ".") {
			t.Errorf("the event is %s %v", one.Body, one.Header)
		}
	}
	is(t, c.GetVideo(t, id), "status", strings.TrimPrefix(eventType, "video."))
}

// isQuiet insists that there are so many events of a customer and no more, in the table and at the receiver.
func isQuiet(t *testing.T, c harness.Customer, r *harness.WebhookReceiver, want int) {
	t.Helper()
	var emitted, types int
	err := c.DB(t).QueryRow(`select count(*), count(*) filter (where type not in ('video.completed', 'video.failed')) from webhook_events where account_id = $1`,
		c.AccountID).Scan(&emitted, &types)
	ids := map[string]bool{}
	for _, h := range r.Received() {
		ids[h.Header.Get("Webhook-Id")] = true
	}
	if err != nil || emitted != want || len(ids) != want || types != 0 {
		t.Errorf("%d events, %d at the receiver, %d of other types, not %d: %v", emitted, len(ids), types, want, err)
	}
}

func exactlyTwoTypes(t *testing.T, v *films) {
	a := v.Call(t, "GET", "/v1/webhook_event_types", "")
	if !harness.SameJSON(a.Body, `{"object":"list","data":["video.completed","video.failed"]}`) {
		t.Errorf("the types are %s", a.Body)
	}
	c, r := harness.NewVideoCustomer(t, v.Gateway, "types"), harness.NewWebhookReceiver(t)
	for _, types := range []string{`["video.queued"]`, `["video.completed","video.deleted"]`, `["*"]`, `[]`, `"video.completed"`, `[7]`, `null`} {
		a := c.Call(t, "POST", "/v1/webhook_endpoints", `{"name":"x","url":"`+r.URL+`","event_types":`+types+`}`)
		if got := harness.OpenAIError(t, a); a.Status != 400 || got.Param != "event_types" {
			t.Errorf("%s: %d %s", types, a.Status, a.Body)
		}
	}
	narrow := harness.NewWebhookReceiver(t)
	c.AddWebhook(t, r)
	h := c.AddWebhook(t, narrow, "video.failed")
	done := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "x")), "id")
	failed := harness.TextMember(c.FailVideo(t, harness.VideoBody(harness.VideosModel, "guardrail-late: minors"), "moderation_blocked"), "id")
	r.WaitForEvent(t, "video.completed", done)
	r.WaitForEvent(t, "video.failed", failed)
	isEvent(t, c, narrow, h, "video.failed", failed)
	for _, one := range narrow.Received() {
		if harness.TextMember(one.Event(t), "type") != "video.failed" {
			t.Errorf("an endpoint for failures got %s", one.Body)
		}
	}
	document := v.Call(t, "GET", "/v1/model/openapi.json?model="+harness.VideosModel, "")
	hooks, _ := harness.DecodeObject(t, document.Body)["webhooks"].(map[string]any)
	if len(hooks) != 2 || hooks["video.completed"] == nil || hooks["video.failed"] == nil {
		t.Errorf("the contract has the events %v", hooks)
	}
}

// silentJobs makes jobs without a webhook, and a last one whose end is delivered to a webhook.
func silentJobs(t *testing.T, v *films) {
	c, r, h := v.listener(t, "silent")
	for _, model := range []string{harness.VideosModel, harness.OperationsModel, harness.TasksModel} {
		harness.CheckVideoError(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(model, "guardrail: minors")), 400, "content_policy_violation", "prompt")
		mark := harness.UniqueName("deleted")
		id := harness.TextMember(c.CreateVideo(t, harness.VideoBody(model, "simulate: render=hold\n"+mark)), "id")
		isDeleted(t, c.Call(t, "DELETE", harness.VideosPath+"/"+id, ""), id)
		v.CallSimulator(t, "POST", "/_control/finish?id="+mark, "")
	}
	for deadline := time.Now().Add(harness.JobTimeMax); c.Balance(t).Held != 0; time.Sleep(harness.PollInterval) {
		if time.Now().After(deadline) {
			t.Fatal("the deleted jobs do not end")
		}
	}
	last := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "heard")), "id")
	isEvent(t, c, r, h, "video.completed", last)
	isQuiet(t, c, r, 1)
}

// pollingAndWebhooks lets a receiver refuse everything, and be gone: polling still shows the end.
func pollingAndWebhooks(t *testing.T, v *films) {
	c, r, _ := v.listener(t, "both")
	r.AnswerWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	isDone(t, c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "while the receiver fails")))
	without := harness.NewVideoCustomer(t, v.Gateway, "without")
	isDone(t, without.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "without any endpoint")))
	heard := harness.NewWebhookReceiver(t)
	h := c.AddWebhook(t, heard)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			o := harness.DecodeVideo(t, c.Call(t, "POST", harness.VideosPath, harness.VideoBody(harness.TasksModel, "watched and heard")))
			isEvent(t, c, heard, h, "video.completed", harness.TextMember(o, "id"))
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
	r.AnswerWith(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if refused++; refused == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	id := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "x")), "id")
	path := "/v1/webhook_endpoints/" + h.ID + "/deliveries"
	var delivery map[string]any
	for deadline := time.Now().Add(harness.JobTimeMax); harness.TextMember(delivery, "state") != "delivered"; time.Sleep(harness.PollInterval) {
		delivery, _ = harness.Member(harness.DecodeObject(t, c.Call(t, "GET", path+"?object_id="+id, "").Body), "data", 0).(map[string]any)
		if time.Now().After(deadline) {
			t.Fatalf("the event does not arrive: %v", delivery)
		}
	}
	if a := c.Call(t, "POST", path+"/"+harness.TextMember(delivery, "id")+"/resend", ""); a.Status != http.StatusOK {
		t.Errorf("resend: %d %s", a.Status, a.Body)
	}
	for deadline := time.Now().Add(harness.JobTimeMax); len(r.Received()) < 3; time.Sleep(harness.PollInterval) {
		if time.Now().After(deadline) {
			t.Fatalf("%d attempts", len(r.Received()))
		}
	}
	for _, one := range r.Received() {
		one.CheckSignature(t, h.Secret)
		if first := r.Received()[0]; one.Header.Get("Webhook-Id") != first.Header.Get("Webhook-Id") || one.Body != first.Body {
			t.Errorf("the attempts differ: %s and %s", one.Body, first.Body)
		}
	}
	other := v.NewCustomer(t, "stranger")
	for _, e := range []endpoint{{"GET", path, "", ""}, {"GET", path + "/" + harness.TextMember(delivery, "id"), "", ""}, {"POST", path + "/" + harness.TextMember(delivery, "id") + "/resend", "", ""}} {
		if a := other.Call(t, e.method, e.path, e.body); a.Status != http.StatusNotFound || harness.OpenAIError(t, a).Type == "" {
			t.Errorf("a stranger gets %d %s", a.Status, a.Body)
		}
	}
}
