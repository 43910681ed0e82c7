package protocols

import (
	"encoding/json"
	"slices"
	"testing"

	"umg/e2e/harness"
)

// stopCase is a row of stop sequences. The gateway watches for them itself where the upstream's style cannot say them.
type stopCase struct {
	name string
	// everyPair is true when every client asks every upstream; otherwise it runs in oncePerStyle.
	everyPair bool

	stops  []string
	prompt string
	text   string
	met    string
	// blank is true when a sequence is white space only, which not every style accepts.
	blank bool
}

var stopCases = []stopCase{
	{name: "across tokens", everyPair: true, stops: []string{"ta STO"}, prompt: "echo: alpha beta STOP gamma", text: "alpha be",
		met: "ta STO"},
	{name: "four", stops: []string{"one!", "two!", "three!", "🎈 u"}, prompt: "echo: Grüße 🎈 und mehr", text: "Grüße ", met: "🎈 u"},
	{name: "five", stops: []string{"1!", "2!", "3!", "4!", "ööö"}, prompt: "echo: aöbööc öööd", text: "aöbööc ", met: "ööö"},
	{name: "six", everyPair: true, stops: []string{"1!", "2!", "3!", "4!", "5!", " 30"}, prompt: "count to 5000", met: " 30",
		text: "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29"},
	{name: "blank", stops: []string{"\n\n"}, prompt: "echo: a verse\nand\n\nanother", text: "a verse\nand", met: "\n\n", blank: true},
	{name: "none met", stops: []string{"never", "nowhere"}, prompt: "echo: now and nev", text: "now and nev"},
	{name: "met at once", stops: []string{"now"}, prompt: "echo: now and then", met: "now"},
}

// testMatrixStops lets every style that can say stop sequences say them, to the upstreams of each case.
func testMatrixStops(m *matrix, t *testing.T) {
	for _, c := range stopCases {
		for _, p := range cells(c.everyPair) {
			if len(c.stops) > p.client.stops || c.blank && p.client.style == "messages" {
				// The client's own style has no stop sequences.
				continue
			}
			for _, stream := range []bool{false, true} {
				t.Run(c.name+"/"+p.String()+"/"+modeOf(stream), func(t *testing.T) {
					t.Parallel()
					m.stopped(t, &c, p, stream)
				})
			}
		}
	}
}

func (m *matrix) stopped(t *testing.T, c *stopCase, p pair, stream bool) {
	t.Helper()
	watched := len(c.stops) > p.upstream.stops || c.blank && p.upstream.style == "messages"
	q := question{model: p.model(), stream: stream, stops: c.stops, turns: says(c.prompt)}
	r, s := m.ask(t, p.client, q)
	if r.text() != c.text {
		t.Errorf("the text is %q", r.text())
	}
	finish, stop := "end", ""
	if p.client.tells && c.met != "" && (watched || p.upstream.tells) {
		finish, stop = "stop", c.met
	}
	if r.finish != finish || r.stop != stop {
		t.Errorf("the answer ends with %q at %q: %s", r.finish, r.stop, s.Body)
	}
	if cut := watched && c.met != ""; s.record.Estimated != cut || s.record.Streamed != stream {
		t.Errorf("recorded is %+v", s.record)
	}
	list := m.arrived(t, s.mark)
	if len(list) != 1 {
		t.Fatalf("%d requests reached the upstream", len(list))
	}
	top := m.schemas.received(t, p.upstream.style, list[0].Body)
	raw := top[map[string]string{"chat": "stop", "messages": "stop_sequences"}[p.upstream.style]]
	if config := top["generationConfig"]; config != nil {
		raw = harness.DecodeJSON[map[string]json.RawMessage](t, string(config))["stopSequences"]
	}
	var said []string
	if raw != nil {
		said = harness.DecodeJSON[[]string](t, string(raw))
	}
	if watched != (said == nil) || said != nil && !slices.Equal(said, c.stops) {
		t.Errorf("the upstream was told of %q", said)
	}
}
