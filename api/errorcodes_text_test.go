package api_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/admission"
	"umg/app/apikey"
)

var (
	textPaths = []string{"/v1/chat/completions", "/v1/messages", "/v1/responses", "/vendorc/native"}
	// otherPaths are those whose code for a wrong field is invalid_request_error.
	otherPaths = []string{"/v1/chat/completions", "/v1/messages", "/vendorc/native"}
)

// on is a request that does not differ by route.
func on(key, method, path, body string, headers ...string) func(*errorWorld, string) reply {
	return func(w *errorWorld, _ string) reply { return w.send(key, method, path, body, headers...) }
}

// calls is a text call of a model, in the style of the route.
func calls(key, model, more string, headers ...string) func(*errorWorld, string) reply {
	return func(w *errorWorld, path string) reply {
		return w.send(key, http.MethodPost, path, text(path, model, "echo: hello", more), headers...)
	}
}

// posts is the same body on whatever route.
func posts(key, body string, headers ...string) func(*errorWorld, string) reply {
	return func(w *errorWorld, path string) reply { return w.send(key, http.MethodPost, path, body, headers...) }
}

// world is a server that differs from the usual one, or in which something has happened.
func world(change func(*plan), happens func(*errorWorld)) func(*testing.T) *errorWorld {
	return func(t *testing.T) *errorWorld {
		t.Helper()
		var changes []func(*plan)
		if change != nil {
			changes = append(changes, change)
		}
		w := newErrorWorld(t, changes...)
		if happens != nil {
			happens(w)
		}
		return w
	}
}

// textErrors are about the request of a text call.
var textErrors = []errorRow{
	{code: "invalid_request_error", paths: otherPaths, ask: posts("caller", `{"model":7}`), param: "model",
		says: []string{"model must be a non-empty string", "GET /v1/models"}},
	{code: "missing_required_parameter", paths: []string{"/v1/responses"}, ask: posts("caller", `{"input":"x"}`), param: "model",
		says: []string{"model is required", "GET /v1/models"}},
	{code: "invalid_value", paths: []string{"/v1/responses"}, ask: calls("caller", "test/plain", `,"temperature":9`), param: "temperature",
		says: []string{"temperature must be a number from 0 to 2, not 9."}},
	{code: "unsupported_parameter", paths: []string{"/v1/messages"}, ask: posts("caller", `{"model":"test/plain","max_tokens":9,"messages":[`+
		`{"role":"user","content":[{"type":"txt","text":"x"}]}]}`), param: "messages[0].content[0].type",
		says: []string{`"txt"`, "use text, image, document"}},
	{code: "unsupported_parameter", paths: []string{"/v1/responses"}, ask: posts("caller", `{"model":"test/plain","input":[{"type":"txt"}]}`),
		param: "input[0].type", says: []string{`"txt"`, "use message"}},
	{code: "invalid_json", paths: textPaths, ask: posts("caller", `{"model":"test/plain",`), says: []string{"The body is not valid JSON", "byte"}},
	{code: "request_too_large", paths: textPaths, ask: func(w *errorWorld, path string) reply {
		c := w.dial(w.t.(*testing.T))
		c.announce(path, w.secrets["caller"], declaredBytes+1, "X-Error-Status", "standard")
		return c.answer()
	}, says: []string{"larger than 33554432 bytes", "send a smaller one"}},
	{code: "unsupported_media_type", paths: textPaths, ask: calls("caller", "test/plain", "", "Content-Type", "text/plain"),
		says: []string{`"text/plain"`, "application/json"}},
	{code: "method_not_allowed", paths: textPaths, ask: func(w *errorWorld, path string) reply { return w.send("caller", http.MethodDelete, path, "") },
		says: []string{"POST", `"DELETE"`}},
	{code: "thread_unsupported_request", paths: []string{"/v1/messages"}, ask: calls("caller", "test/plain", `,"thread":{"type":"new"}`), param: "thread",
		says: []string{"nothing is kept between requests", "send the whole conversation"}},
	{code: "context_length_exceeded", paths: textPaths, ask: calls("caller", "test/short", ""),
		says: []string{"The upstream provider refused the request", "8192 tokens"}},
	{code: "model_not_found", paths: textPaths, ask: calls("caller", "test/plian", ""), param: "model",
		says: []string{`"test/plian"`, "Did you mean test/plain?", "GET /v1/models"}},
	{code: "model_not_found", paths: textPaths, ask: calls("caller", "test/coming", ""), param: "model", says: []string{"test/coming is not available yet", "GET /v1/models"}},
	{code: "model_not_found", paths: textPaths, ask: calls("caller", "test/gone", ""), param: "model", says: []string{"test/gone was shut down on 1 June 2021", "test/plain"}},
	{code: "model_not_found", paths: textPaths, ask: calls("caller", "test/film", ""), param: "model", says: []string{"test/film makes videos", "POST /v1/videos"}},
	{code: "model_not_found", paths: textPaths[1:], ask: calls("caller", "test/chatonly", ""), param: "model", says: []string{"test/chatonly is not served on this route", "chat"}},
	{code: "model_temporarily_unavailable", paths: textPaths, ask: calls("caller", "test/paused", ""), param: "model",
		says: []string{"test/paused", "The weights are being replaced.", "choose another model"}},
	{code: "no_available_provider", paths: textPaths, ask: calls("caller", "test/nowhere", ""), says: []string{"test/nowhere", "Try again"}},
	{code: "upstream_error", paths: textPaths, ask: calls("caller", "test/failing", ""), says: []string{"failed to answer", "try again"}},
	{code: "upstream_timeout", paths: textPaths, ask: calls("caller", "test/late", ""), says: []string{"did not answer in time", "try again"}},
	{code: "client_closed_request", paths: textPaths, ask: halfClosed, says: []string{"The client closed the connection"}},
	{code: "invalid_image", paths: []string{"/v1/chat/completions"}, ask: func(w *errorWorld, path string) reply {
		return w.send("caller", http.MethodPost, path, `{"model":"test/seeing","messages":[{"role":"user","content":[{"type":"text","text":"x"},`+
			`{"type":"image_url","image_url":{"url":"`+w.upstream+`/no/such/picture.png"}}]}]}`)
	}, param: "messages[0].content[1].image_url", says: []string{"/no/such/picture.png", "404", "PNG, JPEG, GIF or WebP"}},
	{code: "invalid_image", paths: []string{"/v1/responses"}, ask: func(w *errorWorld, path string) reply {
		return w.send("caller", http.MethodPost, path, `{"model":"test/seeing","input":[{"role":"user","content":[`+
			`{"type":"input_image","image_url":"`+w.upstream+`/no/such/picture.png"}]}]}`)
	}, param: "input[0].content[0].image_url", says: []string{"/no/such/picture.png", "404", "PNG, JPEG, GIF or WebP"}},
}

