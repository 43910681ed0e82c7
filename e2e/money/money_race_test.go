package money

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/e2e/harness"
)

const (
	raceCalls = 200
	// raceFits is the number of holds that the balance has room for.
	raceFits = 10
	// falseRefusalMax is how long a call may be refused although there is credit for it, which other replicas have yet to
	// give back.
	falseRefusalMax = 300 * time.Millisecond
)

// TestMoneyRaceForTenHolds lets many calls, in one piece and as streams, race for a balance of exactly ten holds, at one
// replica and at three, while the upstream answers no call. Ten are admitted and the others refused for lack of credit. As
// soon as the ten are settled, what they did not use is there for every replica.
func TestMoneyRaceForTenHolds(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t, "--token-interval", "0s")
	hold := holdOf(t, g, raceBody(0))
	second, third := harness.StartReplica(t, g), harness.StartReplica(t, g)
	second.StopAtEnd(t)
	third.StopAtEnd(t)
	for name, replicas := range map[string][]*harness.Gateway{"one replica": {g}, "three replicas": {g, second.Gateway, third.Gateway}} {
		r := &moneyRace{Customer: g.NewCustomerWithoutCredit(t, "ten"), replicas: replicas}
		r.SetLimits(t, 1000)
		r.SetAvailable(t, raceFits*hold)
		before := r.SettledBalance(t, r.AccountID)
		stop := r.watch(t)
		shown := r.run(t)
		shown += r.goesOn(t)
		stop()
		after := r.SettledBalance(t, r.AccountID)
		if before.Posted != raceFits*hold || before.Posted-after.Posted != shown || after.Held != 0 {
			t.Errorf("%s: %d shown, balance %+v → %+v", name, shown, before, after)
		}
	}
	g.CheckLedger(t)
}

// raceBody is a call in one piece or a stream, by its number. All reserve the same.
func raceBody(i int) string {
	more := []string{`"max_tokens":100`}
	if i%2 == 1 {
		more = append(more, `"stream":true`, `"stream_options":{"include_usage":true}`)
	}
	// The hold depends on the length of the body, so all bodies have the same length.
	return fmt.Sprintf("%-200s", harness.ChatRequest(harness.CheapModel, fmt.Sprintf("echo: call %03d", i), more...))
}

// moneyRace is a customer who calls several replicas at once.
type moneyRace struct {
	harness.Customer

	replicas []*harness.Gateway
	// admitted counts streams.
	admitted atomic.Int64
}

// at is a replica as the customer calls it.
func (r *moneyRace) at(i int) *harness.Gateway {
	g := *r.replicas[i%len(r.replicas)]
	g.APIKey = r.APIKey
	return &g
}

