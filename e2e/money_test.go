package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
)

// balance is an account's money as the tables hold it, in nano-dollars.
type balance struct {
	Posted int64 `db:"posted_nanos"`
	Held   int64 `db:"held_nanos"`
}

// account is the account that the demo's key belongs to.
func (g *gateway) account(t *testing.T) string {
	t.Helper()
	var id string
	if err := g.db(t).Get(&id, `select m.account_id from memberships m join users u on u.id = m.user_id where u.email = $1`, g.Email); err != nil {
		t.Fatal(err)
	}
	return id
}

func (g *gateway) balance(t *testing.T) balance {
	t.Helper()
	return g.balanceOf(t, g.account(t))
}

// balanceOf is an account's money once everything that was settled is in the books and no replica has credit of it: what
// is held then, jobs hold. A replica may keep credit for some seconds after a call, so it is asked for it as another
// replica would ask. While calls of the account run this waits for their end; see balanceNow.
func (g *gateway) balanceOf(t *testing.T, account string) balance {
	t.Helper()
	db := g.db(t)
	// Some tests call this often, so it must not keep connections.
	defer db.Close()
	for round, deadline := 0, time.Now().Add(callTimeMax); ; round++ {
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

// balanceNow is an account's money as it stands this moment, and how much of what is held replicas have leased: what
// running calls reserve, what was settled and is not in the books yet, and what they keep for the next call.
func (g *gateway) balanceNow(t *testing.T, account string) (b balance, leased int64) {
	t.Helper()
	db := g.db(t)
	defer db.Close()
	return balanceIn(t, db, account)
}

func balanceIn(t *testing.T, db *sqlx.DB, account string) (b balance, leased int64) {
	t.Helper()
	row := db.QueryRow(`select posted_nanos, held_nanos,
		(select coalesce(sum(remaining_nanos), 0) from leases where credit_account_id = a.id and state = 'open') from credit_accounts a where id = $1`, account)
	if err := row.Scan(&b.Posted, &b.Held, &leased); err != nil {
		t.Fatal(err)
	}
	return b, leased
}

// applied waits until all that this gateway has settled so far is in the books. Settlements are applied in their order, so
// that of one more call, whose id it returns, comes last.
func (g *gateway) applied(t *testing.T) (last string) {
	t.Helper()
	a := g.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: the last"))
	decodeCompletion(t, a)
	last = a.header.Get("X-Request-Id")
	g.record(t, last)
	return last
}

// record is what the ledger wrote about one request.
type record struct {
	Cost      int64  `db:"cost_nanos"`
	Reserved  int64  `db:"reserved_nanos"`
	Outcome   string `db:"outcome"`
	Reason    string `db:"reason"`
	Estimated bool   `db:"estimated"`
	Input     int64  `db:"input_tokens"`
	Output    int64  `db:"output_tokens"`
}

// record waits for the usage record of a request: an answer's settlement is durable before its last byte, and in the
// books a moment later; that of a client who left follows.
func (g *gateway) record(t *testing.T, requestID string) record {
	t.Helper()
	db := g.db(t)
	defer db.Close()
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(10 * time.Millisecond) {
		var r record
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

// nanos reads a cost as it stands on the wire.
func nanos(t *testing.T, cost string) int64 {
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

func dollars(nanos int64) string { return fmt.Sprintf("%d.%09d", nanos/1e9, nanos%1e9) }

func (g *gateway) books(t *testing.T) {
	t.Helper()
	out, status := run(t, []string{"DATABASE_URL=" + g.databaseURL(t)}, "ledger", "verify")
	if status != 0 {
		t.Errorf("the books do not balance (exit %d):\n%s", status, out)
	}
}

// customer is an account of its own on a running gateway, so that no other test changes its balance.
type customer struct {
	*gateway
	accountID string
}

// newCustomer signs up over the console, as a person would without scripts, opens the link that was mailed, which brings
// the trial credit, and makes a key.
func (g *gateway) newCustomer(t *testing.T, name string) customer {
	t.Helper()
	c, p := g.signUp(t, name)
	p.verify(t, c.Email)
	c.APIKey = p.makeKey(t, name)
	return c
}

// newPauper is a customer who did not open the link, and so has no credit at all.
func (g *gateway) newPauper(t *testing.T, name string) customer {
	t.Helper()
	c, p := g.signUp(t, name)
	c.APIKey = p.makeKey(t, name)
	return c
}

// signUp makes an account, and leaves the person signed in.
func (g *gateway) signUp(t *testing.T, name string) (customer, *person) {
	t.Helper()
	other := *g
	other.Email = fmt.Sprintf("%s-%d@example.com", name, time.Now().UnixNano())
	other.Password = "correct horse battery staple"
	p := newPerson(t, g)
	p.signUp(t, other.Email, other.Password)
	c := customer{gateway: &other}
	c.accountID = other.account(t)
	return c, p
}

// setAvailable makes the customer's free balance exactly the amount, by a grant of what is missing. No call may run.
func (c customer) setAvailable(t *testing.T, want int64) {
	t.Helper()
	b := c.balanceOf(t, c.accountID)
	missing := want - (b.Posted - b.Held)
	if missing < 0 {
		t.Fatalf("the customer has %d nano-dollars too much", -missing)
	}
	if missing == 0 {
		return
	}
	out, status := run(t, []string{"DATABASE_URL=" + c.databaseURL(t)},
		"credit", "grant", c.accountID, dollars(missing), "--reason", "for a test")
	if status != 0 {
		t.Fatalf("credit grant: %s", out)
	}
}

// TestAPICostLeavesTheBalance is the one promise of the product in its smallest form: balance before, minus the cost
// that was shown, is the balance after, to the nano-dollar.
func TestAPICostLeavesTheBalance(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "exact")
	before := c.balanceOf(t, c.accountID)
	var shown int64
	for range 3 {
		done := decodeCompletion(t, c.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: exactly")))
		shown += nanos(t, string(done.Usage.Cost))
		a := c.call(t, "POST", "/v1/chat/completions",
			ask(cheapModel, "count to 30", `"stream":true`, `"stream_options":{"include_usage":true}`))
		shown += streamCost(t, a.body)
	}
	// Trial credit is never leased to a replica, so there is none to give back.
	for deadline := time.Now().Add(lookMax); ; time.Sleep(5 * time.Millisecond) {
		if b, _ := c.balanceNow(t, c.accountID); b.Held == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d nano-dollars of trial credit stay held", b.Held)
		}
	}
	after := c.balanceOf(t, c.accountID)
	if shown == 0 || before.Posted-after.Posted != shown || after.Held != 0 {
		t.Errorf("before %+v, shown %d, after %+v", before, shown, after)
	}
	c.books(t)
}

// lookMax is how long a thing may take that takes milliseconds, on a busy machine.
const lookMax = 3 * time.Second

func streamCost(t *testing.T, body string) int64 {
	t.Helper()
	for _, data := range events(t, body) {
		var c completion
		if json.Unmarshal([]byte(data), &c) == nil && c.Usage != nil {
			return nanos(t, string(c.Usage.Cost))
		}
	}
	t.Fatalf("no usage in %s", body)
	return 0
}

// holdOf is what a call reserves, learned from one that the demo's own account pays for.
func (g *gateway) holdOf(t *testing.T, body string) int64 {
	t.Helper()
	a := g.call(t, "POST", "/v1/chat/completions", body)
	if a.status != http.StatusOK {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	return g.record(t, a.header.Get("X-Request-Id")).Reserved
}

// TestAPIOverspend fills a balance of exactly ten holds with a hundred calls at once, while the upstream answers
// no call: ten are admitted, ninety are refused for lack of credit, and the balance falls by the holds of the ten.
func TestAPIOverspend(t *testing.T) {
	t.Parallel()
	g := start(t)
	c := g.newPauper(t, "overspend")
	c.setLimits(t, 1000)
	body := func(i int) string { return ask(cheapModel, fmt.Sprintf("echo: call %03d", i), `"max_tokens":100`) }

	c.setAvailable(t, 10*g.holdOf(t, body(0)))
	start := c.balanceOf(t, c.accountID)

	g.simulator(t, "POST", "/_control/hold", "")
	answers := make([]answer, 100)
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	var refused, all sync.WaitGroup
	refused.Add(90)
	for i := range answers {
		all.Go(func() {
			a, err := c.tryCall(ctx, "POST", "/v1/chat/completions", body(i), "X-Error-Status", "standard")
			if err != nil {
				t.Error(err)
			}
			answers[i] = a
			if a.status != http.StatusOK {
				refused.Done()
			}
		})
	}
	g.simulator(t, "GET", "/_control/waiting?at_least=10&timeout=20s", "")
	refused.Wait()
	if b, _ := c.balanceNow(t, c.accountID); b.Posted != b.Held {
		t.Errorf("ten holds do not fill the balance: %+v", b)
	}
	g.simulator(t, "POST", "/_control/release", "")
	all.Wait()

	var succeeded, unfunded int
	var shown int64
	for _, a := range answers {
		switch a.status {
		case http.StatusOK:
			succeeded++
			shown += nanos(t, string(decodeCompletion(t, a).Usage.Cost))
		case http.StatusPaymentRequired:
			f := decodeFailure(t, a.body)
			if f.Code == 402 && f.Error.Code == "insufficient_quota" && f.Error.Type == "insufficient_quota" &&
				a.header.Get("X-Should-Retry") == "false" {
				unfunded++
			}
		default:
			t.Errorf("status %d: %s", a.status, a.body)
		}
	}
	after := c.balanceOf(t, c.accountID)
	if succeeded != 10 || unfunded != 90 || after.Posted != start.Posted-shown || after.Held != 0 {
		t.Errorf("%d succeeded, %d unfunded, balance %+v → %+v, shown %d", succeeded, unfunded, start, after, shown)
	}
	c.books(t)
}

func TestAPINoCredit(t *testing.T) {
	t.Parallel()
	g := start(t)
	c := g.newPauper(t, "poor")
	a := c.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: x"), "X-Error-Status", "documented")
	if f := decodeFailure(t, a.body); a.status != http.StatusOK || f.Code != 402 || f.Error.Code != "insufficient_quota" ||
		a.header.Get("X-Should-Retry") != "false" {
		t.Errorf("status %d: %s", a.status, a.body)
	}
	if got := g.received(t, "echo: x"); strings.Contains(got, "echo: x") {
		t.Error("an unfunded call reached the upstream")
	}
}

// TestAPIConcurrencyLimit holds every call back at the upstream until one is refused.
func TestAPIConcurrencyLimit(t *testing.T) {
	t.Parallel()
	g := start(t)
	c := g.newCustomer(t, "busy")
	g.simulator(t, "POST", "/_control/hold", "")
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if _, err := c.tryCall(ctx, "POST", "/v1/chat/completions", ask(cheapModel, fmt.Sprint("echo: ", i))); err != nil {
				t.Error(err)
			}
		})
	}
	g.simulator(t, "GET", "/_control/waiting?at_least=16&timeout=20s", "")
	a := c.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: one too many"), "X-Error-Status", "documented")
	if f := decodeFailure(t, a.body); a.status != http.StatusOK || f.Code != 429 || f.Error.Code != "max_concurrency_exceeded" ||
		f.Error.Type != "rate_limit_error" {
		t.Errorf("status %d: %s", a.status, a.body)
	}
	standard := c.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: one too many"), "X-Error-Status", "standard")
	if standard.status != http.StatusTooManyRequests || standard.header.Get("Retry-After") == "" {
		t.Errorf("status %d, %v", standard.status, standard.header)
	}
	g.simulator(t, "POST", "/_control/release", "")
	all.Wait()
	decodeCompletion(t, c.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: free again")))
}
