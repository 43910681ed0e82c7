package billing_test

import (
	"errors"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

// customer opens an account with a row in accounts, which can be frozen.
func (h *fixture) customer(credit app.Amount) string {
	h.Helper()
	id := h.account(credit)
	h.exec(`insert into accounts (id, created_at) values ($1, now())`, id)
	return id
}

func (h *fixture) credit(account string) billing.Credit {
	h.Helper()
	c, err := h.ledger.Credit(h.ctx, account)
	if err != nil {
		h.Fatal(err)
	}
	return c
}

// TestARefundTakesWhatIsFreeAndTheRestIsOwed follows one account through a dispute, the top-up after it and a second one.
func TestARefundTakesWhatIsFreeAndTheRestIsOwed(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.customer(100)
	h.grant(billing.Grant{AccountID: account, Kind: billing.Purchased, Amount: 50, Source: "topup:2"})
	h.grant(billing.Grant{AccountID: account, Kind: billing.Promotional, Amount: 20})
	running, err := h.holdJob(account, "video_1", 90)
	if err != nil {
		t.Fatal(err)
	}
	refund := billing.Refund{
		AccountID: account, Kind: billing.Disputed, Amount: 100, Source: "dispute:1", Grant: "topup:2", Reason: "the bank took it", Freeze: true,
	}
	if owed, err := h.ledger.Refund(h.ctx, h.db, refund); err != nil || owed != 20 {
		t.Fatalf("%d is owed, %v; want 20, as 80 of 100 were free", owed, err)
	}
	if _, err := h.ledger.Refund(h.ctx, h.db, refund); !errors.Is(err, billing.ErrGrantExists) {
		t.Errorf("a second time: %v", err)
	}
	h.balance(account, 90, 90)
	if c := h.credit(account); c.Owed != 20 || !c.Frozen || c.FrozenReason != refund.Reason || c.Granted != 20 || c.Purchased != 70 {
		t.Errorf("credit is %+v", c)
	}
	if _, err := h.holdJob(account, "video_2", 1); err == nil {
		t.Error("a frozen account without credit starts a job")
	}
	if err := h.settleJob(running, 90); err != nil { // A running job keeps the credit that it reserved.
		t.Fatal(err)
	}
	h.balance(account, 0, 0)
	h.grant(billing.Grant{AccountID: account, Kind: billing.Purchased, Amount: 15, Source: "topup:3"})
	h.balance(account, 0, 0)
	h.grant(billing.Grant{AccountID: account, Kind: billing.Promotional, Amount: 7})
	h.balance(account, 7, 0)
	if _, err := h.holdJob(account, "video_3", 1); app.KindOf(err) != app.Forbidden || app.AsError(err).Code != "account_frozen" {
		t.Errorf("a frozen account starts a job: %v", err)
	}
	refund.Source, refund.Amount = "dispute:1:won", 100
	if err := h.ledger.Restore(h.ctx, h.db, refund); err != nil {
		t.Fatal(err)
	}
	h.balance(account, 102, 0)
	if err := h.ledger.Unfreeze(h.ctx, h.db, account); err != nil {
		t.Fatal(err)
	}
	if c := h.credit(account); c.Owed != 0 || c.Frozen {
		t.Errorf("credit is %+v", c)
	}
	if _, err := h.holdJob(account, "video_4", 1); err != nil {
		t.Error(err)
	}
	h.books()
}

func TestARefundOfFreeCreditOwesNothing(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.customer(100)
	refund := billing.Refund{AccountID: account, Kind: billing.Refunded, Amount: 30, Source: "refund:1", Reason: "asked for"}
	if owed, err := h.ledger.Refund(h.ctx, h.db, refund); err != nil || owed != 0 {
		t.Fatalf("%d is owed, %v", owed, err)
	}
	h.balance(account, 70, 0)
	if c := h.credit(account); c.Frozen {
		t.Error("the account is frozen")
	}
	if clearing := h.internal("internal:payment_clearing"); clearing != -70 {
		t.Errorf("payment clearing has %d", clearing)
	}
	h.books()
	refund.Kind = "gift"
	if _, err := h.ledger.Refund(h.ctx, h.db, refund); err == nil {
		t.Error("a refund of no kind")
	}
}

func TestAnOperatorCorrectsABalanceWithinWhatIsFree(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(100)
	hold, err := h.holdJob(account, "video_1", 60)
	if err != nil {
		t.Fatal(err)
	}
	adjust := func(amount app.Amount, source string) error {
		return h.ledger.Adjust(h.ctx, h.db, billing.Correction{
			AccountID: account, Amount: amount, Source: source, Reason: "a mistake", Operator: "ops@example.com",
		})
	}
	if err := adjust(-41, "adj:1"); app.KindOf(err) != app.Unfunded || app.AsError(err).Code != "insufficient_credit" {
		t.Errorf("taking more than is free: %v", err)
	}
	if err := errors.Join(adjust(-40, "adj:1"), adjust(25, "adj:2")); err != nil {
		t.Fatal(err)
	}
	if err := adjust(-40, "adj:1"); !errors.Is(err, billing.ErrGrantExists) {
		t.Errorf("a second time: %v", err)
	}
	h.balance(account, 85, 60)
	for _, c := range []billing.Correction{{Amount: 5, Source: "s", Reason: "r"}, {Amount: -5, Source: "s", Operator: "o"}, {Reason: "r", Operator: "o"}} {
		c.AccountID = account
		if err := h.ledger.Adjust(h.ctx, h.db, c); err == nil {
			t.Errorf("corrected by %+v", c)
		}
	}
	entries, err := h.ledger.EntryList(h.ctx, billing.EntryQuery{AccountID: account, Kinds: []string{"adjustment"}, Limit: 1})
	if err != nil || len(entries.Entries) != 1 || !entries.More || entries.Entries[0].Reason != "a mistake" {
		t.Errorf("entries %+v, %v", entries, err)
	}
	if err := h.settleJob(hold, 60); err != nil {
		t.Fatal(err)
	}
	h.balance(account, 25, 0)
	h.books()
}

func TestAKeysBudgetIsSetSpentRefilledAndClosed(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account, key := h.account(1000), h.ids.New("key")
	budget := billing.Budget{KeyID: key, AccountID: account, Limit: 100, Period: billing.EachDay}
	spend := func(id string, cost app.Amount) error {
		hold, err := h.ledger.HoldFor(h.ctx, h.db, billing.HoldRequest{ID: id, AccountID: account, BudgetID: key, Want: cost}, time.Hour)
		if err != nil {
			return err
		}
		return h.settleJob(hold, cost)
	}
	left := func(limit, spent, left app.Amount) {
		t.Helper()
		budgets, err := h.ledger.Budgets(h.ctx, account)
		if b := budgets[key]; err != nil || b.Limit != limit || b.Spent != spent || b.Left != left || b.Held != 0 {
			t.Errorf("budget %+v, %v; want %d, %d, %d", b, err, limit, spent, left)
		}
	}
	if err := errors.Join(h.ledger.OpenBudget(h.ctx, h.db, budget), spend("video_1", 70)); err != nil {
		t.Fatal(err)
	}
	left(100, 70, 30)
	if err := spend("video_2", 31); !isUnfunded(err) {
		t.Errorf("a job beyond the budget: %v", err)
	}
	for _, step := range []struct{ limit, left app.Amount }{{50, 0}, {90, 20}, {100, 30}} {
		budget.Limit = step.limit
		if err := h.ledger.SetBudget(h.ctx, h.db, budget); err != nil {
			t.Fatal(err)
		}
		left(step.limit, 70, step.left)
	}
	h.sweep()
	left(100, 70, 30)
	h.exec(`update key_budgets set period_start = period_start - interval '1 day'`)
	h.sweep()
	left(100, 0, 100)
	if err := h.ledger.SetBudget(h.ctx, h.db, billing.Budget{KeyID: key, AccountID: h.account(0), Limit: 1, Period: billing.InTotal}); err == nil {
		t.Error("another account sets the budget")
	}
	if err := errors.Join(h.ledger.CloseBudget(h.ctx, h.db, account, key), h.ledger.CloseBudget(h.ctx, h.db, account, key), spend("video_3", 500)); err != nil {
		t.Fatal(err)
	}
	h.balance(account, 430, 0)
	if err := errors.Join(h.ledger.OpenBudget(h.ctx, h.db, budget), spend("video_4", 100)); err != nil {
		t.Error(err)
	}
	left(100, 100, 0)
	h.books()
}

func TestATrialMakesAnAccountExactUntilItBuys(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for name, c := range map[string]struct {
		kinds []billing.GrantKind
		exact bool
	}{
		"a trial":                 {[]billing.GrantKind{billing.Trial}, true},
		"two trials":              {[]billing.GrantKind{billing.Trial, billing.Trial}, true},
		"a purchase after it":     {[]billing.GrantKind{billing.Trial, billing.Purchased}, false},
		"a trial beside a credit": {[]billing.GrantKind{billing.Promotional, billing.Trial}, false},
	} {
		account := h.account(0)
		for _, kind := range c.kinds {
			h.grant(billing.Grant{AccountID: account, Kind: kind, Amount: 5})
		}
		var exact bool
		if err := h.db.GetContext(h.ctx, &exact, `select return_immediately from credit_accounts where id = $1`, account); err != nil || exact != c.exact {
			t.Errorf("%s: exact is %t, %v", name, exact, err)
		}
	}
	h.books()
}
