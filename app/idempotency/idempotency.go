// Package idempotency gives a request that is sent twice one outcome: the second gets the answer of the first. It knows
// keys, fingerprints of bodies and stored answers. It does not know what a request makes or how a face words a refusal's
// body.
package idempotency

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// Limits of the store of answers.
const (
	keyBytesMax    = 255
	keptFor        = 24 * time.Hour
	claimMax       = time.Minute // the claim of a request that died ends after this time; a running request renews its claim
	renewEvery     = 15 * time.Second
	sweepEvery     = 10 * time.Minute
	sweepRowsMax   = 5000 // limit for one statement
	runningRetry   = time.Second
	answerBytesMax = 8 << 20

	operationBytesMax = 255 // beyond that its digest stands for it
)

// Options of a Service. All are required.
type Options struct {
	Now app.Clock
	Log *slog.Logger
}

// Service remembers answers by account, key and operation for 24 hours.
type Service struct {
	db *sqlx.DB
	o  Options

	mu      sync.Mutex
	running map[name]struct{} // claims of requests that run here; as many as there are requests
}

// name is which row a claim holds, and for which request: another may have taken it over.
type name struct{ account, key, operation, result string }

// New makes a Service over a migrated store. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Service {
	app.RequireOptions("idempotency.New", map[string]bool{
		"db": db != nil, "Options.Now": o.Now != nil, "Options.Log": o.Log != nil,
	})
	return &Service{db: db, o: o, running: make(map[name]struct{})}
}

// Request is a request with a key.
type Request struct {
	AccountID string
	Key       string // the key as the client sent it
	Operation string // what is asked for, with the object it concerns: equal keys of two operations have nothing in common
	Body      []byte
	ResultID  string // the id for what the request will make, if it is the first

	// Fresh says that a request which died before it had prepared an answer has made nothing, so that its repetition makes
	// what it makes under its own id.
	Fresh bool
	// Stream means that the answer cannot be replayed: once the request has ended or died, a repetition gets an empty
	// Answer.
	Stream bool
}

// statusOK is the status of a stream that has begun.
const statusOK = 200

// prepared is what the row of a request has from its beginning.
func (r *Request) prepared() (status *int, answer []byte) {
	if !r.Stream {
		return nil, nil
	}
	ok := statusOK
	return &ok, []byte{}
}

// Claim is what Begin found. Answer is the stored one of an earlier request, nil when there is none and the caller must
// make it: under ResultID, which an earlier request that crashed may have used already.
type Claim struct {
	ResultID string
	Answer   *Answer
	request  Request
}

func (c *Claim) name() name {
	return name{c.request.AccountID, c.request.Key, c.request.Operation, c.ResultID}
}

// Answer is what the first request was answered with.
type Answer struct {
	Status int
	Body   []byte
}

// Begin claims the key. A key whose request still runs is a Conflict; one that came with another body is
// Unprocessable.
func (s *Service) Begin(ctx context.Context, r Request) (Claim, error) {
	if len(r.Key) > keyBytesMax || r.Key == "" || !printable(r.Key) {
		return Claim{}, app.Errorf(app.Invalid, "invalid_request_error",
			"Idempotency-Key must have 1 to %d printable ASCII characters.", keyBytesMax).At("Idempotency-Key")
	}
	if len(r.Operation) > operationBytesMax || !printable(r.Operation) { // an operation contains the path, which may be anything
		r.Operation = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(r.Operation)))
	}
	now := s.o.Now().UTC()
	hash := sha256.Sum256(r.Body)
	r.Body = nil // the body belongs to the caller and may be large
	row, err := claim(ctx, s.db, r, hash[:], now, now.Add(claimMax))
	running := app.Errorf(app.Conflict, "idempotency_in_progress",
		"A request with this Idempotency-Key is still running; try again in a moment.").At("Idempotency-Key").After(runningRetry)
	switch {
	case errors.Is(err, sql.ErrNoRows): // given up between two looks
		return Claim{}, running
	case err != nil:
		return Claim{}, postgres.StoreError("idempotency: begin", err)
	case row.mine && row.ResultID != r.ResultID && row.Prepared != nil:
		return s.inherit(ctx, r, row)
	case row.mine:
		c := Claim{ResultID: row.ResultID, request: r}
		s.follow(c.name())
		return c, nil
	case string(row.Hash) != string(hash[:]):
		e := app.Errorf(app.Unprocessable, "idempotency_error",
			"This Idempotency-Key was used with another body in the last 24 hours. Use a new key for a new request.").At("Idempotency-Key")
		return Claim{}, e.Final()
	case row.Status == nil:
		return Claim{}, running
	}
	return Claim{ResultID: row.ResultID, Answer: &Answer{Status: *row.Status, Body: row.Answer}, request: r}, nil
}