// keyErrors are about the key of a request.
var keyErrors = []errorRow{
	{code: "invalid_api_key", paths: textPaths, ask: calls("none", "test/plain", ""),
		says: []string{"The request bears no key.", "Send Authorization: Bearer YOUR_API_KEY", "the variable that holds it is not set"}},
	{code: "key_disabled", paths: textPaths, ask: calls("off", "test/plain", ""), says: []string{"is disabled", "Enable it in the console"}},
	{code: "key_expired", paths: textPaths, ask: calls("old", "test/plain", ""), says: []string{"expired on 20", " UTC", "Create a new one in the console"}},
	{code: "key_rotated", paths: textPaths, ask: calls("rotated", "test/plain", ""), says: []string{"its old secret ended on 20", " UTC", "Use the new one"}},
	{code: "insufficient_scope", paths: textPaths, ask: calls("models", "test/plain", ""),
		says: []string{"inference:text", `"test"`, "models:read", "Change the key in the console"}},
	{code: "address_not_allowed", paths: textPaths, ask: calls("abroad", "test/plain", ""), says: []string{`"test"`, "127.0.0.1", "Add the address"}},
	{code: "model_not_allowed", paths: textPaths, ask: calls("narrow", "test/plain", ""), param: "model", says: []string{"test/plain", "GET /v1/models"}},
	{code: "key_not_allowed", ask: on("narrow", "GET", "/v1/usage?key_id={key:caller}", ""), param: "key_id", says: []string{"Leave key_id out"}},
	{code: "account_frozen", paths: textPaths, ask: calls("caller", "test/plain", ""), says: []string{"This account is frozen", "support"},
		world: world(nil, func(w *errorWorld) { must(w.t, w.ledger().Freeze(w.t.Context(), w.db, w.owner.AccountID, "a dispute")) })},
	{code: "key_leaked", ask: func(w *errorWorld, _ string) reply {
		w.send("none", "POST", leaksPath, leakOf(w.secrets["leaked"]))
		return w.send("manager", "POST", "/v1/keys/{key:leaked}/enable", "")
	}, says: []string{"found in public", "Rotate the key first"}},
}

