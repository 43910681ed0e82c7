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
	keptMinutes   = 2 * hourMinutes
	pendingMax    = hourMinutes // minutes that wait while the store is away
	writtenEvery  = 5 * time.Second
	writeTimeMax  = 3 * time.Second
	minuteSeconds = 60
)

// Refusal is why a call was refused before any model was asked.
type Refusal uint8

// The refusals.
const (
	NotRefused Refusal = iota
	Limited            // by a limit of the key, the account or the model
	Unfunded           // for want of credit
	Overloaded         // since this replica had enough to do
	refusals
)

// Call is what is counted of one call. Times that are zero are not known.
type Call struct {
	Refused   Refusal // such a call is counted as refused and as nothing else
	Failed    bool    // by our fault or a provider's
	FirstByte time.Duration
	Overhead  time.Duration // what the gateway itself took of it
}

// Options of a Log. All but the logger are required.
type Options struct {
	Now      app.Clock
	Replica  string
	InFlight func() int64
	Log      *slog.Logger // Log records failed writes of the counts; it may be nil.
}

// Log counts the calls of one replica. It is safe for many goroutines.
type Log struct {
	db *sqlx.DB
	o  Options

	mu      sync.Mutex
	minutes [pendingMax]minute // by the minute of the hour
}

// minute is what was counted in one, as long as its number is still the one it was begun with.
type minute struct {
	number              int64 // since 1970
	calls, errors       int64
	refused             [refusals]int64
	inFlight, most      int64
	firstByte, overhead histogram
	dirty               bool
}

// New makes a Log. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Log {
	app.RequireOptions("pulse.New", map[string]bool{
		"db": db != nil, "Options.Now": o.Now != nil, "Options.Replica": o.Replica != "", "Options.InFlight": o.InFlight != nil,
	})
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Log{db: db, o: o}
}

// Count adds a call to its minute. It allocates nothing.
func (l *Log) Count(c Call) {
	number := l.o.Now().Unix() / minuteSeconds
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.at(number)
	if c.Refused != NotRefused {
		m.refused[min(c.Refused, refusals-1)]++
		return
	}
	m.calls++
	if c.Failed {
		m.errors++
	}
	m.firstByte.add(c.FirstByte)
	m.overhead.add(c.Overhead)
}

// at is the minute of that number, which begins empty. What it writes over is an hour old.
func (l *Log) at(number int64) *minute {
	m := &l.minutes[number%pendingMax]
	if m.number != number {
		*m = minute{number: number}
	}
	m.dirty = true
	return m
}

// look records the calls in flight, also in minutes without a call, so that a running replica differs from one that does
// not run.
func (l *Log) look() {
	now, flying := l.o.Now().Unix()/minuteSeconds, max(l.o.InFlight(), 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.at(now)
	m.inFlight, m.most = flying, max(m.most, flying)
}

// pending are copies of the minutes that were not written since they changed, and marks them as written.
func (l *Log) pending() []minute {
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

// again marks a minute that could not be written, unless a newer one has its place.
func (l *Log) again(number int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := &l.minutes[number%pendingMax]; m.number == number {
		m.dirty = true
	}
}

// Minute is what one replica counted in one minute.
type Minute struct {
	Start                         time.Time
	Replica                       string
	Seen                          time.Time // when the replica wrote it down last
	Calls, Errors                 int64
	Limited, Unfunded, Overloaded int64
	InFlight, InFlightMax         int64 // when it was written last, and the most of all times it was written
	FirstByte, Overhead           Times
}
