package payments

import "slices"

// customer is who pays.
type customer struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	Address          any               `json:"address"`
	Balance          int64             `json:"balance"`
	Created          int64             `json:"created"`
	Currency         *string           `json:"currency"`
	DefaultSource    *string           `json:"default_source"`
	Delinquent       bool              `json:"delinquent"`
	Description      *string           `json:"description"`
	Discount         any               `json:"discount"`
	Email            *string           `json:"email"`
	InvoiceSettings  invoiceSettings   `json:"invoice_settings"`
	Livemode         bool              `json:"livemode"`
	Metadata         map[string]string `json:"metadata"`
	Name             *string           `json:"name"`
	Phone            *string           `json:"phone"`
	PreferredLocales []string          `json:"preferred_locales"`
	Shipping         any               `json:"shipping"`
	TaxExempt        string            `json:"tax_exempt"`
	TestClock        any               `json:"test_clock"`
	Deleted          bool              `json:"deleted,omitempty"`
}

type invoiceSettings struct {
	CustomFields         any     `json:"custom_fields"`
	DefaultPaymentMethod *string `json:"default_payment_method"`
	Footer               any     `json:"footer"`
	RenderingOptions     any     `json:"rendering_options"`
}

func (c *customer) facts() (string, int64) { return c.ID, c.Created }

func customerEndpoints() []endpoint {
	accepts := []string{"email", "name", "description", "phone", "metadata", "metadata[*]", "preferred_locales[]", "tax_exempt",
		"invoice_settings[default_payment_method]"}
	return []endpoint{
		{route: "POST /v1/customers", accepts: append(slices.Clone(accepts), "payment_method"), serve: func(c *call) (object, *failure) {
			o := c.sim.newCustomer("")
			if failed := c.changeCustomer(o); failed != nil {
				return nil, failed
			}
			c.sim.store.put(o)
			if id := c.form.text("payment_method"); id != "" {
				if failed := c.attach(id, o); failed != nil {
					return nil, failed
				}
			}
			c.emit("customer.created", o)
			return o, nil
		}},
		{route: "POST /v1/customers/{id}", accepts: accepts, serve: func(c *call) (object, *failure) {
			o, failed := c.liveCustomer(c.request.PathValue("id"), "id")
			if failed != nil {
				return nil, failed
			}
			changed := *o
			if failed := c.changeCustomer(&changed); failed != nil {
				return nil, failed
			}
			*o = changed
			c.emit("customer.updated", o)
			return o, nil
		}},
		{route: "DELETE /v1/customers/{id}", serve: func(c *call) (object, *failure) {
			o, failed := c.liveCustomer(c.request.PathValue("id"), "id")
			if failed != nil {
				return nil, failed
			}
			c.emit("customer.deleted", o)
			o.Deleted, o.Email, o.Name = true, nil, nil
			return o, nil
		}},
		getter[*customer]("/v1/customers", "customer"),
		lister("/v1/customers", "cus", func(c *call, o *customer) bool { return !o.Deleted && c.same("email", o.Email) }, "email"),
	}
}

// result is an object, or no object and a failure.
func result[T object](o T, failed *failure) (object, *failure) {
	if failed != nil {
		return nil, failed
	}
	return o, nil
}

func (s *Simulator) newCustomer(email string) *customer {
	return &customer{
		ID: s.newID("cus_", 14), Object: "customer", Created: s.o.Now().Unix(), Email: maybe(email), Metadata: map[string]string{},
		PreferredLocales: []string{}, TaxExempt: "none",
	}
}

// changeCustomer takes over what the parameters say.
func (c *call) changeCustomer(o *customer) *failure {
	f := c.form
	for name, field := range map[string]**string{"email": &o.Email, "name": &o.Name, "description": &o.Description, "phone": &o.Phone} {
		if f.has(name) {
			*field = maybe(f.text(name))
		}
	}
	if f.has("tax_exempt") {
		o.TaxExempt = f.oneOf("tax_exempt", "none", "exempt", "reverse")
	}
	if all := f.list("preferred_locales"); all != nil {
		o.PreferredLocales = all
	}
	o.Metadata = f.metadata("metadata", o.Metadata)
	const standard = "invoice_settings[default_payment_method]"
	if f.has(standard) {
		id := f.text(standard)
		method, ok := find[*paymentMethod](c.sim, id)
		if id != "" && (!ok || wordOf(method.Customer) != o.ID) {
			f.fail(invalid("resource_missing", standard, "The customer does not have a payment method with the ID %s. "+
				"The payment method must be attached to the customer.", id))
		}
		o.InvoiceSettings.DefaultPaymentMethod = maybe(id)
	}
	return f.failed
}

// liveCustomer is a customer who was not deleted.
func (c *call) liveCustomer(id, param string) (*customer, *failure) {
	o, ok := find[*customer](c.sim, id)
	if ok && !o.Deleted {
		return o, nil
	}
	failed := missing("customer", id, param)
	if param == "id" {
		failed.status = 404
	}
	return nil, failed
}
