package payments

import (
	"fmt"
	"strings"
)

// charge is one attempt at a payment.
type charge struct {
	ID                   string            `json:"id"`
	Object               string            `json:"object"`
	Amount               int64             `json:"amount"`
	AmountCaptured       int64             `json:"amount_captured"`
	AmountRefunded       int64             `json:"amount_refunded"`
	BalanceTransaction   *string           `json:"balance_transaction"`
	BillingDetails       billingDetails    `json:"billing_details"`
	Captured             bool              `json:"captured"`
	Created              int64             `json:"created"`
	Currency             string            `json:"currency"`
	Customer             *string           `json:"customer"`
	Description          *string           `json:"description"`
	Disputed             bool              `json:"disputed"`
	FailureCode          *string           `json:"failure_code"`
	FailureMessage       *string           `json:"failure_message"`
	Invoice              any               `json:"invoice"`
	Livemode             bool              `json:"livemode"`
	Metadata             map[string]string `json:"metadata"`
	Outcome              map[string]any    `json:"outcome"`
	Paid                 bool              `json:"paid"`
	PaymentIntent        *string           `json:"payment_intent"`
	PaymentMethod        *string           `json:"payment_method"`
	PaymentMethodDetails map[string]any    `json:"payment_method_details"`
	ReceiptEmail         *string           `json:"receipt_email"`
	ReceiptNumber        *string           `json:"receipt_number"`
	ReceiptURL           *string           `json:"receipt_url"`
	Refunded             bool              `json:"refunded"`
	Status               string            `json:"status"`

	receipt string
}

func (ch *charge) facts() (string, int64) { return ch.ID, ch.Created }

// refund gives money back.
type refund struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	Amount             int64             `json:"amount"`
	BalanceTransaction *string           `json:"balance_transaction"`
	Charge             string            `json:"charge"`
	Created            int64             `json:"created"`
	Currency           string            `json:"currency"`
	Metadata           map[string]string `json:"metadata"`
	PaymentIntent      *string           `json:"payment_intent"`
	Reason             *string           `json:"reason"`
	ReceiptNumber      *string           `json:"receipt_number"`
	Status             string            `json:"status"`
}

func (r *refund) facts() (string, int64) { return r.ID, r.Created }

func chargeEndpoints() []endpoint {
	return []endpoint{
		getter[*charge]("/v1/charges", "charge"),
		lister("/v1/charges", "ch", func(c *call, ch *charge) bool {
			return c.same("customer", ch.Customer) && c.same("payment_intent", ch.PaymentIntent)
		}, "customer", "payment_intent"),
		{route: "POST /v1/refunds", serve: (*call).createRefund, accepts: []string{
			"charge", "payment_intent", "amount", "reason", "metadata", "metadata[*]", "currency", "instructions_email"}},
		getter[*refund]("/v1/refunds", "refund"),
		lister("/v1/refunds", "re", func(c *call, r *refund) bool {
			return c.same("charge", &r.Charge) && c.same("payment_intent", r.PaymentIntent)
		}, "charge", "payment_intent"),
	}
}

func (s *Simulator) newCharge(p *intent, m *paymentMethod, base string) *charge {
	id := s.newID("ch_", 24)
	details := map[string]any{"type": m.Type}
	if m.Card != nil {
		details["card"] = m.Card
	} else {
		details[m.Type] = m.BankAccount
	}
	return &charge{
		ID: id, Object: "charge", Amount: p.Amount, BillingDetails: m.BillingDetails, Created: s.o.Now().Unix(), Currency: p.Currency,
		Customer: p.Customer, Description: p.Description, Metadata: p.Metadata, PaymentIntent: &p.ID, PaymentMethod: &m.ID,
		PaymentMethodDetails: details, ReceiptEmail: p.ReceiptEmail, receipt: base + "/receipts/" + id,
	}
}

func (ch *charge) succeed() {
	ch.Status, ch.Paid, ch.Captured, ch.AmountCaptured, ch.ReceiptURL = succeeded, true, true, ch.Amount, &ch.receipt
	ch.BalanceTransaction = maybe("txn_" + strings.TrimPrefix(ch.ID, "ch_"))
	ch.Outcome = map[string]any{"network_status": "approved_by_network", "type": "authorized", "risk_level": "normal"}
}

func (ch *charge) fail(d decline) {
	ch.Status, ch.FailureCode, ch.FailureMessage = "failed", &d.code, &d.message
	ch.Outcome = map[string]any{
		"network_status": "declined_by_network", "type": "issuer_declined", "reason": d.declineCode, "seller_message": d.message,
	}
}

func (c *call) createRefund() (object, *failure) {
	f := c.form
	reason := f.oneOf("reason", "duplicate", "fraudulent", "requested_by_customer")
	amount := f.number("amount", 0)
	data := f.metadata("metadata", nil)
	if f.failed == nil && f.has("amount") && amount < 1 {
		f.fail(invalid("parameter_invalid_integer", "amount", "Invalid positive integer"))
	}
	if f.has("charge") == f.has("payment_intent") {
		f.fail(invalid("", "", "One of the following params should be provided for this request: payment_intent or charge."))
	}
	if f.failed != nil {
		return nil, f.failed
	}
	id := f.text("charge")
	if f.has("payment_intent") {
		p, ok := find[*intent](c.sim, f.text("payment_intent"))
		switch {
		case !ok:
			return nil, missing("payment_intent", f.text("payment_intent"), "payment_intent")
		case p.LatestCharge == nil:
			return nil, invalid("", "payment_intent", "This PaymentIntent (%s) does not have a successful charge to refund.", p.ID)
		}
		id = *p.LatestCharge
	}
	ch, ok := find[*charge](c.sim, id)
	if !ok {
		return nil, missing("charge", id, "charge")
	}
	return result(c.sim.refund(ch, amount, reason, data, c.origin()))
}

// refund gives back an amount, or with zero all that is left.
func (s *Simulator) refund(ch *charge, cents int64, reason string, data map[string]string, from origin) (*refund, *failure) {
	left := ch.Amount - ch.AmountRefunded
	switch {
	case !ch.Paid:
		return nil, invalid("", "charge", "Charge %s has a status of %s and cannot be refunded.", ch.ID, ch.Status)
	case left == 0:
		return nil, invalid("charge_already_refunded", "charge", "Charge %s has already been refunded.", ch.ID)
	case ch.Disputed && !s.wonBack(ch):
		return nil, invalid("charge_disputed", "charge", "Charge %s has been charged back; cannot issue a refund.", ch.ID)
	case cents > left:
		return nil, invalid("", "amount", "Refund amount (%s) is greater than unrefunded amount on charge (%s)",
			dollars(cents, ch.Currency), dollars(left, ch.Currency))
	case cents == 0:
		cents = left
	}
	r := &refund{
		ID: s.newID("re_", 24), Object: "refund", Amount: cents, Charge: ch.ID, Created: s.o.Now().Unix(), Currency: ch.Currency,
		Metadata: data, PaymentIntent: ch.PaymentIntent, Reason: maybe(reason), Status: succeeded, BalanceTransaction: maybe(s.newID("txn_", 24)),
	}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	s.store.put(r)
	ch.AmountRefunded += cents
	ch.Refunded = ch.AmountRefunded == ch.Amount
	s.emit("charge.refunded", ch, from)
	return r, nil
}

// dollars is an amount for people.
func dollars(cents int64, currency string) string {
	text := fmt.Sprintf("%d.%02d", cents/100, cents%100)
	if currency == "usd" {
		return "$" + text
	}
	return text + " " + strings.ToUpper(currency)
}
