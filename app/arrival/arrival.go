// Package arrival keeps the latest call of each account that leaves no usage record: a refused call, or one that only
// lists models. It shows a customer who sets a program up the result of the call, on every replica. It stores neither
// contents nor secrets, and deletes its rows after minutes.
package arrival

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
)

const (
	// Calls of so many subjects wait to be written. While there are that many, calls of other subjects are not recorded.
	pendingMax = 1024
	// Of the pending subjects so many may be IP addresses, so that a flood of unknown keys cannot crowd out accounts.
	strangersMax = 64
	writtenEvery = time.Second
	writeTimeMax = 2 * time.Second
	keptFor      = 15 * time.Minute
	wordBytesMax = 200 // of anything that a caller may have chosen
)

// Call is a call of the API that has ended.
type Call struct {
	At        time.Time `db:"at"`
	RequestID string    `db:"request_id"`
	AccountID string    `db:"-"` // AccountID is empty when the key is unknown.
	IP        string    `db:"-"`
	KeyID     string    `db:"key_id"`
	Method    string    `db:"method"`
	Route     string    `db:"route"`
	Style     string    `db:"style"`
	Model     string    `db:"model"`
	Status    int       `db:"status"`
	Code      string    `db:"code"`
	Refused   bool      `db:"refused"`
}

// subject is whose latest call it is: the account's, or the IP address's when the key is unknown.
func (c *Call) subject() string { return cmp.Or(c.AccountID, ofAddress(c.IP)) }

func ofAddress(ip string) string { return "ip:" + ip }

// Log keeps calls. It is safe for many goroutines.
type Log struct {
	db  *sqlx.DB
	now app.Clock
	log *slog.Logger

	mu        sync.Mutex
	pending   map[place]Call
	strangers int // of the pending
}

// place is where a call takes the place of the one before.
type place struct {
	subject string
	refused bool
}

// New makes a Log.
func New(db *sqlx.DB, now app.Clock, log *slog.Logger) *Log {
	return &Log{db: db, now: now, log: log, pending: map[place]Call{}}
}

// Record takes a call down. It never waits: beyond what waits to be written, calls are passed over.
func (l *Log) Record(c Call) {
	for _, word := range []*string{&c.RequestID, &c.KeyID, &c.Method, &c.Route, &c.Style, &c.Model, &c.Code} {
		if len(*word) > wordBytesMax || !utf8.ValidString(*word) || strings.ContainsRune(*word, 0) { // which the store would refuse
			*word = ""
		}
	}
	at := place{c.subject(), c.Refused}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.pending[at]; !known {
		if len(l.pending) >= pendingMax || c.AccountID == "" && l.strangers >= strangersMax {
			return
		}
		if c.AccountID == "" {
			l.strangers++
		}
	}
	l.pending[at] = c
}

// take empties what waits.
func (l *Log) take() map[place]Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		return nil
	}
	taken := l.pending
	l.pending, l.strangers = map[place]Call{}, 0
	return taken
}

// RecentCalls lists the calls of an account, and those with an unknown key from an address, since a moment, newest first.
func (l *Log) RecentCalls(ctx context.Context, accountID, ip string, from time.Time) ([]Call, error) {
	return l.read(ctx, accountID, ofAddress(ip), from)
}
