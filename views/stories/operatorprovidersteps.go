package stories

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/views"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

var (
	exampleAnthropic = operatorpages.ProviderAbout{ID: "anthropic", Name: "Anthropic", Draft: true}
	longWords        = nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
)

func withStatus(s Story, status int) Story {
	s.Status = status
	return s
}

func providerFormPages() []Story {
	presets := func(name, title string, change func(*operatorpages.ProviderPresets)) Story {
		return operatorStory(name, title, views.NewProviderPath, view(operatorpages.ProviderPresetsPage, examplePresets, change))
	}
	form := func(name, title string, change func(*operatorpages.NewProvider)) Story {
		return operatorStory(name, title, views.NewProviderPath+"/anthropic", view(operatorpages.NewProviderPage, exampleProviderForm, change))
	}
	return []Story{
		presets("operator-provider-presets", "Add a provider, presets", func(*operatorpages.ProviderPresets) {}),
		presets("operator-provider-presets-none", "Add a provider, no preset matches", func(p *operatorpages.ProviderPresets) {
			p.Text, p.List = "watson", nil
		}),
		form("operator-provider-new", "Add a provider, form", func(*operatorpages.NewProvider) {}),
		form("operator-provider-new-reference", "Add a provider, reference", func(f *operatorpages.NewProvider) {
			f.Source = operatorpages.CredentialReference
		}),
		form("operator-provider-new-bedrock", "Add a provider, several secrets", bedrockForm),
		form("operator-provider-new-vertex", "Add a provider, a file as the credential", func(f *operatorpages.NewProvider) {
			bedrockForm(f)
			f.Preset.ID, f.Preset.Name = "vertex", "Google Vertex AI"
			f.ID, f.Choice.Options = "vertex", []ui.Option{{Value: "account", Label: "Account"}, {Value: "machine", Label: "Machine"}}
			f.Choice.Value = "account"
			f.Secrets = []operatorpages.PresetField{
				{ID: "account", Label: "JSON of a service account or an authorized user", Required: true, Lines: true},
			}
		}),
		form("operator-provider-new-machine", "Add a provider, without a credential", func(f *operatorpages.NewProvider) {
			bedrockForm(f)
			f.Choice.Options, f.Choice.Value = []ui.Option{{Value: "account", Label: "Account"}, {Value: "machine", Label: "Machine"}}, "machine"
			f.Secrets = nil
		}),
		withStatus(form("operator-provider-new-errors", "Add a provider, fields that are wrong", func(f *operatorpages.NewProvider) {
			bedrockForm(f)
			f.ID, f.IDError = "bedrock eu", "Enter small letters, digits and hyphens, beginning with a letter."
			f.Fields[0].Value, f.Fields[0].Error = "Frankfurt", `"Frankfurt" must be small letters, digits and hyphens`
			f.Secrets[0].Error, f.Pasted = "Enter the access key id.", true
			f.Address, f.AddressError = "bedrock.internal", "Enter an http or https address without a query."
		}), http.StatusUnprocessableEntity),
		withStatus(form("operator-provider-new-taken", "Add a provider, id taken, credential stored", func(f *operatorpages.NewProvider) {
			f.IDError = "A provider with the id anthropic exists. Choose another id."
			f.Stored, f.Ending = "anthropic-2", "x7Qd"
		}), http.StatusUnprocessableEntity),
		withStatus(form("operator-provider-new-conflict", "Add a provider, hostile text", func(f *operatorpages.NewProvider) {
			f.Problem, f.ID, f.Name, f.Reference = longWords, longWords, longWords, longWords
			f.Source, f.ReferenceError = operatorpages.CredentialReference, "The variable ANTHROPIC_API_KEY is not set."
		}), http.StatusConflict),
	}
}

func examplePresets(s views.Shell) operatorpages.ProviderPresets {
	list := []operatorpages.PresetCard{
		{ID: "anthropic", Name: "Anthropic", Priced: 14, Providers: 1},
		{ID: "azure", Name: "Azure OpenAI", Priced: 41},
		{ID: "bedrock", Name: "Amazon Bedrock", Priced: 96,
			Note: "Claude is called in the messages style, models of the mantle endpoint in the chat and responses styles, " +
				"and all others by converse."},
		{ID: "custom", Name: "Another server", Note: "Any server that speaks one of the four styles, such as vLLM or Ollama."},
		{ID: "gemini", Name: "Google Gemini", Priced: 12}, {ID: "openai", Name: "OpenAI", Priced: 52},
		{ID: "openrouter", Name: "OpenRouter", Priced: 301},
	}
	return operatorpages.ProviderPresets{Shell: s, List: list, All: len(list)}
}

