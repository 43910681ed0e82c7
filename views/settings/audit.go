package settings

import (
	"net/url"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// AuditLog is the list of what was changed in an account.
type AuditLog struct {
	views.Shell
	Query   AuditQuery
	Kinds   []ui.Option // Kinds are kinds of objects, as prefixes of actions.
	Actors  []ui.Option // Actors are members and keys with recent entries.
	Entries []views.AuditEntry
	Newer   bool // Newer means that there are entries newer than those of the page.
	Older   bool
	Failure *views.LoadFailure
}

// AuditQuery says which entries are listed. It is the address of the page.
type AuditQuery struct {
	Kind     string // Kind is an action, or a prefix of actions.
	Actor    string
	Object   string
	From, To string // From and To are days in UTC, both included; empty for no bound.
	After    string // After is the id of the last entry of the previous page.
	Before   string // Before is the id of the first entry of the next page.
}

// ParseAuditQuery reads an address; what cannot be meant is left out.
func ParseAuditQuery(values url.Values) AuditQuery {
	q := AuditQuery{
		Kind: views.FilterText(values.Get("kind")), Actor: views.FilterText(values.Get("actor")), Object: views.FilterText(values.Get("object")),
		From: format.ValidDay(values.Get("from")), To: format.ValidDay(values.Get("to")), After: views.FilterText(values.Get("after")),
	}
	if q.After == "" {
		q.Before = views.FilterText(values.Get("before"))
	}
	return q
}

// Span is the moments of the query: from the first day's beginning to the end of the last.
func (q AuditQuery) Span() (from, to time.Time) { return format.DaySpan(q.From, q.To) }

// Path is the address of the list.
func (q AuditQuery) Path() string { return q.at(views.AuditPath) }

func (q AuditQuery) csvPath() string { return q.page("", "").at(views.AuditPath + ".csv") }

func (q AuditQuery) page(after, before string) AuditQuery {
	q.After, q.Before = after, before
	return q
}

func (q AuditQuery) at(path string) string {
	values := url.Values{}
	for name, value := range map[string]string{
		"kind": q.Kind, "actor": q.Actor, "object": q.Object, "from": q.From, "to": q.To, "after": q.After, "before": q.Before,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// narrowed reports whether entries are left out.
func (q AuditQuery) narrowed() bool { return q.Kind+q.Actor+q.Object+q.From+q.To != "" }

// backwards reports whether no day can be in the span.
func (q AuditQuery) backwards() bool { return q.From != "" && q.To != "" && q.From > q.To }

// shown says how many there are on the page.
func (l AuditLog) shown() string {
	text := format.CountOf(int64(len(l.Entries)), "entry", "entries")
	if l.Newer || l.Older {
		text += " on this page"
	}
	return text
}
