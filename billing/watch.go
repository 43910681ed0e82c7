package billing

import (
	"context"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
)

// Limits of the watch over models.
const (
	watchLag       = 15 * time.Second // settlements of a minute may be written so much after its end
	watchStep      = time.Hour        // of settlements in one transaction
	watchStepsMax  = 24               // of one pass, so that a backlog is worked off bit by bit
	watchTimeMax   = 30 * time.Second // of one pass
	watchHour      = time.Hour
	watchDaysKept  = 100
	watchModelsMax = 10_000
	classesDouble  = 8 // classes of a doubling, so that the middle of one is within a twentieth of whatever fell into it
)

// blameless are endings that are failures, but neither ours nor a provider's.
var blameless = []Reason{ReasonCreditRanOut, ReasonRequestRefused, ReasonVideoRefused, ReasonVideoDeleted}

// ModelVerdict says how a call that ended for this reason speaks of its model: it was answered, it failed through our fault or a
// provider's, or neither, because the reason lies with the client.
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

// verdicts are the reasons that speak for a model, and those that speak against it.
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

// ModelHour is how a model did in the last hour, over all accounts. What is not known is zero.
type ModelHour struct {
	Answered, Failed           int64
	FirstByteP50, FirstByteP95 time.Duration // until the first token of streamed answers
	SpeedP50                   int64         // thousandths of tokens a second, of streamed answers
	Until                      time.Time
}

// ModelDay is how a model did on one day of UTC, over all accounts. Days without calls are left out.
type ModelDay struct {
	Day              time.Time `db:"day"`
	Answered, Failed int64
}

// Watch adds up how models did since the last time, minute by minute. Any number of replicas may run it: one at a time does. A
// pass ends in time for what the same worker does about money; what it has left is taken up by the next.
func (l *Ledger) Watch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchTimeMax)
	defer cancel()
	for range watchStepsMax {
		more, err := l.watchStep(ctx)
		if err != nil || !more {
			return wrap("watch models", err)
		}
	}
	return nil
}

// watchStep passes over the settlements of an hour at most, and says whether there are more to pass over.
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

// ModelHours is how all models did in the last hour, by model. A model that nobody called is left out.
func (l *Ledger) ModelHours(ctx context.Context) (map[string]ModelHour, error) {
	rows, err := selectModelHours(ctx, l.db, l.o.Now().Add(-watchHour))
	if err != nil {
		return nil, wrap("model hours", err)
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

// ModelDays is how a model did since a day, in order of time.
func (l *Ledger) ModelDays(ctx context.Context, model string, since time.Time) ([]ModelDay, error) {
	days, err := selectModelDays(ctx, l.db, model, since)
	return days, wrap("model days", err)
}

// middles are where the classes of a doubling have their middles, as multiples of its beginning in units of 1<<middleShift.
var middles = [classesDouble]int64{1_095_000, 1_194_106, 1_302_182, 1_420_040, 1_548_564, 1_688_722, 1_841_564, 2_008_240}

const (
	middleShift  = 20
	doublingsMax = 40
)

// ofClass is the middle of a class, zero for none.
func ofClass(class *int16) int64 {
	if class == nil || *class < 0 {
		return 0
	}
	return middles[*class%classesDouble] << min(*class/classesDouble, doublingsMax) >> middleShift
}

// LastText are an account's newest usage records of text calls that were charged, at most limit.
func (l *Ledger) LastText(ctx context.Context, accountID string, limit int) ([]UsageRecord, error) {
	rows, err := selectLastText(ctx, l.db, accountID, pageSize(limit))
	if err != nil {
		return nil, wrap("last text", err)
	}
	records := make([]UsageRecord, len(rows))
	for i, row := range rows {
		records[i] = row.record()
	}
	return records, nil
}
