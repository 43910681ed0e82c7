package traffic

import (
	"log/slog"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

const (
	hourMinutes         = 60
	replicasMax         = 64 // Hour reads at most this many replicas.
	minutesKept         = 2 * hourMinutes
	unwrittenMinutesMax = hourMinutes // This many minutes wait while the database is unavailable.
	countsWrittenEvery  = 5 * time.Second
	countsWriteTimeMax  = 3 * time.Second
	// inFlightWrittenEvery is how often an idle replica shows that it runs.
	inFlightWrittenEvery = 10 * time.Second
	minuteSeconds        = 60
)

// Refusal is the reason why a call was refused before any provider was called.
type Refusal uint8

// These are the refusals.
const (
	NotRefused         Refusal = iota
	RateLimited                // A rate limit of the key, the account or the model was reached.
	InsufficientCredit         // The account has too little credit.
	Overloaded                 // This replica sheds load.
	refusalCount
)

// CallResult is what Count adds for one call. A duration of zero is unknown.
type CallResult struct {
	Refused   Refusal // A refused call adds to its refusal only.
	Failed    bool    // The gateway or a provider failed.
	FirstByte time.Duration
	Overhead  time.Duration // Overhead is the duration without providers and the upload.
}

// MinuteOptions are what MinuteCounts needs. All but the logger are required.
type MinuteOptions struct {
	Now      app.Clock
	Replica  string
	InFlight func() int64
	Log      *slog.Logger // Log records failed writes of the counts; it may be nil.
}

// MinuteCounts counts the calls of one replica by minute. It is safe for concurrent use.
type MinuteCounts struct {
	db       *sqlx.DB
	repeated *postgres.Repeated
	o        MinuteOptions

	mu      sync.Mutex
	minutes [unwrittenMinutesMax]minute // The index is the minute of the hour.
	// InFlight was recorded last, at recordedAt.
	inFlight   int64
	recordedAt time.Time
}

// minute holds the counts of one minute. Its slot is reused an hour later, by a minute with another number.
type minute struct {
	number              int64 // Number counts minutes since 1970.
	calls, errors       int64
	refused             [refusalCount]int64
	inFlight, most      int64
	firstByte, overhead histogram
	dirty               bool
}

// NewMinuteCounts returns the counts of this replica. It panics when a required option is missing.
func NewMinuteCounts(db *sqlx.DB, o MinuteOptions) *MinuteCounts {
	app.RequireOptions("traffic.NewMinuteCounts", map[string]bool{
		"db": db != nil, "MinuteOptions.Now": o.Now != nil, "MinuteOptions.Replica": o.Replica != "", "MinuteOptions.InFlight": o.InFlight != nil,
	})
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &MinuteCounts{db: db, repeated: postgres.Repeat(db), o: o}
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

// minuteAt returns the slot of a minute. It empties the slot when it still holds the counts of an hour ago.
func (l *MinuteCounts) minuteAt(number int64) *minute {
	m := &l.minutes[number%unwrittenMinutesMax]
	if m.number != number {
		*m = minute{number: number}
	}
	m.dirty = true
	return m
}

// recordInFlight records how many calls are in flight. It also does so in minutes without a call, so that an idle replica
// differs from a stopped one. The same number is recorded less often.
func (l *MinuteCounts) recordInFlight() {
	now, flying := l.o.Now(), max(l.o.InFlight(), 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	if flying == l.inFlight && now.Sub(l.recordedAt) < inFlightWrittenEvery-countsWrittenEvery/2 { // The pace of ticks is not exact.
		return
	}
	l.inFlight, l.recordedAt = flying, now
	m := l.minuteAt(now.Unix() / minuteSeconds)
	m.inFlight, m.most = flying, max(m.most, flying)
}

// takeUnwritten returns copies of the minutes that changed since they were last written, and marks them as written.
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

// markUnwritten marks a minute that could not be written, unless a later minute has taken its slot.
func (l *MinuteCounts) markUnwritten(number int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := &l.minutes[number%unwrittenMinutesMax]; m.number == number {
		m.dirty = true
	}
}

// Minute is what one replica counted in one minute.
type Minute struct {
	Start   time.Time
	Replica string
	// WrittenAt is the time of the replica's last write of the minute.
	WrittenAt                                   time.Time
	Calls, Errors                               int64
	RateLimited, InsufficientCredit, Overloaded int64
	InFlight, InFlightMax                       int64 // InFlight is the count at the last write, InFlightMax the maximum over all writes.
	FirstByte, Overhead                         Durations
}
