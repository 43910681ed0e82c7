package payments

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// These limits apply to a checkout.
const (
	openStandard = 24 * time.Hour
	openMin      = 30 * time.Minute
	openMax      = 24 * time.Hour
	itemsMax     = 100
)

// These are the states of a checkout and of its payment.
const (
	open     = "open"
	complete = "complete"
	expired  = "expired"
	paid     = "paid"
	unpaid   = "unpaid"
)

// session is a checkout: one attempt of a person to pay.
type session struct {
	ID                  string            `json:"id"`
	Object              string            `json:"object"`
	AfterExpiration     any               `json:"after_expiration"`
	AllowPromotionCodes *bool             `json:"allow_promotion_codes"`
	AmountSubtotal      int64             `json:"amount_subtotal"`
	AmountTotal         int64             `json:"amount_total"`
	AutomaticTax        map[string]any    `json:"automatic_tax"`
	CancelURL           *string           `json:"cancel_url"`
	ClientReferenceID   *string           `json:"client_reference_id"`
	Created             int64             `json:"created"`
	Currency            string            `json:"currency"`
	Customer            *string           `json:"customer"`
	CustomerCreation    *string           `json:"customer_creation"`
	CustomerDetails     map[string]any    `json:"customer_details"`
	CustomerEmail       *string           `json:"customer_email"`
	ExpiresAt           int64             `json:"expires_at"`
	Invoice             any               `json:"invoice"`
	Livemode            bool              `json:"livemode"`
	Locale              *string           `json:"locale"`
	Metadata            map[string]string `json:"metadata"`
	Mode                string            `json:"mode"`
	PaymentIntent       *string           `json:"payment_intent"`
	PaymentMethodTypes  []string          `json:"payment_method_types"`
	PaymentStatus       string            `json:"payment_status"`
	SetupIntent         any               `json:"setup_intent"`
	Status              string            `json:"status"`
	SubmitType          *string           `json:"submit_type"`
	Subscription        any               `json:"subscription"`
	SuccessURL          *string           `json:"success_url"`
	TotalDetails        map[string]int64  `json:"total_details"`
	UIMode              string            `json:"ui_mode"`
	URL                 *string           `json:"url"`

	items  []any
	intent intentData
	base   string
}

// intentData is what the payment of a checkout will be made of.
type intentData struct {
	metadata     map[string]string
	description  *string
	receiptEmail *string
	descriptor   *string
	suffix       *string
	futureUse    *string
}

// item is a line of a checkout.
type item struct {
	ID             string         `json:"id"`
	Object         string         `json:"object"`
	AmountDiscount int64          `json:"amount_discount"`
	AmountSubtotal int64          `json:"amount_subtotal"`
	AmountTax      int64          `json:"amount_tax"`
	AmountTotal    int64          `json:"amount_total"`
	Currency       string         `json:"currency"`
	Description    string         `json:"description"`
	Price          map[string]any `json:"price"`
	Quantity       int64          `json:"quantity"`
}

func (o *session) facts() (string, int64) { return o.ID, o.Created }

