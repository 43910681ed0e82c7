package api_test

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/audit"
	"umg/app/idempotency"
	"umg/app/simulator/payments"
)

// shop is a house that sells credit, over a stand-in for the payment service.
type shop struct {
	*house
	sim  string
	auth []string // Auth has the headers of a management key.
}

func sells(t *testing.T) *shop {
	t.Helper()
	sim := payments.New(payments.Options{Now: time.Now, Random: rand.Reader, Key: "sk_test_key", Control: true})
	service := httptest.NewServer(sim)
	t.Cleanup(func() { service.Close(); sim.Close() })
	h := setup(t, func(p *plan) {
		p.api.Payments = seller(t, p.db, service.URL, paymentSecret)
		p.api.Idempotency = idempotency.New(p.db, idempotency.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		p.api.IDs = app.IDs{Now: time.Now, Random: rand.Reader}
		p.api.Audit = audit.New(p.db, time.Now, p.api.IDs)
	})
	return &shop{house: h, sim: service.URL, auth: h.managing()}
}

// managing bears a management key of the house's account.
func (h *house) managing() []string {
	h.t.Helper()
	_, secret := h.key(apikey.Spec{Scopes: []app.Scope{app.ScopeManagement}})
	return bearer(secret)
}

// stranger bears a management key of another account.
func (h *house) stranger() []string {
	h.t.Helper()
	u, err := h.accounts.SignUp(h.t.Context(), account.SignUp{Email: "stranger@example.com", Password: "a long enough passphrase", IP: "192.0.2.2"})
	must(h.t, err)
	_, secret, err := h.apiKeys.Create(h.t.Context(), u.Principal(), apikey.Spec{Name: "theirs", Scopes: []app.Scope{app.ScopeManagement}})
	must(h.t, err)
	return bearer(secret)
}

type topUp struct {
	ID, Object, Amount, Currency, Status string
	Automatic                            bool
	URL                                  *string
	ReceiptURL                           *string `json:"receipt_url"`
	Refunded                             string
	CreatedAt                            int64  `json:"created_at"`
	PaidAt                               *int64 `json:"paid_at"`
}

func (s *shop) buy(body string, headers ...string) reply {
	s.t.Helper()
	return s.call(http.MethodPost, "/v1/top_ups", body, append(headers, s.auth...)...)
}

// pay pays at the stand-in, as a person with a card would, and lets the gateway ask about it at once.
func (s *shop) pay(made topUp) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.sim+"/_control/sessions/"+path.Base(*made.URL)+"/pay", nil)
	must(s.t, err)
	resp, err := client.Do(req)
	must(s.t, err)
	_ = resp.Body.Close()
	if resp.StatusCode >= 300 {
		s.t.Fatalf("pay: %d", resp.StatusCode)
	}
	s.db.MustExec(`update topups set asked_at = asked_at - interval '1 minute'`)
}

func (s *shop) read(path string) reply { return s.call(http.MethodGet, path, "", s.auth...) }

func (s *shop) post(path, body string) reply {
	return s.call(http.MethodPost, path, body, s.auth...)
}

func (s *shop) count(query string) (n int) {
	s.t.Helper()
	must(s.t, s.db.GetContext(s.t.Context(), &n, query))
	return n
}

