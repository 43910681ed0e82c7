package gateway_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"umg/app/llm"
)

// TestAPartOfAnAnswerCostsNoMoreThanTheWhole records streams of every style, in plain and in other alphabets, with thoughts and with
// calls, and lets the same stream be cut anywhere, by its provider or by the client.
func TestAPartOfAnAnswerCostsNoMoreThanTheWhole(t *testing.T) {
	t.Parallel()
	const cuts = 12
	prose := strings.Repeat("The harbour wakes slowly, and the boats that came in by night lie side by side along the quay. ", 6)
	han := strings.Repeat("港 口 慢 慢 醒 来 夜 里 归 来 的 船 只 并 排 停 靠 在 码 头 旁 ", 6) // Spaces make the simulator count each character as a word.
	all := setup(t, startMoney)
	seed := rand.Uint64()
	draw := rand.New(rand.NewPCG(seed, 1))
	test := func(b *bench, client, upstream llm.Style) {
		for name, a := range map[string]asked{
			"numbers":  {prompt: "count to 60"},
			"thoughts": {prompt: "count to 40", thinks: true, system: prose},
			"prose":    {prompt: "echo: " + prose, system: prose},
			"Chinese":  {prompt: "echo: " + han, system: han},
			"a call":   {prompt: "call get_weather: " + han, tool: true},
		} {
			a.stream, a.bound = true, 3000
			var whole []byte
			b.open(startMoney)
			b.answerWith(b.rewriting(func(answer []byte) []byte {
				// The simulator counts words in the arguments of a call, and real tokens are shorter than words.
				if a.tool {
					answer = outputCounts.ReplaceAll(answer, []byte(`"$1":60`))
				}
				whole = bytes.Clone(answer)
				return answer
			}))
			full, _, err := b.generate(b.styledCall(client, on(upstream), a))
			must(b.t, err)
			if full.Estimated || len(whole) == 0 || full.Cost == 0 {
				b.t.Fatalf("%s: report %+v", name, full)
			}
			for range cuts {
				b.open(startMoney)
				n := draw.IntN(len(whole))
				b.answerWith(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = w.Write(whole[:n])
				}))
				ctx, leave := context.WithCancel(b.t.Context())
				s := &sink{}
				if n%2 == 0 {
					s.hook = func([]byte) error { leave(); return nil }
				}
				r, _ := b.gateway.Generate(ctx, b.styledCall(client, on(upstream), a), s)
				leave()
				if r.Cost > full.Cost || r.Usage[0] > full.Usage[0] || r.Usage[3]+r.Usage[4] > full.Usage[3]+full.Usage[4] {
					b.t.Errorf("seed %d, %s: %d of %d bytes cost %s and the whole %s\n%+v\n%+v", seed, name, n, len(whole), r.Cost, full.Cost, r, full)
				}
				b.settled(r.Cost)
			}
		}
		b.answerWith(b.sim)
	}
	for _, turn := range []int{0, 1 + draw.IntN(len(llm.Styles())-1)} { // The first passes through, the second is translated.
		eachStyle(t, " stream", turn, all, test)
	}
}
