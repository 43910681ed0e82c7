package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"umg/app/llm"
	"umg/app/provider/recordings"
)

const upstreamHead = `# What clients of each style read of the recorded answers in styles that only providers speak, and of the event streams of AWS. Each line has
#   the file | the style of the provider, and the recorded status when it is not 200 | the style of the client |
#   the parts of the answer with the lengths of their texts in bytes | the finish reason for the client | the usage by meter, "~" before an
#   estimate | the price in dollars | the row of the settlement table; the class of the fault, and the status and the code of the client's error.
# The prices are those of answers.txt. The test in recordings_upstream_test.go compares the lines, and rewrites them with -update.
`

// upstreamStyle is the style in which a provider speaks on the wire of a recording. It is empty for a wire on which the clients of the
// gateway speak, and one that it does not speak at all.
func upstreamStyle(r *recordings.Recording) llm.Style {
	switch r.Wire {
	case recordings.Converse, recordings.Cohere:
		return llm.Style(r.Wire)
	case recordings.AWSStream:
		return llm.Messages
	}
	return ""
}

func upstreamModel(style llm.Style) string { return "test/upstream-" + string(style) }

// setupUpstream is a bench with a provider and a model for each style of upstreamStyle.
func setupUpstream(t testing.TB) *replayBench {
	t.Helper()
	var providers, models []string
	for style, reader := range map[llm.Style]string{llm.Converse: "bedrock", llm.Cohere: "cohere", llm.Messages: "bedrock"} {
		id := "upstream-" + string(style)
		providers = append(providers, fmt.Sprintf("  - {id: %s, name: %s, usage: %s, base_url: \"${SIM}/%s\", credential: \"${SECRET}\", "+
			"timeouts: {first_byte: 10s, idle: 10s, total: 60s}}", id, id, reader, id))
		models = append(models, fmt.Sprintf("  - {id: %s, %s [{provider: %s, model: upstream-model, style: %s}]}", upstreamModel(style),
			recordedTerms, id, style))
	}
	return newReplayBench(t, providers, models)
}

// TestRecordingsOfUpstreamStyles replays each recording for clients of all four styles. They read the same texts, thoughts and calls.
func TestRecordingsOfUpstreamStyles(t *testing.T) {
	t.Parallel()
	b := setupUpstream(t)
	all, err := recordings.All()
	must(t, err)
	rows, perWire := []string{}, map[recordings.Wire]int{}
	for i := range all {
		r := &all[i]
		upstream := upstreamStyle(r)
		if upstream == "" {
			continue
		}
		perWire[r.Wire]++
		var first *answerReading
		for _, style := range llm.Styles() {
			ask := asked{prompt: "Say hello.", stream: r.Streamed, thinks: style == llm.Native}
			got := b.replay(r, style, b.styledCall(style, upstreamModel(upstream), ask).Body)
			client := readAnswer(style, got.Streamed, got.body)
			rows = append(rows, upstreamRow(r, style, got, client))
			if first == nil {
				first = client
			}
			for _, kind := range []string{"text", "thought"} {
				if client.texts(kind) != first.texts(kind) {
					t.Errorf("%s: the client of %s reads another %s: %q and %q", r.File, style, kind, client.texts(kind), first.texts(kind))
				}
			}
			if fmt.Sprint(client.calls()) != fmt.Sprint(first.calls()) {
				t.Errorf("%s: the client of %s reads other calls: %q and %q", r.File, style, client.calls(), first.calls())
			}
		}
	}
	compareTable(t, "upstream.txt", upstreamHead, rows)
	t.Logf("recordings by wire: %v", perWire)
	if perWire[recordings.Converse] < 19 || perWire[recordings.Cohere] < 14 || perWire[recordings.AWSStream] < 2 {
		t.Errorf("too few recordings: %v", perWire)
	}
}

func upstreamRow(r *recordings.Recording, style llm.Style, got replayed, client *answerReading) string {
	wire := string(upstreamStyle(r))
	if r.Streamed {
		wire += " stream"
	}
	if r.Status != http.StatusOK {
		wire += fmt.Sprint(" ", r.Status)
	}
	return strings.Join([]string{
		r.File, wire, string(style), client.describe(), client.finish, usageText(got.Report), got.Cost.String(), ending(got),
	}, " | ")
}
