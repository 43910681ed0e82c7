package stories

import (
	"strconv"
	"time"

	"github.com/a-h/templ"

	"umg/views"
	webhookpages "umg/views/webhooks"
)

// HookSecret is a made-up signing secret.
const HookSecret = "whsec_bWFkZSB1cCBmb3IgdGhlIHN0b3J5Ym9vayBvbmx5ISE=" //nolint:gosec // not a real secret

const hookVideo = "video_01kb4a6zt4h2s8j5y7r3w9mvkd"

func until(d time.Duration) *time.Time {
	t := Now().Add(d)
	return &t
}

func exampleHooks() []views.Webhook {
	const day = 24 * time.Hour
	both := []string{"video.completed", "video.failed"}
	return []views.Webhook{
		{
			ID: "whe_01kb4a00000000000000000001", Name: "Render pipeline", URL: "https://hooks.example.com/umg/videos", Events: both,
			Hint: "whsec_…ISE", CreatedAt: at(31 * day),
			Health: views.WebhookHealth{Succeeded: 1284, Failed: 3, Median: 84 * time.Millisecond, P95: 412 * time.Millisecond,
				Last: &views.WebhookFailure{At: at(5 * time.Hour), Status: 502, DeliveryID: "whd_01kb4a00000000000000000003"}},
		},
		{
			ID: "whe_01kb4a00000000000000000002", Name: "Staging, behind the tunnel of the video team",
			URL:    "https://7f3a-203-0-113-7.tunnel.example.net/very/long/path/that/does/not/fit/webhooks?team=video&env=staging",
			Events: []string{"video.completed"}, Hint: "whsec_…x9Q", CreatedAt: at(3 * day),
			FailingSince: ago(7 * time.Hour), OldUntil: until(19 * time.Hour),
			Health: views.WebhookHealth{Failed: 6, Median: 15 * time.Second, P95: 15 * time.Second,
				Last: &views.WebhookFailure{
					At: at(12 * time.Minute), Error: "The answer did not end in time.", DeliveryID: "whd_01kb4a00000000000000000002",
				}},
		},
		{
			ID: "whe_01kb4a00000000000000000003", Name: "Old archive", URL: "https://archive.example.org/in", Events: both, Hint: "whsec_…0Kf",
			CreatedAt: at(210 * day), Disabled: true, DisabledReason: views.WebhookOffByGone, DisabledAt: ago(9 * day),
		},
		{
			ID: "whe_01kb4a00000000000000000004", Name: "Night shift", URL: "https://night.example.org/umg", Events: []string{"video.failed"},
			Hint: "whsec_…Zt2", CreatedAt: at(90 * day), Disabled: true, DisabledReason: views.WebhookOffByFailures, DisabledAt: ago(2 * day),
		},
		{
			ID: "whe_01kb4a00000000000000000005", Name: "Laptop", URL: "https://laptop.example.org/hook", Events: both, Hint: "whsec_…77a",
			CreatedAt: at(time.Hour), Disabled: true, DisabledReason: views.WebhookOffByUser, DisabledAt: ago(time.Minute),
		},
	}
}

func exampleDeliveries() []webhookpages.Delivery {
	return []webhookpages.Delivery{
		{
			ID: "whd_01kb4a00000000000000000001", EventID: "evt_01kb4a00000000000000000001", EventType: "video.completed", ObjectID: hookVideo,
			State: webhookpages.DeliveryPending, NextAt: until(time.Second), CreatedAt: at(0),
		},
		{
			ID: "whd_01kb4a00000000000000000002", EventID: "evt_01kb4a00000000000000000002", EventType: "video.completed",
			ObjectID: "video_01kb49r2m8h4s2j5y7r3w9mvk1", State: webhookpages.DeliveryPending, Attempts: 4, NextAt: until(104 * time.Minute),
			LastError: "The answer did not end in time.", CreatedAt: at(3 * time.Hour),
		},
		{
			ID: "whd_01kb4a00000000000000000003", EventID: "evt_01kb4a00000000000000000003", EventType: "video.failed",
			ObjectID: "video_01kb48zzk8h4s2j5y7r3w9mvk2", State: webhookpages.DeliveryDelivered, Attempts: 2, LastStatus: 204,
			CreatedAt: at(5 * time.Hour),
		},
		{
			ID: "whd_01kb4a00000000000000000004", EventID: "evt_01kb4a00000000000000000004", EventType: "video.completed",
			ObjectID: "video_01kb3zzzk8h4s2j5y7r3w9mvk3", State: webhookpages.DeliveryFailed, Attempts: 10, LastStatus: 500,
			CreatedAt: at(80 * time.Hour),
		},
		{
			ID: "whd_01kb4a00000000000000000005", EventID: "evt_01kb4a00000000000000000005", EventType: "video.completed",
			ObjectID: "video_01kb2zzzk8h4s2j5y7r3w9mvk4", State: webhookpages.DeliveryCancelled, CreatedAt: at(100 * time.Hour),
		},
	}
}

