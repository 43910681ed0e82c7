package stripe

import (
	"cmp"
	"context"
	"fmt"

	api "github.com/stripe/stripe-go/v76"
)

// paymentState are the present state of a top-up at Stripe.
type paymentState struct {
	SessionID, IntentID string
	State               State
	Receipt, Failure    string
	Refunded, Disputed  int64 // These cents were returned to the card's owner.
	Card                string
}

// paid reports whether the payment arrived, even if it was returned later.
func (f paymentState) paid() bool { return f.State.paid() }

// returnedCents returns the cents of the top-up that the card's owner got back.
func (f paymentState) returnedCents(cents int64) int64 { return min(cents, f.Refunded+f.Disputed) }

// amountMismatch means that Stripe's objects differ from what was ordered.
type amountMismatch struct{ text string }

func (m amountMismatch) Error() string { return "stripe: " + m.text }

func newMismatch(format string, args ...any) error {
	return amountMismatch{fmt.Sprintf(format, args...)}
}

// firstFailed returns the first check that fails.
func firstFailed(findings ...check) error {
	for _, f := range findings {
		if !f.holds {
			return newMismatch("%s", f.text)
		}
	}
	return nil
}

type check struct {
	holds bool
	text  string
}

// read asks Stripe about a top-up. The hint contains ids that the row does not have yet.
func (s *Service) read(ctx context.Context, t topupRow, h eventRef) (paymentState, error) {
	if t.Auto {
		id := cmp.Or(t.IntentID, h.intent)
		if id == "" {
			return paymentState{}, errMissing
		}
		intent, err := s.api.intent(ctx, id)
		if err != nil {
			return paymentState{}, err
		}
		return s.readIntent(ctx, t, paymentState{State: Open}, intent)
	}
	id := cmp.Or(t.SessionID, h.session)
	if id == "" {
		return paymentState{}, errMissing
	}
	session, err := s.api.session(ctx, id)
	if err != nil {
		return paymentState{}, err
	}
	return s.readSession(ctx, t, session)
}

// readSession checks that the session is the ordered one, in every member that affects money.
func (s *Service) readSession(ctx context.Context, t topupRow, cs *api.CheckoutSession) (paymentState, error) {
	f := paymentState{SessionID: cs.ID, State: Open}
	err := firstFailed(
		check{cs.Livemode == s.livemode(), "the session is of the other mode, live or test"},
		check{t.SessionID == "" || t.SessionID == cs.ID, "the session is not the top-up's"},
		check{cs.ClientReferenceID == t.ID, "the session was ordered for another top-up"},
		check{cs.Metadata[metaTopup] == t.ID, "the session's metadata names another top-up"},
		check{cs.Metadata[metaAccount] == t.AccountID, "the session's metadata names another account"},
		check{cs.Mode == api.CheckoutSessionModePayment, "the session is no payment"},
		check{cs.Currency == api.CurrencyUSD, "the session is not in US dollars"},
		check{cs.AmountSubtotal == t.Cents, "the session's subtotal is not what was ordered"},
		check{cs.AmountTotal >= cs.AmountSubtotal, "the session's total is less than its subtotal"},
	)
	if err != nil {
		return f, err
	}
	paid := cs.PaymentStatus == api.CheckoutSessionPaymentStatusPaid
	switch {
	case cs.Status == api.CheckoutSessionStatusExpired && !paid:
		f.State = Expired
		return f, nil
	case cs.Status == api.CheckoutSessionStatusOpen && !paid:
		return f, nil
	case cs.Status != api.CheckoutSessionStatusComplete:
		return f, newMismatch("the session is %q and %q", cs.Status, cs.PaymentStatus)
	case cs.PaymentIntent == nil || cs.PaymentIntent.ID == "":
		return f, newMismatch("the session is complete without a payment")
	}
	intent, err := s.api.intent(ctx, cs.PaymentIntent.ID)
	if err != nil {
		return f, err
	}
	f, err = s.readIntent(ctx, t, f, intent)
	if err == nil && f.paid() && !paid { // The payment's state changed between the two requests, so the next refresh decides.
		return paymentState{SessionID: cs.ID, State: Open}, nil
	}
	if err == nil && f.paid() != paid {
		err = newMismatch("the session says %q, its payment %q", cs.PaymentStatus, intent.Status)
	}
	return f, err
}

