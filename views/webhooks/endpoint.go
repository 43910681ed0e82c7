package webhooks

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	nameMax = "80"
	urlMax  = "2048"
	soonAt  = time.Minute // Deliveries due within this time make the page poll often.
)

// These are the states of a delivery, as addresses write them.
const (
	DeliveryPending   = "pending"
	DeliveryDelivered = "delivered"
	DeliveryFailed    = "failed"
	DeliveryCancelled = "cancelled"
)

// Form is the form of an endpoint, first shown or shown again with what was wrong.
type Form struct {
	Name, NameError        string
	URL, URLError          string
	Events                 []string
	EventsError, FormError string
}

// NewForm is the form as it is first shown: most receivers want every event.
func NewForm() Form {
	f := Form{}
	for _, e := range webhookEvents {
		f.Events = append(f.Events, e.Type)
	}
	return f
}

func (f Form) wants(event string) bool { return slices.Contains(f.Events, event) }

// beginsWithName is false where a later field is the first to be mended.
func (f Form) beginsWithName() bool {
	return f.NameError != "" || f.URLError == "" && f.EventsError == ""
}

// List is the list of an account's endpoints.
type List struct {
	views.Shell
	List []views.Webhook
}

// Edit is the form for a new endpoint, or for the one it names.
type Edit struct {
	views.Shell
	ID   string // ID is empty for a new endpoint.
	Form Form
}

func (w Edit) action() string {
	if w.ID == "" {
		return views.WebhooksPath
	}
	return views.Webhook{ID: w.ID}.Path("edit")
}

func (w Edit) title() string {
	if w.ID == "" {
		return "Add a webhook endpoint"
	}
	return "Edit the endpoint"
}

func (w Edit) back() string {
	if w.ID == "" {
		return views.WebhooksPath
	}
	return views.Webhook{ID: w.ID}.Path()
}

// backText names the page that the form came from.
func (w Edit) backText() string {
	if w.ID == "" {
		return "Webhooks"
	}
	return "The endpoint"
}

// Secret shows a new secret, this once. List is the page behind the dialog after a creation.
type Secret struct {
	views.Shell
	Hook     views.Webhook
	Secret   string
	Rotated  bool
	Language string
	List     []views.Webhook
}

// Question asks before something happens to an endpoint: its deletion, a new secret or a recovery.
type Question struct {
	views.Shell
	Hook       views.Webhook
	Since      string // Since is the chosen span.
	At         string // At is the chosen time.
	SinceError string
}

// Detail is one endpoint with its deliveries.
type Detail struct {
	views.Shell
	Hook       views.Webhook
	Language   string
	Test       *TestResult
	TestType   string
	Query      DeliveryQuery
	Deliveries []Delivery
	More       bool
}

// TestResult is the result of a test event. A test that was not sent has only a Refusal.
type TestResult struct {
	Event   string
	Refusal string
	Attempt
}

// summary says what a test was and how long it took.
func (t TestResult) summary() string {
	if t.Status == 0 {
		return t.Event + " was given up after " + format.Duration(t.Took) + ". No answer came."
	}
	return strings.TrimSpace(t.Event + " was answered within " + format.Duration(t.Took) + ". " + t.note())
}

// DeliveryQuery narrows the deliveries of an endpoint; it is the query of their address.
type DeliveryQuery struct {
	State, Event, Object, After string
}

// ParseDeliveryQuery reads a query from an address. What is not known there narrows nothing.
func ParseDeliveryQuery(v url.Values) DeliveryQuery {
	q := DeliveryQuery{
		State: v.Get("state"), Event: v.Get("event_type"), Object: strings.TrimSpace(v.Get("object_id")), After: v.Get("after"),
	}
	if !slices.ContainsFunc(deliveryTabs, func(o ui.Option) bool { return o.Value == q.State }) {
		q.State = ""
	}
	if _, known := eventOf(q.Event); !known {
		q.Event = ""
	}
	return q
}

// deliveryTabs are the tabs above the deliveries.
var deliveryTabs = []ui.Option{
	{Value: "", Label: "All"}, {Value: DeliveryDelivered, Label: "Delivered"}, {Value: DeliveryPending, Label: "Pending"},
	{Value: DeliveryFailed, Label: "Failed"}, {Value: DeliveryCancelled, Label: "Cancelled"},
}

