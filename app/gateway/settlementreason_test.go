package gateway_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/gateway"
	"umg/billing"
	"umg/billing/lease"
)

// TestEveryEndingHasItsReason makes calls end in each way and holds what is recorded against the row of the table.
func TestEveryEndingHasItsReason(t *testing.T) {
	t.Parallel()
	patient, hasty := setup(t, startMoney), build(t, startMoney, hastyWait)
	for _, c := range []struct {
		prompt, fault, more string
		reason              billing.Reason
		form                string // Form is json or stream, if only one of them ends this way.
	}{
		{"count to 9", "", "", billing.ReasonCompleted, ""},
		{"count to 9", "usage=none", "", billing.ReasonUsageMissing, ""},
		{"count to 9", "usage=1000000", "", billing.ReasonUsageImplausible, ""},
		{"refuse: it", "", "", billing.ReasonFiltered, ""},
		{"block: it", "", "", billing.ReasonFiltered, ""},
		{"block: it", "usage=none", "", billing.ReasonFilteredUnanswered, ""},
		{"echo: ", "usage=none", "", billing.ReasonNoContent, "stream"},
		{"count to 9", "endless", `,"max_tokens":20`, billing.ReasonLengthEnforced, "stream"},
		{"count to 9", "end-after=1", "", billing.ReasonUpstreamFailed, "stream"},
		{"count to 9", "status=422", "", billing.ReasonRequestRefused, ""},
		{"count to 9", "status=500", "", billing.ReasonUpstreamFailed, ""},
		{"count to 9", "truncated-json", "", billing.ReasonUpstreamFailed, "json"},
		{"count to 99", "cut-after=10t", "", billing.ReasonUpstreamBrokeOff, "stream"},
		{"count to 99", "error-after=10t;status=503", "", billing.ReasonUpstreamBrokeOff, "stream"},
		{"count to 9", "stall", "", billing.ReasonTimedOutUnanswered, ""},
		{"count to 99", "stall-after=10t", "", billing.ReasonTimedOut, "stream"},
	} {
		for form, more := range map[string]string{"json": "", "stream": withUsage} {
			if c.form != "" && c.form != form {
				continue
			}
			t.Run(strings.Join([]string{c.prompt, c.fault, form}, " "), func(t *testing.T) {
				b := patient.fresh(t)
				if strings.HasPrefix(c.fault, "stall") {
					b = hasty.fresh(t)
				}
				if c.fault != "" {
					b.fault("alpha", c.fault)
				}
				r, _, _ := b.generate(b.call("test/one", c.prompt, c.more+more))
				rule, u := billing.RuleOf(c.reason), b.record()
				if r.Reason != c.reason || billing.Reason(u.Reason) != c.reason {
					t.Fatalf("the reason is %s, recorded is %s, not %s", r.Reason, u.Reason, c.reason)
				}
				if u.Outcome != rule.Outcome || r.Outcome != rule.Outcome || u.Estimated != rule.Estimated || r.Estimated != rule.Estimated {
					t.Errorf("record %+v, the table says %+v", u, rule)
				}
				if free := rule.Charge == billing.ChargeNothing; free != (u.Cost == 0) || (rule.Charge == billing.ChargeReserve) != (u.Overrun > 0) || u.Overrun > 0 && u.Cost != u.Reserved {
					t.Errorf("%s of %s are charged, %s overrun, by %s", u.Cost, u.Reserved, u.Overrun, rule.Charge)
				}
				b.settled(r.Cost)
			})
		}
	}
}

