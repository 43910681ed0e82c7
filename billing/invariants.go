package billing

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
)

// These limits bound a check of the ledger.
const (
	booksMax      = 10 * time.Minute // A check reads every entry of the ledger.
	findingsMax   = 5                // The detail of one check names at most this many findings.
	findingsQuery = "select count(*) over () as total, finding from (%s) f (finding) order by finding limit %d"
)

// Check is the result of one ledger invariant: whether it holds, and where and by how much it does not.
type Check struct {
	Name   string
	Holds  bool
	Detail string
}

// invariants are queries for rows that must not exist. Each row is one finding as a sentence.
var invariants = []struct{ name, findings string }{
	{"posted equals entries", `
		select format('account %s: posted %s, its entries sum to %s, off by %s nano-dollars', id, posted, entries, posted - entries)
		from (
			select a.id, a.posted_nanos as posted, coalesce(sum(e.amount_nanos), 0) as entries
			from credit_accounts a left join ledger_entries e on e.account_id = a.id where a.kind = 'customer' group by a.id
		) s where posted <> entries
		union all
		select format('entry %s belongs to account %s, which does not exist', e.id, e.account_id)
		from ledger_entries e left join credit_accounts a on a.id = e.account_id where a.id is null`},
	{"each entry continues its account", `
		select format('entry %s of account %s: posted after it is %s, expected %s', id, account_id, posted_after, running)
		from (
			select e.*, sum(amount_nanos) over (partition by account_id order by id) as running
			from ledger_entries e where posted_after is not null
		) s where posted_after <> running`},
	{"transactions balance", `
		select format('transaction %s: its entries sum to %s nano-dollars, not 0', transaction_id, sum(amount_nanos))
		from ledger_entries group by transaction_id having sum(amount_nanos) <> 0
		union all
		select format('transaction %s has no entries', t.id)
		from ledger_transactions t where not exists (select from ledger_entries e where e.transaction_id = t.id)`},
	{"all entries sum to zero", `
		select format('all entries sum to %s nano-dollars, not 0', sum(amount_nanos))
		from ledger_entries having sum(amount_nanos) <> 0`},
	{"nothing below zero", `
		select format('credit account %s: posted %s, held %s nano-dollars', id, posted_nanos, held_nanos)
		from credit_accounts where held_nanos < 0 or (kind <> 'internal' and posted_nanos < held_nanos)
		union all
		select format('the lease of %s by %s/%s: granted %s, returned %s, spent %s nano-dollars', credit_account_id, replica_id, epoch,
			granted_nanos, returned_nanos, spent_nanos)
		from leases where returned_nanos < 0 or spent_nanos < 0 or granted_nanos < returned_nanos + spent_nanos
			or (state <> 'open' and granted_nanos <> returned_nanos + spent_nanos)`},
	{"held equals open leases and holds", `
		select format('credit account %s: held %s, its open leases and holds sum to %s, off by %s nano-dollars',
			id, held, reserved, held - reserved)
		from (
			select coalesce(a.id, h.id) as id, coalesce(a.held_nanos, 0) as held, coalesce(h.amount, 0) as reserved
			from credit_accounts a full join (
				select id, sum(amount) as amount from (
					select account_id as id, amount_nanos as amount from holds where state = 'open'
					union all select budget_id, amount_nanos from holds where state = 'open' and budget_id <> ''
					union all select credit_account_id, granted_nanos - returned_nanos - spent_nanos from leases where state = 'open'
				) p group by id
			) h on h.id = a.id
		) s where held <> reserved`},
	{"one usage record a request", `
		select format('hold %s was settled, but has no usage record', h.id)
		from holds h left join usage_records u on u.request_id = h.id
		where h.reason in ('settled', 'late') and u.request_id is null and h.created_at >= (select since from usage_retention)
		union all
		select format('request %s has %s usage records', request_id, count(*))
		from usage_records group by request_id having count(*) > 1`},
	{"sums equal usage records", `
		select format('account %s, %s, key %s, model %s, style %s, reason %s: %s requests and %s nano-dollars summed, %s and %s recorded',
			account_id, slot, key_id, model, style, reason, sums[1], sums[2], records[1], records[2])
		from (
			select account_id, slot, key_id, model, style, reason,
				coalesce(s.sums, '{0,0,0,0,0,0,0}') as sums, coalesce(r.sums, '{0,0,0,0,0,0,0}') as records,
				coalesce(s.meters, '{}') as sum_meters, coalesce(r.meters, '{}') as record_meters
			from (
				select account_id, slot, key_id, model, style, reason, trim_meters(meters) as meters,
					array[requests, cost_nanos, overrun_nanos, streamed, failed, upstream_cost_nanos, upstream_priced] as sums
				from usage_rollups where slot >= (select since from usage_retention)::timestamp at time zone 'utc'
			) s full join (
				select account_id, date_bin('15 minutes', started_at, '2000-01-01 00:00+00') as slot, key_id, model, style, reason,
					trim_meters(sum_meters(meters)) as meters,
					array[count(*), sum(cost_nanos), sum(overrun_nanos), count(*) filter (where streamed),
						count(*) filter (where outcome not in ('succeeded', 'client_left')), coalesce(sum(upstream_cost_nanos), 0),
						count(upstream_cost_nanos)]::bigint[] as sums
				from usage_records where day >= (select since from usage_retention) group by 1, 2, 3, 4, 5, 6
			) r using (account_id, slot, key_id, model, style, reason)
		) c where sums <> records or sum_meters <> record_meters`},
	{"usage equals charges", `
		select format('account %s: usage cost %s, charges %s, off by %s nano-dollars', id, usage, charges, usage - charges)
		from (
			select coalesce(u.account_id, c.account_id) as id, coalesce(u.cost, 0) as usage, coalesce(c.amount, 0) as charges
			from (select account_id, sum(cost_nanos) as cost from usage_rollups group by account_id) u
			full join (
				select e.account_id, -sum(e.amount_nanos) as amount
				from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
				where t.kind in ('charge', 'reversal') and e.posted_after is not null group by e.account_id
			) c on c.account_id = u.account_id
		) s where usage <> charges
		union all
		select format('transaction %s: account %s was charged %s, its requests cost %s nano-dollars', transaction_id, account_id, amount, cost)
		from (
			select coalesce(e.transaction_id, u.transaction_id) as transaction_id, coalesce(e.account_id, u.account_id) as account_id,
				coalesce(-e.amount_nanos, 0) as amount, coalesce(u.cost, 0) as cost
			from (
				select e.* from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
				where t.kind = 'charge' and e.posted_after is not null and t.at >= (select since from usage_retention) + 7
					and not exists (select from ledger_transactions r where r.kind = 'reversal' and r.ref = t.ref)
			) e full join (
				select transaction_id, account_id, sum(cost_nanos) as cost from usage_records
				where cost_nanos > 0 and settled_at >= (select since from usage_retention) + 7 group by 1, 2
			) u on u.transaction_id = e.transaction_id and u.account_id = e.account_id
		) s where amount <> cost`},
	{"overruns equal platform loss", `
		select format('usage overran by %s, the platform lost %s nano-dollars', overrun, lost)
		from (select coalesce(sum(overrun_nanos), 0) as overrun from usage_rollups) u, (
			select coalesce(-sum(e.amount_nanos), 0) as lost
			from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
			where t.kind in ('charge', 'reversal') and e.account_id = 'internal:platform_loss'
		) l where overrun <> lost`},
	{"receivables are explained", `
		select format('accounts owe %s, internal:receivables has %s nano-dollars', owed, booked)
		from (select coalesce(sum(owed_nanos), 0) as owed from receivables) r, (
			select coalesce(-sum(amount_nanos), 0) as booked from ledger_entries where account_id = 'internal:receivables'
		) b where owed <> booked`},
	{"no budget has entries or grants", `
		select format('entry %s is of the budget %s', e.id, a.id)
		from ledger_entries e join credit_accounts a on a.id = e.account_id where a.kind = 'budget'
		union all
		select format('grant %s is of the budget %s', g.id, a.id)
		from grants g join credit_accounts a on a.id = g.account_id where a.kind = 'budget'`},
	{"holds end once, within their amount", `
		select format('hold %s: %s of %s nano-dollars captured, state %s', id, captured_nanos, amount_nanos, state)
		from holds
		where captured_nanos not between 0 and amount_nanos or state not in ('open', 'captured', 'released')
			or (state = 'captured') <> (captured_nanos > 0) or (state = 'open') <> (closed_at is null)
		union all
		select format('request %s: cost %s, but its hold captured %s nano-dollars', h.id, u.cost_nanos, h.captured_nanos)
		from holds h join usage_records u on u.request_id = h.id where u.cost_nanos <> h.captured_nanos`},
	{"grants equal posted", `
		select format('account %s: its grants have %s left, posted %s, off by %s nano-dollars', id, remaining, posted, remaining - posted)
		from (
			select a.id, a.posted_nanos as posted, coalesce(sum(g.remaining_nanos), 0) as remaining
			from credit_accounts a left join grants g on g.account_id = a.id where a.kind = 'customer' group by a.id
		) s where remaining <> posted
		union all
		select format('grant %s: %s of %s nano-dollars left', id, remaining_nanos, amount_nanos)
		from grants where remaining_nanos not between 0 and amount_nanos`},
}

