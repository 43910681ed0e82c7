package payments

import (
	"net/http"
	"slices"
	"strings"
)

// These limits apply to one payment, in cents.
const (
	chargeCentsMin = 50
	chargeCentsMax = 99_999_999
)

// The simulator asks for these states of a payment.
const (
	needsMethod  = "requires_payment_method"
	needsConfirm = "requires_confirmation"
	needsAction  = "requires_action"
	processing   = "processing"
	succeeded    = "succeeded"
	canceled     = "canceled"
)

// intent is one payment with all its attempts.
type intent struct {
	ID                  string            `json:"id"`
	Object              string            `json:"object"`
	Amount              int64             `json:"amount"`
	AmountCapturable    int64             `json:"amount_capturable"`
	AmountReceived      int64             `json:"amount_received"`
	CanceledAt          *int64            `json:"canceled_at"`
	CancellationReason  *string           `json:"cancellation_reason"`
	CaptureMethod       string            `json:"capture_method"`
	ClientSecret        string            `json:"client_secret"`
	ConfirmationMethod  string            `json:"confirmation_method"`
	Created             int64             `json:"created"`
	Currency            string            `json:"currency"`
	Customer            *string           `json:"customer"`
	Description         *string           `json:"description"`
	Invoice             any               `json:"invoice"`
	LastPaymentError    *failure          `json:"last_payment_error"`
	LatestCharge        *string           `json:"latest_charge"`
	Livemode            bool              `json:"livemode"`
	Metadata            map[string]string `json:"metadata"`
	NextAction          any               `json:"next_action"`
	PaymentMethod       *string           `json:"payment_method"`
	PaymentMethodTypes  []string          `json:"payment_method_types"`
	ReceiptEmail        *string           `json:"receipt_email"`
	SetupFutureUsage    *string           `json:"setup_future_usage"`
	StatementDescriptor *string           `json:"statement_descriptor"`
	StatementSuffix     *string           `json:"statement_descriptor_suffix"`
	Status              string            `json:"status"`
}

func (p *intent) facts() (string, int64) { return p.ID, p.Created }

func intentEndpoints() []endpoint {
	const noun = "payment_intent"
	confirms := []string{"payment_method", "off_session", "error_on_requires_action", "return_url", "receipt_email", "setup_future_usage",
		"use_stripe_sdk", "mandate"}
	changes := []string{"amount", "currency", "customer", "description", "metadata", "metadata[*]", "payment_method", "receipt_email",
		"setup_future_usage", "statement_descriptor", "statement_descriptor_suffix", "payment_method_types[]"}
	creates := slices.Concat(changes, confirms, []string{"confirm", "capture_method", "confirmation_method",
		"automatic_payment_methods[enabled]", "automatic_payment_methods[allow_redirects]"})
	return []endpoint{
		{route: "POST /v1/payment_intents", accepts: creates, serve: (*call).createIntent},
		{route: "POST /v1/payment_intents/{id}", accepts: changes, serve: (*call).updateIntent},
		{route: "POST /v1/payment_intents/{id}/confirm", accepts: confirms, serve: func(c *call) (object, *failure) {
			p, failed := at[*intent](c, noun)
			if failed != nil {
				return nil, failed
			}
			return c.confirm(p)
		}},
		{route: "POST /v1/payment_intents/{id}/cancel", accepts: []string{"cancellation_reason"}, serve: (*call).cancelIntent},
		getter[*intent]("/v1/payment_intents", noun),
		lister("/v1/payment_intents", "pi", func(c *call, p *intent) bool { return c.same("customer", p.Customer) }, "customer"),
	}
}

func checkAmount(cents int64, currency string) *failure {
	switch {
	case currency != strings.ToLower(currency) || len(currency) != 3:
		return invalid("", "currency", "Invalid currency: %s.", currency)
	case cents < 1:
		return invalid("parameter_invalid_integer", "amount", "This value must be greater than or equal to 1.")
	case cents < chargeCentsMin:
		return invalid("amount_too_small", "amount", "Amount must be at least %s", dollars(chargeCentsMin, currency))
	case cents > chargeCentsMax:
		return invalid("amount_too_large", "amount", "Amount must be no more than %s", dollars(chargeCentsMax, currency))
	}
	return nil
}

func (s *Simulator) newIntent(cents int64, currency string) *intent {
	id := s.newID("pi_", 24)
	return &intent{
		ID: id, Object: "payment_intent", Amount: cents, CaptureMethod: "automatic_async", ClientSecret: id + s.newID("_secret_", 25),
		ConfirmationMethod: "automatic", Created: s.o.Now().Unix(), Currency: currency, Metadata: map[string]string{}, Status: needsMethod,
		PaymentMethodTypes: []string{"card"},
	}
}

