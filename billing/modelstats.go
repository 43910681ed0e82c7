package billing

import (
	"context"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
)

// These limits apply to the statistics of models.
const (
	watchLag       = 15 * time.Second // Settlements of a minute may be written this long after its end.
	watchStep      = time.Hour        // One transaction covers settlements of this long.
	watchStepsMax  = 24               // One pass makes at most this many steps, which spreads a backlog over several passes.
	watchTimeMax   = 30 * time.Second // One pass takes at most this long.
	watchHour      = time.Hour
	watchDaysKept  = 100
	watchModelsMax = 10_000
	classesDouble  = 8 // Each doubling has this many classes, so a class's middle is within 5 % of every value in it.
)

// blameless lists failures that neither the gateway nor a provider caused.
var blameless = []Reason{ReasonCreditRanOut, ReasonRequestRefused, ReasonVideoRefused, ReasonVideoDeleted}

// ModelVerdict says what a reason shows about the model: it answered, it failed because of the gateway or a provider, or
// neither, because the client caused the end.
func ModelVerdict(reason Reason) (answered, failed bool) {
	rule, known := settlement[reason]
	switch {
	case !known || slices.Contains(blameless, reason):
		return false, false
	case rule.Outcome == "succeeded" || rule.Outcome == "client_left" && rule.Charge != ChargeNothing && rule.Charge != ChargeReceived:
		return true, false
	case rule.Outcome == "failed" || rule.Outcome == "cut" || rule.Outcome == "timed_out":
		return false, true
	}
	return false, false
}

// verdicts lists the reasons that count as success of a model, and those that count as failure.
func verdicts() (answered, failed []string) {
	for _, rule := range settlementOrder {
		switch good, bad := ModelVerdict(rule.Reason); {
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
	Day              time.Time `db:"day"`
	Answered, Failed int64
}

// Watch adds up the performance of models since the last pass, minute by minute. Any number of replicas may run it; a lock
// lets one at a time work. A pass is bounded because the same worker also releases credit; the next pass continues where it
// stopped.
func (l *Ledger) Watch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchTimeMax)
	defer cancel()
	for range watchStepsMax {
		more, err := l.watchStep(ctx)
		if err != nil || !more {
			return postgres.StoreError("billing: watch models", err)
		}
	}
	return nil
}

// watchStep processes the settlements of an hour at most, and reports whether there are more.
func (l *Ledger) watchStep(ctx context.Context) (more bool, err error) {
	end := l.o.Now().UTC().Add(-watchLag).Truncate(time.Minute)
	err = postgres.InTx(ctx, l.db, func(tx *sqlx.Tx) error {
		from, free, err := claimWatch(ctx, tx)
		if err != nil || !free || !from.Before(end) {
			return err
		}
		to := end
		if latest := from.Add(watchStep); latest.Before(end) {
			to, more = latest, true
		}
		return countModels(ctx, tx, from, to, end)
	})
	return more, err
}

// ModelHours returns the last hour of all models, by model. A model without calls is left out.
func (l *Ledger) ModelHours(ctx context.Context) (map[string]ModelHour, error) {
	rows, err := selectModelHours(ctx, l.db, l.o.Now().Add(-watchHour))
	if err != nil {
		return nil, postgres.StoreError("billing: model hours", err)
	}
	hours := make(map[string]ModelHour, len(rows))
	for _, r := range rows {
		hours[r.Model] = ModelHour{
			Answered: r.Answered, Failed: r.Failed, Until: r.Until.UTC(), SpeedP50: ofClass(r.Speed),
			FirstByteP50: time.Duration(ofClass(r.FirstByte)) * time.Microsecond,
			FirstByteP95: time.Duration(ofClass(r.FirstByteSlow)) * time.Microsecond,
		}
	}
	return hours, nil
}

// ModelDays returns the days of a model since a given day, in order.
func (l *Ledger) ModelDays(ctx context.Context, model string, since time.Time) ([]ModelDay, error) {
	days, err := selectModelDays(ctx, l.db, model, since)
	return days, postgres.StoreError("billing: model days", err)
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

// LastText returns an account's newest usage records of charged text calls, at most limit.
func (l *Ledger) LastText(ctx context.Context, accountID string, limit int) ([]UsageRecord, error) {
	rows, err := selectLastText(ctx, l.db, accountID, pageSize(limit))
	if err != nil {
		return nil, postgres.StoreError("billing: last text", err)
	}
	records := make([]UsageRecord, len(rows))
	for i, row := range rows {
		records[i] = row.record()
	}
	return records, nil
}
