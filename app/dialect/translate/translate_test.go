package translate

import (
	"errors"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
)

func TestToolsGetNamesThatTheUpstreamTakesAndTheClientItsOwnBack(t *testing.T) {
	t.Parallel()
	style := &llm.Traits{Style: llm.Chat, NameMax: 24}
	long := strings.Repeat("n", 60)
	r := &llm.Request{
		Tools:  []llm.Tool{{Name: "plain"}, {Name: "with.dots:2"}, {Name: "list", Group: "files"}, {Name: long}, {Name: long + "2"}},
		Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"with.dots:2"}},
		Turns: []llm.Turn{
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Call, Call: llm.ToolCall{ID: "1", Name: "list", Group: "files"}}}},
			{Parts: []llm.Part{{Kind: llm.Result, Result: llm.ToolResult{CallID: "1"}}}},
		},
	}
	reduced := *r
	reduced.Turns = copyTurns(r.Turns)
	tr := &translation{original: r, request: &reduced}
	tr.rename(style)
	seen := map[string]bool{}
	for i, tool := range reduced.Tools {
		if !style.TakesName(tool.Name) || seen[tool.Name] || tool.Group != "" {
			t.Errorf("tool %d is called %q in group %q", i, tool.Name, tool.Group)
		}
		seen[tool.Name] = true
		back := llm.ToolCall{Name: tool.Name}
		tr.names.restore(&back)
		if back.Name != r.Tools[i].Name || back.Group != r.Tools[i].Group {
			t.Errorf("%q came back as %q in %q", tool.Name, back.Name, back.Group)
		}
	}
	if reduced.Tools[0].Name != "plain" || reduced.Tools[2].Name != "files__list" {
		t.Errorf("names that fit must stay: %q, %q", reduced.Tools[0].Name, reduced.Tools[2].Name)
	}
	if reduced.Choice.Names[0] != reduced.Tools[1].Name {
		t.Errorf("the choice names %q", reduced.Choice.Names[0])
	}
	if call, result := reduced.Turns[0].Parts[0].Call.Name, reduced.Turns[1].Parts[0].Result.Name; call != "files__list" || result != call {
		t.Errorf("the history names %q and %q", call, result)
	}
	if r.Tools[1].Name != "with.dots:2" || r.Turns[0].Parts[0].Call.Group != "files" {
		t.Error("the client's request was changed")
	}
}

func TestOnlyWhatWasSaidIsToldToBeLost(t *testing.T) {
	t.Parallel()
	upstream, _ := dialect.Of(llm.Messages)
	for _, c := range []struct {
		client llm.Style
		s      llm.Sampling
		lost   string
	}{
		{llm.Chat, llm.Sampling{PresencePenalty: "1"}, "presence_penalty"},
		{llm.Chat, llm.Sampling{FrequencyPenalty: "1", Seed: "3"}, "frequency_penalty,seed"},
		{llm.Native, llm.Sampling{PresencePenalty: "1", FrequencyPenalty: "1"},
			"generationConfig.frequencyPenalty,generationConfig.presencePenalty"},
	} {
		client, _ := dialect.Of(c.client)
		r := &llm.Request{Sampling: c.s, Turns: []llm.Turn{{Parts: []llm.Part{{Kind: llm.Text, Text: "x"}}}}}
		way, err := New(client, upstream, r, "maker", 100)
		if err != nil || way.Dropped() != c.lost {
			t.Errorf("%+v: told is %q, %v", c.s, way.Dropped(), err)
		}
	}
}

