package lease

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// These limits bound one step in the database. A step that is not answered in time has an unknown outcome and is repeated.
const (
	stepMax        = 2500 * time.Millisecond // A step waits this long for a connection. The store limits the round trip.
	closeLeasesMax = 500                     // One transaction closes at most this many leases.
	marksMax       = 10_000                  // One read returns at most this many marks.
)

// SQLStore keeps the leases of replicas in the database. Every step is one statement, and so one round trip and one
// transaction. It first locks the rows of the credit accounts it changes, ordered by id, which prevents deadlocks.
type SQLStore struct {
	db             *sqlx.DB
	repeated       *postgres.Repeated
	applier        *sqlx.DB // Batches of the journal use this pool, whose statements may take longer than those a call waits for.
	now            app.Clock
	ids            app.IDs
	late, overruns atomic.Int64
}

// OpenBank returns a SQLStore over a migrated database.
func OpenBank(db *sqlx.DB, now app.Clock, ids app.IDs) *SQLStore {
	return &SQLStore{db: db, repeated: postgres.Repeat(db), applier: db, now: now, ids: ids}
}

// Register begins an epoch of a replica. The leases of earlier epochs stay until Retire, because their settlements must be applied first.
func (s *SQLStore) Register(ctx context.Context, id string) (Start, error) {
	if id == "" {
		return Start{}, errors.New("lease: register: a replica needs an id")
	}
	start := Start{Replica: Replica{ID: id}}
	err := s.step(ctx, "register", `select epoch, applied, open from register_replica($1)`,
		[]any{id}, &start.Replica.Epoch, &start.Applied, &start.Open)
	return start, err
}

// Renew records that the replica is alive.
func (s *SQLStore) Renew(ctx context.Context, r Replica) error {
	var live bool
	err := s.repeat(ctx, "renew", &live, `
		with renewed as (
			update replicas set heartbeat_at = now() where id = $1 and epoch = $2 and state = 'live' returning id
		)
		select exists (select from renewed)`, r.ID, r.Epoch)
	if err == nil && !live {
		return ErrFenced
	}
	return err
}

// Take grants a lease, or more of it.
func (s *SQLStore) Take(ctx context.Context, r Replica, a TakeRequest) (LeaseState, error) {
	if a.Need < 0 || a.CreditAccountID == "" {
		return LeaseState{}, fmt.Errorf("lease: take %d of %q", a.Need, a.CreditAccountID)
	}
	row, result := leaseRow{LeaseState: LeaseState{CreditAccountID: a.CreditAccountID}}, ""
	var limit, period, start = new(int64), new(string), new(time.Time)
	var refill billing.Period
	err := s.step(ctx, "take", `select `+leaseColumns+`, cap_nanos, cap_period, cap_start,
			coalesce((select period from key_budgets where key_id = $3), '') from take_lease($1, $2, $3, $4, $5)`,
		[]any{r.ID, r.Epoch, a.CreditAccountID, int64(a.Need), int64(max(a.Need, a.Want))},
		append(row.into(&result), &limit, &period, &start, &refill)...)
	row.Free = row.balance.Available()
	if err != nil {
		return LeaseState{}, err
	}
	switch result {
	case "granted":
		return row.LeaseState, nil
	case "short", "elsewhere":
		return LeaseState{}, &InsufficientCredit{
			Balance: row.balance, Elsewhere: result == "elsewhere", Limit: billing.LimitOf(limit, period, start), Period: refill,
		}
	case "fenced":
		return LeaseState{}, ErrFenced
	case "frozen":
		return LeaseState{}, billing.Frozen()
	default:
		return LeaseState{}, fmt.Errorf("lease: take: there is no credit account %s", a.CreditAccountID)
	}
}

// Return gives back so much of a lease that its returned sum is at least total.
func (s *SQLStore) Return(ctx context.Context, r Replica, creditAccountID string, total app.Amount) (LeaseState, error) {
	row, result := leaseRow{LeaseState: LeaseState{CreditAccountID: creditAccountID}}, ""
	err := s.step(ctx, "return", `select `+leaseColumns+` from return_lease($1, $2, $3, $4)`,
		[]any{r.ID, r.Epoch, creditAccountID, int64(total)}, row.into(&result)...)
	row.Free = row.balance.Available()
	if err == nil && result == "fenced" {
		err = ErrFenced
	}
	return row.LeaseState, err
}