// moneyErrors are about what a call may cost, and about buying credit.
var moneyErrors = []errorRow{
	{code: "insufficient_quota", paths: textPaths, ask: calls("caller", "test/dear", ""), says: []string{"This call needs $", "$4.", "/console/billing"}},
	{code: "budget_exceeded", paths: textPaths, ask: calls("budget", "test/costly", ""),
		says: []string{"This call needs $", "$0.01", "/console/keys", "on 20", " UTC"}},
	{code: "spend_limit_exceeded", paths: textPaths, ask: calls("caller", "test/costly", ""),
		says: []string{"This call needs $", "$0.01", "a day", "on 20", " UTC", "/console/billing"},
		world: world(nil, func(w *errorWorld) {
			decode[struct{}](w.t, w.send("manager", "POST", "/v1/spend_limit", `{"limit":"0.01","period":"day"}`), http.StatusOK)
		})},
	{code: "payments_disabled", ask: on("manager", "POST", "/v1/top_ups", `{"amount":"5"}`), says: []string{"Ask its operator"},
		world: world(func(p *plan) { p.api.Payments = nil }, nil)},
	{code: "payments_unavailable", ask: on("manager", "POST", "/v1/top_ups", `{"amount":"5"}`), says: []string{"payment service", "try again in a minute"},
		world: world(nil, func(w *errorWorld) { w.payments.Close() })},
	{code: "no_saved_card", ask: on("manager", "POST", "/v1/auto_top_up", `{"enabled":true,"threshold":"10","amount":"20","monthly_cap":"50"}`),
		says: []string{"no saved card", "Buy credit once"}},
	{code: "invalid_amount", ask: on("manager", "POST", "/v1/auto_top_up", `{"enabled":true,"threshold":"10","amount":"20","monthly_cap":"19"}`),
		param: "monthly_cap", says: []string{"monthly_cap must be", "$20", "$19"}},
	{code: "no_payment_details", ask: on("manager", "POST", "/v1/billing_portal", ``), says: []string{"Buy credit first"}},
	{code: "too_many_open_topups", ask: func(w *errorWorld, _ string) (a reply) {
		for range 50 {
			if a = w.send("manager", "POST", "/v1/top_ups", `{"amount":"5"}`); a.status != http.StatusOK {
				break
			}
		}
		return a
	}, says: []string{"10 top-ups", "Pay one of them", "24 hours"}},
	{code: "topup_not_found", ask: on("manager", "GET", "/v1/top_ups/top_nothing", ""), says: []string{"of this id in the account", "GET /v1/top_ups"}},
	{code: "invalid_signature", ask: on("none", "POST", leaksPath, leakOf("sk-umg-x"), "Github-Public-Key-Identifier", "two", "Github-Public-Key-Signature", "AA=="),
		says: []string{"Nothing was done"}},
	{code: "invalid_event", ask: on("none", "POST", paymentPath, "paid", "Stripe-Signature", signedEvent("paid")), says: []string{"The body is not an event"}},
}

