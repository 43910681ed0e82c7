package faults

import (
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// endsCut lets a model's streams end with an error where they were cut, although it has another route.
const endsCut = "    on_cut: error\n"

// longPrompt has an answer that is long enough to be resumed where it was cut, and not only to be started again.
const longPrompt = "count to 60"

// recoveredLong is the answer to it, when it was cut and taken up.
var recoveredLong = rescued.with("recovered").saying(counted(60))

// prefills says that a provider goes on with an answer that the request begins.
const prefills = "    prefill: [chat, messages, responses, native]\n"

// classicRows are the faults that providers are known for.
var classicRows = []faultRow{
	{"429-with-retry-after", []fault{
		{does: "status=429;retry-after=1;times=1", alone: answers(2, 0).after(time.Second), helped: answers(2, 0).after(time.Second)},
		{does: "status=429;retry-date=2;times=1", alone: answers(2, 0).after(time.Second), helped: answers(2, 0).after(time.Second)},
		{does: "status=429;retry-after=30", alone: fails("busy", rateLimited, 1).telling(29), helped: rescued},
	}},
	{"429-without-retry-after", []fault{
		{does: "status=429;times=1", alone: answers(2, 0), helped: rescued},
		{does: "status=429", alone: fails("busy", rateLimited, 2), helped: rescued},
	}},
	{"500-once", []fault{
		{does: "status=500;times=1", alone: answers(2, 0), helped: answers(2, 0)},
	}},
	{"503-for-good", []fault{
		{does: "status=503", alone: failsTwice, helped: rescuedBy2},
		{does: "status=503;retry-after=30", alone: fails("upstream", upstreamError, 1), helped: rescued},
	}},
	{"reset", []fault{
		// On a connection that carried calls before, a reset looks like a stale connection: the request is sent again unseen.
		{does: "reset", alone: failsTwice.uncounting(), helped: answers(uncounted, 1)},
		{does: "reset;times=1", alone: answers(uncounted, 0), helped: answers(uncounted, 0)},
	}},
	{"silence", []fault{
		{does: "stall", tight: true, alone: tooLate, helped: rescued.leaving()},
		// The gateway does not repeat a call to a silent upstream.
		{does: "stall;times=1", tight: true, alone: tooLate, helped: rescued.leaving()},
	}},
	{"slow-first-token", []fault{
		{does: "slow-first=150ms", alone: well, helped: well},
		{does: "slow-first=8s", tight: true, alone: tooLate, helped: rescued.leaving()},
		{does: "slow-first=8s", more: "    hedge: true\n", drive: (*faultGateway).isHedged},
	}},
	{"cut-stream", []fault{
		{does: "cut-after=40t;pace=1ms", prompt: longPrompt, form: streamOnly, every: true, second: prefills, begins: true,
			alone: breaksOff("upstream", 1, 0).saying(counted(60)), helped: recoveredLong},
		{does: "cut-after=4t;pace=5ms", form: streamOnly, every: true, alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")},
		{does: "reset-after=4t;pace=40ms", form: streamOnly, alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")},
		{does: "error-after=4t;pace=5ms;status=503", form: streamOnly, alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")},
		{does: "end-after=4t;pace=5ms", form: streamOnly, alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")},
		{does: "end-after=4t;pace=5ms", form: streamOnly, every: true, more: endsCut, alone: breaksOff("upstream", 1, 0), helped: breaksOff("upstream", 1, 0)},
		{does: "end-after=1", form: jsonOnly, alone: failsTwice, helped: rescuedBy2},
	}},
	{"stall", []fault{
		{does: "stall-after=40t;pace=1ms", prompt: longPrompt, form: streamOnly, every: true, tight: true, second: prefills, begins: true,
			alone: breaksOff("timeout", 1, 0).saying(counted(60)).leaving(), helped: recoveredLong.leaving()},
		{does: "stall-after=4t;pace=5ms", form: streamOnly, tight: true,
			alone: breaksOff("timeout", 1, 0).leaving(), helped: rescued.with("recovered").leaving()},
		{does: "stall-after=1", form: jsonOnly, tight: true, alone: tooLate, helped: rescued.leaving()},
	}},
	{"malformed-chunk", []fault{
		{does: "malformed-at=8;pace=5ms", form: streamOnly, every: true, alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")},
		{does: "malformed-at=1", every: true, alone: unusable, helped: rescued},
	}},
	{"failed-finish", []fault{
		{does: "finish=error", form: jsonOnly, every: true, alone: failsTwice, helped: rescuedBy2},
		{does: "finish=insufficient_system_resource", form: jsonOnly, alone: failsTwice, helped: rescuedBy2},
		{does: "finish=error", form: streamOnly, every: true, alone: breaksOff("upstream", 1, 0).behindText(), helped: rescued.with("recovered")},
		{does: "finish=network_error", form: streamOnly, alone: breaksOff("upstream", 1, 0).behindText(), helped: rescued.with("recovered")},
	}},
	{"signs-of-life-only", []fault{
		{does: "chatter-after=0", form: streamOnly, every: true, tight: true, alone: tooLate, helped: rescued.leaving()},
		{does: "chatter-after=4t;pace=20ms", form: streamOnly, every: true, tight: true,
			alone: breaksOff("timeout", 1, 0).leaving(), helped: rescued.with("recovered").leaving()},
		{does: "chatter-after=1", form: jsonOnly, tight: true, alone: tooLate, helped: rescued.leaving()},
	}},
	{"missing-end-marker", []fault{
		{does: "no-end", form: streamOnly, every: true, speak: "chat messages", alone: well, helped: well},
		{does: "no-end;keep-open", form: streamOnly, every: true, speak: "chat messages", alone: well, helped: well},
		// In these styles the end marker is what says how the answer ends.
		{does: "no-end", form: streamOnly, every: true, speak: "responses native",
			alone: breaksOff("upstream", 1, 0).behindText(), helped: rescued.with("recovered")},
		{does: "no-end;keep-open", form: streamOnly, every: true, tight: true, speak: "responses native",
			alone: breaksOff("timeout", 1, 0).behindText().leaving(), helped: rescued.with("recovered").leaving()},
		{does: "cut-after=1", form: jsonOnly, alone: failsTwice, helped: rescuedBy2},
	}},
	{"context-length", []fault{
		{does: "context-length", every: true, longer: true, alone: fails("invalid", "context_length_exceeded", 1), helped: rescued},
		{does: "context-length", alone: fails("invalid", "context_length_exceeded", 1), helped: fails("invalid", "context_length_exceeded", 1)},
		// The gateway tries no other route after any other refusal.
		{does: "status=422", alone: fails("refused", "", 1), helped: fails("refused", "", 1)},
	}},
	{"fallback-model", []fault{
		{does: "status=503", every: true, falls: true, alone: failsTwice, helped: rescuedBy2},
		{does: "status=429;retry-after=30", falls: true, alone: fails("busy", rateLimited, 1), helped: rescued},
		{does: "auth", falls: true, alone: elsewhere, helped: rescued},
		{does: "stall", tight: true, falls: true, alone: tooLate, helped: rescued.leaving()},
		{does: "status=422", falls: true, alone: fails("refused", "", 1), helped: fails("refused", "", 1)},
		{does: "cut-after=4t;pace=5ms", form: streamOnly, every: true, falls: true, alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")},
	}},
	{"content-filter", []fault{
		{does: "content-filter", every: true, alone: fails("invalid", "", 1), helped: fails("invalid", "", 1)},
		{prompt: "refuse: it", alone: filtered, helped: filtered},
	}},
	{"cut-and-prefill-rejected", []fault{
		{does: "cut-after=4t;pace=5ms", form: streamOnly, every: true, spare: "prefill=refuse",
			alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")}, // The catalog declares no prefill for it, so it gets none.
		{does: "cut-after=40t;pace=1ms", prompt: longPrompt, form: streamOnly, every: true, speak: "chat messages native",
			// The second provider refuses the prefill, and is asked again for the whole answer.
			second: prefills, spare: "prefill=refuse",
			alone: breaksOff("upstream", 1, 0).saying(counted(60)), helped: answers(1, 2).with("recovered").saying(counted(60))},
		{does: "cut-after=40t;pace=1ms", prompt: longPrompt, form: streamOnly, every: true, speak: "chat messages native",
			// The second provider ignores the prefill and starts the answer again.
			second: prefills, spare: "prefill=restart", begins: true,
			alone: breaksOff("upstream", 1, 0).saying(counted(60)), helped: recoveredLong},
		{does: "cut-after=1", form: jsonOnly, spare: "prefill=refuse", second: prefills, alone: failsTwice, helped: rescuedBy2},
	}},
	{"flapping-primary", []fault{
		{does: "status=503;every=2", drive: (*faultGateway).flaps},
		{does: "reset;every=2", drive: (*faultGateway).flaps},
	}},
	{"failed-attempt-billing", []fault{
		{does: "truncated-json;times=1", alone: unusable, helped: rescued},
		{does: "error-in-200;times=1", alone: answers(2, 0), helped: answers(2, 0)},
		{does: "reset;times=1;usage=100000", alone: answers(uncounted, 0), helped: answers(uncounted, 0)},
		{does: "status=500", drive: (*faultGateway).billsOnce},
	}},
}

// filtered is an answer that the provider's filter ended.
var filtered = well.saying("I cannot help with that.").ending("filter").with("filtered")

// isHedged asks a second upstream when the first is late, which is left once the second answers. Alone it is waited for,
// so nothing is asked of it here.
func (h *faultGateway) isHedged(t *testing.T, s mishap) {
	if !s.helps {
		return
	}
	began := time.Now()
	h.calls(t, s, rescued.leaving())
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("%s: the second upstream was asked after %s", s.id, took)
	}
}

// flaps calls an upstream that fails every other time: every call is answered.
func (h *faultGateway) flaps(t *testing.T, s mishap) {
	want := answers(2, 0)
	// A reset may look like a stale connection, which is not counted as a failed attempt.
	if strings.HasPrefix(s.does, "reset") {
		want = answers(uncounted, 0)
	}
	for range 3 {
		a := s.client.Send(t, h.Customer, s.body(faultPrompt))
		shown := h.sees(t, s, want, a)
		h.recorded(t, s, want, a.Header.Get("X-Request-Id"), shown)
	}
	h.asks(t, s, answers(6, 0))
}

// billsOnce compares the balance of a customer of its own: the attempts that failed cost nothing, the answer costs what it
// shows.
func (h *faultGateway) billsOnce(t *testing.T, s mishap) {
	c := *h
	c.Customer = h.NewCustomer(t, "attempts")
	before := c.SettledBalance(t, c.AccountID)
	var shown int64
	for range 2 {
		if !s.helps {
			c.calls(t, s, failsTwice.uncounting())
			continue
		}
		a := c.calls(t, s, rescuedBy2.uncounting())
		shown += harness.ShownCost(t, a.Body)
	}
	if after := c.SettledBalance(t, c.AccountID); before.Posted-after.Posted != shown || after.Held != 0 || s.helps != (shown > 0) {
		t.Errorf("%s: %d is shown, and the balance went from %+v to %+v", s.id, shown, before, after)
	}
}

// uncounting leaves the number of requests open.
func (f fate) uncounting() fate {
	f.first = uncounted
	if f.spare > 0 {
		f.spare = uncounted
	}
	return f
}
