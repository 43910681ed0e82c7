package video

import (
	"testing"

	"umg/app"
	"umg/billing"
)

// TestAVideoIsPaidFromTheBudgetOfItsKey checks that the budget of a key also limits what it spends on videos.
func TestAVideoIsPaidFromTheBudgetOfItsKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(b.ledger.SetBudget(t.Context(), b.db, billing.Budget{
		KeyID: "key_1", AccountID: b.account, Limit: 60 * app.Cent, Period: billing.InTotal,
	}))
	c := b.call(`{"model":"test/film","prompt":"A fish"}`)
	c.Principal.BudgetID = "key_1"
	_, err := b.service.Create(t.Context(), c)
	b.must(err)
	if _, err := b.service.Create(t.Context(), c); app.KindOf(err) != app.Unfunded {
		t.Errorf("a second video at $0.40, of a budget of $0.60: %v", err)
	}
	budgets, err := b.ledger.Budgets(t.Context(), b.account)
	b.must(err)
	if got := budgets["key_1"]; got.Held != 40*app.Cent || got.Left-got.Held != 20*app.Cent {
		t.Errorf("%+v", got)
	}
	b.balance(b.account, startMoney, 40*app.Cent)
	b.books()
}