func (c *call) createIntent() (object, *failure) {
	f := c.form
	cents, currency := f.number("amount", 0), f.need("currency")
	f.need("amount")
	if f.failed != nil {
		return nil, f.failed
	}
	p := c.sim.newIntent(cents, currency)
	f.oneOf("capture_method", "automatic", "automatic_async")
	f.oneOf("confirmation_method", "automatic", "manual")
	f.flag("automatic_payment_methods[enabled]")
	f.oneOf("automatic_payment_methods[allow_redirects]", "always", "never")
	if failed := c.changeIntent(p); failed != nil {
		return nil, failed
	}
	confirm := f.flag("confirm")
	for _, name := range []string{"off_session", "error_on_requires_action", "return_url", "mandate"} {
		if f.has(name) && !confirm {
			f.fail(invalid("", name, "You cannot pass '%s' unless 'confirm' is set to true.", name))
		}
	}
	if f.failed != nil {
		return nil, f.failed
	}
	c.sim.store.put(p)
	c.emit("payment_intent.created", p)
	if confirm {
		return c.confirm(p)
	}
	return p, nil
}

func (c *call) updateIntent() (object, *failure) {
	p, failed := at[*intent](c, "payment_intent")
	if failed != nil {
		return nil, failed
	}
	changed := *p
	if failed := c.changeIntent(&changed); failed != nil {
		return nil, failed
	}
	if p.Status == succeeded && (changed.Amount != p.Amount || wordOf(changed.PaymentMethod) != wordOf(p.PaymentMethod)) {
		return nil, unexpectedState(p, "updated")
	}
	*p = changed
	return p, nil
}

// changeIntent takes over what the parameters say.
func (c *call) changeIntent(p *intent) *failure {
	f := c.form
	p.Amount = f.number("amount", p.Amount)
	if f.has("currency") {
		p.Currency = f.need("currency")
	}
	if f.failed == nil {
		if failed := checkAmount(p.Amount, p.Currency); failed != nil {
			return failed
		}
	}
	if f.has("customer") {
		owner, failed := c.liveCustomer(f.need("customer"), "customer")
		if failed != nil {
			return failed
		}
		p.Customer = &owner.ID
	}
	for name, field := range map[string]**string{"description": &p.Description, "receipt_email": &p.ReceiptEmail,
		"statement_descriptor": &p.StatementDescriptor, "statement_descriptor_suffix": &p.StatementSuffix} {
		if f.has(name) {
			*field = maybe(f.text(name))
		}
	}
	if use := f.oneOf("setup_future_usage", "off_session", "on_session"); use != "" {
		p.SetupFutureUsage = &use
	}
	if all := f.list("payment_method_types"); all != nil {
		p.PaymentMethodTypes = all
	}
	p.Metadata = f.metadata("metadata", p.Metadata)
	if f.failed != nil {
		return f.failed
	}
	return c.chooseMethod(p)
}

// chooseMethod takes the payment method that the parameters name, if it may be used by the customer.
func (c *call) chooseMethod(p *intent) *failure {
	if !c.form.has("payment_method") {
		return nil
	}
	m, failed := c.method(c.form.need("payment_method"), "payment_method")
	if failed != nil {
		return failed
	}
	if m.Customer != nil && wordOf(m.Customer) != wordOf(p.Customer) {
		return invalid("", "payment_method", "The provided PaymentMethod cannot be used with this customer: it belongs to another one, or "+
			"you did not say which. Include its customer in this request.")
	}
	p.PaymentMethod = &m.ID
	if p.Status == needsMethod {
		p.Status = needsConfirm
	}
	return nil
}

func unexpectedState(p *intent, verb string) *failure {
	failed := invalid("payment_intent_unexpected_state", "",
		"This PaymentIntent could not be %s because it has a status of %s.", verb, p.Status)
	failed.PaymentIntent = p
	return failed
}

