package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
)

func TestADeliveryIsSentAgainUnderItsOldID(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	status.Store(500)
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) })
	b := setup(t, []*receiver{r})
	e, _ := b.endpoint(r)
	b.emit(b.account)
	b.deliver(1)
	d := b.only()
	for range 2 { // A second request does not send the event twice.
		got, err := b.Resend(t.Context(), b.account, d.ID)
		if err != nil || got.State != Pending || !got.NextAt.Equal(b.clock.Now()) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	status.Store(200)
	b.deliver(1)
	if d = b.only(); d.State != Delivered || d.Attempts != 2 || d.Log[0].Number != 2 || d.Log[0].Status != 200 || d.Log[1].Status != 500 {
		t.Errorf("%+v", d)
	}
	_, err := b.Resend(t.Context(), b.account, d.ID) // A delivered event can be sent again.
	must(t, err)
	b.deliver(1)
	for _, c := range r.got() {
		if c.header.Get("webhook-id") != d.EventID {
			t.Error("another webhook-id")
		}
	}
	b.exec(`update webhook_deliveries set attempts = 100`)
	if _, err := b.Resend(t.Context(), b.account, d.ID); app.AsError(err).Code != "webhook_attempts_exhausted" {
		t.Error(err)
	}
	_, err = b.Disable(t.Context(), b.account, e.ID)
	must(t, err)
	if _, err := b.Resend(t.Context(), b.account, d.ID); app.AsError(err).Code != "webhook_endpoint_disabled" {
		t.Error(err)
	}
}

func TestAResendDoesNotWaitForAPause(t *testing.T) {
	t.Parallel()
	r := answering(t, http.StatusTooManyRequests, "Retry-After", "3600")
	b := setup(t, []*receiver{r})
	b.endpoint(r)
	b.emit(b.account)
	b.deliver(1)
	_, err := b.Resend(t.Context(), b.account, b.only().ID)
	must(t, err)
	b.deliver(1)
}

func TestATestEventIsMarkedAndAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Mine", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(strings.Repeat("z", 5000)))
	})
	b := setup(t, []*receiver{r})
	e, secret := b.endpoint(r)
	x, err := b.Test(t.Context(), b.account, e.ID, VideoFailed)
	must(t, err)
	if x.Status != http.StatusTeapot || len(x.ResponseBody) != 4096 || x.Succeeded() || x.URL != e.URL {
		t.Errorf("%+v", x)
	}
	found := false
	for _, h := range x.ResponseHeaders {
		found = found || h == Header{"x-mine", "yes"}
	}
	got := r.got()[0]
	if err := verify(secret, got, b.clock.Now()); err != nil || !found {
		t.Errorf("%v, %v", err, x.ResponseHeaders)
	}
	body := string(got.body)
	if !strings.Contains(body, `"type":"video.failed"`) || !strings.Contains(body, `"id":"video_test_`) || !strings.HasPrefix(body, `{"id":"evt_test_`) ||
		body != string(x.RequestBody) {
		t.Errorf("%s", body)
	}
	if n := b.number(`select count(*) from webhook_events`) + b.number(`select count(*) from webhook_attempts`); n != 0 || b.get(e.ID).FailingSince != nil {
		t.Error("a test left something behind")
	}
	for _, wrong := range []string{"", "batch.completed"} {
		if _, err := b.Test(t.Context(), b.account, e.ID, wrong); app.AsError(err).Param != "event_type" {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	r.Close()
	if x, err = b.Test(t.Context(), b.account, e.ID, VideoFailed); err != nil || x.Status != 0 || x.Error == "" {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestOneTestAtATimeGoesToAnEndpoint(t *testing.T) {
	t.Parallel()
	in, out := make(chan struct{}), make(chan struct{})
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) { in <- struct{}{}; <-out })
	b := setup(t, []*receiver{r}, func(o *Options) { o.Waits.Attempt = 30 * time.Second })
	e, _ := b.endpoint(r)
	done := make(chan error)
	go func() {
		_, err := b.Test(t.Context(), b.account, e.ID, VideoFailed)
		done <- err
	}()
	<-in
	if _, err := b.Test(t.Context(), b.account, e.ID, VideoFailed); app.KindOf(err) != app.Exhausted {
		t.Error(err)
	}
	close(out)
	must(t, <-done)
}

func TestSlowReceiversOfOneAccountLeaveRoomForTheTestsOfOthers(t *testing.T) {
	t.Parallel()
	in, out := make(chan struct{}), make(chan struct{})
	slow := newReceiver(t, func(http.ResponseWriter, *http.Request) { in <- struct{}{}; <-out })
	good := newReceiver(t, nil)
	b := setup(t, []*receiver{slow, good}, func(o *Options) { o.Waits.Attempt = 30 * time.Second })
	done := make(chan error, testsByOneMax)
	for range testsByOneMax {
		e, _ := b.endpoint(slow)
		go func() {
			_, err := b.Test(t.Context(), b.account, e.ID, VideoFailed)
			done <- err
		}()
		<-in
	}
	e, _ := b.endpoint(good)
	if _, err := b.Test(t.Context(), b.account, e.ID, VideoFailed); app.KindOf(err) != app.Exhausted {
		t.Errorf("one account takes more than its share: %v", err)
	}
	other := b.newAccount()
	e, _ = b.endpointOf(other, good.URL)
	for range testsMinuteMax {
		_, err := b.Test(t.Context(), other, e.ID, VideoFailed)
		must(t, err)
	}
	if _, err := b.Test(t.Context(), other, e.ID, VideoFailed); app.KindOf(err) != app.Exhausted {
		t.Errorf("there is no end of tests: %v", err)
	}
	b.clock.Advance(time.Minute)
	_, err := b.Test(t.Context(), other, e.ID, VideoFailed)
	must(t, err)
	close(out)
	for range testsByOneMax {
		must(t, <-done)
	}
	b.clock.Advance(time.Minute)
	if _, may := b.beginTest("acc", "whe"); !may || len(b.shares) != 1 {
		t.Errorf("the tests of %d accounts are remembered", len(b.shares))
	}
}

func TestDeliveriesAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	good, bad := newReceiver(t, nil), answering(t, 500)
	b := setup(t, []*receiver{good, bad})
	e, _ := b.endpoint(good)
	f, _ := b.endpoint(bad)
	first := b.emit(b.account)
	for range 4 {
		b.clock.Advance(time.Second)
		b.emit(b.account)
	}
	must(t, b.Emit(t.Context(), b.db, Event{b.account.AccountID, VideoFailed, "video_x"}))
	b.deliver(12)
	for want, q := range map[int]DeliveryQuery{
		12: {}, 6: {EndpointID: e.ID}, 5: {EndpointID: f.ID, EventType: VideoCompleted}, 2: {ObjectID: first}, 1: {ObjectID: "video_x", State: Pending},
		0: {State: Cancelled}, 3: {Limit: 3},
	} {
		page, err := b.Deliveries(t.Context(), b.account, q)
		if err != nil || len(page.Deliveries) != want || page.More != (want == 3) {
			t.Errorf("%+v: %d, %v, %v", q, len(page.Deliveries), page.More, err)
		}
	}
	for _, q := range []DeliveryQuery{{EndpointID: "x' or 1=1"}, {ObjectID: "\x00"}, {ObjectID: "%"}} {
		if page, err := b.Deliveries(t.Context(), b.account, q); err != nil || len(page.Deliveries) != 0 {
			t.Errorf("%+v: %v, %v", q, page, err)
		}
	}
	for param, q := range map[string]DeliveryQuery{"state": {State: "gone"}, "event_type": {EventType: "x"}, "after": {After: "x"}} {
		if _, err := b.Deliveries(t.Context(), b.account, q); app.AsError(err).Param != param {
			t.Errorf("%+v: %v", q, err)
		}
	}
	seen, after := map[string]bool{}, ""
	for more := true; more; {
		page, err := b.Deliveries(t.Context(), b.account, DeliveryQuery{After: after, Limit: 5})
		must(t, err)
		for _, d := range page.Deliveries {
			if seen[d.ID] || after != "" && d.ID >= after {
				t.Errorf("%s comes twice or out of order", d.ID)
			}
			seen[d.ID], after = true, d.ID
		}
		more = page.More
	}
	if len(seen) != 12 {
		t.Errorf("%d of 12", len(seen))
	}
}

