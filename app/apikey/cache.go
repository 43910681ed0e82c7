package apikey

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/singleflight"

	"umg/app"
	"umg/app/postgres"
	"umg/app/seal"
)

// These are limits of the cache. While notifications arrive, a key in memory is as good as its row, but is still read again now and
// then. While they do not, it is read again soon. While the store is also away, the last known key is good for a while, because an
// outage of the store must not end every customer's work.
const (
	ringKeysMax    = 100_000
	ringUnknownMax = 10_000
	hearingAgeMax  = 5 * time.Minute
	deafAgeMax     = 5 * time.Second
	unknownAgeMax  = 30 * time.Second
	lastGoodMax    = 10 * time.Minute
	lookupsMax     = 8    // This limits parallel queries for unknown keys: replicas that start together share a database.
	lookupQueueMax = 1024 // When this many keys wait for a query, further ones are asked to retry.
	lookupMax      = 2 * time.Second
	awayPause      = 500 * time.Millisecond // No query starts for this long after a failed one.
	usedEvery      = time.Minute            // This is the precision of last_used_at.
	usedMax        = 50_000                 // At most this many uses wait to be written.
)

// errLookupQueue is what keys get that come when too many wait already: the store is slow, and nothing is said about them.
var errLookupQueue = errors.New("apikey: find key: too many keys wait to be looked up")

// CacheOptions configure a cache. Both are required.
type CacheOptions struct {
	Now app.Clock
	Log *slog.Logger
}

// Cache recognises API keys from memory, and reads those that it has not seen from the database.
type Cache struct {
	db      *sqlx.DB
	o       CacheOptions
	flight  singleflight.Group
	lookups chan struct{} // Lookups has a slot for each query.
	queued  atomic.Int64  // Queued counts queries that wait for a slot or have one.

	mu   sync.RWMutex
	keys map[seal.Fingerprint]*cachedKey
	// Unknown holds the time at which the database answered that it does not have a key.
	unknown map[seal.Fingerprint]time.Time
	epoch   uint64 // Entries of an earlier epoch must be read again.
	// Reading has the keys that queries run for, and whether a notification of the key overtook its query.
	reading map[seal.Fingerprint]bool
	hearing bool // Hearing means that notifications arrive.
	// DeafAt is the time at which notifications stopped.
	deafAt time.Time
	// RetryAt is the time from which the next query may start.
	retryAt time.Time
	away    bool // Away means that the last query failed, and no notification has arrived since.

	queries atomic.Int64 // Queries counts queries for tests.

	usedMu   sync.Mutex
	used     map[seal.Fingerprint]secretUse // Used has the uses that are not written yet.
	networks map[networkUse]time.Time       // Networks has the networks that are not written yet.
}

// cachedKey is a key in memory, under one of its secrets. The cache's lock guards all members that are not atomic.
type cachedKey struct {
	key      Key
	previous bool // The secret is the one from before the last rotation.
	readAt   time.Time
	epoch    uint64
	usedAt   atomic.Int64                   // UsedAt is the last noted use of the secret, in Unix seconds.
	from     atomic.Pointer[string]         // From is the address whose network was noted last.
	networks atomic.Pointer[[]netip.Prefix] // Networks are those noted since the key was read.
}

// NewCache returns an empty cache. It panics when a required option is missing.
func NewCache(db *sqlx.DB, o CacheOptions) *Cache {
	app.RequireOptions("apikey.NewCache", map[string]bool{
		"db": db != nil, "CacheOptions.Now": o.Now != nil, "CacheOptions.Log": o.Log != nil,
	})
	return &Cache{
		db: db, o: o, lookups: make(chan struct{}, lookupsMax), deafAt: o.Now(),
		keys: map[seal.Fingerprint]*cachedKey{}, unknown: map[seal.Fingerprint]time.Time{}, used: map[seal.Fingerprint]secretUse{},
		networks: map[networkUse]time.Time{}, reading: map[seal.Fingerprint]bool{},
	}
}

// Find returns the key of a secret that came from an address, or why it may not be used: unknown, deleted, disabled, expired,
// rotated, or not allowed from there. A malformed key is refused without a query. When the database is unavailable the error says
// so, and never that the key is unknown. A refusal of a known key also returns the key, so that logs can name it.
func (r *Cache) Find(ctx context.Context, secret, from string) (Key, error) {
	now := r.o.Now()
	k, f, err := r.find(ctx, secret, now)
	if err != nil {
		return Key{}, err
	}
	found, err := k.admit(from, now)
	if err != nil {
		return found, err
	}
	r.noteUse(k, f, from, now)
	r.noteNetwork(k, f, from, now)
	return found, nil
}

// Check returns the error that Find would return, and does not count as a use of the key.
func (r *Cache) Check(ctx context.Context, secret, from string) error {
	now := r.o.Now()
	k, _, err := r.find(ctx, secret, now)
	if err != nil {
		return err
	}
	_, err = k.admit(from, now)
	return err
}

