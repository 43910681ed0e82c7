package console

import (
	"time"

	"umg/app/console/page"
	"umg/billing/usage"
	"umg/views"
)

// keySpend returns what the keys of the account cost lately, by key. One query over sums answers for all keys.
func (c *Console) keySpend(p *page.Page) (map[string]views.KeySpend, error) {
	now := c.o.Now().UTC()
	first := now.Truncate(oneDay).AddDate(0, 0, 1-views.KeySpendDays)
	since := first
	if month := monthOf(now); month.Before(since) {
		since = month
	}
	days, err := c.o.Reports.KeyDays(p.Request().Context(), p.User.AccountID, since)
	if err != nil {
		return nil, err
	}
	return keySpendOf(days, now), nil
}

// keySpendOf sums days into today, this month and the last thirty days. The days of a key are in order, so that its last model wins.
func keySpendOf(days []usage.KeyDay, now time.Time) map[string]views.KeySpend {
	today, month := now.Truncate(oneDay), monthOf(now)
	first := today.AddDate(0, 0, 1-views.KeySpendDays)
	all := map[string]views.KeySpend{}
	for _, d := range days {
		if d.Day.After(now) {
			continue
		}
		s := all[d.KeyID]
		s.Model = d.Model
		if d.Day.Equal(today) {
			s.Today += d.Spend
		}
		if !d.Day.Before(month) {
			s.Month += d.Spend
		}
		if !d.Day.Before(first) {
			s.ByDay[d.Day.Sub(first)/oneDay] += d.Spend
		}
		all[d.KeyID] = s
	}
	return all
}