// Recalled lists the credit accounts whose leases of the epoch have credit that others asked for.
func (s *SQLStore) Recalled(ctx context.Context, r Replica) (creditAccountIDs []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepMax)
	defer cancel()
	err = s.db.SelectContext(ctx, &creditAccountIDs, `
		select credit_account_id from leases where replica_id = $1 and epoch = $2 and state = 'open' and recall_at is not null`, r.ID, r.Epoch)
	return creditAccountIDs, postgres.StoreError("lease: recalled", err)
}

// leaseRow is a lease with the balance of its credit account.
type leaseRow struct {
	LeaseState
	balance billing.Balance
}

// leaseColumns are the columns by which database functions return the state of a lease.
const leaseColumns = `result, coalesce(granted, 0), coalesce(returned, 0), coalesce(spent, 0), coalesce(posted, 0), coalesce(held, 0),
	coalesce(return_immediately, false)`

// into lists the scan destinations of leaseColumns, in their order.
func (l *leaseRow) into(result *string) []any {
	return []any{result, &l.Granted, &l.Returned, &l.Spent, &l.balance.Posted, &l.balance.Held, &l.ReturnImmediately}
}

// Marks lists the marks of calls that earlier epochs never settled, and those of other replicas whose epoch has ended.
func (s *SQLStore) Marks(ctx context.Context, r Replica) (marks [][]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepMax)
	defer cancel()
	var texts []string
	err = s.db.SelectContext(ctx, &texts, `
		select m.record::text from call_checkpoints m join replicas p on p.id = m.replica_id
		where (m.replica_id = $1 and m.epoch < $2) or p.state <> 'live'
		order by m.request_id limit $3`, r.ID, r.Epoch, marksMax)
	for _, text := range texts {
		marks = append(marks, []byte(text))
	}
	return marks, postgres.StoreError("lease: marks", err)
}

// Retire closes the leases of the replica's earlier epochs.
func (s *SQLStore) Retire(ctx context.Context, r Replica) error {
	return s.closeAll(ctx, r.ID, r.Epoch-1, "closed")
}

// End closes the leases of the replica's present epoch and ends the epoch.
func (s *SQLStore) End(ctx context.Context, r Replica) error {
	if err := s.closeAll(ctx, r.ID, r.Epoch, "closed"); err != nil {
		return err
	}
	var live bool
	return s.step(ctx, "end", `
		with ended as (update replicas set state = 'ended' where id = $1 and epoch = $2 and state = 'live' returning id)
		select exists (select from ended)`, []any{r.ID, r.Epoch}, &live)
}

// Reap returns the leases of replicas that were silent for the given time, and the leases that earlier passes failed to return.
func (s *SQLStore) Reap(ctx context.Context, silent time.Duration) (int, error) {
	var lost int
	err := s.repeat(ctx, "reap", &lost, `select lose_replicas($1 * interval '1 microsecond')`, silent.Microseconds())
	if err != nil {
		return 0, err
	}
	var over []struct {
		ID    string `db:"id"`
		Epoch int64  `db:"epoch"`
	}
	bounded, cancel := context.WithTimeout(ctx, stepMax)
	defer cancel()
	err = s.repeated.SelectContext(bounded, &over, `
		select distinct r.id, r.epoch from replicas r join leases l on l.replica_id = r.id and l.epoch <= r.epoch
		where r.state <> 'live' and l.state = 'open' order by 1`)
	if err != nil {
		return lost, postgres.StoreError("lease: reap", err)
	}
	for _, r := range over {
		if err := s.closeAll(ctx, r.ID, r.Epoch, "reclaimed"); err != nil {
			return lost, err
		}
	}
	return lost, nil
}

func (s *SQLStore) closeAll(ctx context.Context, id string, epoch int64, state string) error {
	for {
		var closed int
		err := s.step(ctx, "close", `select close_leases($1, $2, $3, $4)`, []any{id, epoch, state, closeLeasesMax}, &closed)
		if err != nil || closed == 0 {
			return err
		}
	}
}

// step runs one statement that returns one row.
func (s *SQLStore) step(ctx context.Context, verb, query string, args []any, dest ...any) error {
	return stepOver(ctx, s.db, verb, query, args, dest...)
}

// repeat runs a statement of a worker that returns one value.
func (s *SQLStore) repeat(ctx context.Context, verb string, dest any, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, stepMax)
	defer cancel()
	return postgres.StoreError("lease: "+verb, s.repeated.GetContext(ctx, dest, query, args...))
}

func stepOver(ctx context.Context, db *sqlx.DB, verb, query string, args []any, dest ...any) error {
	ctx, cancel := context.WithTimeout(ctx, stepMax)
	defer cancel()
	return postgres.StoreError("lease: "+verb, postgres.QueryRow(ctx, db, query, args, dest...))
}
