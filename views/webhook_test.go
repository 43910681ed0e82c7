package views_test

import (
	"encoding/json"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	"umg/views/stories"
	webhookpages "umg/views/webhooks"
)

func TestSigningSecretsAppearOnlyWhereOneWasJustMade(t *testing.T) {
	t.Parallel()
	for _, s := range stories.All() {
		made := s.Name == "webhook-created" || s.Name == "webhook-rotated"
		if strings.Contains(draw(t, s), stories.HookSecret) != made {
			t.Errorf("%s: a signing secret is shown, or is missing", s.Name)
		}
	}
}

// TestWhatReceiversSayStaysText draws every page about webhooks with hostile words in all places.
func TestWhatReceiversSayStaysText(t *testing.T) {
	t.Parallel()
	const evil = `"></pre><img src=x onerror=alert(1)><script>alert(1)</script>`
	s := views.Shell{Viewer: &views.Viewer{Email: "a@example.com", Rights: app.AllRights}, Now: stories.Now()}
	at := stories.Now()
	hook := views.Webhook{
		ID: evil, Name: evil, URL: evil, Events: []string{evil}, Hint: evil, OldUntil: &at, CreatedAt: at,
		Health: views.WebhookHealth{Failed: 1, Last: &views.WebhookFailure{At: at, Error: evil, DeliveryID: evil}},
	}
	lines := []webhookpages.Line{{Name: evil, Value: evil}}
	attempt := webhookpages.Attempt{Number: 1, At: at, URL: evil, Sent: lines, Got: lines, SentBody: evil, GotBody: evil, Status: 500, Error: evil}
	one := webhookpages.Delivery{ID: evil, EventID: evil, EventType: evil, ObjectID: evil, State: evil, Attempts: 1, LastError: evil, CreatedAt: at}
	form := webhookpages.Form{Name: evil, NameError: evil, URL: evil, URLError: evil, EventsError: evil, FormError: evil}
	ask := webhookpages.Question{Shell: s, Hook: hook, Since: evil, At: evil, SinceError: evil}
	for name, page := range map[string]templ.Component{
		"list":    webhookpages.ListPage(webhookpages.List{Shell: s, List: []views.Webhook{hook}}),
		"form":    webhookpages.EditPage(webhookpages.Edit{Shell: s, ID: evil, Form: form}),
		"secret":  webhookpages.SecretPage(webhookpages.Secret{Shell: s, Hook: hook, Secret: evil, Language: evil, List: []views.Webhook{hook}}),
		"rotate":  webhookpages.RotatePage(ask),
		"recover": webhookpages.RecoverPage(ask),
		"delete":  webhookpages.DeletePage(ask),
		"detail": webhookpages.DetailPage(webhookpages.Detail{
			Shell: s, Hook: hook, Language: evil, Test: &webhookpages.TestResult{Event: evil, Attempt: attempt}, TestType: evil,
			Query: webhookpages.DeliveryQuery{Object: evil, After: evil}, Deliveries: []webhookpages.Delivery{one}, More: true,
		}),
		"delivery": webhookpages.DeliveryPage(webhookpages.DeliveryDetail{Shell: s, Hook: hook, Delivery: one, Body: evil, Log: []webhookpages.Attempt{attempt}}),
	} {
		if parse(t, render(t, page)).Find("img, script:not([src]), [onerror]").Length() > 0 {
			t.Errorf("%s: hostile text became markup", name)
		}
	}
}

func TestAddressesOfDeliveriesKeepWhatNarrowsThem(t *testing.T) {
	t.Parallel()
	q := webhookpages.ParseDeliveryQuery(url.Values{
		"state": {"failed"}, "event_type": {"video.failed"}, "object_id": {" video_1 "}, "after": {"whd_1"}, "other": {"x"},
	})
	if got := q.Path("whe_1"); got != "/console/webhooks/whe_1?after=whd_1&event_type=video.failed&object_id=video_1&state=failed" {
		t.Errorf("the address is %s", got)
	}
	if q := webhookpages.ParseDeliveryQuery(url.Values{"state": {"odd"}, "event_type": {"odd"}}); q.Path("whe_1") != "/console/webhooks/whe_1" {
		t.Errorf("nonsense narrows to %+v", q)
	}
}

// TestPendingDeliveriesAreLookedAfter checks that the page polls often for deliveries due soon, rarely for others, and never after the end.
func TestPendingDeliveriesAreLookedAfter(t *testing.T) {
	t.Parallel()
	soon, late := stories.Now().Add(time.Second), stories.Now().Add(time.Hour)
	for state, c := range map[string]struct {
		next *time.Time
		want string
	}{
		webhookpages.DeliveryPending: {&soon, "every 2s"}, webhookpages.DeliveryDelivered: {nil, ""}, webhookpages.DeliveryFailed: {nil, ""},
	} {
		d := webhookpages.DeliveryDetail{Shell: views.Shell{Now: stories.Now()}, Delivery: webhookpages.Delivery{State: state, NextAt: c.next}}
		if got := parse(t, render(t, webhookpages.DeliveryPage(d))).Find("#delivery").AttrOr("hx-trigger", ""); got != c.want {
			t.Errorf("%s: looked at %q", state, got)
		}
	}
	page := webhookpages.Detail{Shell: views.Shell{Now: stories.Now()}, Deliveries: []webhookpages.Delivery{{State: webhookpages.DeliveryPending, NextAt: &late}}}
	if got := parse(t, render(t, webhookpages.DetailPage(page))).Find("#delivery-rows").AttrOr("hx-trigger", ""); got != "every 10s" {
		t.Errorf("the list is looked at %q", got)
	}
}

func TestSchemasOfEventsAreJSON(t *testing.T) {
	t.Parallel()
	for name, schema := range webhookpages.EventSchemas() {
		var s struct {
			Properties map[string]struct {
				Const string `json:"const"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(schema, &s); err != nil || s.Properties["type"].Const != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheShellSampleSignsAsTheStandardDoes runs it over a vector that was reckoned elsewhere.
func TestTheShellSampleSignsAsTheStandardDoes(t *testing.T) {
	t.Parallel()
	for _, s := range webhookpages.VerifySamples() {
		if s.Name != "curl" {
			continue
		}
		script := strings.NewReplacer(
			"evt_...", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1795254067", "1614265330", "; cat body.json", `; printf %s '{"test": 2432232314}'`,
		).Replace(s.Source)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Env = append(cmd.Environ(), "OPENAI_WEBHOOK_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
		out, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
			t.Errorf("%v: %s", err, out)
		}
	}
}