func exampleProviderForm(s views.Shell) operatorpages.NewProvider {
	return operatorpages.NewProvider{
		Shell: s, Preset: examplePresets(s).List[0], Docs: "https://docs.example.com", ID: "anthropic", Source: operatorpages.CredentialPasted,
		Reference: "${ANTHROPIC_API_KEY}", AddressOf: "https://api.example.com/v1",
		Secrets: []operatorpages.PresetField{{ID: "key", Label: "API key", Required: true}},
	}
}

func bedrockForm(f *operatorpages.NewProvider) {
	f.Preset = examplePresets(f.Shell).List[2]
	f.ID, f.Reference = "bedrock", "${AWS_ACCESS_KEY_ID}:${AWS_SECRET_ACCESS_KEY}"
	f.Fields = []operatorpages.PresetField{{ID: "region", Label: "Region", Example: "us-east-1", Required: true}}
	f.Choice = &operatorpages.ProviderChoice{ID: "credential_type", Label: "Credential", Value: "access_key", Options: []ui.Option{
		{Value: "access_key", Label: "Access key"}, {Value: "api_key", Label: "API key"},
	}}
	f.Secrets = []operatorpages.PresetField{
		{ID: "access_key", Label: "Access key id", Required: true}, {ID: "secret_key", Label: "Secret access key", Required: true},
		{ID: "session", Label: "Session token"},
	}
}

func providerTestPages() []Story {
	test := func(name, title string, change func(*operatorpages.ProviderTest)) Story {
		return operatorStory(name, title, views.ProviderPath("anthropic", "test"), view(operatorpages.ProviderTestPage, exampleTest, change))
	}
	return []Story{
		test("operator-provider-test", "Test, before it", func(t *operatorpages.ProviderTest) { t.State, t.Steps = operatorpages.TestNone, nil }),
		test("operator-provider-test-running", "Test, running", func(t *operatorpages.ProviderTest) {
			t.State = operatorpages.TestRunning
			for i := range t.Steps {
				switch {
				case i == 4:
					t.Steps[i] = pendingStep(t.Steps[i], operatorpages.StepRunning)
				case i > 4:
					t.Steps[i] = pendingStep(t.Steps[i], operatorpages.StepWaiting)
				}
			}
		}),
		test("operator-provider-test-listing", "Test, a long model list", func(t *operatorpages.ProviderTest) {
			t.State, t.Steps = operatorpages.TestRunning, t.Steps[:2]
			t.Steps[1].State, t.Steps[1].Detail = operatorpages.StepRunning, "4,200 models so far."
		}),
		test("operator-provider-test-passed", "Test, passed", func(*operatorpages.ProviderTest) {}),
		test("operator-provider-test-failed", "Test, wrong credential", wrongCredential),
		test("operator-provider-test-unreachable", "Test, unreachable", func(t *operatorpages.ProviderTest) {
			wrongCredential(t)
			t.Steps[1].ProviderWords, t.Steps[1].Took = "", 10*time.Second
			t.Steps[1].Detail = "The host api.example.com could not be reached within 10s."
			t.Steps[1].Advice = "Check the address, and whether this server may call it."
		}),
		test("operator-provider-test-partly", "Test, a stream failed", func(t *operatorpages.ProviderTest) {
			t.State, t.Listed = operatorpages.TestFailed, 0
			t.Steps[4].State, t.Steps[4].Detail = operatorpages.StepFailed, "The stream ended before its last event."
			t.Steps[4].Advice = "Test again. If it fails again, look for a proxy between this server and the provider that holds back streams."
			t.Steps[6].Cost = nil
		}),
		test("operator-provider-test-cancelled", "Test, cancelled", func(t *operatorpages.ProviderTest) {
			t.State, t.Steps = operatorpages.TestCancelled, t.Steps[:4]
			t.Steps[3].State, t.Steps[3].Detail, t.Steps[3].Cost = operatorpages.StepSkipped, "The test was cancelled.", nil
		}),
		withStatus(test("operator-provider-test-busy", "Test, too many run", func(t *operatorpages.ProviderTest) {
			t.State, t.Steps, t.Problem = operatorpages.TestNone, nil, "8 tests of providers are running. Wait until one has ended."
			t.Models[0].Model, t.Models[0].Error = longWords, "Enter a name without spaces of at most 256 characters."
		}), http.StatusUnprocessableEntity),
		test("operator-provider-test-hostile", "Test, hostile text", func(t *operatorpages.ProviderTest) {
			wrongCredential(t)
			t.Provider.Name = longWords
			for i := range t.Steps {
				t.Steps[i].Detail, t.Steps[i].ProviderWords, t.Steps[i].Advice, t.Steps[i].Model = longWords, longWords, longWords, longWords
			}
		}),
	}
}

