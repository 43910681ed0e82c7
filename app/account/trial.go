package account

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

// Limits of trials where the policy says nothing.
const (
	trialsNetworkDayMax = 5
	trialsDomainDayMax  = 10
	trialsDayMax        = 200 // trials per day from which the default daily amount is computed
	trialDay            = 24 * time.Hour
)

// TrialPolicy is what a new account is given. An amount of zero gives nothing; a limit of zero takes the default.
type TrialPolicy struct {
	Amount app.Amount
	Days   int
	// RequireVerified gives the credit when the user has verified their e-mail address, not at sign-up. Without mail no address is
	// verified, and no user gets any.
	RequireVerified bool
	NetworkDayMax   int        // trials per day for one network: 256 IPv4 addresses, or one IPv6 subnet
	DomainDayMax    int        // trials per day for one domain of e-mail addresses, except public mail services
	DailyMax        app.Amount // trial credit per day for all users together
}

func (p TrialPolicy) withDefaults() TrialPolicy {
	if p.NetworkDayMax == 0 {
		p.NetworkDayMax = trialsNetworkDayMax
	}
	if p.DomainDayMax == 0 {
		p.DomainDayMax = trialsDomainDayMax
	}
	if p.DailyMax == 0 {
		p.DailyMax = math.MaxInt64
		if p.Amount < math.MaxInt64/trialsDayMax {
			p.DailyMax = trialsDayMax * p.Amount
		}
	}
	return p
}

// Trial is the result of a request for trial credit. Amount is zero when none was given, and Refusal says why.
type Trial struct {
	Amount    app.Amount
	ExpiresAt *time.Time
	Refusal   *app.Error // also nil when trials are off
}

// TrialOpen says whether a user may still get trial credit.
func (s *Service) TrialOpen(ctx context.Context, u User) (bool, error) {
	if s.o.Trial.Amount <= 0 || s.o.Trial.RequireVerified && !s.Verifies() || disposable(domainOf(u.Email)) || u.AccountID == "" {
		return false, nil
	}
	had, err := hadTrial(ctx, s.db, u.ID, identityOf(u.Email))
	return !had, postgres.StoreError("account: read trial", err)
}

// ClaimTrial gives a user the trial credit that a limit of the day had refused. It gives nothing twice.
func (s *Service) ClaimTrial(ctx context.Context, userID, ip string) (t Trial, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		u, err := userByID(ctx, tx, userID)
		if err != nil {
			return err
		}
		if s.o.Trial.RequireVerified && !u.Verified {
			return app.Errorf(app.Forbidden, "email_unverified",
				"Trial credit is for users whose e-mail address is verified. Open the link we sent to %s first.", u.Email)
		}
		t, err = s.grantTrial(ctx, tx, u, ip)
		return err
	})
	return t, postgres.StoreError("account: claim trial", err)
}

// grantTrial gives the trial credit in the caller's transaction, once for each identity and within the limits of a day.
// Grants wait for each other, because the limits are sums over all of them and trials are rare.
func (s *Service) grantTrial(ctx context.Context, tx *sqlx.Tx, u User, ip string) (Trial, error) {
	policy := s.o.Trial
	if policy.Amount <= 0 || policy.RequireVerified && !s.Verifies() || u.AccountID == "" {
		return Trial{}, nil
	}
	now := s.o.Now().UTC()
	row := trialRow{
		Identity: identityOf(u.Email), UserID: u.ID, AccountID: u.AccountID, Network: networkOf(ip),
		Domain: organisation(domainOf(u.Email)), Amount: policy.Amount, GrantedAt: now,
	}
	if disposable(domainOf(u.Email)) {
		return Trial{Refusal: app.Errorf(app.Forbidden, "trial_disposable",
			"There is no trial credit for addresses at %s, because anybody can open as many of them as they like. Everything else works.",
			domainOf(u.Email))}, nil
	}
	if err := lockTrials(ctx, tx); err != nil {
		return Trial{}, err
	}
	day, err := trialsOfDay(ctx, tx, row, now.Add(-trialDay))
	if err != nil {
		return Trial{}, err
	}
	if refused, yes := policy.refuse(row, day); yes {
		return refused, nil
	}
	g := billing.Grant{
		AccountID: u.AccountID, Kind: billing.Trial, Amount: policy.Amount, Source: "trial:" + u.ID, Reason: "trial credit",
	}
	if policy.Days > 0 {
		end := now.AddDate(0, 0, policy.Days)
		g.ExpiresAt = &end
	}
	if err := s.ledger.Grant(ctx, tx, g); errors.Is(err, billing.ErrGrantExists) {
		return Trial{Refusal: errTrialHad()}, nil
	} else if err != nil {
		return Trial{}, err
	}
	return Trial{Amount: policy.Amount, ExpiresAt: g.ExpiresAt}, insertTrial(ctx, tx, row)
}

func errTrialHad() *app.Error {
	return app.Errorf(app.Conflict, "trial_had", "Trial credit is given once to each person, and this mailbox has had it before.")
}

// refuse names the limit that refuses a trial, if one does.
func (p TrialPolicy) refuse(row trialRow, day trialDayRow) (refused Trial, yes bool) {
	switch {
	case day.Had:
		return Trial{Refusal: errTrialHad()}, true
	case day.Network >= p.NetworkDayMax:
		return Trial{Refusal: app.Errorf(app.Exhausted, "trial_network_limit",
			"Your network has had all the trial credit it can get in one day. Ask for yours tomorrow, or add credit now.")}, true
	case !majors[row.Domain] && day.Domain >= p.DomainDayMax:
		return Trial{Refusal: app.Errorf(app.Exhausted, "trial_domain_limit",
			"Addresses at %s have had all the trial credit they can get in one day. Ask for yours tomorrow, or add credit now.", row.Domain)}, true
	case day.Amount > p.DailyMax-row.Amount:
		return Trial{Refusal: app.Errorf(app.Exhausted, "trial_daily_limit",
			"Today's trial credit is all given away. Ask for yours tomorrow, or add credit now.")}, true
	}
	return Trial{}, false
}

func domainOf(email string) string {
	_, domain := splitEmail(email)
	return domain
}
