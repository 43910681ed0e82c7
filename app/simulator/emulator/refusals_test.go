package emulator_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app/apptest"
	"umg/app/simulator/emulator"
)

// TestRequestsAreRefusedAsTheProviderDoes sends requests that a provider does not take.
func TestRequestsAreRefusedAsTheProviderDoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const (
		mistral = `{"model":"mistral-small-latest","messages":[{"role":"user","content":"x"}]`
		gpt     = `{"model":"gpt-5-mini","messages":[{"role":"user","content":"x"}]`
		claude  = `{"model":"claude-haiku-4-5","messages":[{"role":"user","content":"x"}]`
		flash   = "/v1beta/models/gemini-2.5-flash:generateContent"
		invoke  = claudePath + "invoke"
		image   = `[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]`
	)
	for name, c := range map[string]struct {
		provider, path, body string
		status               int
		says                 string
	}{
		"mistral, stream_options":   {"mistral", "/v1/chat/completions", mistral + `,"stream":true,"stream_options":{"include_usage":true}}`, 422, "extra_forbidden"},
		"mistral, bound":            {"mistral", "/v1/chat/completions", mistral + `,"max_completion_tokens":5}`, 422, `"max_completion_tokens"`},
		"mistral, user":             {"mistral", "/v1/chat/completions", mistral + `,"user":"u"}`, 422, `"user"`},
		"mistral, begun answer":     {"mistral", "/v1/chat/completions", strings.Replace(mistral, "}]", `},{"role":"assistant","content":"b"}]}`, 1), 422, "prefix"},
		"openai, bound":             {"openai", "/v1/chat/completions", gpt + `,"max_tokens":5}`, 400, "max_completion_tokens"},
		"openai, temperature":       {"openai", "/v1/responses", `{"model":"gpt-5-mini","input":"x","temperature":1}`, 400, "temperature"},
		"openai, unknown member":    {"openai", "/v1/chat/completions", gpt + `,"usage":{}}`, 400, "Unrecognized request argument"},
		"openai, empty tools":       {"openai", "/v1/chat/completions", gpt + `,"tools":[]}`, 400, "empty array"},
		"openai, choice":            {"openai", "/v1/chat/completions", gpt + `,"tool_choice":"auto"}`, 400, "tool_choice"},
		"openai, messages":          {"openai", "/v1/responses", gpt + `}`, 400, "messages"},
		"openai, unknown model":     {"openai", "/v1/chat/completions", strings.Replace(gpt, "gpt-5-mini", "gpt-x", 1) + "}", 404, "model_not_found"},
		"openai, path":              {"openai", "/chat/completions", gpt + "}", 404, "Invalid URL"},
		"azure, deployment":         {"azure", "/openai/v1/chat/completions", strings.Replace(gpt, "gpt-5-mini", "other", 1) + "}", 404, "DeploymentNotFound"},
		"foundry, no version":       {"foundry", "/models/chat/completions", gpt + "}", 404, "Resource not found"},
		"deepseek, developer":       {"deepseek", "/chat/completions", `{"model":"deepseek-flash","messages":[{"role":"developer","content":"x"}]}`, 422, "unknown variant `developer`"},
		"deepseek, image":           {"deepseek", "/chat/completions", `{"model":"deepseek-flash","messages":[{"role":"user","content":` + image + `}]}`, 400, "not supported"},
		"groq, developer":           {"groq", "/openai/v1/chat/completions", `{"model":"moonshotai/kimi-k2-instruct-0905","messages":[{"role":"developer","content":"x"}]}`, 400, "discriminator"},
		"xai, stop":                 {"xai", "/v1/chat/completions", `{"model":"grok-4-fast-reasoning","stop":["a"],"messages":[{"role":"user","content":"x"}]}`, 400, "stop"},
		"anthropic, no bound":       {"anthropic", "/v1/messages", claude + "}", 400, "max_tokens: Field required"},
		"anthropic, version inside": {"anthropic", "/v1/messages", claude + `,"max_tokens":5,"anthropic_version":"x"}`, 400, "anthropic_version"},
		"anthropic, system inside":  {"anthropic", "/v1/messages", `{"model":"claude-haiku-4-5","max_tokens":5,"messages":[{"role":"user","content":"x"},{"role":"system","content":"x"}]}`, 400, "system"},
		"gemini, unknown member":    {"gemini", flash, nativeBody + `,"labels":{"a":"b"}}`, 400, "Unknown name"},
		"gemini, address":           {"gemini", flash, `{"contents":[{"parts":[{"fileData":{"fileUri":"https://example.com/a.png"}}]}]}`, 400, "not supported"},
		"gemini, unknown model":     {"gemini", strings.Replace(flash, "2.5", "9", 1), nativeBody + "}", 404, "is not found for API version"},
		"gemini, stream of JSON":    {"gemini", "/v1beta/models/gemini-2.5-flash:streamGenerateContent", nativeBody + "}", 404, "404"},
		"vertex, project":           {"vertex", "/v1/projects/other/locations/" + emulator.Location + "/publishers/google/models/gemini-2.5-flash:generateContent", nativeBody + "}", 403, "IAM_PERMISSION_DENIED"},
		"vertex, location":          {"vertex", "/v1/projects/" + emulator.Project + "/locations/mars/publishers/google/models/gemini-2.5-flash:generateContent", nativeBody + "}", 404, "locations/mars"},
		"vertex, model in the body": {"vertex", vertexPlace + "/publishers/anthropic/models/claude-haiku-4-5@20251001:rawPredict", claude + `,"max_tokens":5,"anthropic_version":"vertex-2023-10-16"}`, 400, "model: Extra inputs"},
		"vertex, no version":        {"vertex", vertexPlace + "/publishers/anthropic/models/claude-haiku-4-5@20251001:rawPredict", `{"max_tokens":5,"messages":[{"role":"user","content":"x"}]}`, 400, "anthropic_version: Field required"},
		"bedrock, wrong version":    {"bedrock", invoke, strings.Replace(claudeBody, "VERSION", "vertex-2023-10-16", 1) + "}", 400, "anthropic_version"},
		"bedrock, stream member":    {"bedrock", invoke, strings.Replace(claudeBody, "VERSION", "bedrock-2023-05-31", 1) + `,"stream":true}`, 400, "stream: Extra inputs"},
		"bedrock, unknown model":    {"bedrock", "/model/us.unknown-v1:0/converse", converseBody + "}", 400, "The provided model identifier is invalid."},
		"bedrock, text as content":  {"bedrock", novaPath + "converse", `{"messages":[{"role":"user","content":"x"}]}`, 400, "content field"},
		"bedrock, twice the user":   {"bedrock", novaPath + "converse", `{"messages":[{"role":"user","content":[{"text":"x"}]},{"role":"user","content":[{"text":"x"}]}]}`, 400, "alternate"},
		"cohere, bound":             {"cohere", "/v2/chat", `{"model":"command-a-03-2025","max_completion_tokens":5,"messages":[{"role":"user","content":"x"}]}`, 400, "max_completion_tokens"},
		"cohere, word of a choice":  {"cohere", "/v2/chat", `{"model":"command-a-03-2025","messages":[{"role":"user","content":"x"}]` + chatTools + "}", 400, "tool_choice"},
		"no JSON":                   {"openai", "/v1/chat/completions", `{`, 400, "parse"},
	} {
		got := b.call(c.provider, c.path, c.body)
		if got.status != c.status || !strings.Contains(compact(got.body), c.says) {
			t.Errorf("%s: %d %s, want %d and %q", name, got.status, got.body, c.status, c.says)
		}
	}
	if got := b.post("/anthropic/v1/messages", claude+`,"max_tokens":5}`, "X-Api-Key", emulator.Key("anthropic")); got.status != 400 {
		t.Errorf("without a version: %d %s", got.status, got.body)
	}
}

