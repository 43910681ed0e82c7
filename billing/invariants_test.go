package billing_test

import (
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// traffic makes a capture, an overrun, a release and an open hold. It returns the account and the captured hold.
func traffic(h *fixture) (string, billing.Hold) {
	account := h.account(app.Dollar)
	captured := h.hold(account, 10)
	h.settle(captured, 7)
	h.settle(h.hold(account, 10), 12)
	h.settle(h.hold(account, 10), 0)
	h.hold(account, 10)
	return account, captured
}

// TestBooksFindEveryCorruption is the negative control: each check must fail when a test bypasses the constraints and
// corrupts what it checks.
func TestBooksFindEveryCorruption(t *testing.T) {
	t.Parallel()
	const free = `alter table ledger_entries disable trigger all; alter table ledger_transactions disable trigger all;`
	for _, c := range []struct{ name, check, sql string }{
		{"a cached sum", "posted equals entries", `update credit_accounts set posted_nanos = posted_nanos + 1 where id = '{account}'`},
		{"an entry of no account", "posted equals entries", free + `update ledger_entries set account_id = 'acc_ghost'
			where account_id = '{account}' and amount_nanos = -7`},
		{"a lost entry", "posted equals entries", free + `delete from ledger_entries where account_id = '{account}' and amount_nanos = -7`},
		{"a running sum", "each entry continues its account", free + `update ledger_entries set posted_after = posted_after - 1
			where account_id = '{account}' and amount_nanos = -7`},
		{"one side of a transaction", "transactions balance", free + `update ledger_entries set amount_nanos = 8
			where account_id = 'internal:usage_revenue' and amount_nanos = 7`},
		{"two transactions that even out", "transactions balance", free + `update ledger_entries
			set amount_nanos = case amount_nanos when 7 then 8 else 11 end where account_id = 'internal:usage_revenue'`},
		{"an empty transaction", "transactions balance", `insert into ledger_transactions (id, kind, ref, at)
			values ('txn_x', 'charge', 'x', now())`},
		{"the sum of all", "all entries sum to zero", free + `update ledger_entries set amount_nanos = 8
			where account_id = 'internal:usage_revenue' and amount_nanos = 7`},
		{"more held than posted", "nothing below zero", `alter table credit_accounts drop constraint credit_accounts_covered;
			update credit_accounts set held_nanos = posted_nanos + 1 where id = '{account}'`},
		{"a cached hold", "held equals open leases and holds", `update credit_accounts set held_nanos = held_nanos + 1 where id = '{account}'`},
		{"a hold closed alone", "held equals open leases and holds", `update holds set state = 'released', reason = 'expired', closed_at = now()
			where account_id = '{account}' and state = 'open'`},
		{"a lost usage record", "one usage record a request", `delete from usage_records where request_id = '{hold}'`},
		{"two usage records", "one usage record a request", `update usage_records set day = day + 1 where request_id = '{hold}';
			insert into usage_records select (jsonb_populate_record(u, jsonb_build_object('day', day - 1))).* from usage_records u
			where request_id = '{hold}'`},
		{"a usage cost", "usage equals charges", `update usage_records set cost_nanos = 6 where request_id = '{hold}'`},
		{"a usage cost beside its sum", "sums equal usage records", `update usage_records set cost_nanos = 6 where request_id = '{hold}'`},
		{"a reading", "sums equal usage records", `update usage_rollups set meters = add_meters(meters, '{0,0,0,1}')`},
		{"what calls cost the operator", "sums equal usage records", `update usage_rollups set upstream_cost_nanos = upstream_cost_nanos + 1`},
		{"how many calls have a cost of the operator", "sums equal usage records", `update usage_records set upstream_cost_nanos = 0
			where request_id = '{hold}'`},
		{"a lost sum", "sums equal usage records", `delete from usage_rollups`},
		{"a sum that costs another", "usage equals charges", `update usage_rollups set cost_nanos = cost_nanos + 1`},
		{"an overrun", "overruns equal platform loss", `update usage_rollups set overrun_nanos = overrun_nanos + 1`},
		{"a debt", "receivables are explained", `insert into receivables (account_id, owed_nanos) values ('{account}', 1)`},
		{"a lease of nothing", "held equals open leases and holds", `insert into replicas (id, epoch) values ('r', 1);
			insert into leases (replica_id, epoch, credit_account_id, granted_nanos) values ('r', 1, '{account}', 5)`},
		{"a lease that ended with credit", "nothing below zero", `insert into replicas (id, epoch) values ('r', 1);
			insert into leases (replica_id, epoch, credit_account_id, granted_nanos, state) values ('r', 1, '{account}', 5, 'closed')`},
		{"a budget with a grant", "no budget has entries or grants", `insert into credit_accounts (id, kind, posted_nanos)
			values ('key_1', 'budget', 5); update grants set account_id = 'key_1'`},
		{"a capture beyond its hold", "holds end once, within their amount", `alter table holds drop constraint holds_check;
			update holds set captured_nanos = 11 where id = '{hold}'`},
		{"a capture beside its usage", "holds end once, within their amount", `update holds set captured_nanos = 6 where id = '{hold}'`},
		{"a grant", "grants equal posted", `update grants set remaining_nanos = remaining_nanos - 1 where account_id = '{account}'`},
		{"a grant below zero", "grants equal posted", `alter table grants drop constraint grants_check;
			update grants set remaining_nanos = -1 where account_id = '{account}'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := setup(t)
			account, hold := traffic(h)
			h.books()
			h.exec(strings.NewReplacer("{account}", account, "{hold}", hold.ID).Replace(c.sql))
			checks, err := billing.Books(t.Context(), h.db)
			if err != nil {
				t.Fatal(err)
			}
			for _, check := range checks {
				if check.Name == c.check {
					if check.Holds || !strings.Contains(check.Detail, " ") {
						t.Errorf("%q holds (%q) although the books are corrupt", check.Name, check.Detail)
					}
					return
				}
			}
			t.Errorf("there is no check %q", c.check)
		})
	}
}

func TestBooksNameFewFindingsAndCountTheRest(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for range 8 {
		h.account(app.Dollar)
	}
	h.exec(`update credit_accounts set posted_nanos = posted_nanos - 1 where kind = 'customer'`)
	checks, err := billing.Books(t.Context(), h.db)
	if err != nil {
		t.Fatal(err)
	}
	if d := checks[0].Detail; strings.Count(d, "off by -1 nano-dollars") != 5 || !strings.HasSuffix(d, "and 3 more") {
		t.Errorf("detail = %q", d)
	}
}

func TestTheStoreRefusesToRewriteHistory(t *testing.T) {
	t.Parallel()
	h := setup(t)
	traffic(h)
	for _, query := range []string{
		`update ledger_entries set amount_nanos = amount_nanos + 1`,
		`update ledger_entries set amount_nanos = 1 where false`,
		`delete from ledger_entries`,
		`truncate ledger_entries`,
		`update ledger_transactions set ref = 'x'`,
		`delete from ledger_transactions`,
		`truncate ledger_transactions cascade`,
		`delete from credit_accounts`,
		`truncate credit_accounts cascade`,
	} {
		if _, err := h.db.ExecContext(t.Context(), query); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", query, err)
		}
	}
	h.books()
}

func TestTheStoreRefusesWhatBreaksAnInvariant(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account, hold := traffic(h)
	const begin = `insert into ledger_transactions (id, kind, ref, at) values ('txn_x', 'adjustment', 'x', now());
		insert into ledger_entries (transaction_id, account_id, amount_nanos, posted_after) values `
	for name, query := range map[string]string{
		"one side only":                  begin + `('txn_x', '{account}', 5, 5)`,
		"sides that differ":              begin + `('txn_x', '{account}', 5, 5), ('txn_x', 'internal:breakage', -4, null)`,
		"an account that does not exist": begin + `('txn_x', 'acc_ghost', 5, 5), ('txn_x', 'internal:breakage', -5, null)`,
		"a customer without a sum":       begin + `('txn_x', '{account}', 5, null), ('txn_x', 'internal:breakage', -5, null)`,
		"an entry of nothing":            begin + `('txn_x', '{account}', 0, 5)`,
		"an entry of no cause": `insert into ledger_entries (transaction_id, account_id, amount_nanos)
			values ('txn_none', 'internal:breakage', 1)`,
		"more held than posted":     `update credit_accounts set held_nanos = posted_nanos + 1 where id = '{account}'`,
		"less than nothing held":    `update credit_accounts set held_nanos = -1 where id = '{account}'`,
		"less than nothing posted":  `update credit_accounts set posted_nanos = -1, held_nanos = 0 where id = '{account}'`,
		"a capture beyond its hold": `update holds set captured_nanos = 11 where id = '{hold}'`,
		"a closed hold reopened":    `update holds set state = 'open' where id = '{hold}'`,
		"a cost beyond its hold":    `update usage_records set cost_nanos = 11 where request_id = '{hold}'`,
		"a second usage record":     `insert into usage_records select * from usage_records where request_id = '{hold}'`,
		"a charge twice":            `insert into ledger_transactions (id, kind, ref, at) values ('txn_y', 'charge', '{hold}', now())`,
		"more left than granted":    `update grants set remaining_nanos = amount_nanos + 1 where account_id = '{account}'`,
	} {
		query = strings.NewReplacer("{account}", account, "{hold}", hold.ID).Replace(query)
		err := postgres.InTx(t.Context(), h.db, func(tx *sqlx.Tx) error {
			_, err := tx.ExecContext(t.Context(), query)
			return err
		})
		if err == nil {
			t.Errorf("%s: the store accepts it", name)
		}
	}
	h.books()
}