// limitErrors are about how much may be done at once, in a minute or in a day.
var limitErrors = []errorRow{
	{code: "rate_limit_exceeded", paths: textPaths, ask: func(w *errorWorld, path string) reply {
		calls("caller", "test/rare", "")(w, path)
		return calls("caller", "test/rare", "")(w, path)
	}, says: []string{"The 1 request per minute for test/rare is used up", "Try again in"}},
	{code: "max_concurrency_exceeded", paths: textPaths, ask: func(w *errorWorld, path string) reply {
		return w.whileOneRuns("single", func() reply { return calls("single", "test/plain", "")(w, path) })
	}, says: []string{"this API key may run 1 at a time", "raise the key's limit"}},
	{code: "body_bytes_exceeded", paths: textPaths, ask: func(w *errorWorld, path string) (a reply) {
		for range 3 {
			c := w.dial(w.t.(*testing.T))
			c.announce(path, w.secrets["caller"], declaredBytes, "X-Error-Status", "standard")
			if a = c.answer(); a.status != http.StatusContinue {
				return a
			}
		}
		return a
	}, says: []string{"64 MiB", "Nothing was charged", "try again when one has ended"}, world: world(nil, nil)},
	{code: "overloaded", paths: textPaths, ask: calls("caller", "test/plain", ""), says: []string{"Nothing was charged", "try again in a second or two"},
		world: fullWorld},
	{code: "too_many_attempts", ask: func(w *errorWorld, _ string) (a reply) {
		for range 5 {
			a = w.send("none", "POST", leaksPath, leakOf(make([]string, 20)...))
		}
		return a
	}, says: []string{"Wait", "second"}, world: world(nil, nil)},
	{code: "service_unavailable", paths: textPaths, ask: calls("caller", "test/plain", ""), says: []string{"Nothing was charged", "try again in a few seconds"},
		world: storelessWorld},
	{code: "internal_error", paths: textPaths, ask: calls("caller", "test/plain", ""), says: []string{"on our side", "Try again", "x-request-id"},
		world: world(nil, func(w *errorWorld) { must(w.t, w.db.Close()) })},
}

// storelessWorld has a store that refuses connections when a key is looked up.
func storelessWorld(t *testing.T) *errorWorld {
	t.Helper()
	away, err := sqlx.Open("postgres", "host=127.0.0.1 port=1 user=x sslmode=disable connect_timeout=1")
	must(t, err)
	t.Cleanup(func() { _ = away.Close() })
	return newErrorWorld(t, func(p *plan) {
		p.keys = apikey.NewCache(away, apikey.CacheOptions{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	})
}

// halfClosed closes the sending half of its connection while the call runs, and reads on.
func halfClosed(w *errorWorld, path string) reply {
	c := w.dial(w.t.(*testing.T))
	body := text(path, "test/held", "echo: x", "")
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nX-Error-Status: standard\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, w.secrets["caller"], len(body), body)
	must(w.t, err)
	w.waiting("1")
	must(w.t, c.Conn.(*net.TCPConn).CloseWrite())
	a := c.answer()
	w.release()
	return a
}

// fullWorld has no place for a call.
func fullWorld(t *testing.T) *errorWorld {
	t.Helper()
	gate := admission.New(admission.Options{InFlightMax: 2})
	w := newErrorWorld(t, func(p *plan) { p.api.Gate = gate })
	for range 2 {
		_, err := gate.Enter(true)
		must(t, err)
	}
	return w
}

// repeatErrors are about requests that are sent again under their key.
var repeatErrors = []errorRow{
	{code: "idempotency_error", paths: textPaths, ask: func(w *errorWorld, path string) reply {
		key := []string{"Idempotency-Key", "other body " + strings.ReplaceAll(path, "/", "-")}
		calls("caller", "test/plain", "", key...)(w, path)
		return calls("caller", "test/other", "", key...)(w, path)
	}, param: "Idempotency-Key", says: []string{"another body in the last 24 hours", "Use a new key"}},
	{code: "idempotency_in_progress", paths: textPaths, ask: func(w *errorWorld, path string) reply {
		key, first := []string{"Idempotency-Key", "running " + strings.ReplaceAll(path, "/", "-")}, make(chan reply, 1)
		go func() { first <- calls("caller", "test/held", "", key...)(w, path) }()
		w.waiting("1")
		a := calls("caller", "test/held", "", key...)(w, path)
		w.release()
		if r := <-first; r.status != http.StatusOK {
			w.t.Errorf("the first request: %d %s", r.status, r.body)
		}
		return a
	}, param: "Idempotency-Key", says: []string{"still running", "try again in"}},
	{code: "idempotent_stream_completed", paths: textPaths[:3], ask: func(w *errorWorld, path string) reply {
		key := []string{"Idempotency-Key", "stream " + strings.ReplaceAll(path, "/", "-")}
		calls("caller", "test/plain", `,"stream":true`, key...)(w, path)
		return calls("caller", "test/plain", `,"stream":true`, key...)(w, path)
	}, param: "Idempotency-Key", says: []string{"GET /v1/generation?id=", "Use a new key"}},
	{code: "invalid_value", ask: on("caller", "POST", "/v1/videos", `{"model":"test/film","prompt":"x"}`, "Idempotency-Key", "ü"), param: "Idempotency-Key",
		says: []string{"1 to 255 printable ASCII characters"}},
}
