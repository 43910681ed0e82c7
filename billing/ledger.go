package billing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// Limits of the ledger.
const (
	pageSizeMax    = 200 // rows of one list
	grantNanosMax  = app.Amount(math.MaxInt64 / 64)
	textBytesMax   = 512 // of one free text of a usage record
	sourceBytesMax = 200
)

// ErrGrantExists means that the source of a grant was used before, so the credit is already there.
var ErrGrantExists = errors.New("billing: credit from this source was granted before")

// Options of a ledger.
type Options struct {
	Now app.Clock
	IDs app.IDs
	Log *slog.Logger // for the worker, which has nobody to return an error to
	// RecordsKept is how long usage records are kept, 400 days when zero. They are dropped by whole months.
	RecordsKept time.Duration
}

// Ledger keeps prepaid credit. Every verb is one transaction of the store, which checks the invariants itself; no
// balance is remembered in memory, so any number of replicas may share the store.
type Ledger struct {
	db       *sqlx.DB
	o        Options
	counters counters
	failed   failures
}

// NewLedger makes a ledger over a migrated store. It panics when an option is missing.
func NewLedger(db *sqlx.DB, o Options) *Ledger {
	if db == nil || o.Now == nil || o.IDs.Now == nil || o.IDs.Random == nil || o.Log == nil {
		panic("billing: a ledger needs a store, a clock, identifiers and a log")
	}
	if o.RecordsKept == 0 {
		o.RecordsKept = recordsKept
	}
	return &Ledger{db: db, o: o}
}

// GrantKind says why credit was given.
type GrantKind string

// The kinds of grants.
const (
	Trial       GrantKind = "trial"
	Purchased   GrantKind = "purchased"
	Promotional GrantKind = "promotional"
	Adjustment  GrantKind = "adjustment"
)

// grantSources is the account that gives the credit of each kind.
var grantSources = map[GrantKind]string{
	Trial:       "internal:promotions",
	Purchased:   "internal:payment_clearing",
	Promotional: "internal:promotions",
	Adjustment:  "internal:promotions",
}

// grantPriorities say what is drawn first: the trial, then what was given, then what was bought. Of one kind what expires
// first goes first, and then the oldest.
var grantPriorities = map[GrantKind]int{Trial: 10, Promotional: 20, Adjustment: 20, Purchased: 30}

// Grant is credit for an account. Source makes it happen once: the trial of an account, a payment, an operator's
// reference.
type Grant struct {
	AccountID string
	Kind      GrantKind
	Amount    app.Amount
	ExpiresAt *time.Time // nil for never
	Source    string
	Reason    string // shown to the customer
	Operator  string // who gave it, empty for the gateway itself
}

// Balance is an account's money: what the ledger says it has, and what open holds reserve of it.
type Balance struct {
	Posted app.Amount `db:"posted_nanos"`
	Held   app.Amount `db:"held_nanos"`
	Leased app.Amount `db:"leased_nanos"` // the part of Held that replicas keep at hand for calls, running or soon to come
}

// Available is what a new hold may take.
func (b Balance) Available() app.Amount { return b.Posted - b.Held }

// Spendable is what calls may still spend: leases are for them. Only what jobs hold is set aside for good.
func (b Balance) Spendable() app.Amount { return b.Posted - (b.Held - b.Leased) }

// Entry is one movement of an account's credit. Ref names its cause: the request, the source of the grant.
type Entry struct {
	ID            int64      `db:"id"`
	TransactionID string     `db:"transaction_id"`
	Kind          string     `db:"kind"` // grant, charge, refund, expiry, adjustment
	Ref           string     `db:"ref"`
	Amount        app.Amount `db:"amount_nanos"`
	PostedAfter   app.Amount `db:"posted_after"`
	Reason        string     `db:"reason"`
	At            time.Time  `db:"at"`
	Requests      int64      `db:"requests"` // that a charge consists of
}

// HoldRequest asks to reserve credit for a call. ID is the request's id and is used once. Want is the most the call
// can cost; Min is the least that makes it worthwhile, all of Want when it is zero.
//
// BudgetID is the purse of the key's budget, empty for a key without one.
type HoldRequest struct {
	ID, AccountID, BudgetID string
	Want, Min               app.Amount
}

