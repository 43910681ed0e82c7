package billing

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// These limits apply to the ledger.
const (
	pageSizeMax    = 200 // One list has at most this many rows.
	grantNanosMax  = app.Amount(math.MaxInt64 / 64)
	textBytesMax   = 512 // One free text of a usage record has at most this many bytes.
	sourceBytesMax = 200
)

// ErrGrantExists means that the source of a grant was used before, so the account already has the credit.
var ErrGrantExists = errors.New("billing: credit from this source was granted before")

// Options configure a ledger.
type Options struct {
	Now app.Clock
	IDs app.IDs
	Log *slog.Logger // The worker logs its errors, because it has no caller.
}

// Ledger keeps prepaid credit. Every method is one transaction of the store, which checks the invariants itself. The ledger
// caches no balance, so any number of replicas may share the store.
type Ledger struct {
	db       *sqlx.DB
	sweeps   *postgres.Repeated
	o        Options
	counters counters
	failed   failures
}

// NewLedger returns a ledger over a migrated store. It panics when a required option is missing.
func NewLedger(db *sqlx.DB, o Options) *Ledger {
	app.RequireOptions("billing.NewLedger", map[string]bool{
		"db": db != nil, "Options.Now": o.Now != nil, "Options.IDs.Now": o.IDs.Now != nil, "Options.IDs.Random": o.IDs.Random != nil,
		"Options.Log": o.Log != nil,
	})
	return &Ledger{db: db, sweeps: postgres.Repeat(db), o: o}
}

// GrantKind is why credit was given.
type GrantKind string

// These are the kinds of grants.
const (
	Trial       GrantKind = "trial"
	Purchased   GrantKind = "purchased"
	Promotional GrantKind = "promotional"
	Adjustment  GrantKind = "adjustment"
)

// grantSources maps each kind to the ledger account that pays for its grants.
var grantSources = map[GrantKind]string{
	Trial:       "internal:promotions",
	Purchased:   "internal:payment_clearing",
	Promotional: "internal:promotions",
	Adjustment:  "internal:promotions",
}

// grantPriorities is the order in which credit is spent: trial, gifts, then purchases. Within one kind the earliest expiry
// goes first, then the oldest grant.
var grantPriorities = map[GrantKind]int{Trial: 10, Promotional: 20, Adjustment: 20, Purchased: 30}

// Grant is credit for an account. Source makes it happen once: the trial of an account, a payment, or an operator's reference.
type Grant struct {
	AccountID string
	Kind      GrantKind
	Amount    app.Amount
	ExpiresAt *time.Time // A nil time means that the credit never expires.
	Source    string
	Reason    string // Reason is shown to the customer.
	Operator  string // Operator is empty when the gateway itself gave the credit.
}

// Balance is an account's posted credit and the part of it that open holds reserve.
type Balance struct {
	Posted app.Amount `db:"posted_nanos"`
	Held   app.Amount `db:"held_nanos"`
	Leased app.Amount `db:"leased_nanos"` // Leased is the part of Held that replicas lease for running and future calls.
}

// Available is what a new hold may take.
func (b Balance) Available() app.Amount { return b.Posted - b.Held }

// Spendable is what calls may still spend. It includes leases, which exist for calls, and excludes the holds of jobs.
func (b Balance) Spendable() app.Amount { return b.Posted - (b.Held - b.Leased) }

// HoldRequest asks to reserve credit for a call. ID is the request's id and is used once. Want is the most the call can cost.
// Min is the least that lets the call run; zero means all of Want.
//
// BudgetID is the credit account of the key's budget, and empty for a key without one.
//
// Uncharged means that the account needs no credit: nothing is reserved, and the hold is never refused for credit.
type HoldRequest struct {
	ID, AccountID, BudgetID string
	Want, Min               app.Amount
	Uncharged               bool
}

// Hold is reserved credit. Exactly one settlement ends it.
type Hold struct {
	ID, AccountID, BudgetID string
	Amount                  app.Amount
	Epoch                   int64 // Epoch is the epoch of the replica that took the hold.
	// Uncharged means that Amount bounds the call, but is not reserved, and that settling the hold debits nothing.
	Uncharged bool
}

