package console

import (
	"cmp"
	"context"
	"slices"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/app/video"
	"umg/billing/usage"
	homepages "umg/views/home"
)

const (
	figuresTimeMax   = 2 * time.Second // Figures that take longer than this timeout are shown as missing.
	figureDays       = 30
	topModelsShown   = 5
	failuresShown    = 5
	failuresDays     = 7
	runningVideosMax = 100
)

// fillOverview reads the figures, each for itself: one that cannot be read in time is missing alone. It reports whether any is.
func (c *Console) fillOverview(p *page.Page, o *homepages.Overview, keyNames map[string]string) (lost bool) {
	ctx, cancel := context.WithTimeout(p.Request().Context(), figuresTimeMax)
	defer cancel()
	id, now := p.User.AccountID, c.o.Now().UTC()
	for _, read := range []func() error{
		func() error {
			credit, err := c.o.Ledger.Credit(ctx, id)
			if err == nil {
				o.Credit = new(page.ViewCredit(credit))
			}
			return err
		},
		func() error {
			hours, err := c.o.Reports.Hours(ctx, id, figuresSince(now))
			if err == nil {
				o.Spending = spendingOf(hours, now)
			}
			return err
		},
		func() (err error) { o.Speed, err = c.speed(ctx, id, now); return err },
		func() (err error) { o.Top, err = c.topModels(ctx, id, now); return err },
		func() error {
			failed, err := c.o.Reports.FailedRequests(ctx, id, now.AddDate(0, 0, -failuresDays), failuresShown)
			if err == nil {
				o.Failures = &homepages.Failures{Requests: viewLoggedRequests(failed, keyNames)}
			}
			return err
		},
		func() error {
			latest, err := c.o.Reports.LatestRequests(ctx, id, homepages.RecentMax)
			if err == nil {
				o.Recent = &homepages.Recent{Requests: viewLoggedRequests(latest, keyNames)}
			}
			return err
		},
		func() (err error) { o.Running, err = c.runningVideos(ctx, id); return err },
		func() (err error) { o.Hooks, err = c.troubledWebhooks(p); return err },
		func() (err error) { o.Unverified, err = c.unverified(p); return err },
	} {
		lost = read() != nil || lost
	}
	return lost
}

func (c *Console) runningVideos(ctx context.Context, accountID string) (int, error) {
	if c.o.Videos == nil {
		return 0, nil
	}
	running := 0
	for _, status := range []string{"queued", "in_progress"} {
		found, err := c.o.Videos.List(ctx, accountID, video.Query{Status: status, Limit: runningVideosMax})
		if err != nil {
			return 0, err
		}
		running += len(found.Jobs)
	}
	return running, nil
}

func monthOf(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) }

// figuresSince is the first moment that any of the figures looks at.
func figuresSince(now time.Time) time.Time {
	days := now.Truncate(oneDay).AddDate(0, 0, 1-2*figureDays)
	if month := monthOf(now).AddDate(0, -1, 0); month.Before(days) {
		return month
	}
	return days
}

