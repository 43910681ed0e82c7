package stripe

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	api "github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/webhook"

	"umg/app"
	"umg/app/postgres"
)

// These limits apply to an event.
const (
	// EventBytesMax is the size of the largest event that the gateway accepts.
	EventBytesMax = 64 << 10

	toleranceMax = 5 * time.Minute
	idBytesMax   = 255
)

// eventTypes are the events that may change a top-up or the card to charge. The gateway ignores all others.
var eventTypes = []string{
	"checkout.session.completed", "checkout.session.async_payment_succeeded", "checkout.session.async_payment_failed",
	"checkout.session.expired",
	"payment_intent.succeeded", "payment_intent.payment_failed", "payment_intent.canceled",
	"charge.refunded", "charge.refund.updated", "refund.created", "refund.updated", "refund.failed",
	"charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed", "charge.dispute.funds_withdrawn",
	"charge.dispute.funds_reinstated",
	"payment_method.attached", "payment_method.detached",
}

// eventRef contains the ids of the objects that an event is about. The gateway trusts nothing else in an event.
type eventRef struct {
	session, intent, customer, method string
}

// Webhook handles an event. Its signature must be valid and recent; the gateway then reads the objects from Stripe. An error
// of kind Invalid means a forgery or a mistake. Any other error means that Stripe must send the event again.
func (s *Service) Webhook(ctx context.Context, body []byte, signature string) error {
	if !s.Receives() {
		return app.Errorf(app.NotFound, "not_found", "This gateway takes no payment events.")
	}
	e, err := s.verify(body, signature)
	if err != nil {
		s.counts.refused.Add(1)
		return err
	}
	s.counts.events.Add(1)
	return s.handle(ctx, e)
}

// verify verifies the sender and the time of an event.
func (s *Service) verify(body []byte, signature string) (*api.Event, error) {
	refused := app.Errorf(app.Invalid, "invalid_signature", "The event is not signed as it must be.")
	if len(body) > EventBytesMax {
		return nil, app.Errorf(app.Invalid, "invalid_event", "An event has at most %d bytes.", EventBytesMax)
	}
	if !s.isRecent(signature) {
		return nil, refused
	}
	if err := webhook.ValidatePayloadIgnoringTolerance(body, signature, s.o.WebhookSecret); err != nil {
		return nil, refused.Because(err)
	}
	e, err := webhook.ConstructEventWithOptions(body, signature, s.o.WebhookSecret,
		// The gateway checks the time with its own clock.
		webhook.ConstructEventOptions{IgnoreTolerance: true, IgnoreAPIVersionMismatch: true})
	if err != nil || !validID(e.ID) || e.Data == nil {
		return nil, app.Errorf(app.Invalid, "invalid_event", "The body is not an event.").Because(err)
	}
	return &e, nil
}

// isRecent reports whether the signature has exactly one time, which is recent. It stops replays of recorded events.
func (s *Service) isRecent(signature string) bool {
	stamps := 0
	for part := range strings.SplitSeq(signature, ",") {
		value, ok := strings.CutPrefix(part, "t=")
		if !ok {
			continue
		}
		stamps++
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || s.now().Sub(time.Unix(seconds, 0)).Abs() > toleranceMax {
			return false
		}
	}
	return stamps == 1
}

// handle processes an event once. It returns an error only when another attempt may succeed.
func (s *Service) handle(ctx context.Context, e *api.Event) error {
	if !slices.Contains(eventTypes, string(e.Type)) || e.Livemode != s.livemode() || e.Account != "" {
		s.counts.ignored.Add(1)
		return nil
	}
	var known bool
	err := s.db.GetContext(ctx, &known, `select exists (select from payment_events where id = $1)`, e.ID)
	if err != nil {
		return postgres.StoreError("stripe: look for an event", err)
	}
	if known {
		s.counts.repeated.Add(1)
		return nil
	}
	topupID, err := s.refreshObjects(ctx, refsOf(e))
	_, wrong := errors.AsType[amountMismatch](err)
	switch {
	case wrong && errors.Is(err, errReported): // The mismatch is already in the log.
	case wrong:
		s.reportMismatch(topupRow{ID: topupID}, err)
	case errors.Is(err, errMissing):
		s.counts.ignored.Add(1)
	case err != nil:
		return postgres.StoreError("stripe: deal with an event", err)
	}
	_, err = s.db.ExecContext(ctx, `
		insert into payment_events (id, type, topup_id, received_at) values ($1, $2, (select t.id from topups t where t.id = $3), $4)
		on conflict do nothing`, e.ID, string(e.Type), topupID, s.now())
	return postgres.StoreError("stripe: keep an event", err)
}

// refreshObjects asks Stripe about the objects of the event.
func (s *Service) refreshObjects(ctx context.Context, h eventRef) (topupID string, err error) {
	if h.customer != "" || h.method != "" {
		return "", s.refreshCard(ctx, h)
	}
	if topupID, err = s.locate(ctx, h); err != nil {
		return topupID, err
	}
	return topupID, s.refresh(ctx, topupID, h)
}

// refreshCard stores which card of a customer can be charged now.
func (s *Service) refreshCard(ctx context.Context, h eventRef) error {
	var customerID string
	err := s.db.GetContext(ctx, &customerID, `
		select customer_id from payment_accounts
		where customer_id is not null and (customer_id = $1 or $1 = '' and $2 <> '' and payment_method = $2) limit 1`, h.customer, h.method)
	if errors.Is(err, sql.ErrNoRows) {
		return errMissing
	}
	if err != nil {
		return postgres.StoreError("stripe: look for a customer", err)
	}
	card, err := s.api.card(ctx, customerID)
	if err != nil {
		return err
	}
	return postgres.StoreError("stripe: keep a card", setCard(ctx, s.db, customerID, card))
}