func sessionEndpoints() []endpoint {
	const (
		noun = "checkout.session"
		line = "line_items[]"
		data = "payment_intent_data"
	)
	return []endpoint{
		{route: "POST /v1/checkout/sessions", serve: (*call).createSession, accepts: []string{
			"mode", "success_url", "cancel_url", "customer", "customer_email", "customer_creation", "client_reference_id", "expires_at",
			"locale", "submit_type", "ui_mode", "metadata", "metadata[*]", "payment_method_types[]", "allow_promotion_codes",
			"automatic_tax[enabled]", "billing_address_collection", "invoice_creation[enabled]", "tax_id_collection[enabled]",
			"phone_number_collection[enabled]", "payment_method_options[card][setup_future_usage]",
			line + "[quantity]", line + "[price]", line + "[price_data][currency]", line + "[price_data][unit_amount]",
			line + "[price_data][tax_behavior]", line + "[price_data][product_data][name]", line + "[price_data][product_data][description]",
			line + "[price_data][product_data][metadata][*]", line + "[price_data][product_data][tax_code]",
			data + "[setup_future_usage]", data + "[metadata][*]", data + "[description]", data + "[receipt_email]",
			data + "[statement_descriptor]", data + "[statement_descriptor_suffix]",
		}},
		getter[*session]("/v1/checkout/sessions", noun),
		{route: "GET /v1/checkout/sessions/{id}/line_items", accepts: pageParams(), serve: func(c *call) (object, *failure) {
			o, failed := at[*session](c, noun)
			if failed != nil {
				return nil, failed
			}
			return &list{Object: "list", Data: o.items, URL: c.request.URL.Path}, nil
		}},
		{route: "GET /v1/checkout/sessions", accepts: pageParams("customer", "payment_intent", "status"), serve: func(c *call) (
			object, *failure) {
			status := c.form.oneOf("status", open, complete, expired)
			return page(c, "cs", func(o *session) bool {
				return c.same("customer", o.Customer) && c.same("payment_intent", o.PaymentIntent) && (status == "" || o.Status == status)
			})
		}},
		{route: "POST /v1/checkout/sessions/{id}/expire", serve: func(c *call) (object, *failure) {
			o, failed := at[*session](c, noun)
			if failed == nil && !c.sim.expire(o) {
				failed = invalid("", "", "Only Checkout Sessions with a status in [\"open\"] can be expired. This Checkout Session has a "+
					"status of `%s`.", o.Status)
			}
			return result(o, failed)
		}},
	}
}

func (c *call) createSession() (object, *failure) {
	f := c.form
	if mode := f.need("mode"); mode != "payment" && f.failed == nil {
		f.fail(invalid("", "mode", "Invalid mode: only payment is simulated"))
	}
	f.need("success_url")
	f.oneOf("ui_mode", "hosted")
	f.flag("allow_promotion_codes")
	for _, name := range []string{"automatic_tax[enabled]", "invoice_creation[enabled]", "tax_id_collection[enabled]",
		"phone_number_collection[enabled]"} {
		if f.flag(name) {
			f.fail(invalid("", name, "%s is not simulated.", name))
		}
	}
	f.oneOf("billing_address_collection", "auto", "required")
	if f.has("customer") && f.has("customer_email") {
		f.fail(invalid("", "", "You may only specify one of these parameters: customer, customer_email."))
	}
	o := &session{
		ID: c.sim.newID("cs_test_", 58), Object: "checkout.session", AutomaticTax: map[string]any{"enabled": false, "status": nil},
		CancelURL: maybe(f.address("cancel_url")), Created: c.now.Unix(),
		ClientReferenceID: maybe(f.text("client_reference_id")),
		CustomerCreation:  maybe(f.oneOf("customer_creation", "always", "if_required")), CustomerEmail: maybe(f.text("customer_email")),
		ExpiresAt: f.number("expires_at", c.now.Add(openStandard).Unix()), Locale: maybe(f.text("locale")),
		Metadata: f.metadata("metadata", nil),
		Mode:     "payment", PaymentMethodTypes: f.list("payment_method_types"), PaymentStatus: unpaid, Status: open,
		SubmitType: maybe(f.oneOf("submit_type", "auto", "book", "donate", "pay")), SuccessURL: maybe(f.address("success_url")),
		TotalDetails: map[string]int64{"amount_discount": 0, "amount_shipping": 0, "amount_tax": 0}, UIMode: "hosted",
		intent: c.intentData(), base: c.sim.base(c.request),
	}
	if at := time.Unix(o.ExpiresAt, 0); at.Sub(c.now) < openMin-time.Minute || at.Sub(c.now) > openMax+time.Minute {
		f.fail(invalid("", "expires_at", "The `expires_at` timestamp must be between 30 minutes and 24 hours from Checkout Session creation."))
	}
	if o.PaymentMethodTypes == nil {
		o.PaymentMethodTypes = []string{"card", "us_bank_account"}
	}
	if failed := c.addItems(o); failed != nil {
		return nil, failed
	}
	if f.has("customer") {
		owner, failed := c.liveCustomer(f.need("customer"), "customer")
		if failed != nil {
			return nil, failed
		}
		o.Customer, o.CustomerDetails = &owner.ID, details(owner.Email)
	}
	if f.failed != nil {
		return nil, f.failed
	}
	o.URL = maybe(o.base + "/pay/" + o.ID)
	c.sim.store.put(o)
	c.sim.remindOf(o.ID, time.Unix(o.ExpiresAt, 0))
	return o, nil
}