func exampleTest(s views.Shell) operatorpages.ProviderTest {
	cost := func(nanos app.Amount) *app.Amount { return &nanos }
	const model = "claude-haiku-4-5"
	step := func(name string, took time.Duration, detail string) operatorpages.TestStep {
		return operatorpages.TestStep{Name: name, Style: "Messages", Model: model, State: operatorpages.StepPassed, Took: took, Detail: detail}
	}
	steps := []operatorpages.TestStep{
		{Name: "Credential", State: operatorpages.StepPassed, Took: 2 * time.Millisecond, Detail: "sealed:anthropic is set."},
		{Name: "Model list", State: operatorpages.StepPassed, Took: 412 * time.Millisecond, Detail: "The provider lists 11 models."},
		{Name: "Clock", State: operatorpages.StepPassed, Detail: "The clocks differ by less than a second."},
		step("Call", 812*time.Millisecond, "It answered."), step("Stream", 690*time.Millisecond, "The first event came after 402 ms."),
		step("Tools", 1_204*time.Millisecond, "It called the tool."), step("Usage", 0, "Tokens are counted, and their cost is known."),
	}
	for i := 3; i < 6; i++ {
		steps[i].Input, steps[i].Output, steps[i].Cost = 14, 8, cost(54_000)
	}
	return operatorpages.ProviderTest{
		Shell: s, Provider: exampleAnthropic, State: operatorpages.TestPassed, Steps: steps, Started: at(5 * time.Second),
		Took:  3_120 * time.Millisecond,
		Calls: 3, Cost: 162_000, Listed: 11,
		Models: []operatorpages.TestModel{
			{Style: "messages", Label: "Model for Messages", Model: model, Suggestions: []string{model, "claude-sonnet-4-5"}},
		},
	}
}

// pendingStep is a step that has no outcome.
func pendingStep(s operatorpages.TestStep, state string) operatorpages.TestStep {
	return operatorpages.TestStep{Name: s.Name, Style: s.Style, Model: s.Model, State: state}
}

func wrongCredential(t *operatorpages.ProviderTest) {
	t.State, t.Calls, t.Cost, t.Listed, t.Took = operatorpages.TestFailed, 0, 0, 0, 231*time.Millisecond
	t.Steps[1] = operatorpages.TestStep{
		Name: "Model list", State: operatorpages.StepFailed, Took: 219 * time.Millisecond, Detail: "The provider answered 401.",
		ProviderWords: "invalid x-api-key", Advice: "Paste the credential again: the provider does not know it.",
	}
	for i := 2; i < len(t.Steps); i++ {
		t.Steps[i] = pendingStep(t.Steps[i], operatorpages.StepSkipped)
	}
}