// confirm tries to take the money now.
func (c *call) confirm(p *intent) (object, *failure) {
	f := c.form
	offSession := f.has("off_session") && f.oneOf("off_session", "true", "false", "one_off", "recurring") != "false"
	strict := f.flag("error_on_requires_action") || offSession
	if failed := c.chooseMethod(p); failed != nil {
		return nil, failed
	}
	m, ok := find[*paymentMethod](c.sim, wordOf(p.PaymentMethod))
	switch {
	case f.failed != nil:
		return nil, f.failed
	case p.Status != needsConfirm && p.Status != needsMethod:
		return nil, unexpectedState(p, "confirmed")
	case !ok:
		failed := invalid("payment_intent_unexpected_state", "", "You cannot confirm this PaymentIntent because it's missing a payment method.")
		failed.PaymentIntent = p
		return nil, failed
	case offSession && m.Customer == nil:
		return nil, invalid("", "payment_method", "A PaymentMethod that is not attached to a customer cannot be used off-session.")
	}
	if m.outcome == "authentication_required" && !strict {
		p.Status, p.NextAction = needsAction, map[string]any{"type": "use_stripe_sdk", "use_stripe_sdk": map[string]any{}}
		c.emit("payment_intent.requires_action", p)
		return p, nil
	}
	if m.outcome == processing {
		c.sim.begin(p, m, c.origin(), c.sim.base(c.request))
		return p, nil
	}
	return result(p, c.sim.take(p, m, m.outcome, c.origin(), c.sim.base(c.request)))
}

// take makes one attempt and knows at once what comes of it.
func (s *Simulator) take(p *intent, m *paymentMethod, outcome string, from origin, base string) *failure {
	ch := s.newCharge(p, m, base)
	p.PaymentMethod, p.LatestCharge, p.NextAction = &m.ID, &ch.ID, nil
	s.store.put(ch)
	d, declined := declines()[outcome]
	if !declined {
		ch.succeed()
		p.Status, p.AmountReceived, p.LastPaymentError = succeeded, p.Amount, nil
		if p.SetupFutureUsage != nil && p.Customer != nil {
			s.save(m, *p.Customer)
		}
		s.emit("charge.succeeded", ch, from)
		s.emit("payment_intent.succeeded", p, from)
		return nil
	}
	ch.fail(d)
	p.Status, p.PaymentMethod = needsMethod, nil
	p.LastPaymentError = &failure{
		Type: "card_error", Code: d.code, DeclineCode: d.declineCode, Message: d.message, Charge: ch.ID, PaymentMethod: m,
		DocURL: "https://stripe.com/docs/error-codes/" + strings.ReplaceAll(d.code, "_", "-"),
	}
	s.emit("charge.failed", ch, from)
	s.emit("payment_intent.payment_failed", p, from)
	failed := *p.LastPaymentError
	failed.status, failed.final = http.StatusPaymentRequired, true
	failed.PaymentIntent = treeOf(p)
	return &failed
}

// begin makes an attempt whose outcome comes later.
func (s *Simulator) begin(p *intent, m *paymentMethod, from origin, base string) {
	ch := s.newCharge(p, m, base)
	ch.Status = "pending"
	p.PaymentMethod, p.LatestCharge, p.Status = &m.ID, &ch.ID, processing
	s.store.put(ch)
	s.emit("charge.pending", ch, from)
	s.emit("payment_intent.processing", p, from)
	if s.o.AsyncAfter > 0 {
		s.remindOf(p.ID, s.o.Now().Add(s.o.AsyncAfter))
	}
}

// resolve ends an attempt whose outcome was open, and reports whether there was one.
func (s *Simulator) resolve(p *intent, good bool) bool {
	ch, ok := find[*charge](s, wordOf(p.LatestCharge))
	if p.Status != processing || !ok {
		return false
	}
	of := s.sessionOf(p.ID)
	if good {
		ch.succeed()
		p.Status, p.AmountReceived = succeeded, p.Amount
		s.emit("charge.succeeded", ch, origin{})
		s.emit("payment_intent.succeeded", p, origin{})
		if of != nil {
			of.PaymentStatus = paid
			s.emit("checkout.session.async_payment_succeeded", of, origin{})
		}
		return true
	}
	d := decline{"payment_intent_payment_attempt_failed", "", "The payment failed."}
	ch.fail(d)
	p.Status = needsMethod
	p.LastPaymentError = &failure{Type: "card_error", Code: d.code, Message: d.message, Charge: ch.ID}
	s.emit("charge.failed", ch, origin{})
	s.emit("payment_intent.payment_failed", p, origin{})
	if of != nil {
		s.emit("checkout.session.async_payment_failed", of, origin{})
	}
	return true
}

func (c *call) cancelIntent() (object, *failure) {
	p, failed := at[*intent](c, "payment_intent")
	reason := c.form.oneOf("cancellation_reason", "duplicate", "fraudulent", "requested_by_customer", "abandoned")
	switch {
	case failed != nil:
		return nil, failed
	case c.form.failed != nil:
		return nil, c.form.failed
	case p.Status != needsMethod && p.Status != needsConfirm && p.Status != needsAction:
		return nil, unexpectedState(p, "canceled")
	}
	now := c.now.Unix()
	p.Status, p.CanceledAt, p.CancellationReason = canceled, &now, maybe(reason)
	c.emit("payment_intent.canceled", p)
	return p, nil
}
