package traffic

import (
	"cmp"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
)

const (
	// This many subjects have a call that waits to be written. While there are that many, calls of other subjects are not recorded.
	pendingCallsMax = 1024
	// At most this many pending subjects are IP addresses, so that a flood of unknown keys cannot crowd out accounts.
	pendingAddressesMax = 64
	callsWrittenAfter   = time.Second // Calls of so much time are written together.
	callsSweptEvery     = time.Minute
	callsWriteTimeMax   = 2 * time.Second
	callsKeptFor        = 15 * time.Minute
	fieldBytesMax       = 200 // A value that a caller may have chosen has at most this many bytes.
)

// RecentCall is a call of the API that has ended and left no usage record.
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
	Reason    string    `db:"reason"` // Reason tells causes of one code apart.
	Refused   bool      `db:"refused"`
}

// subject returns the account whose latest call this is, or the IP address when the key is unknown.
func (c *RecentCall) subject() string { return cmp.Or(c.AccountID, addressSubject(c.IP)) }

func addressSubject(ip string) string { return "ip:" + ip }

// RecentCalls stores the latest call of each account that left no usage record. It is safe for concurrent use.
type RecentCalls struct {
	db  *sqlx.DB
	now app.Clock
	log *slog.Logger

	mu      sync.Mutex
	pending map[pendingKey]RecentCall
	// added wakes Run after the first call since it wrote.
	added chan struct{}
	// PendingAddresses counts the keys of pending that are IP addresses.
	pendingAddresses int
}

// pendingKey identifies the call that a later one replaces. An account has one refused call and one answered call.
type pendingKey struct {
	subject string
	refused bool
}

// NewRecentCalls returns a store of recent calls. Run writes what Record collects.
func NewRecentCalls(db *sqlx.DB, now app.Clock, log *slog.Logger) *RecentCalls {
	return &RecentCalls{db: db, now: now, log: log, pending: map[pendingKey]RecentCall{}, added: make(chan struct{}, 1)}
}

// Record adds a call to those that Run writes. It never blocks: when too many subjects are pending, it drops the call.
func (l *RecentCalls) Record(c RecentCall) {
	for _, word := range []*string{&c.RequestID, &c.KeyID, &c.Method, &c.Route, &c.Style, &c.Model, &c.Code, &c.Reason} {
		if len(*word) > fieldBytesMax || !utf8.ValidString(*word) || strings.ContainsRune(*word, 0) { // Postgres refuses such text.
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
	app.Wake(l.added)
}

// takePending returns the pending calls and empties the list.
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
