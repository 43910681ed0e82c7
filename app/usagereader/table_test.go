package usagereader

import (
	"math"
	"slices"
	"strings"
	"testing"

	"umg/app/llm"
	"umg/app/meter"
)

func TestTableRejectsUnknownWords(t *testing.T) {
	t.Parallel()
	const layout = "{merge: object, cache: inside, reasoning: inside, usage: {input_tokens: [a], output_tokens: [b]}"
	for name, c := range map[string]struct{ text, want string }{
		"a member":              {"readers: {x: {chat: " + layout + ", colour: red}}}", "colour"},
		"merge":                 {"readers: {x: {chat: {merge: add, cache: inside, reasoning: inside, usage: {input_tokens: [a]}}}}", "merge"},
		"cache":                 {"readers: {x: {chat: {merge: object, reasoning: inside, usage: {input_tokens: [a]}}}}", "cache"},
		"a meter":               {"readers: {x: {chat: {merge: object, cache: inside, reasoning: inside, usage: {apples: [a]}}}}", "apples"},
		"a meter of the answer": {"readers: {x: {chat: " + layout + ", answer: {apples: [a]}}}}", "apples"},
		"a term":                {"readers: {x: {chat: " + layout + ", terms: {colour: a}}}}", "colour"},
		"a word before a path": {
			"readers: {x: {chat: {merge: object, cache: inside, reasoning: inside, usage: {input_tokens: [plus a]}}}}", "plus",
		},
		"a path":         {"readers: {x: {chat: " + layout + ", known: [a..b]}}}", "a..b"},
		"a bracket":      {"readers: {x: {chat: " + layout + ", known: ['a[b']}}}", "bracket"},
		"a filter":       {"readers: {x: {chat: " + layout + ", known: ['a[b]']}}}", "type=message"},
		"a layout":       {"readers: {x: {chat: {like: y}}}", "no layout of y"},
		"a circle":       {"readers: {x: {chat: {like: x}}}", "refer to each other"},
		"no input":       {"readers: {x: {chat: {merge: object, cache: inside, reasoning: inside}}}", "input_tokens"},
		"less at first":  {"readers: {x: {chat: {merge: object, cache: inside, reasoning: inside, usage: {input_tokens: [less a]}}}}", "must add"},
		"two shifts":     {"readers: {x: {chat: " + layout[:len(layout)-1] + ", cost: [a]}}}}", "two meanings"},
		"a list in term": {"words: {size: {}}\nreaders: {x: {chat: " + layout + ", terms: {size: 'a[]'}}}}", "path of a member"},
	} {
		if _, err := parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, which does not say %q", name, err, c.want)
		}
	}
}

// TestTableHasEveryProvider checks that the table has each style of the providers that a catalog may name.
func TestTableHasEveryProvider(t *testing.T) {
	t.Parallel()
	for name, styles := range map[string][]llm.Style{
		"openai": {llm.Chat, llm.Responses, Compact, Embeddings}, "azure": {llm.Chat, llm.Responses}, "anthropic": {llm.Messages},
		"bedrock": {llm.Messages, llm.Chat, llm.Responses, llm.Converse}, "gemini": {llm.Native, llm.Chat, Embeddings},
		"vertex": {llm.Native, llm.Messages, llm.Chat}, "xai": {llm.Chat, llm.Responses}, "mistral": {llm.Chat},
		"deepseek": {llm.Chat, llm.Responses, llm.Messages}, "groq": {llm.Chat}, "openrouter": {llm.Chat, llm.Responses, llm.Messages},
		"perplexity": {llm.Chat}, "moonshot": {llm.Chat}, "huggingface": {llm.Chat}, "dashscope": {llm.Chat},
		"cohere": {llm.Cohere, Embeddings, llm.Chat}, "compatible": llm.RouteStyles(), "": llm.RouteStyles(),
	} {
		for _, style := range styles {
			if r, ok := Of(name, style); !ok || r == nil {
				t.Errorf("there is no reader of %q in the style %s", name, style)
			}
		}
		if name != "" && !slices.Contains(Names(), name) {
			t.Errorf("Names lacks %s", name)
		}
	}
	if _, ok := Of("openai", llm.Messages); ok {
		t.Error("a reader was found in a style that its provider does not speak")
	}
	if _, ok := Of("unknown", llm.Chat); ok {
		t.Error("a reader was found for an unknown provider")
	}
	for _, style := range llm.Styles() {
		if own, _ := Of("", style); own != Default(style) || For(&llm.ResponseOptions{}, style) != own {
			t.Errorf("the style %s has two defaults", style)
		}
	}
}