// Hold is reserved credit. It ends in exactly one settlement.
type Hold struct {
	ID, AccountID, BudgetID string
	Amount                  app.Amount
	Epoch                   int64 // of the replica's run that took it
}

// Charge is what settling the hold at a cost takes from the account: never more than the hold, the platform bears the
// rest. It is what the caller may be shown as the cost.
func (h Hold) Charge(cost app.Amount) app.Amount { return min(cost, h.Amount) }

// OpenAccount gives an account a balance of zero. Opening it again changes nothing.
func (l *Ledger) OpenAccount(ctx context.Context, q postgres.Queryer, accountID string) error {
	return wrap("open account", insertAccount(ctx, q, accountID))
}

// Grant adds credit once per source, in the caller's transaction when q is one.
func (l *Ledger) Grant(ctx context.Context, q postgres.Queryer, g Grant) error {
	from, known := grantSources[g.Kind]
	switch {
	case !known:
		return fmt.Errorf("billing: grant: %q is not a kind of grant", g.Kind)
	case g.Amount <= 0 || g.Amount > grantNanosMax:
		return fmt.Errorf("billing: grant: $%s is not between $0 and $%s", g.Amount, grantNanosMax)
	case g.Source == "" || len(g.Source) > sourceBytesMax:
		return fmt.Errorf("billing: grant: the source must have 1 to %d characters", sourceBytesMax)
	}
	done, err := insertGrant(ctx, q, g, grantRow{
		id: l.o.IDs.New("grt"), from: from, transaction: l.o.IDs.New("txn"), at: l.o.Now().UTC(),
	})
	if err == nil && !done {
		return ErrGrantExists
	}
	if err == nil && g.Kind == Purchased { // which may have paid the last of a debt
		err = l.settleDebt(ctx, q, g.AccountID)
	}
	return wrap("grant", err)
}

// HoldFor reserves credit for a job that outlives its request and this process: part of the caller's transaction, all of
// Want or nothing, of the account and of the key's budget, and good for as long as said. What is not settled by then is
// released.
func (l *Ledger) HoldFor(ctx context.Context, q postgres.Queryer, r HoldRequest, lasting time.Duration) (Hold, error) {
	if r.ID == "" || r.Want < 0 || lasting < time.Minute {
		return Hold{}, fmt.Errorf("billing: hold %q: wants %d for %s", r.ID, r.Want, lasting)
	}
	row, err := holdJob(ctx, q, r, l.o.Now().UTC().Add(lasting))
	if err != nil {
		return Hold{}, wrap("hold", err)
	}
	switch row.Short {
	case "":
		return Hold{ID: r.ID, AccountID: r.AccountID, BudgetID: r.BudgetID, Amount: r.Want}, nil
	case "budget":
		return Hold{}, OverBudget(r.Want, row.Balance, row.Refill.Next(l.o.Now()))
	case "limit":
		return Hold{}, OverLimit(r.Want, row.Balance, row.Limit)
	case "frozen":
		return Hold{}, Frozen()
	default:
		return Hold{}, Unfunded(r.Want, row.Balance)
	}
}

// Frozen is what an account is told that was frozen: nothing is charged to it, so nothing runs for it.
func Frozen() *app.Error {
	return app.Errorf(app.Forbidden, "account_frozen",
		"This account is frozen, so nothing can run for it. Write to support to find out why.").Final()
}

// momentLayout is how errors say until when something holds.
const momentLayout = "2006-01-02 at 15:04 UTC"

// OverBudget is Unfunded for a key whose own limit is used up, whatever the account has. A nil time is that of a budget in total.
func OverBudget(needed app.Amount, b Balance, refilled *time.Time) *app.Error {
	otherwise := "use another key: the budget is one in total and is not refilled"
	if refilled != nil {
		otherwise = "wait until it is refilled on " + refilled.UTC().Format(momentLayout)
	}
	e := app.Errorf(app.Unfunded, "budget_exceeded",
		"This call needs $%s of the key's budget; $%s of it is left%s. Raise the key's budget on the keys page of the console "+
			"(/console/keys), or %s.", needed, b.Available(), reserved(b), otherwise).Final()
	e.Doc = "/console/keys"
	return e
}

