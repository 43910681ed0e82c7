package reconcile

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const activityHeader = "date,model,usage,requests,prompt_tokens,completion_tokens,reasoning_tokens\n"

// openAIDay is a page of usage or costs with one result.
func openAIDay(result string) string {
	return `{"object":"page","data":[{"start_time":1793491200,"end_time":1793577600,"results":[` + result + `]}]}`
}

// usageWith is a page of usage whose result has more members.
func usageWith(members string) string {
	return openAIDay(`{"model":"gpt-5","input_tokens":1,"output_tokens":1,"num_model_requests":1` + members + `}`)
}

// costOf is a page of costs with an amount on its second line.
func costOf(amount string) string {
	return openAIDay("\n{\"line_item\":\"gpt-5, input\",\"amount\":" + amount + "}")
}

// anthropicDay is a page of usage or costs with one result.
func anthropicDay(result string) string {
	return `{"data":[{"starting_at":"2026-11-01T00:00:00Z","ending_at":"2026-11-02T00:00:00Z","results":[` + result + `]}]}`
}

// unreadableFile is a file and why it cannot be read.
type unreadableFile struct{ format, content, want string }

var unreadableUsage = []unreadableFile{
	{"", "", "the file is empty"},
	{"", " \n\t\ufeff", "line 1, field date: the file has no such column"},
	{"", "{}", "the format cannot be recognised from the content; name it with --format"},
	{"", `{"data":[{"results":[{"object":"organization.usage.embeddings.result"}]}]}`,
		"the file has results of organization.usage.embeddings.result; only costs and usage of completions can be compared"},
	{"", "a,b\n\xff\xfe", "line 2: the file is not text in UTF-8"},
	{"openai-usage", `{"data":[{"start_time":1,`, "line 1, field /data/0: the file ends in the middle"},
	{"openai-usage", usageWith("") + "\n" + `{"data":`, "line 2, field /data: the file ends in the middle"},
	{"openai-usage", "{}", "line 1, field /data: the member is missing"},
	{"openai-usage", "[]", "line 1: the value has the wrong type"},
	{"openai-usage", `{"data":[{"results":[]}]}`,
		"line 1, field /data/0: the bucket has no start_time and end_time, or starting_at and ending_at"},
	{"openai-usage", `{"data":[{"start_time":2,"end_time":1}]}`, "line 1, field /data/0: the bucket ends before it begins"},
	{"openai-usage", `{"data":[{"start_time":0,"end_time":604800}]}`,
		"line 1, field /data/0: the bucket is longer than a day of UTC; export with bucket_width=1d"},
	{"openai-usage", `{"data":[{"start_time":"yesterday","end_time":604800}]}`,
		"line 1, field /data/0/start_time: this is not a time such as 2026-11-27T00:00:00Z"},
	{"openai-usage", usageWith("") + usageWith(""), "line 1, field /data/0: the bucket of 2026-11-01T00:00:00Z occurs twice in the file"},
	{"openai-usage", usageWith(`,"input_tokens":2`), `line 1, field /data/0/results/0/input_tokens: duplicate object member name`},
	{"openai-usage", usageWith(`,"input_cached_tokens":-1`), "line 1, field /data/0/results/0/input_cached_tokens: the number is negative"},
	{"openai-usage", usageWith(`,"input_cached_tokens":1.5`), "line 1, field /data/0/results/0/input_cached_tokens: this is not a whole number"},
	{"openai-usage", usageWith(`,"input_cached_tokens":"7"`), "line 1, field /data/0/results/0/input_cached_tokens: this is not a number"},
	{"openai-usage", usageWith(`,"input_cached_tokens":9e99`), "line 1, field /data/0/results/0/input_cached_tokens: this is not a whole number"},
	{"openai-usage", usageWith(`,"input_cached_tokens":9223372036854775808`),
		"line 1, field /data/0/results/0/input_cached_tokens: the number is larger than 4398046511104"},
	{"openai-usage", usageWith(`,"x":{"model":7}`) + openAIDay(`{"model":7}`), "line 1, field /data/0/results/0/model: this is not a text"},
	{"openai-usage", openAIDay(`{"model":"gpt-5","input_tokens":1,"output_tokens":1}`),
		"line 1, field /data/0/results/0: num_model_requests is missing"},
	{"openai-usage", openAIDay(`{"model":"gpt-5","input_tokens":1,"output_tokens":1,"num_model_requests":1},
		{"model":null,"input_tokens":1,"output_tokens":1,"num_model_requests":1}`),
		"line 1, field /data/0/results/1: some rows name a model and some do not; export the file again, grouped by model"},
	{"openai-usage", costOf(`{"value":1}`), "line 1, field /data/0/results/0: input_tokens is missing"},
}

