package payments

import (
	"fmt"
	"net/http"
)

// failure is an error as the payment service words it.
type failure struct {
	status int
	final  bool // A final failure is the outcome of an attempt, and its idempotency key repeats it.

	Type          string         `json:"type"`
	Code          string         `json:"code,omitempty"`
	DeclineCode   string         `json:"decline_code,omitempty"`
	DocURL        string         `json:"doc_url,omitempty"`
	Message       string         `json:"message"`
	Param         string         `json:"param,omitempty"`
	Charge        string         `json:"charge,omitempty"`
	PaymentIntent any            `json:"payment_intent,omitempty"`
	PaymentMethod *paymentMethod `json:"payment_method,omitempty"`
}

func (f *failure) body() []byte {
	return encode(map[string]any{"error": f})
}

func (f *failure) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = w.Write(f.body())
}

func invalid(code, param, format string, args ...any) *failure {
	return &failure{
		status: http.StatusBadRequest, Type: "invalid_request_error", Code: code, Param: param, Message: fmt.Sprintf(format, args...),
	}
}

// missing says that an id in a parameter names nothing.
func missing(noun, id, param string) *failure {
	return invalid("resource_missing", param, "No such %s: '%s'", noun, id)
}

// decline is how a card is refused: what the caller reads, by the word that a control route takes.
type decline struct{ code, declineCode, message string }

// declines are the ways a saved card can fail. A card with any other word is good.
func declines() map[string]decline {
	return map[string]decline{
		"card_declined":      {"card_declined", "generic_decline", "Your card was declined."},
		"insufficient_funds": {"card_declined", "insufficient_funds", "Your card has insufficient funds."},
		"expired_card":       {"expired_card", "expired_card", "Your card has expired."},
		"lost_card":          {"card_declined", "lost_card", "Your card was declined."},
		"processing_error": {"processing_error", "processing_error",
			"An error occurred while processing your card. Try again in a little bit."},
		"authentication_required": {"authentication_required", "authentication_required",
			"Your card was declined. This transaction requires authentication."},
	}
}
