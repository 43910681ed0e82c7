package webhook

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

const (
	endpointsMax   = 20 // One account has at most this many endpoints.
	nameRunesMax   = 80
	pageSizeMax    = 100
	pageSizeUsual  = 20
	idChars        = 26 // A ULID has this many characters.
	oldSecretMax   = 24 * time.Hour
	cancelBatchMax = 5000
)

// Status says whether an endpoint is sent anything.
type Status string

// These are the statuses.
const (
	Enabled  Status = "enabled"
	Disabled Status = "disabled"
)

// An endpoint is disabled for one of these reasons.
const (
	ByUser     = "user"    // The owner disabled it.
	ByGone     = "gone"    // The endpoint answered 410.
	ByFailures = "failing" // Every attempt failed for five days.
)

// Endpoint is where an account wants to hear of events.
type Endpoint struct {
	ID             string     `db:"id"`
	Name           string     `db:"name"`
	URL            string     `db:"url"`
	EventTypes     []string   `db:"-"`
	SecretHint     string     `db:"secret_hint"`          // SecretHint is the last characters of the secret.
	PreviousUntil  *time.Time `db:"previous_valid_until"` // The previous secret also signs until PreviousUntil. A nil time means none.
	Status         Status     `db:"status"`
	DisabledReason string     `db:"disabled_reason"` // DisabledReason is ByUser, ByGone or ByFailures, or empty while enabled.
	DisabledAt     *time.Time `db:"disabled_at"`
	FailingSince   *time.Time `db:"failing_since"` // FailingSince is the first failure since the last success. It is nil after a success.
	CreatedAt      time.Time  `db:"created_at"`
	UpdatedAt      time.Time  `db:"updated_at"`
}

// EndpointSpec is what an endpoint is made of.
type EndpointSpec struct {
	Name       string
	URL        string
	EventTypes []string
}

// EndpointChange names what changes; nil leaves it as it is.
type EndpointChange struct {
	Name       *string
	URL        *string
	EventTypes *[]string
	Status     *Status
}

// Create makes an endpoint and returns it with its secret, which is never shown again.
func (s *Service) Create(ctx context.Context, p app.Principal, spec EndpointSpec) (Endpoint, string, error) {
	err := s.check(ctx, EndpointChange{Name: &spec.Name, URL: &spec.URL, EventTypes: &spec.EventTypes})
	if err != nil {
		return Endpoint{}, "", err
	}
	secret, err := s.newSecret()
	if err != nil {
		return Endpoint{}, "", err
	}
	now := s.now()
	e := Endpoint{
		ID: s.o.IDs.New("whe"), Name: spec.Name, URL: spec.URL, EventTypes: spec.EventTypes, SecretHint: hintOf(secret),
		Status: Enabled, CreatedAt: now, UpdatedAt: now,
	}
	box, err := s.sealSecret(e.ID, secret)
	if err != nil {
		return Endpoint{}, "", err
	}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if s.o.LockActor != nil {
			if err := s.o.LockActor(ctx, tx, p); err != nil {
				return err
			}
		}
		made, err := insertEndpoint(ctx, tx, p.AccountID, e, box)
		if err == nil && !made {
			return app.Errorf(app.Invalid, "webhook_endpoints_exhausted",
				"This account has %d webhook endpoints, which is the limit. Delete one that is no longer used.", endpointsMax)
		}
		if err != nil {
			return err
		}
		return s.writeAudit(ctx, tx, p, "webhook.created", e.ID, e.Name, fieldChanges(Endpoint{}, e))
	})
	if err != nil {
		return Endpoint{}, "", postgres.StoreError("webhook: create an endpoint", err)
	}
	return e, shownSecret(secret), nil
}

// EndpointPage is a part of the list of endpoints, the newest first.
type EndpointPage struct {
	Endpoints []Endpoint
	More      bool
}

// List returns the account's endpoints after the one with the id; an empty id begins with the newest. A limit of zero takes the usual one.
func (s *Service) List(ctx context.Context, p app.Principal, after string, limit int) (EndpointPage, error) {
	if after != "" && !validID("whe", after) {
		return EndpointPage{}, app.Errorf(app.Invalid, "invalid_request_error", "after must be the id of a webhook endpoint.").At("after")
	}
	limit = pageSize(limit)
	rows, err := endpointsOf(ctx, s.db, p.AccountID, after, limit+1)
	if err != nil {
		return EndpointPage{}, postgres.StoreError("webhook: list endpoints", err)
	}
	page := EndpointPage{More: len(rows) > limit}
	for _, r := range rows[:min(len(rows), limit)] {
		page.Endpoints = append(page.Endpoints, r.endpoint(s.now()))
	}
	return page, nil
}

// Get returns one endpoint.
func (s *Service) Get(ctx context.Context, p app.Principal, id string) (Endpoint, error) {
	if !validID("whe", id) {
		return Endpoint{}, errNoEndpoint()
	}
	r, err := endpointByID(ctx, s.db, p.AccountID, id)
	return s.found(r, err)
}

// Update changes an endpoint. One that is disabled loses what was on its way to it; Recover sends it later.
func (s *Service) Update(ctx context.Context, p app.Principal, id string, c EndpointChange) (Endpoint, error) {
	if _, err := s.Get(ctx, p, id); err != nil {
		return Endpoint{}, err // An unknown endpoint ends the call before its URL is looked up.
	}
	if err := s.check(ctx, c); err != nil {
		return Endpoint{}, err
	}
	now := s.now()
	var r endpointRow
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) (err error) {
		was, err := lockEndpoint(ctx, tx, p.AccountID, id)
		if err != nil {
			return err
		}
		if r, err = updateEndpoint(ctx, tx, p.AccountID, id, c, now); err != nil {
			return err
		}
		if err = s.auditUpdate(ctx, tx, p, was.endpoint(now), r.endpoint(now)); err != nil || r.Status == Enabled {
			return err
		}
		return cancelDeliveries(ctx, tx, id, now)
	})
	return s.found(r, err)
}

