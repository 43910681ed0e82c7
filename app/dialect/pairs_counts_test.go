package dialect_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"umg/app/dialect"
	"umg/app/llm"
)

// The counts of a usage in the words of all styles.
var (
	inputCounts  = regexp.MustCompile(`"(prompt_tokens|input_tokens|promptTokenCount)":\d+`)
	readCounts   = regexp.MustCompile(`"(cached_tokens|cache_read_input_tokens|cachedContentTokenCount)":\d+`)
	outputCounts = regexp.MustCompile(`"(completion_tokens|output_tokens|candidatesTokenCount)":\d+`)
	thoughtCount = regexp.MustCompile(`"(reasoning_tokens|thinking_tokens|thoughtsTokenCount)":\d+`)
)

// TestOneWrongCountIsDoubtedAlone replaces one count in the answer of each provider. What is said of the other counts stays, and a count
// that can be true is read as it is, however large: the caller knows what was sent.
func TestOneWrongCountIsDoubtedAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		counts *regexp.Regexp
		count  string
		want   func(u, honest llm.Usage, native bool) bool
	}{
		"a negative input": {inputCounts, "-5", func(u, honest llm.Usage, _ bool) bool {
			return u.Doubts&llm.InputUnknown != 0 && u.Output == honest.Output
		}},
		"an input that is a string": {inputCounts, `"many"`, func(u, honest llm.Usage, _ bool) bool {
			return u.Doubts&llm.InputUnknown != 0 && u.Output == honest.Output
		}},
		"a large input": {inputCounts, "50000000", func(u, honest llm.Usage, _ bool) bool {
			return u.InputTotal() >= 50_000_000 && u.Doubts == 0 && u.Output == honest.Output
		}},
		"a negative output": {outputCounts, "-5", func(u, honest llm.Usage, _ bool) bool {
			return u.Doubts&llm.OutputUnknown != 0 && u.InputTotal() == honest.InputTotal()
		}},
		"a large output": {outputCounts, "1000000", func(u, honest llm.Usage, native bool) bool {
			return u.InputTotal() == honest.InputTotal() && (u.Output == 1_000_000 || native && u.Output > 1_000_000) && u.Doubts == 0
		}},
		"thoughts above the output": {thoughtCount, "90000", func(u, honest llm.Usage, native bool) bool {
			if native { // This style counts thoughts beside the output.
				return u.Output == honest.Output-honest.Reasoning+90_000 && u.Doubts == 0
			}
			return u.Doubts == llm.PartUnknown && u.InputTotal() == honest.InputTotal() && u.Output == honest.Output
		}},
		"a negative count of cached": {readCounts, "-1", func(u, honest llm.Usage, _ bool) bool {
			return u.Doubts == llm.PartUnknown && u.InputTotal() >= honest.Input && u.CacheRead == 0 && u.Output == honest.Output
		}},
		"all of the input cached": {readCounts, "50000000", func(u, honest llm.Usage, _ bool) bool {
			return u.InputTotal() >= honest.InputTotal() && u.CacheRead > 0 && u.Output == honest.Output
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachPair(t, func(t *testing.T, p pair) {
				for _, stream := range []bool{false, true} {
					ask := p.withThoughts(asking("simulate: cached=2\ncount to 40"))
					ask.Stream = stream
					call := p.call(t, ask)
					honest := call.deliver(t, stream)
					answer := call.answer.Body.Bytes()
					changed := c.counts.ReplaceAll(answer, []byte(`"$1":`+c.count))
					if honest.err != nil || bytes.Equal(answer, changed) {
						t.Fatalf("%v, or nothing to replace in %s", honest.err, answer)
					}
					call.answer.Body = bytes.NewBuffer(changed)
					got := call.deliver(t, stream)
					if got.err != nil || !got.stats.Reported || !c.want(got.stats.Usage, honest.stats.Usage, p.upstream == llm.Native) {
						t.Errorf("stream %t: %v, reported %t, %+v of %+v", stream, got.err, got.stats.Reported, got.stats.Usage, honest.stats.Usage)
					}
				}
			})
		})
	}
}

// boundForms are requests of each style with a bound on output, in all spellings.
var boundForms = map[llm.Style][]string{
	llm.Chat: {
		`{"model":"m","messages":[{"role":"user","content":"x"}],"max_completion_tokens":NUMBER}`,
		`{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":NUMBER}`,
	},
	llm.Messages:  {`{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":NUMBER}`},
	llm.Responses: {`{"model":"m","input":"x","max_output_tokens":NUMBER}`},
	llm.Native: {
		`{"model":"m","stream":false,"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":NUMBER}}`,
		`{"model":"m","stream":false,"contents":[{"parts":[{"text":"x"}]}],"generation_config":{"max_output_tokens":NUMBER}}`,
		`{"model":"m","stream":false,"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"max_output_tokens":NUMBER}}`,
	},
}

// TestEveryProviderGetsTheLoweredBound lowers the bound of a request in every pair, in every spelling of its name and of its number.
func TestEveryProviderGetsTheLoweredBound(t *testing.T) {
	t.Parallel()
	const lowered = 300
	eachPair(t, func(t *testing.T, p pair) {
		for _, form := range boundForms[p.client] {
			for _, number := range []string{"4000", "4e3", "4000.0", "0.4e4", "400000E-2"} {
				body := []byte(strings.ReplaceAll(form, "NUMBER", number))
				head, err := dialectOf(t, p.client).Peek(body)
				if err != nil || head.MaxTokens != 4000 {
					t.Errorf("the bound of %s is read as %d, %v", body, head.MaxTokens, err)
				}
				if _, err := dialectOf(t, p.client).Read(body); err != nil && number != "4000" {
					continue // A style may refuse a number in an odd form, which is then not sent.
				}
				x := p.exchangeOf(t, body)
				sent := x.Request(nil, dialect.Edit{Model: "upstream-model", MaxTokens: lowered})
				read, err := dialectOf(t, p.upstream).Read(sent)
				if err != nil || read.MaxOutput != lowered || bytes.Contains(sent, []byte(number)) {
					t.Errorf("of %s the provider gets %s, %v", body, sent, err)
				}
			}
		}
	})
}
