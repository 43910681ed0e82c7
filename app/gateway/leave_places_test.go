package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/apptest"
	"umg/app/gateway"
	"umg/app/idempotency"
	"umg/app/llm"
	"umg/app/ratelimit"
	"umg/app/requestbody"
	"umg/billing"
)

// waiting is an upstream that takes requests, does something, and then waits until its caller has gone. It says so when it waits.
func waiting(does func(w http.ResponseWriter)) (h http.Handler, waits chan struct{}) {
	waits = make(chan struct{}, 100)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		does(w)
		waits <- struct{}{}
		<-r.Context().Done()
	}), waits
}

// leaving makes a call whose client leaves at a signal.
func (b *bench) leaving(call gateway.Call, signal <-chan struct{}) (*gateway.Report, error) {
	ctx, leave := context.WithCancel(b.t.Context())
	defer leave()
	ended := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-signal:
			leave()
		case <-ended:
		}
	}()
	r, err := b.gateway.Generate(ctx, call, &sink{})
	close(ended)
	<-gone
	return r, err
}

// TestALeaverPaysWhatAProviderHadTaken lets clients of all styles leave before the first content, at each place.
func TestALeaverPaysWhatAProviderHadTaken(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachStyleBothForms(t, 3, all, func(b *bench, client, upstream llm.Style, stream bool) {
		a := asked{prompt: "count to 40 and then tell me how many of these numbers are even", stream: stream, bound: 3000}
		_, used := b.honest(client, upstream, on(upstream), a)
		kind := "application/json"
		if stream {
			kind = "text/event-stream"
		}
		for place, does := range map[string]func(w http.ResponseWriter){
			"before the head": func(http.ResponseWriter) {},
			"behind the head": func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", kind)
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
			},
		} {
			b.open(startMoney)
			h, waits := waiting(does)
			b.answerWith(h)
			r, err := b.leaving(b.styledCall(client, on(upstream), a), waits)
			b.answerWith(b.sim)
			if e := app.AsError(err); e == nil || e.Kind != app.Canceled || r.Outcome != "client_left" || r.Reason != billing.ReasonClientLeftWaiting || !r.Estimated {
				b.t.Errorf("%s: %v, report %+v", place, err, r)
			}
			if r.Usage[0] < used.Input/4 || r.Usage[0] > used.Input || r.Usage[3]+r.Usage[4] != 0 || r.Cost != app.Amount(r.Usage[0]*3000) {
				b.t.Errorf("%s: %d input tokens and %s, where %d are true", place, r.Usage[0], r.Cost, used.Input)
			}
			b.settled(r.Cost)
		}
	})
}

// TestALeaverPaysNothingThatNoProviderTook lets clients leave where no provider is at work for them.
func TestALeaverPaysNothingThatNoProviderTook(t *testing.T) {
	t.Parallel()
	pause := make(chan struct{}, 10)
	all := setup(t, startMoney, func(o *gateway.Options) {
		o.RetryWait = 10 * time.Second // The client leaves during this wait.
		random := o.Random
		o.Random = func(n int) int {
			if n > int(time.Second) {
				pause <- struct{}{}
				return n - 1
			}
			return random(n)
		}
	})
	failing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	for _, form := range []string{"", streamed} {
		for place, c := range map[string]struct {
			model  string
			answer http.Handler
			signal <-chan struct{}
		}{
			"before there is a connection":   {"test/mute", all.sim, all.muted},
			"behind a refused connection":    {"test/refusing", all.sim, pause},
			"behind a status that is no 200": {"test/one", failing, pause},
			"behind a request that fails":    {"test/patient", failing, pause},
		} {
			b := all.fresh(t)
			b.answerWith(c.answer)
			r, err := b.leaving(b.call(c.model, "some words to be charged", form), c.signal)
			b.answerWith(b.sim)
			if e := app.AsError(err); e == nil || e.Kind != app.Canceled || r.Reason != billing.ReasonClientLeftUnanswered || r.Cost != 0 || r.Attempts != 1 {
				t.Errorf("%s: %v, report %+v", place, err, r)
			}
			b.settled(0)
		}
	}
}

// TestALeaverPaysTheInputThatWasReported leaves behind a first frame that says how long the input was.
func TestALeaverPaysTheInputThatWasReported(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for upstream, frame := range map[llm.Style]string{
		llm.Messages: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"x\"," +
			"\"usage\":{\"input_tokens\":411,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n",
		llm.Native: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"}}],\"usageMetadata\":{\"promptTokenCount\":418,\"cachedContentTokenCount\":7}}\n\n",
	} {
		for _, client := range []llm.Style{upstream, llm.Chat} {
			b := all.fresh(t)
			h, waits := waiting(func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, frame)
				// The comments exceed all buffers on the way, so the gateway has read the frame before them.
				for range 24 {
					_, _ = io.WriteString(w, strings.Repeat(": "+strings.Repeat("-", 1020)+"\n\n", 1024))
				}
			})
			b.answerWith(h)
			r, _ := b.leaving(b.styledCall(client, on(upstream), asked{prompt: "hi", stream: true, bound: 100}), waits)
			b.answerWith(b.sim)
			if r.Usage[0] != 411 || r.Usage[1] != 7 || r.Usage[3] > 1 || r.Reason != billing.ReasonClientLeftWaiting {
				t.Errorf("%s on %s: report %+v", client, upstream, r)
			}
			b.settled(r.Cost)
		}
	}
}

