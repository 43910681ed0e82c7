// Package audit keeps who changed what in an account, and from where: keys, members, money, webhooks, settings. An entry
// is written in the transaction of the change, so that there is no change without one and none without a change. It knows
// actors, actions, objects and the fields that changed. It does not know what an action does, and never sees a secret.
package audit

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

const (
	pageMax        = 100
	pagesMax       = 10_000 // An export has at most this many pages.
	nameRunesMax   = 200
	valueRunesMax  = 500
	agentRunesMax  = 300
	ipRunesMax     = 64
	changesMax     = 50
	filterBytesMax = 200
	actorsMax      = 100
	actorsFromMax  = 5000 // The filter takes its actors from this many of the latest entries.
)

// Action is what was done, as object.verb.
type Action string

// Actor is the kind of the actor of an entry.
type Actor string

// These are the kinds of actors.
const (
	ByUser     Actor = "user"
	ByKey      Actor = "key"
	ByOperator Actor = "operator" // This is an operator of the server.
	BySystem   Actor = "system"   // This is the gateway itself, for example when it switches off a leaked key.
)

// Change is one field of the object. Values are written as people read them; secrets are never among them.
type Change struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// Event is something that was done to one object.
type Event struct {
	Action   Action
	Object   string // Object is the id of the object. It is empty for the account itself.
	Name     string // Name is the name of the object at that time.
	Changes  []Change
	Operator bool // Operator means that an operator did it, by command or in the console.
}

// Entry is an event with its actor and its time.
type Entry struct {
	ID        string
	At        time.Time
	Actor     Actor
	ActorID   string // ActorID is the id of the user or key.
	ActorName string // ActorName is the e-mail address or key name at that time.
	Action    Action
	Object    string
	Name      string
	Changes   []Change
	IP        string
	Agent     string
	RequestID string
}

// Filter narrows a list. Zero members do not.
type Filter struct {
	Action Action // Action is a whole action, or an object with a dot for all its actions, such as "key.".
	Actor  string // Actor is the id of a user or key.
	Object string
	From   time.Time // From is inclusive.
	To     time.Time // To is exclusive.
	After  string    // After is the id of the last entry of the previous page. Older entries follow.
	Before string    // Before replaces After. It selects the entries just newer than the one with this id.
	Limit  int       // Limit is from 1 to 100; other values are brought into this range.
}

// Page is a part of the log, newest first. More says whether there are further entries in the direction of the list: older
// ones, or newer ones where the filter has a Before.
type Page struct {
	Entries []Entry
	More    bool
}

// Who is an actor, as their latest entry names them.
type Who struct {
	Kind Actor  `db:"actor"`
	ID   string `db:"actor_id"`
	Name string `db:"actor_name"`
}

// Log is the audit log of all accounts. It is safe for concurrent use.
type Log struct {
	db  *sqlx.DB
	now app.Clock
	ids app.IDs
	// pagesMax bounds an export.
	pagesMax int
}

// New opens the log. It panics when a required option is missing.
func New(db *sqlx.DB, now app.Clock, ids app.IDs) *Log {
	app.RequireOptions("audit.New", map[string]bool{
		"db": db != nil, "now": now != nil, "ids.Now": ids.Now != nil, "ids.Random": ids.Random != nil,
	})
	return &Log{db: db, now: now, ids: ids, pagesMax: pagesMax}
}