// watch insists that no more is ever held than there is, until it is stopped.
func (r *moneyRace) watch(t *testing.T) (stop func()) {
	t.Helper()
	db := r.DB(t)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for samples := 0; ; samples++ {
			var b harness.Balance
			if err := db.Get(&b, `select posted_nanos, held_nanos from credit_accounts where id = $1`, r.AccountID); err != nil {
				t.Error(err)
			}
			if b.Posted < b.Held || b.Held < 0 {
				t.Errorf("after %d samples the balance is %+v", samples, b)
			}
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// run makes all calls and returns what those that were admitted cost.
func (r *moneyRace) run(t *testing.T) int64 {
	t.Helper()
	r.CallSimulator(t, "POST", "/_control/hold", "")
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	var all, refused sync.WaitGroup
	refused.Add(raceCalls - raceFits)
	var succeeded, unfunded, shown atomic.Int64
	for i := range raceCalls {
		all.Go(func() {
			a, err := r.at(i).TryCall(ctx, "POST", "/v1/chat/completions", raceBody(i), "X-Error-Status", "standard")
			switch {
			case err != nil:
				t.Errorf("call %d: %v", i, err)
			case a.Status == http.StatusOK:
				succeeded.Add(1)
				shown.Add(harness.ShownCost(t, a.Body))
				return
			case a.Status == http.StatusPaymentRequired && strings.Contains(a.Body, `"insufficient_quota"`):
				unfunded.Add(1)
			default:
				t.Errorf("call %d: status %d: %s", i, a.Status, a.Body)
			}
			if unfunded.Load() <= raceCalls-raceFits {
				refused.Done()
			}
		})
	}
	r.CallSimulator(t, "GET", fmt.Sprintf("/_control/waiting?at_least=%d&timeout=20s", raceFits), "")
	refused.Wait()
	r.CallSimulator(t, "POST", "/_control/release", "")
	all.Wait()
	if succeeded.Load() != raceFits || unfunded.Load() != raceCalls-raceFits {
		t.Errorf("%d succeeded, %d were refused for lack of credit", succeeded.Load(), unfunded.Load())
	}
	return shown.Load()
}

// goesOn calls every replica at once, which must not be refused for long now that there is credit for them, and returns
// what the calls cost.
func (r *moneyRace) goesOn(t *testing.T) int64 {
	t.Helper()
	settled := time.Now()
	var shown atomic.Int64
	var all sync.WaitGroup
	for i := range r.replicas {
		all.Go(func() {
			for {
				began := time.Now()
				a := r.at(i).Call(t, "POST", "/v1/chat/completions", raceBody(i), "X-Error-Status", "standard")
				if a.Status == http.StatusOK {
					shown.Add(harness.ShownCost(t, a.Body))
					return
				}
				if a.Status != http.StatusPaymentRequired || began.Sub(settled) > falseRefusalMax {
					t.Errorf("%s after all was settled replica %d says %d: %s", began.Sub(settled), i, a.Status, a.Body)
					return
				}
			}
		})
	}
	all.Wait()
	return shown.Load()
}

// TestMoneyRaceOfSlices lets streams that name no maximum take slice after slice from a balance that is too small for
// them, at three replicas, while every third client that was let in leaves. No more is charged than there was, all that was delivered to
// those who stayed is charged, and at least one stream ends with the error for exhausted credit.
func TestMoneyRaceOfSlices(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	g.AddModels(t, harness.Model{ID: "test/sliced", UpstreamModel: "sim+pace=1ms"})
	second, third := harness.StartReplica(t, g), harness.StartReplica(t, g)
	second.StopAtEnd(t)
	third.StopAtEnd(t)
	r := &moneyRace{Customer: g.NewCustomerWithoutCredit(t, "slices"), replicas: []*harness.Gateway{g, second.Gateway, third.Gateway}}
	r.SetLimits(t, 1000)
	const credit = 20_000_000
	r.SetAvailable(t, credit)
	stop := r.watch(t)
	streams := make([]raceStream, 24)
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() { streams[i] = r.stream(t, i) })
	}
	all.Wait()
	var charged int64
	reasons := map[string]int{}
	for i, s := range streams {
		if s.id == "" {
			reasons["unfunded"]++
			continue
		}
		one := r.UsageRecord(t, s.id)
		charged += one.Cost
		reasons[one.Reason]++
		if one.Cost > one.Reserved || !s.left && one.Output != s.delivered || s.left && one.Output+harness.CheckpointLagMax < s.delivered {
			t.Errorf("stream %d delivered %d tokens, the record is %+v", i, s.delivered, one)
		}
	}
	stop()
	if b := r.SettledBalance(t, r.AccountID); charged > credit || b.Posted != credit-charged || b.Held != 0 {
		t.Errorf("%d of %d are charged, the balance is %+v", charged, credit, b)
	}
	if reasons["credit_ran_out"] == 0 || reasons["client_left"] == 0 {
		t.Errorf("the streams ended as %v", reasons)
	}
	g.CheckLedger(t)
}

// raceStream is what a client saw of a stream; it has no id when it was refused.
type raceStream struct {
	id        string
	delivered int64
	left      bool
}

// stream reads a stream to its end, or leaves it.
func (r *moneyRace) stream(t *testing.T, i int) (s raceStream) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	req, err := r.at(i).NewRequest(ctx, "POST", "/v1/chat/completions", harness.ChatRequest("test/sliced", "count to 5200", `"stream":true`), "X-Error-Status", "standard")
	if err != nil {
		t.Error(err)
		return s
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		t.Error(err)
		return s
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusPaymentRequired {
			t.Errorf("stream %d: status %d: %s", i, resp.StatusCode, text)
		}
		return s
	}
	nth := r.admitted.Add(1)
	s.id, s.left = resp.Header.Get("X-Request-Id"), nth%3 == 2
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if line := lines.Text(); strings.Contains(line, `"content":"`) && !strings.Contains(line, `"content":""`) {
			s.delivered++
		}
		if s.left && s.delivered > 50*nth {
			return s
		}
	}
	if err := lines.Err(); err != nil {
		t.Errorf("stream %d: %v", i, err)
	}
	s.left = false
	return s
}
