package requests

import (
	"strings"
	"testing"
	"time"

	"umg/views"
)

func TestTheWhysOfACallAreMadeOfItsRecord(t *testing.T) {
	t.Parallel()
	answered := Detail{
		Rule: views.SettlementRule{Reason: "completed", Text: "What was counted is charged."}, Attempts: 1,
		Request: LoggedRequest{Request: views.Request{
			Outcome: "succeeded", Streamed: true, Input: 100, Output: 300, FirstByte: 500 * time.Millisecond, Duration: 3500 * time.Millisecond, Cost: 9,
		}},
	}
	with := func(change func(*Detail)) Detail {
		d := answered
		change(&d)
		return d
	}
	failed := func(outcome, reason, code string) Detail {
		return with(func(d *Detail) {
			d.Request.Outcome, d.Request.ErrorCode, d.Request.FirstByte, d.Request.Cost = outcome, code, 0, 0
			d.Rule = views.SettlementRule{Reason: reason, When: "It went wrong.", Text: "Nothing is charged.", Charge: "nothing"}
		})
	}
	cases := map[string]struct {
		call Detail
		want string
	}{
		"answered": {answered, "What was counted is charged. 500 ms of 3.50 s passed until the first byte, " +
			"so most of the time was the answer itself. It came at about 100 tokens a second."},
		"slow to begin": {with(func(d *Detail) { d.Request.FirstByte = 3 * time.Second }), "so most of the time was spent waiting for the provider to begin."},
		"in one piece": {with(func(d *Detail) { d.Request.Streamed, d.Request.FirstByte, d.Request.Output = false, 0, 1200 }),
			"The answer came in one piece after 3.50 s. Nothing is sent before all of it is there; streamed, its first words come sooner. It is long: 1,200 tokens."},
		"a long input": {with(func(d *Detail) { d.Request.Input = 90_000 }), "Its input of 90,000 tokens had to be read first."},
		"at once":      {with(func(d *Detail) { d.Request.Duration = 0 }), "It ended at once."},
		"tried again":  {with(func(d *Detail) { d.Attempts = 3 }), "2 earlier attempts failed and took part of it."},
		"a video":      {with(func(d *Detail) { d.Request.Style = "videos" }), "The job took 3.50 s from its creation"},
		"a cache":      {with(func(d *Detail) { d.Request.Cached = 1 }), "1 token of the input came from a cache."},
		"reasoning":    {with(func(d *Detail) { d.Reasoning = 150 }), "50% of the output was reasoning."},
		"beyond":       {with(func(d *Detail) { d.Overrun = 1_000_000_000 }), "It cost $1.00 more than was reserved, which we bear."},
		"dearest": {with(func(d *Detail) {
			d.Lines = []PriceLine{
				{Meter: "input_tokens", Quantity: 1, Price: &views.Price{Meter: "input_tokens", Amount: 1, Per: 1}},
				{Meter: "output_tokens", Quantity: 3, Price: &views.Price{Meter: "output_tokens", Amount: 1, Per: 1}},
			}
		}), "The largest part of it, 75%, is for output"},
		"refused": {failed("failed", "request_refused", "context_length_exceeded"),
			"Longer than the model can read. It went wrong. Shorten the input, or use a model with a larger context. " +
				"Nothing is charged. It ended after 3.50 s without a first byte."},
		"an unknown code": {failed("failed", "upstream_failed", "odd"), "It went wrong.  Nothing is charged."},
		"cut":             {failed("cut", "upstream_broke_off", "upstream_error"), "The provider failed."},
		"timed out":       {failed("timed_out", "timed_out", "upstream_timeout"), "The provider did not answer in time."},
		"client left":     {failed("client_left", "client_left", "client_closed_request"), "It went wrong. Your client closed"},
		"failed thrice": {with(func(d *Detail) {
			*d = failed("failed", "upstream_failed", "upstream_error")
			d.Attempts = 3
		}), "It was tried 3 times. It is safe to retry"},
	}
	for name, c := range cases {
		text := []string{answerOf(c.call, priceAnswers), answerOf(c.call, timeAnswers)}
		if c.call.failed() {
			text = append([]string{c.call.causeText(), c.call.fixText()}, text...)
		}
		if got := strings.Join(text, " "); !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nlacks\n%s", name, got, c.want)
		}
	}
	if answered.failed() {
		t.Error("an answered call has a cause of failure")
	}
}