func TestMetersOfReaders(t *testing.T) {
	t.Parallel()
	got := Meters("perplexity", llm.Chat)
	for _, m := range []meter.Meter{meter.InputTokens, meter.ReasoningTokens, meter.CitationTokens, meter.WebSearches, meter.Requests} {
		if !slices.Contains(got, m) {
			t.Errorf("Meters lacks %s", m)
		}
	}
	if !slices.Contains(Meters("", llm.Native), meter.GroundedQueries) || Meters("unknown", llm.Chat) != nil {
		t.Error("Meters is wrong for the default of a style, or for an unknown provider")
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		shift int
		want  int64
	}{
		{"0", 0, 0}, {"12", 0, 12}, {"2147483648", 0, llm.TokensMax}, {"2147483649", 0, llm.Unknown}, {"99999999999999999999", 0, llm.Unknown},
		{"-1", 0, llm.Unknown}, {"1.5", 0, llm.Unknown}, {"1e3", 0, 1_000}, {"12.0", 0, 12}, {"1e2", 0, 100}, {"1e99", 0, llm.Unknown}, {`"7"`, 0, llm.Unknown}, {"{}", 0, llm.Unknown},
		{"true", 0, 1}, {"false", 0, 0},
		{"36", 3, 36_000}, {"1.2345", 3, 1_235}, {"0.0004", 3, 0}, {"0.0005", 3, 1},
		{"0.00019325", 12, 193_250_000}, {"4.1400000000000003e-05", 12, 41_400_000}, {"8.16e-05", 12, 81_600_000}, {"1E-12", 12, 1},
		{"0.02", 12, 20_000_000_000}, {"2e+3", 12, 2_000_000_000_000_000}, {"0", 12, 0}, {"0.0", 12, 0},
		{"123456789012345678901234567890", 3, llm.Unknown}, {"1e99", 12, llm.Unknown}, {"1e-99", 12, 0}, {"1e999", 12, llm.Unknown},
		{"-0.5", 12, llm.Unknown}, {"1.2.3", 12, llm.Unknown}, {"1e", 12, llm.Unknown}, {`"1"`, 12, llm.Unknown}, {"0.1234567890123456789", 12, 123_456_789_012},
	} {
		if got := parseNumber([]byte(c.text), c.shift); got != c.want {
			t.Errorf("%s with shift %d is %d, not %d", c.text, c.shift, got, c.want)
		}
	}
	if parseNumber([]byte("9223372.036854775807"), dollarShift) > math.MaxInt64-1 {
		t.Error("a large cost is too large")
	}
}

