package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	api "github.com/stripe/stripe-go/v76"
	portal "github.com/stripe/stripe-go/v76/billingportal/session"
	checkout "github.com/stripe/stripe-go/v76/checkout/session"
	"github.com/stripe/stripe-go/v76/customer"
	"github.com/stripe/stripe-go/v76/dispute"
	"github.com/stripe/stripe-go/v76/event"
	"github.com/stripe/stripe-go/v76/paymentintent"
	"github.com/stripe/stripe-go/v76/paymentmethod"
	"github.com/stripe/stripe-go/v76/refund"

	"umg/app"
)

// These limits apply to requests to Stripe.
const (
	callMax         = 10 * time.Second // One attempt takes at most this long.
	callsMax        = 25 * time.Second // One request takes at most this long, including its retries.
	retriesMax      = 2
	idleConnsMax    = 16
	disputesMax     = 100 // At most this many disputes of one payment are read.
	eventsPageMax   = 100
	idempotencyMax  = 20 * time.Hour // Stripe remembers an idempotency key for at least this long.
	resourceMissing = api.ErrorCodeResourceMissing
)

// errMissing means that Stripe does not know the object.
var errMissing = errors.New("stripe: the payment service does not know it")

// client sends requests to Stripe. It has no global state, so several clients can exist side by side.
type client struct {
	customers customer.Client
	checkouts checkout.Client
	intents   paymentintent.Client
	disputes  dispute.Client
	refunds   refund.Client
	portals   portal.Client
	events    event.Client
	methods   paymentmethod.Client
}

func newClient(key, base string) *client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConns: idleConnsMax, MaxIdleConnsPerHost: idleConnsMax, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: callMax, ResponseHeaderTimeout: callMax, ForceAttemptHTTP2: true,
	}
	config := &api.BackendConfig{
		EnableTelemetry: new(false), MaxNetworkRetries: api.Int64(retriesMax),
		LeveledLogger: &api.LeveledLogger{Level: api.LevelNull}, // The client returns errors and logs nothing itself.
		HTTPClient: &http.Client{Timeout: callMax, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // The key must not follow a redirect to another host.
		}},
	}
	if base != "" {
		config.URL = new(base)
	}
	b := api.GetBackendWithConfig(api.APIBackend, config)
	return &client{
		customers: customer.Client{B: b, Key: key}, checkouts: checkout.Client{B: b, Key: key}, intents: paymentintent.Client{B: b, Key: key},
		disputes: dispute.Client{B: b, Key: key}, refunds: refund.Client{B: b, Key: key}, portals: portal.Client{B: b, Key: key},
		events: event.Client{B: b, Key: key}, methods: paymentmethod.Client{B: b, Key: key},
	}
}

// requestError converts Stripe's error: an unknown object is errMissing, a rejected request keeps its error under the step's name,
// and a declined card stays as it is. Every other error means that Stripe is unavailable.
func requestError(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	wrapped := fmt.Errorf("stripe: %s: %w", doing, err)
	said, ok := errors.AsType[*api.Error](err)
	switch {
	case !ok:
		return unavailable(wrapped)
	case said.HTTPStatusCode == http.StatusNotFound || said.Code == resourceMissing:
		return fmt.Errorf("stripe: %s: %w: %w", doing, errMissing, err)
	case said.Type == api.ErrorTypeCard:
		return err
	case said.HTTPStatusCode == http.StatusBadRequest:
		return wrapped
	}
	return unavailable(wrapped)
}

func params(ctx context.Context, key string) api.Params {
	p := api.Params{Context: ctx}
	if key != "" {
		p.IdempotencyKey = new(key)
	}
	return p
}

func page(ctx context.Context, limit int64) api.ListParams {
	return api.ListParams{Context: ctx, Limit: new(limit), Single: true}
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, callsMax)
}

func (c *client) newCustomer(ctx context.Context, accountID, email string, round int) (string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	p := &api.CustomerParams{Params: params(ctx, fmt.Sprintf("customer:%s:%d", accountID, round)), Email: new(email)}
	p.AddMetadata(metaAccount, accountID)
	made, err := c.customers.New(p)
	if err != nil {
		return "", requestError(ctx, "make a customer", err)
	}
	return made.ID, nil
}

// newSession opens the hosted checkout of a top-up. Repeated requests for one top-up return the same session.
func (c *client) newSession(ctx context.Context, t topupRow, baseURL string) (*api.CheckoutSession, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	p := &api.CheckoutSessionParams{
		Params: params(ctx, t.ID+":"+t.CustomerID), Mode: api.String(string(api.CheckoutSessionModePayment)),
		Customer: new(t.CustomerID), ClientReferenceID: new(t.ID),
		SuccessURL: new(baseURL + "/console/billing/topups/" + t.ID),
		CancelURL:  new(baseURL + "/console/billing/topups/" + t.ID + "?cancelled=true"),
		LineItems: []*api.CheckoutSessionLineItemParams{{
			Quantity: api.Int64(1),
			PriceData: &api.CheckoutSessionLineItemPriceDataParams{
				Currency: api.String(string(api.CurrencyUSD)), UnitAmount: new(t.Cents),
				ProductData: &api.CheckoutSessionLineItemPriceDataProductDataParams{Name: new("Prepaid credit")},
			},
		}},
		PaymentIntentData: &api.CheckoutSessionPaymentIntentDataParams{
			SetupFutureUsage: api.String(string(api.PaymentIntentSetupFutureUsageOffSession)), Metadata: metadata(t),
		},
	}
	p.Metadata = metadata(t)
	made, err := c.checkouts.New(p)
	return made, requestError(ctx, "open a checkout", err)
}

