package lease

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// kept lists seeds that once found a defect.
var kept = []struct {
	seed uint64
	why  string
}{
	{0, "the answer to a lease that was returned was read as an error"},
	{1097, "a frozen account kept credit that no lease held"},
	{1559, "a refusal hid that an earlier take may have worked"},
	{2331, "a run that others took for lost settled calls that they had settled, without a journal"},
}

// play runs a seed and logs the seed so that it can be run again.
func play(seed uint64, change func(*options)) error {
	o := deriveOptions(seed)
	if change != nil {
		change(&o)
	}
	err := newWorld(seed, o).run()
	if err == nil {
		return nil
	}
	w := newWorld(seed, o)
	w.telling = true
	if again := w.run(); again == nil || again.Error() != err.Error() {
		return fmt.Errorf("seed %d, options %+v: %w, and when played again: %w", seed, o, err, again)
	}
	return fmt.Errorf("%w\nseed %d, options %+v\n%s", err, seed, o, w.story())
}

func TestMoneyIsRightUnderEverySeed(t *testing.T) {
	t.Parallel()
	var next, failures atomic.Uint64
	for worker := range simWorkers {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for seed := next.Add(1); seed <= simSeeds && failures.Load() == 0; seed = next.Add(1) {
				if err := play(seed, nil); err != nil {
					failures.Add(1)
					t.Error(err)
				}
			}
		})
	}
}

func TestSeedsThatFoundSomethingFindNothingMore(t *testing.T) {
	t.Parallel()
	for _, k := range kept {
		if err := play(k.seed, func(o *options) { o.limits, o.ahead = 0, false }); err != nil {
			t.Errorf("%s: %v", k.why, err)
		}
	}
}

func TestTheSimulatorCatchesAnswersBeforeTheJournalIsDurable(t *testing.T) {
	t.Parallel()
	caught(t, func(o *options) { o.eager, o.journal = true, true })
}

func TestTheSimulatorCatchesApplyingWithoutTheCursor(t *testing.T) {
	t.Parallel()
	caught(t, func(o *options) { o.careless = true })
}

// caught fails unless a seed finds the defect.
func caught(t *testing.T, mistake func(*options)) {
	t.Helper()
	for seed := range uint64(controlSeeds) {
		if err := play(seed, mistake); err != nil {
			t.Logf("caught after %d seeds", seed+1)
			return
		}
	}
	t.Errorf("%d seeds found nothing", controlSeeds)
}

const controlSeeds = 200