func TestCreditIsBoughtByAPI(t *testing.T) {
	t.Parallel()
	s := sells(t)
	made := decode[topUp](t, s.buy(`{"amount":"12.50"}`), http.StatusOK)
	if !strings.HasPrefix(made.ID, "top_") || made.Object != "top_up" || made.Amount != "12.5" || made.Currency != "usd" || made.Status != "open" ||
		made.URL == nil || !strings.HasPrefix(*made.URL, s.sim) || made.PaidAt != nil || made.Refunded != "0" || made.CreatedAt == 0 || made.Automatic {
		t.Fatalf("%+v", made)
	}
	s.pay(made)
	paid := decode[topUp](t, s.read("/v1/top_ups/"+made.ID), http.StatusOK)
	if paid.Status != "paid" || paid.PaidAt == nil || paid.URL != nil || paid.ReceiptURL == nil {
		t.Errorf("%+v", paid)
	}
	if n := s.count(`select posted_nanos from credit_accounts where kind = 'customer'`); n != int(17*app.Dollar+50*app.Cent) {
		t.Errorf("%d nano-dollars", n)
	}
	var email string
	must(t, s.db.GetContext(t.Context(), &email, `select customer_email from payment_accounts`))
	if email != "owner@example.com" {
		t.Errorf("the receipt goes to %q", email)
	}
	second := decode[topUp](t, s.buy(`{"amount":"5"}`), http.StatusOK)
	type list struct {
		Object  string
		Data    []topUp
		HasMore bool    `json:"has_more"`
		LastID  *string `json:"last_id"`
	}
	page := decode[list](t, s.read("/v1/top_ups?limit=1"), http.StatusOK)
	if page.Object != "list" || len(page.Data) != 1 || page.Data[0].ID != second.ID || !page.HasMore {
		t.Errorf("%+v", page)
	}
	page = decode[list](t, s.read("/v1/top_ups?limit=1&after="+*page.LastID), http.StatusOK)
	if len(page.Data) != 1 || page.Data[0].ID != made.ID || page.HasMore {
		t.Errorf("%+v", page)
	}
	if page = decode[list](t, s.read("/v1/top_ups?after="+made.ID), http.StatusOK); page.Data == nil || len(page.Data) != 0 {
		t.Errorf("%+v", page)
	}
}

func TestATopUpThatIsAskedForTwiceIsOne(t *testing.T) {
	t.Parallel()
	s := sells(t)
	replies := make([]reply, 4)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() { replies[i] = s.buy(`{"amount":"5"}`, "Idempotency-Key", "one") })
	}
	all.Wait()
	for _, r := range replies {
		if r.status != http.StatusOK && r.status != http.StatusConflict {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	first := s.buy(`{"amount":"5.00"}`, "Idempotency-Key", "one")
	if first.status != http.StatusOK || first.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %v %s", first.status, first.header, first.body)
	}
	if r := s.buy(`{"amount":"6"}`, "Idempotency-Key", "one"); r.status != http.StatusUnprocessableEntity {
		t.Errorf("another amount: %d %s", r.status, r.body)
	}
	if n := s.count(`select count(*) from topups`); n != 1 {
		t.Errorf("%d top-ups", n)
	}
	decode[topUp](t, s.buy(`{"amount":"5"}`), http.StatusOK)
	decode[topUp](t, s.buy(`{"amount":"5"}`), http.StatusOK)
	if n := s.count(`select count(*) from topups`); n != 3 {
		t.Errorf("%d top-ups", n)
	}
	if n := s.count(`select count(*) from audit_entries where action = 'billing.topup_started' and actor = 'key' and ip <> ''`); n != 3 {
		t.Errorf("%d entries in the audit log", n)
	}
	r := s.buy(`{"amount":"25"}`, "X-Dry-Run", "1")
	if r.status != http.StatusOK || r.body != `{"object":"top_up.quote","amount":"25","currency":"usd"}` || s.count(`select count(*) from topups`) != 3 {
		t.Errorf("a dry run: %d %s", r.status, r.body)
	}
}

// TestATopUpIsTriedAgainWithItsKey repeats, with the same key, a purchase that failed while Stripe was unavailable. It is made once.
func TestATopUpIsTriedAgainWithItsKey(t *testing.T) {
	t.Parallel()
	s := sells(t)
	fault := func(body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.sim+"/_control/faults", strings.NewReader(body))
		must(t, err)
		resp, err := client.Do(req)
		must(t, err)
		_ = resp.Body.Close()
	}
	fault(`{"mode":"error","status":503,"times":3,"method":"POST","path":"/v1/checkout/sessions"}`)
	r := s.buy(`{"amount":"5"}`, "Idempotency-Key", "again")
	if r.status != http.StatusServiceUnavailable || r.header.Get("X-Error-Code") != "payments_unavailable" || r.header.Get("Retry-After") == "" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	decode[topUp](t, s.buy(`{"amount":"5"}`, "Idempotency-Key", "again"), http.StatusOK)
	if n := s.count(`select count(*) from topups`); n != 1 {
		t.Errorf("%d top-ups", n)
	}
}