func TestACallThatIsEndedOnOurSide(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	closing := app.Errorf(app.Unavailable, "shutting_down", "The server is shutting down.")
	for spec, reason := range map[string]billing.Reason{"stall": billing.ReasonStoppedUnanswered, "stall-after=10t": billing.ReasonStopped} {
		b := all.fresh(t)
		b.fault("alpha", spec)
		ctx, end := context.WithCancelCause(t.Context())
		s := &sink{hook: func(p []byte) error {
			if strings.Contains(string(p), `" 5"`) {
				end(closing)
			}
			return nil
		}}
		if spec == "stall" {
			h, waits := waiting(func(http.ResponseWriter) {})
			b.answerWith(h)
			go func() {
				<-waits
				end(closing)
			}()
		}
		r, _ := b.gateway.Generate(ctx, b.call("test/one", "count to 60", streamed), s)
		end(nil)
		b.answerWith(b.sim)
		if u := b.record(); r.Reason != reason || billing.Reason(u.Reason) != reason || u.ErrorCode != "shutting_down" || (u.Cost > 0) != (reason == billing.ReasonStopped) {
			t.Errorf("%s: record %+v", spec, u)
		}
	}
}

func TestAClientThatLeavesAWholeAnswerPaysForAllOfIt(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s := &sink{hook: func(p []byte) error {
		if strings.Contains(string(p), `" 20"`) {
			leave() // The rest of the answer has arrived already.
		}
		return nil
	}}
	r, err := b.gateway.Generate(ctx, b.call("test/one", "count to 20", withUsage), s)
	must(t, err)
	if u := b.record(); u.Reason != "client_left_at_end" && u.Reason != "client_left" || u.Outcome != "client_left" || r.Usage[3] != 20 {
		t.Errorf("record %+v", u)
	}
	b.settled(r.Cost)
}

// TestWhatACrashCutIsChargedAtItsLastMark lets another run of the replica find the marks of calls that never ended.
func TestWhatACrashCutIsChargedAtItsLastMark(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for spec, reason := range map[string]billing.Reason{"stall": billing.ReasonCrashedUnanswered, "stall-after=100t": billing.ReasonCrashed} {
		b := all.fresh(t)
		b.fault("alpha", spec)
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan *gateway.Report, 1)
		s := &sink{}
		call := b.call("test/one", "count to 500", streamed)
		go func() {
			r, _ := b.gateway.Generate(ctx, call, s)
			ended <- r
		}()
		most := int64(0)
		if reason == billing.ReasonCrashed {
			most = 65 // The mark covers a part of the hundred tokens that are delivered.
		}
		b.marked(call.ID, reason, most)
		bank := lease.OpenBank(b.db, time.Now, b.ids)
		next, err := lease.New(lease.Options{Bank: bank, Registry: bank, ReplicaID: b.replica, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		must(t, err)
		must(t, next.Recover(t.Context()))
		u := b.record()
		frames := int64(strings.Count(s.text(), `"content":"`))
		if billing.Reason(u.Reason) != reason || u.Outcome != billing.RuleOf(reason).Outcome || u.Usage[3] > frames || frames-u.Usage[3] > 64 || (u.Cost > 0) != (reason == billing.ReasonCrashed) {
			t.Errorf("%s: %d frames, record %+v", spec, frames, u)
		}
		if got := b.balance().Posted; got != startMoney-u.Cost {
			t.Errorf("%s: posted %s for %s", spec, got, u.Cost)
		}
		leave()
		<-ended
		if again := b.record(); again.Reason != u.Reason || again.Cost != u.Cost || b.balance().Posted != startMoney-u.Cost {
			t.Errorf("%s: the record became %+v", spec, again)
		}
		all = setup(t, startMoney) // The lease manager of the previous bench has lost its run.
	}
}

// marked waits until the books know the mark of a call with so many tokens.
func (b *bench) marked(id string, reason billing.Reason, tokens int64) {
	b.t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for n := 0; n == 0; {
		must(b.t, b.db.Get(&n, `select count(*) from call_checkpoints where request_id = $1 and record ->> 'reason' = $2 and
			coalesce((record -> 'meters' ->> 3)::bigint, 0) >= $3`, id, string(reason), tokens))
		if n == 0 && time.Now().After(deadline) {
			b.t.Fatalf("no mark of %s with %s", id, reason)
		}
		time.Sleep(5 * time.Millisecond) // The test polls, because the store sends no notification.
	}
}
