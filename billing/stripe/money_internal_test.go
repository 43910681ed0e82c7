package stripe

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"umg/app"
)

func TestARefundTakesWhatIsFreeAndTheRestIsOwed(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.bought(account, 1000)
	h.control(http.MethodPost, "payments/"+h.session(top.ID)+"/refund?amount=300", "")
	h.deliver("oldest")
	h.state(top.ID, PartlyRefunded)
	h.credit(account, 700, 0)
	h.spend(account, nanos(500))
	h.control(http.MethodPost, "payments/"+h.session(top.ID)+"/refund", "")
	h.deliver("oldest")
	h.state(top.ID, Refunded)
	h.credit(account, 0, 500)
	if !h.frozen(account) {
		t.Error("an account that owes is not frozen")
	}
	got, err := h.s.Topup(t.Context(), account, top.ID)
	h.must(err)
	if got.RefundedCents != 1000 {
		t.Errorf("%+v", got)
	}
}

func TestADisputeFreezesAndAWonOneGivesBack(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.bought(account, 2000)
	h.spend(account, nanos(1500))
	opened := h.control(http.MethodPost, "payments/"+h.session(top.ID)+"/dispute", "")
	h.deliver("newest")
	h.state(top.ID, Disputed)
	h.credit(account, 0, 1500)
	if !h.frozen(account) {
		t.Fatal("the account is not frozen")
	}
	if n := h.s.Stats(); n.Disputes != 1 || n.Refunds != 0 {
		t.Errorf("%d disputes and %d refunds are counted", n.Disputes, n.Refunds)
	}
	notices, err := h.s.Notices(t.Context(), account)
	h.must(err)
	if len(notices) == 0 || notices[0].Kind != DisputeOn || notices[0].At == nil {
		t.Errorf("notices: %+v", notices)
	}
	_, err = h.s.Refund(t.Context(), RefundRequest{TopupID: top.ID, Cents: 100, Operator: "ops", Reason: "asked"})
	h.kind(err, app.Conflict, "not_refundable")
	h.control(http.MethodPost, "disputes/"+opened["id"].(string)+"/close?outcome=won", "")
	h.deliver("newest")
	h.state(top.ID, Won)
	h.credit(account, 500, 0)
	if h.frozen(account) {
		t.Error("the account is still frozen")
	}
}

func TestALostDisputeKeepsTheAccountFrozen(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top, other := h.bought(account, 2000), h.bought(account, 500)
	opened := h.control(http.MethodPost, "payments/"+h.session(top.ID)+"/dispute", "")
	won := h.control(http.MethodPost, "payments/"+h.session(other.ID)+"/dispute", "")
	h.control(http.MethodPost, "disputes/"+opened["id"].(string)+"/close?outcome=lost", "")
	h.control(http.MethodPost, "disputes/"+won["id"].(string)+"/close?outcome=won", "")
	h.deliver("newest")
	h.state(top.ID, Lost)
	h.state(other.ID, Won)
	h.credit(account, 500, 0)
	if !h.frozen(account) {
		t.Error("the account is not frozen")
	}
}

func TestWhatAnOperatorFrozeAWonDisputeDoesNotThaw(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.bought(account, 2000)
	h.must(h.ledger.Freeze(t.Context(), h.db, account, "an operator's reason"))
	opened := h.control(http.MethodPost, "payments/"+h.session(top.ID)+"/dispute", "")
	h.deliver("oldest")
	h.control(http.MethodPost, "disputes/"+opened["id"].(string)+"/close?outcome=won", "")
	h.deliver("oldest")
	h.credit(account, 2000, 0)
	if !h.frozen(account) {
		t.Error("the account is no longer frozen")
	}
}

func TestAnAccountThatIsClosedStaysFrozenAndItsCardIsNotCharged(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.bought(account, 2000)
	h.must(h.s.SetAutoTopup(t.Context(), of(account), AutoTopup{
		Enabled: true, ThresholdNanos: 100 * app.Dollar, Cents: 1000, MonthlyCapCents: 100_000,
	}))
	opened := h.control(http.MethodPost, "payments/"+h.session(top.ID)+"/dispute", "")
	h.deliver("newest")
	h.db.MustExec(`update accounts set closed_at = now() where id = $1`, account)
	h.must(h.ledger.Freeze(t.Context(), h.db, account, "The account was deleted."))
	h.control(http.MethodPost, "disputes/"+opened["id"].(string)+"/close?outcome=won", "")
	h.deliver("newest")
	h.state(top.ID, Won)
	if !h.frozen(account) {
		t.Error("a won dispute unfreezes a closed account")
	}
	h.must(h.s.chargeLowAccounts(t.Context()))
	h.db.MustExec(`update accounts set frozen_at = null where id = $1`, account) // This simulates an operator who unfroze the account.
	h.must(h.s.chargeLowAccounts(t.Context()))
	if list, err := h.s.Topups(t.Context(), account, 10); err != nil || len(list) != 1 {
		t.Errorf("the card of a closed account was charged: %+v, %v", list, err)
	}
}

