// Package trial gives new users their trial credit, once for each mailbox and within the limits of a day, and reports what was given.
// Make a Service with New; the caller gives credit with Grant in the transaction that makes or verifies the user.
package trial

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// These limits apply where the policy sets none.
const (
	networkDayDefault = 5
	domainDayDefault  = 10
	trialsDayDefault  = 200 // The default daily amount is that of this many trials.
	day               = 24 * time.Hour
)

// Policy says how much trial credit a new account gets. An amount of zero gives none; a limit of zero takes the default.
type Policy struct {
	Amount app.Amount
	Days   int
	// RequireVerified gives the credit when the user has verified their e-mail address, not at sign-up. Without mail no address is
	// verified, and no user gets any.
	RequireVerified bool
	NetworkDayMax   int        // NetworkDayMax limits the trials per day of one network: 256 IPv4 addresses, or one IPv6 subnet.
	DomainDayMax    int        // DomainDayMax limits the trials per day of one e-mail domain, except public mail services.
	DailyMax        app.Amount // DailyMax limits the trial credit per day for all users together.
}

func (p Policy) withDefaults() Policy {
	if p.NetworkDayMax == 0 {
		p.NetworkDayMax = networkDayDefault
	}
	if p.DomainDayMax == 0 {
		p.DomainDayMax = domainDayDefault
	}
	if p.DailyMax == 0 {
		p.DailyMax = math.MaxInt64
		if p.Amount < math.MaxInt64/trialsDayDefault {
			p.DailyMax = trialsDayDefault * p.Amount
		}
	}
	return p
}

// Result is the result of a request for trial credit. Amount is zero when none was given, and Refusal says why.
type Result struct {
	Amount    app.Amount
	ExpiresAt *time.Time
	Refusal   *app.Error // Refusal is also nil when trials are off.
}

// Person is a user who may get trial credit.
type Person struct{ UserID, AccountID, Email string }

// Options configure a service. Now is required.
type Options struct {
	Policy Policy
	Now    app.Clock
	Mails  bool // Mails means that the server sends mail, so addresses can be verified.
}

// Service gives trial credit.
type Service struct {
	db     *sqlx.DB
	ledger *billing.Ledger
	policy Policy
	o      Options
}

// New returns the service. It panics when a required option is missing.
func New(db *sqlx.DB, ledger *billing.Ledger, o Options) *Service {
	app.RequireOptions("trial.New", map[string]bool{"db": db != nil, "ledger": ledger != nil, "Options.Now": o.Now != nil})
	return &Service{db: db, ledger: ledger, policy: o.Policy.withDefaults(), o: o}
}

// available says whether a person may get trial credit at all.
func (s *Service) available(p Person) bool {
	return s.policy.Amount > 0 && (s.o.Mails || !s.policy.RequireVerified) && p.AccountID != ""
}

// ComesWithVerification reports whether the owner of an e-mail address gets trial credit when they verify it.
func (s *Service) ComesWithVerification(email string) bool {
	return s.policy.Amount > 0 && s.policy.RequireVerified && !disposable(domainOf(email))
}

// Open reports whether a person may still get trial credit.
func (s *Service) Open(ctx context.Context, p Person) (bool, error) {
	if !s.available(p) || disposable(domainOf(p.Email)) {
		return false, nil
	}
	identity := identityOf(p.Email)
	had, err := postgres.Get[bool](ctx, s.db, `select exists(select from trials where identity = $1 or user_id = $2)`, identity[:], p.UserID)
	return !had, postgres.StoreError("trial: read", err)
}

// Grant gives the trial credit in the caller's transaction, once for each identity and within the limits of a day.
// Grants wait for each other, because the limits are sums over all of them and trials are rare.
func (s *Service) Grant(ctx context.Context, tx *sqlx.Tx, p Person, ip string) (Result, error) {
	if !s.available(p) {
		return Result{}, nil
	}
	now, domain := s.o.Now().UTC(), domainOf(p.Email)
	if disposable(domain) {
		return Result{Refusal: app.Errorf(app.Forbidden, "trial_disposable",
			"There is no trial credit for addresses at %s, because anyone can open as many of them as they like. Everything else works.",
			domain)}, nil
	}
	r := row{
		Identity: identityOf(p.Email), UserID: p.UserID, AccountID: p.AccountID, Network: networkOf(ip),
		Domain: Organisation(domain), Amount: s.policy.Amount, GrantedAt: now,
	}
	if err := postgres.Exec(ctx, tx, `select pg_advisory_xact_lock(hashtext('umg trials'))`); err != nil {
		return Result{}, err
	}
	given, err := postgres.Get[dayRow](ctx, tx, `
		select exists(select from trials where identity = $1 or user_id = $2) as had,
			count(*) filter (where network = $3 and network <> '') as network, count(*) filter (where domain = $4) as domain,
			coalesce(sum(amount_nanos), 0)::bigint as amount
		from trials where granted_at > $5`, r.Identity[:], r.UserID, r.Network, r.Domain, now.Add(-day))
	if err != nil {
		return Result{}, err
	}
	if result := (Result{Refusal: s.policy.refuse(r, given)}); result.Refusal != nil {
		return result, nil //nolint:nilerr // a refusal is a result of the request, not a failure of the database
	}
	g := billing.Grant{
		AccountID: p.AccountID, Kind: billing.Trial, Amount: s.policy.Amount, Source: "trial:" + p.UserID, Reason: "trial credit",
	}
	if s.policy.Days > 0 {
		g.ExpiresAt = new(now.AddDate(0, 0, s.policy.Days))
	}
	if err := s.ledger.Grant(ctx, tx, g); errors.Is(err, billing.ErrGrantExists) {
		return Result{Refusal: errTrialHad()}, nil
	} else if err != nil {
		return Result{}, err
	}
	return Result{Amount: s.policy.Amount, ExpiresAt: g.ExpiresAt}, postgres.Exec(ctx, tx, `
		insert into trials (identity, user_id, account_id, network, domain, amount_nanos, granted_at)
		values ($1, $2, $3, $4, $5, $6, $7)`, r.Identity[:], r.UserID, r.AccountID, r.Network, r.Domain, int64(r.Amount), r.GrantedAt)
}

func errTrialHad() *app.Error {
	return app.Errorf(app.Conflict, "trial_had", "Trial credit is given once to each person, and this mailbox has had it before.")
}

// refuse returns the limit that refuses a trial, or nil.
func (p Policy) refuse(r row, given dayRow) *app.Error {
	switch {
	case given.Had:
		return errTrialHad()
	case given.Network >= p.NetworkDayMax:
		return app.Errorf(app.Exhausted, "trial_network_limit",
			"Your network has had all the trial credit it can get in one day. Ask for yours tomorrow, or add credit now.")
	case !majors[r.Domain] && given.Domain >= p.DomainDayMax:
		return app.Errorf(app.Exhausted, "trial_domain_limit",
			"Addresses at %s have had all the trial credit they can get in one day. Ask for yours tomorrow, or add credit now.", r.Domain)
	case given.Amount > p.DailyMax-r.Amount:
		return app.Errorf(app.Exhausted, "trial_daily_limit",
			"Today's trial credit is all given away. Ask for yours tomorrow, or add credit now.")
	}
	return nil
}