func TestWhatIsWrongAboutMoneyIsNamed(t *testing.T) {
	t.Parallel()
	s := sells(t)
	for _, c := range []struct {
		path, body, code, param string
		status                  int
	}{
		{"/v1/top_ups", ``, "missing_required_parameter", "amount", 400},
		{"/v1/top_ups", `{}`, "missing_required_parameter", "amount", 400},
		{"/v1/top_ups", `{"amount":null}`, "missing_required_parameter", "amount", 400},
		{"/v1/top_ups", `{"amount":25}`, "invalid_value", "amount", 400},
		{"/v1/top_ups", `{"amount":"4.99"}`, "invalid_value", "amount", 400},
		{"/v1/top_ups", `{"amount":"10000.01"}`, "invalid_value", "amount", 400},
		{"/v1/top_ups", `{"amount":"5.001"}`, "invalid_value", "amount", 400},
		{"/v1/top_ups", `{"amount":"1e2"}`, "invalid_value", "amount", 400},
		{"/v1/top_ups", `{"amount":"-5"}`, "invalid_value", "amount", 400},
		{"/v1/top_ups", `{"amount":"5","curency":"eur"}`, "unknown_parameter", "curency", 400},
		{"/v1/top_ups", `[]`, "invalid_json", "", 400},
		{"/v1/auto_top_up", `{"enabled":"yes"}`, "invalid_value", "enabled", 400},
		{"/v1/auto_top_up", `{"enabled":true}`, "missing_required_parameter", "threshold", 400},
		{"/v1/auto_top_up", `{"enabled":true,"threshold":"10","amount":"20"}`, "missing_required_parameter", "monthly_cap", 400},
		{"/v1/auto_top_up", `{"enabled":true,"threshold":"0","amount":"20","monthly_cap":"50"}`, "invalid_value", "threshold", 400},
		{"/v1/auto_top_up", `{"enabled":true,"threshold":"10","amount":"20","monthly_cap":"19"}`, "invalid_amount", "monthly_cap", 400},
		{"/v1/auto_top_up", `{"enabled":false,"threshold":"10"}`, "invalid_value", "threshold", 400},
		{"/v1/auto_top_up", `{"enabled":true,"threshold":"10","amount":"20","monthly_cap":"50"}`, "no_saved_card", "", 409},
		{"/v1/low_balance_alert", `{}`, "missing_required_parameter", "threshold", 400},
		{"/v1/low_balance_alert", `{"threshold":"10000.01"}`, "invalid_value", "threshold", 400},
		{"/v1/low_balance_alert", `{"threshold":5}`, "invalid_value", "threshold", 400},
		{"/v1/billing_portal", `{"return_url":"https://evil.example"}`, "unknown_parameter", "return_url", 400},
		{"/v1/billing_portal", ``, "no_payment_details", "", 404},
	} {
		r := s.post(c.path, c.body)
		if r.status != c.status || r.header.Get("X-Error-Code") != c.code || r.param(t) != c.param {
			t.Errorf("%s %s: %d %s %s", c.path, c.body, r.status, r.header.Get("X-Error-Code"), r.body)
		}
	}
	for _, bad := range []string{"?limit=0", "?limit=101", "?after=top%00", "?after=%27"} {
		if r := s.read("/v1/top_ups" + bad); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, r.status, r.body)
		}
	}
	if n := s.count(`select count(*) from topups`); n != 0 {
		t.Errorf("%d top-ups", n)
	}
}