func TestSignaturesGoOnlyToTheProviderThatMadeThem(t *testing.T) {
	t.Parallel()
	history := []llm.Part{
		{Kind: llm.Reasoning, Text: "mine", Signature: "gw1.quillon~m.a.b"},
		{Kind: llm.Reasoning, Text: "another's", Signature: "gw1.boreal~n.x"},
		{Kind: llm.Reasoning, Text: "unsigned", Signature: "raw"},
		{Kind: llm.Text, Text: "hello"},
	}
	r := &llm.Request{Turns: []llm.Turn{{Role: llm.Assistant, Parts: history}, {Role: llm.Assistant, Parts: history[1:2]}}}
	reduced := *r
	tr := &translation{original: r, request: &reduced, provider: "quillon"}
	tr.carrySignatures(llm.Responses, llm.Messages)
	if len(reduced.Turns) != 1 {
		t.Fatalf("a turn without parts stayed: %+v", reduced.Turns)
	}
	got := reduced.Turns[0].Parts
	if len(got) != 2 || got[0].Signature != "a.b" || got[0].Text != "mine" || got[1].Text != "hello" {
		t.Errorf("got %+v", got)
	}
	if len(r.Turns) != 2 || len(r.Turns[0].Parts) != 4 {
		t.Error("the client's request was changed")
	}

	reduced = *r
	tr.carrySignatures(llm.Messages, llm.Messages)
	if got := reduced.Turns[0].Parts; len(got) != 3 || got[1].Signature != "raw" {
		t.Errorf("what came straight from an upstream of the same style must stay: %+v", got)
	}
	if !dialect.HasMarkedSignature([]byte(`{"signature":"gw1.quillon.x"}`)) || dialect.HasMarkedSignature([]byte(`{"text":"about gw1.x"}`)) {
		t.Error("sealed signatures are recognised by their mark at the beginning of a string")
	}
}

func TestWhatAStyleCannotSayIsDroppedOrRefusedByName(t *testing.T) {
	t.Parallel()
	client := &llm.Traits{Style: llm.Chat, StopsMax: 4}
	upstream := &llm.Traits{Style: llm.Responses}
	for f := range llm.FeatureCount {
		client.Fields[f] = "field_" + string('a'+rune(f%26))
	}
	no := false
	image := llm.Part{Kind: llm.Image, Media: llm.Media{URL: "https://example.com/a.png"}}
	for name, c := range map[string]struct {
		request llm.Request
		feature llm.Feature
		refused bool
	}{
		"top_k":     {llm.Request{Sampling: llm.Sampling{TopK: "3"}}, llm.FeatureTopK, false},
		"seed":      {llm.Request{Sampling: llm.Sampling{Seed: "3"}}, llm.FeatureSeed, false},
		"penalties": {llm.Request{Sampling: llm.Sampling{PresencePenalty: "1"}}, llm.FeaturePenalties, false},
		"verbosity": {llm.Request{Verbosity: "low"}, llm.FeatureVerbosity, false},
		"metadata":  {llm.Request{Metadata: []llm.Pair{{Key: "a"}}}, llm.FeatureMetadata, false},
		"end user":  {llm.Request{EndUser: "u"}, llm.FeatureEndUser, false},
		"parallel":  {llm.Request{Parallel: &no}, llm.FeatureParallel, false},
		"effort":    {llm.Request{Reasoning: llm.ReasoningOptions{Effort: "low"}}, llm.FeatureReasoning, false},
		"name":      {llm.Request{Turns: []llm.Turn{{Name: "ann"}}}, llm.FeatureParticipant, false},
		"schema":    {llm.Request{Format: llm.Format{Kind: llm.FormatSchema}}, llm.FeatureSchema, true},
		"json":      {llm.Request{Format: llm.Format{Kind: llm.FormatJSON}}, llm.FeatureJSON, true},
		"choices":   {llm.Request{Choices: 2}, llm.FeatureChoices, true},
		"logprobs":  {llm.Request{LogProbs: true}, llm.FeatureLogProbs, true},
		"image":     {llm.Request{Turns: []llm.Turn{{Parts: []llm.Part{image}}}}, llm.FeatureImageURL, true},
	} {
		reduced := c.request
		tr := &translation{original: &c.request, request: &reduced}
		err := tr.reduce(client, upstream)
		refusal, refused := errors.AsType[*app.Error](err)
		if refused != c.refused {
			t.Errorf("%s: refused %v, want %v: %v", name, refused, c.refused, err)
			continue
		}
		if refused && (refusal.Kind != app.Invalid || refusal.Param != client.Fields[c.feature]) {
			t.Errorf("%s: %+v does not name %s", name, refusal, client.Fields[c.feature])
		}
		if left := reduced.Features(); !refused && (left[c.feature] || len(tr.dropped) != 1 || tr.dropped[0] != client.Fields[c.feature]) {
			t.Errorf("%s: still asked %v, listed %q", name, left[c.feature], tr.dropped)
		}
	}
}

