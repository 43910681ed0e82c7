package webhook

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

const (
	recoverBatchMax  = 1000
	recoverRoundsMax = 10
	attemptsMax      = 100 // One delivery has at most this many attempts, however often it is sent again.
	testsMax         = 16  // This many test events may be sent at once.
	// One account may send this many test events at once, so that its slow receivers do not keep other accounts from testing.
	testsByOneMax  = 4
	testsMinuteMax = 60 // One account may send at most this many test events a minute.
	testRetry      = 5 * time.Second
	frozenWords    = "This account is frozen: nothing is sent in its name. Contact support."
)

// State is how far a delivery has come.
type State string

// These are the states of a delivery.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"
	Cancelled State = "cancelled" // The endpoint was disabled or deleted.
)

// States lists them in the order they are shown.
func States() []State { return []State{Pending, Delivered, Failed, Cancelled} }

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID           string     `db:"id"`
	EndpointID   string     `db:"endpoint_id"`
	EndpointName string     `db:"endpoint_name"`
	EventID      string     `db:"event_id"` // EventID is also the webhook-id of each attempt.
	EventType    string     `db:"event_type"`
	ObjectID     string     `db:"object_id"`
	State        State      `db:"state"`
	Attempts     int        `db:"attempts"`
	NextAt       *time.Time `db:"due_at"`      // NextAt is the time of the next attempt, or nil if there is none.
	LastStatus   int        `db:"last_status"` // LastStatus is zero if the last attempt had no answer, or there was no attempt.
	LastError    string     `db:"last_error"`
	CreatedAt    time.Time  `db:"created_at"`
	UpdatedAt    time.Time  `db:"updated_at"`
}

// Attempt is one of a delivery's exchanges.
type Attempt struct {
	Number int
	Exchange
}

// DeliveryDetail is a delivery with what was sent and answered, the newest attempt first.
type DeliveryDetail struct {
	Delivery
	Body []byte // Body is the signed body.
	Log  []Attempt
}

// DeliveryQuery narrows a list of deliveries; zero values do not.
type DeliveryQuery struct {
	EndpointID string
	State      State
	EventType  string
	ObjectID   string
	After      string // The page begins after the delivery with this id.
	Limit      int
}

// DeliveryPage is a part of a list of deliveries, the newest first.
type DeliveryPage struct {
	Deliveries []Delivery
	More       bool
}

// Deliveries lists what was sent, or is to be. An endpoint that is not the account's has none.
func (s *Service) Deliveries(ctx context.Context, p app.Principal, q DeliveryQuery) (DeliveryPage, error) {
	switch {
	case q.State != "" && !slices.Contains(States(), q.State):
		return DeliveryPage{}, wrongFilter("state", "state must be pending, delivered, failed or cancelled.")
	case q.EventType != "" && !slices.Contains(Types(), q.EventType):
		return DeliveryPage{}, wrongFilter("event_type", "event_type must be one of "+strings.Join(Types(), ", ")+".")
	case q.After != "" && !validID("whd", q.After):
		return DeliveryPage{}, wrongFilter("after", "after must be the id of a delivery.")
	case q.EndpointID != "" && !validID("whe", q.EndpointID) || strings.Trim(q.ObjectID, objectChars) != "":
		return DeliveryPage{}, nil
	}
	limit := pageSize(q.Limit)
	q.Limit = limit + 1
	list, err := deliveriesOf(ctx, s.db, p.AccountID, q)
	if err != nil {
		return DeliveryPage{}, postgres.StoreError("webhook: list deliveries", err)
	}
	return DeliveryPage{Deliveries: list[:min(len(list), limit)], More: len(list) > limit}, nil
}

// objectChars are those that ids of objects are made of.
const objectChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

func wrongFilter(param, message string) error {
	return app.Errorf(app.Invalid, "invalid_request_error", "%s", message).At(param)
}

// Delivery returns one delivery with its attempts.
func (s *Service) Delivery(ctx context.Context, p app.Principal, id string) (DeliveryDetail, error) {
	if !validID("whd", id) {
		return DeliveryDetail{}, errNoDelivery()
	}
	d, body, err := deliveryByID(ctx, s.db, p.AccountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return DeliveryDetail{}, errNoDelivery()
	}
	if err != nil {
		return DeliveryDetail{}, postgres.StoreError("webhook: read a delivery", err)
	}
	log, err := attemptsOf(ctx, s.db, p.AccountID, id)
	if err != nil {
		return DeliveryDetail{}, postgres.StoreError("webhook: read attempts", err)
	}
	for i := range log {
		log[i].RequestBody = body
	}
	return DeliveryDetail{Delivery: d, Body: body, Log: log}, nil
}

// Resend sends a delivery again at once, whatever came of it before, with the same webhook-id; when that fails, it is
// tried again as a new event is. One that is on its way already is only hastened.
func (s *Service) Resend(ctx context.Context, p app.Principal, id string) (Delivery, error) {
	found, err := s.Delivery(ctx, p, id)
	if err != nil {
		return Delivery{}, err
	}
	e, err := s.Get(ctx, p, found.EndpointID)
	if err != nil {
		return Delivery{}, err
	}
	if e.Status == Disabled {
		return Delivery{}, errDisabled()
	}
	if found.Attempts >= attemptsMax {
		return Delivery{}, app.Errorf(app.Invalid, "webhook_attempts_exhausted",
			"This event was sent %d times, which is the limit for one delivery. GET /v1/webhook_events has what it says.", attemptsMax)
	}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := endPause(ctx, tx, p.AccountID, e.ID); err != nil {
			return err
		}
		return requeue(ctx, tx, p.AccountID, id, s.now())
	})
	if err != nil {
		return Delivery{}, postgres.StoreError("webhook: send a delivery again", err)
	}
	found, err = s.Delivery(ctx, p, id)
	return found.Delivery, err
}

