package errorclass

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app/llm"
)

func TestErrorsMeanWhatTheirProviderMeans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider string
		style    llm.Style
		status   int
		header   string // Header is the value of x-amzn-errortype.
		body     string
		want     Meaning
	}{
		{"gemini", llm.Native, 400, "", `{"error":{"code":400,"message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}`, Key},
		{"", llm.Native, 400, "", `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"User location is not supported for the API use."}}`, Route},
		{"gemini", llm.Native, 400, "", `{"error":{"message":"$x","details":[{"detail":"failed: User location is not supported."}]}}`, Route},
		{"gemini", llm.Native, 429, "", `{"error":{"details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}`, Quota},
		{"gemini", llm.Native, 429, "", `{"error":{"details":[{"metadata":{"quota_limit":"RequestsPerMinute"}}]}}`, Rate},
		{"gemini", llm.Native, 499, "", `{"error":{"code":499,"status":"CANCELLED"}}`, Server},
		{"xai", llm.Responses, 400, "", `{"code":"invalid-argument","error":"Incorrect API key provided. You can obtain one."}`, Key},
		{"xai", llm.Responses, 400, "", `{"code":"invalid-argument","error":"the tool 'Incorrect API key provided' is not one"}`, Request},
		{"", llm.Messages, 400, "", `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}`, Account},
		{"", llm.Messages, 400, "", `{"error":{"type":"invalid_request_error","message":"You have reached your specified workspace API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}`, Account},
		{"anthropic", llm.Messages, 400, "", `{"error":{"type":"invalid_request_error","message":"tools: credit balance is too low"}}`, Request},
		{"anthropic", llm.Messages, 529, "", `{"error":{"type":"overloaded_error"}}`, Overloaded},
		{"anthropic", llm.Messages, 404, "", `{"error":{"type":"not_found_error","message":"model: x"}}`, Route},
		{"bedrock", llm.Messages, 400, "IncompleteSignature:http://x", `{"message":"no"}`, Key},
		{"anthropic", llm.Messages, 400, "RequestExpired", `{"message":"no"}`, Key},
		{"bedrock", llm.Messages, 400, "ValidationException:x", `{"message":"The provided model identifier is invalid."}`, Route},
		{"bedrock", llm.Messages, 400, "ValidationException:x", `{"message":"Input Tokens Exceeded: Number of input tokens exceeds maximum length."}`, TooLong},
		{"bedrock", llm.Messages, 424, "ModelStreamErrorException", `{}`, Server},
		{"bedrock", llm.Messages, 400, "ExpiredTokenException", `{"message":"no"}`, Key},
		{"bedrock", llm.Messages, 403, "ExpiredTokenException:http://x", `{"message":"no"}`, Key},
		{"anthropic", llm.Messages, 403, "InvalidSignatureException", `{"message":"no"}`, Key},
		{"anthropic", llm.Messages, 400, "RequestTimeTooSkewed", `{"message":"no"}`, Key},
		{"deepseek", llm.Chat, 402, "", `{"error":{"message":"Insufficient Balance"}}`, Account},
		{"openai", llm.Chat, 429, "", `{"error":{"code":"insufficient_quota"}}`, Account},
		{"openai", llm.Chat, 429, "", `{"error":{"code":"credit_balance_exhausted"}}`, Account},
		{"zai", llm.Chat, 429, "", `{"error":{"code":"1113","message":"in arrears"}}`, Account},
		{"zai", llm.Chat, 429, "", `{"error":{"code":1302,"message":"fast"}}`, Rate},
		{"perplexity", llm.Chat, 400, "", `{"error":{"type":"too_many_prompt_tokens","code":400}}`, TooLong},
		{"cohere", llm.Chat, 400, "", `{"error_type":"TOO_MANY_TOKENS","message":"x"}`, TooLong},
		{"mistral", llm.Chat, 400, "", `{"object":"error","message":"Prompt is too large for model with 32768 maximum context length","code":3051}`, TooLong},
		{"moonshot", llm.Chat, 429, "", `{"error":{"type":"exceeded_current_quota_error"}}`, Rate}, // No source confirms this answer.
		{"unknown", "other", 404, "", `<html>`, Route},
		{"unknown", "other", 404, "", `{"error":{"code":"file_gone"}}`, Route},
		{"unknown", "other", 405, "", ``, Route},
		{"unknown", "other", 410, "", `{"error":{"code":"retired"}}`, Route},
		{"unknown", "other", 415, "", ``, Route},
		{"unknown", "other", 451, "", ``, Route},
		{"unknown", "other", 409, "", ``, Request},
		{"unknown", "other", 424, "", ``, Server},
		{"unknown", "other", 400, "", `{"error":{"code":"model_not_found"}}`, Route},
		{"openai", llm.Responses, 400, "", `{"error":{"type":"invalid_request_error","code":"model_not_found"}}`, Route},
		{"deepseek", llm.Chat, 400, "", `{"error":{"message":"Model Not Exist","type":"invalid_request_error","code":"invalid_request_error"}}`, Route},
		{"deepseek", llm.Chat, 400, "", `{"error":{"message":"a tool says Model Not Exist"}}`, Request},
		{"openrouter", llm.Chat, 400, "", `{"error":{"message":"healer-alpha is not a valid model ID","code":400}}`, Route},
		{"mistral", llm.Chat, 400, "", `{"object":"error","message":"Invalid model: x","type":"invalid_model","code":"1500"}`, Route},
		{"moonshot", llm.Chat, 429, "", `{"error":{"message":"busy","type":"engine_overloaded_error"}}`, Overloaded},
		{"moonshot", llm.Chat, 429, "", `{"error":{"message":"slow","type":"rate_limit_reached_error"}}`, Rate},
		{"unknown", "other", 407, "", ``, Key},
		{"unknown", "other", 418, "", ``, Request},
		{"unknown", "other", 599, "", ``, Server},
	} {
		r := Read([]byte(c.body))
		if v := Of(c.provider, c.style).Classify(c.status, http.Header{"X-Amzn-Errortype": {c.header}}, &r); v.Meaning != c.want {
			t.Errorf("%s %s %d %s %s: %s, want %s", c.provider, c.style, c.status, c.header, c.body, v.Meaning, c.want)
		}
	}
}

