package usage

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
	"umg/billing"
)

// These limits apply to the statistics of models.
const (
	statsLag        = 15 * time.Second // Settlements of a minute may be written this long after its end.
	statsStepLength = time.Hour        // One transaction covers settlements of this long.
	statsStepsMax   = 24               // One pass makes at most this many steps, which spreads a backlog over several passes.
	statsTimeMax    = 30 * time.Second // One pass takes at most this long.
	statsDaysKept   = 100
	statsHoursKept  = 8 * 24
	statsRowsMax    = 10_000 // ProviderSteps returns at most this many rows.
	statsModelsMax  = 10_000
	classesDouble   = 8 // Each doubling has this many classes, so a class's middle is within 5 % of every value in it.
)

// verdicts lists the reasons that count as success of a model, and those that count as failure.
func verdicts() (answered, failed []string) {
	for _, rule := range billing.Rules() {
		switch good, bad := billing.ModelVerdict(rule.Reason); {
		case good:
			answered = append(answered, string(rule.Reason))
		case bad:
			failed = append(failed, string(rule.Reason))
		}
	}
	return answered, failed
}

// StatsWindow is the time that ModelStats covers. The oldest of its hours is a part of one.
const StatsWindow = 24 * time.Hour

// ModelStats is the performance of a model in the last 24 hours, over all accounts. Unknown values are zero.
type ModelStats struct {
	Answered, Failed           int64         // These leave out calls whose end their caller caused.
	FirstByteP50, FirstByteP95 time.Duration // These are times until the first token of streamed answers.
	DurationP50, DurationP95   time.Duration // These are times until the end of the answer.
	SpeedP50                   int64         // The speed is in thousandths of a token per second, of streamed answers.
	Until                      time.Time
}

// ProviderStats is the performance of a model at one provider for a time, over all accounts. Unknown values are zero.
type ProviderStats struct {
	// Start is the beginning of the time. It is zero for the whole time that was asked for.
	Start            time.Time
	Provider         string
	Answered, Failed int64
	// Attempts counts the failed attempts of calls that another provider went on with.
	Attempts                   int64
	FirstByteP50, FirstByteP95 time.Duration
	DurationP50, DurationP95   time.Duration
	SpeedP50                   int64 // The speed is in thousandths of a token per second.
}

// ModelDay is the performance of a model on one day of UTC, over all accounts. Days without calls are left out.
type ModelDay struct {
	Day      time.Time `db:"day"`
	Answered int64     `db:"answered"`
	Failed   int64     `db:"failed"`
}

// UpdateModelStats adds up the performance of models since the last pass. Any number of replicas may run it; a lock lets one at a time
// work. A pass is bounded because the same worker also releases credit; the next pass continues where it stopped.
func (r *Reports) UpdateModelStats(ctx context.Context) error {
	defer postgres.TakeTurn(ctx)()
	ctx, cancel := context.WithTimeout(ctx, statsTimeMax)
	defer cancel()
	for range statsStepsMax {
		more, err := r.statsStep(ctx)
		if err != nil || !more {
			return postgres.StoreError("usage: update model statistics", err)
		}
	}
	return nil
}

// statsStep processes the settlements of an hour at most, and reports whether there are more.
func (r *Reports) statsStep(ctx context.Context) (more bool, err error) {
	end := r.o.Now().UTC().Add(-statsLag).Truncate(time.Minute)
	err = postgres.InTx(ctx, r.db, func(tx *sqlx.Tx) error {
		var from time.Time // Settlements before this time were processed.
		err := tx.GetContext(ctx, &from, `select until from model_stats_cursor for update skip locked`)
		if errors.Is(err, sql.ErrNoRows) { // Another replica holds the lock.
			return nil
		}
		if err != nil || !from.Before(end) {
			return err
		}
		to := end
		if latest := from.Add(statsStepLength); latest.Before(end) {
			to, more = latest, true
		}
		return countModels(ctx, tx, from, to, end)
	})
	return more, err
}