func TestRecoverTakesOnlyATimeThatMakesSense(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	old := b.emit(b.account) // The account has no endpoint yet.
	b.clock.Advance(time.Hour)
	e, _ := b.endpoint(r)
	for _, since := range []time.Time{{}, b.clock.Now().Add(time.Second)} {
		if _, err := b.Recover(t.Context(), b.account, e.ID, since); app.AsError(err).Param != "since" {
			t.Errorf("%v: %v", since, err)
		}
	}
	if got, err := b.Recover(t.Context(), b.account, e.ID, b.clock.Now()); err != nil || got != (Recovered{}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := b.Recover(t.Context(), b.account, e.ID, time.Unix(1, 0)); err != nil || got != (Recovered{Created: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	b.deliver(1)
	if !strings.Contains(string(r.got()[0].body), old) {
		t.Errorf("%s", r.got()[0].body)
	}
}

func TestWhatIsOlderThanThirtyDaysIsRemoved(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	e, _ := b.endpoint(r)
	for range 250 {
		b.emit(b.account)
	}
	b.deliver(250)
	b.clock.Advance(time.Minute)
	young := b.emit(b.account)
	must(t, b.Delete(t.Context(), b.account, e.ID))
	b.clock.Advance(retention - 30*time.Second)
	must(t, b.Sweep(t.Context()))
	if d := b.only(); d.ObjectID != young || d.State != Cancelled {
		t.Errorf("%+v", d)
	}
	if n := b.number(`select count(*) from webhook_attempts`) + b.number(`select count(*) from webhook_events`); n != 1 {
		t.Errorf("%d rows are left", n)
	}
	b.clock.Advance(time.Hour)
	must(t, b.Sweep(t.Context()))
	if n := b.number(`select count(*) from webhook_endpoints`); n != 0 {
		t.Errorf("%d endpoints are left", n)
	}
}

func TestASecretThatDoesNotOpenFailsTheAttemptAndSaysSo(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	b := setup(t, []*receiver{r})
	e, _ := b.endpoint(r)
	b.emit(b.account)
	b.exec(`update webhook_endpoints set secret = 'x'`)
	b.deliver(1)
	if d := b.only(); d.State != Pending || d.LastError != wordsSecretLost || len(r.got()) != 0 {
		t.Errorf("%+v", d)
	}
	_, _, err := b.Rotate(t.Context(), b.account, e.ID, false)
	must(t, err)
	b.clock.Advance(time.Minute)
	b.deliver(1)
}

func TestAServiceNeedsItsRooms(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for i, change := range []func(*Options){
		func(o *Options) { o.Egress = nil }, func(o *Options) { o.Now = nil }, func(o *Options) { o.IDs = app.IDs{} },
		func(o *Options) { o.Random = nil }, func(o *Options) { o.Jitter = nil }, func(o *Options) { o.Log = nil },
		func(o *Options) { o.Key = [32]byte{} }, func(o *Options) { o.Waits = Waits{Attempt: time.Minute, Claim: time.Second} },
	} {
		o := b.options
		change(&o)
		if _, err := New(b.db, o); err == nil {
			t.Errorf("%d: a service was made", i)
		}
	}
	if fmt.Sprint(Types(), States()) != "[video.completed video.failed] [pending delivered failed cancelled]" {
		t.Error(Types(), States())
	}
}

func TestAnEndpointThatIsGoneIsDisabledAndItsQueueEnds(t *testing.T) {
	t.Parallel()
	gone, good := answering(t, http.StatusGone), newReceiver(t, nil)
	b := setup(t, []*receiver{gone, good})
	e, _ := b.endpoint(gone)
	b.endpoint(good)
	b.emit(b.account)
	b.deliver(2)
	b.emit(b.account) // No delivery is queued for the endpoint that answered 410.
	b.deliver(1)
	if got := b.get(e.ID); got.Status != Disabled || got.DisabledReason != ByGone || len(gone.got()) != 1 || len(good.got()) != 2 {
		t.Errorf("%+v, %d and %d calls", got, len(gone.got()), len(good.got()))
	}
	if told := b.told.all(); len(told) != 1 || !strings.HasPrefix(told[0], e.ID) || !strings.Contains(told[0], "410") {
		t.Errorf("told %q", told)
	}
	_, err := b.Enable(t.Context(), b.account, e.ID)
	must(t, err)
	for range 3 {
		b.emit(b.account)
	}
	b.exec(`update webhook_deliveries set due_at = due_at + interval '1 minute' where endpoint_id = $1 and state = 'pending' and id <>
		(select min(id) from webhook_deliveries where endpoint_id = $1 and state = 'pending')`, e.ID)
	b.deliver(4) // The first answer cancels the other two.
	b.clock.Advance(time.Hour)
	b.deliver(0)
	if n := b.number(`select count(*) from webhook_deliveries where endpoint_id = $1 and state = 'cancelled'`, e.ID); n != 2 {
		t.Errorf("%d cancelled", n)
	}
}