func details(email *string) map[string]any {
	return map[string]any{"address": nil, "email": email, "name": nil, "phone": nil, "tax_exempt": "none", "tax_ids": []any{}}
}

// intentData reads what the payment will be made of.
func (c *call) intentData() intentData {
	const of = "payment_intent_data"
	f := c.form
	use := f.oneOf(of+"[setup_future_usage]", "off_session", "on_session")
	if use == "" {
		use = f.oneOf("payment_method_options[card][setup_future_usage]", "off_session", "on_session")
	}
	return intentData{
		metadata: f.metadata(of+"[metadata]", nil), description: maybe(f.text(of + "[description]")),
		receiptEmail: maybe(f.text(of + "[receipt_email]")), descriptor: maybe(f.text(of + "[statement_descriptor]")),
		suffix: maybe(f.text(of + "[statement_descriptor_suffix]")), futureUse: maybe(use),
	}
}

// addItems reads what is paid for.
func (c *call) addItems(o *session) *failure {
	f := c.form
	n := f.count("line_items")
	if n == 0 {
		f.fail(invalid("parameter_missing", "line_items", "Missing required param: line_items."))
	}
	if n > itemsMax {
		f.fail(invalid("", "line_items", "You can only have up to %d line items.", itemsMax))
	}
	for i := range n {
		line := "line_items[" + strconv.Itoa(i) + "]"
		if f.has(line + "[price]") {
			return missing("price", f.text(line+"[price]"), line+"[price]")
		}
		quantity, cents := f.number(line+"[quantity]", 1), f.number(line+"[price_data][unit_amount]", -1)
		name, currency := f.need(line+"[price_data][product_data][name]"), f.need(line+"[price_data][currency]")
		f.oneOf(line+"[price_data][tax_behavior]", "exclusive", "inclusive", "unspecified")
		switch {
		case !f.has(line + "[price_data][unit_amount]"):
			f.need(line + "[price_data][unit_amount]")
		case cents < 0 || cents > chargeCentsMax || quantity < 1 || quantity > chargeCentsMax:
			f.fail(invalid("parameter_invalid_integer", line, "Amounts and quantities must be positive, and not above %d.", chargeCentsMax))
		case o.Currency != "" && o.Currency != currency:
			f.fail(invalid("", line+"[price_data][currency]", "All prices on a Checkout Session must have the same currency."))
		}
		if f.failed != nil {
			return f.failed
		}
		o.Currency = currency
		o.AmountTotal += cents * quantity
		o.items = append(o.items, item{
			ID: c.sim.newID("li_", 24), Object: "item", AmountSubtotal: cents * quantity, AmountTotal: cents * quantity, Currency: currency,
			Description: name, Quantity: quantity, Price: map[string]any{
				"id": c.sim.newID("price_", 24), "object": "price", "active": false, "currency": currency, "unit_amount": cents, "type": "one_time",
			},
		})
	}
	o.AmountSubtotal = o.AmountTotal
	if f.failed == nil {
		if failed := checkAmount(o.AmountTotal, o.Currency); failed != nil {
			failed.Param = "line_items"
			return failed
		}
	}
	return f.failed
}

// expire ends a checkout that was not paid, and reports whether it was open.
func (s *Simulator) expire(o *session) bool {
	if o.Status != open {
		return false
	}
	o.Status, o.URL = expired, nil
	if p, ok := find[*intent](s, wordOf(o.PaymentIntent)); ok && p.Status == needsMethod {
		now := s.o.Now().Unix()
		p.Status, p.CanceledAt = canceled, &now
		s.emit("payment_intent.canceled", p, origin{})
	}
	s.emit("checkout.session.expired", o, origin{})
	return true
}

// A person can pay on the page in these ways.
const (
	withCard     = "card"
	withDeclined = "declined"
	withAsync    = "async"
)

