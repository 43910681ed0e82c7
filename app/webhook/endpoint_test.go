package webhook

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
)

func TestAnEndpointShowsItsSecretOnceAndKeepsItSealed(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	e, secret := b.endpoint(r)
	if !strings.HasPrefix(secret, "whsec_") || len(secret) != len("whsec_")+44 || !strings.HasPrefix(e.ID, "whe_") || e.Status != Enabled {
		t.Errorf("%q of %+v", secret, e)
	}
	hint := strings.TrimRight(secret, "=")
	if !strings.HasSuffix(e.SecretHint, hint[len(hint)-4:]) || strings.Contains(e.SecretHint, secret[6:20]) {
		t.Errorf("hint %q of %q", e.SecretHint, secret)
	}
	var box []byte
	must(t, b.db.GetContext(t.Context(), &box, `select secret from webhook_endpoints where id = $1`, e.ID))
	raw, err := b.openSecret(e.ID, box)
	must(t, err)
	if shownSecret(raw) != secret || bytes.Contains(box, raw) {
		t.Error("the stored secret is not the sealed one")
	}
	if _, err := b.openSecret("whe_other", box); err == nil {
		t.Error("the secret opens for another endpoint")
	}
	b.options.Key[5]++
	if _, err := b.replica().openSecret(e.ID, box); err == nil {
		t.Error("the secret opens with another key")
	}
	for _, cut := range [][]byte{nil, box[:5], append([]byte{box[0] + 1}, box[1:]...), append(bytes.Clone(box), 0)} {
		if _, err := b.openSecret(e.ID, cut); err == nil {
			t.Errorf("%d bytes open", len(cut))
		}
	}
}

func TestEachWrongFieldOfAnEndpointIsNamed(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	good := EndpointSpec{Name: "n", URL: r.URL, EventTypes: Types()}
	for want, list := range map[string][]func(*EndpointSpec){
		"name": {
			func(s *EndpointSpec) { s.Name = "" }, func(s *EndpointSpec) { s.Name = strings.Repeat("ä", 81) },
			func(s *EndpointSpec) { s.Name = "a\x00" }, func(s *EndpointSpec) { s.Name = "\xff" }, func(s *EndpointSpec) { s.Name = "  " },
		},
		"event_types": {
			func(s *EndpointSpec) { s.EventTypes = nil }, func(s *EndpointSpec) { s.EventTypes = []string{"batch.completed"} },
			func(s *EndpointSpec) { s.EventTypes = []string{VideoFailed, VideoFailed} },
		},
		"url": {
			func(s *EndpointSpec) { s.URL = "" }, func(s *EndpointSpec) { s.URL = "http://example.com/" },
			func(s *EndpointSpec) { s.URL = "https://127.0.0.1/" }, func(s *EndpointSpec) { s.URL = "https://nowhere.example/" },
		},
	} {
		for i, change := range list {
			spec := good
			change(&spec)
			_, _, err := b.Create(t.Context(), b.account, spec)
			if e := app.AsError(err); e == nil || e.Kind != app.Invalid || e.Param != want {
				t.Errorf("%s %d: %v", want, i, err)
			}
		}
	}
	good.Name = strings.Repeat("ä", 80)
	_, _, err := b.Create(t.Context(), b.account, good)
	must(t, err)
}

func TestTwentyEndpointsAreTheLimitEvenInARace(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	var wg sync.WaitGroup
	refused := make(chan error, 30)
	for range 30 {
		wg.Go(func() {
			if _, _, err := b.Create(t.Context(), b.account, EndpointSpec{Name: "n", URL: r.URL, EventTypes: Types()}); err != nil {
				refused <- err
			}
		})
	}
	wg.Wait()
	close(refused)
	n := 0
	for err := range refused {
		n++
		if app.AsError(err).Code != "webhook_endpoints_exhausted" {
			t.Error(err)
		}
	}
	if n != 10 {
		t.Errorf("%d refused", n)
	}
	page, err := b.List(t.Context(), b.account, "", 100)
	must(t, err)
	must(t, b.Delete(t.Context(), b.account, page.Endpoints[0].ID))
	b.endpoint(r)
}