// hookBody is the body of a delivery.
func hookBody(d webhookpages.Delivery) string {
	return `{"id":"` + d.EventID + `","object":"event","created_at":` + strconv.FormatInt(d.CreatedAt.Unix(), 10) +
		`,"type":"` + d.EventType + `","data":{"id":"` + d.ObjectID + `"}}`
}

func exampleAttempt(number, status int, failure, body string) webhookpages.Attempt {
	a := webhookpages.Attempt{
		Number: number, At: at(5*time.Hour - time.Duration(number)*5*time.Minute), Took: 84 * time.Millisecond,
		URL: "https://hooks.example.com/umg/videos", SentBody: hookBody(exampleDeliveries()[2]), GotBody: body, Status: status, Error: failure,
		Sent: []webhookpages.Line{
			{Name: "content-type", Value: "application/json"}, {Name: "webhook-id", Value: "evt_01kb4a00000000000000000003"},
			{Name: "webhook-timestamp", Value: "1795236067"},
			{Name: "webhook-signature", Value: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4= v1,2yZfB1xqkYc0b5T8rJw3mVd7sLhPgQ6uEnRoAiK9tXc="},
		},
	}
	if status != 0 {
		a.Got = []webhookpages.Line{
			{Name: "content-type", Value: "text/html; charset=utf-8"}, {Name: "date", Value: "Sat, 21 Nov 2026 04:41:08 GMT"},
			{Name: "server", Value: "example"},
		}
	}
	return a
}

func exampleLog() []webhookpages.Attempt {
	return []webhookpages.Attempt{
		exampleAttempt(3, 204, "", ""),
		exampleAttempt(2, 502, "", "<html><body><script>alert(1)</script><h1>502 Bad Gateway</h1></body></html>"),
		exampleAttempt(1, 0, "The connection was refused: nothing listens at this address and port.", ""),
	}
}

// retriedLog is what was tried for a delivery whose endpoint answers too late.
func retriedLog(d webhookpages.Delivery) []webhookpages.Attempt {
	var log []webhookpages.Attempt
	for i, age := range []time.Duration{12 * time.Minute, 145 * time.Minute, 175 * time.Minute, 3 * time.Hour} {
		a := exampleAttempt(4-i, 0, d.LastError, "")
		a.At, a.Took, a.SentBody = at(age), 15*time.Second, hookBody(d)
		a.Sent[1].Value, a.Sent[2].Value = d.EventID, strconv.FormatInt(a.At.Unix(), 10)
		log = append(log, a)
	}
	return log
}

func webhooks() []Story {
	list := exampleHooks()
	return append(append([]Story{
		hookStory("webhooks-empty", "No endpoints yet", 200, "", func(s views.Shell) templ.Component {
			return webhookpages.ListPage(webhookpages.List{Shell: s})
		}),
		hookStory("webhooks", "Endpoints in every state", 200, "", func(s views.Shell) templ.Component {
			return webhookpages.ListPage(webhookpages.List{Shell: s, List: list})
		}),
		hookStory("webhook-events", "The event catalogue", 200, "/events", func(s views.Shell) templ.Component {
			return webhookpages.EventsPage(webhookpages.EventCatalog{Shell: s})
		}),
	}, hookForms(list)...), hookDetails(list)...)
}

func hookStory(name, title string, status int, path string, view func(s views.Shell) templ.Component) Story {
	return Story{Name: name, Group: "Webhooks", Title: title, Status: status, Path: "/console/webhooks" + path, View: view}
}

func hookForms(list []views.Webhook) []Story {
	edit := func(name, title string, status int, id string, form webhookpages.Form) Story {
		return hookStory(name, title, status, "/new", func(s views.Shell) templ.Component {
			return webhookpages.EditPage(webhookpages.Edit{Shell: s, ID: id, Form: form})
		})
	}
	ask := func(name, title string, status int, page func(webhookpages.Question) templ.Component, a webhookpages.Question) Story {
		return hookStory(name, title, status, "/"+list[0].ID, func(s views.Shell) templ.Component {
			a.Shell, a.Hook = s, list[0]
			return page(a)
		})
	}
	secret := func(name, title string, w webhookpages.Secret) Story {
		return hookStory(name, title, 200, "", func(s views.Shell) templ.Component {
			w.Shell, w.Secret = s, HookSecret
			return webhookpages.SecretPage(w)
		})
	}
	return []Story{
		edit("webhook-new", "Add an endpoint", 200, "", webhookpages.NewForm()),
		edit("webhook-new-errors", "Add an endpoint, refused", 422, "", webhookpages.Form{
			NameError: "Enter a name (1–80 characters).",
			URL:       "http://10.0.0.8/hook", URLError: "The URL must use https.", EventsError: "Choose at least one event.",
		}),
		edit("webhook-new-limit", "Add an endpoint, too many", 422, "", webhookpages.Form{
			Name: "One more", URL: "https://example.com/hook", Events: []string{"video.completed"},
			FormError: "This account has 20 webhook endpoints, which is the limit. Delete one that is no longer used.",
		}),
		edit("webhook-edit", "Edit an endpoint", 200, list[1].ID,
			webhookpages.Form{Name: list[1].Name, URL: list[1].URL, Events: list[1].Events}),
		secret("webhook-created", "Endpoint added, its secret", webhookpages.Secret{Hook: list[0], List: list}),
		secret("webhook-rotated", "Secret rotated", webhookpages.Secret{Hook: list[1], Rotated: true, Language: "javascript"}),
		ask("webhook-rotate", "Rotate the secret", 200, webhookpages.RotatePage, webhookpages.Question{}),
		ask("webhook-recover", "Recover failed events", 200, webhookpages.RecoverPage, webhookpages.Question{Since: "24h"}),
		ask("webhook-recover-wrong", "Recover since a time, refused", 422, webhookpages.RecoverPage, webhookpages.Question{
			Since: webhookpages.RecoverAt, At: "2027-01-01T09:00", SinceError: "The time must be in the past.",
		}),
		ask("webhook-delete", "Delete an endpoint", 200, webhookpages.DeletePage, webhookpages.Question{}),
	}
}

func hookDetails(list []views.Webhook) []Story {
	detail := func(name, title string, i int, change func(*webhookpages.Detail)) Story {
		return hookStory(name, title, 200, "/"+list[i].ID, view(webhookpages.DetailPage, func(s views.Shell) webhookpages.Detail {
			return webhookpages.Detail{Shell: s, Hook: list[i], Deliveries: exampleDeliveries(), More: true}
		}, change))
	}
	tested := func(a webhookpages.Attempt) func(*webhookpages.Detail) {
		return func(d *webhookpages.Detail) { d.Test = &webhookpages.TestResult{Event: "video.completed", Attempt: a} }
	}
	delivery := func(name, title string, i int, hook views.Webhook, log []webhookpages.Attempt) Story {
		one := exampleDeliveries()[i]
		return hookStory(name, title, 200, "/"+hook.ID+"/deliveries/"+one.ID, func(s views.Shell) templ.Component {
			for i := range log {
				log[i].SentBody = hookBody(one)
			}
			return webhookpages.DeliveryPage(webhookpages.DeliveryDetail{Shell: s, Hook: hook, Delivery: one, Body: hookBody(one), Log: log})
		})
	}
	return []Story{
		detail("webhook", "An endpoint and its deliveries", 0, func(*webhookpages.Detail) {}),
		detail("webhook-fresh", "An endpoint before the first event", 0, func(d *webhookpages.Detail) {
			d.Deliveries, d.More, d.Hook.Health = nil, false, views.WebhookHealth{}
		}),
		detail("webhook-failing", "A failing endpoint, with an old secret", 1, func(d *webhookpages.Detail) {
			d.Query = webhookpages.DeliveryQuery{State: webhookpages.DeliveryPending, After: "whd_01kb4a00000000000000000009"}
			d.Deliveries = exampleDeliveries()[1:2]
		}),
		detail("webhook-no-match", "No delivery matches", 0, func(d *webhookpages.Detail) {
			d.Query, d.Deliveries, d.More = webhookpages.DeliveryQuery{Event: "video.failed", Object: hookVideo}, nil, false
		}),
		detail("webhook-gone", "Disabled, as it answered 410", 2, func(*webhookpages.Detail) {}),
		detail("webhook-given-up", "Disabled after five days of failures", 3, func(*webhookpages.Detail) {}),
		detail("webhook-off", "Disabled by its owner", 4, func(*webhookpages.Detail) {}),
		detail("webhook-tested", "A test event was taken", 0, tested(exampleAttempt(1, 200, "", `{"ok":true}`))),
		detail("webhook-test-failed", "A test event was not answered", 0,
			tested(exampleAttempt(1, 0, "The name of the host cannot be looked up. Check its spelling.", ""))),
		detail("webhook-test-refused", "A test event was not sent", 0, func(d *webhookpages.Detail) {
			d.Test = &webhookpages.TestResult{
				Refusal: "A test event is on its way to this endpoint, or many are to others. Try again when it was answered.",
			}
		}),
		delivery("delivery", "A delivery with three attempts", 2, list[0], exampleLog()),
		delivery("delivery-pending", "A delivery before its first attempt", 0, list[0], nil),
		delivery("delivery-retrying", "A delivery between two attempts", 1, list[1], retriedLog(exampleDeliveries()[1])),
		delivery("delivery-off", "A delivery of a disabled endpoint", 4, list[4], nil),
	}
}