// pay is what happens when a person pays on the page.
func (s *Simulator) pay(o *session, with string) *failure {
	if !slices.Contains([]string{withCard, withDeclined, withAsync}, with) {
		return invalid("", "with", "Invalid with: must be one of card, declined, async")
	}
	if o.Status != open {
		return invalid("", "", "This checkout is %s.", o.Status)
	}
	p, ok := find[*intent](s, wordOf(o.PaymentIntent))
	if !ok {
		p = s.intentOf(o)
	}
	email := o.CustomerEmail
	if owner, ok := find[*customer](s, wordOf(o.Customer)); ok {
		email = owner.Email
	}
	o.CustomerDetails = details(email)
	outcome := good
	if with == withDeclined {
		outcome = "card_declined"
	}
	m := s.newMethod(outcome, with == withAsync, email)
	if with == withAsync {
		o.Status, o.URL = complete, nil
		s.begin(p, m, origin{}, o.base)
		s.emit("checkout.session.completed", o, origin{})
		return nil
	}
	if failed := s.take(p, m, outcome, origin{}, o.base); failed != nil {
		return failed
	}
	o.Status, o.URL, o.PaymentStatus = complete, nil, paid
	s.emit("checkout.session.completed", o, origin{})
	return nil
}

// intentOf makes the payment of a checkout, and its customer when one is needed.
func (s *Simulator) intentOf(o *session) *intent {
	if o.Customer == nil && (wordOf(o.CustomerCreation) == "always" || o.intent.futureUse != nil) {
		owner := s.newCustomer(wordOf(o.CustomerEmail))
		s.store.put(owner)
		s.emit("customer.created", owner, origin{})
		o.Customer = &owner.ID
	}
	p := s.newIntent(o.AmountTotal, o.Currency)
	p.Customer, p.Metadata, p.Description, p.ReceiptEmail = o.Customer, o.intent.metadata, o.intent.description, o.intent.receiptEmail
	p.StatementDescriptor, p.StatementSuffix, p.SetupFutureUsage = o.intent.descriptor, o.intent.suffix, o.intent.futureUse
	p.PaymentMethodTypes = o.PaymentMethodTypes
	o.PaymentIntent = &p.ID
	s.store.put(p)
	s.emit("payment_intent.created", p, origin{})
	return p
}

// sessionOf is the checkout that a payment belongs to, or nil.
func (s *Simulator) sessionOf(intentID string) *session {
	for o := range latest[*session](s, "cs") {
		if wordOf(o.PaymentIntent) == intentID {
			return o
		}
	}
	return nil
}

// returnAddress is where a person goes after paying.
func (o *session) returnAddress() string {
	return strings.ReplaceAll(wordOf(o.SuccessURL), "{CHECKOUT_SESSION_ID}", o.ID)
}

// portal is one visit of a customer to the page with their saved cards.
type portal struct {
	ID            string  `json:"id"`
	Object        string  `json:"object"`
	Configuration string  `json:"configuration"`
	Created       int64   `json:"created"`
	Customer      string  `json:"customer"`
	Flow          any     `json:"flow"`
	Livemode      bool    `json:"livemode"`
	Locale        *string `json:"locale"`
	OnBehalfOf    *string `json:"on_behalf_of"`
	ReturnURL     *string `json:"return_url"`
	URL           string  `json:"url"`
}

func (o *portal) facts() (string, int64) { return o.ID, o.Created }

func portalEndpoints() []endpoint {
	return []endpoint{{route: "POST /v1/billing_portal/sessions", accepts: []string{
		"customer", "return_url", "configuration", "locale", "flow_data[type]"}, serve: func(c *call) (object, *failure) {
		f := c.form
		id, back := f.need("customer"), f.address("return_url")
		flow := f.oneOf("flow_data[type]", "payment_method_update")
		if f.failed != nil {
			return nil, f.failed
		}
		owner, failed := c.liveCustomer(id, "customer")
		if failed != nil {
			failed.status = http.StatusBadRequest
			return nil, failed
		}
		o := &portal{
			ID: c.sim.newID("bps_", 24), Object: "billing_portal.session", Configuration: "bpc_standard", Created: c.now.Unix(),
			Customer: owner.ID, Locale: maybe(f.text("locale")), ReturnURL: maybe(back),
		}
		if flow != "" {
			o.Flow = map[string]any{"type": flow, "after_completion": map[string]any{"type": "portal_homepage"}}
		}
		o.URL = c.sim.base(c.request) + "/portal/" + o.ID
		c.sim.store.put(o)
		return o, nil
	}}}
}
