package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/billing"
	"umg/billing/journal"
)

// shop is several lease managers over one database.
type shop struct {
	testing.TB

	db     *sqlx.DB
	ledger *billing.Ledger
	bank   *SQLStore
}

func openShop(t testing.TB) *shop {
	t.Helper()
	db := pgtest.New(t)
	ids := app.IDs{Now: time.Now, Random: rand.Reader}
	return &shop{
		TB: t, db: db, bank: OpenBank(db, time.Now, ids),
		ledger: billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: slog.New(slog.DiscardHandler)}),
	}
}

func (s *shop) account(id string, credit app.Amount) {
	s.Helper()
	if err := s.ledger.OpenAccount(s.Context(), s.db, id); err != nil {
		s.Fatal(err)
	}
	g := billing.Grant{AccountID: id, Kind: billing.Purchased, Amount: credit, Source: "src_" + id}
	if err := s.ledger.Grant(s.Context(), s.db, g); err != nil {
		s.Fatal(err)
	}
}

// open starts a lease manager with its workers. The function it returns stops both and waits for them.
func (s *shop) open(id string, journaled bool) (*Manager, func()) {
	s.Helper()
	return s.openOver(id, journaled, s.bank)
}

func (s *shop) openOver(id string, journaled bool, bank Store) (*Manager, func()) {
	s.Helper()
	o := Options{
		Bank: bank, Registry: s.bank, ReplicaID: id, Listener: postgres.NewListener(pgtest.DSN(s, s.db)), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	ctx, stop := context.WithCancel(context.Background())
	writing, stopWriting := context.WithCancel(context.Background())
	var workers, writer sync.WaitGroup
	if journaled {
		folder, err := journal.Folder(s.TempDir())
		if err != nil {
			s.Fatal(err)
		}
		o.Journal, err = journal.Open(folder, journal.Options{Owner: id, SegmentBytes: 1 << 20, FreeBytesMin: 1, ClaimBytes: 1024})
		if err != nil {
			s.Fatal(err)
		}
		writer.Go(func() { _ = o.Journal.Run(writing) })
	}
	manager, err := New(o)
	if err != nil {
		s.Fatal(err)
	}
	if err := manager.Recover(ctx); err != nil {
		s.Fatal(err)
	}
	workers.Go(func() {
		if err := manager.Run(ctx); err != nil {
			s.Error(err)
		}
	})
	return manager, func() {
		stop()
		workers.Wait()
		stopWriting()
		writer.Wait()
		if o.Journal != nil {
			_ = o.Journal.Close()
		}
	}
}

func (s *shop) balance(id string) billing.Balance {
	s.Helper()
	b, err := s.ledger.Balance(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	return b
}

func (s *shop) books() {
	s.Helper()
	checks, err := billing.Books(s.Context(), s.db)
	if err != nil {
		s.Fatal(err)
	}
	for _, c := range checks {
		if !c.Holds {
			s.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

func settlementOf(id string, cost app.Amount) billing.Settlement {
	return billing.Settlement{Cost: cost, Record: billing.UsageRecord{
		RequestID: id, Model: "m", Outcome: "succeeded", Reason: string(billing.ReasonCompleted),
	}}
}

func TestManyCallsAtOnceAreEachChargedOnce(t *testing.T) {
	t.Parallel()
	for _, journaled := range []bool{true, false} {
		t.Run(fmt.Sprintf("journal=%v", journaled), func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			s.account("acc_rich", 100*app.Dollar)
			one, endOne := s.open("one", journaled)
			two, endTwo := s.open("two", journaled)
			const calls = 200
			var all sync.WaitGroup
			for i := range calls {
				manager := []*Manager{one, two}[i%2]
				all.Go(func() {
					id := fmt.Sprintf("req_%d", i)
					h, err := manager.Hold(t.Context(), billing.HoldRequest{ID: id, AccountID: "acc_rich", Want: app.Cent})
					if err != nil {
						t.Error(err)
						return
					}
					manager.Progress(h, settlementOf(id, 0))
					if err := manager.Extend(t.Context(), &h, app.Cent); err != nil || h.Amount != 2*app.Cent {
						t.Errorf("extended to %d: %v", h.Amount, err)
					}
					for range 2 { // The second settlement changes nothing.
						if err := manager.Settle(t.Context(), h, settlementOf(id, app.Cent+1)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			if running := one.Stats().Running + two.Stats().Running; running != 0 {
				t.Errorf("%d calls run", running)
			}
			if takes := one.Stats().Takes + two.Stats().Takes; takes > calls {
				t.Errorf("%d takes for %d calls of one account", takes, calls)
			}
			endOne()
			endTwo()
			want := billing.Balance{Posted: 100*app.Dollar - calls*(app.Cent+1)}
			if b := s.balance("acc_rich"); b != want {
				t.Errorf("the account has %+v, want %+v", b, want)
			}
			s.books()
		})
	}
}

func TestARefusalSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.account("acc_poor", 100)
	s.account("acc_rich", app.Dollar)
	if err := s.ledger.OpenBudget(t.Context(), s.db, billing.Budget{
		KeyID: "key_small", AccountID: "acc_rich", Limit: 50, Period: billing.InTotal,
	}); err != nil {
		t.Fatal(err)
	}
	manager, end := s.open("one", true)
	defer end()
	for _, c := range []struct{ account, budget, code string }{
		{"acc_poor", "", "insufficient_quota"},
		{"acc_rich", "key_small", "budget_exceeded"},
	} {
		r := billing.HoldRequest{ID: "req_1", AccountID: c.account, BudgetID: c.budget, Want: 1000}
		_, err := manager.Hold(t.Context(), r)
		if e := app.AsError(err); e == nil || e.Kind != app.Unfunded || e.Code != c.code || !e.NoRetry {
			t.Errorf("%s: %v", c.code, err)
		}
		r.Min = 10 // The caller accepts what there is.
		h, err := manager.Hold(t.Context(), r)
		if err != nil || h.Amount != map[string]app.Amount{"": 100, "key_small": 50}[c.budget] {
			t.Errorf("held %d: %v", h.Amount, err)
		}
		if err := manager.Settle(t.Context(), h, settlementOf(h.ID, 7)); err != nil {
			t.Error(err)
		}
	}
}

func TestCreditInAnotherReplicaIsCalledBack(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.account("acc_1", 100*app.Cent)
	one, endOne := s.open("one", true)
	two, endTwo := s.open("two", true)
	h, err := one.Hold(t.Context(), billing.HoldRequest{ID: "req_1", AccountID: "acc_1", Want: 4 * app.Cent})
	if err != nil {
		t.Fatal(err)
	}
	l := one.table.Load().find("acc_1")
	// The replica takes more than it needs.
	row, err := s.bank.Take(t.Context(), one.table.Load().replica, TakeRequest{CreditAccountID: "acc_1", Need: 90 * app.Cent})
	if err != nil {
		t.Fatal(err)
	}
	l.finishStep(row, nil)
	if _, err := two.Hold(t.Context(), billing.HoldRequest{ID: "req_2", AccountID: "acc_1", Want: 50 * app.Cent}); err != nil {
		t.Errorf("the credit did not come back within 300 ms: %v", err)
	}
	if err := one.Settle(t.Context(), h, settlementOf(h.ID, app.Cent)); err != nil {
		t.Error(err)
	}
	endOne()
	endTwo()
	s.books()
}

func TestAReplicaThatHoldsOnMakesOthersWaitForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBooks()
		b.open("acc_1", false, false)
		b.grant("acc_1", 1000, 0)
		other, _ := b.Register(t.Context(), "other")
		if _, err := b.Take(t.Context(), other.Replica, TakeRequest{CreditAccountID: "acc_1", Need: 900}); err != nil {
			t.Fatal(err)
		}
		manager := modelManager(t, b, b)
		began := time.Now()
		_, err := manager.Hold(t.Context(), billing.HoldRequest{ID: "req_1", AccountID: "acc_1", Want: 500})
		if took := time.Since(began); app.KindOf(err) != app.Unfunded || took != 300*time.Millisecond {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// stuck is a bank whose takes wait until the test releases them.
type stuck struct {
	*books

	asked, letGo chan struct{}
}

func (s stuck) Take(ctx context.Context, r Replica, a TakeRequest) (LeaseState, error) {
	s.asked <- struct{}{}
	<-s.letGo
	return s.books.Take(ctx, r, a)
}

func modelManager(t *testing.T, bank Store, registry ReplicaStore) *Manager {
	t.Helper()
	manager, err := New(Options{Bank: bank, Registry: registry, ReplicaID: "r", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	return manager
}

func TestCallersWhoWaitShareOneTakeAndMayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBooks()
		b.open("acc_1", false, false)
		b.grant("acc_1", 1_000_000, 0)
		slow := stuck{b, make(chan struct{}, 100), make(chan struct{})}
		manager := modelManager(t, slow, b)
		ctx, leave := context.WithCancel(t.Context())
		results := make(chan error, 100)
		for i := range 100 {
			mine := t.Context()
			if i%2 == 0 {
				mine = ctx
			}
			go func() {
				_, err := manager.Hold(mine, billing.HoldRequest{ID: fmt.Sprint(i), AccountID: "acc_1", Want: 10})
				results <- err
			}()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(slow.letGo)
		synctest.Wait()
		left, held := 0, 0
		for range 100 {
			err := <-results
			switch {
			case err == nil:
				held++
			case app.KindOf(err) == app.Canceled && errors.Is(err, context.Canceled):
				left++
			default:
				t.Error(err)
			}
		}
		if held != 50 || left != 50 || manager.Stats().Running != 50 || manager.Stats().Reserved != 500 {
			t.Errorf("%d held, %d left: %+v", held, left, manager.Stats())
		}
		if takes := manager.Stats().Takes; takes > 3 {
			t.Errorf("%d takes", takes)
		}
		if claims := manager.applier.database.claims; claims != 50 {
			t.Errorf("%d claims", claims)
		}
	})
}