// Enable lets events go to an endpoint again, however it was disabled. What it missed is not sent: see Recover.
func (s *Service) Enable(ctx context.Context, p app.Principal, id string) (Endpoint, error) {
	return s.Update(ctx, p, id, EndpointChange{Status: new(Enabled)})
}

// Disable stops all that goes to an endpoint.
func (s *Service) Disable(ctx context.Context, p app.Principal, id string) (Endpoint, error) {
	return s.Update(ctx, p, id, EndpointChange{Status: new(Disabled)})
}

// Delete removes an endpoint with its secrets. Nothing is sent to it any more.
func (s *Service) Delete(ctx context.Context, p app.Principal, id string) error {
	if !validID("whe", id) {
		return errNoEndpoint()
	}
	now := s.now()
	return postgres.StoreError("webhook: delete an endpoint", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		name, err := removeEndpoint(ctx, tx, p.AccountID, id, now)
		if errors.Is(err, sql.ErrNoRows) {
			return errNoEndpoint()
		}
		if err != nil {
			return err
		}
		if err := s.writeAudit(ctx, tx, p, "webhook.deleted", id, name, nil); err != nil {
			return err
		}
		return cancelDeliveries(ctx, tx, id, now)
	}))
}

// Rotate gives an endpoint a new secret and returns it, once. With keepOld the gateway also signs with the old secret
// for 24 hours, so that the customer can change the receiver in that time.
func (s *Service) Rotate(ctx context.Context, p app.Principal, id string, keepOld bool) (Endpoint, string, error) {
	if !validID("whe", id) {
		return Endpoint{}, "", errNoEndpoint()
	}
	secret, err := s.newSecret()
	if err != nil {
		return Endpoint{}, "", err
	}
	box, err := s.sealSecret(id, secret)
	if err != nil {
		return Endpoint{}, "", err
	}
	now := s.now()
	var until *time.Time
	if keepOld {
		until = new(now.Add(oldSecretMax))
	}
	var r endpointRow
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) (err error) {
		if r, err = rotateSecret(ctx, tx, p.AccountID, id, box, hintOf(secret), until, now); err != nil {
			return err
		}
		return s.writeAudit(ctx, tx, p, "webhook.rotated", id, r.Name, rotated(until))
	})
	e, err := s.found(r, err)
	if err != nil {
		return Endpoint{}, "", err
	}
	return e, shownSecret(secret), nil
}

// found turns a row into an endpoint, and no row into the error for an unknown one.
func (s *Service) found(r endpointRow, err error) (Endpoint, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return Endpoint{}, errNoEndpoint()
	}
	if err != nil {
		return Endpoint{}, postgres.StoreError("webhook: read an endpoint", err)
	}
	return r.endpoint(s.now()), nil
}

// check says what is wrong with the fields that are given. The URL comes last, as it asks the network.
func (s *Service) check(ctx context.Context, c EndpointChange) error {
	if c.Name != nil {
		if err := checkName(*c.Name); err != nil {
			return err
		}
	}
	if c.EventTypes != nil {
		if err := checkTypes(*c.EventTypes); err != nil {
			return err
		}
	}
	if c.Status != nil && *c.Status != Enabled && *c.Status != Disabled {
		return app.Errorf(app.Invalid, "invalid_request_error", "status must be enabled or disabled.").At("status")
	}
	if c.URL == nil {
		return nil
	}
	if *c.URL == "" {
		return missing("url", "url is required: the https address that events are sent to.")
	}
	if err := s.o.Egress.Check(ctx, *c.URL); err != nil {
		if ours, ok := errors.AsType[*app.Error](err); ok {
			return ours.At("url")
		}
		return err
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return missing("name", "name is required: 1 to 80 characters that tell this endpoint from the others.")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.TrimSpace(name) == "" ||
		utf8.RuneCountInString(name) > nameRunesMax:
		return app.Errorf(app.Invalid, "invalid_request_error",
			"name must have 1 to %d characters, not only spaces and no control characters.", nameRunesMax).At("name")
	}
	return nil
}

func checkTypes(types []string) error {
	if len(types) == 0 {
		return missing("event_types", "event_types is required: one or more of "+strings.Join(Types(), ", ")+".")
	}
	for i, t := range types {
		if !slices.Contains(Types(), t) || slices.Contains(types[:i], t) {
			return app.Errorf(app.Invalid, "invalid_request_error",
				"event_types must list each of %s at most once and nothing else.", strings.Join(Types(), ", ")).At("event_types")
		}
	}
	return nil
}

func missing(param, message string) error {
	e := app.Errorf(app.Invalid, "invalid_request_error", "%s", message).At(param)
	e.Missing = true
	return e
}

func errNoEndpoint() error {
	return app.Errorf(app.NotFound, "webhook_endpoint_not_found",
		"There is no such webhook endpoint. GET /v1/webhook_endpoints lists those of this account.")
}

// validID reports whether s could be an id of the kind, so that nothing else reaches the store.
func validID(prefix, s string) bool {
	rest, found := strings.CutPrefix(s, prefix+"_")
	return found && len(rest) == idChars && strings.Trim(rest, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}

func pageSize(limit int) int {
	if limit == 0 {
		return pageSizeUsual
	}
	return min(max(limit, 1), pageSizeMax)
}
