package lease_test

import (
	"errors"
	"testing"

	"umg/app"
	"umg/billing"
	"umg/billing/lease"
)

// What leases held when the limit came down is theirs, but nobody else's when they give it back.
func TestALimitThatIsLoweredIsNotSpentPastWithWhatLeasesGiveBack(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account, key := v.account(app.Dollar), v.ids.New("key")
	r := v.register("one")
	limit := func(to app.Amount) {
		if err := v.ledger.SetBudget(t.Context(), v.db, billing.Budget{KeyID: key, AccountID: account, Limit: to, Period: billing.InTotal}); err != nil {
			t.Fatal(err)
		}
	}
	limit(100)
	v.take(r, account, 1000, 1000)
	v.take(r, key, 80, 80)
	limit(50)
	v.balance(key, 80, 80)
	v.apply(r, v.settlementOf("req_1", r, account, key, 80, 20))
	v.balance(key, 60, 60)
	if _, err := v.bank.Return(t.Context(), r, key, 60); err != nil {
		t.Fatal(err)
	}
	v.balance(key, 30, 0) // 20 of 50 are spent
	_, err := v.bank.Take(t.Context(), r, lease.Ask{Purse: key, Need: 31, Want: 31})
	if !errors.Is(err, lease.ErrShort) {
		t.Errorf("more than the limit is granted: %v", err)
	}
	v.take(r, key, 30, 30)
	if err := v.ledger.CloseBudget(t.Context(), v.db, account, key); err != nil {
		t.Fatal(err)
	}
	v.apply(r, v.settlementOf("req_2", r, account, key, 30, 10)) // of a budget that is gone
	if err := v.bank.Retire(t.Context(), lease.Replica{ID: r.ID, Epoch: r.Epoch + 1}); err != nil {
		t.Fatal(err)
	}
	v.balance(key, 0, 0)
	v.books()
}
