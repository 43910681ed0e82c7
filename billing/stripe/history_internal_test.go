package stripe

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/audit"
)

// history returns the account's log, oldest first: actor, action, object and each change.
func (h *shop) history(account string) (lines []string) {
	h.Helper()
	page, err := audit.New(h.db, h.clock.now, h.ids).List(h.Context(), account, audit.Filter{Limit: 100})
	h.must(err)
	for _, e := range slices.Backward(page.Entries) {
		line := strings.TrimSpace(string(e.Actor) + " " + string(e.Action) + " " + e.Object)
		for _, c := range e.Changes {
			line += "; " + c.Field + ": " + c.From + " → " + c.To
		}
		if e.Actor == audit.ByUser && (e.ActorID != "usr_test" || e.IP != "192.0.2.4") {
			h.Errorf("%s was by %s from %s", line, e.ActorID, e.IP)
		}
		lines = append(lines, line)
	}
	return lines
}

func (h *shop) wantHistory(account string, want ...string) {
	h.Helper()
	if got := strings.Join(h.history(account), "\n"); got != strings.Join(want, "\n") {
		h.Errorf("the log says\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestTheLogTellsWhoStartedATopUpOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	r := CheckoutRequest{Principal: of(account), Email: "a@example.com", Cents: 1250, IdempotencyKey: "k"}
	top, err := h.s.Checkout(t.Context(), r)
	h.must(err)
	_, err = h.s.Checkout(t.Context(), r)
	h.must(err)
	r.Cents = 600
	_, err = h.s.Checkout(t.Context(), r)
	h.kind(err, app.Unprocessable, "idempotency_error")
	r.Cents, r.IdempotencyKey = 100, "small"
	_, err = h.s.Checkout(t.Context(), r)
	h.kind(err, app.Invalid, "invalid_amount")
	h.wantHistory(account, "user billing.topup_started "+top.ID+"; amount:  → $12.5")
	h.clock.add(time.Second)
	_, err = h.s.Portal(t.Context(), of(account))
	h.must(err)
	h.wantHistory(account, "user billing.topup_started "+top.ID+"; amount:  → $12.5", "user billing.portal_opened")
}

func TestTheLogTellsWhatWasChosenAboutMoney(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.bought(account, 5000)
	step := func(err error) {
		t.Helper()
		h.must(err)
		h.clock.add(time.Second) // Entries of the same time have no defined order.
	}
	step(nil)
	on := AutoTopup{Enabled: true, ThresholdNanos: 10 * app.Dollar, Cents: 2000, MonthlyCapCents: 4500}
	step(h.s.SetAutoTopup(t.Context(), of(account), on))
	step(h.s.SetAutoTopup(t.Context(), of(account), on)) // This call changes nothing.
	on.Cents = 2001
	step(h.s.SetAutoTopup(t.Context(), of(account), on))
	step(h.s.SetAutoTopup(t.Context(), of(account), AutoTopup{}))
	on.Cents = 1
	h.kind(h.s.SetAutoTopup(t.Context(), of(account), on), app.Invalid, "invalid_amount")
	step(h.s.SetLowBalance(t.Context(), of(account), 5*app.Dollar)) // This call sets the value that the account already has.
	step(h.s.SetLowBalance(t.Context(), of(account), 3*app.Dollar+1))
	step(h.s.SetLowBalance(t.Context(), of(account), 0))
	h.wantHistory(account,
		"user billing.topup_started "+top.ID+"; amount:  → $50",
		"user billing.auto_topup_changed; automatic_top_up: off → on; threshold: $0 → $10; amount: $0 → $20; monthly_cap: $0 → $45",
		"user billing.auto_topup_changed; amount: $20 → $20.01",
		"user billing.auto_topup_changed; automatic_top_up: on → off",
		"user billing.low_balance_changed; low_balance: $5 → $3.000000001",
		"user billing.low_balance_changed; low_balance: $3.000000001 → $0")
}

func TestTheLogTellsThatACardIsChargedNoMore(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	h.bought(account, 500)
	h.control(http.MethodPut, "cards/"+h.customer(account)+"?outcome=card_declined", "")
	h.clock.add(time.Second)
	h.must(h.s.SetAutoTopup(t.Context(), of(account), AutoTopup{Enabled: true, ThresholdNanos: 10 * app.Dollar, Cents: 2000, MonthlyCapCents: 9000}))
	for range failuresMax {
		h.clock.add(2 * time.Hour)
		h.s.runOnce(t.Context())
		h.s.runOnce(t.Context())
	}
	got := h.history(account)
	const want = "system billing.auto_topup_changed; automatic_top_up: on → off; reason:  → The saved card was refused 3 times in a row. "
	if len(got) != 3 || !strings.HasPrefix(got[2], want) {
		t.Errorf("%q", got)
	}
}

func TestTheLogTellsOfRefundsAndDisputes(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.bought(account, 2000)
	h.clock.add(time.Second)
	r := RefundRequest{TopupID: top.ID, Cents: 700, Operator: "ops", Reason: "asked for it", From: app.Origin{Agent: "gateway credit refund"}}
	h.control(http.MethodPut, "faults", `{"mode":"error","status":503,"times":3,"method":"POST","path":"/v1/refunds"}`)
	_, err := h.s.Refund(t.Context(), r)
	h.kind(err, app.Unavailable, "payments_unavailable")
	h.clock.add(time.Minute)
	_, err = h.s.Refund(t.Context(), r) // This call first finishes the first refund.
	h.must(err)
	h.clock.add(time.Second)
	opened := h.control(http.MethodPost, "payments/"+h.session(top.ID)+"/dispute", "")
	h.deliver("newest")
	h.deliver("newest")
	h.clock.add(time.Second)
	h.control(http.MethodPost, "disputes/"+opened["id"].(string)+"/close?outcome=won", "")
	h.deliver("newest")
	h.wantHistory(account,
		"user billing.topup_started "+top.ID+"; amount:  → $20",
		"operator billing.refunded "+top.ID+"; amount:  → $7; reason:  → asked for it",
		"system account.frozen; reason:  → "+frozenByDispute,
		"system account.unfrozen; reason:  → "+unfrozenText)
	var agent string
	h.must(h.db.GetContext(t.Context(), &agent, `select agent from audit_entries where actor = 'operator'`))
	if agent != "gateway credit refund" {
		t.Errorf("the refund came from %q", agent)
	}
}

func TestWhatCannotBeLoggedIsNotDone(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	h.bought(account, 500)
	h.db.MustExec(`alter table audit_entries add constraint closed check (account_id <> '` + account + `') not valid`)
	if _, err := h.s.Checkout(t.Context(), CheckoutRequest{Principal: of(account), Cents: 500, IdempotencyKey: "next"}); err == nil {
		t.Error("a top-up was started")
	}
	if err := h.s.SetAutoTopup(t.Context(), of(account), AutoTopup{Enabled: true, ThresholdNanos: app.Dollar, Cents: 2000, MonthlyCapCents: 2000}); err == nil {
		t.Error("automatic top-up was changed")
	}
	if err := h.s.SetLowBalance(t.Context(), of(account), app.Dollar); err == nil {
		t.Error("the notice was changed")
	}
	if address, err := h.s.Portal(t.Context(), of(account)); err == nil || address != "" {
		t.Errorf("the portal was opened at %q", address)
	}
	a, err := h.s.AutoTopup(t.Context(), account)
	h.must(err)
	low, err := h.s.LowBalance(t.Context(), account)
	h.must(err)
	list, err := h.s.Topups(t.Context(), account, 10)
	h.must(err)
	if a.Enabled || low != notifyBelowDefault || len(list) != 1 {
		t.Errorf("%+v %s %+v", a, low, list)
	}
}

// TestARefundThatTwoFinishIsToldOnce has two operators finish the same refund when neither knows its outcome.
func TestARefundThatTwoFinishIsToldOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.bought(account, 2000)
	row := h.row(top.ID)
	pending, err := h.s.pendingRefund(t.Context(), row, RefundRequest{TopupID: top.ID, Cents: 100, Operator: "ops", Reason: "asked"})
	h.must(err)
	for range 2 {
		h.must(h.s.recordRefund(t.Context(), row, pending, "re_1", app.Origin{}))
	}
	var entries int
	h.must(h.db.GetContext(t.Context(), &entries, `select count(*) from audit_entries where action = 'billing.refunded'`))
	if entries != 1 {
		t.Errorf("%d entries of one refund", entries)
	}
}
