package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// styledProviders are providers of the default catalog that speak the styles.
var styledProviders = map[string]string{"chat": "meridian", "messages": "quillon", "responses": "tessera", "native": "boreal"}

// addStyled adds one model for each style of upstream, all at one price, whose simulator follows the directives. It returns
// their ids by style.
func (g *gateway) addStyled(t *testing.T, name, does string) map[string]string {
	t.Helper()
	ids, models := styledModels(name, does)
	g.addModels(t, models...)
	return ids
}

func styledModels(name, does string) (ids map[string]string, models []model) {
	ids = map[string]string{}
	for style, provider := range styledProviders {
		ids[style] = "test/" + name + "-" + style
		models = append(models, model{id: ids[style], upstream: "sim-" + style + does, provider: provider, speaks: style, more: everything})
	}
	return ids, models
}

var costShown = regexp.MustCompile(`"cost":([0-9.]+)`)

// costIn is the one cost that an answer shows, in one piece or streamed.
func costIn(t *testing.T, body string) int64 {
	t.Helper()
	all := costShown.FindAllStringSubmatch(body, -1)
	if len(all) != 1 {
		t.Errorf("%d costs are shown in %s", len(all), body)
		return 0
	}
	return nanos(t, all[0][1])
}

// call is a request of a style to a model, and how it is to be answered.
type styledCall struct {
	protocol

	body   string
	stream bool
}

// styledCalls are one call for each style, each upstream, in one piece and streamed.
func styledCalls(ids map[string]string, prompt string, members func(p protocol) []string) []styledCall {
	var all []styledCall
	for _, p := range allProtocols() {
		for _, id := range ids {
			for _, stream := range []bool{false, true} {
				more := members(p)
				if stream {
					more = append(more, `"stream":true`)
				}
				if stream && p.style == "chat" {
					more = append(more, `"stream_options":{"include_usage":true}`)
				}
				all = append(all, styledCall{p, p.ask(id, prompt, more...), stream})
			}
		}
	}
	return all
}

// TestMoneyOfEveryPairOfStylesLeavesTheBalance adds up what all pairs of styles show, and holds it against the balance.
func TestMoneyOfEveryPairOfStylesLeavesTheBalance(t *testing.T) {
	t.Parallel()
	g := start(t, "--token-interval", "0s")
	c := g.newCustomer(t, "pairs")
	c.setLimits(t, 1000)
	before := c.balanceOf(t, c.accountID)
	var shown atomic.Int64
	var all sync.WaitGroup
	calls := styledCalls(g.addStyled(t, "pair", ""), "count to 30", func(protocol) []string { return nil })
	for _, one := range calls {
		all.Go(func() {
			a := one.send(t, c, one.body)
			if a.status != http.StatusOK {
				t.Errorf("%s: status %d: %s", one.style, a.status, a.body)
				return
			}
			cost := costIn(t, a.body)
			shown.Add(cost)
			if r := c.record(t, a.header.Get("X-Request-Id")); r.Cost != cost || cost == 0 || r.Estimated || r.Output != 30 {
				t.Errorf("%s shows %d, recorded is %+v", one.style, cost, r)
			}
		})
	}
	all.Wait()
	if after := c.balanceOf(t, c.accountID); before.Posted-after.Posted != shown.Load() || after.Held != 0 {
		t.Errorf("before %+v, shown %d, after %+v", before, shown.Load(), after)
	}
	c.books(t)
}

// TestMoneyOverspendAcrossStyles lets calls of every style, to upstreams of every style, race for a balance that a few
// of them use up, while no upstream answers: the rest are refused for lack of credit, each in its own words, and what
// the few were shown is what is gone.
func TestMoneyOverspendAcrossStyles(t *testing.T) {
	t.Parallel()
	g := start(t, "--token-interval", "0s")
	c := g.newPauper(t, "race")
	c.setLimits(t, 1000)
	ids := g.addStyled(t, "race", "")
	calls := styledCalls(ids, "count to 30", func(p protocol) []string { return []string{p.bounded(100)} })
	calls = append(calls, calls...)
	c.setAvailable(t, 5_000_000)
	start := c.balanceOf(t, c.accountID)
	g.simulator(t, "POST", "/_control/hold", "")
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	var refused, succeeded, shown atomic.Int64
	var all sync.WaitGroup
	for _, one := range calls {
		all.Go(func() {
			a, err := c.tryCall(ctx, http.MethodPost, one.path, one.body, "X-Error-Status", "standard")
			switch {
			case err != nil:
				t.Error(err)
			case a.status == http.StatusOK:
				succeeded.Add(1)
				shown.Add(costIn(t, a.body))
			default:
				one.fails(t, a, "unfunded", "insufficient_quota", "")
				refused.Add(1)
			}
		})
	}
	admitted := int64(0)
	for deadline := time.Now().Add(callTimeMax); refused.Load()+admitted < int64(len(calls)) && time.Now().Before(deadline); {
		path := fmt.Sprintf("/_control/waiting?at_least=%d&timeout=100ms", int64(len(calls))-refused.Load())
		admitted = parse[struct{ Count int64 }](t, g.simulator(t, "GET", path, "")).Count
	}
	if b, _ := c.balanceNow(t, c.accountID); b.Posted < b.Held || admitted == 0 {
		t.Errorf("%d calls hold more than there is: %+v", admitted, b)
	}
	g.simulator(t, "POST", "/_control/release", "")
	all.Wait()
	after := c.balanceOf(t, c.accountID)
	if succeeded.Load() == 0 || refused.Load() == 0 || succeeded.Load()+refused.Load() != int64(len(calls)) ||
		start.Posted-after.Posted != shown.Load() || after.Held != 0 || after.Posted < 0 {
		t.Errorf("%d succeeded, %d were refused, balance %+v → %+v, shown %d", succeeded.Load(), refused.Load(), start, after, shown.Load())
	}
	c.books(t)
}
