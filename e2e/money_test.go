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

func (g *gateway) balanceOf(t *testing.T, account string) balance {
	t.Helper()
	var b balance
	if err := g.db(t).Get(&b, `select posted_nanos, held_nanos from credit_accounts where id = $1`, account); err != nil {
		t.Fatal(err)
	}
	return b
}

// record is what the ledger wrote about one request.
type record struct {
	Cost      int64  `db:"cost_nanos"`
	Reserved  int64  `db:"reserved_nanos"`
	Outcome   string `db:"outcome"`
	Estimated bool   `db:"estimated"`
	Input     int64  `db:"input_tokens"`
	Output    int64  `db:"output_tokens"`
}

// record waits for the usage record of a request: an answer's settlement precedes its last byte, but that of a client
// who left follows.
func (g *gateway) record(t *testing.T, requestID string) record {
	t.Helper()
	db := g.db(t)
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(10 * time.Millisecond) {
		var r record
		err := db.Get(&r, `select cost_nanos, reserved_nanos, outcome, estimated, input_tokens, output_tokens
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
	out, status := run(t, []string{"DATABASE_URL=" + g.databaseURL(t)}, "books")
	if status != 0 {
		t.Errorf("the books do not balance (exit %d):\n%s", status, out)
	}
}

// customer is an account of its own on a running gateway, so that a test's money is its own.
type customer struct {
	*gateway
	accountID string
}

// newCustomer signs up over the console, as a person would without scripts, and makes a key.
func (g *gateway) newCustomer(t *testing.T, name string) customer {
	t.Helper()
	other := *g
	other.Email = fmt.Sprintf("%s-%d@example.com", name, time.Now().UnixNano())
	other.Password = "correct horse battery staple"
	p := newPerson(t, g)
	p.signUp(t, other.Email, other.Password)
	other.APIKey = p.makeKey(t, name)
	c := customer{gateway: &other}
	c.accountID = other.account(t)
	return c
}

// setAvailable makes the customer's free balance exactly the amount, by a grant of what is missing.
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
	after := c.balanceOf(t, c.accountID)
	if shown == 0 || before.Posted-after.Posted != shown || after.Held != 0 {
		t.Errorf("before %+v, shown %d, after %+v", before, shown, after)
	}
	c.books(t)
}

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

// TestAPIOverspend fills a balance of exactly ten holds with a hundred calls at once, while the upstream answers
// nobody: ten are admitted, ninety are refused for lack of credit, and what the ten were shown is what is gone.
func TestAPIOverspend(t *testing.T) {
	t.Parallel()
	g := start(t)
	c := g.newCustomer(t, "overspend")
	c.setLimits(t, 1000)
	body := func(i int) string { return ask(cheapModel, fmt.Sprintf("echo: call %03d", i), `"max_tokens":100`) }

	probe := c.call(t, "POST", "/v1/chat/completions", body(0))
	decodeCompletion(t, probe)
	hold := c.record(t, probe.header.Get("X-Request-Id")).Reserved
	c.drain(t)
	c.setAvailable(t, 10*hold)
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
	if b := c.balanceOf(t, c.accountID); b.Posted != b.Held {
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

// drain spends the trial credit down to nothing with holds of its own size, so that a test can set the balance.
func (c customer) drain(t *testing.T) {
	t.Helper()
	db := c.db(t)
	b := c.balanceOf(t, c.accountID)
	if b.Posted == 0 {
		return
	}
	tx := db.MustBegin()
	defer tx.Rollback()
	id := fmt.Sprintf("req_drain%d", time.Now().UnixNano())
	tx.MustExec(`select * from take_hold($1, $2, $3, $3, 60)`, id, c.accountID, b.Posted)
	record := `{"key_id":"test","model":"test","provider":"test","upstream_model":"test","style":"chat","rate_card_id":"test","end_user":"",
		"finish_reason":"","error_code":"","outcome":"succeeded","streamed":false,"estimated":false,"attempts":1,"input_tokens":0,
		"cache_read_tokens":0,"cache_write_tokens":0,"output_tokens":0,"reasoning_tokens":0,"images":0,"milliseconds":0,"characters":0,
		"requests":0,"started_at":"2026-01-01T00:00:00Z","first_byte_micros":0,"duration_micros":0}`
	tx.MustExec(`select * from settle_hold($1, $2, $3, $4, now(), $5::jsonb)`, id, c.accountID, b.Posted, "txn_"+id, record)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestAPINoCredit(t *testing.T) {
	t.Parallel()
	g := start(t)
	c := g.newCustomer(t, "poor")
	c.drain(t)
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
