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
	placesMax    = 20 // The report lists at most this many networks or domains at their limit.
	placesSought = 500
)

// Report is the trial credit that was given recently. Operators read it.
type Report struct {
	Policy Policy     // Policy is the configured policy with its defaults.
	Mails  bool       // Mails means that the server sends mail, so addresses can be verified.
	Closed Closed     // Closed says why trials are closed for all users. It is empty while they are open.
	Given  app.Amount // Given is the amount of the last 24 hours, which counts towards the daily limit.
	Count  int        // Count is the number of trials in the last 24 hours.
	FreeAt *time.Time // FreeAt is when the oldest trial leaves the daily limit. It is nil while the limit is not reached.
	Days   []Day      // Days are the last 30 UTC days, the oldest first, and today.
	Places []Place
}

// Day is what was given on a day of UTC.
type Day struct {
	Day    time.Time
	Count  int
	Amount app.Amount
	Paid   int // Paid counts accounts with a trial of that day that bought credit later.
}

// Place is a network or a domain that gets no more trials for now.
type Place struct {
	Network bool // Network distinguishes a network from a domain of e-mail addresses.
	Name    string
	Count   int // Count is the number of trials in the last 24 hours.
	FreeAt  time.Time
}

// Report returns the policy of trials, what was given, and which places get no more for now. It names no user.
func (s *Service) Report(ctx context.Context) (Report, error) {
	r := Report{Policy: s.policy, Mails: s.o.Mails}
	now := s.o.Now().UTC()
	sum, err := postgres.Get[sumRow](ctx, s.db, `
		select count(*) as count, coalesce(sum(amount_nanos), 0)::bigint as amount, min(granted_at) as oldest
		from trials where granted_at > $1`, now.Add(-day))
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

// These are the reasons.
const (
	Off          Closed = "off"
	WithoutMail  Closed = "unmailed" // Addresses must be verified, but the server sends no mail.
	LimitReached Closed = "given"    // The daily limit is reached.
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
	// A place with more trials than it gets has room again when as many have left as are too many, and one more.
	rows, err := postgres.Select[placeRow](ctx, s.db, `
		select name, count(*) as count, (array_agg(granted_at order by granted_at))[count(*) - $2 + 1] as leaves
		from (select case when $3 then network else domain end as name, granted_at from trials where granted_at > $1) t
		where name <> '' group by name having count(*) >= $2 order by count(*) desc, name limit $4`, now.Add(-day), most, network, placesSought)
	var places []Place
	for _, r := range rows {
		if network || !majors[r.Name] {
			places = append(places, Place{Network: network, Name: r.Name, Count: r.Count, FreeAt: r.Leaves.UTC().Add(day)})
		}
	}
	return places[:min(len(places), placesMax)], err
}

// sumRow is what was given since a time.
type sumRow struct {
	Count  int        `db:"count"`
	Amount app.Amount `db:"amount"`
	Oldest *time.Time `db:"oldest"`
}

// selectDays adds up the trials of each day since the first. An account has paid when it bought credit after its trial.
func selectDays(ctx context.Context, q postgres.Queryer, first time.Time) ([]Day, error) {
	var rows []struct {
		Day    time.Time  `db:"day"`
		Count  int        `db:"count"`
		Amount app.Amount `db:"amount"`
		Paid   int        `db:"paid"`
	}
	err := q.SelectContext(ctx, &rows, `
		select (t.granted_at at time zone 'utc')::date as day, count(*) as count, sum(t.amount_nanos)::bigint as amount,
			count(*) filter (where a.paid_at is not null and exists (
				select from topups p where p.account_id = t.account_id and p.paid_at >= t.granted_at)) as paid
		from trials t join accounts a on a.id = t.account_id
		where t.granted_at >= $1 group by 1 order by 1`, first)
	days := make([]Day, len(rows))
	for i, r := range rows {
		days[i] = Day{
			Day: time.Date(r.Day.Year(), r.Day.Month(), r.Day.Day(), 0, 0, 0, 0, time.UTC), Count: r.Count, Amount: r.Amount, Paid: r.Paid,
		}
	}
	return days, err
}

// placeRow is a network or a domain with its trials since a time. When the trial that leaves first is a day old there is room again.
type placeRow struct {
	Name   string    `db:"name"`
	Count  int       `db:"count"`
	Leaves time.Time `db:"leaves"`
}