// Unfunded tells the person who reads it what is missing and where to get it.
func Unfunded(needed app.Amount, b Balance) *app.Error {
	e := app.Errorf(app.Unfunded, "insufficient_quota",
		"This call needs $%s of credit; $%s is available%s. Add credit on the billing page of the console (/console/billing).",
		needed, b.Available(), reserved(b)).Final()
	e.Doc = "/console/billing"
	return e
}

func reserved(b Balance) string {
	if b.Held <= 0 {
		return ""
	}
	return fmt.Sprintf(" and $%s is reserved by calls that are still running", b.Held)
}

// Settlement is the outcome of a call: its cost and the facts that explain it.
type Settlement struct {
	Cost   app.Amount
	Record UsageRecord
	// Delivered says that the client has the answer, or some of it, so that its cost must get into the books.
	Delivered bool
}

// SettleIn ends the hold of a job in the transaction that ends the job, so that its end and its charge are one: the account
// pays the cost up to the hold, the platform bears the rest, what was not used is free again and the usage record is kept.
// Settling a hold a second time changes nothing. One that expired is charged from what is free.
func (l *Ledger) SettleIn(ctx context.Context, q postgres.Queryer, h Hold, s Settlement) error {
	if s.Cost < 0 || s.Record.RequestID != h.ID {
		return fmt.Errorf("billing: settle %s: request %q at a cost of %d", h.ID, s.Record.RequestID, s.Cost)
	}
	done, err := settleHold(ctx, q, h, settleRow{
		cost: s.Cost, transaction: l.o.IDs.New("txn"), at: l.o.Now().UTC(), record: string(s.Encode(h, "", l.o.Now())),
	})
	if err != nil {
		return wrap("settle", err)
	}
	switch done.Outcome {
	case outcomeUnknown:
		return fmt.Errorf("billing: settle: account %s has no hold %s", h.AccountID, h.ID)
	case outcomeRepeated:
		return nil
	case outcomeLate:
		l.counters.late.Add(1)
	}
	if done.Overrun > 0 {
		l.counters.overruns.Add(1)
	}
	return nil
}

// Balance is the account's money now.
func (l *Ledger) Balance(ctx context.Context, accountID string) (Balance, error) {
	b, err := selectBalance(ctx, l.db, accountID)
	return b, wrap("balance", err)
}

// Spend is what the calls an account started since then have cost, and how many they were.
func (l *Ledger) Spend(ctx context.Context, accountID string, since time.Time) (app.Amount, int64, error) {
	cost, requests, err := selectSpend(ctx, l.db, accountID, since)
	return cost, requests, wrap("spend", err)
}

// Requests are the account's latest usage records, newest first, at most 200.
func (l *Ledger) Requests(ctx context.Context, accountID string, limit int) ([]UsageRecord, error) {
	rows, err := selectRecords(ctx, l.db, accountID, pageSize(limit))
	if err != nil {
		return nil, wrap("requests", err)
	}
	records := make([]UsageRecord, len(rows))
	for i, row := range rows {
		records[i] = row.record()
	}
	return records, nil
}

// Entries are the account's latest movements of credit, newest first, at most 200.
func (l *Ledger) Entries(ctx context.Context, accountID string, limit int) ([]Entry, error) {
	entries, err := selectEntries(ctx, l.db, accountID, pageSize(limit))
	return entries, wrap("entries", err)
}

func pageSize(limit int) int { return min(max(limit, 1), pageSizeMax) }

// wrap names the verb, and turns a store that is away into the error every room answers with.
func wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	return StoreError("billing: "+verb, err)
}

// StoreError names the step that failed, and makes of a store that is away, or could not do it now, the error that every
// room answers with.
func StoreError(step string, err error) error {
	err = fmt.Errorf("%s: %w", step, err)
	if postgres.Unavailable(err) || hindered(err) {
		return app.ErrStore(err)
	}
	return err
}

// hindrances are the classes of SQLSTATE in which the store is there, but could not do this transaction now: it ended
// a conflict, ran out of disk or memory, could not get a lock, or its system failed.
var hindrances = []string{"40", "53", "55", "58"}

func hindered(err error) bool {
	var coded interface{ SQLState() string }
	if !errors.As(err, &coded) {
		return false
	}
	state := coded.SQLState()
	return slices.ContainsFunc(hindrances, func(class string) bool { return strings.HasPrefix(state, class) })
}
