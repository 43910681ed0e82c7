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
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// Limits of the store of answers.
const (
	keyBytesMax    = 255
	keptFor        = 24 * time.Hour
	claimMax       = 2 * time.Minute // longer than any request that makes something may run
	sweepEvery     = 10 * time.Minute
	sweepRowsMax   = 5000 // of one statement
	runningRetry   = time.Second
	answerBytesMax = 1 << 20

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
}

// New makes a Service over a migrated store. It panics when an option is missing.
func New(db *sqlx.DB, o Options) *Service {
	if db == nil || o.Now == nil || o.Log == nil {
		panic("idempotency: a store, a clock and a log are required")
	}
	return &Service{db: db, o: o}
}

// Request is a request with a key.
type Request struct {
	AccountID string
	Key       string // as the client chose it
	Operation string // what is asked for, with the object it concerns: equal keys of two operations have nothing in common
	Body      []byte
	ResultID  string // the id for what the request will make, if it is the first
}

// Claim is what Begin found. Answer is the stored one of an earlier request, nil when there is none and the caller must
// make it: under ResultID, which an earlier request that crashed may have used already.
type Claim struct {
	ResultID string
	Answer   *Answer
	request  Request
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
	if len(r.Operation) > operationBytesMax || !printable(r.Operation) { // it holds what a path says, which may be anything
		r.Operation = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(r.Operation)))
	}
	now := s.o.Now().UTC()
	hash := sha256.Sum256(r.Body)
	row, err := claim(ctx, s.db, r, hash[:], now, now.Add(claimMax))
	running := app.Errorf(app.Conflict, "idempotency_in_progress",
		"A request with this Idempotency-Key is still running; try again in a moment.").At("Idempotency-Key").After(runningRetry)
	switch {
	case errors.Is(err, sql.ErrNoRows): // given up between two looks
		return Claim{}, running
	case err != nil:
		return Claim{}, storeError("begin", err)
	case row.mine:
		return Claim{ResultID: row.ResultID, request: r}, nil
	case string(row.Hash) != string(hash[:]):
		e := app.Errorf(app.Unprocessable, "idempotency_error",
			"This Idempotency-Key was used with another body in the last 24 hours. Use a new key for a new request.").At("Idempotency-Key")
		return Claim{}, e.Final()
	case row.Status == nil:
		return Claim{}, running
	}
	return Claim{ResultID: row.ResultID, Answer: &Answer{Status: *row.Status, Body: row.Answer}, request: r}, nil
}

// Keep stores the answer of a claimed request.
func (s *Service) Keep(ctx context.Context, c Claim, a Answer) error {
	if len(a.Body) > answerBytesMax {
		return fmt.Errorf("idempotency: an answer of %d bytes is larger than %d", len(a.Body), answerBytesMax)
	}
	return storeError("keep", keep(ctx, s.db, c.request, a))
}

// Forget gives the key up: the request failed and made nothing, so that a repetition is a new request.
func (s *Service) Forget(ctx context.Context, c Claim) error {
	return storeError("forget", forget(ctx, s.db, c.request))
}

// Sweep removes what is older than 24 hours, at most a few thousand rows.
func (s *Service) Sweep(ctx context.Context) error {
	return storeError("sweep", sweep(ctx, s.db, s.o.Now().UTC().Add(-keptFor), sweepRowsMax))
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func storeError(doing string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("idempotency: %s: %w", doing, err)
	if postgres.Unavailable(err) && !errors.Is(err, context.Canceled) {
		return app.ErrStore(err)
	}
	return err
}
