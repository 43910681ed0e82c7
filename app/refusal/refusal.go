package refusal

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
)

// These limits bound what refusals cost. Each replica has its own.
const (
	eachPerMinute = 90              // So many refusals of an account and code have a row each in a minute.
	sampleEvery   = 7 * time.Second // Beyond these, one row in this time stands for all others: at most 10 rows a minute.
	pendingMax    = 4096            // So many rows wait to be written.
	subjectsMax   = 4096            // So many pairs of an account and a code are counted.
	unknownMax    = 256             // So many requests wait for the lookup of their key.
	retention     = 400 * 24 * time.Hour
)

// KeyOwner finds the key of a secret whether or not it may be used. It returns false for a secret that no key has.
type KeyOwner func(ctx context.Context, secret string) (accountID, keyID string, found bool)

// Options configure a log. All but Kept are required.
type Options struct {
	Now   app.Clock
	Log   *slog.Logger
	Owner KeyOwner
	// Kept is how long refusals are kept. Zero means 400 days.
	Kept time.Duration
}

// Log collects refusals in memory and writes them behind the calls. It is safe for concurrent use.
type Log struct {
	db *sqlx.DB
	o  Options

	mu      sync.Mutex
	pending []Record
	// unknown are records whose account is not known yet.
	unknown  []Record
	subjects map[subject]*minuteCount
	// added wakes Run after the first record since it wrote.
	added chan struct{}

	written, dropped atomic.Int64
}

// subject is what the limits count by.
type subject struct{ accountID, code string }

// minuteCount is what one subject had in its minute.
type minuteCount struct {
	minute int64 // Minute is the Unix time in minutes.
	each   int
	// Sample is the latest refusal that has no row yet, and Represents counts all of these.
	sample Record
	// SampledAt is when the last sample was taken.
	sampledAt time.Time
}

// New returns a log. Run writes what Record collects. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Log {
	app.RequireOptions("refusal.New", map[string]bool{
		"db": db != nil, "Options.Now": o.Now != nil, "Options.Log": o.Log != nil, "Options.Owner": o.Owner != nil,
	})
	o.Kept = cmp.Or(o.Kept, retention)
	return &Log{db: db, o: o, subjects: map[subject]*minuteCount{}, added: make(chan struct{}, 1)}
}

// Record adds a refusal to those that Run writes. It never waits. A record without an account and a secret is left out.
func (l *Log) Record(r Record) {
	if r.AccountID == "" && r.Secret == "" {
		return
	}
	defer l.wake()
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.AccountID != "" {
		l.count(r)
		return
	}
	if len(l.unknown) >= unknownMax {
		l.dropped.Add(1) // It may be the request of a stranger.
		return
	}
	l.unknown = append(l.unknown, r)
}

// wake lets Run write soon.
func (l *Log) wake() {
	app.Wake(l.added)
}

// count gives a refusal a row of its own, or adds it to the sample of its subject. The caller holds the lock.
func (l *Log) count(r Record) {
	r.Secret = ""
	at := subject{r.AccountID, r.Code}
	c, known := l.subjects[at]
	if !known {
		if len(l.subjects) >= subjectsMax {
			l.dropped.Add(1)
			return
		}
		c = &minuteCount{}
		l.subjects[at] = c
	}
	if minute := r.At.Unix() / 60; minute > c.minute {
		c.minute, c.each = minute, 0
	}
	if c.each < eachPerMinute && len(l.pending) < pendingMax {
		c.each++
		l.pending = append(l.pending, r)
		return
	}
	if c.sample.Represents == 0 && c.sampledAt.IsZero() {
		c.sampledAt = r.At
	}
	r.Represents = c.sample.Represents + 1
	c.sample = r
}

// takeDue returns the rows to write now: those that wait, and the samples whose time has come. It forgets subjects that were quiet for
// a minute.
func (l *Log) takeDue(now time.Time, all bool) []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := l.pending
	l.pending = nil
	for at, c := range l.subjects {
		switch {
		case c.sample.Represents > 0 && (all || now.Sub(c.sampledAt) >= sampleEvery):
			due = append(due, c.sample)
			c.sample, c.sampledAt = Record{}, now
		case c.sample.Represents == 0 && now.Unix()/60 > c.minute:
			delete(l.subjects, at)
		}
	}
	return due
}

// putBack keeps rows that could not be written, as far as there is room.
func (l *Log) putBack(rows []Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := min(max(pendingMax-len(l.pending), 0), len(rows))
	l.drop(rows[kept:])
	l.pending = append(rows[:kept:kept], l.pending...)
}

// drop counts rows that are lost.
func (l *Log) drop(rows []Record) {
	for i := range rows {
		l.dropped.Add(rows[i].Represents)
	}
}

// takeUnknown returns the records whose account is not known yet.
func (l *Log) takeUnknown() []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.unknown
	l.unknown = nil
	return taken
}

// Stats are how many refusals were written and lost since the process began. A row counts as many as it stands for.
type Stats struct{ Written, Dropped int64 }

// Stats returns the counts.
func (l *Log) Stats() Stats { return Stats{Written: l.written.Load(), Dropped: l.dropped.Load()} }
