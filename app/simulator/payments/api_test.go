package payments

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76"
)

func TestParametersAreJudgedStrictly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const line = "&line_items[0][quantity]=1&line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=500" +
		"&line_items[0][price_data][product_data][name]=x"
	for name, c := range map[string]struct{ path, form, code, param string }{
		"an unknown one":                   {"customers", "e_mail=a", "parameter_unknown", "e_mail"},
		"an unknown one below":             {"checkout/sessions", "mode=payment&success_url=http://a.b" + line + "&line_items[0][colour]=x", "parameter_unknown", "line_items[0][colour]"},
		"a missing one":                    {"payment_intents", "amount=100", "parameter_missing", "currency"},
		"an empty one":                     {"payment_intents", "amount=100&currency=", "parameter_invalid_empty", "currency"},
		"no number":                        {"payment_intents", "amount=ten&currency=usd", "parameter_invalid_integer", "amount"},
		"too little":                       {"payment_intents", "amount=49&currency=usd", "amount_too_small", "amount"},
		"too much":                         {"payment_intents", "amount=100000000&currency=usd", "amount_too_large", "amount"},
		"no boolean":                       {"payment_intents", "amount=100&currency=usd&confirm=yes", "", "confirm"},
		"confirmation only":                {"payment_intents", "amount=100&currency=usd&off_session=true", "", "off_session"},
		"unknown customer":                 {"payment_intents", "amount=100&currency=usd&customer=cus_x", "resource_missing", "customer"},
		"no card":                          {"payment_intents", "amount=100&currency=usd&payment_method=pm_x", "resource_missing", "payment_method"},
		"another mode":                     {"checkout/sessions", "mode=subscription&success_url=http://a.b" + line, "", "mode"},
		"no success address":               {"checkout/sessions", "mode=payment" + line, "parameter_missing", "success_url"},
		"no address":                       {"checkout/sessions", "mode=payment&success_url=/done" + line, "url_invalid", "success_url"},
		"nothing to pay for":               {"checkout/sessions", "mode=payment&success_url=http://a.b", "parameter_missing", "line_items"},
		"an end too soon":                  {"checkout/sessions", "mode=payment&success_url=http://a.b&expires_at=1" + line, "", "expires_at"},
		"both kinds of payers":             {"checkout/sessions", "mode=payment&success_url=http://a.b&customer=c&customer_email=e" + line, "", ""},
		"a refund of nothing":              {"refunds", "amount=5", "", ""},
		"a refund without one":             {"refunds", "charge=ch_x", "resource_missing", "charge"},
		"a portal for an unknown customer": {"billing_portal/sessions", "customer=cus_x", "resource_missing", "customer"},
		"metadata without end":             {"customers", "metadata[a]=" + strings.Repeat("x", 501), "", "metadata[a]"},
		"expanding what is not":            {"customers", "expand[]=colour", "", "expand"},
	} {
		res, tree := b.raw(http.MethodPost, "/v1/"+c.path, c.form, nil)
		e, _ := tree["error"].(map[string]any)
		code, _ := e["code"].(string)
		param, _ := e["param"].(string)
		if res.StatusCode != 400 || e["type"] != "invalid_request_error" || code != c.code || param != c.param || e["message"] == "" {
			t.Errorf("%s: %d %v", name, res.StatusCode, tree)
		}
	}
	for path, status := range map[string]int{"/v1/customers/cus_x": 404, "/v1/nothing": 404, "/v1/charges?limit=0": 400, "/v1/charges?created[ge]=1": 400,
		"/v1/charges?starting_after=ch_x": 400, "/v1/events?type=a&types[]=b": 400} {
		if res, tree := b.raw(http.MethodGet, path, "", nil); res.StatusCode != status || tree["error"] == nil {
			t.Errorf("%s: %d %v", path, res.StatusCode, tree)
		}
	}
	if _, err := b.client("sk_test_other").Customers.New(nil); b.failed(err).HTTPStatusCode != 401 {
		t.Errorf("a wrong key: %v", err)
	}
	if res, _ := b.raw(http.MethodPost, "/v1/customers", `{"email":"a"}`, map[string]string{"Content-Type": "application/json"}); res.StatusCode != 400 {
		t.Errorf("JSON: %d", res.StatusCode)
	}
}

func TestAnIdempotencyKeyHasOneOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	with := func(key string) stripe.Params { return stripe.Params{IdempotencyKey: new(key)} }
	first, err := b.api.Customers.New(&stripe.CustomerParams{Params: with("k1"), Email: new("a@b.c")})
	b.must(err)
	again, err := b.api.Customers.New(&stripe.CustomerParams{Params: with("k1"), Email: new("a@b.c")})
	b.must(err)
	if first.ID != again.ID || again.LastResponse.Header.Get("Idempotent-Replayed") != "true" || first.LastResponse.Header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("%s and %s", first.ID, again.ID)
	}
	_, err = b.api.Customers.New(&stripe.CustomerParams{Params: with("k1"), Email: new("other@b.c")})
	if e := b.failed(err); e.Type != stripe.ErrorTypeIdempotency || e.HTTPStatusCode != 400 {
		t.Fatalf("another body: %v", e)
	}
	pay := &stripe.PaymentIntentParams{Params: with("k2"), Amount: new(int64(500)), Currency: new("usd"), Confirm: new(true),
		PaymentMethod: new("pm_card_chargeDeclined")}
	_, err = b.api.PaymentIntents.New(pay)
	one := b.failed(err)
	_, err = b.api.PaymentIntents.New(pay)
	if two := b.failed(err); one.ChargeID == "" || one.ChargeID != two.ChargeID || two.HTTPStatusCode != 402 {
		t.Fatalf("a declined card, twice: %v and %v", one, two)
	}
	_, err = b.api.Customers.New(&stripe.CustomerParams{Params: with("k3"), Name: new("x"), PaymentMethod: new("pm_none")})
	b.failed(err)
	_, err = b.api.Customers.New(&stripe.CustomerParams{Params: with("k3"), Name: new("x")})
	b.must(err) // A request that was refused before it began does not bind its key.
	b.advance(24 * time.Hour)
	later, err := b.api.Customers.New(&stripe.CustomerParams{Params: with("k1"), Email: new("other@b.c")})
	b.must(err)
	if later.ID == first.ID {
		t.Fatal("a key is remembered for longer than a day")
	}
}

func TestListsHavePagesAndFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []string
	for range 5 {
		who, err := b.api.Customers.New(&stripe.CustomerParams{Email: new("a@b.c")})
		b.must(err)
		ids = append([]string{who.ID}, ids...)
		b.advance(time.Second)
	}
	all := b.api.Customers.List(&stripe.CustomerListParams{ListParams: stripe.ListParams{Limit: new(int64(2))}})
	var got []string
	for all.Next() {
		got = append(got, all.Customer().ID)
	}
	b.must(all.Err())
	if strings.Join(got, " ") != strings.Join(ids, " ") {
		t.Errorf("all, two a page: %v, want %v", got, ids)
	}
	back := b.api.Customers.List(&stripe.CustomerListParams{ListParams: stripe.ListParams{Limit: new(int64(2)), EndingBefore: &ids[3], Single: true}})
	got = nil
	for back.Next() {
		got = append(got, back.Customer().ID)
	}
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(ids[1:3])); !slices.Equal(got, want) {
		t.Errorf("the page before: %v of %v", got, ids)
	}
	middle, err := b.api.Customers.Get(ids[2], nil)
	b.must(err)
	since := b.api.Customers.List(&stripe.CustomerListParams{CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: middle.Created}})
	got = nil
	for since.Next() {
		got = append(got, since.Customer().ID)
	}
	if strings.Join(got, " ") != strings.Join(ids[:3], " ") {
		t.Errorf("since the third: %v of %v", got, ids)
	}
	events := b.api.Events.List(&stripe.EventListParams{Types: stripe.StringSlice([]string{"customer.*"}), ListParams: stripe.ListParams{Limit: new(int64(100))}})
	n := 0
	for events.Next() {
		n++
	}
	if n != 5 {
		t.Errorf("%d events of customers", n)
	}
}

func TestTheOldestObjectsAreForgotten(t *testing.T) {
	t.Parallel()
	s := store{all: map[string]object{}, kinds: map[string][]string{}}
	for i := range objectsMax + 10 {
		s.put(&customer{ID: "cus_" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)})
	}
	if len(s.all) != objectsMax || len(s.kinds["cus"]) != objectsMax || s.get("cus_a") != nil {
		t.Fatalf("%d objects, %d in the list", len(s.all), len(s.kinds["cus"]))
	}
}

func TestTroubleStrikesTheCallsThatItIsMeantFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.control(http.MethodPut, "faults", `{"mode":"error","times":2,"status":503,"method":"POST","path":"/v1/customers"}`, nil)
	if _, err := b.api.Events.Get("evt_x", nil); b.failed(err).HTTPStatusCode != 404 {
		t.Errorf("a call that is not meant: %v", err)
	}
	for range 2 {
		if _, err := b.api.Customers.New(nil); b.failed(err).HTTPStatusCode != 503 {
			t.Errorf("a call that is meant: %v", err)
		}
	}
	if _, err := b.api.Customers.New(nil); err != nil {
		t.Errorf("the third call: %v", err)
	}
	b.control(http.MethodPut, "faults", `{"mode":"lost","path":"/v1/customers"}`, nil)
	lost := &stripe.CustomerParams{Params: stripe.Params{IdempotencyKey: new("lost")}, Email: new("lost@b.c")}
	if _, err := b.api.Customers.New(lost); err == nil {
		t.Error("a lost answer came")
	}
	who, err := b.api.Customers.New(lost)
	b.must(err)
	if who.LastResponse.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("the call whose answer was lost was not made")
	}
	b.control(http.MethodPut, "faults", `{"mode":"stall"}`, nil)
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.api.Customers.New(&stripe.CustomerParams{Params: stripe.Params{Context: soon}}); err == nil {
		t.Error("a call that stalls was answered")
	}
	if status := b.tryControl(http.MethodPut, "faults", `{"mode":"odd"}`, nil); status != 400 {
		t.Errorf("an unknown mode: %d", status)
	}
}

func TestNothingIsControlledWithoutTheOption(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Control = false })
	if status := b.tryControl(http.MethodGet, "webhooks", "", nil); status != 404 {
		t.Errorf("a control route: %d", status)
	}
}
