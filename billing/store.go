package billing

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// grantRow is a grant with the columns that the ledger adds.
type grantRow struct {
	id, from, transaction string
	at                    time.Time
}

func insertGrant(ctx context.Context, q postgres.Queryer, g Grant, r grantRow) (done bool, err error) {
	meta, err := json.Marshal(map[string]string{
		"kind": string(g.Kind), "reason": app.MakeStorable(g.Reason, textBytesMax), "operator": app.MakeStorable(g.Operator, textBytesMax),
	})
	if err != nil {
		return false, err
	}
	err = q.GetContext(ctx, &done, `select grant_credit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		r.id, g.AccountID, string(g.Kind), grantPriorities[g.Kind], int64(g.Amount), g.ExpiresAt, g.Source,
		r.from, r.transaction, r.at, string(meta))
	return done, err
}

// jobRow is the answer to a hold of a job. It names the credit account that has too little, if any.
type jobRow struct {
	Short   string
	Balance Balance
	Limit   SpendLimit
	Refill  Period // the id of the key's budget; empty for none
}

func holdJob(ctx context.Context, q postgres.Queryer, r HoldRequest, expires time.Time) (jobRow, error) {
	var row jobRow
	var limit, period, start = new(int64), new(string), new(time.Time)
	err := q.QueryRowxContext(ctx, `
		select short, coalesce(posted, 0), coalesce(held, 0), cap_nanos, cap_period, cap_start,
			coalesce((select period from key_budgets where key_id = $3), '') from hold_job($1, $2, $3, $4, $5)`,
		r.ID, r.AccountID, r.BudgetID, int64(r.Want), expires).
		Scan(&row.Short, &row.Balance.Posted, &row.Balance.Held, &limit, &period, &start, &row.Refill)
	if errors.Is(err, sql.ErrNoRows) {
		return row, fmt.Errorf("account %s has no credit account", r.AccountID)
	}
	if err == nil {
		row.Limit = LimitOf(limit, period, start)
	}
	return row, err
}

// settleRow holds the arguments that close a hold.
type settleRow struct {
	cost        app.Amount
	transaction string
	at          time.Time
	record      string
}

// These outcomes of settle_hold matter here.
const (
	outcomeUnknown  = "unknown"
	outcomeRepeated = "repeated"
	outcomeLate     = "late"
)

type settledRow struct {
	Overrun app.Amount
	Outcome string
}

func settleHold(ctx context.Context, q postgres.Queryer, h Hold, r settleRow) (settledRow, error) {
	var row settledRow
	err := q.QueryRowxContext(ctx, `select coalesce(overrun, 0), outcome from settle_hold($1, $2, $3, $4, $5, $6)`,
		h.ID, h.AccountID, int64(r.cost), r.transaction, r.at, r.record).Scan(&row.Overrun, &row.Outcome)
	return row, err
}

func selectBalance(ctx context.Context, q postgres.Queryer, accountID string) (Balance, error) {
	var b Balance
	err := q.GetContext(ctx, &b, `
		select posted_nanos, held_nanos, leased_nanos(id) as leased_nanos from credit_accounts where id = $1 and kind = 'customer'`,
		accountID)
	if errors.Is(err, sql.ErrNoRows) {
		return b, fmt.Errorf("account %s has no credit account", accountID)
	}
	return b, err
}