func TestEndpointsAreListedNewestFirstInPages(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	var want []string
	for range 5 {
		b.clock.Advance(time.Second)
		e, _ := b.endpoint(r)
		want = append([]string{e.ID}, want...)
	}
	var got []string
	after := ""
	for more := true; more; {
		page, err := b.List(t.Context(), b.account, after, 2)
		must(t, err)
		for _, e := range page.Endpoints {
			got, after = append(got, e.ID), e.ID
		}
		more = page.More
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := b.List(t.Context(), b.account, "whe_' or 1=1", 0); app.AsError(err).Param != "after" {
		t.Error(err)
	}
}

func TestAnotherAccountNeverFindsAnEndpointOrADelivery(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	e, _ := b.endpoint(r)
	b.emit(b.account)
	b.deliver(1)
	d := b.only()
	other := b.newAccount()
	name := "stolen"
	deleted, _ := b.endpoint(r)
	must(t, b.Delete(t.Context(), b.account, deleted.ID))
	for _, who := range []struct {
		p  app.Principal
		id string
	}{{other, e.ID}, {b.account, "whe_" + strings.Repeat("0", 26)}, {b.account, "x\x00"}, {b.account, deleted.ID}} {
		calls := map[string]func() error{
			"get":     func() error { _, err := b.Get(t.Context(), who.p, who.id); return err },
			"update":  func() error { _, err := b.Update(t.Context(), who.p, who.id, EndpointChange{Name: &name}); return err },
			"delete":  func() error { return b.Delete(t.Context(), who.p, who.id) },
			"rotate":  func() error { _, _, err := b.Rotate(t.Context(), who.p, who.id, true); return err },
			"test":    func() error { _, err := b.Test(t.Context(), who.p, who.id, VideoFailed); return err },
			"recover": func() error { _, err := b.Recover(t.Context(), who.p, who.id, b.clock.Now()); return err },
			"enable":  func() error { _, err := b.Enable(t.Context(), who.p, who.id); return err },
		}
		for what, do := range calls {
			if got := app.AsError(do()); got == nil || got.Kind != app.NotFound || got.Message != app.AsError(errNoEndpoint()).Message {
				t.Errorf("%s %q: %v", what, who.id, got)
			}
		}
	}
	for _, id := range []string{d.ID, "whd_" + strings.Repeat("0", 26), "\x00"} {
		_, errRead := b.Delivery(t.Context(), other, id)
		_, errSend := b.Resend(t.Context(), other, id)
		if app.AsError(errRead).Code != "webhook_delivery_not_found" || app.AsError(errSend).Code != "webhook_delivery_not_found" {
			t.Errorf("%q: %v, %v", id, errRead, errSend)
		}
	}
	page, err := b.Deliveries(t.Context(), other, DeliveryQuery{EndpointID: e.ID})
	if err != nil || len(page.Deliveries) != 0 {
		t.Errorf("%v, %v", page, err)
	}
	if len(r.got()) != 1 || b.get(e.ID).Name != "test" {
		t.Error("the call of another account had an effect")
	}
}

func TestOnlyARealChangeMovesTheTimeOfAnEndpoint(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	e, _ := b.endpoint(r)
	b.clock.Advance(time.Hour)
	same, name, types := e.Name, "other", []string{VideoFailed}
	got, err := b.Update(t.Context(), b.account, e.ID, EndpointChange{Name: &same, URL: &e.URL, EventTypes: &e.EventTypes})
	if err != nil || !got.UpdatedAt.Equal(e.UpdatedAt) {
		t.Errorf("%v, %v", got, err)
	}
	got, err = b.Update(t.Context(), b.account, e.ID, EndpointChange{Name: &name, EventTypes: &types})
	if err != nil || got.Name != name || !slices.Equal(got.EventTypes, types) || got.URL != e.URL || got.UpdatedAt.Equal(e.UpdatedAt) {
		t.Errorf("%v, %v", got, err)
	}
	b.emit(b.account) // The endpoint no longer wants completed videos.
	b.deliver(0)
	got, err = b.Disable(t.Context(), b.account, e.ID)
	if err != nil || got.Status != Disabled || got.DisabledReason != ByUser || got.DisabledAt == nil {
		t.Errorf("%v, %v", got, err)
	}
	got, err = b.Enable(t.Context(), b.account, e.ID)
	if err != nil || got.Status != Enabled || got.DisabledReason != "" || got.DisabledAt != nil {
		t.Errorf("%v, %v", got, err)
	}
	wrong := Status("paused")
	if _, err = b.Update(t.Context(), b.account, e.ID, EndpointChange{Status: &wrong}); app.AsError(err).Param != "status" {
		t.Error(err)
	}
}

func TestBothSecretsSignForADayAfterARotation(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	e, old := b.endpoint(r)
	check := func(step string, valid []string, invalid ...string) {
		t.Helper()
		b.emit(b.account)
		b.deliver(1)
		calls := r.got()
		last := calls[len(calls)-1]
		for _, secret := range valid {
			if err := verify(secret, last, b.clock.Now()); err != nil {
				t.Errorf("%s: %v", step, err)
			}
		}
		for _, secret := range invalid {
			if verify(secret, last, b.clock.Now()) == nil {
				t.Errorf("%s: an old secret is still signed with", step)
			}
		}
		if n := len(strings.Fields(last.header.Get("webhook-signature"))); n != len(valid) {
			t.Errorf("%s: %d signatures", step, n)
		}
		newest := call{last.header.Clone(), last.body}
		newest.header.Set("webhook-signature", strings.Fields(last.header.Get("webhook-signature"))[0])
		if err := verify(valid[0], newest, b.clock.Now()); err != nil {
			t.Errorf("%s: the newest signature is not the first: %v", step, err)
		}
	}
	check("before", []string{old})
	rotated, second, err := b.Rotate(t.Context(), b.account, e.ID, true)
	must(t, err)
	if rotated.PreviousUntil == nil || !rotated.PreviousUntil.Equal(b.clock.Now().Add(24*time.Hour)) || second == old {
		t.Errorf("%+v", rotated)
	}
	check("kept", []string{second, old})
	b.clock.Advance(24 * time.Hour)
	check("a day later", []string{second}, old)
	if b.get(e.ID).PreviousUntil != nil {
		t.Error("the old secret is still shown as valid")
	}
	_, third, err := b.Rotate(t.Context(), b.account, e.ID, false)
	must(t, err)
	check("not kept", []string{third}, second, old)
	must(t, b.Delete(t.Context(), b.account, e.ID))
	if n := b.number(`select octet_length(secret) + coalesce(octet_length(previous_secret), 0) from webhook_endpoints where id = $1`, e.ID); n != 0 {
		t.Error("a deleted endpoint keeps its secrets")
	}
}

func TestAReceiverRefusesWhatWasTamperedWithOrReplayed(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	_, secret := b.endpoint(r)
	_, foreign := b.endpoint(r)
	id := b.emit(b.account)
	b.deliver(2)
	var got call
	for _, c := range r.got() {
		if verify(secret, c, b.clock.Now()) == nil {
			got = c
		}
	}
	want := fmt.Sprintf(`{"id":%q,"object":"event","created_at":%d,"type":"video.completed","data":{"id":%q}}`,
		got.header.Get("webhook-id"), b.clock.Now().Unix(), id)
	if string(got.body) != want || got.header.Get("Content-Type") != "application/json" || !strings.HasPrefix(got.header.Get("webhook-id"), "evt_") {
		t.Errorf("%s %v, want %s", got.body, got.header, want)
	}
	for what, change := range map[string]func(*call){
		"body": func(c *call) { c.body = append(bytes.Clone(c.body), ' ') }, "id": func(c *call) { c.header.Set("webhook-id", "evt_2") },
		"time":      func(c *call) { c.header.Set("webhook-timestamp", fmt.Sprint(b.clock.Now().Unix()+1)) },
		"signature": func(c *call) { c.header.Set("webhook-signature", "v1,AAAA") },
	} {
		c := call{got.header.Clone(), got.body}
		if change(&c); verify(secret, c, b.clock.Now()) == nil {
			t.Errorf("a changed %s passes", what)
		}
	}
	if verify(foreign, got, b.clock.Now()) == nil || verify(secret, got, b.clock.Now().Add(6*time.Minute)) == nil {
		t.Error("another secret, or an old message, passes")
	}
}
