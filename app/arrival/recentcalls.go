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
	pendingCallsMax = 1024
	// Of the pending subjects so many may be IP addresses, so that a flood of unknown keys cannot crowd out accounts.
	pendingAddressesMax = 64
	callsWrittenEvery = time.Second
	callsWriteTimeMax = 2 * time.Second
	callsKeptFor      = 15 * time.Minute
	fieldBytesMax = 200 // of anything that a caller may have chosen
)

// RecentCall is a call of the API that has ended.
type RecentCall struct {
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
func (c *RecentCall) subject() string { return cmp.Or(c.AccountID, addressSubject(c.IP)) }

func addressSubject(ip string) string { return "ip:" + ip }

// RecentCalls keeps calls. It is safe for many goroutines.
type RecentCalls struct {
	db  *sqlx.DB
	now app.Clock
	log *slog.Logger

	mu        sync.Mutex
	pending   map[pendingKey]RecentCall
	pendingAddresses int // of the pending
}

// pendingKey is where a call takes the place of the one before.
type pendingKey struct {
	subject string
	refused bool
}

// NewRecentCalls makes a Log.
func NewRecentCalls(db *sqlx.DB, now app.Clock, log *slog.Logger) *RecentCalls {
	return &RecentCalls{db: db, now: now, log: log, pending: map[pendingKey]RecentCall{}}
}

// Record takes a call down. It never waits: beyond what waits to be written, calls are passed over.
func (l *RecentCalls) Record(c RecentCall) {
	for _, word := range []*string{&c.RequestID, &c.KeyID, &c.Method, &c.Route, &c.Style, &c.Model, &c.Code} {
		if len(*word) > fieldBytesMax || !utf8.ValidString(*word) || strings.ContainsRune(*word, 0) { // which the store would refuse
			*word = ""
		}
	}
	at := pendingKey{c.subject(), c.Refused}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.pending[at]; !known {
		if len(l.pending) >= pendingCallsMax || c.AccountID == "" && l.pendingAddresses >= pendingAddressesMax {
			return
		}
		if c.AccountID == "" {
			l.pendingAddresses++
		}
	}
	l.pending[at] = c
}

// takePending empties what waits.
func (l *RecentCalls) takePending() map[pendingKey]RecentCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		return nil
	}
	taken := l.pending
	l.pending, l.pendingAddresses = map[pendingKey]RecentCall{}, 0
	return taken
}

// List lists the calls of an account, and those with an unknown key from an address, since a moment, newest first.
func (l *RecentCalls) List(ctx context.Context, accountID, ip string, from time.Time) ([]RecentCall, error) {
	return l.read(ctx, accountID, addressSubject(ip), from)
}
