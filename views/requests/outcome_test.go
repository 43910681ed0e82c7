package requests

import (
	"strings"
	"testing"
	"time"

	"umg/views"
)

func callOf(outcome, code string, attempts ...TrailAttempt) Detail {
	return Detail{
		Request: LoggedRequest{Provider: "kestrel", Request: views.Request{
			Model: "meridian/atlas-large", Outcome: outcome, ErrorCode: code, Duration: time.Second,
		}},
		Attempts: len(attempts), Trail: Trail{Funded: time.Millisecond, Attempts: attempts},
	}
}

func TestTheTitleOfACallSaysWhatHappened(t *testing.T) {
	t.Parallel()
	failed := func(status int, cause string) TrailAttempt {
		return TrailAttempt{Provider: "kestrel", Status: status, Cause: cause, Start: time.Millisecond, Took: time.Millisecond}
	}
	cases := map[string]Detail{
		"Answered":                                       callOf("succeeded", ""),
		"Failed: provider overloaded":                    callOf("failed", "upstream_error", failed(503, "server_error")),
		"Failed: provider error":                         callOf("failed", "upstream_error", failed(500, "server_error")),
		"Failed: no connection to the provider":          callOf("failed", "upstream_error", failed(0, "connect")),
		"Failed: provider rate limit":                    callOf("failed", "rate_limit_exceeded", failed(429, "rate_limited")),
		"Failed: the request was not valid":              callOf("failed", "invalid_request_error", failed(400, "refused")),
		"Failed: odd_code":                               callOf("failed", "odd_code"),
		"Refused: not enough credit":                     callOf("refused", "insufficient_quota"),
		"Timed out: the provider did not answer in time": callOf("timed_out", "upstream_timeout"),
		"You disconnected":                               callOf("client_left", closedByClient),
	}
	for want, call := range cases {
		if got := call.Title(); got != want+" · meridian/atlas-large" {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

func TestOnlyAnAnswerNamesWhoAnswered(t *testing.T) {
	t.Parallel()
	tried := TrailAttempt{Provider: "kestrel", Cause: "connect"}
	began := callOf("cut", "upstream_error", tried)
	began.Request.FirstByte = time.Millisecond
	for name, c := range map[string]struct {
		call Detail
		want string
	}{
		"answered": {callOf("succeeded", "", TrailAttempt{}), "Answered by"}, "cut off": {began, "Answered by"},
		"failed": {callOf("failed", "upstream_error", tried), "Last tried"}, "never sent": {callOf("failed", "no_available_provider"), ""},
		"timed out": {callOf("timed_out", "upstream_timeout", tried), "Last tried"},
	} {
		if got := c.call.providerLabel(); got != c.want {
			t.Errorf("%s: %q instead of %q", name, got, c.want)
		}
	}
}

// Every moment of a call belongs to a step that names it.
func TestTheTimelineAccountsForAllTime(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	trail := func(d *Detail, attempts ...TrailAttempt) {
		d.Trail = Trail{Door: ms, Body: 2 * ms, Checked: ms, Admitted: 2 * ms, Funded: 4 * ms, Attempts: attempts}
		d.Attempts = len(attempts)
	}
	answered, failed, unsent := callOf("succeeded", ""), callOf("failed", "upstream_error"), callOf("failed", "no_available_provider")
	trail(&answered, TrailAttempt{Provider: "a", Cause: "server_error", Start: 5 * ms, Took: 20 * ms},
		TrailAttempt{Provider: "b", Start: 60 * ms, First: 100 * ms})
	trail(&failed, TrailAttempt{Provider: "a", Cause: "connect", Start: 4 * ms, Took: 20 * ms},
		TrailAttempt{Provider: "b", Cause: "reset", Start: 10 * ms, Took: 90 * ms})
	trail(&unsent)
	for name, c := range map[string]struct {
		call Detail
		gaps string
	}{
		"answered": {answered, gapPrepare + "," + gapBackOff}, "failed": {failed, gapEnd}, "unsent": {unsent, gapUnsent},
	} {
		covered := -c.call.Trail.Door - c.call.Trail.Body
		var gaps []string
		for _, s := range c.call.trailSteps() {
			if s.took <= 0 {
				continue
			}
			if s.begun > covered {
				t.Errorf("%s: nothing accounts for %v to %v", name, covered, s.begun)
			}
			covered = max(covered, s.begun+s.took)
			switch s.title {
			case gapPrepare, gapBackOff, gapMore, gapEnd, gapUnsent:
				gaps = append(gaps, s.title)
			}
		}
		if covered != c.call.Request.Duration {
			t.Errorf("%s: the steps end at %v", name, covered)
		}
		if got := strings.Join(gaps, ","); got != c.gaps {
			t.Errorf("%s: the gaps are %s", name, got)
		}
	}
}

func TestTheCommandOfACallHasItsStoredBody(t *testing.T) {
	t.Parallel()
	d := callOf("succeeded", "")
	d.Request.Style, d.BaseURL = "chat", "https://gateway.example/v1"
	if got := d.curl(); !strings.Contains(got, `"content": "…"`) || d.hasBody() {
		t.Error(got)
	}
	d.Content = CallContent{State: ContentKept, Request: ContentText{Text: `{"model":"m","messages":[]}`, JSON: true}}
	if got := d.curl(); !strings.HasSuffix(got, `-d '{"model":"m","messages":[]}'`) || d.curlSaid() != "Copied as cURL, with its content" {
		t.Error(got)
	}
	for _, change := range []func(*CallContent){
		func(c *CallContent) { c.Redacted = 1 }, func(c *CallContent) { c.Request.Cut = true },
	} {
		cut := d
		change(&cut.Content)
		if cut.hasBody() {
			t.Errorf("a body that is not whole is part of the command: %+v", cut.Content)
		}
	}
}
