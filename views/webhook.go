package views

import (
	"strconv"
	"strings"
	"time"

	"umg/views/format"
	"umg/views/ui"
)

// Why an endpoint is disabled.
const (
	WebhookOffByUser     = "user"
	WebhookOffByGone     = "gone"
	WebhookOffByFailures = "failing"
)

// Webhook is one endpoint, without its secret.
type Webhook struct {
	ID, Name, URL  string
	Events         []string
	Hint           string     // end of the secret
	OldUntil       *time.Time // until then the previous secret signs, too
	Disabled       bool
	DisabledReason string
	DisabledAt     *time.Time
	FailingSince   *time.Time
	CreatedAt      time.Time
	Health         WebhookHealth
}

// WebhookHealth is how an endpoint did in the last 24 hours.
type WebhookHealth struct {
	Succeeded, Failed int64 // attempts
	Median, P95       time.Duration
	Last              *WebhookFailure // the latest failed attempt
}

// WebhookFailure is a failed attempt in short.
type WebhookFailure struct {
	At         time.Time
	Status     int
	Error      string
	DeliveryID string
}

// Path is the page of the endpoint, or the address of an action below it.
func (w Webhook) Path(more ...string) string {
	return strings.Join(append([]string{WebhooksPath, w.ID}, more...), "/")
}

// Status is the badge of an endpoint.
func (w Webhook) Status() Badge {
	switch {
	case w.Disabled && w.DisabledReason == WebhookOffByUser:
		return Badge{ui.Plain, "Disabled"}
	case w.Disabled:
		return Badge{ui.Danger, "Disabled"}
	case w.FailingSince != nil:
		return Badge{ui.Warning, "Failing"}
	default:
		return Badge{ui.Success, "Enabled"}
	}
}

// Why says in a few words why an endpoint is disabled; empty while it is not.
func (w Webhook) Why() string {
	switch {
	case !w.Disabled:
		return ""
	case w.DisabledReason == WebhookOffByGone:
		return "it answered 410 Gone"
	case w.DisabledReason == WebhookOffByFailures:
		return "it failed for five days"
	default:
		return "by you"
	}
}

// DisabledText explains a disabled endpoint and what to do.
func (w Webhook) DisabledText() string {
	const next = " Enable it to send events again; Recover resends missed events."
	switch w.DisabledReason {
	case WebhookOffByGone:
		return "Your server answered 410, which ends delivery." + next
	case WebhookOffByFailures:
		return "Every delivery failed for five days. Repair the receiver and send it a test event first." + next
	default:
		return "You disabled it: nothing is sent." + next
	}
}

// Troubled reports whether members of the account should be warned: the endpoint was disabled by its failures, or has
// failed for a day.
func (w Webhook) Troubled(now time.Time) bool {
	if w.Disabled {
		return w.DisabledReason != WebhookOffByUser
	}
	return w.FailingSince != nil && now.Sub(*w.FailingSince) >= 24*time.Hour
}

// Notice says why a troubled endpoint gets no events.
func (w Webhook) Notice() string {
	if w.Disabled {
		return "The webhook endpoint " + w.Name + " is disabled: " + w.Why()
	}
	return "The webhook endpoint " + w.Name + " fails"
}

// NoticeText says what happens next with a troubled endpoint.
func (w Webhook) NoticeText() string {
	if w.Disabled {
		return w.DisabledText()
	}
	return "Every delivery has failed for more than a day. After five days it is disabled."
}

// Attempts are all attempts to deliver, taken or not.
func (h WebhookHealth) Attempts() int64 { return h.Succeeded + h.Failed }

// Rate is the share of attempts that were taken.
func (h WebhookHealth) Rate() string { return format.Percent(h.Succeeded, h.Attempts()) }

// Cause puts a failed attempt into words.
func (f WebhookFailure) Cause() string { return OutcomeWords(f.Status, f.Error) }

// OutcomeWords describe the result of an attempt.
func OutcomeWords(status int, failure string) string {
	switch {
	case status == 0 && failure == "":
		return "No answer"
	case status == 0:
		return failure
	default:
		return strings.TrimSpace("Answered " + strconv.Itoa(status) + " " + statusWords[status])
	}
}

// statusWords name the answers that receivers give most.
var statusWords = map[int]string{
	200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 301: "Moved Permanently", 302: "Found", 303: "See Other",
	307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
	405: "Method Not Allowed", 408: "Request Timeout", 410: "Gone", 413: "Content Too Large", 415: "Unsupported Media Type",
	422: "Unprocessable Content", 429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
	503: "Service Unavailable", 504: "Gateway Timeout",
}
