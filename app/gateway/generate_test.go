package gateway_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/ratelimit"
)

func TestAJSONAnswerIsChargedExactly(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	r, s, err := b.generate(b.call("test/two", "echo: grüße 🙂", `,"x_unknown":{"a":[1.50,"\u00e9"]}`))
	must(t, err)
	var got struct {
		Object, Model string
		Choices       []struct {
			Message      struct{ Role, Content string }
			FinishReason string `json:"finish_reason"`
		}
		Usage usageMember
	}
	must(t, json.Unmarshal([]byte(s.text()), &got))
	if s.status != 200 || s.kind != "application/json" || s.header.Get("Content-Length") == "" || s.header.Get("X-Ratelimit-Remaining-Requests") != "59" {
		t.Errorf("%d %s %v", s.status, s.kind, s.header)
	}
	if got.Object != "chat.completion" || got.Model != "test/two" || got.Choices[0].Message.Content != "grüße 🙂" || got.Choices[0].FinishReason != "stop" {
		t.Errorf("answer %+v", got)
	}
	want := cost(got.Usage.Prompt, got.Usage.Completion)
	if got.Usage.cost(t) != want || r.Cost != want || want == 0 {
		t.Errorf("cost shown %s, reported %s, want %s", got.Usage.Cost, r.Cost, want)
	}
	b.settled(want)
	if u := b.record(); u.Outcome != "succeeded" || u.Model != "test/two" || u.Provider != "alpha" || u.UpstreamModel != "up-two" || u.Estimated ||
		u.Attempts != 1 || u.FinishReason != "stop" || u.KeyID != "key_1" || u.Streamed {
		t.Errorf("record %+v", u)
	}
	up := b.finished(1)[0]
	if up.Model != "up-two" || !strings.Contains(up.Body, `"x_unknown":{"a":[1.50,"\u00e9"]}`) || !strings.Contains(up.Body, `"model":"up-two"`) {
		t.Errorf("the upstream saw %s", up.Body)
	}
}

func TestAStreamIsChargedBeforeItsEndIsSent(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	s := &sink{}
	var early, atEnd int
	s.hook = func(p []byte) error {
		all, err := b.reports.Requests(t.Context(), b.account, 10)
		if strings.Contains(string(p), `"finish_reason":"stop"`) || strings.Contains(string(p), "[DONE]") || strings.Contains(string(p), `"cost"`) {
			atEnd += len(all)
		} else {
			early += len(all)
		}
		return err
	}
	r, err := b.gateway.Generate(t.Context(), b.call("test/two", "count to 30", withUsage), s)
	must(t, err)
	a := readStream(t, s.text())
	if early != 0 || atEnd != 1 {
		t.Errorf("%d records before the end was sent, %d with it", early, atEnd)
	}
	if s.kind != "text/event-stream" || !a.done || a.finish != "stop" || !strings.HasSuffix(a.text, "29 30") || a.frames != 30 {
		t.Errorf("%s, done %v, finish %q, %d frames: %s", s.kind, a.done, a.finish, a.frames, a.text)
	}
	first := a.chunks[0]
	if first.Object != "chat.completion.chunk" || first.Choices[0].Delta.Role == nil || first.Choices[0].Delta.Content != "" {
		t.Errorf("the first chunk is %+v", first)
	}
	for _, c := range a.chunks {
		if c.Model != "test/two" || c.ID != first.ID {
			t.Errorf("chunk of %q with id %q", c.Model, c.ID)
		}
	}
	if a.usage == nil || a.usage.Completion != 30 || a.usage.cost(t) != r.Cost || r.Cost != cost(a.usage.Prompt, 30) {
		t.Fatalf("usage %+v, reported %s", a.usage, r.Cost)
	}
	b.settled(r.Cost)
	if u := b.record(); !u.Streamed || u.FirstByte <= 0 || u.Estimated {
		t.Errorf("record %+v", u)
	}
}

func TestConnectionsToTheUpstreamAreUsedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	for range 10 {
		for _, more := range []string{"", streamed} {
			_, _, err := b.generate(b.call("test/two", "count to 40", more))
			must(t, err)
		}
	}
	if n := b.conns.Load(); n != 1 {
		t.Errorf("%d connections for 20 calls in a row", n)
	}
}

func TestUsageStaysHiddenUnlessAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	r, s, err := b.generate(b.call("test/two", "count to 3", streamed))
	must(t, err)
	if strings.Contains(s.text(), "usage") || r.Cost == 0 {
		t.Errorf("cost %s, %s", r.Cost, s.text())
	}
	if up := b.finished(1)[0]; !strings.Contains(up.Body, `"stream_options":{"include_usage":true}`) {
		t.Errorf("the upstream saw %s", up.Body)
	}
	b.settled(r.Cost)
}

func TestToolCallsPassThrough(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	tools := `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`
	for _, more := range []string{tools, tools + streamed} {
		_, s, err := b.generate(b.call("test/two", "call get_weather for city=Rome", more))
		must(t, err)
		if !strings.Contains(s.text(), "get_weather") || !strings.Contains(s.text(), `"tool_calls"`) || !strings.Contains(s.text(), "Rom") {
			t.Errorf("%s", s.text())
		}
	}
}

func TestRefusalsBeforeAnyUpstream(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	for name, c := range map[string]struct {
		model, more string
		kind        app.Kind
		code, param string
		says        string
	}{
		"unknown model":       {"test/nothing-like-it", "", app.NotFound, "model_not_found", "model", "does not exist. GET"},
		"a short name":        {"abcd", "", app.NotFound, "model_not_found", "model", "does not exist. GET"},
		"a slip of the pen":   {"test/tow", "", app.NotFound, "model_not_found", "model", "Did you mean test/two"},
		"without owner":       {"two", "", app.NotFound, "model_not_found", "model", "Did you mean test/two"},
		"coming model":        {"test/coming", "", app.NotFound, "model_not_found", "model", "not available yet"},
		"paused model":        {"test/paused", "", app.Unavailable, "model_temporarily_unavailable", "model", "back at noon"},
		"no route":            {"test/idle", "", app.Unavailable, "no_available_provider", "", ""},
		"another style":       {"test/other", `,"logprobs":true`, app.Invalid, "unsupported_parameter", "logprobs", "cannot be used"},
		"no such style":       {"test/silent", "", app.NotFound, "model_not_found", "model", "not served on this route"},
		"contract":            {"test/two", `,"temperature":7`, app.Invalid, "invalid_request_error", "temperature", ""},
		"too many tokens":     {"test/two", `,"max_tokens":5000000000`, app.Invalid, "invalid_request_error", "max_tokens", ""},
		"duplicate key":       {"test/two", `,"messages":[]`, app.Invalid, "", "", ""},
		"stream as a string":  {"test/two", `,"stream":"true"`, app.Invalid, "invalid_request_error", "stream", ""},
		"invalid JSON":        {"test/two", `,`, app.Invalid, "invalid_json", "", "at byte"},
		"invalid JSON inside": {"test/two", `,"x":{"a":01}`, app.Invalid, "invalid_json", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, s, err := b.generate(b.call(c.model, "hi", c.more))
			e := app.AsError(err)
			if e == nil || e.Kind != c.kind || c.code != "" && e.Code != c.code || c.param != "" && e.Param != c.param || !strings.Contains(e.Message, c.says) {
				t.Fatalf("%+v", e)
			}
			if s.status != 0 || r.Err != e || r.Attempts != 0 {
				t.Errorf("status %d, report %+v", s.status, r)
			}
		})
	}
	if got := b.balance(); got.Posted != startMoney || b.reserved() != 0 || len(b.sim.Requests()) != 0 {
		t.Errorf("balance %+v, %d upstream requests", got, len(b.sim.Requests()))
	}
}

func TestAKeyMayBeLimitedToModels(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	c := b.call("test/one", "hi", "")
	c.Principal.Models = []string{"test/two"}
	_, _, err := b.generate(c)
	if e := app.AsError(err); e == nil || e.Kind != app.Forbidden || e.Code != "model_not_allowed" {
		t.Errorf("%v", err)
	}
	c = b.call("test/two", "hi", "")
	c.Principal.Models = []string{"test/two"}
	_, _, err = b.generate(c)
	must(t, err)
}

func TestLimitsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	for range 2 {
		_, _, err := b.generate(b.call("test/limited", "hi", ""))
		must(t, err)
	}
	r, _, err := b.generate(b.call("test/limited", "hi", ""))
	if e := app.AsError(err); e == nil || e.Code != "rate_limit_exceeded" || e.RetryAfter == 0 || r.Outcome != "refused" {
		t.Errorf("%v, %+v", err, r)
	}
	if n := len(b.finished(2)); n != 2 {
		t.Errorf("%d upstream requests", n)
	}
}

func TestDailyLimitsAndFactorsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	once := func(factor int) error {
		c := b.call("test/daily", "hi", "")
		c.LimitFactor = factor
		_, err := b.gateway.Generate(t.Context(), c, &sink{})
		return err
	}
	must(t, once(1))
	must(t, once(1))
	if e := app.AsError(once(1)); e == nil || e.Code != "rate_limit_exceeded" || !strings.Contains(e.Message, "2 requests per day") {
		t.Errorf("%v", e)
	}
	b.open(startMoney)
	for range 6 {
		must(t, once(3))
	}
	if e := app.AsError(once(3)); e == nil || !strings.Contains(e.Message, "6 requests per day") {
		t.Errorf("%v", e)
	}
}

func TestNoCreditNoCall(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	_, s, err := b.generate(b.call("test/two", "hi", ""))
	if e := app.AsError(err); e == nil || e.Kind != app.Unfunded || e.Code != "insufficient_quota" || !e.NoRetry || s.status != 0 {
		t.Errorf("%v", err)
	}
	if len(b.sim.Requests()) != 0 {
		t.Error("an upstream was called")
	}
}

func TestLittleCreditLowersTheBound(t *testing.T) {
	t.Parallel()
	credit := cost(400, 1000) // The credit covers a part of the 4096 tokens that the model may answer.
	b := setup(t, credit)
	r, s, err := b.generate(b.call("test/two", "say 400 words", `,"max_tokens":3000`))
	must(t, err)
	if !strings.Contains(s.text(), `"finish_reason":"stop"`) || r.Cost > credit || r.Cost == 0 {
		t.Errorf("cost %s of %s: %s", r.Cost, credit, s.text())
	}
	up := b.finished(1)[0]
	var sent struct {
		MaxTokens int64 `json:"max_tokens"`
	}
	must(t, json.Unmarshal([]byte(up.Body), &sent))
	if sent.MaxTokens < 256 || sent.MaxTokens > 1100 {
		t.Errorf("max_tokens %d went upstream", sent.MaxTokens)
	}
	if got := b.balance(); b.reserved() != 0 || got.Available() < 0 {
		t.Errorf("balance %+v", got)
	}
}

func TestTheCallIsCheckedAgainstConcurrencyOfItsKey(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	s := &sink{}
	inner := make(chan error, 1)
	s.hook = func([]byte) error {
		if len(inner) == 0 {
			c := b.call("test/two", "hi", "")
			c.Key = ratelimit.Key{ID: "key_one", Concurrency: 1}
			_, _, err := b.generate(c)
			inner <- err
		}
		return nil
	}
	outer := b.call("test/two", "count to 5", streamed)
	outer.Key = ratelimit.Key{ID: "key_one", Concurrency: 1}
	_, err := b.gateway.Generate(t.Context(), outer, s)
	must(t, err)
	if e := app.AsError(<-inner); e == nil || e.Code != "max_concurrency_exceeded" {
		t.Errorf("a second call at once: %v", e)
	}
	c := b.call("test/two", "hi", "")
	c.Key = ratelimit.Key{ID: "key_one", Concurrency: 1}
	_, _, err = b.generate(c)
	must(t, err)
}

// TestAPlaceIsFreeWhenTheAnswerIsThere makes a second call with a key that may make one at a time, when the first one has its last bytes.
func TestAPlaceIsFreeWhenTheAnswerIsThere(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	for _, more := range []string{"", streamed} {
		s := &sink{}
		var next error
		s.hook = func(p []byte) error {
			if more == "" || bytes.Contains(p, []byte("[DONE]")) {
				c := b.call("test/two", "hi", "")
				c.Key = ratelimit.Key{ID: "key_one", Concurrency: 1}
				_, _, next = b.generate(c)
			}
			return nil
		}
		c := b.call("test/two", "count to 5", more)
		c.Key = ratelimit.Key{ID: "key_one", Concurrency: 1}
		_, err := b.gateway.Generate(t.Context(), c, s)
		must(t, err)
		if next != nil {
			t.Errorf("%q: the next call: %v", more, next)
		}
	}
}

var _ gateway.StreamWriter = (*sink)(nil)
