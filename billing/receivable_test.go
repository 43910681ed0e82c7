package billing_test

import (
	"testing"

	"umg/app"
	"umg/billing"
)

func (h *fixture) refund(account string, amount app.Amount) (owed app.Amount) {
	h.Helper()
	owed, err := h.ledger.Refund(h.ctx, h.db, billing.Refund{
		AccountID: account, Kind: billing.Refunded, Amount: amount, Source: h.ids.New("ref"), Reason: "given back",
	})
	if err != nil {
		h.Fatal(err)
	}
	return owed
}

func (h *fixture) owes(account string, owed app.Amount, frozen bool) {
	h.Helper()
	if c := h.credit(account); c.Owed != owed || c.Frozen != frozen {
		h.Errorf("owed %d, frozen %t (%s); want %d, %t", c.Owed, c.Frozen, c.FrozenReason, owed, frozen)
	}
	h.books()
}

// TestWhatIsOwedIsPaidFromCreditThatComesBackAndTheAccountSpendsAgain has an idle lease, whose unspent credit is not free when a
// refund takes it.
func TestWhatIsOwedIsPaidFromCreditThatComesBackAndTheAccountSpendsAgain(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.customer(100)
	h.grant(billing.Grant{AccountID: account, Kind: billing.Promotional, Amount: 5})
	lease := h.hold(account, 80)
	if owed := h.refund(account, 70); owed != 45 {
		t.Fatalf("%d is owed, want 45 of 70, as 25 were free", owed)
	}
	h.owes(account, 45, true)
	h.sweep()
	h.owes(account, 45, true)
	h.settle(lease, 50)
	h.balance(account, 30, 0)
	h.sweep()
	h.balance(account, 0, 0)
	h.owes(account, 15, true)
	h.grant(billing.Grant{AccountID: account, Kind: billing.Purchased, Amount: 15})
	h.balance(account, 0, 0)
	h.owes(account, 0, false)

	h.grant(billing.Grant{AccountID: account, Kind: billing.Purchased, Amount: 40})
	lease = h.hold(account, 40)
	h.refund(account, 10)
	h.owes(account, 10, true)
	h.settle(lease, 0)
	h.sweep()
	h.balance(account, 30, 0)
	h.owes(account, 0, false)
}

func TestPayingADebtDoesNotEndWhatAnOperatorFroze(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"operator", "debt"} {
		h := setup(t)
		account := h.customer(20)
		hold := h.hold(account, 20)
		freeze := func() {
			if err := h.ledger.Freeze(h.ctx, h.db, account, "looks stolen"); err != nil {
				t.Fatal(err)
			}
		}
		if first == "operator" {
			freeze()
			h.refund(account, 10)
		} else {
			h.refund(account, 10)
			freeze()
		}
		h.settle(hold, 0)
		h.sweep()
		h.balance(account, 10, 0)
		h.owes(account, 0, true)
		if c := h.credit(account); c.FrozenReason != "looks stolen" {
			t.Errorf("%s first: the reason is %q", first, c.FrozenReason)
		}
	}
}

func TestAnOperatorUnfreezesAnAccountThatStillOwes(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.customer(20)
	hold := h.hold(account, 15)
	h.refund(account, 10)
	h.owes(account, 5, true)
	if err := h.ledger.Unfreeze(h.ctx, h.db, account); err != nil {
		t.Fatal(err)
	}
	h.owes(account, 5, false)
	h.settle(hold, 5)
	h.sweep()
	h.balance(account, 5, 0)
	h.owes(account, 0, false)
}
