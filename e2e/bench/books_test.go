package bench

import (
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/e2e/harness"
)

// booksTimeMax is how long the ledger may take until it has the settlements of a run.
const booksTimeMax = 30 * time.Second

// books is the ledger of the account that pays, compared with what its clients were answered.
type books struct {
	db      *sqlx.DB
	account string
	seen    totals
}

// totals are sums over all calls of an account, in nano-dollars.
type totals struct {
	Records int64
	Charged int64
	Posted  int64
}

func openBooks(t *testing.T, g *harness.Gateway) *books {
	t.Helper()
	b := &books{db: g.DB(t), account: g.DemoAccountID(t)}
	b.seen = b.read(t)
	return b
}

func (b *books) read(t *testing.T) (now totals) {
	t.Helper()
	if err := b.db.Get(&now, `select (select count(*) from usage_records where account_id = $1) as records,
		(select coalesce(sum(cost_nanos), 0) from usage_records where account_id = $1) as charged,
		(select posted_nanos from credit_accounts where id = $1) as posted`, b.account); err != nil {
		t.Fatal(err)
	}
	return now
}

// check insists that the ledger charged so many answers since the last check, each with the price, and took as much from the balance.
func (b *books) check(t *testing.T, run string, answers int, price int64) {
	t.Helper()
	before, want := b.seen, int64(answers)
	for deadline := time.Now().Add(booksTimeMax); ; time.Sleep(20 * time.Millisecond) {
		b.seen = b.read(t)
		if b.seen.Records-before.Records >= want || time.Now().After(deadline) {
			break
		}
	}
	records, charged, taken := b.seen.Records-before.Records, b.seen.Charged-before.Charged, before.Posted-b.seen.Posted
	if records != want || charged != want*price || taken != charged {
		t.Errorf("%s: %d answers at %d nano-dollars are %d, but the ledger has %d records with %d, and took %d from the balance",
			run, answers, price, want*price, records, charged, taken)
	}
}
