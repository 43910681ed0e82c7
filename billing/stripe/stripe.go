// Package stripe sells credit through Stripe: it opens hosted checkouts, charges saved cards when credit is low, and books
// payments, refunds and disputes. Make a Service with New, pass events to Webhook, and keep Run running. An event is only a
// hint: credit changes only after a request to Stripe confirmed it.
package stripe

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/billing"
)

// These are the limits of one top-up, in cents.
const (
	CentsMin = 500
	CentsMax = 1_000_000
)

const (
	secretBytesMin = 16
	textBytesMax   = 500 // This limits a reason and the message of a card's bank.
	listRowsMax    = 200
)

// Options configure a Service. Key may be empty: then no credit can be bought, and past purchases are still shown.
type Options struct {
	Key           string // Key is Stripe's secret API key.
	WebhookSecret string // WebhookSecret verifies events; with fewer than 16 characters the gateway accepts none.
	APIBase       string // APIBase is the address of a simulated Stripe; empty means the real one.
	BaseURL       string // BaseURL is the address of the console, to which checkouts return.

	Ledger *billing.Ledger
	Mail   mail.Sender
	Now    app.Clock
	IDs    app.IDs
	Log    *slog.Logger
	Waits  Waits // Zero values mean the defaults of production.
	// Settled counts the settlements of this process. While it stands still, the worker looks half as often. It may be nil.
	Settled func() int64
}

// Waits are the pauses of the worker, which tests shorten.
type Waits struct {
	Poll   time.Duration // Poll is the pause between two passes of the worker.
	First  time.Duration // First is the time until an open top-up is first refreshed.
	Claim  time.Duration // Claim is the time after which another replica takes over a top-up.
	Events time.Duration // Events is the pause between two reads of the list of events.
	Retry  time.Duration // Retry is the pause before a declined card is charged again.
}

// These are the waits of production.
const (
	pollDefault   = 5 * time.Second
	firstDefault  = 2 * time.Minute
	claimDefault  = time.Minute
	eventsDefault = time.Minute
	retryDefault  = 10 * time.Minute
)

func (w Waits) withDefaults() Waits {
	return Waits{
		Poll: cmp.Or(w.Poll, pollDefault), First: cmp.Or(w.First, firstDefault), Claim: cmp.Or(w.Claim, claimDefault),
		Events: cmp.Or(w.Events, eventsDefault), Retry: cmp.Or(w.Retry, retryDefault),
	}
}

// Service sells credit. It is safe for concurrent use, by any number of replicas over one store.
type Service struct {
	db     *sqlx.DB
	polls  *postgres.Repeated
	o      Options
	api    *client // The client is nil without a key.
	audit  *audit.Log
	counts counts
}

type counts struct {
	events, repeated, refused, ignored, mismatches, credited, refunds, disputes, charged, declined atomic.Int64
}

// Stats are counters since the start of the process. Mismatches should stay at zero: each is in the log.
type Stats struct {
	Events     int64 // Events had a valid signature.
	Repeated   int64 // Repeated events were already handled.
	Refused    int64 // Refused events had no valid signature.
	Ignored    int64 // Ignored events concern no object of this gateway.
	Mismatches int64 // Mismatches are payments that differ from their order; the gateway credited nothing.
	Credited   int64 // Credited counts top-ups.
	Refunds    int64 // Refunds counts top-ups whose money was refunded, in whole or in part.
	Disputes   int64 // Disputes counts top-ups whose money a dispute took back.
	Charged    int64 // Charged counts automatic charges of cards.
	Declined   int64 // Declined counts automatic charges that failed.
}

// New returns a Service over a migrated store.
func New(db *sqlx.DB, o Options) (*Service, error) {
	err := app.MissingOption("stripe.New", map[string]bool{
		"db": db != nil, "Options.Ledger": o.Ledger != nil, "Options.Mail": o.Mail != nil, "Options.Now": o.Now != nil,
		"Options.IDs.Now": o.IDs.Now != nil, "Options.IDs.Random": o.IDs.Random != nil, "Options.Log": o.Log != nil,
	})
	if err != nil {
		return nil, err
	}
	o.BaseURL, o.Waits = strings.TrimSuffix(o.BaseURL, "/"), o.Waits.withDefaults()
	if o.Settled == nil {
		o.Settled = func() int64 { return 0 }
	}
	s := &Service{db: db, polls: postgres.Repeat(db), o: o, audit: audit.New(db, o.Now, o.IDs)}
	if o.Key == "" {
		return s, nil
	}
	if err := checkAPIBase(o.APIBase); err != nil {
		return nil, err
	}
	if u, err := url.Parse(o.BaseURL); err != nil || u.Host == "" {
		return nil, fmt.Errorf("stripe: the base URL %q has no host, so a customer could not return from the payment page", o.BaseURL)
	}
	s.api = newClient(o.Key, o.APIBase)
	return s, nil
}

// checkAPIBase refuses to send the key over a network without encryption.
func checkAPIBase(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf("stripe: %q is not the URL of a payment service", base)
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("stripe: the payment service at %s must be asked over https", u.Host)
	}
	return nil
}

// Enabled reports whether credit can be bought.
func (s *Service) Enabled() bool { return s.api != nil }

// Receives reports whether the gateway accepts events. It requires a secret that cannot be guessed.
func (s *Service) Receives() bool { return s.api != nil && len(s.o.WebhookSecret) >= secretBytesMin }

// Stats reads the counters.
func (s *Service) Stats() Stats {
	c := &s.counts
	return Stats{
		Events: c.events.Load(), Repeated: c.repeated.Load(), Refused: c.refused.Load(), Ignored: c.ignored.Load(),
		Mismatches: c.mismatches.Load(), Credited: c.credited.Load(), Refunds: c.refunds.Load(), Disputes: c.disputes.Load(),
		Charged: c.charged.Load(), Declined: c.declined.Load(),
	}
}

func (s *Service) now() time.Time { return s.o.Now().UTC() }

// livemode is the livemode member that every object of the key has.
func (s *Service) livemode() bool {
	return strings.HasPrefix(s.o.Key, "sk_live_") || strings.HasPrefix(s.o.Key, "rk_live_")
}

func (s *Service) requireEnabled() error {
	if s.api != nil {
		return nil
	}
	return Disabled()
}

// Disabled is the error of a gateway that sells no credit.
func Disabled() *app.Error {
	return app.Errorf(app.NotFound, "payments_disabled",
		"Credit cannot be bought here: this gateway has no payment service. Ask its operator for credit.").Final()
}

// unavailable is the error that a person reads when Stripe is unavailable.
func unavailable(cause error) *app.Error {
	return app.Errorf(app.Unavailable, "payments_unavailable",
		"The payment service cannot be reached right now. Nothing was charged twice; try again in a minute.").
		Because(cause).After(unavailableRetry)
}

const unavailableRetry = 30 * time.Second
