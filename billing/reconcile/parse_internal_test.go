package reconcile

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// TestEachFormatIsRead reads the files in testdata, which were written by hand in the form that the documentation shows, once with the
// name of the format and once without.
func TestEachFormatIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file   string
		format Format
		want   string
	}{
		{"openai-usage.json", OpenAIUsage, `
2026-11-01 to 2026-11-02
2026-11-01 gpt-4o-2024-08-06: calls 475, input tokens 142201, cached input tokens 86016, audio input tokens 0, output tokens 10006, audio output tokens 0
2026-11-01 gpt-audio-2025-08-28: calls 12, input tokens 5000, cached input tokens 0, audio input tokens 3000, output tokens 1200, audio output tokens 900`},
		{"openai-costs.json", OpenAICosts, `
2026-11-01 to 2026-11-01
2026-11-01 [web search tool calls]: $0.05
2026-11-01 gpt-4o-2024-08-06: $0.3430425
2026-11-01 gpt-4o-mini-2024-07-18: $0
2026-11-01 gpt-audio-2025-08-28: $0.03`},
		{"anthropic-usage.json", AnthropicUsage, `
2026-11-01 to 2026-11-01
2026-11-01 claude-sonnet-4-20250514: uncached input tokens 301500, cached input tokens 200, 5-minute cache write tokens 500, 1-hour cache write tokens 1000, output tokens 570, web searches 10
the last page says has_more: later days are in further pages, which you can append to the file`},
		{"anthropic-cost.json", AnthropicCost, `
2026-11-01 to 2026-11-01
2026-11-01 [Web Search Usage]: $0.1
2026-11-01 claude-sonnet-4-20250514: $0.012`},
		{"openrouter-activity.csv", OpenRouterActivity, `
2026-11-01 to 2026-11-03
2026-11-01 openai/gpt-4.1: calls 6, input tokens 56, output tokens 126, reasoning tokens 25, $0.015012
2026-11-03 deepseek/deepseek-chat: calls 2, input tokens 400, output tokens 90, reasoning tokens 0, $0.000123457`},
		{"openrouter-calls.csv", OpenRouterActivity, `
2026-11-01 to 2026-11-01
2026-11-01 moonshotai/kimi-k2: calls 2, input tokens 430, output tokens 132, reasoning tokens 12, $0.003`},
	} {
		data, err := os.ReadFile("testdata/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []Format{c.format, ""} {
			e, err := Parse(bytes.NewReader(data), format)
			if err != nil {
				t.Errorf("%s as %q: %v", c.file, format, err)
				continue
			}
			if got := describe(&e); got != strings.TrimPrefix(c.want, "\n") || e.Format != c.format || !e.ByModel {
				t.Errorf("%s as %q is %s, by model %t:\n%s\nwant%s", c.file, format, e.Format, e.ByModel, got, c.want)
			}
		}
	}
}

// describe writes an export line by line.
func describe(e *Export) string {
	lines := []string{fmt.Sprintf("%s to %s", e.Period.First, e.Period.Last)}
	for i := range e.Rows {
		row := &e.Rows[i]
		name := row.Model
		if row.Item != "" {
			name = "[" + row.Item + "]"
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", row.Day, name, strings.Join(e.statements(row), ", ")))
	}
	return strings.Join(append(lines, e.Notes...), "\n")
}

// statements lists what the export states in a row, such as "calls 5" and "$0.06".
func (e *Export) statements(r *Row) (list []string) {
	for q := range measures {
		if e.stated[q] && r.Item == "" {
			list = append(list, fmt.Sprintf("%s %d", q, r.counts[q]))
		}
	}
	if e.hasCost {
		list = append(list, "$"+r.cost.String())
	}
	return list
}

// TestActivityIsReadAsJSON reads the answer of the activity report, as OpenRouter documents it.
func TestActivityIsReadAsJSON(t *testing.T) {
	t.Parallel()
	e, err := Parse(strings.NewReader(`{"data": [{"byok_usage_inference": 0.012, "completion_tokens": 125, "date": "2025-08-24",
		"endpoint_id": "550e8400-e29b-41d4-a716-446655440000", "model": "openai/gpt-4.1", "model_permaslug": "openai/gpt-4.1-2025-04-14",
		"prompt_tokens": 50, "provider_name": "OpenAI", "reasoning_tokens": 25, "requests": 5, "usage": 0.015}]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	want := "2025-08-24 to 2025-08-24\n2025-08-24 openai/gpt-4.1: calls 5, input tokens 50, output tokens 125, reasoning tokens 25, $0.015"
	if got := describe(&e); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestPagesMayFollowEachOther reads two pages in one file, and hours that are added up to days.
func TestPagesMayFollowEachOther(t *testing.T) {
	t.Parallel()
	hour := func(start int64, more bool) string {
		return fmt.Sprintf(`{"data":[{"start_time":%d,"end_time":%d,"results":[{"object":"organization.usage.completions.result",
			"model":"gpt-5","input_tokens":10,"output_tokens":2,"num_model_requests":1}]}],"has_more":%t}`, start, start+3600, more)
	}
	const midnight = 1793491200
	e, err := Parse(strings.NewReader(hour(midnight, true)+"\n"+hour(midnight+23*3600, true)+hour(midnight+24*3600, false)), "")
	if err != nil {
		t.Fatal(err)
	}
	want := `2026-11-01 to 2026-11-02
2026-11-01 gpt-5: calls 2, input tokens 20, output tokens 4
2026-11-02 gpt-5: calls 1, input tokens 10, output tokens 2`
	if got := describe(&e); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// blanks is an endless file of blanks.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestHugeFilesAreRefused reads an endless file.
func TestHugeFilesAreRefused(t *testing.T) {
	t.Parallel()
	_, err := Parse(io.MultiReader(strings.NewReader(`{"data":[`), blanks{}), "")
	if err == nil || err.Error() != "the file is larger than 64 MiB; export fewer days" {
		t.Errorf("got %v", err)
	}
}
