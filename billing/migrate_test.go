package billing_test

import (
	"context"
	"testing"

	"github.com/pressly/goose/v3"

	"umg/app/postgres"
	"umg/billing/usage"
	"umg/migrations"
)

// TestOldRecordsMoveIntoMonths migrates a ledger from before leases existed to the newest schema.
func TestOldRecordsMoveIntoMonths(t *testing.T) {
	t.Parallel()
	local, err := postgres.StartLocal(t.Context(), postgres.LocalOptions{Dir: shortDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Stop(context.Background()) })
	db, err := postgres.Open(t.Context(), local.DSN(), postgres.Options{Connections: 2, StatementMax: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	provider, err := goose.NewProvider(goose.DialectPostgres, db.DB, migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	h := open(t, db)
	h.exec(`insert into credit_accounts (id, kind, posted_nanos) values ('acc_1', 'customer', 0)`)
	h.exec(`select grant_credit('grt_1', 'acc_1', 'trial', 50, 100, null, 'src', 'internal:promotions', 'txn_1', now(), '{}')`)
	for id, age := range map[string]string{"req_1": "0", "req_2": "70 days"} {
		h.exec(`select take_hold($1, 'acc_1', 10, 10, 60)`, id)
		h.exec(`select settle_hold($1, 'acc_1', 12, 'txn_' || $1, now(), jsonb_build_object('key_id', 'k', 'model', 'm', 'provider', '',
			'upstream_model', '', 'style', 'chat', 'rate_card_id', '', 'end_user', '', 'finish_reason', '', 'error_code', '',
			'outcome', 'succeeded', 'streamed', false, 'estimated', false, 'attempts', 1, 'input_tokens', 1, 'cache_read_tokens', 0,
			'cache_write_tokens', 0, 'output_tokens', 2, 'reasoning_tokens', 0, 'images', 0, 'milliseconds', 0, 'characters', 0,
			'requests', 1, 'started_at', now() - $2::interval, 'first_byte_micros', 0, 'duration_micros', 0))`, id, age)
	}
	if _, err := postgres.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	h.balance("acc_1", 80, 0)
	page, err := h.reports.Records(t.Context(), usage.RecordQuery{AccountID: "acc_1", Limit: 10})
	if err != nil || len(page.Records) != 2 || page.Records[0].TransactionID != "txn_req_1" || page.Records[1].Cost != 10 {
		t.Errorf("records %+v, %v", page, err)
	}
	var elsewhere, exact int
	if err := db.QueryRowxContext(t.Context(), `select (select count(*) from usage_records_default),
		(select count(*) from credit_accounts where return_immediately)`).Scan(&elsewhere, &exact); err != nil || elsewhere != 0 || exact != 1 {
		t.Errorf("%d records lie in no month, %d accounts are exact, %v", elsewhere, exact, err)
	}
	h.books()
}
