package billing_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/billing"
)

func TestTenHoldsFitTwoHundredTry(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(10 * app.Cent)
	var admitted, refused atomic.Int64
	var callers sync.WaitGroup
	for range 200 {
		callers.Go(func() {
			_, err := h.holdJob(account, h.ids.New("req"), app.Cent)
			switch {
			case err == nil:
				admitted.Add(1)
			case isUnfunded(err):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if admitted.Load() != 10 || refused.Load() != 190 {
		t.Errorf("%d holds admitted and %d refused, want 10 and 190", admitted.Load(), refused.Load())
	}
	h.balance(account, 10*app.Cent, 10*app.Cent)
	h.books()
}

func TestSettlementsOfOneHoldHaveOneEffect(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for round := range 20 {
		account := h.account(app.Dollar)
		hold := h.hold(account, 10*app.Cent)
		if round%2 == 1 { // Every other hold expires first, so its settlement is late.
			h.expire(hold)
			h.sweep()
		}
		var callers sync.WaitGroup
		for i := range 10 {
			cost := []app.Amount{3 * app.Cent, 0, 20 * app.Cent}[i%3]
			callers.Go(func() {
				if err := h.ledger.SettleIn(t.Context(), h.db, hold, billing.Settlement{Cost: cost, Record: record(hold)}); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		b, err := h.ledger.Balance(t.Context(), account)
		if err != nil || b.Held != 0 {
			t.Fatalf("balance %+v, %v", b, err)
		}
		requests, err := h.reports.Requests(t.Context(), account, 10)
		if err != nil || len(requests) != 1 || requests[0].Cost != app.Dollar-b.Posted {
			t.Fatalf("paid %s, records %+v, %v", app.Dollar-b.Posted, requests, err)
		}
	}
	h.books()
}

func TestASecondSettlementKeepsTheFirstOutcome(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	for _, first := range []app.Amount{0, 5} {
		hold := h.hold(account, 10)
		h.settle(hold, first)
		h.settle(hold, 9)
		h.settle(hold, 0)
	}
	h.balance(account, app.Dollar-5, 0)
	h.books()
}

// TestBooksBalanceUnderTraffic runs every method concurrently on few accounts, which makes them conflict, and checks the
// ledger in between.
func TestBooksBalanceUnderTraffic(t *testing.T) {
	t.Parallel()
	h := setup(t)
	accounts := []string{h.account(500), h.account(5_000), h.account(50_000)}
	ctx, stop := context.WithCancel(t.Context())
	var checkers, callers sync.WaitGroup
	checkers.Go(func() {
		for ctx.Err() == nil {
			if err := unbalanced(t.Context(), h.db); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for caller := range 6 {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(caller)))
			for range 60 {
				act(t, h, accounts[random.IntN(len(accounts))], random)
			}
		})
	}
	callers.Wait()
	stop()
	checkers.Wait()
	h.books()
}

func act(t *testing.T, h *fixture, account string, random *rand.Rand) {
	soon := time.Now().Add(time.Duration(random.IntN(3)) * time.Millisecond)
	hold, err := h.holdJob(account, h.ids.New("req"), app.Amount(random.IntN(900)+1))
	switch {
	case isUnfunded(err):
		err = h.ledger.Grant(t.Context(), h.db, billing.Grant{
			AccountID: account, Kind: billing.Promotional, Amount: 700, Source: h.ids.New("src"), ExpiresAt: &soon,
		})
	case err == nil && random.IntN(4) == 0:
		_, err = h.db.ExecContext(t.Context(), `update holds set expires_at = now() where id = $1`, hold.ID)
		if err == nil {
			err = h.ledger.Sweep(t.Context())
		}
	}
	if err != nil {
		t.Error(err)
		return
	}
	if hold.ID != "" && random.IntN(10) > 0 {
		cost := app.Amount(random.IntN(1_000))
		if err := h.ledger.SettleIn(t.Context(), h.db, hold, billing.Settlement{Cost: cost, Record: record(hold)}); err != nil {
			t.Error(err)
		}
	}
}

// TestAnySequenceKeepsTheBooks compares random sequences with a model that tracks only sums.
func TestAnySequenceKeepsTheBooks(t *testing.T) {
	t.Parallel()
	h := setup(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{T: rt, h: h, account: h.account(0)}
		steps := []func(){m.grant, m.lapsingGrant, m.hold, m.hold, m.settle, m.settle, m.expire, m.settleAgain}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			steps[rapid.IntRange(0, len(steps)-1).Draw(rt, "step")]()
			m.compare()
		}
		if err := unbalanced(t.Context(), h.db); err != nil {
			rt.Fatal(err)
		}
	})
}

// model is the expected state of one account. It takes expired credit from the ledger: the order of expiry and spending has
// its own test.
type model struct {
	*rapid.T

	h            *fixture
	account      string
	posted, held app.Amount
	open, ended  []billing.Hold
	expired      []billing.Hold
}

func (m *model) amount() app.Amount {
	return app.Amount(rapid.Int64Range(1, 1_000).Draw(m.T, "amount"))
}

func (m *model) grant() {
	amount := m.amount()
	m.h.grant(billing.Grant{AccountID: m.account, Kind: billing.Purchased, Amount: amount})
	m.posted += amount
}

// lapsingGrant adds credit that expires at once, so the sweep takes back what no hold reserves.
func (m *model) lapsingGrant() {
	amount, past := m.amount(), time.Now().Add(-time.Hour)
	m.h.grant(billing.Grant{AccountID: m.account, Kind: billing.Trial, Amount: amount, ExpiresAt: &past})
	m.posted += amount
	m.h.sweep()
	m.posted -= m.lapsed()
}

func (m *model) lapsed() app.Amount {
	b, err := m.h.ledger.Balance(m.h.ctx, m.account)
	if err != nil {
		m.Fatal(err)
	}
	taken := m.posted - b.Posted
	if taken < 0 || taken > m.posted-m.held {
		m.Fatalf("expiry took %d of %d free", taken, m.posted-m.held)
	}
	return taken
}

func (m *model) hold() {
	want := m.amount()
	hold, err := m.h.holdJob(m.account, m.h.ids.New("req"), want)
	free := m.posted - m.held
	switch {
	case free < want && !isUnfunded(err):
		m.Fatalf("a hold of %d with %d free: %+v, %v", want, free, hold, err)
	case free >= want && (err != nil || hold.Amount != want):
		m.Fatalf("a hold of %d with %d free: %+v, %v", want, free, hold, err)
	}
	if err == nil {
		m.held += hold.Amount
		m.open = append(m.open, hold)
	}
}

func (m *model) settle() {
	cost := m.amount() - 1
	switch {
	case len(m.open) > 0 && (len(m.expired) == 0 || rapid.Bool().Draw(m.T, "in time")):
		hold := m.take(&m.open)
		m.h.settle(hold, cost)
		m.posted -= hold.Charge(cost)
		m.held -= hold.Amount
	case len(m.expired) > 0:
		hold := m.take(&m.expired)
		m.h.settle(hold, cost)
		m.posted -= min(hold.Charge(cost), m.posted-m.held)
	}
}

func (m *model) settleAgain() {
	if len(m.ended) > 0 {
		m.h.settle(m.ended[len(m.ended)-1], m.amount())
	}
}

func (m *model) expire() {
	if len(m.open) == 0 {
		return
	}
	hold := m.take(&m.open)
	m.ended = m.ended[:len(m.ended)-1]
	m.expired = append(m.expired, hold)
	m.h.expire(hold)
	m.h.sweep()
	m.held -= hold.Amount
	m.posted -= m.lapsed()
}

func (m *model) take(from *[]billing.Hold) billing.Hold {
	i := rapid.IntRange(0, len(*from)-1).Draw(m.T, "which")
	hold := (*from)[i]
	*from = append((*from)[:i], (*from)[i+1:]...)
	m.ended = append(m.ended, hold)
	return hold
}

func (m *model) compare() {
	b, err := m.h.ledger.Balance(m.h.ctx, m.account)
	if err != nil || b.Posted != m.posted || b.Held != m.held || b.Available() < 0 {
		m.Fatalf("balance %+v, %v; the model has posted %d, held %d", b, err, m.posted, m.held)
	}
}
