package trial

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// These limits bound the report about trials.
const (
	reportDays   = 30
	placesMax    = 20 // networks or domains at their limit
	placesSought = 500
)

// Report is the trial credit that was given recently. Operators read it.
type Report struct {
	Policy Policy     // the configured policy with its defaults
	Mails  bool       // the server sends mails, so addresses can be verified
	Closed Closed     // why trials are closed for all users; empty while they are open
	Given  app.Amount // amount in the last 24 hours, which the daily limit counts
	Count  int        // trials in the last 24 hours
	FreeAt *time.Time // when the oldest of them leaves the daily limit, while that is reached
	Days   []Day      // the last 30 UTC days, the oldest first, and today
	Places []Place
}

// Day is what was given on a day of UTC.
type Day struct {
	Day    time.Time
	Count  int
	Amount app.Amount
	Paid   int // accounts with a trial of that day that have bought credit since
}

// Place is a network or a domain that gets no more trials for now.
type Place struct {
	Network bool // a network; otherwise a domain of e-mail addresses
	Name    string
	Count   int // trials in the last 24 hours
	FreeAt  time.Time
}

// Report returns the policy of trials, what was given, and which places get no more for now. It names no user.
func (s *Service) Report(ctx context.Context) (Report, error) {
	r := Report{Policy: s.policy, Mails: s.o.Mails}
	now := s.o.Now().UTC()
	sum, err := selectSum(ctx, s.db, now.Add(-day))
	if err != nil {
		return r, postgres.StoreError("trial: read trials of the day", err)
	}
	r.Given, r.Count = sum.Amount, sum.Count
	first := now.Truncate(day).AddDate(0, 0, 1-reportDays)
	if r.Days, err = selectDays(ctx, s.db, first); err != nil {
		return r, postgres.StoreError("trial: read days of trials", err)
	}
	r.Days = everyDay(r.Days, first)
	for _, network := range []bool{true, false} {
		found, err := s.fullPlaces(ctx, network, now)
		if err != nil {
			return r, postgres.StoreError("trial: read places of trials", err)
		}
		r.Places = append(r.Places, found...)
	}
	if r.Closed = r.Policy.closed(r.Mails, r.Given); r.Closed == LimitReached && sum.Oldest != nil {
		r.FreeAt = new(sum.Oldest.UTC().Add(day))
	}
	return r, nil
}

// Closed is the reason why no user gets trial credit.
type Closed string

// The reasons.
const (
	Off          Closed = "off"
	WithoutMail  Closed = "unmailed" // addresses must be verified, but the server sends no mail
	LimitReached Closed = "given"    // the daily limit is reached
)

func (p Policy) closed(mails bool, given app.Amount) Closed {
	switch {
	case p.Amount <= 0:
		return Off
	case p.RequireVerified && !mails:
		return WithoutMail
	case given > p.DailyMax-p.Amount:
		return LimitReached
	}
	return ""
}

// everyDay puts the days without trials between the others.
func everyDay(found []Day, first time.Time) []Day {
	days := make([]Day, reportDays)
	for i := range days {
		days[i].Day = first.AddDate(0, 0, i)
	}
	for _, d := range found {
		if i := int(d.Day.Sub(first) / day); i >= 0 && i < len(days) {
			days[i] = d
		}
	}
	return days
}

// fullPlaces are the networks or domains that have had all they get in a day. Domains that millions share have no limit.
func (s *Service) fullPlaces(ctx context.Context, network bool, now time.Time) ([]Place, error) {
	most := s.policy.DomainDayMax
	if network {
		most = s.policy.NetworkDayMax
	}
	rows, err := selectFullPlaces(ctx, s.db, network, now.Add(-day), most, placesSought)
	var places []Place
	for _, r := range rows {
		if network || !majors[r.Name] {
			places = append(places, Place{Network: network, Name: r.Name, Count: r.Count, FreeAt: r.Leaves.UTC().Add(day)})
		}
	}
	return places[:min(len(places), placesMax)], err
}