// RecentModels returns the last 24 hours of all models, by model. A model without calls is left out.
func (r *Reports) RecentModels(ctx context.Context) (map[string]ModelStats, error) {
	var rows []modelStatsRow
	err := r.db.SelectContext(ctx, &rows, `
		select model, answered, failed, first_byte_p50, first_byte_p95, duration_p50, duration_p95, speed_p50, until
		from model_recent_stats where until >= $1 limit $2`,
		r.o.Now().Add(-StatsWindow).UTC(), statsModelsMax)
	if err != nil {
		return nil, postgres.StoreError("usage: recent statistics of models", err)
	}
	stats := make(map[string]ModelStats, len(rows))
	for _, row := range rows {
		stats[row.Model] = ModelStats{
			Answered: row.Answered, Failed: row.Failed, Until: row.Until.UTC(), SpeedP50: ofClass(row.Speed),
			FirstByteP50: classMicros(row.FirstByte), FirstByteP95: classMicros(row.FirstByteSlow),
			DurationP50: classMicros(row.Duration), DurationP95: classMicros(row.DurationSlow),
		}
	}
	return stats, nil
}

// ProviderSteps returns how a model does at each of its providers since a time, in steps of whole hours that begin at multiples of their
// length since 1970 UTC. They are in order of time and then of provider. Steps without calls are left out.
func (r *Reports) ProviderSteps(ctx context.Context, model string, since time.Time, step time.Duration) ([]ProviderStats, error) {
	return r.providerStats(ctx, model, since, `date_bin($4 * interval '1 second', hour, 'epoch'::timestamptz)`, int64(step/time.Second))
}

// ProviderTotals returns how a model does at each of its providers since a time, by provider.
func (r *Reports) ProviderTotals(ctx context.Context, model string, since time.Time) ([]ProviderStats, error) {
	return r.providerStats(ctx, model, since, `null::timestamptz`)
}

func (r *Reports) providerStats(ctx context.Context, model string, since time.Time, start string, args ...any) ([]ProviderStats, error) {
	var rows []providerStatsRow
	err := r.db.SelectContext(ctx, &rows, `
		select start, provider,`+summaryColumns+`
		from `+cumulated("start, provider", `
			select `+start+` as start, provider, metric, bucket, sum(calls) as calls
			from model_provider_hours where model = $1 and hour >= $2 group by 1, 2, 3, 4`)+`
		group by start, provider order by start, provider limit $3`, append([]any{model, since.UTC(), statsRowsMax}, args...)...)
	if err != nil {
		return nil, postgres.StoreError("usage: statistics of providers", err)
	}
	stats := make([]ProviderStats, len(rows))
	for i, row := range rows {
		stats[i] = ProviderStats{
			Provider: row.Provider, Answered: row.Answered, Failed: row.Failed, Attempts: row.Attempts,
			SpeedP50: ofClass(row.Speed), FirstByteP50: classMicros(row.FirstByte), FirstByteP95: classMicros(row.FirstByteSlow),
			DurationP50: classMicros(row.Duration), DurationP95: classMicros(row.DurationSlow),
		}
		if row.Start != nil {
			stats[i].Start = row.Start.UTC()
		}
	}
	return stats, nil
}

// classMicros is the middle of a class of microseconds.
func classMicros(class *int16) time.Duration { return time.Duration(ofClass(class)) * time.Microsecond }

// ModelDays returns the days of a model since a given day, in order.
func (r *Reports) ModelDays(ctx context.Context, model string, since time.Time) ([]ModelDay, error) {
	var days []ModelDay
	err := r.reads.SelectContext(ctx, &days, `
		select day, answered, failed from model_days where model = $1 and day >= $2::date order by day limit $3`,
		model, since.UTC().Format(time.DateOnly), statsDaysKept)
	return days, postgres.StoreError("usage: model days", err)
}

// middles are the middles of a doubling's classes, as multiples of its lower bound in units of 1<<middleShift.
var middles = [classesDouble]int64{1_095_000, 1_194_106, 1_302_182, 1_420_040, 1_548_564, 1_688_722, 1_841_564, 2_008_240}

const (
	middleShift  = 20
	doublingsMax = 40
)

// ofClass returns the middle of a class, or zero for none.
func ofClass(class *int16) int64 {
	if class == nil || *class < 0 {
		return 0
	}
	return middles[*class%classesDouble] << min(*class/classesDouble, doublingsMax) >> middleShift
}