// Books checks every invariant on one snapshot, because concurrent traffic would otherwise look like an error. It reads every
// entry, so a large ledger needs a pool without a statement timeout.
func Books(ctx context.Context, db *sqlx.DB) ([]Check, error) {
	ctx, cancel := context.WithTimeout(ctx, booksMax)
	defer cancel()
	tx, err := db.BeginTxx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, postgres.StoreError("billing: books", err)
	}
	defer func() { _ = tx.Rollback() }() // The transaction only reads.
	checks := make([]Check, 0, len(invariants))
	for _, i := range invariants {
		var found []struct {
			Total   int64  `db:"total"`
			Finding string `db:"finding"`
		}
		err := tx.SelectContext(ctx, &found, fmt.Sprintf(findingsQuery, i.findings, findingsMax))
		if err != nil {
			return nil, postgres.StoreError("billing: books: "+i.name, err)
		}
		sentences := make([]string, len(found))
		for i, f := range found {
			sentences[i] = f.Finding
		}
		check := Check{Name: i.name, Holds: len(found) == 0, Detail: strings.Join(sentences, "; ")}
		if len(found) > 0 && found[0].Total > int64(len(found)) {
			check.Detail += fmt.Sprintf("; and %d more", found[0].Total-int64(len(found)))
		}
		checks = append(checks, check)
	}
	return checks, nil
}
