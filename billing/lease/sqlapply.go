package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/billing/journal"
)

// ApplyStatementMax is how long the statement for a batch of the journal may take. The rows of its accounts stay locked for that time.
const ApplyStatementMax = 10 * time.Second

// SetApplier gives batches of the journal their own pool, whose statements may take ApplyStatementMax. Call it before using the store.
func (s *SQLStore) SetApplier(db *sqlx.DB) { s.applier = db }

// Counts are totals since the start: settlements whose lease was gone, and calls that cost more than their hold covered.
type Counts struct {
	Late, Overruns int64
}

// Counts reads the counters.
func (s *SQLStore) Counts() Counts { return Counts{Late: s.late.Load(), Overruns: s.overruns.Load()} }

// Apply charges a batch and returns the position up to which the journal is applied. Without a journal it also works for an
// ended epoch, because the account must pay for an answer that a client received.
func (s *SQLStore) Apply(ctx context.Context, r Replica, batch Batch) (journal.LSN, error) {
	var result string
	var applied, late, overruns int64
	const query = `select result, applied, late, overruns
		from apply_settlements($1, $2, $3, $4, $5, convert_from($6, 'UTF8')::jsonb, convert_from($7, 'UTF8')::jsonb, $8, $9)`
	records, _ := arrays.Get().(*[]byte)
	defer arrays.Put(records)
	*records = appendArray((*records)[:0], batch.Records)
	args := []any{
		r.ID, r.Epoch, int64(batch.From), int64(batch.To), int64(batch.Open), *records, appendArray(nil, batch.Marks),
		s.ids.New("txn"), s.now().UTC(),
	}
	answer := []any{&result, &applied, &late, &overruns}
	var err error
	if batch.To == 0 {
		err = s.stepIfCallerWaits(ctx, "apply", batch.Seal, query, args, answer...)
	} else {
		err = stepOver(ctx, s.applier, "apply", query, args, answer...)
	}
	if isStatementTimeout(err) {
		err = app.ErrStore(errors.Join(ErrSlow, err))
	}
	if err != nil {
		return 0, err
	}
	if result == "fenced" {
		return 0, ErrFenced
	}
	s.late.Add(late)
	s.overruns.Add(overruns)
	return journal.LSN(applied), nil
}

// arrays are buffers for the arrays of batches, which have up to some megabytes. The driver copies what it sends, and copies bytes once
// and text twice.
var arrays = sync.Pool{New: func() any { return new([]byte) }}

// appendArray appends an array of JSON values.
func appendArray(dst []byte, values [][]byte) []byte {
	dst = append(dst, '[')
	for i, value := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, value...)
	}
	return append(dst, ']')
}

// isStatementTimeout reports whether the database canceled a statement because it exceeded the statement timeout.
func isStatementTimeout(err error) bool {
	var coded interface{ SQLState() string }
	return errors.As(err, &coded) && coded.SQLState() == "57014"
}

// stepIfCallerWaits is a step that commits only when its caller still waits. The gateway withholds an answer whose charge is not
// known to be in the ledger, and a stalled database may finish a statement after its caller has given up. So the transaction
// commits only after the answer arrived and seal agreed.
func (s *SQLStore) stepIfCallerWaits(ctx context.Context, verb string, seal func() bool, query string, args []any, dest ...any) error {
	ctx, cancel := context.WithTimeout(ctx, stepMax)
	defer cancel()
	return postgres.StoreError("lease: "+verb, postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		err := tx.QueryRowContext(ctx, query, args...).Scan(dest...)
		if err == nil && seal != nil && !seal() {
			err = errWithdrawn
		}
		return err
	}))
}