// Write adds an entry in the caller's transaction. A principal without user and key is the system.
func (l *Log) Write(ctx context.Context, q postgres.Queryer, p app.Principal, e Event) error {
	if !strings.Contains(string(e.Action), ".") || p.AccountID == "" || len(e.Changes) > changesMax {
		return fmt.Errorf("audit: %q is no action on an object of an account, or changes more than %d fields", e.Action, changesMax)
	}
	row := entryRow{
		ID: l.ids.New("audit"), At: l.now().UTC(), Action: e.Action,
		ObjectID: storableText(e.Object, nameRunesMax), ObjectName: storableText(e.Name, nameRunesMax),
		IP: storableText(p.From.IP, ipRunesMax), Agent: storableText(p.From.Agent, agentRunesMax),
		RequestID: storableText(p.From.RequestID, nameRunesMax), Actor: BySystem,
	}
	switch {
	case e.Operator:
		row.Actor = ByOperator
		if row.IP != "" { // Members read this log, and a browser's address would show them an operator's location.
			row.IP, row.Agent = "", ""
		}
	case p.UserID != "":
		row.Actor, row.ActorID = ByUser, p.UserID
	case p.KeyID != "":
		row.Actor, row.ActorID = ByKey, p.KeyID
	}
	for _, c := range e.Changes {
		row.changes = append(row.changes, Change{
			Field: c.Field, From: storableText(c.From, valueRunesMax), To: storableText(c.To, valueRunesMax),
		})
	}
	return postgres.StoreError("audit: write an entry", insert(ctx, q, p.AccountID, row))
}

// List is a page of an account's log, newest first.
func (l *Log) List(ctx context.Context, accountID string, f Filter) (Page, error) {
	f.Limit = min(max(f.Limit, 1), pageMax)
	for _, word := range []string{string(f.Action), f.Actor, f.Object, f.After, f.Before} {
		if len(word) > filterBytesMax || !app.Storable(word) {
			return Page{}, nil // The filter matches no entry, so the database is not queried.
		}
	}
	entries, err := list(ctx, l.db, accountID, f)
	if err != nil {
		return Page{}, postgres.StoreError("audit: list entries", err)
	}
	page := Page{Entries: entries}
	if len(entries) > f.Limit {
		page = Page{Entries: entries[:f.Limit], More: true}
	}
	if f.Before != "" {
		slices.Reverse(page.Entries)
	}
	return page, nil
}

// Pages walks an account's log from the newest entry that the filter takes to the oldest, a bounded page at a time. An
// error ends it, also the one that says that there are more entries than a walk may take.
func (l *Log) Pages(ctx context.Context, accountID string, f Filter) iter.Seq2[[]Entry, error] {
	f.After, f.Before, f.Limit = "", "", pageMax
	return func(yield func([]Entry, error) bool) {
		for range l.pagesMax {
			page, err := l.List(ctx, accountID, f)
			if !yield(page.Entries, err) || err != nil || !page.More {
				return
			}
			f.After = page.Entries[len(page.Entries)-1].ID
		}
		yield(nil, app.Errorf(app.Unprocessable, "export_too_long",
			"More than %d entries match. Narrow the time with from and to.", l.pagesMax*pageMax))
	}
}

// Actors are the members and keys who did something lately, by name.
func (l *Log) Actors(ctx context.Context, accountID string) ([]Who, error) {
	list, err := actors(ctx, l.db, accountID)
	return list, postgres.StoreError("audit: list actors", err)
}

// Deleted are those of the objects whose deletion is in an account's log: they have no page any more.
func (l *Log) Deleted(ctx context.Context, accountID string, objects []string) (map[string]bool, error) {
	found, err := postgres.Select[string](ctx, l.db, `
		select distinct object_id from audit_entries
		where account_id = $1 and object_id = any($2) and action like '%.deleted'`,
		accountID, pq.StringArray(objects[:min(len(objects), pageMax)]))
	if err != nil {
		return nil, postgres.StoreError("audit: look for deletions", err)
	}
	gone := make(map[string]bool, len(found))
	for _, id := range found {
		gone[id] = true
	}
	return gone, nil
}

// Changed lists what differs, from pairs of a field's values before and after.
func Changed(fields ...Change) []Change {
	var changes []Change
	for _, f := range fields {
		if f.From != f.To {
			changes = append(changes, f)
		}
	}
	return changes
}

// storableText makes s valid text of at most so many runes.
func storableText(s string, runesMax int) string {
	return app.Truncate(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), ""), runesMax)
}
