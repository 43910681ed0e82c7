package webhook

import (
	"context"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
)

// writeAudit writes into the account's log what was done to an endpoint, in the transaction that does it.
func (s *Service) writeAudit(
	ctx context.Context, tx *sqlx.Tx, p app.Principal, action audit.Action, id, name string, changes []audit.Change,
) error {
	return s.audit.Write(ctx, tx, p, audit.Event{Action: action, Object: id, Name: name, Changes: changes})
}

// auditUpdate writes down what an update changed. Switching an endpoint on or off is an action of its own.
func (s *Service) auditUpdate(ctx context.Context, tx *sqlx.Tx, p app.Principal, was, is Endpoint) error {
	if changes := fieldChanges(was, is); len(changes) > 0 {
		if err := s.writeAudit(ctx, tx, p, "webhook.updated", is.ID, is.Name, changes); err != nil {
			return err
		}
	}
	switch {
	case was.Status == is.Status:
		return nil
	case is.Status == Enabled:
		return s.writeAudit(ctx, tx, p, "webhook.enabled", is.ID, is.Name, nil)
	}
	return s.writeAudit(ctx, tx, p, "webhook.disabled", is.ID, is.Name, nil)
}

// fieldChanges are the fields of an endpoint that differ. A query in an address may be a secret of the receiver, so the
// log says only that it is there.
func fieldChanges(was, is Endpoint) []audit.Change {
	changes := audit.Changed(audit.Change{Field: "name", From: was.Name, To: is.Name})
	if was.URL != is.URL {
		changes = append(changes, audit.Change{Field: "url", From: withoutQuery(was.URL), To: withoutQuery(is.URL)})
	}
	return append(changes, audit.Changed(
		audit.Change{Field: "event_types", From: strings.Join(was.EventTypes, ", "), To: strings.Join(is.EventTypes, ", ")})...)
}

func withoutQuery(url string) string {
	before, _, found := strings.Cut(url, "?")
	if found {
		before += "?…"
	}
	return before
}

func rotated(oldUntil *time.Time) []audit.Change {
	text := "ended at once"
	if oldUntil != nil {
		text = "good until " + oldUntil.UTC().Format(time.RFC3339)
	}
	return []audit.Change{{Field: "previous_secret", To: text}}
}