// Owner returns the account and the id of the key that a secret belongs to, also when the key may not be used. It does not count as a
// use of the key.
func (r *Cache) Owner(ctx context.Context, secret string) (accountID, keyID string, found bool) {
	k, _, err := r.find(ctx, secret, r.o.Now())
	if err != nil {
		return "", "", false
	}
	return k.key.AccountID, k.key.ID, true
}

func (r *Cache) find(ctx context.Context, secret string, now time.Time) (*cachedKey, seal.Fingerprint, error) {
	if !wellFormed(secret) {
		return nil, seal.Fingerprint{}, errBrokenKey(secret)
	}
	f := seal.FingerprintOf(secret)
	k, known, fresh := r.recall(f, now)
	if !fresh {
		var err error
		if k, err = r.ask(ctx, f, now); err != nil {
			return nil, f, err
		}
		known = k != nil
	}
	if !known {
		return nil, f, errUnknownKey()
	}
	return k, f, nil
}

func (k *cachedKey) admit(from string, now time.Time) (Key, error) {
	switch {
	case k.previous && !now.Before(*k.key.Secret.PreviousUntil):
		return k.key, app.Errorf(app.Unauthenticated, "key_rotated",
			"This API key was rotated, and its old secret ended on %s. Use the new one.", moment(*k.key.Secret.PreviousUntil)).Final()
	case k.key.Disabled:
		return k.key, app.Errorf(app.Unauthenticated, "key_disabled",
			"This API key is disabled. Enable it in the console under API keys, or use another one.").Final()
	case k.key.ExpiresAt != nil && !now.Before(*k.key.ExpiresAt):
		return k.key, app.Errorf(app.Unauthenticated, "key_expired",
			"This API key expired on %s. Create a new one in the console under API keys.", moment(*k.key.ExpiresAt)).Final()
	case !k.key.permits(from):
		return k.key, app.Errorf(app.Forbidden, "address_not_allowed",
			"The key %q is not taken from the address %s. Add the address to the key's list, or use another key.", k.key.Name, from).Final()
	}
	return k.key, nil
}

// moment is a time as errors say it.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 at 15:04 UTC") }

func errUnknownKey() error {
	return app.Errorf(app.Unauthenticated, "invalid_api_key",
		"The API key is not known here: it was deleted, or belongs to another environment. Use a key from the console of this gateway.").
		For(app.ReasonKeyUnknown).Final()
}

// errBrokenKey refuses what cannot be a key. It repeats nothing of it: it may be the key of another service.
func errBrokenKey(secret string) error {
	const whole = len(secretPrefix) + secretChars + checksumChars
	switch {
	case !strings.HasPrefix(secret, secretPrefix):
		return app.Errorf(app.Unauthenticated, "invalid_api_key",
			"What the request bears is not a key of this gateway: those begin with %s. Create one in the console under API keys.",
			secretPrefix).For(app.ReasonKeyForeign).Final()
	case len(secret) < whole:
		return app.Errorf(app.Unauthenticated, "invalid_api_key",
			"The API key is cut: it has %d characters, and a whole one has %d. Copy it again.", len(secret), whole).For(app.ReasonKeyCut).Final()
	case len(secret) > whole:
		return app.Errorf(app.Unauthenticated, "invalid_api_key",
			"The API key has %d characters, and a whole one has %d. Copy it again, without quotes and other text around it.",
			len(secret), whole).For(app.ReasonKeyLong).Final()
	default:
		return app.Errorf(app.Unauthenticated, "invalid_api_key",
			"The API key was mistyped: at least one of its characters is wrong. Copy it again.").For(app.ReasonKeyMistyped).Final()
	}
}

// recall looks into memory. fresh says that the answer needs no query, be it a key or that there is none.
func (r *Cache) recall(f seal.Fingerprint, now time.Time) (k *cachedKey, known, fresh bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if k, known = r.keys[f]; known {
		limit := deafAgeMax
		if r.hearing {
			limit = hearingAgeMax
		}
		return k, true, k.epoch == r.epoch && now.Sub(k.readAt) < limit
	}
	at, refused := r.unknown[f]
	return nil, false, refused && now.Sub(at) < unknownAgeMax
}

// ask reads the key from the database, once for all callers at the same time. It returns nil for an unknown key. While the database
// is unavailable, callers whose key is cached recently enough do not wait: the next call uses the result of the query.
func (r *Cache) ask(ctx context.Context, f seal.Fingerprint, now time.Time) (*cachedKey, error) {
	r.mu.RLock()
	pause, away := now.Before(r.retryAt), r.away
	r.mu.RUnlock()
	if pause {
		return r.lastGood(f, now, errors.New("apikey: the store was away a moment ago"))
	}
	asked := r.flight.DoChan(string(f[:]), func() (any, error) {
		if k, _, fresh := r.recall(f, r.o.Now()); fresh { // Another query may have finished since the first look.
			return k, nil
		}
		return r.read(ctx, f)
	})
	if away {
		if k, err := r.lastGood(f, now, nil); err == nil {
			return k, nil
		}
	}
	select {
	case <-ctx.Done():
		return nil, postgres.StoreError("account: find key", ctx.Err())
	case answer := <-asked:
		if answer.Err != nil {
			if postgres.Unavailable(answer.Err) || errors.Is(answer.Err, errLookupQueue) {
				return r.lastGood(f, now, answer.Err)
			}
			return nil, postgres.StoreError("account: find key", answer.Err)
		}
		k, _ := answer.Val.(*cachedKey)
		return k, nil
	}
}

