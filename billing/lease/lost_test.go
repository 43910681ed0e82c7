package lease

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"umg/app"
	"umg/billing"
	"umg/billing/journal"
)

// deaf is a bank that loses its answer to some batches after it applied them.
type deaf struct {
	Store

	lose   atomic.Int32
	missed chan struct{}
}

func (d *deaf) Apply(ctx context.Context, r Replica, b Batch) (journal.LSN, error) {
	at, err := d.Store.Apply(ctx, r, b)
	if err == nil && len(b.Records) > 0 && d.lose.Add(-1) >= 0 {
		d.missed <- struct{}{}
		return 0, errAway("The answer was lost.")
	}
	return at, err
}

// TestALostAnswerOfTheBooksDoesNotEndTheRun expects a lost answer not to start a new epoch, because every running call would
// lose its lease.
func TestALostAnswerOfTheBooksDoesNotEndTheRun(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.account("acc_1", 100*app.Dollar)
	d := &deaf{Store: s.bank, missed: make(chan struct{}, 10)}
	manager, end := s.openOver("one", true, d)
	settle := func(id string) {
		h, err := manager.Hold(t.Context(), billing.HoldRequest{ID: id, AccountID: "acc_1", Want: app.Cent})
		if err != nil {
			t.Fatal(err)
		}
		if err := manager.Settle(t.Context(), h, settlementOf(id, app.Cent)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		d.lose.Store(1)
		settle(fmt.Sprint("req_", 2*i))
		<-d.missed
		settle(fmt.Sprint("req_", 2*i+1)) // The next batch goes further than the one whose answer was lost.
	}
	end()
	if got := manager.Stats(); got.Fenced != 0 || got.Epoch > 1 {
		t.Errorf("a new epoch began: %+v", got)
	}
	if b := s.balance("acc_1"); b.Posted != 100*app.Dollar-6*app.Cent || b.Held != 0 {
		t.Errorf("%+v", b)
	}
	s.books()
}