func TestEventsInAnyOrderEndInTheRightSums(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]struct {
		do    func(*shop, string) // The change happens after the payment and before any event.
		state State
		cents int64
	}{
		"refunded before completed": {func(h *shop, s string) { h.control(http.MethodPost, "payments/"+s+"/refund?amount=400", "") }, PartlyRefunded, 600},
		"dispute before anything":   {func(h *shop, s string) { h.control(http.MethodPost, "payments/"+s+"/dispute", "") }, Disputed, 0},
		"refund and dispute": {func(h *shop, s string) {
			h.control(http.MethodPost, "payments/"+s+"/refund?amount=400", "")
			h.control(http.MethodPost, "payments/"+s+"/dispute?amount=600", "")
		}, Disputed, 0},
	} {
		for _, order := range []string{"oldest", "newest", "together"} {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				h := open(t)
				account := h.account()
				top := h.checkout(account, 1000)
				h.pay(top.ID)
				after.do(h, h.session(top.ID))
				h.deliver(order)
				if order == "together" {
					h.control(http.MethodGet, "deliveries?status=200&at_least=4&timeout=20s", "")
				}
				h.must(h.s.refresh(t.Context(), top.ID, eventRef{}))
				h.state(top.ID, after.state)
				h.credit(account, after.cents, 0)
			})
		}
	}
}