// read queries the store and remembers the answer. It belongs to all who wait for it, so it does not end with the first of them.
func (r *Cache) read(ctx context.Context, f seal.Fingerprint) (*cachedKey, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupMax)
	defer cancel()
	defer r.queued.Add(-1)
	if r.queued.Add(1) > lookupQueueMax {
		return nil, errLookupQueue
	}
	select {
	case r.lookups <- struct{}{}:
		defer func() { <-r.lookups }()
	case <-ctx.Done():
		return nil, fmt.Errorf("apikey: find key: too many lookups: %w", ctx.Err())
	}
	r.mu.Lock()
	epoch := r.epoch
	r.reading[f] = false
	r.mu.Unlock()
	r.queries.Add(1)
	key, previous, found, err := keyByFingerprint(ctx, r.db, f)
	now := r.o.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	overtaken := r.reading[f]
	delete(r.reading, f)
	if err != nil {
		if postgres.Unavailable(err) {
			r.retryAt, r.away = now.Add(awayPause), true
		}
		return nil, err
	}
	r.away = false
	if !found {
		delete(r.keys, f)
		if !overtaken && epoch == r.epoch {
			makeRoom(r.unknown, ringUnknownMax)
			r.unknown[f] = now
		}
		return nil, nil
	}
	k := &cachedKey{key: key, previous: previous, readAt: now, epoch: epoch}
	if at := k.lastUse(); at != nil {
		k.usedAt.Store(at.Unix())
	}
	delete(r.unknown, f)
	if !overtaken { // The row of an overtaken query may be old, so it is used once and not cached.
		makeRoom(r.keys, ringKeysMax)
		r.keys[f] = k
	}
	return k, nil
}

// lastUse is when the secret was used last, as far as the store knows; of the current one also when the key was.
func (k *cachedKey) lastUse() *time.Time {
	if k.previous {
		return k.key.Secret.PreviousUsedAt
	}
	return k.key.LastUse.At
}

// makeRoom drops an arbitrary entry of a full map, which is cheap, and costs one query if it is missed.
func makeRoom[V any](m map[seal.Fingerprint]V, limit int) {
	for f := range m {
		if len(m) < limit {
			return
		}
		delete(m, f)
	}
}

// lastGood answers while the store is away: from what was known to be good a short while ago, else with that trouble.
// A key was known to be good when it was read, and for as long afterwards as notifications arrived.
func (r *Cache) lastGood(f seal.Fingerprint, now time.Time, cause error) (*cachedKey, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	k, found := r.keys[f]
	if !found {
		return nil, app.ErrStore(cause)
	}
	good := k.readAt
	if k.epoch == r.epoch {
		if r.hearing {
			good = now
		} else if r.deafAt.After(good) {
			good = r.deafAt
		}
	}
	if now.Sub(good) > lastGoodMax {
		return nil, app.ErrStore(cause)
	}
	return k, nil
}

// heard takes a notification: a changed key is forgotten, and an empty payload makes every key be read again before
// its next use. Those keys stay in memory as the last known good ones.
func (r *Cache) heard(payload string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var f seal.Fingerprint
	if n, err := hex.Decode(f[:], []byte(payload)); len(payload) == hex.EncodedLen(len(f)) && n == len(f) && err == nil {
		delete(r.keys, f)
		delete(r.unknown, f)
		if _, read := r.reading[f]; read {
			r.reading[f] = true
		}
		return
	}
	r.epoch++
	r.hearing, r.away = true, false
	clear(r.unknown)
}

// lost takes the news that notifications no longer arrive.
func (r *Cache) lost(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hearing {
		r.hearing, r.deafAt = false, r.o.Now()
		r.o.Log.Warn("key cache: notifications lost, reading keys from the database", "error", err)
	}
}

// noteUse remembers that a secret is used, to the minute, for a batch that Run writes.
func (r *Cache) noteUse(k *cachedKey, f seal.Fingerprint, from string, now time.Time) {
	last := k.usedAt.Load()
	if now.Unix()-last < int64(usedEvery/time.Second) || !k.usedAt.CompareAndSwap(last, now.Unix()) {
		return
	}
	r.usedMu.Lock()
	defer r.usedMu.Unlock()
	if len(r.used) < usedMax {
		r.used[f] = secretUse{at: now, ip: from}
	}
}
