package catalog

import (
	"slices"
	"strings"
	"testing"

	"umg/app/llm"
	"umg/app/meter"
)

func TestTheDefaultCatalogIsRight(t *testing.T) {
	t.Parallel()
	f := parse(t, string(Default()))
	for _, err := range Check(f) {
		t.Error(err)
	}
	if got := f.Names(); !slices.Equal(got, []string{"UMG_SIMULATOR_URL", "UMG_SIMULATOR_KEY"}) {
		t.Errorf("it refers to %v", got)
	}
	aliases := f.Aliases.InForce()
	for _, alias := range []string{"anthropic-version", "anthropic-beta", "x-api-key", "x-goog-api-key", "openai-poll-after-ms", "openai-processing-ms"} {
		if aliases.Headers[alias] == "" {
			t.Errorf("no header alias %s", alias)
		}
	}
	for _, alias := range []string{"/v1/openai/videos", "/anthropic/v1/messages", "/v1beta/models/{model}:generateContent",
		"/v1beta/models/{model}:streamGenerateContent", "/v1beta/models/{model}:countTokens",
		"/v1beta/{model}:generateContent", "/v1beta/{model}:streamGenerateContent", "/v1beta/{model}:countTokens"} {
		if aliases.Paths[alias] == "" {
			t.Errorf("no path alias %s", alias)
		}
	}
}

func TestTheDefaultCatalogHasEveryKindOfModel(t *testing.T) {
	t.Parallel()
	s := defaultSnapshot(t)
	count := map[string]int{}
	primary := map[string]llm.Style{}
	for _, m := range s.Models() {
		count[string(m.Kind)]++
		for _, style := range m.Styles {
			count[string(style)]++
		}
		if m.Kind == KindVideo {
			if !m.Available || !m.Answers() || len(m.Served()) > 0 {
				t.Errorf("%s cannot be called, or is called in %v", m.ID, m.Served())
			}
			for _, r := range m.Routes {
				count[string(r.Style)+" routes"]++
			}
			if m.Limits.RequestsPerMinute == 0 || m.Limits.JobsPerDay == 0 || m.Limits.JobsRunning == 0 {
				t.Errorf("%s has no limits", m.ID)
			}
			continue
		}
		if m.Kind != KindText {
			if m.Available || len(m.RateCard.Rates) == 0 {
				t.Errorf("%s is available or has no price", m.ID)
			}
			continue
		}
		for what, has := range map[string]bool{
			"image input": slices.Contains(m.InputModalities, "image"), "code": slices.Contains(m.Capabilities, "code"),
			"reasoning": slices.Contains(m.Parameters, "reasoning_effort"), "long context": m.ContextTokens >= 1_000_000,
			"cached input": m.Prices["cache_read_tokens"].Amount > 0, "no tools": !slices.Contains(m.Parameters, "tools"),
		} {
			if has {
				count[what]++
			}
		}
		if !m.Serves(llm.Chat) || len(m.Routes) != 2 || m.Routes[1].Provider.ID != "crossroads" {
			t.Errorf("%s does not have its two ways", m.ID)
		}
		if !slices.Equal(m.Served(), m.Styles) {
			t.Errorf("%s is served as %v, not as %v", m.ID, m.Served(), m.Styles)
		}
		primary[m.Routes[0].Provider.ID] = m.Routes[0].Style
		if m.Limits.RequestsPerMinute == 0 || m.Limits.TokensPerMinute == 0 || m.Limits.RequestsPerDay == 0 {
			t.Errorf("%s has no limits", m.ID)
		}
	}
	for what, want := range map[string]int{
		"chat": count["text"], "responses": 11, "messages": 6, "native": 6, "video": 4, "image": 1, "speech": 1,
		"videos routes": 5, "operations routes": 2, "tasks routes": 1,
	} {
		if count[what] != want {
			t.Errorf("%d models with %s, want %d", count[what], what, want)
		}
	}
	if count["text"] < 14 || len(primary) != 4 || primary["meridian"] != llm.Chat || primary["quillon"] != llm.Messages ||
		primary["tessera"] != llm.Responses || primary["boreal"] != llm.Native {
		t.Errorf("%d text models over %v", count["text"], primary)
	}
	for _, what := range []string{"image input", "code", "reasoning", "long context", "cached input", "no tools"} {
		if count[what] == 0 {
			t.Errorf("no model with %s", what)
		}
	}
}

func TestEveryDefaultModelTakesASimpleCallAndPricesIt(t *testing.T) {
	t.Parallel()
	for _, m := range defaultSnapshot(t).Models() {
		if m.Kind != KindText {
			continue
		}
		c, ok := m.Contract(llm.Chat)
		if !ok {
			t.Fatalf("%s has no chat contract", m.ID)
		}
		body := `{"model":"` + m.ID + `","messages":[{"role":"user","content":"Hello"}],"max_tokens":64,` +
			`"stream":true,"stream_options":{"include_usage":true}}`
		if err := c.Check([]byte(body)); err != nil {
			t.Errorf("%s refuses a simple call: %v", m.ID, err)
		}
		var usage meter.Counts
		usage[meter.InputTokens], usage[meter.OutputTokens] = 10, 5
		if cost, err := m.RateCard.Cost(usage, meter.Terms{}); err != nil || cost <= 0 {
			t.Errorf("%s costs %s, %v", m.ID, cost, err)
		}
		newOracle(t, c)
		if strings.Contains(string(c.Schema()), `"x-else"`) {
			t.Errorf("%s: the contract is not finished", m.ID)
		}
	}
}