func providerModelPages() []Story {
	models := func(name, title string, change func(*operatorpages.ProviderModels)) Story {
		return operatorStory(name, title, views.ProviderPath("anthropic", "models"),
			view(operatorpages.ProviderModelsPage, exampleChoices, change))
	}
	return []Story{
		models("operator-provider-models", "Choose models", func(*operatorpages.ProviderModels) {}),
		models("operator-provider-models-many", "Choose models, ten thousand", func(m *operatorpages.ProviderModels) {
			rows := slices.Clone(m.Rows[:1])
			for i := range operatorpages.ChoicesPerPage - 1 {
				r := m.Rows[4]
				r.ID, r.Name, r.ProviderModel = fmt.Sprintf("vendor/model-%04d", i), fmt.Sprintf("Model %d", i), fmt.Sprintf("model-%04d", i)
				r.Known, r.CostIn, r.CostOut, r.PriceIn, r.PriceOut = true, "$0.10", "$0.40", "$0.11", "$0.44"
				rows = append(rows, r)
			}
			m.Rows, m.Matching, m.All, m.Selected, m.Query = rows, 9_812, 10_000, 4_311, operatorpages.ChoiceQuery{Text: "o", Page: 41}
		}),
		models("operator-provider-models-unpriced", "Choose models, without a price", func(m *operatorpages.ProviderModels) {
			m.Rows[3].Selected, m.Rows[4].Selected, m.Rows[4].SetIn, m.Rows[4].SetOut = true, true, "0.50", "1.50"
			m.Selected, m.Unready = 4, 1
		}),
		withStatus(models("operator-provider-models-errors", "Choose models, fields that are wrong", func(m *operatorpages.ProviderModels) {
			m.Markup, m.MarkupError = "ten", "Enter a markup such as 10% or 0%."
			m.Rows[0].OwnMarkup, m.Rows[0].MarkupError = "-200%", "Enter a markup such as 10% or 0%."
			m.Rows[3].Selected, m.Rows[3].SetIn, m.Rows[3].PriceError = true, "cheap", "Enter dollars for a million tokens, such as 0.50."
			m.Problem = "Give each selected model a price first: 1 has none."
		}), http.StatusUnprocessableEntity),
		models("operator-provider-models-none", "Choose models, no match", func(m *operatorpages.ProviderModels) {
			m.Rows, m.Matching, m.Query.Text = nil, 0, "gpt"
		}),
		models("operator-provider-models-empty", "Choose models, none known", func(m *operatorpages.ProviderModels) {
			m.Rows, m.Matching, m.All, m.Selected, m.Families, m.ListedAt = nil, 0, 0, 0, m.Families[:1], nil
		}),
		models("operator-provider-models-unreachable", "Choose models, the list could not be read", func(m *operatorpages.ProviderModels) {
			m.ListedAt, m.ListProblem = nil, "The host api.example.com could not be reached within 10s."
		}),
		models("operator-provider-models-hostile", "Choose models, hostile text", func(m *operatorpages.ProviderModels) {
			for i := range m.Rows {
				m.Rows[i].Name, m.Rows[i].ProviderModel, m.Rows[i].Family = longWords, longWords, longWords
			}
			m.Provider.Name, m.ListProblem, m.Problem = longWords, longWords, longWords
		}),
	}
}

func exampleChoices(s views.Shell) operatorpages.ProviderModels {
	row := func(id, name, family string, in, out, priceIn, priceOut string) operatorpages.ChoiceRow {
		return operatorpages.ChoiceRow{
			ID: "anthropic/" + id, Name: name, ProviderModel: id, Family: family,
			FamilyID: strings.ToLower(strings.ReplaceAll(family, " ", "-")), Context: 200_000, Known: true,
			CostIn: in, CostOut: out, PriceIn: priceIn, PriceOut: priceOut,
		}
	}
	rows := []operatorpages.ChoiceRow{
		row("claude-haiku-4-5", "Claude Haiku 4.5", "Claude 4", "$1.00", "$5.00", "$1.20", "$6.00"),
		row("claude-opus-4-5", "Claude Opus 4.5", "Claude 4", "$5.00", "$25.00", "$5.50", "$27.50"),
		row("claude-sonnet-4-5", "Claude Sonnet 4.5", "Claude 4", "$3.00", "$15.00", "$3.30", "$16.50"),
		row("claude-next", "Claude Next", "Claude 4", "", "", "", ""),
		row("lab-preview-0711", "lab-preview-0711", "", "", "", "", ""),
		row("claude-3-haiku", "Claude 3 Haiku", "Claude 3", "$0.25", "$1.25", "", ""),
		row("claude-3-5-haiku", "Claude 3.5 Haiku", "Claude 3", "$0.80", "$4.00", "", ""),
	}
	rows[0].Selected, rows[0].OwnMarkup, rows[2].Selected, rows[2].More = true, "20%", true, "and 3 others"
	rows[4].Known, rows[4].Context, rows[4].Family, rows[4].FamilyID = false, 0, "", ""
	rows[5].Published, rows[6].Elsewhere = true, true
	rows[1].Shutdown = "1 Feb 2027"
	listed := at(4 * time.Minute)
	return operatorpages.ProviderModels{
		Shell: s, Provider: exampleAnthropic, Rows: rows, Matching: 7, All: 7, Selected: 2, Markup: "10%", ListedAt: &listed,
		LibraryDate: "2 Jul 2026",
		Families:    []ui.Option{{Label: "All"}, {Value: "claude-4", Label: "Claude 4 (4)"}, {Value: "claude-3", Label: "Claude 3 (2)"}},
	}
}

