package admission

import (
	"fmt"
	"sync/atomic"
	"time"
)

// These are the parameters of the latency controller. Its pressure is from 0 to 1000 for trial calls, to 2000 for paid ones and to
// 3000 for critical ones. It rises faster the greater the scheduling delay is, and falls steadily, so that a process without delay
// admits all calls again.
const (
	lookEvery = 50 * time.Millisecond
	climbMax  = 120 // The pressure rises by at most this many thousandths per look.
	climbPer  = 40  // The pressure rises by this many thousandths per look for each LateMax of delay.
	fall      = 40  // The pressure falls by this many thousandths per look.
	// patience is how many looks in a row must be late before the first call is refused. A shorter queue is a burst, which ends by itself.
	patience = 10
	// patienceAgain is the number of late looks while calls are already refused.
	patienceAgain  = 2
	pressureMax    = int64(classes) * perMille
	paidLetMin     = 50  // At least this many thousandths of paid calls pass: delay alone never stops the service.
	criticalLetMin = 200 // At least this many thousandths of critical requests pass, so that people can see the state.
	waitsSeenMin   = 16  // A look with fewer waiting goroutines says nothing.
)

// Sample is one measurement of the process.
type Sample struct {
	Late   time.Duration // Late is how late nine of ten goroutines got to run at most since the previous sample.
	Queued time.Duration // Queued is how late half of them got to run at most. It is long only while a queue stands.
	Waited uint64        // Waited is the number of goroutines that were measured.
	Held   int64         // Held is in bytes. It excludes garbage and free memory.

	InUse       int64  // InUse is how many bytes the last garbage collection has found in use, with stacks and globals.
	Collections uint64 // Collections counts garbage collections since the process started.
}

// latencyController computes which part of each class is admitted. One goroutine updates it; requests only read whether the process is
// late.
type latencyController struct {
	late     atomic.Bool
	pressure int64
	row      int // Row counts late looks in a row.
	// Shut counts measurements in a row between which no call was admitted, and at which no call could have been.
	shut    atomic.Int64
	entered uint64 // Entered is Controller.entered at the last look.
}

// shutMax is how long a replica that admits no calls counts as overloaded for a moment only.
const shutMax = 30 * time.Second

// Shut returns why no calls were admitted for longer than shutMax, and nil otherwise.
func (g *Controller) Shut() error {
	if time.Duration(g.latency.shut.Load())*lookEvery < shutMax {
		return nil
	}
	if g.inFlight.Load() >= g.places(Paid) {
		return fmt.Errorf("overload: all %d places have been taken for %v", g.places(Paid), shutMax)
	}
	return fmt.Errorf("overload: memory has been full for %v", shutMax)
}

// countShutMeasurements counts the measurements in a row at which no call could be admitted. The count starts again when a call was
// admitted in between.
func (g *Controller) countShutMeasurements() {
	entered := g.entered.Load()
	if entered != g.latency.entered || g.misses(Paid, g.inFlight.Load()+1) == noReason {
		g.latency.shut.Store(0)
	} else {
		g.latency.shut.Add(1)
	}
	g.latency.entered = entered
}

// Look takes a measurement and decides how many calls are admitted until the next one. Delay refuses calls only when it lasts: in each of
// the last looks, half of the goroutines waited for longer than is allowed. A burst of work passes sooner, and its calls are served later
// but not refused. Calls of Look must not overlap.
func (g *Controller) Look(r Sample) {
	g.held.Store(r.Held)
	g.late.Store(int64(r.Late))
	g.countShutMeasurements()
	l := &g.latency
	if r.Queued > g.o.LateMax && r.Waited >= waitsSeenMin && g.inFlight.Load() >= g.o.Busy {
		if l.row++; l.row >= patience || l.row >= patienceAgain && l.pressure > 0 {
			over := int64((r.Queued - g.o.LateMax) * climbPer / g.o.LateMax)
			l.pressure = min(pressureMax, l.pressure+min(climbMax, climbPer+over))
		}
	} else {
		l.row = 0
		l.pressure = max(0, l.pressure-fall)
	}
	for class, letMin := range [classes]int64{Trial: 0, Paid: paidLetMin, Critical: criticalLetMin} {
		g.let[class].Store(min(perMille, max(letMin, (int64(class)+1)*perMille-l.pressure)))
	}
	l.late.Store(l.pressure > 0)
}
