// Package lease admits calls in memory and settles them durably, exactly once: a replica takes leases of credit from the database, reserves
// from them without a round trip, writes every settlement to its journal before an answer ends, and applies the journal to the ledger in
// batches. Call New and Recover, keep Run running, and use Hold, Extend, Progress and Settle for each call.
package lease

import (
	"context"
	"errors"
	"sync"
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

// Start is the initial state of an epoch: its replica, how far its journal is applied, and where the marks of unfinished calls may begin.
type Start struct {
	Replica Replica
	Applied journal.LSN
	Open    journal.LSN
}

// TakeRequest requests credit from the credit account of an account or a key's budget: at least Need, and Want if there is plenty.
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
	// Recalled lists the credit accounts whose leases of the epoch have credit that others asked for.
	Recalled(ctx context.Context, r Replica) (creditAccountIDs []string, err error)
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

// lease is the credit of one account or key budget that this epoch may spend. Granted credit is either returned, spent,
// reserved by a running call, or free.
type lease struct {
	creditAccountID string

	mu                                 sync.Mutex
	granted, returned, spent, reserved app.Amount
	waiting                            app.Amount  // This is the total amount wanted by acquisitions that wait for the running step.
	users                              int         // This many acquisitions may still reserve credit.
	last                               journal.LSN // This is the position of the last settlement charged to the lease.
	used                               time.Duration
	spend                              spend
	creditAccountFree                  app.Amount    // This is the free credit of the account after the last step.
	largestWanted                      largest       // This is the largest amount that one call wanted lately.
	takenAheadAt                       time.Duration // This is when credit was last taken ahead or recalled.
	refused                            refusal
	pending                            *pendingTake  // This is the running step at the database. There is at most one.
	changed                            chan struct{} // It is closed when changeLeast is free or a step ends; nil without waiters.
	changeLeast                        app.Amount    // This is the least amount that one of those who wait can use.
	unread                             bool          // The database was not asked about the lease yet.
	uncertain                          bool          // The outcome of a step is unknown, so the database may have granted more.
	doubtful                           bool          // More may count as spent here than the ledger has charged.
	returnImmediately                  bool          // Credit that no call needs must be returned at once.
	recalled                           bool          // Another replica needs the free credit.
	dropped                            bool          // The lease was dropped from memory, so the caller must look it up again.

	// fundedUntil is how long the account counts as having credit because a call got some. Zero means that it does not.
	fundedUntil time.Duration
}

// pendingTake is one step at the database.
type pendingTake struct{ sent time.Duration }

// refusal is why the database granted nothing. It also answers every acquisition that began before the step was sent.
type refusal struct {
	sent time.Duration
	err  error
}

func (l *lease) free() app.Amount { return l.granted - l.returned - l.spent - l.reserved }

// returnStep is the database step that returns free credit.
type returnStep uint8

const (
	noStep       returnStep = iota
	returnCredit            // This step returns credit up to a total.
	readState               // This step takes nothing, and so learns what a step with an unknown outcome granted.
)

// beginReturn removes the free credit from the lease for good and returns the sum that the database must reach. It returns
// nothing while another step runs; a later pass looks at the lease again.
func (l *lease) beginReturn(now time.Duration, applied journal.LSN) (total app.Amount, s returnStep) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := l.free()
	switch {
	case l.pending != nil || free <= 0 && !l.uncertain && !l.canDiscard(now, applied):
		return 0, noStep
	case l.unread:
		s = readState
	case l.uncertain && !l.hasSpare(now):
		s = returnCredit // The total stays as it was: the answer shows what the database has.
	default:
		s = returnCredit
		l.returned += max(free, 0)
		l.recalled = false
	}
	l.pending = &pendingTake{sent: now}
	return l.returned, s
}

// finishStep ends the running step: it copies the database's state into the lease, or records that the state is unknown. It
// reports whether the database went back to an earlier time.
func (l *lease) finishStep(row LeaseState, err error) (backward bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.doubtful && l.reserved == 0 && l.used <= l.pending.sent {
		l.unread, l.doubtful = true, false
	}
	if err == nil {
		backward = l.adopt(row)
	} else if isUnavailable(err) { // A refusal does not show what an earlier step granted.
		l.uncertain = true
	}
	l.endPending()
	return backward
}

// markDoubtful records that the last cost may not be in the ledger. The lease adopts the database's state once it is idle and
// every other settlement is applied.
func (l *lease) markDoubtful() {
	l.mu.Lock()
	l.doubtful = true
	l.mu.Unlock()
}

func (l *lease) canDiscard(now time.Duration, applied journal.LSN) bool {
	return l.doubtful && l.reserved == 0 && l.users == 0 && l.last <= applied && now-l.used >= idleAfter
}

// recall records that another replica needs the free credit, unless the lease was used within the rest period. It reports
// whether there is something to return.
func (l *lease) recall(now, rest time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now-l.used < rest {
		return false
	}
	l.recalled, l.takenAheadAt = true, now+recallPause
	return l.free() > 0 || l.uncertain
}

func (l *lease) endPending() {
	if l.pending != nil {
		l.pending = nil
		l.signalChange()
	}
}

// nextChange returns a channel that is closed when at least the given amount is free, or when the running step ends. The caller holds mu.
func (l *lease) nextChange(least app.Amount) <-chan struct{} {
	if l.changed == nil {
		l.changed, l.changeLeast = make(chan struct{}), least
	}
	l.changeLeast = min(l.changeLeast, least)
	return l.changed
}

// signalChange wakes everyone who waits for a change of the lease. The caller holds mu.
func (l *lease) signalChange() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// adopt copies a row into the lease. Sums only grow within an epoch, so a smaller sum means that the database is older than the lease.
func (l *lease) adopt(row LeaseState) (backward bool) {
	l.creditAccountFree = row.Free
	l.returnImmediately = row.ReturnImmediately
	if l.unread {
		l.granted, l.returned, l.spent, l.unread = row.Granted, row.Returned, row.Spent, false
		l.uncertain = false
		return false
	}
	if row.Granted < l.granted || row.Returned < l.returned && !l.uncertain {
		return true
	}
	l.granted = row.Granted
	l.uncertain = row.Returned < l.returned // A smaller sum means that a return was lost.
	return false
}

// idle reports whether the lease's free credit should go back.
func (l *lease) idle(now time.Duration, applied journal.LSN) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uncertain || l.canDiscard(now, applied) {
		return true
	}
	return l.hasSpare(now)
}

// atRest reports whether nothing but a use, or much time, can make the lease return credit, or take some ahead.
func (l *lease) atRest(now time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now-l.used > idleAfter && l.pending == nil && !l.uncertain && !l.doubtful && !l.recalled &&
		(!l.returnImmediately || l.free() <= 0)
}

// hasSpare reports whether free credit should go back. The caller holds mu.
func (l *lease) hasSpare(now time.Duration) bool {
	return l.free() > 0 && (l.returnImmediately && l.users == 0 || l.recalled || now-l.used >= l.idleMax())
}

// idleMax is how long free credit may stay here unused. It may stay long while the account has at least as much left, because
// a call after a pause then needs no database. Other replicas recall it when they need it.
func (l *lease) idleMax() time.Duration {
	if l.returnImmediately || l.creditAccountFree < l.free() || l.small() {
		return idleAfter
	}
	return keepFor
}
