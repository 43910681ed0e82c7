package gateway_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/gateway"
	"umg/billing"
)

// early are faults that leave nothing to deliver.
var early = []struct {
	spec         string
	kind         app.Kind
	code         string
	status       int
	onlyJSON     bool
	onlyStream   bool
	attemptsMore int // AttemptsMore counts further attempts on the same route.
	refused      bool
}{
	{spec: "status=500", kind: app.Upstream, code: "upstream_error", attemptsMore: 1},
	{spec: "status=503;retry-after=0.1", kind: app.Upstream, code: "upstream_error", attemptsMore: 1},
	{spec: "status=529;retry-after=30", kind: app.Upstream, code: "upstream_error"},
	{spec: "status=429", kind: app.Exhausted, code: "rate_limit_exceeded", attemptsMore: 1},
	{spec: "status=429;retry-after=30", kind: app.Exhausted, code: "rate_limit_exceeded"},
	{spec: "auth", kind: app.Unavailable, code: "no_available_provider"},
	{spec: "status=403", kind: app.Unavailable, code: "no_available_provider"},
	{spec: "status=404", kind: app.Unavailable, code: "no_available_provider"},
	{spec: "status=422;code=odd_value", kind: app.Upstream, code: "odd_value", status: 422, refused: true},
	{spec: "error-in-200", kind: app.Upstream, code: "upstream_error", attemptsMore: 1},
	{spec: "error-in-200;status=429", kind: app.Exhausted, code: "rate_limit_exceeded", attemptsMore: 1},
	{spec: "reset", kind: app.Upstream, code: "upstream_error", attemptsMore: 1},
	{spec: "stall", kind: app.Timeout, code: "upstream_timeout"},
	{spec: "html", kind: app.Upstream, code: "upstream_error"},
	{spec: "empty", kind: app.Upstream, code: "upstream_error"},
	{spec: "gzip=100000", kind: app.Upstream, code: "upstream_error"},
	{spec: "headers=10000", kind: app.Upstream, code: "upstream_error"},
	{spec: "header-bytes=1000000", kind: app.Upstream, code: "upstream_error"},
	{spec: "content-type=text/plain", kind: app.Upstream, code: "upstream_error"},
	{spec: "redirect", kind: app.Upstream, code: "upstream_error"},
	{spec: "slow-drip=50ms", kind: app.Timeout, code: "upstream_timeout"},
	{spec: "truncated-json", kind: app.Upstream, code: "upstream_error", onlyJSON: true},
	{spec: "huge-line=34000000", kind: app.Upstream, code: "upstream_error"},
	{spec: "reset-after=0", kind: app.Upstream, code: "upstream_error", attemptsMore: 1},
	{spec: "cut-after=1", kind: app.Upstream, code: "upstream_error", attemptsMore: 1},
	{spec: "stall-after=1", kind: app.Timeout, code: "upstream_timeout"},
	{spec: "end-after=1", kind: app.Upstream, code: "upstream_error", onlyStream: true},
	{spec: "error-after=1;status=503", kind: app.Upstream, code: "upstream_error", onlyStream: true, attemptsMore: 1},
}

func TestFaultsBeforeContentFailOverUnseen(t *testing.T) {
	t.Parallel()
	patient, hasty := setup(t, startMoney), build(t, startMoney, hastyWait)
	for _, c := range early {
		for _, more := range []string{"", withUsage} {
			if more == "" && c.onlyStream || more != "" && c.onlyJSON || c.refused {
				continue
			}
			t.Run(c.spec+more, func(t *testing.T) {
				b := patient.fresh(t)
				if c.kind == app.Timeout {
					b = hasty.fresh(t)
				}
				b.fault("alpha", c.spec)
				r, s, err := b.generate(b.call("test/two", "count to 20", more))
				must(t, err)
				if !strings.Contains(s.text(), `"finish_reason":"stop"`) || strings.Contains(s.text(), `"error"`) || !strings.Contains(s.text(), "20") {
					t.Errorf("%s", s.text())
				}
				attempts := 2 + c.attemptsMore
				if c.kind == app.Exhausted {
					attempts = 2 // The credential is paused, so the other route comes first.
				}
				if r.Provider != "beta" || r.Attempts != attempts || r.Usage[3] != 20 || r.Estimated {
					t.Errorf("report %+v", r)
				}
				b.settled(r.Cost)
				if more != "" {
					if a := readStream(t, s.text()); a.frames != 20 || !a.done || a.usage.cost(t) != r.Cost {
						t.Errorf("%+v", a)
					}
				}
			})
		}
	}
}

func TestFaultsOfTheOnlyRouteCostNothing(t *testing.T) {
	t.Parallel()
	patient, hasty := setup(t, startMoney), build(t, startMoney, hastyWait)
	for _, c := range early {
		for _, more := range []string{"", streamed} {
			if more == "" && c.onlyStream || more != "" && c.onlyJSON {
				continue
			}
			t.Run(c.spec+more, func(t *testing.T) {
				b := patient.fresh(t)
				if c.kind == app.Timeout {
					b = hasty.fresh(t)
				}
				b.fault("alpha", c.spec)
				r, s, err := b.generate(b.call("test/one", "count to 20", more))
				e := app.AsError(err)
				if e == nil || e.Kind != c.kind || c.code != "" && e.Code != c.code || e.Status != c.status {
					t.Fatalf("%+v", e)
				}
				if s.status != 0 || s.text() != "" || r.Attempts != 1+c.attemptsMore || r.Outcome == "succeeded" {
					t.Errorf("status %d, %q, report %+v", s.status, s.text(), r)
				}
				if strings.Contains(c.spec, "retry-after=30") && c.kind == app.Exhausted && e.RetryAfter != 30*time.Second {
					t.Errorf("retry after %s", e.RetryAfter)
				}
				for _, hidden := range []string{secret, "127.0.0.1", "up-one", "alpha"} {
					if strings.Contains(e.Message, hidden) {
						t.Errorf("the message shows %s: %s", hidden, e.Message)
					}
				}
				b.settled(0)
				if u := b.record(); u.ErrorCode != e.Code || u.Outcome != r.Outcome || u.Usage != r.Usage {
					t.Errorf("record %+v", u)
				}
			})
		}
	}
}

