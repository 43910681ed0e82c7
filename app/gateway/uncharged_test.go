package gateway_test

import (
	"strings"
	"testing"

	"umg/app"
	"umg/billing"
)

// TestAnUnchargedAccountGetsWholeAnswersAndPricesWithoutCredit calls with an account that has no credit. Its answers are as long and state
// the same cost as those of a charged account, its records have the operator's cost, and nothing is debited.
func TestAnUnchargedAccountGetsWholeAnswersAndPricesWithoutCredit(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	charged, _, err := b.generate(b.call("test/stated", "hi", withUsage))
	must(t, err)
	want := b.record()
	if charged.Cost == 0 || want.UpstreamCost == nil {
		t.Fatalf("a charged call: %+v", want)
	}
	b.account = b.ids.New("acc")
	must(t, b.ledger.OpenAccount(t.Context(), b.db, b.account))
	refused := b.call("test/stated", "hi", withUsage)
	if _, _, err := b.generate(refused); app.KindOf(err) != app.Unfunded {
		t.Fatalf("an account without credit: %v", err)
	}
	call := b.call("test/stated", "hi", withUsage)
	call.Principal.Uncharged = true
	r, s, err := b.generate(call)
	must(t, err)
	u := b.record()
	if r.Reason != billing.ReasonCompleted || r.Usage != charged.Usage || u.Usage != want.Usage || u.FinishReason != want.FinishReason {
		t.Errorf("usage %v and %v, want %v", r.Usage, u.Usage, want.Usage)
	}
	if u.Cost != 0 || u.Overrun != 0 || u.Reserved != 0 || u.UpstreamCost == nil || *u.UpstreamCost != *want.UpstreamCost ||
		u.CostCardID != want.CostCardID || !u.HasFlag(billing.FlagUncharged) {
		t.Errorf("record %+v", u)
	}
	if body := s.text(); !strings.Contains(body, charged.Cost.String()) {
		t.Errorf("the answer states another cost than $%s: %s", charged.Cost, body)
	}
	if balance := b.balance(); balance.Posted != 0 || balance.Held != 0 || b.reserved() != 0 {
		t.Errorf("balance %+v, reserved %s", balance, b.reserved())
	}
}