// These are the metadata keys that link Stripe's objects to top-ups and accounts.
const (
	metaTopup   = "topup_id"
	metaAccount = "account_id"
	metaAuto    = "auto"
)

// metadata links a Stripe object to its top-up and account.
func metadata(t topupRow) map[string]string {
	m := map[string]string{metaTopup: t.ID, metaAccount: t.AccountID}
	if t.Auto {
		m[metaAuto] = "true"
	}
	return m
}

func (c *client) session(ctx context.Context, id string) (*api.CheckoutSession, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	got, err := c.checkouts.Get(id, &api.CheckoutSessionParams{Params: params(ctx, "")})
	if err = requestError(ctx, "read a session", err); err != nil {
		return nil, err
	}
	return got, checkID(got.ID, id)
}

// intent reads a payment with its charge.
func (c *client) intent(ctx context.Context, id string) (*api.PaymentIntent, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	p := &api.PaymentIntentParams{Params: params(ctx, "")}
	p.AddExpand("latest_charge")
	got, err := c.intents.Get(id, p)
	if err = requestError(ctx, "read a payment", err); err != nil {
		return nil, err
	}
	return got, checkID(got.ID, id)
}

// checkID rejects a response about another object than the requested one.
func checkID(got, wanted string) error {
	if got == wanted {
		return nil
	}
	return unavailable(fmt.Errorf("stripe: asked for %s, the payment service answered with %q", wanted, got))
}

// chargeCard charges a saved card while its owner is absent. A declined card is a card error.
func (c *client) chargeCard(ctx context.Context, t topupRow) (*api.PaymentIntent, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	p := &api.PaymentIntentParams{
		Params: params(ctx, t.ID+":"+t.CustomerID), Amount: new(t.Cents), Currency: api.String(string(api.CurrencyUSD)),
		Customer: new(t.CustomerID), PaymentMethod: new(t.PaymentMethod), PaymentMethodTypes: []*string{new("card")},
		Confirm: new(true), OffSession: new(true), Description: new("Prepaid credit"),
	}
	p.Metadata = metadata(t)
	made, err := c.intents.New(p)
	return made, requestError(ctx, "charge a card", err)
}

func (c *client) disputesOf(ctx context.Context, intentID string) (list []*api.Dispute, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	found := c.disputes.List(&api.DisputeListParams{ListParams: page(ctx, disputesMax), PaymentIntent: new(intentID)})
	for found.Next() {
		list = append(list, found.Dispute())
	}
	return list, requestError(ctx, "list disputes", found.Err())
}

// createRefund refunds a part of a payment to its card.
func (c *client) createRefund(ctx context.Context, id, intentID, topupID string, cents int64) (string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	p := &api.RefundParams{Params: params(ctx, id), PaymentIntent: new(intentID), Amount: new(cents)}
	p.Metadata = map[string]string{metaTopup: topupID, "refund_id": id}
	made, err := c.refunds.New(p)
	if err != nil {
		return "", requestError(ctx, "refund a payment", err)
	}
	return made.ID, nil
}

func (c *client) portal(ctx context.Context, customerID, returnURL string) (string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	made, err := c.portals.New(&api.BillingPortalSessionParams{
		Params: params(ctx, ""), Customer: new(customerID), ReturnURL: new(returnURL),
	})
	if err != nil {
		return "", requestError(ctx, "open the portal", err)
	}
	return made.URL, nil
}

// card returns the card that a customer added last, or an empty id when there is none.
func (c *client) card(ctx context.Context, customerID string) (string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	p := &api.PaymentMethodListParams{ListParams: page(ctx, 1), Customer: new(customerID), Type: new("card")}
	found, id := c.methods.List(p), ""
	for found.Next() {
		id = found.PaymentMethod().ID
	}
	return id, requestError(ctx, "list cards", found.Err())
}

// eventsSince returns a page of events, the newest first.
func (c *client) eventsSince(ctx context.Context, from, to time.Time, after string) (list []*api.Event, more bool, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	p := &api.EventListParams{
		ListParams:   page(ctx, eventsPageMax),
		CreatedRange: &api.RangeQueryParams{GreaterThanOrEqual: from.Unix(), LesserThan: to.Unix()},
	}
	for _, t := range eventTypes {
		p.Types = append(p.Types, new(t))
	}
	if after != "" {
		p.StartingAfter = new(after)
	}
	found := c.events.List(p)
	for found.Next() {
		list = append(list, found.Event())
	}
	return list, found.Err() == nil && found.Meta() != nil && found.Meta().HasMore, requestError(ctx, "list events", found.Err())
}

// apiError returns the error that Stripe returned, or nil when err is something else.
func apiError(err error) *api.Error {
	said, _ := errors.AsType[*api.Error](err)
	return said
}

// refusal returns why a card was declined, or nil when err is something else.
func refusal(err error) *api.Error {
	if said := apiError(err); said != nil && said.Type == api.ErrorTypeCard {
		return said
	}
	return nil
}

// shorten shortens a text from outside for a row and a page.
func shorten(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.ToValidUTF8(text[:min(len(text), textBytesMax)], "")
}

// isUnavailable reports whether a later request may succeed.
func isUnavailable(err error) bool { return err != nil && app.KindOf(err) == app.Unavailable }
