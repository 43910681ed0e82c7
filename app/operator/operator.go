// Package operator lets operators read all accounts and adjust one by hand: credit is added or taken back, an account is frozen or
// unfrozen. One transaction holds an adjustment, its entry in the audit log and the mark that it was made. RetryJob makes
// jobs of queues due. The package knows accounts, their people, their credit and their ledgers; the caller decides who is an operator.
package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/billing"
)

// These limits hold for adjustments.
const (
	AmountMax      = 100_000_000 * app.Dollar // limit for one adjustment
	reasonRunesMax = 500
	onceBytesMax   = 100
)

// Kind is what can be done to an account.
type Kind string

// The kinds of adjustments.
const (
	Add      Kind = "add"  // adds credit, which does not expire
	Take     Kind = "take" // takes credit back, at most what is free
	Freeze   Kind = "freeze"
	Unfreeze Kind = "unfreeze"
)

// Adjustment is an adjustment that an operator makes to an account.
type Adjustment struct {
	Kind      Kind
	AccountID string
	Amount    app.Amount // amount of credit, positive
	Reason    string     // shown to the account's members; required for all but Unfreeze
	Operator  string     // the operator's name in the ledger
	UserID    string     // user id of the operator; empty for a command
	From      app.Origin
	Once      string // from Service.Once; an adjustment sent twice with it is made once
}

// actions are how the audit log calls what was done.
var actions = map[Kind]audit.Action{
	Add: "billing.credit_granted", Take: "billing.credit_taken", Freeze: "account.frozen", Unfreeze: "account.unfrozen",
}

// ownAccount is what the audit log says of an operator who deals with an account of theirs.
const ownAccount = "The operator is a member of this account."

// Options of the operator service. All must be set.
type Options struct {
	Ledger *billing.Ledger
	Now    app.Clock
	IDs    app.IDs
}

// Service is the operator service. It is safe for concurrent use.
type Service struct {
	db      *sqlx.DB
	o       Options
	history *audit.Log
}

// New returns the operator service. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Service {
	app.RequireOptions("operator.New", map[string]bool{
		"db": db != nil, "Options.Ledger": o.Ledger != nil, "Options.Now": o.Now != nil, "Options.IDs.Now": o.IDs.Now != nil,
		"Options.IDs.Random": o.IDs.Random != nil,
	})
	return &Service{db: db, o: o, history: audit.New(db, o.Now, o.IDs)}
}

// Once returns a name under which an adjustment is made only once, however often it is sent.
func (d *Service) Once() string { return d.o.IDs.New("adj") }

// Check refuses an adjustment that is invalid for every account. The parameter of the error names the field to correct.
func Check(adjustment Adjustment) error {
	moves := adjustment.Kind == Add || adjustment.Kind == Take
	switch {
	case actions[adjustment.Kind] == "":
		return app.Errorf(app.NotFound, "not_found", "There is no such action.")
	case moves && (adjustment.Amount <= 0 || adjustment.Amount > AmountMax):
		return invalid("amount", "The amount must be more than 0 dollars and at most $%s.", AmountMax)
	case adjustment.Reason == "" && adjustment.Kind != Unfreeze:
		return invalid("reason", "Give a reason: account members can read it.")
	case utf8.RuneCountInString(adjustment.Reason) > reasonRunesMax || !app.Storable(adjustment.Reason):
		return invalid("reason", "The reason must be text of at most %d characters.", reasonRunesMax)
	}
	return nil
}

func invalid(param, format string, args ...any) error {
	return app.Errorf(app.Invalid, "invalid_"+param, format, args...).At(param)
}