// Recovered says what Recover did.
type Recovered struct {
	Requeued int  // Requeued deliveries had failed or were cancelled.
	Created  int  // Created deliveries had never been queued for the endpoint.
	More     bool // More means that another call with the same time finds more.
}

// Recover sends an endpoint every event since a time that it wants and was not delivered: each once, however often it
// is called. Events older than the retention are gone.
func (s *Service) Recover(ctx context.Context, p app.Principal, endpointID string, since time.Time) (Recovered, error) {
	e, err := s.Get(ctx, p, endpointID)
	if err != nil {
		return Recovered{}, err
	}
	now := s.now()
	switch {
	case since.IsZero():
		return Recovered{}, missing("since", "since is required: the time, in seconds since 1970, from which on events are sent again.")
	case since.After(now):
		return Recovered{}, wrongFilter("since", "since must be in the past.")
	case e.Status == Disabled:
		return Recovered{}, errDisabled()
	}
	since = since.UTC()
	if oldest := now.Add(-retention); since.Before(oldest) {
		since = oldest
	}
	var r Recovered
	for range recoverRoundsMax {
		requeued, created, err := s.recoverSome(ctx, p.AccountID, e, since, now)
		if err != nil {
			return r, postgres.StoreError("webhook: send events again", err)
		}
		r.Requeued, r.Created = r.Requeued+requeued, r.Created+created
		if r.More = requeued == recoverBatchMax || created == recoverBatchMax; !r.More {
			break
		}
	}
	return r, nil
}

func (s *Service) recoverSome(ctx context.Context, accountID string, e Endpoint, since, now time.Time) (requeued, created int, err error) {
	if requeued, err = requeueSince(ctx, s.db, accountID, e.ID, since, now); err != nil {
		return 0, 0, err
	}
	events, err := eventsMissing(ctx, s.db, accountID, e.ID, e.EventTypes, since)
	if err != nil || len(events) == 0 {
		return requeued, 0, err
	}
	ids := make([]string, len(events))
	for i := range ids {
		ids[i] = s.o.IDs.New("whd")
	}
	return requeued, len(events), insertMissing(ctx, s.db, accountID, e.ID, ids, events, now)
}

// Test sends an event that says it is a test, waits for the answer and returns it. It is not tried again and not kept.
// Disabled endpoints can be tested as well, before they are enabled.
func (s *Service) Test(ctx context.Context, p app.Principal, endpointID, eventType string) (Exchange, error) {
	if !validID("whe", endpointID) {
		return Exchange{}, errNoEndpoint()
	}
	if eventType == "" {
		return Exchange{}, missing("event_type", "event_type is required: one of "+strings.Join(Types(), ", ")+".")
	}
	if !slices.Contains(Types(), eventType) {
		return Exchange{}, wrongFilter("event_type", "event_type must be one of "+strings.Join(Types(), ", ")+".")
	}
	t, err := targetOf(ctx, s.db, p.AccountID, endpointID)
	if errors.Is(err, sql.ErrNoRows) {
		return Exchange{}, errNoEndpoint()
	}
	if err != nil {
		return Exchange{}, postgres.StoreError("webhook: read an endpoint", err)
	}
	if t.FrozenAt != nil {
		return Exchange{}, app.Errorf(app.Forbidden, "account_frozen", frozenWords).Final()
	}
	end, may := s.beginTest(p.AccountID, endpointID)
	if !may {
		return Exchange{}, app.Errorf(app.Exhausted, "rate_limit_exceeded",
			"A test event is on its way to this endpoint, or many were sent to others. Try again in a moment.").After(testRetry)
	}
	defer end()
	id := s.o.IDs.New("evt_test")
	body, err := eventBody(id, eventType, s.o.IDs.New("video_test"), s.now())
	if err != nil {
		return Exchange{}, err
	}
	return s.post(ctx, t, id, body)
}

// testShare are the test events of an account.
type testShare struct {
	since time.Time // Since is the start of the minute in which sent were sent.
	sent  int
	now   int // Now counts the test events in progress.
}

// beginTest counts a test event that is sent now, unless there are too many. The caller calls end after it.
func (s *Service) beginTest(accountID, endpointID string) (end func(), may bool) {
	now := s.now()
	s.testsMu.Lock()
	defer s.testsMu.Unlock()
	maps.DeleteFunc(s.shares, func(_ string, t testShare) bool { return t.now == 0 && now.Sub(t.since) >= time.Minute })
	t := s.shares[accountID]
	if now.Sub(t.since) >= time.Minute {
		t.since, t.sent = now, 0
	}
	if s.tests[endpointID] || len(s.tests) >= testsMax || t.now >= testsByOneMax || t.sent >= testsMinuteMax {
		return nil, false
	}
	t.now, t.sent = t.now+1, t.sent+1
	s.tests[endpointID], s.shares[accountID] = true, t
	return func() {
		s.testsMu.Lock()
		defer s.testsMu.Unlock()
		delete(s.tests, endpointID)
		t := s.shares[accountID]
		t.now--
		s.shares[accountID] = t
	}, true
}

func errNoDelivery() error {
	return app.Errorf(app.NotFound, "webhook_delivery_not_found", "There is no such delivery. Deliveries are kept for 30 days.")
}

func errDisabled() error {
	return app.Errorf(app.Invalid, "webhook_endpoint_disabled",
		"This endpoint is disabled. Enable it first: POST /v1/webhook_endpoints/{id} with status enabled.").At("status")
}
