// Package idempotency gives a request that is sent twice one outcome: the second gets the answer of the first. Call Begin
// before the work of a request, Prepare before its charge is durable, and Finish, Keep, Forget or Leave when it has ended.
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

const (
	keyBytesMax    = 255
	keptFor        = 24 * time.Hour
	claimMax       = time.Minute // A claim that is not renewed for this long has ended, because its process died.
	renewEvery     = 15 * time.Second
	sweepEvery     = 10 * time.Minute
	sweepRowsMax   = 5000 // One statement deletes at most this many rows.
	runningRetry   = time.Second
	answerBytesMax = 8 << 20

	operationBytesMax = 255 // A longer operation is replaced by its digest.
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
	running map[claimKey]struct{} // These claims belong to requests that run in this process, and are renewed.
}

// claimKey identifies the row of a claim. The result is part of it, because a later request may have claimed the row.
type claimKey struct{ account, key, operation, result string }

// New makes a Service over a migrated store. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Service {
	app.RequireOptions("idempotency.New", map[string]bool{
		"db": db != nil, "Options.Now": o.Now != nil, "Options.Log": o.Log != nil,
	})
	return &Service{db: db, o: o, running: make(map[claimKey]struct{})}
}

// Request is a request with a key.
type Request struct {
	AccountID string
	Key       string // Key is what the client sent.
	Operation string // Operation is the method and its object. Equal keys of two operations are independent.
	Body      []byte
	ResultID  string // ResultID is the id of what the request makes when it is the first with its key.

	// Fresh means that a request which died before it prepared an answer has made nothing. A repetition then uses its own ResultID.
	Fresh bool
	// Stream means that the answer cannot be replayed: once the request has ended or died, a repetition gets an empty Answer.
	Stream bool
}

// statusOK is the status of a stream that has begun.
const statusOK = 200

// Claim is the result of Begin. Answer is the stored answer of an earlier request. When it is nil, the caller must make the
// answer, under ResultID, which an earlier request that crashed may have used already.
type Claim struct {
	ResultID string
	Answer   *Answer
	request  Request
}

func (c *Claim) key() claimKey {
	return claimKey{c.request.AccountID, c.request.Key, c.request.Operation, c.ResultID}
}

// Answer is the answer of the first request.
type Answer struct {
	Status int
	Body   []byte
}

// Begin claims the key. A key whose request still runs is a Conflict; one that came with another body is Unprocessable.
func (s *Service) Begin(ctx context.Context, r Request) (Claim, error) {
	if len(r.Key) > keyBytesMax || r.Key == "" || !printable(r.Key) {
		return Claim{}, app.Errorf(app.Invalid, "invalid_request_error",
			"Idempotency-Key must have 1 to %d printable ASCII characters.", keyBytesMax).At("Idempotency-Key")
	}
	if len(r.Operation) > operationBytesMax || !printable(r.Operation) { // An operation contains the path, which may be anything.
		r.Operation = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(r.Operation)))
	}
	now := s.o.Now().UTC()
	hash := sha256.Sum256(r.Body)
	r.Body = nil // The claim does not keep the body, which may be large.
	row, err := s.claim(ctx, r, hash[:], now)
	running := app.Errorf(app.Conflict, "idempotency_in_progress",
		"A request with this Idempotency-Key is still running; try again in a moment.").At("Idempotency-Key").After(runningRetry)
	switch {
	case errors.Is(err, sql.ErrNoRows): // The row was deleted between the two statements of claim.
		return Claim{}, running
	case err != nil:
		return Claim{}, postgres.StoreError("idempotency: begin", err)
	case row.mine && row.ResultID != r.ResultID && row.Prepared != nil: // The answer that a dead request prepared is the answer.
		c := Claim{ResultID: row.ResultID, Answer: &Answer{Status: *row.Prepared, Body: row.Answer}, request: r}
		_, err := s.change(ctx, "inherit", c, finishStatement)
		return c, err
	case row.mine:
		c := Claim{ResultID: row.ResultID, request: r}
		s.mu.Lock()
		s.running[c.key()] = struct{}{}
		s.mu.Unlock()
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

// Prepare stores the answer before the request's charge is durable: from then on a repetition gets it, even when this process
// dies. It fails when another request has claimed the key, and the caller must then undo the request. An answer that is too
// large to store is prepared empty.
func (s *Service) Prepare(ctx context.Context, c Claim, a Answer) error {
	if len(a.Body) > answerBytesMax {
		a.Body = []byte{}
	}
	mine, err := s.change(ctx, "prepare", c, `update idempotency_keys set prepared = $5, answer = $6`, a.Status, a.Body)
	if err == nil && !mine {
		return app.Errorf(app.Unavailable, "service_unavailable",
			"This request took too long to be known any more under its Idempotency-Key. Nothing was charged; send it again.")
	}
	return err
}

const finishStatement = `update idempotency_keys set status = prepared`

// Finish ends a request whose answer is prepared.
func (s *Service) Finish(ctx context.Context, c Claim) error {
	defer s.Leave(c)
	_, err := s.change(ctx, "finish", c, finishStatement)
	return err
}

// Keep ends a request and stores its answer.
func (s *Service) Keep(ctx context.Context, c Claim, a Answer) error {
	defer s.Leave(c)
	if len(a.Body) > answerBytesMax {
		return fmt.Errorf("idempotency: an answer of %d bytes is larger than %d", len(a.Body), answerBytesMax)
	}
	_, err := s.change(ctx, "keep", c, `update idempotency_keys set status = $5, answer = $6`, a.Status, a.Body)
	return err
}

// Forget releases the key of a request that failed and made nothing. A repetition is then a new request.
func (s *Service) Forget(ctx context.Context, c Claim) error {
	defer s.Leave(c)
	_, err := s.change(ctx, "forget", c, `delete from idempotency_keys`)
	return err
}

// Leave stops renewing the claim of a request that ended unexpectedly. The claim then expires, as after a crash.
func (s *Service) Leave(c Claim) {
	s.mu.Lock()
	delete(s.running, c.key())
	s.mu.Unlock()
}

// Renew extends the claims of all requests that run here, because a claim that is not renewed means that its process died.
func (s *Service) Renew(ctx context.Context) error {
	s.mu.Lock()
	claims := slices.Collect(maps.Keys(s.running))
	s.mu.Unlock()
	if len(claims) == 0 {
		return nil
	}
	return s.renew(ctx, claims)
}

// Sweep deletes rows that are older than 24 hours, at most a few thousand.
func (s *Service) Sweep(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `
		delete from idempotency_keys where ctid = any(array(select ctid from idempotency_keys where created_at < $1 limit $2))`,
		s.o.Now().UTC().Add(-keptFor), sweepRowsMax)
	return postgres.StoreError("idempotency: sweep", err)
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