// spendingOf divides hours into today, this month and the last thirty days, each beside what came before.
func spendingOf(hours []usage.Hour, now time.Time) *homepages.Spending {
	today, month, hour := now.Truncate(oneDay), monthOf(now), now.Truncate(time.Hour)
	lastMonth := month.AddDate(0, -1, 0)
	lastMonthEnd := lastMonth.Add(hour.Sub(month)) // The comparison with last month ends at the same hour.
	if !lastMonthEnd.Before(month) {
		lastMonthEnd = month.Add(-time.Hour)
	}
	s := &homepages.Spending{}
	s.ByHour = make([]app.Amount, hour.Sub(today)/time.Hour+1)
	s.ByDay = make([]app.Amount, today.Sub(month)/oneDay+1)
	s.RequestsByDay, s.FailedByDay = make([]int64, figureDays), make([]int64, figureDays)
	recent := today.AddDate(0, 0, 1-figureDays)
	for _, h := range hours {
		if h.At.After(now) {
			continue
		}
		if !h.At.Before(today) {
			s.Today += h.Spend
			s.ByHour[h.At.Sub(today)/time.Hour] += h.Spend
		} else if yesterday := today.Add(-oneDay); !h.At.Before(yesterday) && !h.At.After(hour.Add(-oneDay)) {
			s.Yesterday += h.Spend
		}
		if !h.At.Before(month) {
			s.Month += h.Spend
			s.ByDay[h.At.Sub(month)/oneDay] += h.Spend
		} else if !h.At.Before(lastMonth) && !h.At.After(lastMonthEnd) {
			s.LastMonth += h.Spend
		}
		if !h.At.Before(recent) {
			s.Requests += h.Requests
			s.Failed += h.Failed
			day := h.At.Sub(recent) / oneDay
			s.RequestsByDay[day] += h.Requests
			s.FailedByDay[day] += h.Failed
		} else if !h.At.Before(recent.AddDate(0, 0, -figureDays)) {
			s.RequestsBefore += h.Requests
			s.FailedBefore += h.Failed
		}
	}
	return s
}

// speed compares the last 24 hours with those before.
func (c *Console) speed(ctx context.Context, accountID string, now time.Time) (*homepages.Speed, error) {
	from := now.Add(-oneDay)
	latest, err := c.o.Reports.Timings(ctx, accountID, from, now.Add(time.Minute))
	if err != nil {
		return nil, err
	}
	before, err := c.o.Reports.Timings(ctx, accountID, from.Add(-oneDay), from)
	if err != nil {
		return nil, err
	}
	s := &homepages.Speed{Calls: len(latest), Capped: len(latest) >= usage.TimingsMax, ByHour: make([]time.Duration, oneDay/time.Hour)}
	s.Whole, s.First = quantiles(latest)
	s.WholeBefore, s.FirstBefore = quantiles(before)
	byHour := make([][]usage.Timing, len(s.ByHour))
	for _, t := range latest {
		if i := int(t.At.Sub(from) / time.Hour); i >= 0 && i < len(byHour) {
			byHour[i] = append(byHour[i], t)
		}
	}
	for i, list := range byHour {
		whole, _ := quantiles(list)
		s.ByHour[i] = whole.P50
	}
	return s, nil
}

// quantiles are those of whole answers, and of the first tokens of streams.
func quantiles(list []usage.Timing) (whole, firsts homepages.Quantiles) {
	var wholes, streams []time.Duration
	for _, t := range list {
		wholes = append(wholes, t.Duration)
		if t.Streamed && t.FirstByte > 0 {
			streams = append(streams, t.FirstByte)
		}
	}
	return quantilesOf(wholes), quantilesOf(streams)
}

func quantilesOf(times []time.Duration) homepages.Quantiles {
	if len(times) == 0 {
		return homepages.Quantiles{}
	}
	slices.Sort(times)
	at := func(percent int) time.Duration { return times[(len(times)*percent+99)/100-1] }
	return homepages.Quantiles{P50: at(50), P95: at(95)}
}

func (c *Console) topModels(ctx context.Context, accountID string, now time.Time) (*homepages.TopModels, error) {
	report, err := c.o.Reports.ModelUsage(ctx, accountID, monthOf(now))
	if err != nil {
		return nil, err
	}
	top := &homepages.TopModels{Spend: report.Total.Cost}
	lines := slices.Clone(report.Lines)
	slices.SortStableFunc(lines, func(a, b usage.Line) int { return cmp.Compare(b.Cost, a.Cost) })
	for _, line := range lines {
		if line.Cost > 0 && len(top.Models) < topModelsShown {
			top.Models = append(top.Models, homepages.ModelSpend{Model: line.Group, Spend: line.Cost, Requests: line.Requests})
		}
	}
	return top, nil
}
