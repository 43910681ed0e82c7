package harness

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
)

// Balance is an account's money as the tables hold it, in nano-dollars.
type Balance struct {
	Posted int64 `db:"posted_nanos"`
	Held   int64 `db:"held_nanos"`
}

// DemoAccountID is the account that the demo's key belongs to.
func (g *Gateway) DemoAccountID(t *testing.T) string {
	t.Helper()
	var id string
	if err := g.DB(t).Get(&id, `select m.account_id from memberships m join users u on u.id = m.user_id where u.email = $1`, g.Email); err != nil {
		t.Fatal(err)
	}
	return id
}

func (g *Gateway) DemoBalance(t *testing.T) Balance {
	t.Helper()
	return g.SettledBalance(t, g.DemoAccountID(t))
}

// SettledBalance is an account's money once everything that was settled is in the books and no replica has credit of it: what
// is held then, jobs hold. A replica may keep credit for some seconds after a call, so it is asked for it as another
// replica would ask. While calls of the account run this waits for their end; see balanceNow.
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

// recallRounds is how often balanceOf looks before it asks again.
const recallRounds = 20

// BalanceNow is an account's money as it stands this moment, and how much of what is held replicas have leased: what
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
		(select coalesce(sum(remaining_nanos), 0) from leases where purse_id = a.id and state = 'open') from credit_accounts a where id = $1`, account)
	if err := row.Scan(&b.Posted, &b.Held, &leased); err != nil {
		t.Fatal(err)
	}
	return b, leased
}

// WaitForLedger waits until all that this gateway has settled so far is in the books. Settlements are applied in their order, so
// that of one more call, whose id it returns, comes last.
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
		err := db.Get(&r, `select cost_nanos, reserved_nanos, outcome, reason, estimated, input_tokens, output_tokens
			from usage_records where request_id = $1`, requestID)
		if err == nil {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("no usage record of %s: %v", requestID, err)
		}
	}
}

// Nanos reads a cost as it stands on the wire.
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

func Dollars(nanos int64) string { return fmt.Sprintf("%d.%09d", nanos/1e9, nanos%1e9) }

func (g *Gateway) CheckLedger(t *testing.T) {
	t.Helper()
	out, status := RunCommand(t, []string{"DATABASE_URL=" + g.DatabaseURL(t)}, "books")
	if status != 0 {
		t.Errorf("the books do not balance (exit %d):\n%s", status, out)
	}
}

// Customer is an account of its own on a running gateway, so that no other test changes its balance.
type Customer struct {
	*Gateway
	AccountID string
}

// NewCustomer signs up over the console, as a person would without scripts, opens the link that was mailed, which brings
// the trial credit, and makes a key.
func (g *Gateway) NewCustomer(t *testing.T, name string) Customer {
	t.Helper()
	c, p := g.SignUp(t, name)
	p.VerifyEmail(t, c.Email)
	c.APIKey = p.CreateKey(t, name)
	return c
}

// NewCustomerWithoutCredit is a customer who did not open the link, and so has no credit at all.
func (g *Gateway) NewCustomerWithoutCredit(t *testing.T, name string) Customer {
	t.Helper()
	c, p := g.SignUp(t, name)
	c.APIKey = p.CreateKey(t, name)
	return c
}

// SignUp makes an account, and leaves the person signed in.
func (g *Gateway) SignUp(t *testing.T, name string) (Customer, *ConsoleClient) {
	t.Helper()
	other := *g
	other.Email = fmt.Sprintf("%s-%d@example.com", name, time.Now().UnixNano())
	other.Password = "correct horse battery staple"
	p := NewConsoleClient(t, g)
	p.SignUp(t, other.Email, other.Password)
	c := Customer{Gateway: &other}
	c.AccountID = other.DemoAccountID(t)
	return c, p
}

// SetAvailable makes the customer's free balance exactly the amount, by a grant of what is missing. No call may run.
func (c Customer) SetAvailable(t *testing.T, want int64) {
	t.Helper()
	b := c.SettledBalance(t, c.AccountID)
	missing := want - (b.Posted - b.Held)
	if missing < 0 {
		t.Fatalf("the customer has %d nano-dollars too much", -missing)
	}
	if missing == 0 {
		return
	}
	out, status := RunCommand(t, []string{"DATABASE_URL=" + c.DatabaseURL(t)},
		"credit", "grant", c.AccountID, Dollars(missing), "--reason", "for a test")
	if status != 0 {
		t.Fatalf("credit grant: %s", out)
	}
}

// ShortWaitMax is how long a thing may take that takes milliseconds, on a busy machine.
const ShortWaitMax = 3 * time.Second

func StreamCost(t *testing.T, body string) int64 {
	t.Helper()
	for _, data := range StreamData(t, body) {
		var c ChatCompletion
		if json.Unmarshal([]byte(data), &c) == nil && c.Usage != nil {
			return Nanos(t, string(c.Usage.Cost))
		}
	}
	t.Fatalf("no usage in %s", body)
	return 0
}