// inherit makes what a request that died had prepared the answer of its key.
func (s *Service) inherit(ctx context.Context, r Request, row entryRow) (Claim, error) {
	c := Claim{ResultID: row.ResultID, Answer: &Answer{Status: *row.Prepared, Body: row.Answer}, request: r}
	return c, postgres.StoreError("idempotency: inherit", finish(ctx, s.db, &c))
}

// Prepare puts the answer beside the key before the request's charge is durable: from then on a repetition is given it,
// whatever becomes of this process. It fails where the key is not this request's any more, which must then be undone. An
// answer that is too large to be kept is prepared empty.
func (s *Service) Prepare(ctx context.Context, c Claim, a Answer) error {
	if len(a.Body) > answerBytesMax {
		a.Body = []byte{}
	}
	mine, err := prepare(ctx, s.db, &c, a)
	if err == nil && !mine {
		return app.Errorf(app.Unavailable, "service_unavailable",
			"This request took too long to be known any more under its Idempotency-Key. Nothing was charged; send it again.")
	}
	return postgres.StoreError("idempotency: prepare", err)
}

// Finish says that the request with the prepared answer has ended.
func (s *Service) Finish(ctx context.Context, c Claim) error {
	defer s.unfollow(c.name())
	return postgres.StoreError("idempotency: finish", finish(ctx, s.db, &c))
}

// Keep stores the answer of a claimed request, which has ended.
func (s *Service) Keep(ctx context.Context, c Claim, a Answer) error {
	defer s.unfollow(c.name())
	if len(a.Body) > answerBytesMax {
		return fmt.Errorf("idempotency: an answer of %d bytes is larger than %d", len(a.Body), answerBytesMax)
	}
	return postgres.StoreError("idempotency: keep", keep(ctx, s.db, &c, a))
}

// Forget gives the key up: the request failed and made nothing, so that a repetition is a new request.
func (s *Service) Forget(ctx context.Context, c Claim) error {
	defer s.unfollow(c.name())
	return postgres.StoreError("idempotency: forget", forget(ctx, s.db, &c))
}

// Leave releases a request that ended unexpectedly. Its claim expires by itself, as after a crash.
func (s *Service) Leave(c Claim) { s.unfollow(c.name()) }

func (s *Service) follow(n name) {
	s.mu.Lock()
	s.running[n] = struct{}{}
	s.mu.Unlock()
}

func (s *Service) unfollow(n name) {
	s.mu.Lock()
	delete(s.running, n)
	s.mu.Unlock()
}

// Renew keeps the keys of all requests that run here, so that a long one is not taken for one that died.
func (s *Service) Renew(ctx context.Context) error {
	s.mu.Lock()
	claims := slices.Collect(maps.Keys(s.running))
	s.mu.Unlock()
	if len(claims) == 0 {
		return nil
	}
	return postgres.StoreError("idempotency: renew", renew(ctx, s.db, claims, s.o.Now().UTC().Add(claimMax)))
}

// Sweep removes what is older than 24 hours, at most a few thousand rows.
func (s *Service) Sweep(ctx context.Context) error {
	return postgres.StoreError("idempotency: sweep", sweep(ctx, s.db, s.o.Now().UTC().Add(-keptFor), sweepRowsMax))
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
