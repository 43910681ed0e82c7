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
	statsHour       = time.Hour
	statsDaysKept   = 100
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

// ModelHour is the performance of a model in the last hour, over all accounts. Unknown values are zero.
type ModelHour struct {
	Answered, Failed           int64
	FirstByteP50, FirstByteP95 time.Duration // These are times until the first token of streamed answers.
	SpeedP50                   int64         // The speed is in thousandths of a token per second, of streamed answers.
	Until                      time.Time
}

// ModelDay is the performance of a model on one day of UTC, over all accounts. Days without calls are left out.
type ModelDay struct {
	Day      time.Time `db:"day"`
	Answered int64     `db:"answered"`
	Failed   int64     `db:"failed"`
}

// UpdateModelStats adds up the performance of models since the last pass, minute by minute. Any number of replicas may run it; a lock
// lets one at a time work. A pass is bounded because the same worker also releases credit; the next pass continues where it
// stopped.
func (r *Reports) UpdateModelStats(ctx context.Context) error {
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

// statsStepLength processes the settlements of an hour at most, and reports whether there are more.
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

// ModelHours returns the last hour of all models, by model. A model without calls is left out.
func (r *Reports) ModelHours(ctx context.Context) (map[string]ModelHour, error) {
	var rows []modelHourRow
	err := r.db.SelectContext(ctx, &rows, `
		select model, answered, failed, first_byte_p50, first_byte_p95, speed_p50, until from model_hours where until >= $1 limit $2`,
		r.o.Now().Add(-statsHour).UTC(), statsModelsMax)
	if err != nil {
		return nil, postgres.StoreError("usage: model hours", err)
	}
	hours := make(map[string]ModelHour, len(rows))
	for _, row := range rows {
		hours[row.Model] = ModelHour{
			Answered: row.Answered, Failed: row.Failed, Until: row.Until.UTC(), SpeedP50: ofClass(row.Speed),
			FirstByteP50: time.Duration(ofClass(row.FirstByte)) * time.Microsecond,
			FirstByteP95: time.Duration(ofClass(row.FirstByteSlow)) * time.Microsecond,
		}
	}
	return hours, nil
}

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