// Do makes the adjustment once. It returns false for an adjustment that was made before, for freezing a frozen account, and for
// unfreezing one that is not frozen. The audit log says when the operator is a member of the account.
func (d *Service) Do(ctx context.Context, adjustment Adjustment) (done bool, err error) {
	adjustment.Reason = strings.TrimSpace(adjustment.Reason)
	if err := Check(adjustment); err != nil {
		return false, err
	}
	if adjustment.Operator == "" || adjustment.Once == "" || len(adjustment.Once) > onceBytesMax {
		return false, fmt.Errorf("operator: %s: Operator and Once are required", adjustment.Kind)
	}
	if adjustment.Kind == Take {
		if err := d.o.Ledger.Reclaim(ctx, adjustment.AccountID); err != nil {
			return false, accountError(string(adjustment.Kind), err)
		}
	}
	err = postgres.InTx(ctx, d.db, func(tx *sqlx.Tx) error {
		done, err = d.doIn(ctx, tx, adjustment)
		return err
	})
	if errors.Is(err, billing.ErrGrantExists) {
		return false, nil
	}
	return done && err == nil, accountError(string(adjustment.Kind), err)
}

func (d *Service) doIn(ctx context.Context, tx *sqlx.Tx, adjustment Adjustment) (bool, error) {
	was, err := selectStanding(ctx, tx, adjustment.AccountID, adjustment.UserID)
	if err != nil {
		return false, err
	}
	frozen := was.Frozen && !was.Indebted // an account frozen for a debt can also be frozen by an operator
	if adjustment.Kind == Freeze && frozen || adjustment.Kind == Unfreeze && !was.Frozen {
		return false, nil
	}
	if was.Closed {
		return false, app.Errorf(app.Conflict, "account_closed", "This account was deleted; nothing can be done to it any more.")
	}
	if first, err := postgres.Changed(tx.ExecContext(ctx, `
		insert into operator_actions (idempotency_key, account_id, action, operator, at) values ($1, $2, $3, $4, $5)
		on conflict (idempotency_key) do nothing`,
		adjustment.Once, adjustment.AccountID, string(adjustment.Kind), adjustment.Operator, d.o.Now().UTC())); err != nil || !first {
		return false, err
	}
	if err := d.act(ctx, tx, adjustment); err != nil {
		return false, err
	}
	e := audit.Event{Action: actions[adjustment.Kind], Operator: true}
	if adjustment.Amount > 0 {
		e.Changes = append(e.Changes, audit.Change{Field: "amount", To: "$" + adjustment.Amount.String()})
	}
	if adjustment.Reason != "" {
		e.Changes = append(e.Changes, audit.Change{Field: "reason", To: adjustment.Reason})
	}
	if was.Own {
		e.Changes = append(e.Changes, audit.Change{Field: "note", To: ownAccount})
	}
	return true, d.history.Write(ctx, tx, app.Principal{AccountID: adjustment.AccountID, From: adjustment.From}, e)
}

// act makes the part of an adjustment that belongs to the ledger.
func (d *Service) act(ctx context.Context, q postgres.Queryer, adjustment Adjustment) error {
	source := "operator:" + adjustment.Once
	switch adjustment.Kind {
	case Add:
		return d.o.Ledger.Grant(ctx, q, billing.Grant{
			AccountID: adjustment.AccountID, Kind: billing.Adjustment, Amount: adjustment.Amount, Source: source, Reason: adjustment.Reason,
			Operator: adjustment.Operator,
		})
	case Take:
		return d.o.Ledger.Adjust(ctx, q, billing.Correction{
			AccountID: adjustment.AccountID, Amount: -adjustment.Amount, Source: source, Reason: adjustment.Reason, Operator: adjustment.Operator,
		})
	case Freeze:
		return d.o.Ledger.Freeze(ctx, q, adjustment.AccountID, adjustment.Reason)
	}
	return d.o.Ledger.Unfreeze(ctx, q, adjustment.AccountID)
}

// History are the latest entries of an account's audit log.
func (d *Service) History(ctx context.Context, accountID string) ([]audit.Entry, error) {
	page, err := d.history.List(ctx, accountID, audit.Filter{Limit: historyShown})
	return page.Entries, err
}

// Credit is what an account has, by where it came from.
func (d *Service) Credit(ctx context.Context, accountID string) (billing.Credit, error) {
	return d.o.Ledger.Credit(ctx, accountID)
}

// spentSince returns the first moment of the period over which spend is shown.
func (d *Service) spentSince() time.Time { return d.o.Now().UTC().Add(-SpentOver) }
