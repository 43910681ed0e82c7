package library_test

import (
	"slices"
	"strings"
	"testing"

	"umg/app/catalog"
	"umg/app/library"
	"umg/app/llm"
	"umg/app/modelfamily"
	"umg/app/preset"
	"umg/app/provider/modellist"
)

func find(t *testing.T, choices []library.Choice, id string) library.Choice {
	t.Helper()
	i := slices.IndexFunc(choices, func(c library.Choice) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("%s is not among %d choices", id, len(choices))
	}
	return choices[i]
}

func TestOneModelOfSeveralProvidersHasOneID(t *testing.T) {
	t.Parallel()
	for id, names := range map[string]map[string]string{
		"anthropic/claude-sonnet-4-5": {
			"anthropic": "claude-sonnet-4-5", "bedrock": "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
			"vertex": "claude-sonnet-4-5@20250929", "openrouter": "anthropic/claude-sonnet-4.5",
		},
		"google/gemini-2.5-pro":       {"gemini": "gemini-2.5-pro", "vertex": "gemini-2.5-pro"},
		"openai/gpt-5":                {"openai": "gpt-5", "azure": "gpt-5"},
		"meta/llama-3.3-70b-instruct": {"groq": "llama-3.3-70b-versatile", "bedrock": "meta.llama3-3-70b-instruct-v1:0"},
	} {
		for presetID, name := range names {
			c := find(t, library.Embedded().Choices(presetID, nil), id)
			if c.ProviderModel != name || !c.Known || !c.Priced || c.Listed {
				t.Errorf("%s at %s: %+v, want the name %s", id, presetID, c, name)
			}
		}
	}
}

func TestAliasesMeanOneModel(t *testing.T) {
	t.Parallel()
	means := map[string]string{}
	l := library.Embedded()
	for i := range l.Models {
		means[l.Models[i].ID] = l.Models[i].ID
	}
	for i := range l.Models {
		for _, o := range l.Models[i].Offers {
			for _, alias := range o.Aliases {
				if id, ok := means[alias]; ok && id != l.Models[i].ID {
					t.Errorf("%s is an alias of %s and of %s", alias, l.Models[i].ID, id)
				}
				means[alias] = l.Models[i].ID
			}
		}
	}
	for alias, id := range map[string]string{
		"claude-sonnet-4-5":                                "anthropic/claude-sonnet-4-5",
		"claude-sonnet-4-5-20250929":                       "anthropic/claude-sonnet-4-5",
		"claude-sonnet-4-0":                                "anthropic/claude-sonnet-4",
		"anthropic.claude-sonnet-4-5-20250929-v1:0":        "anthropic/claude-sonnet-4-5",
		"global.anthropic.claude-sonnet-4-5-20250929-v1:0": "anthropic/claude-sonnet-4-5",
		"models/gemini-2.5-pro":                            "google/gemini-2.5-pro",
		"gpt-4o":                                           "openai/gpt-4o",
		"gpt-4o-2024-08-06":                                "openai/gpt-4o-2024-08-06",
	} {
		if means[alias] != id {
			t.Errorf("%s means %q, want %s", alias, means[alias], id)
		}
	}
}

func TestTheListOfAProviderDecides(t *testing.T) {
	t.Parallel()
	all := library.Embedded().Choices("anthropic", []modellist.Model{
		{ID: "claude-nova-9"}, {ID: "claude-sonnet-4-5-20250929", ContextTokens: 150_000}, {ID: "claude-opus-4-6"}, {ID: "text-embedding-4"},
		{ID: "claude-opus-4-6"},
	})
	if len(all) != 3 || all[2].Known || !all[0].Known || !all[0].Listed {
		t.Fatalf("%+v", all)
	}
	if c := all[1]; c.ID != "anthropic/claude-sonnet-4-5" || c.FileModel("a", 1, 0).ContextTokens != 150_000 {
		t.Errorf("%+v", c)
	}
	m := all[2].FileModel("anthropic", 1, 0)
	if m.ID != "anthropic/claude-nova-9" || m.Routes[0].Style != llm.Messages || m.Markup != 0 || all[2].Priced {
		t.Errorf("an unknown model: %+v", m)
	}
	f := catalog.File{
		Providers: []catalog.FileProvider{{ID: "anthropic", Preset: "anthropic", Credential: "${KEY}"}}, Models: []catalog.FileModel{m},
	}
	if errs := catalog.Check(f); len(errs) != 1 || !strings.Contains(errs[0].Error(), "a model without rates cannot be available") {
		t.Errorf("an unknown model needs nothing but prices: %v", errs)
	}
}

func TestBedrockIsCalledByTheProfileOfAllRegions(t *testing.T) {
	t.Parallel()
	all := library.Embedded().Choices("bedrock", []modellist.Model{
		{ID: "anthropic.claude-sonnet-4-5-20250929-v1:0"}, {ID: "openai.gpt-oss-120b-1:0"}, {ID: "amazon.titan-embed-text-v2:0"},
	})
	if len(all) != 2 || all[0].ProviderModel != "global.anthropic.claude-sonnet-4-5-20250929-v1:0" || all[1].ID != "openai/gpt-oss-120b" {
		t.Errorf("%+v", all)
	}
}

