package modelfamily_test

import (
	"slices"
	"testing"

	"umg/app/llm"
	"umg/app/modelfamily"
	"umg/app/preset"
)

func TestNamesOfProvidersHavePublicIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		preset, model, id, family string
		style                     llm.Style
	}{
		{"anthropic", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5", "claude-4-5", llm.Messages},
		{"anthropic", "claude-sonnet-4-0", "anthropic/claude-sonnet-4", "claude-budget", llm.Messages},
		{"anthropic", "claude-opus-5", "anthropic/claude-opus-5", "claude", llm.Messages},
		{"bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic/claude-sonnet-4-5", "claude-4-5", llm.Messages},
		{"bedrock", "eu.anthropic.claude-opus-4-6-v1", "anthropic/claude-opus-4-6:eu", "claude-4-6", llm.Messages},
		{"bedrock", "us-gov.anthropic.claude-haiku-4-5-20251001-v1:0", "anthropic/claude-haiku-4-5:us-gov", "claude-4-5", llm.Messages},
		{"bedrock", "meta.llama3-3-70b-instruct-v1:0", "meta/llama-3.3-70b-instruct", "llama", llm.Converse},
		{"bedrock", "amazon.nova-2-lite-v1:0", "amazon/nova-2-lite", "nova", llm.Converse},
		{"bedrock", "openai.gpt-oss-120b-1:0", "openai/gpt-oss-120b", "gpt-oss", llm.Converse},
		{"bedrock", "openai.gpt-oss-120b", "openai/gpt-oss-120b", "gpt-oss", llm.Chat},
		{"bedrock", "openai.gpt-5.5", "openai/gpt-5.5", "gpt", ""},
		{"vertex", "claude-opus-4-6@default", "anthropic/claude-opus-4-6", "claude-4-6", llm.Messages},
		{"vertex", "gemini-2.5-pro", "google/gemini-2.5-pro", "gemini", llm.Native},
		{"vertex", "zai-org/glm-5-maas", "zai/glm-5", "glm", llm.Chat},
		{"gemini", "models/gemini-2.5-pro", "google/gemini-2.5-pro", "gemini", llm.Native},
		{"openrouter", "anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-4-5", "claude-4-5", llm.Chat},
		{"openrouter", "x-ai/grok-4.3", "xai/grok-4.3", "grok", llm.Chat},
		{"groq", "llama-3.3-70b-versatile", "meta/llama-3.3-70b-instruct", "llama", llm.Chat},
		{"openai", "gpt-4o-2024-08-06", "openai/gpt-4o", "gpt-4", llm.Chat},
		{"openai", "gpt-5.5-pro", "openai/gpt-5.5-pro", "gpt", llm.Responses},
		{"openai", "o3", "openai/o3", "o", llm.Responses},
		{"azure", "gpt-4.1", "openai/gpt-4.1", "gpt-4", llm.Chat},
		{"azure", "claude-opus-4-6", "anthropic/claude-opus-4-6", "claude-4-6", ""},
		{"azure-foundry", "grok-4-20-reasoning", "xai/grok-4.20-reasoning", "grok", llm.Chat},
		{"cohere", "command-a-03-2025", "cohere/command-a-03-2025", "command", llm.Cohere},
		{"", "claude-sonnet-4-6", "anthropic/claude-sonnet-4-6", "claude-4-6", ""},
	} {
		f, ok := modelfamily.Find(c.preset, c.model)
		if !ok || f.PublicID() != c.id || f.ID != c.family || f.Style != c.style {
			t.Errorf("%s at %s: %s, family %q, style %q", c.model, c.preset, f.PublicID(), f.ID, f.Style)
		}
	}
}

func TestUnknownNamesHavePublicIDsToo(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{
		"my-model": "custom/my-model", "Vendor/Model:Q4": "vendor/model-q4", "../x y": "custom/x-y", "": "custom/model",
	} {
		if f, ok := modelfamily.Find("custom", name); ok || f.PublicID() != id || f.Style != llm.Chat {
			t.Errorf("%q: %q, %q, %v", name, f.PublicID(), f.Style, ok)
		}
	}
}

func TestModelsThatMakeNoTextAreNamed(t *testing.T) {
	t.Parallel()
	for preset, names := range map[string][]string{
		"openai": {
			"text-embedding-3-small", "gpt-image-1", "whisper-1", "tts-1", "gpt-4o-transcribe", "omni-moderation-latest", "dall-e-3",
			"sora-2", "gpt-realtime",
		},
		"gemini":  {"models/gemini-embedding-001", "gemini-2.5-flash-image", "veo-3.1-generate-preview", "gemini-2.5-pro-preview-tts"},
		"bedrock": {"amazon.titan-embed-text-v2:0", "amazon.nova-canvas-v1:0", "amazon.nova-reel-v1:1", "cohere.rerank-v3-5:0"},
	} {
		for _, name := range names {
			if f, _ := modelfamily.Find(preset, name); f.Unserved == "" {
				t.Errorf("%s at %s is of family %q", name, preset, f.ID)
			}
		}
	}
}

func TestEachPresetHasARuleForStyles(t *testing.T) {
	t.Parallel()
	for _, known := range preset.All() {
		f, _ := modelfamily.Find(known.ID, "some-model")
		var styles []llm.Style
		for style := range known.Styles {
			styles = append(styles, style)
		}
		if f.Style == "" || len(styles) > 0 && !slices.Contains(styles, f.Style) {
			t.Errorf("%s serves an unknown model in the style %q; it has %v", known.ID, f.Style, styles)
		}
	}
}
