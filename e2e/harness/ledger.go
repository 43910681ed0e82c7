package harness

import (
	"fmt"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
)

// CheckpointLagMax is the number of tokens that may be delivered before a crash and not charged.
const CheckpointLagMax = 64

// Balance is an account's money as the tables hold it, in nano-dollars.
type Balance struct {
	Posted int64 `db:"posted_nanos"`
	Held   int64 `db:"held_nanos"`
}

// DemoAccountID is the account that the demo's key belongs to.
func (g *Gateway) DemoAccountID(t *testing.T) string {
	t.Helper()
	var id string
	if err := g.DB(t).Get(&id, `select m.account_id from memberships m join users u on u.id = m.user_id where u.email = $1`,
		g.Email); err != nil {
		t.Fatal(err)
	}
	return id
}

// DemoBalance is the settled balance of the account that the demo's key belongs to.
func (g *Gateway) DemoBalance(t *testing.T) Balance {
	t.Helper()
	return g.SettledBalance(t, g.DemoAccountID(t))
}

// SettledBalance waits until all settlements of an account are in the ledger and no replica leases its credit. Only jobs hold
// credit then. A replica may keep a lease for some seconds after a call, so SettledBalance recalls it as another replica would.
// It waits for running calls of the account to end; BalanceNow does not.
func (g *Gateway) SettledBalance(t *testing.T, account string) Balance {
	t.Helper()
	db := g.DB(t)
	// Some tests call this often, so it must not keep connections.
	defer db.Close()
	for round, deadline := 0, time.Now().Add(CallTimeMax); ; round++ {
		b, leased := balanceIn(t, db, account)
		switch {
		case leased == 0:
			return b
		case time.Now().After(deadline):
			t.Fatalf("%d nano-dollars of %s stay leased: %+v", leased, account, b)
		case round%recallRounds == 0:
			db.MustExec(`select pg_notify('lease_recall', $1)`, account)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// recallRounds is how often SettledBalance looks before it asks again.
const recallRounds = 20

// BalanceNow is an account's money at this moment, and how much of what is held replicas have leased: what
// running calls reserve, what was settled and is not in the books yet, and what they keep for the next call.
func (g *Gateway) BalanceNow(t *testing.T, account string) (b Balance, leased int64) {
	t.Helper()
	db := g.DB(t)
	defer db.Close()
	return balanceIn(t, db, account)
}

func balanceIn(t *testing.T, db *sqlx.DB, account string) (b Balance, leased int64) {
	t.Helper()
	row := db.QueryRow(`select posted_nanos, held_nanos,
		(select coalesce(sum(remaining_nanos), 0) from leases where credit_account_id = a.id and state = 'open')
		from credit_accounts a where id = $1`, account)
	if err := row.Scan(&b.Posted, &b.Held, &leased); err != nil {
		t.Fatal(err)
	}
	return b, leased
}

// WaitForLedger waits until all settlements of this gateway so far are in the ledger. It makes one more call and returns its id:
// settlements are applied in order, so that of this call is the last.
func (g *Gateway) WaitForLedger(t *testing.T) (last string) {
	t.Helper()
	a := g.Call(t, "POST", "/v1/chat/completions", ChatRequest(CheapModel, "echo: the last"))
	DecodeCompletion(t, a)
	last = a.Header.Get("X-Request-Id")
	g.UsageRecord(t, last)
	return last
}

// UsageRecord is what the ledger wrote about one request.
type UsageRecord struct {
	Cost      int64  `db:"cost_nanos"`
	Reserved  int64  `db:"reserved_nanos"`
	Outcome   string `db:"outcome"`
	Reason    string `db:"reason"`
	Estimated bool   `db:"estimated"`
	Input     int64  `db:"input_tokens"`
	Output    int64  `db:"output_tokens"`
}

// UsageRecord waits for the usage record of a request: an answer's settlement is durable before its last byte, and in the
// books a moment later; that of a client who left follows.
func (g *Gateway) UsageRecord(t *testing.T, requestID string) UsageRecord {
	t.Helper()
	db := g.DB(t)
	defer db.Close()
	for deadline := time.Now().Add(CallTimeMax); ; time.Sleep(10 * time.Millisecond) {
		var r UsageRecord
		err := db.Get(&r, `select cost_nanos, reserved_nanos, outcome, reason, estimated, coalesce(meters[1], 0) as input_tokens,
			coalesce(meters[4], 0) as output_tokens from usage_records where request_id = $1`, requestID)
		if err == nil {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("no usage record of %s: %v", requestID, err)
		}
	}
}

// Nanos is a cost of an answer in nano-dollars.
func Nanos(t *testing.T, cost string) int64 {
	t.Helper()
	exact, ok := new(big.Rat).SetString(cost)
	if !ok {
		t.Fatalf("%q is no number", cost)
	}
	exact.Mul(exact, big.NewRat(1_000_000_000, 1))
	if !exact.IsInt() {
		t.Fatalf("%s dollars are a fraction of a nano-dollar", cost)
	}
	return exact.Num().Int64()
}

// Dollars is an amount of nano-dollars in the form that commands take.
func Dollars(nanos int64) string { return fmt.Sprintf("%d.%09d", nanos/1e9, nanos%1e9) }

// CheckLedger runs the ledger's own check of its invariants, which must find nothing wrong.
func (g *Gateway) CheckLedger(t *testing.T) {
	t.Helper()
	out, status := RunCommand(t, []string{"DATABASE_URL=" + g.DatabaseURL(t)}, "ledger", "verify")
	if status != 0 {
		t.Errorf("the books do not balance (exit %d):\n%s", status, out)
	}
}

// GetData reads an answer whose object stands below data.
func (c Customer) GetData(t *testing.T, path string) map[string]any {
	t.Helper()
	a := c.Call(t, "GET", path, "")
	o, ok := DecodeObject(t, a.Body)["data"].(map[string]any)
	if a.Status != http.StatusOK || !ok {
		t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	return o
}