// TestALeaverGetsNothingBackOfItsLimits floods one key with calls that leave, where a provider has them and where none has.
func TestALeaverGetsNothingBackOfItsLimits(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for name, c := range map[string]struct {
		model string
		key   ratelimit.Key
		most  int
		code  string
	}{
		"tokens of a request that was taken":   {"test/patient", ratelimit.Key{ID: "key_tokens", TokensPerMinute: 2000}, 7, "rate_limit_exceeded"},
		"tokens of a request that was not":     {"test/mute", ratelimit.Key{ID: "key_unsent", TokensPerMinute: 2000}, 7, "rate_limit_exceeded"},
		"requests of a request that was taken": {"test/patient", ratelimit.Key{ID: "key_requests", RequestsPerMinute: 3}, 3, "rate_limit_exceeded"},
		"requests of a request that was not":   {"test/mute", ratelimit.Key{ID: "key_requests_unsent", RequestsPerMinute: 3}, 3, "rate_limit_exceeded"},
	} {
		b := all.fresh(t)
		h, waits := waiting(func(http.ResponseWriter) {})
		b.answerWith(h)
		signal := waits
		if c.model == "test/mute" {
			signal = b.muted
		}
		var cost app.Amount
		calls, refusal := 0, error(nil)
		for calls < 20 {
			call := b.call(c.model, "some words", "")
			call.Key = c.key
			r, err := b.leaving(call, signal)
			if e := app.AsError(err); e == nil || e.Kind != app.Canceled {
				refusal = err
				break
			}
			calls++
			cost += r.Cost
		}
		b.answerWith(b.sim)
		if e := app.AsError(refusal); e == nil || e.Code != c.code || calls == 0 || calls > c.most {
			t.Errorf("%s: %d calls left before %v", name, calls, refusal)
		}
		if got := b.balance().Posted; got != startMoney-cost || b.reserved() != 0 || (cost > 0) != (c.model == "test/patient") {
			t.Errorf("%s: posted %s for %s", name, got, cost)
		}
	}
}

// TestALeaverOfTwoAttemptsPaysOnce leaves when two providers have the request.
func TestALeaverOfTwoAttemptsPaysOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	h, waits := waiting(func(http.ResponseWriter) {})
	b.answerWith(h)
	both := make(chan struct{})
	go func() {
		<-waits
		<-waits
		close(both)
	}()
	r, err := b.leaving(b.call("test/hedged", "some words to be charged", streamed), both) // A stream is hedged sooner than a whole answer.
	b.answerWith(b.sim)
	if e := app.AsError(err); e == nil || e.Kind != app.Canceled || r.Reason != billing.ReasonClientLeftWaiting || r.Usage[0] != 5 || r.Cost != cost(5, 0) || r.Attempts != 2 {
		t.Errorf("%v, report %+v", err, r)
	}
	b.settled(r.Cost)
}

// leavingContext is the context of a call whose client leaves as soon as the gateway has released the body, which is when the answer has
// come.
type leavingContext struct {
	context.Context

	body  *requestbody.Body
	leave func()
}

func (c leavingContext) Err() error {
	if c.body.Bytes() == nil {
		c.leave()
	}
	return c.Context.Err()
}

// TestAWholeAnswerThatItsClientLeftIsChargedAndKept leaves when the answer has come and nothing of it was sent.
func TestAWholeAnswerThatItsClientLeftIsChargedAndKept(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	keys := idempotency.New(all.books, idempotency.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	eachStyle(t, "", 2, all, func(b *bench, client, upstream llm.Style) {
		call := b.styledCall(client, on(upstream), asked{prompt: "count to 9", bound: 300})
		sent := call.Body
		b.hold(&call)
		canceled, leave := context.WithCancel(b.t.Context())
		defer leave()
		ctx := leavingContext{canceled, call.BodyMemory, leave}
		request := idempotency.Request{AccountID: apptest.NewAccount(b.t, b.db, time.Now), Key: "once", Operation: "a call", Body: sent, ResultID: call.ID}
		claim, err := keys.Begin(b.t.Context(), request)
		must(b.t, err)
		call.Idempotent = keys.NewResponse(claim)
		s := &sink{}
		r, err := b.gateway.Generate(ctx, call, s)
		if e := app.AsError(err); e == nil || e.Kind != app.Canceled || r.Reason != billing.ReasonClientLeftAtEnd || r.Usage[3] != 9 || r.Estimated || s.status != 0 {
			b.t.Errorf("%v, report %+v", err, r)
		}
		b.settled(r.Cost)
		t, _ := b.t.(*testing.T)
		again, err := keys.Begin(b.t.Context(), request)
		must(b.t, err) // A key whose request still runs is a conflict.
		if h := body(t, client, string(again.Answer.Body)); h.cost != r.Cost || r.Cost == 0 {
			b.t.Errorf("kept at %s: %s", h.cost, again.Answer.Body)
		}
	})
}

// TestTheChargeOfALeaverIsNotLost leaves while the store is away.
func TestTheChargeOfALeaverIsNotLost(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	h, waits := waiting(func(http.ResponseWriter) { b.line.cut() })
	b.answerWith(h)
	r, err := b.leaving(b.call("test/patient", "some words to be charged", ""), waits)
	b.answerWith(b.sim)
	if e := app.AsError(err); e == nil || e.Kind != app.Canceled || r.Cost != cost(5, 0) || b.manager.Stats().Kept != 1 {
		t.Errorf("%v, report %+v, kept %d", err, r, b.manager.Stats().Kept)
	}
	b.line.mend()
	b.drained()
	b.settled(cost(5, 0))
}