func TestAPassingFaultIsRetriedOnTheSameRoute(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, spec := range []string{"status=503;times=1", "status=429;retry-after=0.1;times=1", "reset;times=1", "close-idle;times=1"} {
		for _, more := range []string{"", streamed} {
			t.Run(spec+more, func(t *testing.T) {
				b := all.fresh(t)
				b.fault("alpha", spec)
				r, s, err := b.generate(b.call("test/one", "count to 5", more))
				must(t, err)
				want, asked := 2, len(b.finished(1))
				if strings.HasPrefix(spec, "close-idle") {
					want = 1
				}
				// A reset of a reused connection looks like a stale connection.
				unseen := strings.HasPrefix(spec, "reset") && r.Attempts == 1
				if r.Attempts != want && !unseen || asked != want || !strings.Contains(s.text(), "stop") {
					t.Errorf("%d attempts, %d requests: %s", r.Attempts, asked, s.text())
				}
				b.settled(r.Cost)
			})
		}
	}
}

func TestConnectionsThatFail(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for model, want := range map[string]struct {
		kind     app.Kind
		code     string
		attempts int
	}{
		"test/refusing": {app.Upstream, "upstream_error", 2},
		"test/nameless": {app.Unavailable, "no_available_provider", 1},
	} {
		b := all.fresh(t)
		r, _, err := b.generate(b.call(model, "hi", ""))
		if e := app.AsError(err); e == nil || e.Kind != want.kind || e.Code != want.code || r.Attempts != want.attempts {
			t.Errorf("%s: %v after %d attempts", model, err, r.Attempts)
		}
		b.settled(0)
	}
}

// TestACallThatCostsMoreThanItsHoldExtendsIt lets a provider count more than was reserved, for accounts with credit for all of it, for a
// part of it and for none.
func TestACallThatCostsMoreThanItsHoldExtendsIt(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for name, c := range map[string]struct {
		beyond app.Amount // Beyond is the credit beside what the call reserves.
		reason billing.Reason
	}{
		"all of it": {startMoney, billing.ReasonCompleted}, "a part of it": {100_000, billing.ReasonOverrun}, "nothing": {0, billing.ReasonOverrun},
	} {
		t.Run(name, func(t *testing.T) {
			b := all.fresh(t)
			o := b.options
			log := &bytes.Buffer{}
			o.Balance, o.Log = b.ledger.Balance, slog.New(slog.NewTextHandler(log, nil))
			b.gateway = gateway.New(o)
			call := b.call("test/one", "hi", `,"max_tokens":10`)
			quote, err := b.gateway.Quote(t.Context(), call)
			must(t, err)
			credit := quote.Reserve + c.beyond
			b.open(credit)
			call.Principal.AccountID = b.account
			b.fault("alpha", "usage=70") // This is more than was asked for, and believable.
			r, s, err := b.generate(call)
			must(t, err)
			u, exact := b.record(), cost(r.Usage[0], 70)
			want := min(exact, credit)
			if r.Cost != want || u.Cost != want || u.Reserved < want || u.Cost > u.Reserved || u.Overrun != exact-want || r.Reason != c.reason {
				t.Errorf("cost %s of %s, want %s, record %+v", r.Cost, exact, want, u)
			}
			if !strings.Contains(s.text(), fmt.Sprintf(`"cost":%s`, r.Cost)) {
				t.Errorf("the client reads another cost than %s: %s", r.Cost, s.text())
			}
			if logged := strings.Contains(log.String(), "text call cost more than could be held"); logged != (u.Overrun > 0) {
				t.Errorf("the platform bears %s, and the log says %s", u.Overrun, log)
			}
			if left := b.balance().Posted; left != credit-want || b.reserved() != 0 {
				t.Errorf("%s are left and %s reserved", left, b.reserved())
			}
		})
	}
}

func TestFailoverStillWorksAfterAKeepAlive(t *testing.T) {
	t.Parallel()
	quick := func(o *gateway.Options) { o.KeepAlive = 20 * time.Millisecond }
	b := build(t, startMoney, hastyWait, quick)
	b.fault("alpha", "stall")
	r, s, err := b.generate(b.call("test/two", "count to 3", streamed))
	must(t, err)
	if a := readStream(t, s.text()); a.comments == 0 || a.err != nil || a.finish != "stop" || r.Provider != "beta" {
		t.Errorf("%q", s.text())
	}
	b.settled(r.Cost)
}

func TestAnAnswerInOnePieceHasNoKeepAlive(t *testing.T) {
	t.Parallel()
	quick := func(o *gateway.Options) { o.KeepAlive = 5 * time.Millisecond }
	b := setup(t, startMoney, quick)
	b.fault("beta", "slow-first=50ms")
	_, s, err := b.generate(b.call("test/patient", "count to 3", ""))
	must(t, err)
	if !strings.HasPrefix(s.text(), "{") || s.flushes != 1 {
		t.Errorf("%q", s.text())
	}
}
