// Package lease admits calls in memory and settles them durably, exactly once: a replica takes leases of credit from the
// database, reserves from them without a round trip, writes every settlement to its journal before an answer ends, and
// applies the journal to the ledger in batches. Call New and Recover, keep Run running, and use Hold, Extend, Progress and
// Settle for each call.
package lease

import (
	"context"
	"errors"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/journal"
)

// Replica is the authority of one run of a gateway's process. A later run of the same replica has a higher epoch.
type Replica struct {
	ID    string
	Epoch int64
}

// Start is the initial state of an epoch: its replica, how far its journal is applied, and where the marks of unfinished
// calls may begin.
type Start struct {
	Replica Replica
	Applied journal.LSN
	Open    journal.LSN
}

// TakeRequest requests credit from the credit account of an account or a key's budget: at least Need, and Want if there is
// plenty.
type TakeRequest struct {
	CreditAccountID string
	Need, Want      app.Amount
}

// LeaseState is the state of a lease in the database. The sums only grow within an epoch, so a step with an unknown outcome can be
// repeated. Free is what the credit account had left after the step. ReturnImmediately means that credit which no call needs must be
// returned at once.
type LeaseState struct {
	CreditAccountID          string
	Granted, Returned, Spent app.Amount
	Free                     app.Amount
	ReturnImmediately        bool
}

// Batch is a series of settlements to apply, each encoded by billing.Settlement.Encode. With a journal, From and To are the
// cursor before and after, and the batch changes nothing when the cursor is elsewhere. Without one both are zero, and only
// the request ids prevent a second charge.
type Batch struct {
	From, To, Open journal.LSN
	Records        [][]byte
	Marks          [][]byte // Marks of running calls are set only without a journal.
	// Seal, when set, is called before the commit. When it returns false, the transaction is rolled back.
	Seal func() bool
}

// These errors are returned by a Store.
var (
	// ErrShort means that a credit account has less than was needed. Elsewhere reports whether other replicas hold some of
	// its credit; they were asked to return it.
	ErrShort = errors.New("lease: the credit account has too little")
	// ErrSlow means that a batch exceeded the statement timeout, so none of it was applied. A smaller batch may succeed.
	ErrSlow = errors.New("lease: the batch takes too long")
	// ErrFenced means that the epoch has ended: another run replaced it, or the replica was silent for too long.
	ErrFenced = errors.New("lease: the replica's epoch is over")
)

// InsufficientCredit is ErrShort with the balance. Limit is set when the account's spend limit caused it.
type InsufficientCredit struct {
	Balance   billing.Balance
	Elsewhere bool
	Limit     billing.SpendLimit
	// Period is how often the key's budget is refilled, when it is the budget that has too little; empty for the account.
	Period billing.Period
}

// Error is the text of ErrShort.
func (s *InsufficientCredit) Error() string { return ErrShort.Error() }

// Is reports that every InsufficientCredit is an ErrShort.
func (s *InsufficientCredit) Is(target error) bool { return target == ErrShort }

// Store is what a replica asks of the database while it runs. Each method is one transaction. The outcome of one that fails
// with app.Unavailable is unknown.
type Store interface {
	// Renew records that the replica is alive. It fails with ErrFenced when its epoch has ended.
	Renew(ctx context.Context, r Replica) error
	// Take grants a lease, or more of it: Want or half of the free credit, whichever is less, and never below Need. It fails
	// with an *InsufficientCredit, with ErrFenced, or with app.Forbidden for a frozen account.
	Take(ctx context.Context, r Replica, a TakeRequest) (LeaseState, error)
	// Return gives back enough of a lease for its returned sum to be at least total.
	Return(ctx context.Context, r Replica, creditAccountID string, total app.Amount) (LeaseState, error)
	// Apply charges a batch and returns the position up to which the journal is applied.
	Apply(ctx context.Context, r Replica, b Batch) (journal.LSN, error)
}

// ReplicaStore is what the database knows of replicas. Each method is one transaction.
type ReplicaStore interface {
	// Register begins an epoch of a replica.
	Register(ctx context.Context, id string) (Start, error)
	// Marks lists the marks of calls that earlier epochs never settled, when there is no journal.
	Marks(ctx context.Context, r Replica) ([][]byte, error)
	// Retire closes the leases of the replica's earlier epochs and returns the credit that is left.
	Retire(ctx context.Context, r Replica) error
	// End does the same for the present epoch, at an orderly shutdown.
	End(ctx context.Context, r Replica) error
	// Reap returns the leases of replicas that were silent for the given time, and the number of those replicas.
	Reap(ctx context.Context, silent time.Duration) (int, error)
}
