package account

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// These limits bound the report about trials.
const (
	trialReportDays   = 30
	trialPlacesMax    = 20 // networks or domains at their limit
	trialPlacesSought = 500
)

// TrialReport reports the trial credit that was given recently. Operators read it.
type TrialReport struct {
	Policy TrialPolicy // the configured policy with its defaults
	Mails  bool        // the server sends mails, so addresses can be verified
	Closed TrialClosed // why trials are closed for all users; empty while they are open
	Given  app.Amount  // amount in the last 24 hours, which the daily limit counts
	Count  int         // trials in the last 24 hours
	FreeAt *time.Time  // when the oldest of them leaves the daily limit, while that is reached
	Days   []TrialDay  // the last 30 UTC days, the oldest first, and today
	Places []TrialPlace
}

// TrialDay is what was given on a day of UTC.
type TrialDay struct {
	Day    time.Time
	Count  int
	Amount app.Amount
	Paid   int // accounts with a trial of that day that have bought credit since
}

// TrialPlace is a network or a domain that gets no more trials for now.
type TrialPlace struct {
	Network bool // a network; otherwise a domain of e-mail addresses
	Name    string
	Count   int // trials in the last 24 hours
	FreeAt  time.Time
}

// Trials tells what trial credit is given, what was, and who gets none for now. No user is named.
func (s *Service) Trials(ctx context.Context) (TrialReport, error) {
	r := TrialReport{Policy: s.o.Trial, Mails: s.Verifies()}
	now := s.o.Now().UTC()
	day, err := selectTrialSum(ctx, s.db, now.Add(-trialDay))
	if err != nil {
		return r, postgres.StoreError("account: read trials of the day", err)
	}
	r.Given, r.Count = day.Amount, day.Count
	first := now.Truncate(trialDay).AddDate(0, 0, 1-trialReportDays)
	if r.Days, err = selectTrialDays(ctx, s.db, first); err != nil {
		return r, postgres.StoreError("account: read days of trials", err)
	}
	r.Days = everyDay(r.Days, first)
	for _, network := range []bool{true, false} {
		found, err := s.fullPlaces(ctx, network, now)
		if err != nil {
			return r, postgres.StoreError("account: read places of trials", err)
		}
		r.Places = append(r.Places, found...)
	}
	if r.Closed = r.Policy.closed(r.Mails, r.Given); r.Closed == TrialsGiven && day.Oldest != nil {
		r.FreeAt = new(day.Oldest.UTC().Add(trialDay))
	}
	return r, nil
}

// TrialClosed is the reason why no user gets trial credit.
type TrialClosed string

// The reasons.
const (
	TrialsOff      TrialClosed = "off"
	TrialsUnmailed TrialClosed = "unmailed" // addresses must be verified, but the server sends no mail
	TrialsGiven    TrialClosed = "given"    // the daily limit is reached
)

func (p TrialPolicy) closed(mails bool, given app.Amount) TrialClosed {
	switch {
	case p.Amount <= 0:
		return TrialsOff
	case p.RequireVerified && !mails:
		return TrialsUnmailed
	case given > p.DailyMax-p.Amount:
		return TrialsGiven
	}
	return ""
}

// everyDay puts the days without trials between the others.
func everyDay(found []TrialDay, first time.Time) []TrialDay {
	days := make([]TrialDay, trialReportDays)
	for i := range days {
		days[i].Day = first.AddDate(0, 0, i)
	}
	for _, d := range found {
		if i := int(d.Day.Sub(first) / trialDay); i >= 0 && i < len(days) {
			days[i] = d
		}
	}
	return days
}

// fullPlaces are the networks or domains that have had all they get in a day. Domains that millions share have no limit.
func (s *Service) fullPlaces(ctx context.Context, network bool, now time.Time) ([]TrialPlace, error) {
	most := s.o.Trial.DomainDayMax
	if network {
		most = s.o.Trial.NetworkDayMax
	}
	rows, err := selectFullPlaces(ctx, s.db, network, now.Add(-trialDay), most, trialPlacesSought)
	var places []TrialPlace
	for _, r := range rows {
		if network || !majors[r.Name] {
			places = append(places, TrialPlace{Network: network, Name: r.Name, Count: r.Count, FreeAt: r.Leaves.UTC().Add(trialDay)})
		}
	}
	return places[:min(len(places), trialPlacesMax)], err
}
