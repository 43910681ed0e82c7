package views

import (
	"net/url"
	"time"

	"umg/views/ui"
)

const (
	requestsPath  = "/console/requests"
	requestsIntro = "Every call with what came of it and what it cost, newest first. What was asked and answered is never kept."
)

// RequestLog is the list of an account's calls.
type RequestLog struct {
	Shell
	Query    RequestQuery
	Choices  UsageChoices
	Requests []LoggedRequest
	Next     string // where the next page begins; empty on the last
	Problem  string // why nothing could be looked for
	Failure  *Trouble
}

// LoggedRequest is one call with all that the log says of it.
type LoggedRequest struct {
	Request

	KeyID              string
	Provider, Upstream string
	Finish, Reason     string
	EndUser            string
}

// RequestPath is the address of a call's page.
func RequestPath(id string) string { return requestsPath + "/" + url.PathEscape(id) }

func (r Request) path() string { return RequestPath(r.ID) }

// isVideo reports whether the call is a video job, which has a page of its own.
func (r Request) isVideo() bool { return r.Style == string(videosStyle) }

// RequestQuery says which calls are listed. It is the address of the page.
type RequestQuery struct {
	From, To time.Time // zero for no bound; To is not included
	Zone     string    // in which moments without one are meant and shown
	Model, KeyID, Style, Reason, Outcome,
	EndUser, Transaction, Search string
	After string // where the page begins
}

const (
	momentForm  = "2006-01-02T15:04"
	momentFormZ = momentForm + "Z"
)

var outcomeOptions = []ui.Option{
	{Value: "succeeded", Label: "Answered"}, {Value: "failed", Label: "Failed"}, {Value: "cut", Label: "Cut off"},
	{Value: "timed_out", Label: "Timed out"}, {Value: "client_left", Label: "You disconnected"},
}

// ParseRequestQuery reads an address; what cannot be meant is left out.
func ParseRequestQuery(values url.Values) RequestQuery {
	q := RequestQuery{
		Zone: zoneName(values.Get("tz")), Model: filterText(values.Get("model")), KeyID: filterText(values.Get("key")),
		Style: filterText(values.Get("style")), Reason: filterText(values.Get("reason")), Outcome: filterText(values.Get("outcome")),
		EndUser: filterText(values.Get("end_user")), Transaction: filterText(values.Get("transaction")), Search: filterText(values.Get("q")),
		After: filterText(values.Get("after")),
	}
	q.From = momentOr(values.Get("from"), q.Zone, 0)
	q.To = momentOr(values.Get("to"), q.Zone, 1)
	return q
}

// momentOr reads a moment with its zone or in that of the query, or a day: its beginning, or that of a day later.
func momentOr(text, zone string, daysLater int) time.Time {
	t, err := time.Parse(momentFormZ, text)
	if err != nil {
		t, err = time.ParseInLocation(momentForm, text, location(zone))
	}
	if err != nil {
		if t, err = time.ParseInLocation(dayForm, text, location(zone)); err == nil {
			t = t.AddDate(0, 0, daysLater)
		}
	}
	if err != nil || t.Year() < 2000 || t.Year() > 9998 {
		return time.Time{}
	}
	return t.UTC()
}

// Path is the address of the list.
func (q RequestQuery) Path() string { return q.at(requestsPath) }

func (q RequestQuery) csvPath() string {
	q.After = ""
	return q.at(requestsPath + ".csv")
}

func (q RequestQuery) at(path string) string {
	values := url.Values{}
	for name, value := range map[string]string{
		"tz": q.Zone, "model": q.Model, "key": q.KeyID, "style": q.Style, "reason": q.Reason, "outcome": q.Outcome,
		"end_user": q.EndUser, "transaction": q.Transaction, "q": q.Search, "after": q.After,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, t := range map[string]time.Time{"from": q.From, "to": q.To} {
		if !t.IsZero() {
			values.Set(name, t.UTC().Format(momentFormZ))
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// shownMoment is a bound as the field of the form has it.
func (q RequestQuery) shownMoment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(location(q.Zone)).Format(momentForm)
}

func (q RequestQuery) after(cursor string) RequestQuery {
	q.After = cursor
	return q
}

// narrowed reports whether calls are left out.
func (q RequestQuery) narrowed() bool {
	return q.Model+q.KeyID+q.Style+q.Reason+q.Outcome+q.EndUser+q.Transaction+q.Search != "" || !q.From.IsZero() || !q.To.IsZero()
}

// tucked reports whether a filter is set that is not in the first lines.
func (q RequestQuery) tucked() bool {
	return q.Reason+q.EndUser+q.Transaction != "" || !q.From.IsZero() || !q.To.IsZero()
}

// backwards reports whether no call can be in the span.
func (q RequestQuery) backwards() bool {
	return !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To)
}

// all is the list without filters.
func (q RequestQuery) all() RequestQuery { return RequestQuery{Zone: q.Zone} }

func (l RequestLog) shown() string {
	text := counted(int64(len(l.Requests)), "request", "requests")
	if l.Next != "" || l.Query.After != "" {
		text += " on this page"
	}
	return text
}

// ended says how the answer ended, in the provider's words and ours.
func (r LoggedRequest) ended() string {
	switch {
	case r.ErrorCode != "":
		return r.cause()
	case r.Finish != "" && r.Finish != "stop":
		return r.Finish
	default:
		return ""
	}
}

// usedModel is the provider and its model, where these say more than what was asked for.
func (r LoggedRequest) usedModel() string {
	switch {
	case r.Provider == "":
		return "no provider"
	case r.Upstream == "":
		return r.Provider
	default:
		return r.Provider + " / " + r.Upstream
	}
}
