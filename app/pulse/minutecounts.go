// Package pulse keeps what the calls of the last hour were like, minute by minute: each replica counts its own and writes them
// down every few seconds, so that every replica can tell of all. It knows no request, no model and no client.
package pulse

import (
	"log/slog"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
)

const (
	hourMinutes   = 60
	replicasMax   = 64 // told of
	minutesKept   = 2 * hourMinutes
	unwrittenMinutesMax    = hourMinutes // minutes that wait while the store is away
	countsWrittenEvery  = 5 * time.Second
	countsWriteTimeMax  = 3 * time.Second
	minuteSeconds = 60
)

// Refusal is why a call was refused before any model was asked.
type Refusal uint8

// The refusals.
const (
	NotRefused Refusal = iota
	RateLimited            // by a limit of the key, the account or the model
	InsufficientCredit           // for want of credit
	Overloaded         // since this replica had enough to do
	refusalCount
)

// CallResult is what is counted of one call. Times that are zero are not known.
type CallResult struct {
	Refused   Refusal // such a call is counted as refused and as nothing else
	Failed    bool    // by our fault or a provider's
	FirstByte time.Duration
	Overhead  time.Duration // what the gateway itself took of it
}

// MinuteOptions of a Log. All but the logger are required.
type MinuteOptions struct {
	Now      app.Clock
	Replica  string
	InFlight func() int64
	Log      *slog.Logger // Log records failed writes of the counts; it may be nil.
}

// MinuteCounts counts the calls of one replica. It is safe for many goroutines.
type MinuteCounts struct {
	db *sqlx.DB
	o  MinuteOptions

	mu      sync.Mutex
	minutes [unwrittenMinutesMax]minute // by the minute of the hour
}

// minute is what was counted in one, as long as its number is still the one it was begun with.
type minute struct {
	number              int64 // since 1970
	calls, errors       int64
	refused             [refusalCount]int64
	inFlight, most      int64
	firstByte, overhead histogram
	dirty               bool
}

// NewMinuteCounts makes a Log. It panics when an option is missing, which is a mistake in the wiring.
func NewMinuteCounts(db *sqlx.DB, o MinuteOptions) *MinuteCounts {
	if db == nil || o.Now == nil || o.Replica == "" || o.InFlight == nil {
		panic("pulse: a store, a clock, a name and what is in flight are required")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &MinuteCounts{db: db, o: o}
}

// Count adds a call to its minute. It allocates nothing.
func (l *MinuteCounts) Count(c CallResult) {
	number := l.o.Now().Unix() / minuteSeconds
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.minuteAt(number)
	if c.Refused != NotRefused {
		m.refused[min(c.Refused, refusalCount-1)]++
		return
	}
	m.calls++
	if c.Failed {
		m.errors++
	}
	m.firstByte.add(c.FirstByte)
	m.overhead.add(c.Overhead)
}

// minuteAt is the minute of that number, which begins empty. What it writes over is an hour old.
func (l *MinuteCounts) minuteAt(number int64) *minute {
	m := &l.minutes[number%unwrittenMinutesMax]
	if m.number != number {
		*m = minute{number: number}
	}
	m.dirty = true
	return m
}

// recordInFlight records the calls in flight, also in minutes without a call, so that a running replica differs from one that does
// not run.
func (l *MinuteCounts) recordInFlight() {
	now, flying := l.o.Now().Unix()/minuteSeconds, max(l.o.InFlight(), 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.minuteAt(now)
	m.inFlight, m.most = flying, max(m.most, flying)
}

// takeUnwritten are copies of the minutes that were not written since they changed, and marks them as written.
func (l *MinuteCounts) takeUnwritten() []minute {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []minute
	for i := range l.minutes {
		if m := &l.minutes[i]; m.dirty {
			m.dirty = false
			all = append(all, *m)
		}
	}
	return all
}

// markUnwritten marks a minute that could not be written, unless a newer one has its place.
func (l *MinuteCounts) markUnwritten(number int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := &l.minutes[number%unwrittenMinutesMax]; m.number == number {
		m.dirty = true
	}
}

// Minute is what one replica counted in one minute.
type Minute struct {
	Start                         time.Time
	Replica                       string
	WrittenAt                          time.Time // when the replica wrote it down last
	Calls, Errors                 int64
	RateLimited, InsufficientCredit, Overloaded int64
	InFlight, InFlightMax         int64 // when it was written last, and the most of all times it was written
	FirstByte, Overhead           Durations
}
