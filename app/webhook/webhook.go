// Package webhook tells customers' servers what happened: it keeps their endpoints, signs events as Standard Webhooks
// 1.0.0 says, and delivers each at least once. It knows endpoints, secrets, attempts and the schedule of retries. It does
// not know what an event means; whoever emits one does so in the transaction that makes it true.
package webhook

import (
	"context"

	"umg/app/postgres"
)

// The event types; service.md, Events: exactly these two.
const (
	VideoCompleted = "video.completed"
	VideoFailed    = "video.failed"
)

// Event is something that happened to an object of an account.
type Event struct {
	AccountID string
	Type      string
	ObjectID  string // unique with the type: an object has at most one event of a type
}

// Emit records an event and a delivery for every endpoint that wants it, in the caller's transaction. Emitting the same
// type for the same object again changes nothing.
func (s *Service) Emit(ctx context.Context, q postgres.Queryer, e Event) error {
	panic("webhook: not written yet")
}

// Service keeps endpoints and deliveries.
type Service struct{}
