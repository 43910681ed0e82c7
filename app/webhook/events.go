package webhook

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// Recorded is an event of an account, whether or not any endpoint wants it.
type Recorded struct {
	ID        string    `db:"id"` // ID is also the webhook-id of its deliveries.
	Type      string    `db:"type"`
	ObjectID  string    `db:"object_id"`
	Body      []byte    `db:"body"` // Body is the signed body.
	CreatedAt time.Time `db:"created_at"`
}

// EventQuery narrows a list of events; zero values do not.
type EventQuery struct {
	Type  string
	Since time.Time
	After string // The page begins after the event with this id.
	Limit int
}

// EventPage is a part of a list of events, the oldest first.
type EventPage struct {
	Events []Recorded
	More   bool
}

// Events lists what happened, from the oldest event that is kept. An event may become visible some seconds after younger
// ones, because it is visible only when its transaction has committed. A caller who follows events reads a little of the
// past again, and skips the ids it knows.
func (s *Service) Events(ctx context.Context, p app.Principal, q EventQuery) (EventPage, error) {
	if q.Type != "" {
		if err := checkTypes([]string{q.Type}); err != nil {
			return EventPage{}, wrongFilter("type", "type must be one of "+strings.Join(Types(), ", ")+".")
		}
	}
	if q.After != "" {
		known := validID("evt", q.After)
		if known {
			var err error
			if known, err = knownEvent(ctx, s.db, p.AccountID, q.After); err != nil {
				return EventPage{}, postgres.StoreError("webhook: find an event", err)
			}
		}
		if !known {
			return EventPage{}, wrongFilter("after", "after must be the id of an event of this account. Events are kept for 30 days.")
		}
	}
	limit := pageSize(q.Limit)
	q.Limit = limit + 1
	list, err := eventsOf(ctx, s.db, p.AccountID, q)
	if err != nil {
		return EventPage{}, postgres.StoreError("webhook: list events", err)
	}
	return EventPage{Events: list[:min(len(list), limit)], More: len(list) > limit}, nil
}

// Secret is the key that the gateway signs events with and that a receiver verifies them with.
type Secret struct{ raw []byte }

// NewSecret draws a secret.
func NewSecret(random io.Reader) (Secret, error) {
	raw := make([]byte, secretBytes)
	_, err := io.ReadFull(random, raw)
	return Secret{raw}, err
}

// ParseSecret reads a secret as endpoints show it.
func ParseSecret(text string) (Secret, error) {
	coded, found := strings.CutPrefix(text, secretPrefix)
	raw, err := base64.StdEncoding.DecodeString(coded)
	if !found || err != nil || len(raw) < 16 || len(raw) > 64 {
		return Secret{}, errors.New("a secret is " + secretPrefix + " and 16 to 64 bytes in base64")
	}
	return Secret{raw}, nil
}

// String is the secret as endpoints show it.
func (s Secret) String() string { return shownSecret(s.raw) }

// Headers are those of a delivery, signed.
func (s Secret) Headers(id string, at time.Time, body []byte) []Header {
	return signedHeaders(id, at, body, [][]byte{s.raw})
}