// Path is the address of the endpoint's page with the query.
func (q DeliveryQuery) Path(endpoint string) string {
	v := url.Values{}
	for name, value := range map[string]string{"state": q.State, "event_type": q.Event, "object_id": q.Object, "after": q.After} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if len(v) == 0 {
		return views.Webhook{ID: endpoint}.Path()
	}
	return views.Webhook{ID: endpoint}.Path() + "?" + v.Encode()
}

func (q DeliveryQuery) in(state string) DeliveryQuery { q.State, q.After = state, ""; return q }

func (q DeliveryQuery) after(id string) DeliveryQuery { q.After = id; return q }

func (q DeliveryQuery) narrowed() bool { return q.State != "" || q.Event != "" || q.Object != "" }

// refresh is how often the deliveries are looked at again: often while one is about to be tried.
func (d Detail) refresh() string {
	for _, one := range d.Deliveries {
		if one.soon(d.Now) {
			return "every 2s"
		}
	}
	return "every 10s"
}

// Delivery is an event and the state of sending it to one endpoint.
type Delivery struct {
	ID, EventID, EventType, ObjectID string
	State                            string
	Attempts                         int
	NextAt                           *time.Time
	LastStatus                       int
	LastError                        string
	CreatedAt                        time.Time
}

func (d Delivery) path(hook views.Webhook) string { return hook.Path("deliveries", d.ID) }

func (d Delivery) soon(now time.Time) bool {
	return d.NextAt != nil && d.NextAt.Before(now.Add(soonAt))
}

func (d Delivery) status() views.Badge {
	switch {
	case d.State == DeliveryDelivered:
		return views.Badge{Tone: ui.Success, Text: "Delivered"}
	case d.State == DeliveryFailed:
		return views.Badge{Tone: ui.Danger, Text: "Failed"}
	case d.State == DeliveryCancelled:
		return views.Badge{Tone: ui.Plain, Text: "Cancelled"}
	case d.Attempts > 0:
		return views.Badge{Tone: ui.Warning, Text: "Retrying"}
	default:
		return views.Badge{Tone: ui.Info, Text: "Pending"}
	}
}

// last describes the result of the last attempt.
func (d Delivery) last() string {
	switch {
	case d.Attempts == 0 && d.State == DeliveryPending:
		return "Not sent yet"
	case d.Attempts == 0:
		return "Not sent"
	}
	return views.OutcomeWords(d.LastStatus, d.LastError)
}

// DeliveryDetail is a delivery with its attempts, the newest first.
type DeliveryDetail struct {
	views.Shell
	Hook     views.Webhook
	Delivery Delivery
	Body     string
	Log      []Attempt
}

func (d DeliveryDetail) refresh() string {
	if d.Delivery.soon(d.Now) {
		return "every 2s"
	}
	return "every 10s"
}

// Attempt is one request to an endpoint and its answer.
type Attempt struct {
	Number            int
	At                time.Time
	Took              time.Duration
	URL               string
	Sent, Got         []Line
	SentBody, GotBody string
	Status            int
	Error             string
}

// Line is one header.
type Line struct{ Name, Value string }

func (a Attempt) succeeded() bool { return a.Status >= 200 && a.Status <= 299 }

func (a Attempt) tone() ui.Tone {
	if a.succeeded() {
		return ui.Success
	}
	return ui.Danger
}

func (a Attempt) outcome() string { return views.OutcomeWords(a.Status, a.Error) }

// note is the error of an attempt that got an HTTP status, which is shown beside the status.
func (a Attempt) note() string {
	if a.Status == 0 {
		return ""
	}
	return a.Error
}

func (a Attempt) id() string { return "attempt-" + strconv.Itoa(a.Number) }

func headerText(lines []Line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.Name + ": " + l.Value)
	}
	return b.String()
}

// httpBlock is a text of an exchange to look at and to copy.
func httpBlock(id, title, text string) ui.CodeProps {
	name := "http"
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		name = "json"
	}
	return ui.CodeProps{ID: id, Title: title, Samples: []ui.Sample{{Name: name, Label: title, Source: text}}}
}

// recoverSpans are the spans that a recovery offers.
var recoverSpans = []ui.Option{
	{Value: "1h", Label: "The last hour"}, {Value: "6h", Label: "The last 6 hours"}, {Value: "24h", Label: "The last 24 hours"},
	{Value: "72h", Label: "The last 3 days"}, {Value: "168h", Label: "The last 7 days"},
	{Value: RecoverAt, Label: "Since a time of your choice"},
}

// RecoverAt is the span that takes the time from the other field.
const RecoverAt = "at"
