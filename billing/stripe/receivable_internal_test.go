package stripe

import (
	"net/http"
	"testing"
)

// TestWhoOwesMayBuyAndSpendsAgainUnlessADisputeIsOpen buys credit for an account in debt, because nothing else pays the debt. An
// open dispute is another reason to stay frozen.
func TestWhoOwesMayBuyAndSpendsAgainUnlessADisputeIsOpen(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top, other := h.bought(account, 1000), h.bought(account, 500)
	h.spend(account, nanos(1500))
	h.control(http.MethodPost, "payments/"+h.session(top.ID)+"/refund", "")
	h.deliver("oldest")
	h.credit(account, 0, 1000)
	h.must(h.s.mayBuy(t.Context(), account))
	opened := h.control(http.MethodPost, "payments/"+h.session(other.ID)+"/dispute", "")
	h.deliver("newest")
	h.credit(account, 0, 1500)
	if err := h.s.mayBuy(t.Context(), account); err == nil || !h.frozen(account) {
		t.Errorf("while a dispute is open: %v", err)
	}
	h.control(http.MethodPost, "disputes/"+opened["id"].(string)+"/close?outcome=won", "")
	h.deliver("newest")
	h.credit(account, 0, 1000)
	if !h.frozen(account) {
		t.Error("an account that still owes is not frozen")
	}
	h.bought(account, 1200)
	h.credit(account, 200, 0)
	if h.frozen(account) {
		t.Error("an account that has paid is still frozen")
	}
}
