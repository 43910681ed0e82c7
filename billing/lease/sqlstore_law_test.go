package lease_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/billing"
	"umg/billing/lease"
)

// tellers runs random sequences of steps on one account and one budget by two replicas, and records what their memory would
// hold.
type tellers struct {
	*rapid.T

	v       *vault
	account string
	budget  string
	runs    map[string]*run
	records [][]byte // These records were applied and may be applied again.
}

// run is one replica's memory of its lease.
type run struct {
	r                        lease.Replica
	granted, returned, spent app.Amount
}

func TestAnySequenceOfStepsKeepsTheBooks(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := &tellers{T: rt, v: v, account: v.account(0), budget: v.ids.New("key"), runs: map[string]*run{}}
		if err := v.ledger.OpenBudget(t.Context(), v.db, billing.Budget{
			KeyID: m.budget, AccountID: m.account, Limit: 5_000, Period: billing.EachMonth,
		}); err != nil {
			rt.Fatal(err)
		}
		for _, name := range []string{v.ids.New("one"), v.ids.New("two")} {
			m.runs[name] = &run{r: v.register(name)}
		}
		steps := []func(){m.grant, m.grant, m.take, m.take, m.apply, m.apply, m.apply, m.repeat, m.back, m.lose, m.restart, m.expire, m.refund, m.job, m.limit, m.limit}
		for range rapid.IntRange(5, 30).Draw(rt, "steps") {
			steps[rapid.IntRange(0, len(steps)-1).Draw(rt, "step")]()
		}
		if err := v.unbalanced(); err != nil {
			rt.Fatal(err)
		}
	})
}

func (m *tellers) must(err error, allowed ...error) {
	m.Helper()
	for _, a := range allowed {
		if errors.Is(err, a) {
			return
		}
	}
	if err != nil {
		m.Fatal(err)
	}
}

func (m *tellers) amount() app.Amount {
	return app.Amount(rapid.Int64Range(1, 1_000).Draw(m.T, "amount"))
}

func (m *tellers) any() *run {
	names := make([]string, 0, len(m.runs))
	for name := range m.runs {
		names = append(names, name)
	}
	first := names[0] < names[1] == rapid.Bool().Draw(m.T, "first")
	if first {
		return m.runs[names[0]]
	}
	return m.runs[names[1]]
}

func (m *tellers) grant() {
	kind := rapid.SampledFrom([]billing.GrantKind{billing.Purchased, billing.Promotional, billing.Trial}).Draw(m.T, "kind")
	m.v.grant(m.account, kind, m.amount())
}

func (m *tellers) take() {
	k, need := m.any(), m.amount()
	row, err := m.v.bank.Take(m.v.Context(), k.r, lease.TakeRequest{CreditAccountID: m.account, Need: need, Want: 4 * need})
	m.must(err, lease.ErrShort)
	if err == nil {
		if row.Granted-k.granted < need || row.Granted-k.granted > 4*need {
			m.Fatalf("granted %d more, asked for %d to %d", row.Granted-k.granted, need, 4*need)
		}
		k.granted = row.Granted
	}
	_, err = m.v.bank.Take(m.v.Context(), k.r, lease.TakeRequest{CreditAccountID: m.budget, Need: need, Want: need})
	m.must(err, lease.ErrShort)
}

// apply settles what the run's lease can hold, or sometimes more than that, as only a defect would.
func (m *tellers) apply() {
	k := m.any()
	held := min(m.amount(), k.granted-k.returned-k.spent)
	if held <= 0 && rapid.Bool().Draw(m.T, "honest") {
		return
	}
	held = max(held, 1)
	cost := app.Amount(rapid.Int64Range(0, 1_500).Draw(m.T, "cost"))
	budget := ""
	if rapid.Bool().Draw(m.T, "with a budget") {
		budget = m.budget
	}
	record := m.v.settlementOf(m.v.ids.New("req"), k.r, m.account, budget, held, cost)
	m.records = append(m.records, record)
	_, err := m.v.bank.Apply(m.v.Context(), k.r, lease.Batch{Records: [][]byte{record}})
	m.must(err)
	k.spent = min(k.spent+min(cost, held), k.granted-k.returned)
}

func (m *tellers) repeat() {
	k := m.any()
	_, err := m.v.bank.Apply(m.v.Context(), k.r, lease.Batch{Records: m.records})
	m.must(err)
}

func (m *tellers) back() {
	k := m.any()
	total := k.returned + min(m.amount(), k.granted-k.returned-k.spent)
	row, err := m.v.bank.Return(m.v.Context(), k.r, m.account, total)
	m.must(err, lease.ErrFenced)
	if err == nil {
		k.returned = row.Returned
	}
}

// lose silences a run and registers its replica again. The lease of the run is reclaimed, and its settlements arrive late.
func (m *tellers) lose() {
	k := m.any()
	m.v.exec(`update replicas set heartbeat_at = now() - interval '1 day' where id = $1`, k.r.ID)
	_, err := m.v.bank.Reap(m.v.Context(), time.Hour)
	m.must(err)
	if err := m.v.bank.Renew(m.v.Context(), k.r); !errors.Is(err, lease.ErrFenced) {
		m.Fatalf("a lost run renews: %v", err)
	}
	record := m.v.settlementOf(m.v.ids.New("req"), k.r, m.account, m.budget, m.amount(), m.amount())
	_, err = m.v.bank.Apply(m.v.Context(), k.r, lease.Batch{Records: [][]byte{record, record}})
	m.must(err)
	*k = run{r: m.v.register(k.r.ID)}
}

