package api

import (
	"net/http"
)

const paymentEventBytesMax = 64 << 10

// paymentRoutes are what the payment service calls. Its events bear a signature over their bytes instead of a key.
func paymentRoutes() []Route {
	return []Route{{
		Method: http.MethodPost, Path: "/webhooks/payments", Family: OpenAIFamily, Open: true, serve: (*API).receivePayment,
	}}
}

// receivePayment hands an event over as it came. Any error but a refusal makes the payment service send it again.
func (a *API) receivePayment(x *call) error {
	if a.o.Payments == nil || !a.o.Payments.Receives() {
		return notFound(x.Request().URL.Path)
	}
	b, err := a.readSmall(x, paymentEventBytesMax)
	if err != nil {
		return err
	}
	defer a.release(b)
	if err := a.o.Payments.Webhook(x.Request().Context(), b.Bytes(), x.Request().Header.Get("Stripe-Signature")); err != nil {
		return err
	}
	return x.NoContent(http.StatusOK)
}
