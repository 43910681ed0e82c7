package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"umg/app"
	"umg/app/llm"
)

// mended are models whose answers another route may go on with: from every style to every style, with providers that
// begin anew and with one that takes the beginning of an answer.
func mended() string {
	var b strings.Builder
	for _, first := range llm.Styles() {
		for _, second := range llm.Styles() {
			for kind, provider := range map[string]string{"anew": "beta", "on": "gamma"} {
				fmt.Fprintf(&b, "  - {id: test/%s-%s-%s, on_cut: recover, STYLED [{provider: alpha, model: up-a, style: %s, order: 1}, "+
					"{provider: %s, model: up-b, style: %s, order: 2}]}\n", kind, first, second, first, provider, second)
			}
		}
	}
	return b.String()
}

// numbers are what "count to 40" is answered with.
func numbers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i + 1)
	}
	return strings.Join(list, " ")
}

// eachMend calls do for every style of the client, as its stream passes through or is translated, and every style of the
// provider that goes on with it.
func eachMend(t *testing.T, all *bench, do func(b *bench, client llm.Style, first, second llm.Style)) {
	t.Helper()
	for i, client := range llm.Styles() {
		for _, first := range []llm.Style{client, llm.Styles()[(i+1)%4]} {
			for _, second := range llm.Styles() {
				t.Run(fmt.Sprintf("%s of %s then %s", client, first, second), func(t *testing.T) {
					do(all.fresh(t), client, first, second)
				})
			}
		}
	}
}

func TestAStreamThatIsCutGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, kind := range []string{"anew", "on"} {
		eachMend(t, all, func(b *bench, client, first, second llm.Style) {
			b.fault("alpha", "cut-after=12t")
			r, s, err := b.generate(b.styledCall(client, "test/"+kind+"-"+string(first)+"-"+string(second), asked{prompt: "count to 40", stream: true}))
			must(b.t, err)
			h := b.listenTo(s, client, true)
			if h.text != numbers(40) || h.err != nil || !h.told || h.cost != r.Cost || r.Err != nil {
				b.t.Fatalf("%q, error %v, report %+v: %s", h.text, h.err, r, s.text())
			}
			if r.Reason != "recovered" || r.Outcome != "succeeded" || !r.Estimated || r.Attempts != 2 || r.Recovered != 1 || r.FinishReason != "stop" {
				b.t.Errorf("report %+v", r)
			}
			if r.Usage[3] < 38 || r.Usage[3] > 42 || r.Usage[0] == 0 || r.Usage[0] > 40 {
				b.t.Errorf("usage %v", r.Usage)
			}
			if u := b.record(); u.Reason != "recovered" || u.Attempts != 2 || u.Overrun != 0 {
				b.t.Errorf("record %+v", u)
			}
			b.settled(r.Cost)
			begun := strings.Contains(string(b.finished(2)[1].Body), "1 2 3 4")
			if begun != (kind == "on" && second != llm.Responses) {
				b.t.Errorf("the beginning was sent: %t", begun)
			}
		})
	}
}

var _ = app.Dollar
