package api

import (
	"net/http"
)

const paymentEventBytesMax = 64 << 10

// paymentRoutes are called by the payment service, which signs its events in place of sending a key.
func paymentRoutes() []Route {
	receives := func(o *Options) bool { return o.Payments != nil && o.Payments.Receives() }
	r := group{0, receives}.post("/webhooks/payments", (*API).receivePayment)
	r.Open = true
	return []Route{r}
}

// receivePayment hands an event over as it came. Any error but a refusal makes the payment service send it again.
func (a *API) receivePayment(x *call) error {
	b, err := a.readSmall(x, paymentEventBytesMax)
	if err != nil {
		return err
	}
	defer b.Release()
	if err := a.o.Payments.Webhook(x.Request().Context(), b.Bytes(), x.Request().Header.Get("Stripe-Signature")); err != nil {
		return err
	}
	return x.NoContent(http.StatusOK)
}