func providerPublishPages() []Story {
	publish := func(name, title string, change func(*operatorpages.ProviderPublish)) Story {
		return operatorStory(name, title, views.ProviderPath("anthropic", "publish"),
			view(operatorpages.ProviderPublishPage, examplePublish, change))
	}
	below := func(p *operatorpages.ProviderPublish) {
		p.BelowCost = []string{"model anthropic/claude-haiku-4-5: output costs $5.00 per 1M tokens at anthropic, " +
			"and its price is $4.50 per 1M tokens"}
	}
	return []Story{
		publish("operator-provider-publish", "Publish", func(*operatorpages.ProviderPublish) {}),
		publish("operator-provider-publish-below", "Publish, below cost", below),
		withStatus(publish("operator-provider-publish-below-error", "Publish, below cost without consent",
			func(p *operatorpages.ProviderPublish) {
				below(p)
				p.BelowError = "Confirm that you want prices below cost, or raise the markup."
			}), http.StatusUnprocessableEntity),
		withStatus(publish("operator-provider-publish-password", "Publish, wrong password", func(p *operatorpages.ProviderPublish) {
			p.PasswordError = "The password is wrong."
		}), http.StatusUnprocessableEntity),
		withStatus(publish("operator-provider-publish-conflict", "Publish, another operator was quicker", func(p *operatorpages.ProviderPublish) {
			p.Conflict = "Another operator changed the catalog since you opened this page: grace@example.com, at 2026-11-21 09:40:12 UTC."
		}), http.StatusConflict),
		publish("operator-provider-publish-routes", "Publish, a second route", func(p *operatorpages.ProviderPublish) {
			p.New, p.More = nil, []string{"anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-5"}
		}),
		publish("operator-provider-publish-problems", "Publish, not possible", func(p *operatorpages.ProviderPublish) {
			p.Problems = []string{"models[3].rates: has no price for output_tokens",
				"models[7].aliases[0]: claude-haiku is the alias of another model"}
		}),
		publish("operator-provider-publish-empty", "Publish, nothing selected", func(p *operatorpages.ProviderPublish) {
			*p = operatorpages.ProviderPublish{Shell: p.Shell, Provider: p.Provider, Empty: "No model is selected"}
		}),
		publish("operator-provider-publish-many", "Publish, hundreds", func(p *operatorpages.ProviderPublish) {
			for i := range 240 {
				p.New = append(p.New, operatorpages.PublishedModel{
					ID: fmt.Sprintf("vendor/model-%03d", i), Name: longWords[:40], Prices: []string{"$0.11 input, $0.44 output per 1M tokens"},
				})
			}
			p.Models = 242
		}),
	}
}

func examplePublish(s views.Shell) operatorpages.ProviderPublish {
	return operatorpages.ProviderPublish{
		Shell: s, Provider: exampleAnthropic, Version: 41, Models: 2,
		New: []operatorpages.PublishedModel{
			{ID: "anthropic/claude-haiku-4-5", Name: "Claude Haiku 4.5", Prices: []string{"Input tokens: $1.2 per 1M",
				"Output tokens: $6 per 1M", "Cache read tokens: $0.12 per 1M"}},
			{ID: "anthropic/claude-sonnet-4-5", Name: "Claude Sonnet 4.5", Prices: []string{"Input tokens: $3.3 per 1M",
				"Output tokens: $16.5 per 1M",
				"Prompts over 200,000 tokens: $6.60 input, $24.75 output per 1M tokens"}},
		},
		Diff: []string{
			"- provider anthropic disabled true", "+ model anthropic/claude-haiku-4-5", "+ model anthropic/claude-sonnet-4-5",
		},
	}
}
