package payments

import "strings"

// good is the outcome of a card with which nothing goes wrong.
const good = "ok"

// paymentMethod is a card, or a bank account that pays late.
type paymentMethod struct {
	ID             string            `json:"id"`
	Object         string            `json:"object"`
	BillingDetails billingDetails    `json:"billing_details"`
	Card           *card             `json:"card,omitempty"`
	BankAccount    *bankAccount      `json:"us_bank_account,omitempty"`
	Created        int64             `json:"created"`
	Customer       *string           `json:"customer"`
	Livemode       bool              `json:"livemode"`
	Metadata       map[string]string `json:"metadata"`
	Type           string            `json:"type"`

	outcome string // Outcome is the result of an off-session attempt to use the card.
}

type billingDetails struct {
	Address any     `json:"address"`
	Email   *string `json:"email"`
	Name    *string `json:"name"`
	Phone   *string `json:"phone"`
}

type card struct {
	Brand       string `json:"brand"`
	Checks      any    `json:"checks"`
	Country     string `json:"country"`
	ExpMonth    int    `json:"exp_month"`
	ExpYear     int    `json:"exp_year"`
	Fingerprint string `json:"fingerprint"`
	Funding     string `json:"funding"`
	Last4       string `json:"last4"`
	Wallet      any    `json:"wallet"`
}

type bankAccount struct {
	BankName string `json:"bank_name"`
	Last4    string `json:"last4"`
}

func (m *paymentMethod) facts() (string, int64) { return m.ID, m.Created }

// testMethods are the names that stand for a new card in test mode, with what becomes of it.
func testMethods() map[string]string {
	return map[string]string{
		"pm_card_visa":                            good,
		"pm_card_mastercard":                      good,
		"pm_card_chargeCustomerFail":              "card_declined",
		"pm_card_chargeDeclined":                  "card_declined",
		"pm_card_chargeDeclinedInsufficientFunds": "insufficient_funds",
		"pm_card_chargeDeclinedExpiredCard":       "expired_card",
		"pm_card_chargeDeclinedLostCard":          "lost_card",
		"pm_card_chargeDeclinedProcessingError":   "processing_error",
		"pm_card_authenticationRequired":          "authentication_required",
	}
}

func methodEndpoints() []endpoint {
	const noun = "PaymentMethod"
	ofCustomer := func(c *call, id string) (object, *failure) {
		kind := c.form.oneOf("type", "card", "us_bank_account")
		return page(c, "pm", func(one *paymentMethod) bool { return wordOf(one.Customer) == id && (kind == "" || one.Type == kind) })
	}
	return []endpoint{
		getter[*paymentMethod]("/v1/payment_methods", noun),
		{route: "GET /v1/payment_methods", accepts: pageParams("customer", "type"), serve: func(c *call) (object, *failure) {
			id := c.form.need("customer")
			if c.form.failed != nil {
				return nil, c.form.failed
			}
			return ofCustomer(c, id)
		}},
		{route: "GET /v1/customers/{id}/payment_methods", accepts: pageParams("type"), serve: func(c *call) (object, *failure) {
			o, failed := c.liveCustomer(c.request.PathValue("id"), "id")
			if failed != nil {
				return nil, failed
			}
			return ofCustomer(c, o.ID)
		}},
		{route: "POST /v1/payment_methods/{id}/attach", accepts: []string{"customer"}, serve: func(c *call) (object, *failure) {
			id := c.form.need("customer")
			if c.form.failed != nil {
				return nil, c.form.failed
			}
			owner, failed := c.liveCustomer(id, "customer")
			if failed != nil {
				return nil, failed
			}
			method, failed := c.method(c.request.PathValue("id"), "id")
			if failed == nil {
				failed = c.attach(method.ID, owner)
			}
			return result(method, failed)
		}},
		{route: "POST /v1/payment_methods/{id}/detach", serve: func(c *call) (object, *failure) {
			o, failed := at[*paymentMethod](c, noun)
			if failed == nil && o.Customer == nil {
				failed = invalid("", "", "The payment method you provided is not attached to a customer so detachment is impossible.")
			}
			if failed != nil {
				return nil, failed
			}
			c.sim.detach(o)
			return o, nil
		}},
	}
}

// newMethod makes a card, or a bank account when it pays late.
func (s *Simulator) newMethod(outcome string, late bool, email *string) *paymentMethod {
	now := s.o.Now()
	m := &paymentMethod{
		ID: s.newID("pm_", 24), Object: "payment_method", BillingDetails: billingDetails{Email: email}, Created: now.Unix(),
		Metadata: map[string]string{}, outcome: outcome, Type: "card",
	}
	if late {
		m.Type, m.BankAccount = "us_bank_account", &bankAccount{BankName: "TEST BANK", Last4: "6789"}
	} else {
		last4 := "4242"
		if outcome != good {
			last4 = "0002"
		}
		m.Card = &card{
			Brand: "visa", Country: "US", ExpMonth: 12, ExpYear: now.Year() + 3, Fingerprint: s.newID("", 16), Funding: "credit", Last4: last4,
		}
	}
	s.store.put(m)
	return m
}

// method is the one of that id; the names of test mode make a new one.
func (c *call) method(id, param string) (*paymentMethod, *failure) {
	if outcome, ok := testMethods()[id]; ok {
		return c.sim.newMethod(outcome, false, nil), nil
	}
	if o, ok := find[*paymentMethod](c.sim, id); ok {
		return o, nil
	}
	return nil, missing("PaymentMethod", id, param)
}

// attach saves a method with a customer.
func (c *call) attach(id string, owner *customer) *failure {
	m, failed := c.method(id, "payment_method")
	switch {
	case failed != nil:
		return failed
	case m.Customer != nil && *m.Customer != owner.ID:
		return invalid("payment_method_unexpected_state", "payment_method",
			"The payment method you provided has already been attached to a customer.")
	}
	c.sim.save(m, owner.ID)
	return nil
}

func (s *Simulator) save(m *paymentMethod, customerID string) {
	if m.Customer == nil {
		m.Customer = &customerID
		s.emit("payment_method.attached", m, origin{})
	}
}

// detach removes a saved method from its customer.
func (s *Simulator) detach(m *paymentMethod) {
	if owner, ok := find[*customer](s, wordOf(m.Customer)); ok && wordOf(owner.InvoiceSettings.DefaultPaymentMethod) == m.ID {
		owner.InvoiceSettings.DefaultPaymentMethod = nil
	}
	m.Customer = nil
	s.emit("payment_method.detached", m, origin{})
}

// label is how people know a method.
func (m *paymentMethod) label() string {
	if m.Card == nil {
		return m.BankAccount.BankName + " •••• " + m.BankAccount.Last4
	}
	return strings.ToUpper(m.Card.Brand[:1]) + m.Card.Brand[1:] + " •••• " + m.Card.Last4
}