// TestInvalidUsage checks what invalid usage objects leave of the counts.
func TestInvalidUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		style  llm.Style
		object string
		known  bool
		doubts llm.Doubts
		want   llm.Usage
	}{
		{llm.Chat, ``, false, 0, llm.Usage{}},
		{llm.Chat, `null`, false, 0, llm.Usage{}},
		{llm.Chat, `[]`, false, 0, llm.Usage{}},
		{llm.Chat, `"usage"`, false, 0, llm.Usage{}},
		{llm.Chat, `{"prompt_tokens":1,"completion_tokens":2`, false, 0, llm.Usage{}},
		{llm.Chat, `{"prompt_tokens":"1","completion_tokens":{}}`, false, 0, llm.Usage{}},
		{llm.Chat, `{"prompt_tokens":-1,"completion_tokens":2}`, true, llm.InputUnknown, llm.Usage{Output: 2}},
		{llm.Chat, `{"prompt_tokens":null,"completion_tokens":2}`, true, llm.InputUnknown, llm.Usage{Output: 2}},
		{llm.Chat, `{"prompt_tokens":3}`, true, llm.OutputUnknown, llm.Usage{Input: 3}},
		{llm.Chat, `{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":7}`, true, llm.PartUnknown, llm.Usage{Input: 3, Output: 2}},
		{llm.Chat, `{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":null}`, true, 0, llm.Usage{Input: 3, Output: 2}},
		{
			llm.Chat, `{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9}}`, true, llm.PartUnknown,
			llm.Usage{CacheRead: 3, Output: 2},
		},
		{llm.Messages, `{"input_tokens":3,"output_tokens":"2"}`, true, llm.OutputUnknown, llm.Usage{Input: 3}},
		{llm.Native, `{"promptTokenCount":3}`, true, 0, llm.Usage{Input: 3}},
		{llm.Native, `{"promptTokenCount":3,"thoughtsTokenCount":-4,"candidatesTokenCount":5}`, true, llm.PartUnknown, llm.Usage{Input: 3, Output: 5}},
		{llm.Native, `{}`, false, 0, llm.Usage{}},
	} {
		report := NewReport()
		Default(c.style).ReadUsage(&report, []byte(c.object))
		got, known := report.Usage()
		c.want.Doubts = c.doubts
		got.Parts = meter.Counts{}
		if known != c.known || got != c.want {
			t.Errorf("%s is read as %+v (known %t), not %+v", c.object, got, known, c.want)
		}
	}
}

const chatObject = `{"prompt_tokens":1200,"completion_tokens":340,"total_tokens":1540,"prompt_tokens_details":{"cached_tokens":1024,` +
	`"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":128,"audio_tokens":0,"accepted_prediction_tokens":0,` +
	`"rejected_prediction_tokens":0}}`

// examples has an ordinary usage object of each style.
var examples = map[llm.Style]string{
	llm.Chat: chatObject,
	llm.Messages: `{"input_tokens":200,"cache_creation_input_tokens":0,"cache_read_input_tokens":1000,"cache_creation":` +
		`{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":340,"service_tier":"standard","inference_geo":"global"}`,
	llm.Responses: `{"input_tokens":1200,"input_tokens_details":{"cached_tokens":1024},"output_tokens":340,` +
		`"output_tokens_details":{"reasoning_tokens":128},"total_tokens":1540}`,
	llm.Native: `{"promptTokenCount":1200,"candidatesTokenCount":212,"totalTokenCount":1540,"trafficType":"ON_DEMAND",` +
		`"promptTokensDetails":[{"modality":"TEXT","tokenCount":1200}],"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":212}],` +
		`"thoughtsTokenCount":128}`,
}

func TestOrdinaryUsageAllocatesNothing(t *testing.T) {
	for style, object := range examples {
		raw, report, reader := []byte(object), NewReport(), Default(style)
		if n := testing.AllocsPerRun(100, func() { reader.ReadUsage(&report, raw) }); n > 0 {
			t.Errorf("reading a usage object of the style %s allocates %v times", style, n)
		}
	}
}

func BenchmarkReadUsage(b *testing.B) {
	for _, style := range llm.Styles() {
		b.Run(string(style), func(b *testing.B) {
			raw, report, reader := []byte(examples[style]), NewReport(), Default(style)
			b.ReportAllocs()
			for b.Loop() {
				reader.ReadUsage(&report, raw)
			}
		})
	}
}

// Meters lists what the reader of a provider can count in one style, in the order of the meters. It is empty when there is no reader.
func Meters(name string, style llm.Style) []meter.Meter {
	l := readers[name][style]
	if name == "" {
		l = defaults[style]
	}
	if l == nil {
		return nil
	}
	all := []meter.Meter{meter.InputTokens, meter.OutputTokens, meter.Requests}
	for _, one := range [...]struct {
		rule  rule
		meter meter.Meter
	}{{l.cacheRead, meter.CacheReadTokens}, {l.cacheWrite, meter.CacheWriteTokens}, {l.thoughts, meter.ReasoningTokens}} {
		if one.rule.alternatives != nil {
			all = append(all, one.meter)
		}
	}
	for _, r := range slices.Concat(l.meters, l.answer.meters) {
		all = append(all, r.meter)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
