package lease

import (
	"context"
	"errors"

	"umg/app"
	"umg/billing"
)

// holdRequest acquires the credit of a hold or an extension: first from the account, then the same amount from the key's budget.
// It never waits itself; Manager.acquire does.
type holdRequest struct {
	manager     *Manager
	request     billing.HoldRequest
	call        call
	want        app.Amount   // This amount is wanted from the next credit account.
	lease       *lease       // This is the lease that the acquisition uses.
	acquisition *acquisition // The acquisition is nil when the lease had enough.
}

// creditAccountID is the id of the credit account to reserve from next, or empty when everything is reserved.
func (h *holdRequest) creditAccountID() string {
	switch {
	case h.want <= 0:
		return ""
	case h.call.account == nil:
		return h.request.AccountID
	case h.call.budget == nil:
		return h.request.BudgetID
	}
	return ""
}

// step continues until everything is reserved or the manager must wait.
func (h *holdRequest) step() nextAction {
	for creditAccountID := h.creditAccountID(); creditAccountID != ""; creditAccountID = h.creditAccountID() {
		now := h.manager.mono()
		if !h.call.table.trusted(now) {
			return nextAction{verdict: refused, err: h.abandon(h.manager.refusal(ErrFenced, h.request, false))}
		}
		if h.acquisition == nil {
			h.lease = h.call.table.open(creditAccountID, now)
			if h.lease.reserve(now, h.want) {
				h.addReservation(h.want)
				continue
			}
			h.acquisition = newAcquisition(h.lease, h.want, h.request.Min, now)
		}
		n := h.acquisition.step(now)
		if n, ended := h.applyAction(n); ended {
			return n
		}
	}
	return nextAction{verdict: reserved}
}

// answer passes the database's answer to the acquisition and continues.
func (h *holdRequest) answer(row LeaseState, err error) nextAction {
	h.manager.counters.takes.Add(1)
	n, backward := h.acquisition.answer(row, err, h.manager.mono())
	if backward || errors.Is(err, ErrFenced) {
		h.manager.fence(h.call.table)
	}
	if n.verdict == stepsAgain {
		return h.step()
	}
	if n, ended := h.applyAction(n); ended {
		return n
	}
	return h.step()
}

// applyAction applies the verdict of an acquisition to the request. It reports whether the manager must act on the verdict.
func (h *holdRequest) applyAction(n nextAction) (nextAction, bool) {
	switch n.verdict {
	case reserved:
		h.endAcquisition()
		h.addReservation(n.amount)
		if !h.call.table.trusted(h.manager.mono()) { // The answer may have arrived after the lease's validity ended.
			err := h.manager.refusal(ErrFenced, h.request, false)
			return nextAction{verdict: refused, err: h.abandon(err)}, true
		}
		return n, false
	case leaseDropped:
		h.endAcquisition()
		return n, false
	case refused:
		err := h.manager.refusal(n.err, h.request, h.call.account != nil)
		return nextAction{verdict: refused, err: h.abandon(err)}, true
	}
	return n, true
}

// addReservation records a reservation. When the budget grants less than the account, the account's reservation shrinks to the same
// amount.
func (h *holdRequest) addReservation(amount app.Amount) {
	if h.call.account == nil {
		h.call.account, h.call.amount, h.want = h.lease, amount, amount
		return
	}
	if less := h.call.amount - amount; less > 0 {
		h.manager.scheduleReturn(h.call.account, h.call.account.release(h.manager.mono(), less, 0, 0))
	}
	h.call.budget, h.call.amount = h.lease, amount
}

func (h *holdRequest) endAcquisition() {
	if h.acquisition != nil {
		h.acquisition.end()
		h.acquisition = nil
	}
}

// abandon releases what was reserved and returns the error for the caller: its argument, or that the client left. A database
// that did not answer in time is not a client who left.
func (h *holdRequest) abandon(err error) error {
	h.endAcquisition()
	h.manager.releaseHold(h.call)
	h.call.account, h.call.budget, h.call.amount = nil, nil, 0
	if !isUnavailable(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return app.Errorf(app.Canceled, "canceled", "The client left while credit was being reserved.").Because(err)
	}
	return err
}

// checkCaller abandons a request whose caller left while it waited.
func (h *holdRequest) checkCaller(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return h.abandon(err)
	}
	return nil
}

func (h *holdRequest) hold() billing.Hold {
	return billing.Hold{
		ID: h.request.ID, AccountID: h.request.AccountID, BudgetID: h.request.BudgetID, Amount: h.call.amount, Epoch: h.call.table.replica.Epoch,
		Uncharged: h.request.Uncharged,
	}
}