// readIntent adds the state of the payment.
func (s *Service) readIntent(ctx context.Context, t topupRow, f paymentState, pi *api.PaymentIntent) (paymentState, error) {
	f.IntentID = pi.ID
	err := firstFailed(
		check{pi.Livemode == s.livemode(), "the payment is of the other mode, live or test"},
		check{t.IntentID == "" || t.IntentID == pi.ID, "the payment is not the top-up's"},
		check{pi.Metadata[metaTopup] == t.ID, "the payment's metadata names another top-up"},
		check{pi.Metadata[metaAccount] == t.AccountID, "the payment's metadata names another account"},
		check{(pi.Metadata[metaAuto] != "") == t.Auto, "the payment was made in another way than ordered"},
		check{pi.Currency == api.CurrencyUSD, "the payment is not in US dollars"},
		check{pi.Amount >= t.Cents, "the payment is of less than what was ordered"},
		check{!t.Auto || pi.Amount == t.Cents, "the card was charged another amount than ordered"},
	)
	if err != nil {
		return f, err
	}
	switch pi.Status {
	case api.PaymentIntentStatusSucceeded:
		return s.readCharge(ctx, t, f, pi)
	case api.PaymentIntentStatusRequiresPaymentMethod, api.PaymentIntentStatusCanceled:
		f.State = Failed
	case api.PaymentIntentStatusRequiresAction:
		if t.Auto { // An automatic charge has no person who could act.
			f.State = Failed
		}
	}
	if f.State == Failed && pi.LastPaymentError != nil {
		f.Failure = shorten(pi.LastPaymentError.Msg)
	}
	return f, nil
}

// readCharge adds what was charged and refunded of a successful payment.
func (s *Service) readCharge(ctx context.Context, t topupRow, f paymentState, pi *api.PaymentIntent) (paymentState, error) {
	c := pi.LatestCharge
	if c == nil || c.Object != "charge" {
		return f, newMismatch("the payment has no charge")
	}
	err := firstFailed(
		check{pi.AmountReceived >= t.Cents, "less was received than ordered"},
		check{c.Paid, "the charge is not paid"},
		check{c.Currency == api.CurrencyUSD, "the charge is not in US dollars"},
		check{c.Amount >= t.Cents, "the charge is of less than what was ordered"},
		check{c.AmountRefunded >= 0 && c.AmountRefunded <= c.Amount, "more was refunded than charged"},
	)
	if err != nil {
		return f, err
	}
	f.State, f.Receipt, f.Refunded = Paid, shorten(c.ReceiptURL), c.AmountRefunded
	if pi.PaymentMethod != nil && pi.SetupFutureUsage == api.PaymentIntentSetupFutureUsageOffSession {
		f.Card = pi.PaymentMethod.ID
	}
	switch {
	case f.Refunded >= t.Cents:
		f.State = Refunded
	case f.Refunded > 0:
		f.State = PartlyRefunded
	}
	if !c.Disputed {
		return f, nil
	}
	disputes, err := s.api.disputesOf(ctx, pi.ID)
	if err != nil {
		return f, err
	}
	return withDisputes(f, disputes)
}

// withDisputes adds what banks withdrew in disputes. An inquiry has withdrawn nothing yet.
func withDisputes(f paymentState, disputes []*api.Dispute) (paymentState, error) {
	var open, lost, won bool
	for _, d := range disputes {
		if d.Currency != api.CurrencyUSD || d.Amount < 0 {
			return f, newMismatch("a dispute is not in US dollars")
		}
		switch d.Status {
		case api.DisputeStatusNeedsResponse, api.DisputeStatusUnderReview:
			f.Disputed += d.Amount
			open = true
		case api.DisputeStatusLost:
			f.Disputed += d.Amount
			lost = true
		case api.DisputeStatusWon:
			won = true
		}
	}
	switch {
	case open:
		f.State = Disputed
	case lost:
		f.State = Lost
	case won && f.State == Paid:
		f.State = Won
	}
	return f, nil
}
