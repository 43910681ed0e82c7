// Package stripe sells credit through the payment service: it opens hosted checkouts, charges saved cards when credit
// runs low, and credits, takes back and gives back what the payment service says was paid, refunded and disputed. It
// knows top-ups, the payment service's API and the events it sends. An event is only a hint: money moves after the
// payment service was asked. It does not know holds, leases or what credit is spent on.
package stripe

import (
	"errors"
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
	"umg/billing"
)

// Limits of what one top-up may be, in cents.
const (
	CentsMin = 500
	CentsMax = 1_000_000
)

const (
	secretBytesMin = 16
	textBytesMax   = 500 // of a reason, and of what a card's bank says
	listRowsMax    = 200
)

// Options of a Service. Key may be empty: then nothing can be bought, and what was is still shown.
type Options struct {
	Key           string // secret key of the payment service
	WebhookSecret string // that its events are signed with; shorter than 16 characters: none is taken
	APIBase       string // of a stand-in for the payment service; empty for the real one
	BaseURL       string // of the console, where people come back to

	Ledger *billing.Ledger
	Mail   mail.Sender
	Now    app.Clock
	IDs    app.IDs
	Log    *slog.Logger
	Waits  Waits // zero values take the defaults of production
}

// Waits are the pauses of the worker, so that tests need not wait.
type Waits struct {
	Poll   time.Duration // between two looks for what is due
	First  time.Duration // after which an open top-up is asked for the first time
	Claim  time.Duration // after which another replica takes a top-up over
	Events time.Duration // between two readings of the list of events
	Retry  time.Duration // after a card was refused, before it is charged again
}

// The waits of production.
const (
	pollStandard   = 5 * time.Second
	firstStandard  = 2 * time.Minute
	claimStandard  = time.Minute
	eventsStandard = time.Minute
	retryStandard  = 10 * time.Minute
)

func (w Waits) filled() Waits {
	for _, f := range []struct {
		wait     *time.Duration
		standard time.Duration
	}{
		{&w.Poll, pollStandard}, {&w.First, firstStandard}, {&w.Claim, claimStandard}, {&w.Events, eventsStandard}, {&w.Retry, retryStandard},
	} {
		if *f.wait <= 0 {
			*f.wait = f.standard
		}
	}
	return w
}

// Service sells credit. It is safe for concurrent use, by any number of replicas over one store.
type Service struct {
	db     *sqlx.DB
	o      Options
	api    *client // nil without a key
	audit  *audit.Log
	counts counts
}

type counts struct {
	events, repeated, refused, ignored, mismatches, credited, taken, charged, declined atomic.Int64
}

// Stats count what happened since the start of the process. Mismatches should stay at zero: each is in the log.
type Stats struct {
	Events     int64 // with a good signature
	Repeated   int64 // of them, dealt with before
	Refused    int64 // without a good signature
	Ignored    int64 // about nothing of ours
	Mismatches int64 // of what the payment service says and what was ordered; nothing was credited
	Credited   int64 // top-ups
	TakenBack  int64 // refunds and disputes booked
	Charged    int64 // cards, without their owner
	Declined   int64 // such charges that were refused
}

// New makes a Service over a migrated store.
func New(db *sqlx.DB, o Options) (*Service, error) {
	if db == nil || o.Ledger == nil || o.Mail == nil || o.Now == nil || o.IDs.Now == nil || o.IDs.Random == nil || o.Log == nil {
		return nil, errors.New("stripe: a store, a ledger, a mailer, a clock, identifiers and a log are required")
	}
	o.BaseURL, o.Waits = strings.TrimSuffix(o.BaseURL, "/"), o.Waits.filled()
	s := &Service{db: db, o: o, audit: audit.New(db, o.Now, o.IDs)}
	if o.Key == "" {
		return s, nil
	}
	if err := trusted(o.APIBase); err != nil {
		return nil, err
	}
	if u, err := url.Parse(o.BaseURL); err != nil || u.Host == "" {
		return nil, fmt.Errorf("stripe: the base URL %q has no host, so nobody could come back from paying", o.BaseURL)
	}
	s.api = newClient(o.Key, o.APIBase)
	return s, nil
}

// trusted refuses to send the key in the clear over a network.
func trusted(base string) error {
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

// Receives reports whether events are taken: not without a secret that cannot be guessed.
func (s *Service) Receives() bool { return s.api != nil && len(s.o.WebhookSecret) >= secretBytesMin }

// Stats reads the counters.
func (s *Service) Stats() Stats {
	c := &s.counts
	return Stats{
		Events: c.events.Load(), Repeated: c.repeated.Load(), Refused: c.refused.Load(), Ignored: c.ignored.Load(),
		Mismatches: c.mismatches.Load(), Credited: c.credited.Load(), TakenBack: c.taken.Load(), Charged: c.charged.Load(),
		Declined: c.declined.Load(),
	}
}

func (s *Service) now() time.Time { return s.o.Now().UTC() }

// livemode is what everything that belongs to the key says of itself.
func (s *Service) livemode() bool {
	return strings.HasPrefix(s.o.Key, "sk_live_") || strings.HasPrefix(s.o.Key, "rk_live_")
}

func (s *Service) needEnabled() error {
	if s.api != nil {
		return nil
	}
	return Disabled()
}

// Disabled is the refusal of a gateway that sells nothing.
func Disabled() *app.Error {
	return app.Errorf(app.NotFound, "payments_disabled",
		"Credit cannot be bought here: this gateway has no payment service. Ask its operator for credit.").Final()
}

// unavailable is what a person reads when the payment service is away.
func unavailable(cause error) *app.Error {
	return app.Errorf(app.Unavailable, "payments_unavailable",
		"The payment service cannot be reached right now. Nothing was charged twice; try again in a minute.").
		Because(cause).After(awayRetry)
}

const awayRetry = 30 * time.Second

// wrap names what was done, and turns a store that is away into the error every room answers with.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	if _, ours := errors.AsType[*app.Error](err); ours {
		return err
	}
	return billing.StoreError("stripe: "+doing, err)
}
