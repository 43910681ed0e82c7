package stripe

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"

	"umg/app"
)

// told is the body of an event about a session, with some members changed.
func told(id, session string, changes map[string]string) string {
	members := map[string]string{
		"id": `"` + id + `"`, "object": `"event"`, "type": `"checkout.session.completed"`, "livemode": "false", "api_version": `"2023-10-16"`,
		"data": fmt.Sprintf(`{"object":{"id":%q,"object":"checkout.session","payment_status":"paid"}}`, session),
	}
	maps.Copy(members, changes)
	var parts []string
	for name, value := range members {
		if value != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestAnEventThatIsNotSignedAsItMustBeIsRefused(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.checkout(account, 5000)
	h.pay(top.ID)
	now, body := h.clock.now(), told("evt_forged", h.session(top.ID), nil)
	good := func(body string) string { header, _ := h.signed(body); return header }
	by := func(secret string, at time.Time) string { header, _ := h.signedBy(secret, at, body); return header }
	mac := hex.EncodeToString(webhook.ComputeSignature(now, []byte(body), testSecret))
	stamp := fmt.Sprintf("t=%d", now.Unix())
	header := stamp + ",v1=" + mac
	if header != good(body) {
		t.Fatal("the test signs in another way than the payment service")
	}
	for name, forged := range map[string]struct{ body, signature string }{
		"no signature":            {body, ""},
		"garbled":                 {body, "%%%"},
		"a word":                  {body, "paid"},
		"no time":                 {body, "v1=" + mac},
		"empty time":              {body, "t=,v1=" + mac},
		"time is no number":       {body, "t=now,v1=" + mac},
		"time beyond numbers":     {body, "t=99999999999999999999,v1=" + mac},
		"negative time":           {body, "t=-1,v1=" + mac},
		"two times":               {body, "t=1," + header},
		"two times, good first":   {body, header + ",t=1"},
		"the same time twice":     {body, header + "," + stamp},
		"only a time":             {body, stamp},
		"empty mac":               {body, stamp + ",v1="},
		"mac is no hex":           {body, stamp + ",v1=" + strings.Repeat("z", 64)},
		"mac is cut":              {body, stamp + ",v1=" + mac[:62]},
		"mac of zeros":            {body, stamp + ",v1=" + strings.Repeat("0", 64)},
		"older scheme":            {body, stamp + ",v0=" + mac},
		"unknown scheme":          {body, stamp + ",v2=" + mac},
		"spaces":                  {body, stamp + ", v1=" + mac},
		"other secret":            {body, by("whsec_another_secret_of_32_chars__", now)},
		"empty secret":            {body, by("", now)},
		"secret with a space":     {body, by(testSecret+" ", now)},
		"the key as secret":       {body, by(testKey, now)},
		"six minutes old":         {body, by(testSecret, now.Add(-6*time.Minute))},
		"six minutes ahead":       {body, by(testSecret, now.Add(6*time.Minute))},
		"a year old":              {body, by(testSecret, now.AddDate(-1, 0, 0))},
		"time was changed":        {body, fmt.Sprintf("t=%d,v1=%s", now.Unix()+1, mac)},
		"body was changed":        {strings.Replace(body, "paid", "laid", 1), header},
		"body has a space more":   {body + " ", header},
		"body is cut":             {body[:len(body)-1], header},
		"body is empty":           {"", header},
		"signature of other body": {body, good(told("evt_other", "cs_other", nil))},
		"signed, no JSON":         {"paid", good("paid")},
		"signed, a list":          {"[" + body + "]", good("[" + body + "]")},
		"signed, too long":        {body + strings.Repeat(" ", EventBytesMax), good(body + strings.Repeat(" ", EventBytesMax))},
		"signed, no id":           {told("", h.session(top.ID), nil), good(told("", h.session(top.ID), nil))},
	} {
		h.kindOneOf(name, h.s.Webhook(t.Context(), []byte(forged.body), forged.signature), "invalid_signature", "invalid_event")
	}
	h.state(top.ID, Open)
	h.credit(account, 0, 0)
	if n := h.s.Stats().Events; n != 0 {
		t.Errorf("%d forgeries were taken for events", n)
	}
	h.must(h.s.Webhook(t.Context(), []byte(body), header)) // The genuine event must be accepted.
	h.credit(account, 5000, 0)
	h.must(h.s.Webhook(t.Context(), []byte(body), header))
	h.clock.add(toleranceMax + time.Second)
	h.kind(h.s.Webhook(t.Context(), []byte(body), header), app.Invalid, "invalid_signature")
	h.credit(account, 5000, 0)
}

func (h *shop) kindOneOf(name string, err error, codes ...string) {
	h.Helper()
	e := app.AsError(err)
	if e == nil || e.Kind != app.Invalid || !strings.Contains(strings.Join(codes, " "), e.Code) {
		h.Errorf("%s: %v", name, err)
	}
}

func TestEventsWithoutASecretAreNotTaken(t *testing.T) {
	t.Parallel()
	h := open(t)
	top := h.checkout(h.account(), 500)
	h.pay(top.ID)
	for _, secret := range []string{"", "short", strings.Repeat("x", secretBytesMin-1)} {
		s := h.service(func(o *Options) { o.WebhookSecret = secret })
		body := told("evt_1", h.session(top.ID), nil)
		header, _ := h.signedBy(secret, h.clock.now(), body)
		if s.Receives() {
			t.Errorf("a secret of %d characters is taken", len(secret))
		}
		h.kind(s.Webhook(t.Context(), []byte(body), header), app.NotFound, "not_found")
	}
	h.state(top.ID, Open)
}

// set changes a member of an object or of a nested object.
func set(path string, value any) func(map[string]any) {
	return func(thing map[string]any) {
		names := strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			inner, ok := thing[name].(map[string]any)
			if !ok {
				return
			}
			thing = inner
		}
		thing[names[len(names)-1]] = value
	}
}

// liesAbout are wrong responses that Stripe may give about a paid session of one account.
func liesAbout(victim, otherTopup string) map[string]lie {
	const session, intent = "/v1/checkout/sessions/", "/v1/payment_intents/"
	return map[string]lie{
		"session of the other mode":     {session, set("livemode", true)},
		"session in euro":               {session, set("currency", "eur")},
		"session without decimals":      {session, set("currency", "jpy")},
		"session of more":               {session, set("amount_subtotal", 500_000)},
		"session of less":               {session, set("amount_subtotal", 1)},
		"session of nothing":            {session, set("amount_subtotal", 0)},
		"session of less than nothing":  {session, set("amount_subtotal", -5000)},
		"huge session":                  {session, set("amount_subtotal", int64(1)<<62)},
		"discounted session":            {session, set("amount_total", 1)},
		"unpaid":                        {session, set("payment_status", "unpaid")},
		"nothing to pay":                {session, set("payment_status", "no_payment_required")},
		"unknown payment status":        {session, set("payment_status", "PAID")},
		"paid and open":                 {session, set("status", "open")},
		"paid and expired":              {session, set("status", "expired")},
		"for another top-up":            {session, set("client_reference_id", otherTopup)},
		"for no top-up":                 {session, set("client_reference_id", nil)},
		"metadata of another account":   {session, set("metadata.account_id", victim)},
		"metadata of another top-up":    {session, set("metadata.topup_id", otherTopup)},
		"no metadata":                   {session, set("metadata", map[string]any{})},
		"a subscription":                {session, set("mode", "subscription")},
		"only a card":                   {session, set("mode", "setup")},
		"no payment":                    {session, set("payment_intent", nil)},
		"another session":               {session, set("id", "cs_test_another")},
		"payment of the other mode":     {intent, set("livemode", true)},
		"payment in pounds":             {intent, set("currency", "gbp")},
		"payment of less":               {intent, set("amount", 4999)},
		"less received":                 {intent, set("amount_received", 4999)},
		"nothing received":              {intent, set("amount_received", 0)},
		"payment not captured":          {intent, set("status", "requires_capture")},
		"payment under way":             {intent, set("status", "processing")},
		"payment failed":                {intent, set("status", "requires_payment_method")},
		"payment of another account":    {intent, set("metadata.account_id", victim)},
		"payment of another top-up":     {intent, set("metadata.topup_id", otherTopup)},
		"payment of an automatic kind":  {intent, set("metadata.auto", "true")},
		"another payment":               {intent, set("id", "pi_another")},
		"no charge":                     {intent, set("latest_charge", nil)},
		"charge not shown":              {intent, set("latest_charge", "ch_hidden")},
		"charge not paid":               {intent, set("latest_charge.paid", false)},
		"charge of less":                {intent, set("latest_charge.amount", 1)},
		"charge in yen":                 {intent, set("latest_charge.currency", "jpy")},
		"refunded more than charged":    {intent, set("latest_charge.amount_refunded", 5001)},
		"refunded less than nothing":    {intent, set("latest_charge.amount_refunded", -1)},
		"not an answer about the thing": {session, func(thing map[string]any) { clear(thing) }},
	}
}

// TestWhatThePaymentServiceSaysMustBeWhatWasOrdered pays sessions, each of which then differs in one member from what was
// ordered.
func TestWhatThePaymentServiceSaysMustBeWhatWasOrdered(t *testing.T) {
	t.Parallel()
	h := open(t)
	victim := h.account()
	other := h.checkout(victim, 700)
	kinds := liesAbout(victim, other.ID)
	accounts := map[string]string{}
	for name, l := range kinds {
		account := h.account()
		accounts[name] = account
		top := h.checkout(account, 5000)
		h.pay(top.ID)
		h.lie.Store(&l)
		body := told("evt_"+top.ID, h.session(top.ID), nil)
		header, _ := h.signed(body)
		if err := h.s.Webhook(t.Context(), []byte(body), header); err != nil && app.KindOf(err) != app.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
		h.lie.Store(nil)
		if row := h.row(top.ID); row.CreditedCents != 0 {
			t.Errorf("%s: credited: %+v", name, row)
		}
		b, err := h.ledger.Balance(t.Context(), account)
		h.must(err)
		if b.Posted != 0 {
			t.Errorf("%s: $%s", name, b.Posted)
		}
	}
	h.credit(victim, 0, 0)
	h.clock.add(time.Hour)
	for range len(kinds)/sweepRowsMax + 1 {
		h.s.runOnce(t.Context()) // All of them were paid, and are credited once Stripe answers truthfully.
	}
	for name, account := range accounts {
		b, err := h.ledger.Balance(t.Context(), account)
		h.must(err)
		if b.Posted != nanos(5000) {
			t.Errorf("%s: $%s in the end", name, b.Posted)
		}
	}
	h.credit(victim, 0, 0)
}

func TestAWellSignedEventIsOnlyAHint(t *testing.T) {
	t.Parallel()
	h := open(t)
	account, thief := h.account(), h.account()
	unpaid, paid := h.checkout(thief, 5000), h.checkout(account, 5000)
	h.pay(paid.ID)
	mine, theirs := h.session(unpaid.ID), h.session(paid.ID)
	object := func(format string, args ...any) map[string]string {
		return map[string]string{"data": `{"object":` + fmt.Sprintf(format, args...) + `}`}
	}
	for name, body := range map[string]string{
		"says it is paid":               told("evt_a", mine, nil),
		"says it is more":               told("evt_b", mine, object(`{"id":%q,"object":"checkout.session","amount_subtotal":900000,"payment_status":"paid"}`, mine)),
		"late payment":                  told("evt_c", mine, map[string]string{"type": `"checkout.session.async_payment_succeeded"`}),
		"unknown session":               told("evt_d", "cs_test_unknown", nil),
		"path for an id":                told("evt_e", "../../refunds", nil),
		"no id":                         told("evt_f", "", nil),
		"unknown payment":               told("evt_g", "", object(`{"id":"pi_unknown","object":"payment_intent","status":"succeeded"}`)),
		"refund of nothing":             told("evt_h", "", object(`{"id":"re_1","object":"refund","payment_intent":null}`)),
		"dispute of an unknown payment": told("evt_i", "", object(`{"id":"dp_1","object":"dispute","payment_intent":"pi_unknown"}`)),
		"data is a list":                told("evt_j", "", object(`[]`)),
		"object is a number":            told("evt_k", "", object(`7`)),
		"live event":                    told("evt_l", theirs, map[string]string{"livemode": "true"}),
		"event of another seller":       told("evt_m", theirs, map[string]string{"account": `"acct_1"`}),
		"type that is not ours":         told("evt_n", theirs, map[string]string{"type": `"invoice.paid"`}),
		"theirs is for mine": told("evt_o", mine, object(`{"id":%q,"object":"checkout.session","client_reference_id":%q,"metadata":{"topup_id":%q,"account_id":%q}}`,
			mine, unpaid.ID, unpaid.ID, thief)),
	} {
		header, _ := h.signed(body)
		if err := h.s.Webhook(t.Context(), []byte(body), header); err != nil && app.KindOf(err) != app.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.credit(thief, 0, 0)
	h.credit(account, 0, 0)
	h.state(unpaid.ID, Open)
	h.lie.Store(&lie{"/v1/checkout/sessions/" + theirs, func(thing map[string]any) { // Another account paid for the session.
		set("client_reference_id", unpaid.ID)(thing)
		set("metadata", map[string]any{"topup_id": unpaid.ID, "account_id": thief})(thing)
	}})
	h.db.MustExec(`delete from topups where id = $1`, paid.ID) // This simulates a session that the gateway never ordered.
	header, body := h.signed(told("evt_p", theirs, nil))
	h.must(h.s.Webhook(t.Context(), body, header))
	h.credit(thief, 0, 0)
	if h.s.Stats().Mismatches == 0 {
		t.Error("the mismatch was not logged")
	}
}

func TestATopupThatTheStoreHasLostIsRestored(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.checkout(account, 5000)
	h.pay(top.ID)
	h.db.MustExec(`delete from topups`)
	h.deliver("newest")
	h.state(top.ID, Paid)
	h.credit(account, 5000, 0)
	gone := h.checkout(account, 5000)
	h.control(http.MethodPost, "sessions/"+h.session(gone.ID)+"/pay", "")
	h.lie.Store(&lie{"/v1/checkout/sessions/", set("metadata.account_id", "acc_unknown")})
	h.db.MustExec(`delete from topups where id = $1`, gone.ID)
	h.deliver("newest")
	h.credit(account, 5000, 0)
}