var unreadableCosts = []unreadableFile{
	{"openai-costs", openAIDay(`{"object":"organization.usage.completions.result"}`),
		"line 1, field /data/0/results/0: this is no result of costs but of organization.usage.completions.result"},
	{"openai-costs", costOf(`{"value":1,"currency":"eur"}`),
		`line 2, field /data/0/results/0/amount/currency: the currency is "eur"; only US dollars can be compared`},
	{"openai-costs", costOf(`{"value":-0.01,"currency":"usd"}`), "line 2, field /data/0/results/0/amount/value: the number is negative"},
	{"openai-costs", costOf(`{"value":"1,5","currency":"usd"}`), "line 2, field /data/0/results/0/amount/value: this is not a decimal number"},
	{"openai-costs", costOf(`{"value":true,"currency":"usd"}`), "line 2, field /data/0/results/0/amount/value: this is not a decimal number"},
	{"openai-costs", costOf(`{"value":1e30,"currency":"usd"}`),
		"line 2, field /data/0/results/0/amount/value: the amount has more than 10 digits before the point"},
	{"openai-costs", costOf(`{"currency":"usd"}`), "line 1, field /data/0/results/0: amount.value is missing"},
	{"openai-costs", costOf(`7`), "line 2, field /data/0/results/0/amount: the value has the wrong type"},
	{"anthropic-usage", anthropicDay(`{"model":"claude","uncached_input_tokens":1}`), "line 1, field /data/0/results/0: output_tokens is missing"},
	{"anthropic-usage", anthropicDay(`{"cache_creation":{"ephemeral_1h_input_tokens":-5}}`),
		"line 1, field /data/0/results/0/cache_creation/ephemeral_1h_input_tokens: the number is negative"},
	{"anthropic-cost", anthropicDay(`{"currency":"USD"}`), "line 1, field /data/0/results/0: amount is missing"},
	{"anthropic-cost", anthropicDay(`{"amount":"12.","currency":"USD"}`), "line 1, field /data/0/results/0/amount: this is not a decimal number"},
	{"anthropic-cost", anthropicDay(`{"amount":"12.5","currency":"GBP"}`),
		`line 1, field /data/0/results/0/currency: the currency is "GBP"; only US dollars can be compared`},
}

var unreadableActivity = []unreadableFile{
	{"", "date,model,requests\n", "line 1, field usage: the file has no such column"},
	{"", activityHeader + "01.11.2026,a/b,0,1,1,1,0\n", "line 2, field date: this is not a day such as 2026-11-27"},
	{"", activityHeader + "2026-11-01,a/b,0,1,1,1,0\n2026-11-01,,0,1,1,1,0\n", "line 3, field model: the cell is empty"},
	{"", activityHeader + "2026-11-01,\"a/b,0,1,1,1,0\n", "line 2: a quotation mark is missing or in the wrong place"},
	{"", activityHeader + "2026-11-01,a/b,0,1,1,1\n", "line 2: the row has more or fewer cells than the header"},
	{"", activityHeader + "2026-11-01,a/b,$1,1,1,1,0\n", "line 2, field usage: this is not a decimal number"},
	{"", activityHeader + "2026-11-01,a/b,-1,1,1,1,0\n", "line 2, field usage: the number is negative"},
	{"", activityHeader + "2026-11-01,a/b,0,,1,1,0\n", "line 2, field requests: this is not a whole number"},
	{"", activityHeader + "2026-11-01,a/b,0,1,-4,1,0\n", "line 2, field prompt_tokens: the number is negative"},
	{"openrouter-activity", `{"data":[{"date":"2025-08-24","model":"a/b","usage":1}]}`,
		"line 1, field /data/0/requests: requests, prompt_tokens and completion_tokens must be stated"},
	{"openrouter-activity", `{"data":[{"date":"2025-08-24","model":"a/b"}]}`, "line 1, field /data/0/usage: the member is missing"},
}

// TestUnreadableFilesAreRefused checks that an error names the place and the reason, and that no part of a bad file is used.
func TestUnreadableFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(unreadableUsage, unreadableCosts, unreadableActivity) {
		e, err := Parse(strings.NewReader(c.content), Format(c.format))
		var unreadable *UnreadableError
		if !errors.As(err, &unreadable) || err.Error() != c.want || len(e.Rows) > 0 {
			t.Errorf("%s %q:\n got %v\nwant %s", c.format, c.content, err, c.want)
		}
	}
}
