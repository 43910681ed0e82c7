package harness

import (
	"fmt"
	"testing"
	"time"
)

// SetLimits multiplies the limits of an account. The command of operators that does this is tested for itself: hundreds of customers
// would wait for it.
func (c Customer) SetLimits(t *testing.T, factor int) {
	t.Helper()
	if _, err := c.DB(t).Exec(`update accounts set limit_factor = $2 where id = $1`, c.AccountID, factor); err != nil {
		t.Fatal(err)
	}
}

// SetStrict makes the customer's keys refuse hints that a model does not take, as its contract says. No key was used yet.
func (c Customer) SetStrict(t *testing.T) {
	t.Helper()
	if _, err := c.DB(t).Exec(`update api_keys set strict = true where account_id = $1`, c.AccountID); err != nil {
		t.Fatal(err)
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
