// Package webhook delivers events to customers' servers: it keeps their endpoints, signs events as Standard Webhooks
// 1.0.0 says, and delivers each at least once.
// A caller emits an event in the transaction that makes it true. The package adds the attempts and the schedule of
// retries; it does not interpret events.
package webhook

import (
	"cmp"
	"context"
	"crypto/cipher"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/audit"
	"umg/app/egress"
	"umg/app/postgres"
)

// These are the only event types.
const (
	VideoCompleted = "video.completed"
	VideoFailed    = "video.failed"
)

// Types lists the event types in the order they are shown.
func Types() []string { return []string{VideoCompleted, VideoFailed} }

// These are the waits of production.
const (
	attemptStandard = 15 * time.Second
	pollStandard    = 2 * time.Second
	claimStandard   = time.Minute
	sweepStandard   = 10 * time.Minute
)

// Event is something that happened to an object of an account.
type Event struct {
	AccountID string
	Type      string
	ObjectID  string // An object has at most one event of a type.
}

// Options configure the service. All but Notify, LockActor and Waits are required.
type Options struct {
	Egress *egress.Client
	Now    app.Clock
	IDs    app.IDs
	Random io.Reader           // Random is the source of secrets and nonces.
	Jitter func(n int64) int64 // Jitter returns a number from 0 to n-1.
	Log    *slog.Logger
	Key    [32]byte // Key encrypts secrets at rest.

	// Notify tells the people of an account about an endpoint, in the transaction that changes the endpoint. An error
	// means that the database failed, and rolls that transaction back. When Notify is nil, no notification is sent.
	Notify func(ctx context.Context, q postgres.Queryer, n Notice) error

	// LockActor fails when the session or key of a caller who makes an endpoint has ended since the request began, and keeps it from
	// ending before the transaction does. Nil never fails.
	LockActor func(ctx context.Context, q postgres.Queryer, p app.Principal) error
	Waits     Waits // Zero values mean the defaults of production.
}

// Notice is something that the people of an account should know about one of its endpoints.
type Notice struct {
	AccountID  string
	EndpointID string
	Name       string // Name is the name of the endpoint.
	Address    string // Address is the address of the endpoint without its query.
	Disabled   bool   // Disabled means that no more events are sent. Otherwise the endpoint is failing.
	Text       string // Text says in sentences what happened, without name and address.
}

// Waits are the limits and pauses of the worker, so that tests need not wait.
type Waits struct {
	Attempt time.Duration // Attempt bounds one attempt, from the look-up of the name to the end of the answer.
	Poll    time.Duration // Poll is the pause between two looks for due deliveries.
	Claim   time.Duration // After Claim another replica may claim the delivery. It is longer than an attempt by 20 s.
	Sweep   time.Duration // Sweep is the pause between two removals of old deliveries.
}

// Service keeps endpoints and deliveries. It is safe for concurrent use.
type Service struct {
	db       *sqlx.DB
	repeated *postgres.Repeated
	o        Options
	audit    *audit.Log
	seal     cipher.AEAD
	keyID    byte
	counts   counts

	testsMu sync.Mutex
	tests   map[string]bool      // The keys are endpoints with a test event in progress.
	shares  map[string]testShare // The keys are accounts.
}

// counts are what Stats reports.
type counts struct {
	events, attempts, delivered, failedAttempts, given, disabled, lost, running atomic.Int64
}

// New makes the service.
func New(db *sqlx.DB, o Options) (*Service, error) {
	err := app.MissingOption("webhook.New", map[string]bool{
		"db": db != nil, "Options.Egress": o.Egress != nil, "Options.Now": o.Now != nil, "Options.IDs.Now": o.IDs.Now != nil,
		"Options.IDs.Random": o.IDs.Random != nil, "Options.Random": o.Random != nil, "Options.Jitter": o.Jitter != nil,
		"Options.Log": o.Log != nil, "Options.Key": o.Key != [32]byte{},
	})
	if err != nil {
		return nil, err
	}
	o.Waits.Attempt = cmp.Or(o.Waits.Attempt, attemptStandard)
	o.Waits.Poll = cmp.Or(o.Waits.Poll, pollStandard)
	o.Waits.Claim = cmp.Or(o.Waits.Claim, claimStandard)
	o.Waits.Sweep = cmp.Or(o.Waits.Sweep, sweepStandard)
	if o.Waits.Claim <= o.Waits.Attempt+recordMax {
		return nil, fmt.Errorf("webhook: a claim of %s may end before an attempt of %s is written down", o.Waits.Claim, o.Waits.Attempt)
	}
	seal, keyID, err := newSeal(o.Key)
	if err != nil {
		return nil, err
	}
	return &Service{
		db: db, repeated: postgres.Repeat(db), o: o, audit: audit.New(db, o.Now, o.IDs), seal: seal, keyID: keyID,
		tests: map[string]bool{}, shares: map[string]testShare{},
	}, nil
}

