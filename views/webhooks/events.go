package webhooks

import (
	"encoding/json"
	"strings"
	"time"

	"umg/views"
	"umg/views/codesample"
	"umg/views/format"
	"umg/views/ui"
)

// webhookEvent is an entry of the event catalogue.
type webhookEvent struct {
	Type string
	Text string
	Then string // what a receiver does next
}

// webhookEvents is the catalogue. A test compares it with what the service sends.
var webhookEvents = []webhookEvent{
	{
		Type: "video.completed", Text: "A video is finished and can be downloaded.",
		Then: "Fetch the job with GET /v1/videos/{id} and the file with GET /v1/videos/{id}/content, before it expires.",
	},
	{
		Type: "video.failed", Text: "A video could not be made. Nothing was charged for it.",
		Then: "Fetch the job with GET /v1/videos/{id}; its error says why.",
	},
}

func eventOf(name string) (webhookEvent, bool) {
	for _, e := range webhookEvents {
		if e.Type == name {
			return e, true
		}
	}
	return webhookEvent{}, false
}

// EventCatalog is the page about the events.
type EventCatalog struct {
	views.Shell
	Language string
}

func (e webhookEvent) anchor() string { return strings.ReplaceAll(e.Type, ".", "-") }

// example is an event as it is sent, with made-up ids.
func (e webhookEvent) example() string {
	return `{
  "id": "evt_01kb4a7m9x3v5d2c8n6q1w0zpr",
  "object": "event",
  "created_at": 1795254067,
  "type": "` + e.Type + `",
  "data": {
    "id": "video_01kb4a6zt4h2s8j5y7r3w9mvkd"
  }
}`
}

// schema is the JSON Schema of an event's body.
func (e webhookEvent) schema() string {
	return `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "` + e.Type + `",
  "type": "object",
  "required": ["id", "object", "created_at", "type", "data"],
  "properties": {
    "id": {"type": "string", "pattern": "^evt_", "description": "Also the webhook-id header. The same in every attempt."},
    "object": {"const": "event"},
    "created_at": {"type": "integer", "description": "When it happened, in seconds since 1970."},
    "type": {"const": "` + e.Type + `"},
    "data": {
      "type": "object",
      "required": ["id"],
      "properties": {
        "id": {"type": "string", "pattern": "^video_", "description": "The job to fetch."}
      }
    }
  }
}`
}

// EventSchemas are the published schemas by event type, so that they can be compared with what is sent.
func EventSchemas() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, e := range webhookEvents {
		all[e.Type] = json.RawMessage(e.schema())
	}
	return all
}

// localHookCommand forwards events to an address of the developer's own machine.
func localHookCommand(baseURL string) string {
	return "export " + codesample.KeyVariable + "=" + codesample.KeyPlaceholder +
		"\ngateway webhooks listen --gateway " + strings.TrimSuffix(baseURL, "/v1") +
		" \\\n  --forward http://localhost:3000/hook"
}

// eventOptions are the event types for a select, after the option for all types, if all is its label.
func eventOptions(all string) []ui.Option {
	var options []ui.Option
	if all != "" {
		options = append(options, ui.Option{Label: all})
	}
	for _, e := range webhookEvents {
		options = append(options, ui.Option{Value: e.Type, Label: e.Type})
	}
	return options
}

// retryWaits are the pauses before each attempt at an event.
var retryWaits = []time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour,
	24 * time.Hour,
}

// retryText is the schedule in words.
func retryText() string {
	words := make([]string, len(retryWaits))
	for i, w := range retryWaits {
		switch {
		case w == 0:
			words[i] = "at once"
		case w < time.Minute:
			words[i] = format.CountOf(int64(w/time.Second), "second", "seconds")
		case w < time.Hour:
			words[i] = format.CountOf(int64(w/time.Minute), "minute", "minutes")
		default:
			words[i] = format.CountOf(int64(w/time.Hour), "hour", "hours")
		}
	}
	return strings.Join(words, ", ")
}