func TestAnOperatorRefundsOnceToTheCent(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.bought(account, 1000)
	h.spend(account, nanos(250)+1)
	r := RefundRequest{TopupID: top.ID, Operator: "ops@example.com", Reason: "closing the account"}
	h.control(http.MethodPut, "faults", `{"mode":"error","status":503,"times":3,"method":"POST","path":"/v1/refunds"}`)
	_, err := h.s.Refund(t.Context(), r)
	h.kind(err, app.Unavailable, "payments_unavailable")
	h.clock.add(time.Minute)
	got, err := h.s.Refund(t.Context(), r)
	h.must(err)
	if got.State != PartlyRefunded || got.RefundedCents != 749 {
		t.Errorf("%+v", got)
	}
	if n := h.s.Stats(); n.Refunds != 1 || n.Disputes != 0 {
		t.Errorf("%d refunds and %d disputes are counted", n.Refunds, n.Disputes)
	}
	b, err := h.ledger.Balance(t.Context(), account)
	h.must(err)
	if b.Posted != nanos(1)-1 {
		t.Errorf("$%s are left", b.Posted)
	}
	h.books()
	_, err = h.s.Refund(t.Context(), r)
	h.kind(err, app.Conflict, "not_refundable") // Nothing is free to be refunded.
	once := RefundRequest{TopupID: top.ID, Cents: 1, Operator: "ops@example.com", Reason: "the last cent", Once: h.s.NewRefund()}
	for range 2 { // The second one is the same refund.
		if got, err = h.s.Refund(t.Context(), once); err != nil || got.RefundedCents != 750 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if counts, err := h.s.Jobs().Count(t.Context()); err != nil || counts.Failing != 0 {
		t.Errorf("%+v, %v", counts, err)
	}
	h.control(http.MethodPut, "faults", `{"mode":"error","status":400,"times":1,"method":"POST","path":"/v1/refunds"}`)
	_, err = h.s.Refund(t.Context(), RefundRequest{TopupID: h.bought(account, 500).ID, Operator: "ops@example.com", Reason: "a test"})
	h.kind(err, app.Conflict, "refund_refused")
	r.Cents = 252
	_, err = h.s.Refund(t.Context(), r)
	h.kind(err, app.Invalid, "invalid_amount")
	r.Cents, r.Operator = 1, " "
	_, err = h.s.Refund(t.Context(), r)
	h.kind(err, app.Invalid, "invalid_request_error")
	_, err = h.s.Refund(t.Context(), RefundRequest{TopupID: "top_none", Operator: "o", Reason: "r"})
	h.kind(err, app.NotFound, "topup_not_found")
	var refunds int
	h.must(h.db.GetContext(t.Context(), &refunds, `select count(*) from payment_refunds where refund_id is not null and cents = 749`))
	if refunds != 1 {
		t.Errorf("%d refunds", refunds)
	}
}

func TestACardIsChargedWhenCreditRunsLow(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	on := AutoTopup{Enabled: true, ThresholdNanos: 10 * app.Dollar, Cents: 2000, MonthlyCapCents: 4500}
	h.kind(h.s.SetAutoTopup(t.Context(), of(account), on), app.Conflict, "no_saved_card")
	h.bought(account, 500)
	for _, bad := range []AutoTopup{
		{Enabled: true, ThresholdNanos: 0, Cents: 2000, MonthlyCapCents: 4500},
		{Enabled: true, ThresholdNanos: 10, Cents: 499, MonthlyCapCents: 4500},
		{Enabled: true, ThresholdNanos: 10, Cents: 2000, MonthlyCapCents: 1999},
	} {
		h.kind(h.s.SetAutoTopup(t.Context(), of(account), bad), app.Invalid, "invalid_amount")
	}
	h.must(h.s.SetAutoTopup(t.Context(), of(account), on))
	for range 3 {
		h.s.runOnce(t.Context())
	}
	h.credit(account, 2500, 0)
	h.deliver("oldest") // The events of the charge arrive too.
	h.credit(account, 2500, 0)
	list, err := h.s.Topups(t.Context(), account, 10)
	h.must(err)
	if len(list) != 2 || !list[0].Auto || list[0].State != Paid || list[0].ReceiptURL == "" {
		t.Errorf("%+v", list)
	}
	h.spend(account, 16*app.Dollar)
	h.s.runOnce(t.Context())
	h.credit(account, 2900, 0)
	h.spend(account, 28*app.Dollar)
	h.s.runOnce(t.Context()) // This pass reaches the cap.
	h.s.runOnce(t.Context())
	h.credit(account, 100, 0)
	if kinds := h.written(); len(kinds) != 2 { // There is one mail about the cap and one about low credit.
		t.Errorf("mails: %v", kinds)
	}
	next := h.clock.now().AddDate(0, 1, 0)
	h.clock.add(time.Date(next.Year(), next.Month(), 1, 0, 1, 0, 0, time.UTC).Sub(h.clock.now()))
	h.s.runOnce(t.Context())
	h.credit(account, 2100, 0)
}

func TestACardThatIsRefusedThreeTimesIsLeftAlone(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	h.bought(account, 500)
	h.control(http.MethodPut, "cards/"+h.customer(account)+"?outcome=card_declined", "")
	h.must(h.s.SetAutoTopup(t.Context(), of(account), AutoTopup{Enabled: true, ThresholdNanos: 10 * app.Dollar, Cents: 2000, MonthlyCapCents: 4000}))
	for i := range 5 {
		h.s.runOnce(t.Context())
		h.s.runOnce(t.Context())
		if list, err := h.s.Topups(t.Context(), account, 10); err != nil || len(list) != 2+min(i, 2) || list[0].State != Failed || list[0].Failure == "" {
			t.Fatalf("after %d rounds: %+v, %v", i+1, list, err)
		}
		h.clock.add(2 * time.Hour)
	}
	got, err := h.s.AutoTopup(t.Context(), account)
	h.must(err)
	if got.Enabled || got.DisabledReason == "" || got.Failures != 3 || !got.HasCard {
		t.Errorf("%+v", got)
	}
	if kinds := h.written(); len(kinds) != 1 || kinds[0] != "auto_topup_off" {
		t.Errorf("mails: %v", kinds)
	}
	notices, err := h.s.Notices(t.Context(), account)
	h.must(err)
	if len(notices) != 1 || notices[0].Kind != AutoOff {
		t.Errorf("notices: %+v", notices)
	}
	h.credit(account, 500, 0)
}

func TestAChargeWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	h.bought(account, 500)
	h.must(h.s.SetAutoTopup(t.Context(), of(account), AutoTopup{Enabled: true, ThresholdNanos: 10 * app.Dollar, Cents: 2000, MonthlyCapCents: 9000}))
	h.control(http.MethodPut, "faults", `{"mode":"lost","times":3,"method":"POST","path":"/v1/payment_intents"}`)
	h.control(http.MethodPut, "faults", `{"mode":"error","status":503,"times":50,"method":"POST","path":"/v1/payment_intents"}`)
	h.s.runOnce(t.Context())
	h.credit(account, 500, 0)
	h.control(http.MethodDelete, "faults", "")
	h.clock.add(claimDefault + time.Second)
	h.s.runOnce(t.Context())
	h.deliver("oldest")
	h.credit(account, 2500, 0)
}

