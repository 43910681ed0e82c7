package views

import (
	"net/url"
	"strings"
	"time"

	"umg/views/ui"
)

const auditPath = settingsPath + "/audit"

// AuditLog is the list of what was changed in an account.
type AuditLog struct {
	Shell
	Query   AuditQuery
	Kinds   []ui.Option // kinds of objects, as prefixes of actions
	Actors  []ui.Option // members and keys with recent entries
	Entries []AuditEntry
	Newer   bool // there are entries newer than those of the page
	Older   bool
	Failure *Trouble
}

// AuditEntry is one thing that was done.
type AuditEntry struct {
	ID        string
	At        time.Time
	Actor     string // one of the actor kinds below
	ActorID   string
	ActorName string
	Words     string // what was done, as words that follow the actor
	Object    string // id of the object, empty for the account itself
	Name      string
	Href      string // address of the object's page; empty without one
	IP        string
	Agent     string
	RequestID string
	Changes   []AuditChange
}

// AuditChange is one field with its values before and after, empty for none.
type AuditChange struct{ Field, From, To string }

// The kinds of actors.
const (
	AuditUser     = "user"
	AuditKey      = "key"
	AuditOperator = "operator"
	AuditSystem   = "system"
)

// who returns the display name of the actor.
func (e AuditEntry) who() string {
	switch {
	case e.Actor == AuditOperator:
		return "The operator of this server"
	case e.Actor == AuditSystem:
		return "The gateway"
	case e.ActorName != "":
		return e.ActorName
	case e.ActorID != "":
		return e.ActorID
	}
	return "Somebody"
}

// kind returns the kind of the actor, where the name does not show it.
func (e AuditEntry) kind() string {
	switch e.Actor {
	case AuditUser:
		return "Member"
	case AuditKey:
		return "API key"
	case AuditOperator:
		if strings.HasPrefix(e.Agent, operatorCommand) {
			return "By command"
		}
		return "In the console"
	}
	return "By itself"
}

// operatorCommand is what the programs are called by which operators do things, before the command.
const operatorCommand = "gateway "

// browsed reports whether it was done with a browser.
func (e AuditEntry) browsed() bool {
	return e.Agent != "" && e.Actor == AuditUser
}

// on is what it was done to, as people call it.
func (e AuditEntry) on() string {
	if e.Name != "" {
		return e.Name
	}
	return e.Object
}

// agent is the program it was done with. A browser tells more than people care for.
func (e AuditEntry) agent() string {
	if e.browsed() {
		return Device(e.Agent)
	}
	return e.Agent
}

// changed says how many fields differ.
func (e AuditEntry) changed() string {
	if len(e.Changes) == 1 {
		return "Details: " + e.Changes[0].label()
	}
	return "Details: " + counted(int64(len(e.Changes)), "field", "fields")
}

// label is the field's name as people read it.
func (c AuditChange) label() string { return strings.ReplaceAll(c.Field, "_", " ") }

// AuditQuery says which entries are listed. It is the address of the page.
type AuditQuery struct {
	Kind     string // an action, or a prefix of actions
	Actor    string
	Object   string
	From, To string // days in UTC, both included; empty for no bound
	After    string // id of the last entry of the previous page
	Before   string // id of the first entry of the next page
}

// ParseAuditQuery reads an address; what cannot be meant is left out.
func ParseAuditQuery(values url.Values) AuditQuery {
	q := AuditQuery{
		Kind: filterText(values.Get("kind")), Actor: filterText(values.Get("actor")), Object: filterText(values.Get("object")),
		From: dayOnly(values.Get("from")), To: dayOnly(values.Get("to")), After: filterText(values.Get("after")),
	}
	if q.After == "" {
		q.Before = filterText(values.Get("before"))
	}
	return q
}

// Span is the moments of the query: from the first day's beginning to the end of the last.
func (q AuditQuery) Span() (from, to time.Time) { return daySpan(q.From, q.To) }

// Path is the address of the list.
func (q AuditQuery) Path() string { return q.at(auditPath) }

func (q AuditQuery) csvPath() string { return q.page("", "").at(auditPath + ".csv") }

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
	text := counted(int64(len(l.Entries)), "entry", "entries")
	if l.Newer || l.Older {
		text += " on this page"
	}
	return text
}