// TestKeysAreVerified sends credentials that a provider does not take.
func TestKeysAreVerified(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, r := range requests() {
		bad := 0
		for _, headers := range [][]string{
			{}, {"Authorization", "Bearer wrong"}, {"X-Api-Key", "wrong"}, {"Api-Key", "wrong"}, {"X-Goog-Api-Key", "wrong"},
			{"Authorization", "Bearer " + emulator.Key("other")}, {"Authorization", emulator.Key(r.provider)},
			{"Authorization", "Bearer " + emulator.Key(r.provider), "X-Api-Key", emulator.Key(r.provider)},
			{"Api-Key", emulator.Key(r.provider), "X-Goog-Api-Key", emulator.Key(r.provider)},
		} {
			got := b.post("/"+r.provider+r.path, r.body+"}", append(headers, "Anthropic-Version", "2023-06-01")...)
			if got.status < 400 || got.status > 403 {
				t.Errorf("%s with %q: %d %s", r.provider, headers, got.status, got.body)
			}
			bad++
			if strings.Contains(got.body, emulator.Key(r.provider)) {
				t.Errorf("%s repeats the key: %s", r.provider, got.body)
			}
		}
	}
	for provider, want := range map[string]int{"gemini": 400, "xai": 400, "openai": 401, "bedrock": 403} {
		for _, r := range requests() {
			if r.provider != provider {
				continue
			}
			header, value := "Authorization", "Bearer wrong"
			if provider == "gemini" {
				header, value = "X-Goog-Api-Key", "wrong"
			}
			if got := b.post("/"+r.provider+r.path, r.body+"}", header, value); got.status != want {
				t.Errorf("%s answers %d to a wrong key: %s", provider, got.status, got.body)
			}
		}
	}
}