func TestAChargeThatWasNotMadeIsMadeLater(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	h.bought(account, 500)
	h.must(h.s.SetAutoTopup(t.Context(), of(account), AutoTopup{Enabled: true, ThresholdNanos: 10 * app.Dollar, Cents: 2000, MonthlyCapCents: 9000}))
	h.control(http.MethodPut, "faults", `{"mode":"error","status":503,"times":50,"method":"POST","path":"/v1/payment_intents"}`)
	h.s.runOnce(t.Context())
	h.credit(account, 500, 0)
	h.control(http.MethodDelete, "faults", "")
	h.clock.add(claimDefault + time.Second)
	h.s.runOnce(t.Context())
	h.credit(account, 2500, 0)
}

func TestLowCreditIsToldOncePerCrossing(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	h.s.runOnce(t.Context())
	if kinds := h.written(); len(kinds) != 0 {
		t.Errorf("an account that never bought credit is notified: %v", kinds)
	}
	h.bought(account, 2000)
	h.spend(account, 16*app.Dollar)
	h.s.runOnce(t.Context())
	h.s.runOnce(t.Context())
	notices, err := h.s.Notices(t.Context(), account)
	h.must(err)
	if kinds := h.written(); len(kinds) != 1 || len(notices) != 1 || notices[0].Kind != LowCredit {
		t.Errorf("mails: %v, notices %v", kinds, notices)
	}
	h.bought(account, 500)
	h.s.runOnce(t.Context())
	h.spend(account, 6*app.Dollar)
	h.s.runOnce(t.Context())
	if kinds := h.written(); len(kinds) != 2 {
		t.Errorf("mails: %v", kinds)
	}
	_, err = h.db.ExecContext(t.Context(), `
		insert into notification_preferences (user_id, account_id, event, by_mail, in_console)
		select user_id, account_id, 'low_balance', false, true from memberships where account_id = $1`, account)
	h.must(err)
	h.bought(account, 500)
	h.s.runOnce(t.Context())
	h.spend(account, 5*app.Dollar)
	h.s.runOnce(t.Context())
	if notices, err = h.s.Notices(t.Context(), account); err != nil || len(notices) != 1 {
		t.Errorf("who chose no mails: %v, %v", notices, err)
	}
	if kinds := h.written(); len(kinds) != 2 {
		t.Errorf("who chose no mails is written to: %v", kinds)
	}
	h.must(h.s.SetLowBalance(t.Context(), of(account), 0))
	h.s.runOnce(t.Context())
	notices, err = h.s.Notices(t.Context(), account)
	h.must(err)
	if low, err := h.s.LowBalance(t.Context(), account); err != nil || low != 0 || len(notices) != 0 {
		t.Errorf("%s, %v, %v", low, notices, err)
	}
	h.kind(h.s.SetLowBalance(t.Context(), of(account), -1), app.Invalid, "invalid_amount")
}

func (h *shop) customer(account string) string {
	h.Helper()
	a, err := accountByID(h.Context(), h.db, account)
	h.must(err)
	return a.CustomerID
}

// TestAnOlderAnswerIsNotBooked lets another replica book a refund while an older response from Stripe is still being
// processed.
func TestAnOlderAnswerIsNotBooked(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.bought(account, 1000)
	other := h.service()
	h.lie.Store(&lie{"/v1/payment_intents/", func(map[string]any) {
		h.lie.Store(nil)
		h.control(http.MethodPost, "payments/"+h.session(top.ID)+"/refund?amount=300", "")
		if err := other.refresh(t.Context(), top.ID, eventRef{}); err != nil {
			t.Error(err)
		}
	}})
	h.must(h.s.refresh(t.Context(), top.ID, eventRef{}))
	h.state(top.ID, PartlyRefunded)
	h.credit(account, 700, 0)
}

// TestReplicasChargeACardOnce lets three replicas find the same low balance at once.
func TestReplicasChargeACardOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	h.bought(account, 500)
	h.must(h.s.SetAutoTopup(t.Context(), of(account), AutoTopup{Enabled: true, ThresholdNanos: 10 * app.Dollar, Cents: 2000, MonthlyCapCents: 90_000}))
	var all sync.WaitGroup
	for range 3 {
		s := h.service()
		all.Go(func() { s.runOnce(t.Context()) })
	}
	all.Wait()
	h.credit(account, 2500, 0)
	list, err := h.s.Topups(t.Context(), account, 10)
	h.must(err)
	if len(list) != 2 {
		t.Errorf("%+v", list)
	}
}