func (m *tellers) restart() {
	k := m.any()
	*k = run{r: m.v.register(k.r.ID)}
	m.must(m.v.bank.Retire(m.v.Context(), k.r))
}

func (m *tellers) expire() {
	past := time.Now().Add(-time.Minute)
	m.must(m.v.ledger.Grant(m.v.Context(), m.v.db, billing.Grant{
		AccountID: m.account, Kind: billing.Promotional, Amount: m.amount(), Source: m.v.ids.New("src"), ExpiresAt: &past,
	}))
	m.must(m.v.ledger.Sweep(m.v.Context()))
}

func (m *tellers) refund() {
	_, err := m.v.ledger.Refund(m.v.Context(), m.v.db, billing.Refund{
		AccountID: m.account, Kind: billing.Disputed, Amount: m.amount(), Source: m.v.ids.New("src"),
	})
	m.must(err)
}

// limit lowers, raises or removes the budget, or begins its next period.
func (m *tellers) limit() {
	ctx := m.v.Context()
	b := billing.Budget{KeyID: m.budget, AccountID: m.account, Limit: 10 * m.amount(), Period: billing.EachMonth}
	switch rapid.IntRange(0, 3).Draw(m.T, "change") {
	case 0:
		m.must(m.v.ledger.CloseBudget(ctx, m.v.db, m.account, m.budget))
	case 1:
		_, err := m.v.db.ExecContext(ctx, `select refill_budgets(100, now() + interval '40 days')`)
		m.must(err)
	default:
		m.must(m.v.ledger.SetBudget(ctx, m.v.db, b))
	}
}

func (m *tellers) job() {
	want := m.amount()
	hold, err := m.v.ledger.HoldFor(m.v.Context(), m.v.db, billing.HoldRequest{
		ID: m.v.ids.New("video"), AccountID: m.account, BudgetID: m.budget, Want: want,
	}, time.Hour)
	if err != nil && app.KindOf(err) == app.Unfunded {
		return
	}
	m.must(err)
	if rapid.Bool().Draw(m.T, "ends") {
		m.must(m.v.ledger.SettleIn(m.v.Context(), m.v.db, hold, billing.Settlement{
			Cost: m.amount(), Record: billing.UsageRecord{RequestID: hold.ID, StartedAt: time.Now()},
		}))
	}
}

// TestOverlappingBatchesNeverDeadlock applies batches over the same accounts in different orders, while leases
// are taken and returned, jobs end, grants expire and the reaper runs.
func TestOverlappingBatchesNeverDeadlock(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	const accounts, rounds = 40, 25
	ids := make([]string, accounts)
	for i := range ids {
		ids[i] = v.account(app.Dollar)
	}
	var work sync.WaitGroup
	failed := make(chan error, 100)
	for n := range 3 {
		r := v.register(fmt.Sprint("replica", n))
		work.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(n)))
			for round := range rounds {
				// A busy machine may exceed a timeout.
				if err := v.mingle(r, ids, random, round); err != nil && app.KindOf(err) != app.Unavailable {
					failed <- err
					return
				}
			}
		})
	}
	work.Go(func() {
		for range rounds {
			_, err := v.bank.Reap(t.Context(), time.Hour)
			if err = errors.Join(err, v.ledger.Sweep(t.Context())); err != nil && app.KindOf(err) != app.Unavailable {
				failed <- err
				return
			}
		}
	})
	work.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	var deadlocks int64
	if err := v.db.GetContext(t.Context(), &deadlocks, `select deadlocks from pg_stat_database where datname = current_database()`); err != nil || deadlocks > 0 {
		t.Errorf("%d deadlocks, %v", deadlocks, err)
	}
	v.books()
}

func (v *vault) mingle(r lease.Replica, ids []string, random *rand.Rand, round int) error {
	ctx, cancel := context.WithTimeout(v.Context(), time.Minute)
	defer cancel()
	var records [][]byte
	for _, i := range random.Perm(len(ids)) {
		records = append(records, v.settlement(r, ids[i], 100, app.Amount(random.IntN(120))))
	}
	for range 5 {
		_, err := v.bank.Take(ctx, r, lease.TakeRequest{CreditAccountID: ids[random.IntN(len(ids))], Need: 1000, Want: 100_000})
		if err != nil {
			return err
		}
	}
	if _, err := v.bank.Apply(ctx, r, lease.Batch{Records: records}); err != nil {
		return err
	}
	account := ids[random.IntN(len(ids))]
	hold, err := v.ledger.HoldFor(ctx, v.db, billing.HoldRequest{ID: v.ids.New("video"), AccountID: account, Want: 10}, time.Hour)
	if err != nil {
		return err
	}
	return v.ledger.SettleIn(ctx, v.db, hold, billing.Settlement{
		Cost: 7, Record: billing.UsageRecord{RequestID: hold.ID, StartedAt: time.Now(), Model: fmt.Sprint(round)},
	})
}