func TestOnlyAnEndedSessionHasACause(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]Cause{"ExpiredTokenException": SessionEnded, "InvalidSignatureException": "", "AccessDeniedException": ""} {
		for _, provider := range []string{"bedrock", "anthropic", "unknown"} {
			if v := Of(provider, llm.Messages).Classify(403, http.Header{"X-Amzn-Errortype": {kind}}, &Report{}); v.Cause != want || v.Meaning != Key {
				t.Errorf("%s at %s: %+v", kind, provider, v)
			}
		}
	}
}

func TestStatusesOfErrorsWithoutOne(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`{"error":{"status_code":429,"message":"m"}}`:                                  429,
		`{"error":{"http_code":"402"}}`:                                                402,
		`{"error":{"type":"overloaded_error"}}`:                                        503,
		`{"type":"error","code":"insufficient_quota"}`:                                 402,
		`{"type":"error","error":{"type":"throttlingException","message":"m"}}`:        429,
		`{"type":"error","error":{"type":"serviceUnavailableException"}}`:              503,
		`{"type":"error","error":{"type":"validationException","message":"Too long"}}`: 400,
		`{"type":"error","error":{"type":"modelStreamErrorException"}}`:                502,
		`{"error":"m"}`: 502,
		`[`:             502,
	} {
		if r := Read([]byte(body)); r.Status() != want {
			t.Errorf("%s: %d, want %d", body, r.Status(), want)
		}
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	info := `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}]}}`
	for _, c := range []struct {
		provider, body string
		header         http.Header
		want           time.Duration
	}{
		{"gemini", info, nil, 34400 * time.Millisecond},
		{"unknown", info, nil, 34400 * time.Millisecond},
		{"azure", `{}`, http.Header{"Retry-After-Ms": {"0"}, "Retry-After": {"1"}}, time.Second},
		{"openai", `{}`, http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"1"}}, 250 * time.Millisecond},
		{"together", `{}`, http.Header{"X-Ratelimit-Reset": {"3"}}, 3 * time.Second},
		{"openai", `{}`, http.Header{"X-Ratelimit-Reset": {"3"}}, 0},
		{"unknown", `{}`, http.Header{"Retry-After": {"0"}}, 0},
		{"unknown", `{}`, http.Header{"Retry-After": {"3600"}}, time.Minute},
		{"gemini", `{"error":{"details":[{"retryDelay":"90s"}]}}`, nil, time.Minute},
		{"gemini", `{"error":{"details":[{"retryDelay":"soon"}]}}`, nil, 0},
	} {
		r := Read([]byte(c.body))
		v := Of(c.provider, "").Classify(429, c.header, &r)
		if got := v.Wait(c.header, &r, time.Now(), time.Minute); got != c.want {
			t.Errorf("%s %s %v: %s, want %s", c.provider, c.body, c.header, got, c.want)
		}
	}
}

func TestBadTablesAreRefused(t *testing.T) {
	t.Parallel()
	const usual = "\ndefault: [{status: 4xx, means: request}]\n"
	for name, c := range map[string]struct{ text, want string }{
		"meaning":  {"default: [{status: 400, means: keys}]", `"keys" is not a meaning`},
		"none":     {"default: [{status: 400}]", `"" is not a meaning`},
		"place":    {"default: [{status: 429, means: rate, after: [retry-in]}]", `"retry-in" is not a place`},
		"usual":    {"after: [soon]" + usual, `"soon" is not a place`},
		"status":   {"default: [{status: 4x, means: request}]", `"4x" is not the status`},
		"success":  {"default: [{status: 200, means: request}]", `"200" is not the status`},
		"member":   {"default: [{status: 400, text: x, means: request}]", "field text not found"},
		"no value": {"default: [{header: x, means: server}]", "belong together"},
		"empty":    {"default: [{means: server}]", "matches every error"},
		"no list":  {"default: [{code: [], means: server}]", "no words"},
		"any key":  {"default: [{code: x, means: key}]", "must name its status"},
		"cause":    {"default: [{status: 403, means: key, cause: sesion}]", `"sesion" is not a cause`},
		"no key":   {"default: [{status: 429, means: rate, cause: session}]", `"session" is not a cause of the meaning rate`},
		"no rows":  {"providers: {x: []}" + usual, "x has no rows"},
		"style":    {"styles: {chat: x}" + usual, `no provider "x"`},
		"word":     {"statuses: [{word: x, status: 20}]" + usual, "no status of an error"},
	} {
		if _, err := parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word, text string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"A", "a", true}, {"a", "ab", false}, {"a*", "ab", true}, {"*b", "ab", true}, {"*b", "ba", false},
		{"a*b*c", "axbxc", true}, {"a*b*c", "acb", false}, {"*", "", true}, {"ab*bc", "abc", false},
	} {
		if newPattern(c.word).matches(c.text) != c.want {
			t.Errorf("%q %q", c.word, c.text)
		}
	}
}
