package billing

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

func insertAccount(ctx context.Context, q postgres.Queryer, accountID string) error {
	_, err := q.ExecContext(ctx, `
		insert into credit_accounts (id, kind, posted_nanos) values ($1, 'customer', 0)
		on conflict (id) do nothing`, accountID)
	return err
}

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

func releaseExpiredHolds(ctx context.Context, q postgres.Queryer, limit int, at time.Time) (released int64, err error) {
	err = q.GetContext(ctx, &released, `select release_expired_holds($1, $2)`, limit, at)
	return released, err
}

// selectExpiredGrants finds expired grants with credit left that no open hold reserves.
func selectExpiredGrants(ctx context.Context, q postgres.Queryer, limit int, at time.Time, except []string) (ids []string, err error) {
	err = q.SelectContext(ctx, &ids, `
		select g.id from grants g join credit_accounts a on a.id = g.account_id
		where not g.spent and g.expires_at <= $2 and a.posted_nanos > a.held_nanos and g.id <> all($3)
		order by g.expires_at limit $1`, limit, at, pq.Array(except))
	return ids, err
}

// recallExpiredGrants recalls the leases of accounts with expired credit, which is then free at the next sweep.
func recallExpiredGrants(ctx context.Context, q postgres.Queryer, limit int, at time.Time) error {
	_, err := q.ExecContext(ctx, `
		select recall_leases(expired.account_id) from (
			select distinct g.account_id from grants g
			where not g.spent and g.expires_at <= $2 and exists (
				select from leases l where l.credit_account_id = g.account_id and l.state = 'open' and l.remaining_nanos > 0)
			limit $1) expired`, limit, at)
	return err
}

func expireGrant(ctx context.Context, q postgres.Queryer, id, transaction string, at time.Time) (taken app.Amount, err error) {
	err = q.GetContext(ctx, &taken, `select expire_grant($1, $2, $3)`, id, transaction, at)
	return taken, err
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
