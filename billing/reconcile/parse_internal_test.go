package reconcile

import (
	"bytes"
	"errors"
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

// openAI is a page of usage or costs with one result.
func openAI(result string) string {
	return `{"object":"page","data":[{"start_time":1793491200,"end_time":1793577600,"results":[` + result + `]}]}`
}

// TestUnreadableFilesAreRefused checks that an error names the place and the reason, and that no part of a bad file is used.
func TestUnreadableFilesAreRefused(t *testing.T) {
	t.Parallel()
	const header = "date,model,usage,requests,prompt_tokens,completion_tokens,reasoning_tokens\n"
	usage := func(members string) string {
		return openAI(`{"model":"gpt-5","input_tokens":1,"output_tokens":1,"num_model_requests":1` + members + `}`)
	}
	cost := func(amount string) string {
		return openAI("\n{\"line_item\":\"gpt-5, input\",\"amount\":" + amount + "}")
	}
	anthropic := func(result string) string {
		return `{"data":[{"starting_at":"2026-11-01T00:00:00Z","ending_at":"2026-11-02T00:00:00Z","results":[` + result + `]}]}`
	}
	for _, c := range []struct{ format, content, want string }{
		{"", "", "the file is empty"},
		{"", " \n\t\ufeff", "line 1, field date: the file has no such column"},
		{"", "{}", "the format cannot be recognised from the content; name it with --format"},
		{"", `{"data":[{"results":[{"object":"organization.usage.embeddings.result"}]}]}`,
			"the file has results of organization.usage.embeddings.result; only costs and usage of completions can be compared"},
		{"", "a,b\n\xff\xfe", "line 2: the file is not text in UTF-8"},
		{"openai-usage", `{"data":[{"start_time":1,`, "line 1, field /data/0: the file ends in the middle"},
		{"openai-usage", usage("") + "\n" + `{"data":`, "line 2, field /data: the file ends in the middle"},
		{"openai-usage", "{}", "line 1, field /data: the member is missing"},
		{"openai-usage", "[]", "line 1: the value has the wrong type"},
		{"openai-usage", `{"data":[{"results":[]}]}`,
			"line 1, field /data/0: the bucket has no start_time and end_time, or starting_at and ending_at"},
		{"openai-usage", `{"data":[{"start_time":2,"end_time":1}]}`, "line 1, field /data/0: the bucket ends before it begins"},
		{"openai-usage", `{"data":[{"start_time":0,"end_time":604800}]}`,
			"line 1, field /data/0: the bucket is longer than a day of UTC; export with bucket_width=1d"},
		{"openai-usage", `{"data":[{"start_time":"yesterday","end_time":604800}]}`,
			"line 1, field /data/0/start_time: this is not a time such as 2026-11-27T00:00:00Z"},
		{"openai-usage", usage("") + usage(""), "line 1, field /data/0: the bucket of 2026-11-01T00:00:00Z occurs twice in the file"},
		{"openai-usage", usage(`,"input_tokens":2`), `line 1, field /data/0/results/0/input_tokens: duplicate object member name`},
		{"openai-usage", usage(`,"input_cached_tokens":-1`), "line 1, field /data/0/results/0/input_cached_tokens: the number is negative"},
		{"openai-usage", usage(`,"input_cached_tokens":1.5`), "line 1, field /data/0/results/0/input_cached_tokens: this is not a whole number"},
		{"openai-usage", usage(`,"input_cached_tokens":"7"`), "line 1, field /data/0/results/0/input_cached_tokens: this is not a number"},
		{"openai-usage", usage(`,"input_cached_tokens":9e99`), "line 1, field /data/0/results/0/input_cached_tokens: this is not a whole number"},
		{"openai-usage", usage(`,"input_cached_tokens":9223372036854775808`),
			"line 1, field /data/0/results/0/input_cached_tokens: the number is larger than 4398046511104"},
		{"openai-usage", usage(`,"x":{"model":7}`) + openAI(`{"model":7}`), "line 1, field /data/0/results/0/model: this is not a text"},
		{"openai-usage", openAI(`{"model":"gpt-5","input_tokens":1,"output_tokens":1}`),
			"line 1, field /data/0/results/0: num_model_requests is missing"},
		{"openai-usage", openAI(`{"model":"gpt-5","input_tokens":1,"output_tokens":1,"num_model_requests":1},
			{"model":null,"input_tokens":1,"output_tokens":1,"num_model_requests":1}`),
			"line 1, field /data/0/results/1: some rows name a model and some do not; export the file again, grouped by model"},
		{"openai-usage", cost(`{"value":1}`), "line 1, field /data/0/results/0: input_tokens is missing"},
		{"openai-costs", openAI(`{"object":"organization.usage.completions.result"}`),
			"line 1, field /data/0/results/0: this is no result of costs but of organization.usage.completions.result"},
		{"openai-costs", cost(`{"value":1,"currency":"eur"}`),
			`line 2, field /data/0/results/0/amount/currency: the currency is "eur"; only US dollars can be compared`},
		{"openai-costs", cost(`{"value":-0.01,"currency":"usd"}`), "line 2, field /data/0/results/0/amount/value: the number is negative"},
		{"openai-costs", cost(`{"value":"1,5","currency":"usd"}`), "line 2, field /data/0/results/0/amount/value: this is not a decimal number"},
		{"openai-costs", cost(`{"value":true,"currency":"usd"}`), "line 2, field /data/0/results/0/amount/value: this is not a decimal number"},
		{"openai-costs", cost(`{"value":1e30,"currency":"usd"}`),
			"line 2, field /data/0/results/0/amount/value: the amount has more than 10 digits before the point"},
		{"openai-costs", cost(`{"currency":"usd"}`), "line 1, field /data/0/results/0: amount.value is missing"},
		{"openai-costs", cost(`7`), "line 2, field /data/0/results/0/amount: the value has the wrong type"},
		{"anthropic-usage", anthropic(`{"model":"claude","uncached_input_tokens":1}`), "line 1, field /data/0/results/0: output_tokens is missing"},
		{"anthropic-usage", anthropic(`{"cache_creation":{"ephemeral_1h_input_tokens":-5}}`),
			"line 1, field /data/0/results/0/cache_creation/ephemeral_1h_input_tokens: the number is negative"},
		{"anthropic-cost", anthropic(`{"currency":"USD"}`), "line 1, field /data/0/results/0: amount is missing"},
		{"anthropic-cost", anthropic(`{"amount":"12.","currency":"USD"}`), "line 1, field /data/0/results/0/amount: this is not a decimal number"},
		{"anthropic-cost", anthropic(`{"amount":"12.5","currency":"GBP"}`),
			`line 1, field /data/0/results/0/currency: the currency is "GBP"; only US dollars can be compared`},
		{"", "date,model,requests\n", "line 1, field usage: the file has no such column"},
		{"", header + "01.11.2026,a/b,0,1,1,1,0\n", "line 2, field date: this is not a day such as 2026-11-27"},
		{"", header + "2026-11-01,a/b,0,1,1,1,0\n2026-11-01,,0,1,1,1,0\n", "line 3, field model: the cell is empty"},
		{"", header + "2026-11-01,\"a/b,0,1,1,1,0\n", "line 2: a quotation mark is missing or in the wrong place"},
		{"", header + "2026-11-01,a/b,0,1,1,1\n", "line 2: the row has more or fewer cells than the header"},
		{"", header + "2026-11-01,a/b,$1,1,1,1,0\n", "line 2, field usage: this is not a decimal number"},
		{"", header + "2026-11-01,a/b,-1,1,1,1,0\n", "line 2, field usage: the number is negative"},
		{"", header + "2026-11-01,a/b,0,,1,1,0\n", "line 2, field requests: this is not a whole number"},
		{"", header + "2026-11-01,a/b,0,1,-4,1,0\n", "line 2, field prompt_tokens: the number is negative"},
		{"openrouter-activity", `{"data":[{"date":"2025-08-24","model":"a/b","usage":1}]}`,
			"line 1, field /data/0/requests: requests, prompt_tokens and completion_tokens must be stated"},
		{"openrouter-activity", `{"data":[{"date":"2025-08-24","model":"a/b"}]}`, "line 1, field /data/0/usage: the member is missing"},
	} {
		e, err := Parse(strings.NewReader(c.content), Format(c.format))
		var unreadable *UnreadableError
		if !errors.As(err, &unreadable) || err.Error() != c.want || len(e.Rows) > 0 {
			t.Errorf("%s %q:\n got %v\nwant %s", c.format, c.content, err, c.want)
		}
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
