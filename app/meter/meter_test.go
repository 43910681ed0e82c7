package meter_test

import (
	"strings"
	"testing"
	"time"

	"umg/app/meter"
)

// stored lists the meters in the order of their numbers, which records of every age have. New meters are added at the end.
var stored = []string{
	"input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "images", "seconds", "characters",
	"requests", "cache_write_1h_tokens", "cache_write_long_tokens", "input_audio_tokens", "cache_read_audio_tokens",
	"output_audio_tokens", "input_image_tokens", "output_image_tokens", "input_video_tokens", "web_searches", "web_search_previews",
	"social_searches", "grounded_prompts", "grounded_queries", "web_fetches", "file_searches", "code_sessions", "container_seconds",
	"mcp_calls", "input_seconds", "megapixels", "search_units", "citation_tokens", "cache_read_image_tokens", "tool_calls",
}

func TestMetersKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	if len(stored) != int(meter.Count) {
		t.Fatalf("there are %d meters, and %d are stored", meter.Count, len(stored))
	}
	for i, name := range stored {
		if m, err := meter.Parse(name); err != nil || int(m) != i || m.String() != name {
			t.Errorf("%s is %d, %v, and records have it as %d", name, m, err, i)
		}
	}
}

func TestEveryMeterIsDescribed(t *testing.T) {
	t.Parallel()
	labels := map[string]bool{}
	for m := range meter.Count {
		info := m.Info()
		if info.Label == "" || info.Unit == "" || info.Side == "" || !strings.HasSuffix(info.What, ".") || labels[info.Label] {
			t.Errorf("%s: %+v", m, info)
		}
		labels[info.Label] = true
		priced := m
		for range meter.Count {
			priced = priced.Info().PricedAs
		}
		if priced.Info().PricedAs != priced {
			t.Errorf("the price of %s is never found", m)
		}
		if as := info.PricedAs; as != m && as.Info().Unit != info.Unit {
			t.Errorf("%s and %s share a price and not a unit", m, as)
		}
	}
}

func TestUnknownMetersAreNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "tokens", "INPUT_TOKENS", meter.Count.String()} {
		if m, err := meter.Parse(name); err == nil || !strings.Contains(err.Error(), "input_tokens") {
			t.Errorf("Parse(%q) = %v, %v", name, m, err)
		}
	}
}

func TestThePromptHasEveryKindOfInput(t *testing.T) {
	t.Parallel()
	c := meter.Counts{
		meter.InputTokens: 1, meter.CacheReadTokens: 10, meter.CacheWriteHourTokens: 100, meter.InputAudioTokens: 1_000,
		meter.CacheReadImageTokens: 10_000, meter.OutputTokens: 7, meter.ReasoningTokens: 70, meter.OutputImageTokens: 700, meter.WebSearches: 5,
	}
	if c.Prompt() != 11_111 || c.Output() != 777 {
		t.Errorf("prompt %d, output %d", c.Prompt(), c.Output())
	}
}

func TestTermsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 27, 4, 0, 0, 0, time.UTC)
	for text, terms := range map[string]meter.Terms{
		"":                              {At: at},
		"service_tier=flex":             {At: at, ServiceTier: "flex"},
		"region=us speed=fast":          {At: at, Region: "us", Speed: "fast"},
		"size=1024x1024 quality=medium": {At: at, Size: "1024x1024", Quality: "medium"},
	} {
		if got := terms.String(); got != text {
			t.Errorf("%q, want %q", got, text)
		}
		if got, err := meter.ParseTerms(text, at); err != nil || got != terms {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if _, err := meter.ParseTerms("tier=flex", at); err == nil {
		t.Error("an unknown term was read")
	}
}