func TestMoneyIsLookedAfterByAPI(t *testing.T) {
	t.Parallel()
	s := sells(t)
	const untouched = `{"object":"auto_top_up","enabled":false,"threshold":null,"amount":null,"monthly_cap":null,"has_card":false,"failures":0,"disabled_reason":null}`
	if r := s.read("/v1/auto_top_up"); r.body != untouched {
		t.Errorf("%d %s", r.status, r.body)
	}
	made := decode[topUp](t, s.buy(`{"amount":"50"}`), http.StatusOK)
	s.pay(made)
	decode[topUp](t, s.read("/v1/top_ups/"+made.ID), http.StatusOK)
	for _, c := range []struct{ path, body, want string }{
		{"/v1/auto_top_up", `{"enabled":true,"threshold":"10","amount":"20.00","monthly_cap":"200"}`,
			`{"object":"auto_top_up","enabled":true,"threshold":"10","amount":"20","monthly_cap":"200","has_card":true,"failures":0,"disabled_reason":null}`},
		{"/v1/auto_top_up", `{"amount":"30.25"}`,
			`{"object":"auto_top_up","enabled":true,"threshold":"10","amount":"30.25","monthly_cap":"200","has_card":true,"failures":0,"disabled_reason":null}`},
		{"/v1/auto_top_up", `{"enabled":false}`,
			`{"object":"auto_top_up","enabled":false,"threshold":"10","amount":"30.25","monthly_cap":"200","has_card":true,"failures":0,"disabled_reason":null}`},
		{"/v1/auto_top_up", `{"enabled":true}`,
			`{"object":"auto_top_up","enabled":true,"threshold":"10","amount":"30.25","monthly_cap":"200","has_card":true,"failures":0,"disabled_reason":null}`},
		{"/v1/low_balance_alert", `{"threshold":"7.5"}`, `{"object":"low_balance_alert","enabled":true,"threshold":"7.5"}`},
		{"/v1/low_balance_alert", `{"threshold":"0"}`, `{"object":"low_balance_alert","enabled":false,"threshold":"0"}`},
	} {
		if r := s.post(c.path, c.body); r.status != http.StatusOK || r.body != c.want {
			t.Errorf("%s %s: %d %s", c.path, c.body, r.status, r.body)
		}
		if r := s.read(c.path); r.body != c.want {
			t.Errorf("%s afterwards: %d %s", c.path, r.status, r.body)
		}
	}
	if r := s.post("/v1/billing_portal", ""); r.status != http.StatusOK || !strings.Contains(r.body, `"url":"`+s.sim) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := s.post("/v1/billing_portal", "{}"); r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestMoneyOfAnotherAccountIsUnknown(t *testing.T) {
	t.Parallel()
	s := sells(t)
	theirs := s.stranger()
	other := decode[topUp](t, s.call(http.MethodPost, "/v1/top_ups", `{"amount":"5"}`, append([]string{"Idempotency-Key", "k"}, theirs...)...), 200)
	made := decode[topUp](t, s.buy(`{"amount":"5"}`, "Idempotency-Key", "k"), http.StatusOK)
	if other.ID == made.ID {
		t.Error("one top-up for two accounts")
	}
	same := func(r reply) string { return strings.ReplaceAll(r.body, r.header.Get("X-Request-Id"), "") }
	foreign := s.call(http.MethodGet, "/v1/top_ups/"+made.ID, "", theirs...)
	for _, id := range []string{"top_01kb4a6zt4h2s8j5y7r3w9mvaq", "none", "%00", "..%2f", strings.Repeat("a", 300)} {
		if r := s.call(http.MethodGet, "/v1/top_ups/"+id, "", theirs...); r.status != http.StatusNotFound || same(r) != same(foreign) {
			t.Errorf("%q is answered %d %s, a foreign one %d %s", id, r.status, r.body, foreign.status, foreign.body)
		}
	}
	if r := s.call(http.MethodGet, "/v1/top_ups?after="+made.ID, "", theirs...); r.status != 200 || !strings.Contains(r.body, `"data":[]`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	usual := bearer(s.secret()) // A key for calls may not buy credit.
	for _, route := range []string{"GET /v1/top_ups", "POST /v1/top_ups", "GET /v1/top_ups/" + made.ID, "GET /v1/auto_top_up", "POST /v1/auto_top_up",
		"GET /v1/low_balance_alert", "POST /v1/low_balance_alert", "POST /v1/billing_portal", "GET /v1/audit_log"} {
		method, path, _ := strings.Cut(route, " ")
		if r := s.call(method, path, "", usual...); r.status != http.StatusForbidden || r.header.Get("X-Error-Code") != "insufficient_scope" {
			t.Errorf("%s: %d %s", route, r.status, r.body)
		}
		if r := s.call(method, path, ""); r.status != http.StatusUnauthorized {
			t.Errorf("%s without a key: %d %s", route, r.status, r.body)
		}
	}
}

func TestWhereNothingIsSoldTheRoutesSaySo(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*house{
		"none": setup(t),
		"no key": setup(t, func(p *plan) {
			s, err := newSeller(t, p.db, "", "", "")
			must(t, err)
			p.api.Payments = s
		}),
	} {
		auth := h.managing()
		for _, path := range []string{"/v1/top_ups", "/v1/auto_top_up", "/v1/low_balance_alert", "/v1/billing_portal"} {
			r := h.call(http.MethodPost, path, `{"amount":"5"}`, auth...)
			if r.status != http.StatusNotFound || r.header.Get("X-Error-Code") != "payments_disabled" || !strings.Contains(r.body, "operator") {
				t.Errorf("%s: %s: %d %s", name, path, r.status, r.body)
			}
		}
	}
}

func TestAFrozenAccountBuysNothingByAPI(t *testing.T) {
	t.Parallel()
	s := sells(t)
	s.db.MustExec(`update accounts set frozen_at = now(), frozen_reason = 'a test'`)
	if r := s.buy(`{"amount":"5"}`); r.status != http.StatusForbidden || r.header.Get("X-Error-Code") != "account_frozen" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := s.read("/v1/top_ups"); r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestTheAuditLogIsReadByAPI(t *testing.T) {
	t.Parallel()
	s := sells(t)
	type entry struct {
		ID, Object, Action, Text string
		CreatedAt                int64 `json:"created_at"`
		Actor                    struct {
			Type     string
			ID, Name *string
		}
		TargetID  *string `json:"target_id"`
		Changes   []audit.Change
		IP        *string
		UserAgent *string `json:"user_agent"`
		RequestID *string `json:"request_id"`
	}
	type list struct {
		Object  string
		Data    []entry
		HasMore bool    `json:"has_more"`
		LastID  *string `json:"last_id"`
	}
	get := func(query string) list {
		t.Helper()
		return decode[list](t, s.read("/v1/audit_log"+query), http.StatusOK)
	}
	decode[map[string]any](t, s.post("/v1/low_balance_alert", `{"threshold":"7"}`), http.StatusOK)
	made := decode[topUp](t, s.buy(`{"amount":"5"}`, "User-Agent", "a-script/1"), http.StatusOK)
	page := get("?action=billing.")
	if page.Object != "list" || len(page.Data) != 2 || page.HasMore {
		t.Fatalf("%+v", page)
	}
	e := page.Data[0]
	if e.Object != "audit_log.entry" || e.Action != "billing.topup_started" || e.Text != "started a top-up" || *e.TargetID != made.ID || e.Actor.Type != "key" ||
		!strings.HasPrefix(*e.Actor.ID, "key_") || *e.Actor.Name != "test" || *e.IP != "127.0.0.1" || *e.UserAgent != "a-script/1" || e.RequestID == nil ||
		e.CreatedAt < time.Now().Add(-time.Minute).Unix() || fmt.Sprint(e.Changes) != "[{amount  $5}]" {
		t.Errorf("%+v", e)
	}
	for query, want := range map[string]int{
		"?action=billing.topup_started": 1, "?action=webhook.": 0, "?actor=" + *e.Actor.ID + "&action=billing.": 2, "?actor=unknown": 0,
		"?object=" + made.ID: 1, "?from=2020-01-01&to=2021-01-01": 0, "?from=2020-01-01&action=billing.": 2, "?limit=1": 1,
		"?after=" + page.Data[1].ID + "&action=billing.": 0, "?object=%00": 0,
	} {
		if got := get(query); len(got.Data) != want || got.Data == nil {
			t.Errorf("%s: %d entries, want %d", query, len(got.Data), want)
		}
	}
	if first := get("?limit=1&action=billing."); !first.HasMore || get("?action=billing.&after=" + *first.LastID).Data[0].ID != page.Data[1].ID {
		t.Errorf("%+v", first)
	}
	for query, param := range map[string]string{
		"?limit=101": "limit", "?limit=x": "limit", "?after=1": "after", "?action=key": "action", "?from=yesterday": "from", "?to=2021-13-01": "to",
		"?from=2021-01-02&to=2021-01-01": "to", "?acton=key.": "acton", "?actor=a&actor=b": "actor", "?object=" + strings.Repeat("x", 201): "object",
	} {
		if r := s.read("/v1/audit_log" + query); r.status != http.StatusBadRequest || r.param(t) != param {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
	theirs := s.stranger()
	for _, query := range []string{"?action=billing.", "?object=" + made.ID, "?after=" + e.ID + "&action=billing."} {
		if r := s.call(http.MethodGet, "/v1/audit_log"+query, "", theirs...); r.status != http.StatusOK || !strings.Contains(r.body, `"data":[]`) {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
	if r := setup(t).call(http.MethodGet, "/v1/audit_log", ""); r.status != http.StatusUnauthorized {
		t.Errorf("%d %s", r.status, r.body)
	}
}