// Emit records an event and a delivery for every endpoint that wants it, in the caller's transaction. Emitting the same
// type for the same object again changes nothing.
func (s *Service) Emit(ctx context.Context, q postgres.Queryer, e Event) error {
	if !slices.Contains(Types(), e.Type) || e.AccountID == "" || e.ObjectID == "" {
		return fmt.Errorf("webhook: no event of type %q about %q of account %q can be sent", e.Type, e.ObjectID, e.AccountID)
	}
	now, id := s.now(), s.o.IDs.New("evt")
	body, err := eventBody(id, e.Type, e.ObjectID, now)
	if err != nil {
		return err
	}
	fresh, err := insertEvent(ctx, q, id, e, body, now)
	if err != nil || !fresh {
		return postgres.StoreError("webhook: record an event", err)
	}
	s.counts.events.Add(1)
	endpoints, err := listenersOf(ctx, q, e.AccountID, e.Type)
	if err != nil || len(endpoints) == 0 {
		return postgres.StoreError("webhook: find who wants an event", err)
	}
	ids := make([]string, len(endpoints))
	for i := range ids {
		ids[i] = s.o.IDs.New("whd")
	}
	return postgres.StoreError("webhook: queue an event", insertDeliveries(ctx, q, e.AccountID, id, ids, endpoints, now))
}

// insertEvent reports false when the object already has an event of the type.
func insertEvent(ctx context.Context, q postgres.Queryer, id string, e Event, body []byte, now time.Time) (bool, error) {
	done, err := q.ExecContext(ctx, `
		insert into webhook_events (id, account_id, type, object_id, body, created_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (type, object_id) do nothing`, id, e.AccountID, e.Type, e.ObjectID, body, now)
	return changed(done, err)
}

// listenersOf returns the endpoints that want the events of a type.
func listenersOf(ctx context.Context, q postgres.Queryer, accountID, eventType string) (ids []string, err error) {
	err = q.SelectContext(ctx, &ids, `
		select id from webhook_endpoints
		where account_id = $1 and deleted_at is null and status = 'enabled' and $2 = any(event_types) order by id limit $3`,
		accountID, eventType, endpointsMax)
	return ids, err
}

// insertDeliveries queues an event for endpoints and wakes the workers when the transaction is done.
func insertDeliveries(
	ctx context.Context, q postgres.Queryer, accountID, eventID string, ids, endpoints []string, now time.Time,
) error {
	_, err := q.ExecContext(ctx, `
		with made as (
			insert into webhook_deliveries (id, account_id, event_id, endpoint_id, due_at, created_at, updated_at)
			select d.id, $1, $2, d.endpoint, $5, $5, $5 from unnest($3::text[], $4::text[]) as d (id, endpoint)
			on conflict (event_id, endpoint_id) do nothing)
		select pg_notify('webhooks', '')`,
		accountID, eventID, pq.StringArray(ids), pq.StringArray(endpoints), now)
	return err
}

// now is the clock's time with the precision of the store.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Microsecond) }

// payload is the body of an event. It is small on purpose: the receiver fetches the object itself.
type payload struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	CreatedAt int64  `json:"created_at"`
	Type      string `json:"type"`
	Data      object `json:"data"`
}

type object struct {
	ID string `json:"id"`
}

func eventBody(id, eventType, objectID string, at time.Time) ([]byte, error) {
	body, err := json.Marshal(payload{ID: id, Object: "event", CreatedAt: at.Unix(), Type: eventType, Data: object{ID: objectID}})
	if err != nil {
		return nil, fmt.Errorf("webhook: write an event: %w", err)
	}
	return body, nil
}