// Charge is what settling the hold at a cost takes from the account: never more than the hold, because the platform bears the
// rest. The caller may be shown it as the cost. For an uncharged hold it is the price of the call.
func (h Hold) Charge(cost app.Amount) app.Amount { return min(cost, h.Amount) }

// OpenAccount gives an account a balance of zero. It changes nothing for an account that has a balance.
func (l *Ledger) OpenAccount(ctx context.Context, q postgres.Queryer, accountID string) error {
	_, err := q.ExecContext(ctx, `
		insert into credit_accounts (id, kind, posted_nanos) values ($1, 'customer', 0)
		on conflict (id) do nothing`, accountID)
	return postgres.StoreError("billing: open account", err)
}

// Grant adds credit once per source. It uses the caller's transaction when q is one.
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
	meta, err := metadata(string(g.Kind), g.Reason, g.Operator)
	if err != nil {
		return err
	}
	var done bool
	err = q.GetContext(ctx, &done, `select grant_credit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		l.o.IDs.New("grt"), g.AccountID, string(g.Kind), grantPriorities[g.Kind], int64(g.Amount), g.ExpiresAt, g.Source,
		from, l.o.IDs.New("txn"), l.o.Now().UTC(), meta)
	if err == nil && !done {
		return ErrGrantExists
	}
	if err == nil && g.Kind == Purchased { // A purchase may pay the last of a debt.
		err = l.payReceivable(ctx, q, g.AccountID)
	}
	return postgres.StoreError("billing: grant", err)
}

// metadata is what the ledger keeps of a transaction beside its entries, as JSON.
func metadata(kind, reason, operator string) (string, error) {
	meta, err := json.Marshal(map[string]string{
		"kind": kind, "reason": app.MakeStorable(reason, textBytesMax), "operator": app.MakeStorable(operator, textBytesMax),
	})
	return string(meta), err
}

// HoldFor reserves credit for a job that outlives its request and this process. It runs in the caller's transaction and reserves all of
// Want or nothing, from the account and from the key's budget. A hold that is not settled within the given time is released.
func (l *Ledger) HoldFor(ctx context.Context, q postgres.Queryer, r HoldRequest, lasting time.Duration) (Hold, error) {
	if r.ID == "" || r.Want < 0 || lasting < time.Minute {
		return Hold{}, fmt.Errorf("billing: hold %q: wants %d for %s", r.ID, r.Want, lasting)
	}
	if r.Uncharged {
		r.Want = 0
	}
	var short string // Short is the credit account that has too little.
	var balance Balance
	var limit, period, start = new(int64), new(string), new(time.Time)
	var refill Period // Refill is the period of the key's budget. It is empty for a key without one.
	err := q.QueryRowxContext(ctx, `
		select short, coalesce(posted, 0), coalesce(held, 0), cap_nanos, cap_period, cap_start,
			coalesce((select period from key_budgets where key_id = $3), '') from hold_job($1, $2, $3, $4, $5)`,
		r.ID, r.AccountID, r.BudgetID, int64(r.Want), l.o.Now().UTC().Add(lasting)).
		Scan(&short, &balance.Posted, &balance.Held, &limit, &period, &start, &refill)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("account %s has no credit account", r.AccountID)
	}
	if err != nil {
		return Hold{}, postgres.StoreError("billing: hold", err)
	}
	switch short {
	case "":
		h := Hold{ID: r.ID, AccountID: r.AccountID, BudgetID: r.BudgetID, Amount: r.Want, Uncharged: r.Uncharged}
		if !r.Uncharged {
			return h, nil
		}
		_, err := q.ExecContext(ctx, `update holds set uncharged = true where id = $1`, r.ID)
		return h, postgres.StoreError("billing: hold", err)
	case "budget":
		return Hold{}, OverBudget(r.Want, balance, refill.Next(l.o.Now()))
	case "limit":
		return Hold{}, OverLimit(r.Want, balance, LimitOf(limit, period, start))
	case "frozen":
		return Hold{}, Frozen()
	default:
		return Hold{}, Unfunded(r.Want, balance)
	}
}

// Frozen is the refusal for a frozen account: the gateway charges it nothing, so it runs nothing for it.
func Frozen() *app.Error {
	return app.Errorf(app.Forbidden, "account_frozen",
		"This account is frozen, so nothing can run for it. Write to support to find out why.").Final()
}

// timeLayout is how errors say until when something holds.
const timeLayout = "2006-01-02 at 15:04 UTC"

// OverBudget is Unfunded for a key whose own limit is used up, whatever the account has. A nil time is that of a budget in total.
func OverBudget(needed app.Amount, b Balance, refilled *time.Time) *app.Error {
	otherwise := "use another key: the budget is one in total and is not refilled"
	if refilled != nil {
		otherwise = "wait until it is refilled on " + refilled.UTC().Format(timeLayout)
	}
	e := app.Errorf(app.Unfunded, "budget_exceeded",
		"This call needs $%s of the key's budget; $%s of it is left%s. Raise the key's budget on the keys page of the console "+
			"(/console/keys), or %s.", needed, b.Available(), reserved(b), otherwise).Final()
	e.Doc = "/console/keys"
	return e
}

// Unfunded is the refusal that says what is missing and where to buy it.
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

// Settlement is the result of a call: its cost and the facts that explain it.
type Settlement struct {
	Cost   app.Amount
	Record UsageRecord
	// Delivered means that the client has some of the answer, so its cost must reach the ledger.
	Delivered bool
}

// SettleIn ends the hold of a job in the transaction that ends the job, so both happen or neither. The account pays the cost
// up to the hold, the platform bears the rest, the unused part is free again, and the usage record is stored. Settling a hold
// a second time changes nothing. An expired hold is charged from free credit.
func (l *Ledger) SettleIn(ctx context.Context, q postgres.Queryer, h Hold, s Settlement) error {
	if s.Cost < 0 || s.Record.RequestID != h.ID {
		return fmt.Errorf("billing: settle %s: request %q at a cost of %d", h.ID, s.Record.RequestID, s.Cost)
	}
	var overrun app.Amount
	var outcome string
	err := q.QueryRowxContext(ctx, `select coalesce(overrun, 0), outcome from settle_hold($1, $2, $3, $4, $5, $6)`,
		h.ID, h.AccountID, int64(s.Cost), l.o.IDs.New("txn"), l.o.Now().UTC(), string(s.Encode(h, "", l.o.Now()))).
		Scan(&overrun, &outcome)
	if err != nil {
		return postgres.StoreError("billing: settle", err)
	}
	switch outcome {
	case "unknown":
		return fmt.Errorf("billing: settle: account %s has no hold %s", h.AccountID, h.ID)
	case "repeated":
		return nil
	case "late":
		l.counters.settledLate.Add(1)
	}
	if overrun > 0 {
		l.counters.overruns.Add(1)
	}
	return nil
}

// Balance returns the account's balance now.
func (l *Ledger) Balance(ctx context.Context, accountID string) (Balance, error) {
	return l.readBalance(ctx, accountID, `
		select posted_nanos, held_nanos, leased_nanos(id) as leased_nanos from credit_accounts where id = $1 and kind = 'customer'`)
}

// Funds is Balance capped by the account's spend limit: what calls may spend now.
func (l *Ledger) Funds(ctx context.Context, accountID string) (Balance, error) {
	return l.readBalance(ctx, accountID, `
		select u.posted as posted_nanos, a.held_nanos, leased_nanos(a.id) as leased_nanos
		from credit_accounts a, under_limit(a.id, a.posted_nanos, a.held_nanos, now()) u where a.id = $1 and a.kind = 'customer'`)
}

func (l *Ledger) readBalance(ctx context.Context, accountID, query string) (b Balance, err error) {
	err = l.db.GetContext(ctx, &b, query, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("account %s has no credit account", accountID)
	}
	return b, postgres.StoreError("billing: balance", err)
}

func pageSize(limit int) int { return min(max(limit, 1), pageSizeMax) }