// refsOf extracts the ids that an event is about.
func refsOf(e *api.Event) eventRef {
	var about struct {
		ID       string          `json:"id"`
		Object   string          `json:"object"`
		Intent   json.RawMessage `json:"payment_intent"`
		Customer json.RawMessage `json:"customer"`
	}
	if json.Unmarshal(e.Data.Raw, &about) != nil {
		return eventRef{}
	}
	switch about.Object {
	case "checkout.session":
		return eventRef{session: validOrEmpty(about.ID)}
	case "payment_intent":
		return eventRef{intent: validOrEmpty(about.ID)}
	case "payment_method":
		return eventRef{customer: reference(about.Customer), method: validOrEmpty(about.ID)}
	}
	return eventRef{intent: reference(about.Intent)}
}

// reference parses an id, or an object with that id.
func reference(raw json.RawMessage) string {
	var id string
	if json.Unmarshal(raw, &id) == nil {
		return validOrEmpty(id)
	}
	var whole struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &whole) // A value that is not an object has no id.
	return validOrEmpty(whole.ID)
}

func validOrEmpty(id string) string {
	if validID(id) {
		return id
	}
	return ""
}

// validID rejects strings that are not Stripe ids, because ids become parts of paths and queries.
func validID(id string) bool {
	return id != "" && len(id) <= idBytesMax && strings.Trim(id, idChars) == ""
}

const idChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// locate finds the top-up that an event is about: by its stored ids, or else by the metadata of the session or payment at
// Stripe. It restores a top-up that the database lost in a restore from a backup.
func (s *Service) locate(ctx context.Context, h eventRef) (string, error) {
	if h.session == "" && h.intent == "" {
		return "", errMissing
	}
	var id string
	err := s.db.GetContext(ctx, &id, `
		select id from topups where $1 <> '' and session_id = $1 union select id from topups where $2 <> '' and intent_id = $2 limit 1`,
		h.session, h.intent)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, postgres.StoreError("stripe: look for a top-up", err)
	}
	found, err := s.topupInMetadata(ctx, h)
	if err != nil {
		return "", err
	}
	row, err := topupByID(ctx, s.db, found.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return found.ID, s.restore(ctx, found)
	}
	if err != nil {
		return "", postgres.StoreError("stripe: look for a top-up", err)
	}
	switch {
	case row.AccountID != found.AccountID:
		return row.ID, newMismatch("the payment was made for another account")
	case row.SessionID != "" && found.SessionID != "" && row.SessionID != found.SessionID:
		return row.ID, newMismatch("the top-up has another session")
	case row.IntentID != "" && found.IntentID != "" && row.IntentID != found.IntentID:
		return row.ID, newMismatch("the top-up has another payment")
	}
	return row.ID, nil
}

// topupInMetadata returns the top-up that the metadata of a session or a payment names.
func (s *Service) topupInMetadata(ctx context.Context, h eventRef) (topupRow, error) {
	var row topupRow
	var live bool
	var metadata map[string]string
	if h.session != "" {
		session, err := s.api.session(ctx, h.session)
		if err != nil {
			return row, err
		}
		row.SessionID, row.Cents, live, metadata = session.ID, session.AmountSubtotal, session.Livemode, session.Metadata
		if metadata[metaTopup] != session.ClientReferenceID {
			return row, newMismatch("a session's metadata and reference name two top-ups")
		}
	} else {
		intent, err := s.api.intent(ctx, h.intent)
		if err != nil {
			return row, err
		}
		row.IntentID, row.Cents, live, metadata = intent.ID, intent.Amount, intent.Livemode, intent.Metadata
		row.Auto = metadata[metaAuto] != ""
	}
	row.ID, row.AccountID = metadata[metaTopup], metadata[metaAccount]
	if row.ID == "" || row.AccountID == "" {
		return row, errMissing // The object belongs to another gateway.
	}
	if live != s.livemode() {
		return row, newMismatch("the payment is of the other mode, live or test")
	}
	return row, nil
}

// restore inserts a top-up that Stripe knows and the database lacks. Only an owner of the API key can have ordered it. A
// payment of a checkout session waits for the event of its session.
func (s *Service) restore(ctx context.Context, t topupRow) error {
	_, exists, err := frozen(ctx, s.db, t.AccountID)
	if err != nil {
		return postgres.StoreError("stripe: read an account", err)
	}
	if !exists || t.SessionID == "" && !t.Auto || !strings.HasPrefix(t.ID, "top_") || !validID(t.ID) {
		return errMissing
	}
	if t.Cents < CentsMin || t.Cents > CentsMax {
		return newMismatch("a payment of %d cents was never ordered", t.Cents)
	}
	t.State, t.IdempotencyKey, t.CreatedAt = Open, "restored:"+t.ID, s.now()
	t.DueAt = &t.CreatedAt
	if _, _, err := insertTopup(ctx, s.db, t, 0); err != nil {
		return postgres.StoreError("stripe: restore a top-up", err)
	}
	s.o.Log.Warn("lost top-up restored", "topup_id", t.ID, "account_id", t.AccountID)
	return nil
}