// TestRulesMakeProvidersFail checks the rules: which requests fail, how often, and how.
func TestRulesMakeProvidersFail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ask := func(text string) reply {
		return b.call("anthropic", "/v1/messages", `{"model":"claude-haiku-4-5","max_tokens":9,"messages":[{"role":"user","content":"`+text+`"}]}`)
	}
	b.Add(emulator.Rule{Provider: "anthropic", Text: "once", Fault: "overloaded", Times: 1})
	b.Add(emulator.Rule{Provider: "openai", Fault: "server"})
	b.Add(emulator.Rule{Text: "always", Fault: "rate"})
	for i, want := range []struct {
		text   string
		status int
	}{{"other", 200}, {"once", 529}, {"once", 200}, {"always", 429}, {"always", 429}} {
		if got := ask(want.text); got.status != want.status {
			t.Errorf("%d: %d %s", i, got.status, got.body)
		}
	}
	if got := ask("always"); got.header.Get("Retry-After") != "7" || got.header.Get("Request-Id") == "" {
		t.Errorf("the headers are %v", got.header)
	}
	b.Clear()
	if got := ask("always"); got.status != 200 || got.header.Get("Anthropic-Ratelimit-Requests-Remaining") == "" {
		t.Errorf("after the rules: %d %v", got.status, got.header)
	}
	if all := b.Records("always"); len(all) != 4 || all[0].Refused != "rate" || all[3].Status != 200 || all[3].Billed.Output != 8 || all[3].Billed.CacheRead != 3 {
		t.Errorf("the records are %+v", all)
	}
}

// TestStreamsStallAndAreCut reads streams that do not end.
func TestStreamsStallAndAreCut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	each := func(text string) (*http.Response, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		body := `{"model":"gpt-4o-mini","stream":true,"messages":[{"role":"user","content":"` + text + `"}]}`
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+"/openai/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+emulator.Key("openai"))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp, cancel
	}
	b.Add(emulator.Rule{Text: "stops", Fault: emulator.Stall})
	b.Add(emulator.Rule{Text: "breaks", Fault: emulator.Cut})
	resp, cancel := each("it breaks")
	text, err := io.ReadAll(resp.Body)
	cancel()
	_ = resp.Body.Close()
	if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Contains(text, []byte("Olá")) || bytes.Contains(text, []byte("DONE")) {
		t.Errorf("the cut stream: %v %s", err, text)
	}
	resp, cancel = each("it stops")
	buffer := make([]byte, 4096)
	for seen := ""; !strings.Contains(seen, "Olá"); {
		n, err := resp.Body.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		seen += string(buffer[:n])
	}
	cancel()
	_ = resp.Body.Close()
	apptest.Eventually(t, 10*time.Second, "the stalled stream ends", func() bool { return len(b.Records("it stops")) > 0 })
	if all := b.Records("it stops"); !all[0].Left {
		t.Errorf("the record is %+v", all)
	}
}
