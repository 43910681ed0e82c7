// Package lease admits calls in memory and settles them durably, exactly once: a replica takes leases of credit from the
// books, reserves from them without a round trip, writes every settlement to its journal before an answer ends, and
// applies the journal to the books in batches. It knows leases, the journal and recovery after a crash. It does not
// know any model, protocol or price.
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

// Start is what a run begins with: who it is, how far its journal is applied, and from where marks of calls that never
// ended may stand in it.
type Start struct {
	Replica Replica
	Applied journal.LSN
	Open    journal.LSN
}

// Ask wants credit of a purse, which is an account or a key's budget: Need at least, Want if there is plenty.
type Ask struct {
	Purse      string
	Need, Want app.Amount
}

// Row is a lease as the books have it. The sums only grow within an epoch, so that a step whose outcome was not learnt can
// be repeated. Free is what the purse still had for anybody after the step; Exact says that the purse wants back at once
// what a call did not need.
type Row struct {
	Purse                    string
	Granted, Returned, Spent app.Amount
	Free                     app.Amount
	Exact                    bool
}

// Batch is a run of settlements to apply, each as billing.Settlement.Encode made it. With a journal, From and To are the
// cursor before and after, and the batch changes nothing when the cursor is elsewhere. Without one both are zero, and only
// the requests' ids guard against a second time.
type Batch struct {
	From, To, Open journal.LSN
	Records        [][]byte
	Marks          [][]byte // of calls that still run; without a journal only
	// Seal, when set, is asked when all but the last word is said. Where it says no nothing of the batch happens.
	Seal func() bool
}

// Errors of the books.
var (
	// ErrShort means that a purse has less than was needed. Elsewhere says whether other replicas hold some of it, who
	// were asked to give it back.
	ErrShort = errors.New("lease: the purse has too little")
	// ErrSlow means that the books did not take a batch in the time they give one statement, so nothing of it happened. A
	// smaller one may be in time.
	ErrSlow = errors.New("lease: the batch takes too long")
	// ErrFenced means that the run is over: another one took its place, or it was silent for too long.
	ErrFenced = errors.New("lease: the replica's epoch is over")
)

// Short is ErrShort with what there is. Limit is set where it is the account's spend limit that leaves no more.
type Short struct {
	Balance   billing.Balance
	Elsewhere bool
	Limit     billing.SpendLimit
	// Period is how often the budget is refilled that is short; empty where the account is.
	Period billing.Period
}

// Error is the text of ErrShort.
func (s *Short) Error() string { return ErrShort.Error() }

// Is makes every Short an ErrShort.
func (s *Short) Is(target error) bool { return target == ErrShort }

// Bank is what a replica asks of the books while it runs. Each method is one transaction; an error that is app.Unavailable
// leaves its outcome unknown.
type Bank interface {
	// Renew tells that the replica lives. It fails with ErrFenced when its epoch is over.
	Renew(ctx context.Context, r Replica) error
	// Take grants a lease, or more of it: Want or half of what is free, whichever is less, and never below Need. It fails
	// with a *Short, with ErrFenced, or with app.Forbidden for a frozen account.
	Take(ctx context.Context, r Replica, a Ask) (Row, error)
	// Return gives back so much of a lease that its returned sum is at least total.
	Return(ctx context.Context, r Replica, purse string, total app.Amount) (Row, error)
	// Apply charges a batch and says how far the journal is applied now.
	Apply(ctx context.Context, r Replica, b Batch) (journal.LSN, error)
}

// Registry is what the books know of replicas. Each method is one transaction.
type Registry interface {
	// Register begins a run of a replica.
	Register(ctx context.Context, id string) (Start, error)
	// Marks lists the marks of calls that runs before this one never settled, where there is no journal.
	Marks(ctx context.Context, r Replica) ([][]byte, error)
	// Retire closes the leases of the replica's runs before this one and gives back what is left of them.
	Retire(ctx context.Context, r Replica) error
	// End is Retire for the run itself: it is over, in order.
	End(ctx context.Context, r Replica) error
	// Reap gives back the leases of replicas that were silent for so long, and says how many replicas there were.
	Reap(ctx context.Context, silent time.Duration) (int, error)
}