func TestFieldsAreCalledWhatTheClientCalledThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client, upstream llm.Style
		body             string
		dropped, refused string
	}{
		{llm.Chat, llm.Native, `"messages":[{"role":"user","content":"x"}],"user":"u"`, "user", ""},
		{llm.Chat, llm.Native, `"messages":[{"role":"user","content":"x"}],"safety_identifier":"u"`, "safety_identifier", ""},
		{llm.Responses, llm.Native, `"input":"x","user":"u"`, "user", ""},
		{llm.Responses, llm.Native, `"input":"x","safety_identifier":"u"`, "safety_identifier", ""},
		{llm.Responses, llm.Messages, `"input":"x","text":{"format":{"type":"json_object"}}`, "", "text.format"},
		{llm.Responses, llm.Chat, `"input":"x","top_logprobs":2`, "", "top_logprobs"},
	} {
		client, upstream := allDialects()[c.client], allDialects()[c.upstream]
		var dropped string
		r, err := client.Read([]byte(`{"model":"m",` + c.body + `}`))
		if err == nil {
			var way *Exchange
			if way, err = New(client, upstream, r, "p", 100); err == nil {
				dropped = way.Dropped()
			}
		}
		param := ""
		if e, ok := errors.AsType[*app.Error](err); ok {
			param = e.Param
		}
		if dropped != c.dropped || param != c.refused {
			t.Errorf("%s to %s, %s: dropped %q, refused %q", c.client, c.upstream, c.body, dropped, param)
		}
	}
}

func TestStopsThatAStyleLacksAreWatchedForHere(t *testing.T) {
	t.Parallel()
	r := &llm.Request{Stop: []string{"a", "b"}}
	for most, watched := range map[int]int{0: 2, 1: 2, 2: 0, 5: 0} {
		reduced := *r
		tr := &translation{original: r, request: &reduced}
		if err := tr.reduce(&llm.Traits{}, &llm.Traits{StopsMax: most}); err != nil {
			t.Fatal(err)
		}
		if len(tr.stops) != watched || len(reduced.Stop) != 2-watched || reduced.Stream != (watched > 0) {
			t.Errorf("with %d allowed: watched %q, sent %q, stream %v", most, tr.stops, reduced.Stop, reduced.Stream)
		}
	}
}

func TestAThreadKeptByTheProviderIsRefusedInTheWordClientsKnow(t *testing.T) {
	t.Parallel()
	_, err := allDialects()[llm.Messages].Peek([]byte(`{"model":"m","thread":{"type":"create"},"messages":[]}`))
	if e, ok := errors.AsType[*app.Error](err); !ok || e.Code != "thread_unsupported_request" || e.Kind != app.Invalid || e.Param != "thread" {
		t.Errorf("got %v", err)
	}
	if _, err := allDialects()[llm.Messages].Peek([]byte(`{"model":"m","thread":null,"messages":[]}`)); err != nil {
		t.Error(err)
	}
}

// allDialects are the dialects of all styles of clients, and allUpstreams those of all styles of providers.
func allDialects() map[llm.Style]*dialect.Dialect { return dialectsOf(llm.Styles()) }

func allUpstreams() map[llm.Style]*dialect.Dialect { return dialectsOf(llm.RouteStyles()) }

func dialectsOf(styles []llm.Style) map[llm.Style]*dialect.Dialect {
	all := map[llm.Style]*dialect.Dialect{}
	for _, style := range styles {
		all[style], _ = dialect.Of(style)
	}
	return all
}

func BenchmarkHasMarkedSignature(b *testing.B) {
	body := []byte(`{"model":"m","max_tokens":5,"temperature":1,"messages":[{"role":"user","content":"` + strings.Repeat("A sentence of a prompt. ", 4096) + `"}]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if dialect.HasMarkedSignature(body) {
			b.Fatal("there is no mark")
		}
	}
}