func TestAProfileThatIsNotListedIsNotCalled(t *testing.T) {
	t.Parallel()
	all := library.Embedded().Choices("bedrock", []modellist.Model{
		{ID: "anthropic.claude-sonnet-4-5-20250929-v1:0"}, {ID: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"},
	})
	if len(all) != 1 || all[0].ID != "anthropic/claude-sonnet-4-5:eu" ||
		all[0].ProviderModel != "eu.anthropic.claude-sonnet-4-5-20250929-v1:0" {
		t.Errorf("%+v", all)
	}
}

func TestAModelKnownElsewhereIsOfferedWithoutAPrice(t *testing.T) {
	t.Parallel()
	all := library.Embedded().Choices("openrouter", []modellist.Model{{ID: "anthropic/claude-opus-4.8", ContextTokens: 1_000_000}})
	if len(all) != 1 || all[0].ID != "anthropic/claude-opus-4-8" || !all[0].Known || all[0].Priced {
		t.Fatalf("%+v", all)
	}
	if m := all[0].FileModel("or", 2, 0); m.MaxOutputTokens != 128_000 || m.Routes[0].Style != llm.Chat || m.Routes[0].Order != 2 {
		t.Errorf("%+v", m)
	}
}

func TestWhatAModelTakesFollowsFromItsFamily(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		preset, id string
		has, lacks []string
		thinking   []string
		style      llm.Style
	}{
		{
			"anthropic", "anthropic/claude-sonnet-4-5", []string{"temperature", "tools", "structured_outputs", "reasoning_effort"}, nil,
			[]string{"enabled"}, llm.Messages,
		},
		{
			"anthropic", "anthropic/claude-opus-4-8", []string{"tools", "reasoning_effort"}, []string{"temperature", "top_p"},
			[]string{"adaptive", "effort"}, llm.Messages,
		},
		{"anthropic", "anthropic/claude-3-haiku", []string{"temperature"}, []string{"reasoning_effort", "structured_outputs"}, nil, llm.Messages},
		{
			"openai", "openai/gpt-5.5", []string{"custom_tools", "verbosity", "reasoning_effort"}, []string{"temperature", "seed"}, nil,
			llm.Responses,
		},
		{"openai", "openai/gpt-4o", []string{"temperature", "logprobs"}, []string{"reasoning_effort"}, nil, llm.Chat},
		{"gemini", "google/gemini-2.5-pro", []string{"temperature", "reasoning_effort"}, []string{"logit_bias"}, nil, llm.Native},
		{"vertex", "meta/llama-3.3-70b-instruct", []string{"temperature", "tools"}, []string{"reasoning_effort"}, nil, llm.Chat},
		{"bedrock", "amazon/nova-pro", []string{"tools"}, []string{"reasoning_effort", "structured_outputs"}, nil, llm.Converse},
	} {
		m := find(t, library.Embedded().Choices(c.preset, nil), c.id).FileModel("p", 1, 0)
		for _, name := range c.has {
			if !slices.Contains(m.Parameters, name) {
				t.Errorf("%s lacks %s: %v", c.id, name, m.Parameters)
			}
		}
		for _, name := range c.lacks {
			if slices.Contains(m.Parameters, name) {
				t.Errorf("%s has %s", c.id, name)
			}
		}
		if !slices.Equal(m.Thinking, c.thinking) || m.Routes[0].Style != c.style {
			t.Errorf("%s: thinking %v, style %s", c.id, m.Thinking, m.Routes[0].Style)
		}
	}
}

func TestOffersHaveStylesOfTheirPresets(t *testing.T) {
	t.Parallel()
	l := library.Embedded()
	for i := range l.Models {
		for _, o := range l.Models[i].Offers {
			known, ok := preset.Find(o.Preset)
			if !ok {
				t.Fatalf("%s: %s is no preset", l.Models[i].ID, o.Preset)
			}
			if known.Styles[o.Style] == nil && len(known.Styles) > 0 {
				t.Errorf("%s: %s does not speak %s", l.Models[i].ID, o.Preset, o.Style)
			}
			if f, _ := modelfamily.Find(o.Preset, o.Model); f.Style != o.Style {
				t.Errorf("%s: the family's style is %q, and the offer's %q", l.Models[i].ID, f.Style, o.Style)
			}
		}
	}
}

func TestTenThousandUnknownModelsAreListed(t *testing.T) {
	t.Parallel()
	listed := make([]modellist.Model, 10_000)
	for i := range listed {
		listed[i].ID = "vendor/model-" + strings.Repeat("x", i%40) + "-" + string(rune('a'+i%26)) + "-" + strings.Repeat("7", i/1_000+1)
	}
	if all := library.Embedded().Choices("openrouter", listed); len(all) == 0 || all[0].Known {
		t.Errorf("%d choices", len(all))
	}
}
