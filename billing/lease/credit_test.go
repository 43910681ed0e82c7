package lease

import (
	"testing"

	"umg/app"
	"umg/billing"
)

// TestCreditIsCheckedInMemoryForFundedAccounts checks credit as it is done before the body of a call is read.
func TestCreditIsCheckedInMemoryForFundedAccounts(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.account("acc_rich", app.Dollar)
	s.account("acc_poor", 100)
	if err := s.ledger.OpenBudget(t.Context(), s.db, billing.Budget{
		KeyID: "key_small", AccountID: "acc_rich", Limit: 50, Period: billing.InTotal,
	}); err != nil {
		t.Fatal(err)
	}
	till, end := s.open("one", true)
	ask := func(account, budget string) error {
		return till.CheckCredit(t.Context(), billing.HoldRequest{ID: "req_1", AccountID: account, BudgetID: budget, Want: 1000, Min: 1000})
	}
	if err := ask("acc_rich", ""); err != nil {
		t.Fatalf("an account with credit: %v", err)
	}
	asked := till.Stats().Takes
	for range 100 {
		if err := ask("acc_rich", ""); err != nil {
			t.Fatal(err)
		}
	}
	if takes := till.Stats().Takes - asked; takes > 0 {
		t.Errorf("the books were asked %d times about an account that is known to have credit", takes)
	}
	for range 2 {
		if err := ask("acc_poor", ""); app.KindOf(err) != app.Unfunded {
			t.Errorf("an account without enough credit: %v", err)
		}
		if err := ask("acc_rich", "key_small"); app.KindOf(err) != app.Unfunded {
			t.Errorf("a key without enough budget: %v", err)
		}
	}
	if stats := till.Stats(); stats.Running != 0 || stats.Reserved != 0 {
		t.Errorf("after the checks %d calls run and %d are reserved", stats.Running, stats.Reserved)
	}
	end()
	if b := s.balance("acc_rich"); b != (billing.Balance{Posted: app.Dollar}) {
		t.Errorf("the account has %+v", b)
	}
	s.books()
}

// TestCreditThatIsUsedUpIsNotTakenForGranted uses all credit up: the next check asks the books.
func TestCreditThatIsUsedUpIsNotTakenForGranted(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.account("acc_1", 1000)
	till, end := s.open("one", true)
	defer end()
	r := billing.HoldRequest{ID: "req_1", AccountID: "acc_1", Want: 1000, Min: 1000}
	h, err := till.Hold(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := till.CheckCredit(t.Context(), r); err != nil {
		t.Errorf("while a call runs that may give credit back: %v", err)
	}
	if err := till.Settle(t.Context(), h, settlementOf("req_1", 1000)); err != nil {
		t.Fatal(err)
	}
	r.ID = "req_2"
	if _, err := till.Hold(t.Context(), r); app.KindOf(err) != app.Unfunded {
		t.Fatalf("a second call: %v", err)
	}
	if err := till.CheckCredit(t.Context(), r); app.KindOf(err) != app.Unfunded {
		t.Errorf("an account whose last call was refused: %v", err)
	}
}
