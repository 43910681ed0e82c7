package translate

import (
	"strings"
	"testing"

	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/sse"
)

// thinking is the way of a call with a history of one thought, to an upstream of the messages style.
func thinking(t *testing.T, client llm.Style, thought llm.Part) *Exchange {
	t.Helper()
	from, _ := dialect.Of(client)
	to, _ := dialect.Of(llm.Messages)
	call := llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: "c", Name: "f", Arguments: "{}"}}
	r := &llm.Request{Model: "m", Turns: []llm.Turn{says(0, "q"), {Role: llm.Assistant, Parts: []llm.Part{thought, call}}, gives("c")}}
	way, err := New(from, to, r, "quillon", 4096)
	if err == nil {
		err = way.Prepare()
	}
	if err != nil {
		t.Fatal(err)
	}
	return way
}

// TestAThoughtGoesBackOnlyAsItWasSigned takes a thought from an answer, whole and streamed, and gives it back: as it is,
// and as some clients give it back.
func TestAThoughtGoesBackOnlyAsItWasSigned(t *testing.T) {
	t.Parallel()
	const answer = `{"type":"message","content":[{"type":"thinking","thinking":"Hm, é.","signature":"c2ln"},{"type":"text","text":"x"}],` +
		`"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	for _, client := range []llm.Style{llm.Chat, llm.Responses, llm.Native} {
		way := thinking(t, client, words("nothing thought"))
		options := llm.ResponseOptions{Model: "m", CallID: "req_1"}
		body, err := way.ReadBody([]byte(answer), options)
		if err != nil {
			t.Fatal(err)
		}
		frames, err := way.upstream.Frames([]byte(answer))
		if err != nil {
			t.Fatal(err)
		}
		folded := way.NewFolded(options)
		for frame := range strings.SplitSeq(string(frames), "\n\n") {
			if _, data, ok := strings.Cut(frame, "data: "); ok {
				if _, _, err := folded.Frame(nil, sse.Frame{Raw: []byte("x"), Data: []byte(data)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		streamed, _ := folded.Body()
		for _, b := range []dialect.Body{body, streamed} {
			thought := b.(*translatedBody).answer.Parts[0]
			back := string(thinking(t, client, thought).body)
			if !strings.Contains(back, `{"type":"thinking","thinking":"Hm, é.","signature":"c2ln"}`) {
				t.Errorf("%s: %s", client, back)
			}
			for _, changed := range []string{"", "Hm, é.\n\nAnd more."} {
				thought.Text = changed
				if back := string(thinking(t, client, thought).body); strings.Contains(back, "thinking") {
					t.Errorf("%s: a text without a signature goes back: %s", client, back)
				}
			}
		}
	}
}

func TestAThoughtThatIsNotProvenIsNoItem(t *testing.T) {
	t.Parallel()
	client, _ := dialect.Of(llm.Messages)
	upstream, _ := dialect.Of(llm.Responses)
	bare := llm.Part{Kind: llm.Reasoning, Text: "Hm.", Signature: "gw1.tessera~r."}
	proven := llm.Part{Kind: llm.Reasoning, Text: "Hm.", Signature: "gw1.tessera~r.rs_0a.gAAA"}
	r := &llm.Request{Model: "m", Turns: []llm.Turn{says(0, "q"), {Role: llm.Assistant, Parts: []llm.Part{bare, proven, words("x")}}, says(0, "r")}}
	way, err := New(client, upstream, r, "tessera", 4096)
	if err == nil {
		err = way.Prepare()
	}
	if err != nil || strings.Count(string(way.body), `"type":"reasoning"`) != 1 || !strings.Contains(string(way.body), `"id":"rs_0a"`) {
		t.Errorf("%s, %v", way.body, err)
	}
}

func TestToolsStayAsLaxAsTheyWere(t *testing.T) {
	t.Parallel()
	yes := true
	for _, style := range []llm.Style{llm.Chat, llm.Messages, llm.Native} {
		client, _ := dialect.Of(style)
		upstream, _ := dialect.Of(llm.Responses)
		r := &llm.Request{Model: "m", Turns: []llm.Turn{says(0, "q")}, Tools: []llm.Tool{{Name: "a"}, {Name: "b", Strict: &yes}}}
		way, err := New(client, upstream, r, "tessera", 4096)
		if err == nil {
			err = way.Prepare()
		}
		if err != nil || !strings.Contains(string(way.body), `"strict":false},{`) || !strings.Contains(string(way.body), `"strict":true}]`) || r.Tools[0].Strict != nil {
			t.Errorf("%s: %s, %v", style, way.body, err)
		}
	}
}

func TestANamespaceIsFoundAgainWhateverTheModelCallsItsTool(t *testing.T) {
	t.Parallel()
	r := &llm.Request{Tools: []llm.Tool{
		{Name: "search", Group: "mcp__docs__"}, {Name: "list", Group: "a"}, {Name: "list", Group: "b"}, {Name: "a__list"}, {Name: "read", Group: "c"}, {Name: "read"},
	}}
	reduced := *r
	tr := &translation{original: r, request: &reduced}
	tr.rename(&llm.Traits{NameMax: 64})
	seen := map[string]bool{}
	for i, tool := range reduced.Tools {
		back := llm.ToolCall{Name: tool.Name}
		tr.names.restore(&back)
		if seen[tool.Name] || back.Name != r.Tools[i].Name || back.Group != r.Tools[i].Group {
			t.Errorf("%+v went as %q and came back as %q in %q", r.Tools[i], tool.Name, back.Name, back.Group)
		}
		seen[tool.Name] = true
	}
	for called, group := range map[string]string{"search": "mcp__docs__", "list": "", "read": "", "a__list": "", "unknown": ""} {
		back := llm.ToolCall{Name: called}
		tr.names.restore(&back)
		if back.Name != called || back.Group != group {
			t.Errorf("%q is %q in %q", called, back.Name, back.Group)
		}
	}
}

func TestAllOfTheTokensIsNotSaidToTheMessagesStyle(t *testing.T) {
	t.Parallel()
	client, _ := dialect.Of(llm.Chat)
	for style, said := range map[llm.Style]bool{llm.Messages: false, llm.Responses: true, llm.Native: true} {
		for _, p := range []llm.Number{"1", "1.0", "0.9"} {
			upstream, _ := dialect.Of(style)
			r := &llm.Request{Model: "m", Sampling: llm.Sampling{Temperature: "0.5", TopP: p}, Turns: []llm.Turn{says(0, "q")}}
			way, err := New(client, upstream, r, "maker", 4096)
			if err == nil {
				err = way.Prepare()
			}
			if got := strings.Contains(string(way.body), `"top_p":`) || strings.Contains(string(way.body), `"topP":`); err != nil || got != (said || p == "0.9") ||
				way.Dropped() != "" {
				t.Errorf("%s: %s, %v", style, way.body, err)
			}
		}
	}
}
