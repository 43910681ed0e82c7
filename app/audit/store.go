package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"umg/app/postgres"
)

// entryRow is an entry as the table holds it.
type entryRow struct {
	ID         string    `db:"id"`
	At         time.Time `db:"at"`
	Actor      Actor     `db:"actor"`
	ActorID    string    `db:"actor_id"`
	ActorName  string    `db:"actor_name"`
	Action     Action    `db:"action"`
	ObjectID   string    `db:"object_id"`
	ObjectName string    `db:"object_name"`
	Changes    []byte    `db:"changes"`
	IP         string    `db:"ip"`
	Agent      string    `db:"agent"`
	RequestID  string    `db:"request_id"`

	changes []Change
}

func (r entryRow) entry() (Entry, error) {
	e := Entry{
		ID: r.ID, At: r.At, Actor: r.Actor, ActorID: r.ActorID, ActorName: r.ActorName, Action: r.Action, Object: r.ObjectID,
		Name: r.ObjectName, IP: r.IP, Agent: r.Agent, RequestID: r.RequestID,
	}
	if err := json.Unmarshal(r.Changes, &e.Changes); err != nil {
		return Entry{}, fmt.Errorf("audit: the changes of %s: %w", r.ID, err)
	}
	return e, nil
}

// insert adds a row, with the name the actor has now.
func insert(ctx context.Context, q postgres.Queryer, accountID string, r entryRow) error {
	changes, err := json.Marshal(r.changes)
	if err != nil {
		return err
	}
	if r.changes == nil {
		changes = []byte("[]")
	}
	return postgres.Exec(ctx, q, `
		insert into audit_entries (id, account_id, at, actor, actor_id, actor_name, action, object_id, object_name, changes,
			ip, agent, request_id)
		values ($1, $2, $3, $4, $5, coalesce(
			case $4 when 'user' then (select email from users where id = $5)
				when 'key' then (select name from api_keys where id = $5 and account_id = $2) end, ''),
			$6, $7, $8, $9, $10, $11, $12)`,
		r.ID, accountID, r.At, r.Actor, r.ActorID, r.Action, r.ObjectID, r.ObjectName, string(changes), r.IP, r.Agent, r.RequestID)
}

// list reads a page and one entry more, which tells whether there is another page.
func list(ctx context.Context, q postgres.Queryer, accountID string, f Filter) ([]Entry, error) {
	where, args := []string{"account_id = $1"}, []any{accountID}
	narrow := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	switch {
	case strings.HasSuffix(string(f.Action), "."):
		narrow("starts_with(action, $%d)", f.Action)
	case f.Action != "":
		narrow("action = $%d", f.Action)
	}
	if f.Actor != "" {
		narrow("actor_id = $%d", f.Actor)
	}
	if f.Object != "" {
		narrow("object_id = $%d", f.Object)
	}
	if !f.From.IsZero() {
		narrow("at >= $%d", f.From)
	}
	if !f.To.IsZero() {
		narrow("at < $%d", f.To)
	}
	order := "desc"
	switch {
	case f.Before != "":
		order = "asc"
		narrow("id > $%d", f.Before)
	case f.After != "":
		narrow("id < $%d", f.After)
	}
	args = append(args, f.Limit+1)
	var rows []entryRow
	err := q.SelectContext(ctx, &rows, `
		select id, at, actor, actor_id, actor_name, action, object_id, object_name, changes, ip, agent, request_id
		from audit_entries where `+strings.Join(where, " and ")+fmt.Sprintf(` order by id %s limit $%d`, order, len(args)), args...)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(rows))
	for i, r := range rows {
		if entries[i], err = r.entry(); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// actors are those of the latest entries, each with the name of the last of theirs.
func actors(ctx context.Context, q postgres.Queryer, accountID string) ([]Who, error) {
	return postgres.Select[Who](ctx, q, `
		select actor, actor_id, actor_name from (
			select distinct on (actor_id) actor, actor_id, actor_name from (
				select id, actor, actor_id, actor_name from audit_entries where account_id = $1 order by id desc limit $2) latest
			where actor_id <> '' order by actor_id, id desc) one
		order by lower(actor_name), actor_id limit $3`, accountID, actorsFromMax, actorsMax)
}
