package stories

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	operatorpages "umg/views/operator"
)

const (
	providerPath    = "/console/operator/providers/anthropic"
	unreadableStore = "req_01kb4a6zt4h2s8j5y7r3w9mvaq"
)

// formStory is a page for operators with a form.
func formStory(name, title, path string, status int, draw func(views.Shell) templ.Component) Story {
	s := operatorStory(name, title, path, draw)
	s.Status = status
	return s
}

func providerManagement() []Story {
	page := func(name, title string, change func(*operatorpages.ProviderDetail)) Story {
		return operatorStory(name, title, providerPath, view(operatorpages.ProviderPage, exampleProvider, change))
	}
	return append([]Story{
		page("operator-provider", "Provider", func(*operatorpages.ProviderDetail) {}),
		page("operator-provider-off", "Provider that is off and has no models", func(p *operatorpages.ProviderDetail) {
			p.State, p.Disabled, p.Routes, p.Spend, p.Margin, p.MarginTotal = operatorpages.ProviderDraft, true, nil, nil, nil,
				operatorpages.MarginLine{}
		}),
		page("operator-provider-paused", "Provider that is paused, with a credential that cannot be read",
			func(p *operatorpages.ProviderDetail) {
				p.State = operatorpages.ProviderUnusable
				p.Pause, p.Stranded = examplePause("It answers with old prices"), []string{"anthropic/claude-haiku-4-5"}
				p.Unusable = "credential: the sealed credential anthropic was encrypted with another secret key"
				p.Credentials[0].Problem = "Encrypted with another secret key. Replace it."
			}),
		page("operator-provider-preset", "Provider whose preset an upgrade changed", func(p *operatorpages.ProviderDetail) {
			p.PresetFrom = at(40 * 24 * time.Hour)
			p.PresetLines = []string{
				"~ provider anthropic preset.base https://api.anthropic.com → https://api.anthropic.com/v2",
				"~ provider anthropic preset.headers.anthropic-version 2023-06-01 → 2026-10-01",
				"+ provider anthropic preset.styles.messages.count.path /messages/count_tokens",
			}
		}),
		page("operator-provider-store-error", "Provider, the margin cannot be read", func(p *operatorpages.ProviderDetail) {
			p.Failure = &views.LoadFailure{RequestID: unreadableStore}
		}),
		page("operator-provider-hostile", "Provider, hostile text", func(p *operatorpages.ProviderDetail) {
			long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
			p.Name, p.Facts[0].Value, p.Credentials[0].Reference, p.Unusable = long, long, long, long
			p.Routes[0].Upstream, p.Routes[0].ModelName, p.Credentials[0].Others = long, long, []string{long, long}
			p.PresetLines, p.Margin[0].Name = []string{"~ preset " + long + " base a → " + long}, long
		}),
	}, providerForms()...)
}

// providerForms are the forms of one provider.
func providerForms() []Story {
	form := func(name, title string, status int, change func(*operatorpages.ProviderForm)) Story {
		return formStory(name, title, providerPath+"/edit", status, view(operatorpages.ProviderFormPage, exampleProviderEdit, change))
	}
	key := func(name, title string, status int, change func(*operatorpages.ProviderKeyForm)) Story {
		return formStory(name, title, providerPath+"/credential", status, view(operatorpages.ProviderKeyPage, exampleKeyEdit, change))
	}
	remove := func(name, title string, status int, change func(*operatorpages.CatalogConfirm)) Story {
		return formStory(name, title, providerPath+"/delete", status, view(operatorpages.CatalogConfirmPage, exampleRemoval, change))
	}
	return []Story{
		form("operator-provider-edit", "Edit a provider", 200, func(*operatorpages.ProviderForm) {}),
		form("operator-provider-edit-errors", "Edit a provider, fields that are wrong", 422, func(f *operatorpages.ProviderForm) {
			f.Fields[0].Value, f.Address, f.Concurrency, f.SpendDaily = "US East!", "ftp://models.example.com", "many", "-5"
			f.Errors = map[string]string{
				"with.region": "Enter small letters, digits and hyphens.", "base_url": "Enter an http or https address.",
				"limits.concurrency": "Enter a whole number.", "spend.daily": "Enter an amount in dollars, such as 25.",
			}
		}),
		form("operator-provider-edit-conflict", "Edit a provider that another operator changed", 409, func(f *operatorpages.ProviderForm) {
			f.Version, f.Concurrency = 15, "80"
			f.Conflict = &operatorpages.CatalogConflict{By: "bob@example.com", At: at(2 * time.Minute), Changes: []string{
				"~ provider bedrock limits.concurrency 40 → 60", "~ model anthropic/claude-sonnet-4-5 markup 1.1 → 1.15",
			}}
		}),
		key("operator-provider-credential", "Replace a provider's credential", 200, func(*operatorpages.ProviderKeyForm) {}),
		key("operator-provider-credential-shared", "Replace a credential that other providers use", 200,
			func(f *operatorpages.ProviderKeyForm) {
				f.Others = []string{"anthropic-eu", "anthropic-batch"}
			}),
		key("operator-provider-credential-errors", "Replace a credential, fields that are wrong", 422,
			func(f *operatorpages.ProviderKeyForm) {
				f.Errors = map[string]string{"part.key": "Enter the credential.", "current_password": "The password is wrong."}
			}),
		key("operator-provider-credential-reference", "Refer to a credential", 422, func(f *operatorpages.ProviderKeyForm) {
			f.How, f.Reference, f.Unsealed = operatorpages.KeyReference, "ANTHROPIC_API_KEY",
				"This server has no secret key, so it stores no credentials."
			f.Errors = map[string]string{ //nolint:gosec // the story has no secret
				"credential": "Enter a reference like ${NAME}, sealed:NAME or file:/path.",
			}
		}),
		remove("operator-provider-delete", "Delete a provider", 200, func(*operatorpages.CatalogConfirm) {}),
		remove("operator-provider-delete-password", "Delete a provider, wrong password", 422, func(c *operatorpages.CatalogConfirm) {
			c.Errors = map[string]string{"current_password": "The password is wrong."}
		}),
	}
}

func exampleProvider(s views.Shell) operatorpages.ProviderDetail {
	line := func(name string, calls int64, revenue, cost app.Amount) operatorpages.MarginLine {
		return operatorpages.MarginLine{Name: name, Calls: calls, Revenue: revenue, PricedRevenue: revenue, Cost: cost}
	}
	return operatorpages.ProviderDetail{
		Shell: s, ID: "anthropic", Name: "Anthropic", Version: 14, State: operatorpages.ProviderInUse, Preset: "Anthropic",
		Docs: "https://docs.anthropic.com",
		Credentials: []operatorpages.ProviderKey{
			{Reference: "sealed:anthropic", Ending: "x7Qd", By: Email, At: at(50 * time.Hour), Others: []string{"anthropic-eu"}},
			{Reference: "${ANTHROPIC_API_KEY}"},
		},
		Facts: []operatorpages.Fact{
			{Name: "Address", Value: "https://api.anthropic.com/v1"}, {Name: "Styles", Value: "messages"},
			{Name: "Calls at once", Value: "60"}, {Name: "When a call is cancelled", Value: "stops"},
		},
		Routes: []operatorpages.ProviderRoute{
			{Model: "anthropic/claude-sonnet-4-5", ModelName: "Claude Sonnet 4.5", Upstream: "claude-sonnet-4-5-20250929",
				Style: "messages", Order: 1,
				Weight: 1, Cost: "$3.00 / $15.00 per 1M tokens"},
			{Model: "anthropic/claude-haiku-4-5", ModelName: "Claude Haiku 4.5", Upstream: "claude-haiku-4-5", Style: "messages",
				Order: 1, Weight: 1,
				Only: true, Cost: "$1.00 / $5.00 per 1M tokens"},
			{Model: "anthropic/claude-next", ModelName: "Claude Next", Upstream: "claude-next", Style: "messages", Order: 2, Weight: 3},
		},
		Spend: []operatorpages.ProviderSpend{
			{Period: "day", Cap: 50 * app.Dollar, Spent: 12_340_000_000, ResetsAt: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)},
		},
		Margin: []operatorpages.MarginLine{
			line("anthropic/claude-sonnet-4-5", 18_204, 412_300_000_000, 374_800_000_000), line("anthropic/claude-haiku-4-5", 9120,
				31_000_000_000, 33_400_000_000),
		},
		MarginTotal: line("", 27_324, 443_300_000_000, 408_200_000_000), MarginDays: 30,
	}
}

func exampleProviderEdit(s views.Shell) operatorpages.ProviderForm {
	return operatorpages.ProviderForm{
		Shell: s, CatalogForm: operatorpages.CatalogForm{Version: 14}, ID: "bedrock", Provider: "Bedrock in Oregon",
		Name: "Bedrock in Oregon", PresetName: "Amazon Bedrock",
		Fields: []operatorpages.ProviderField{
			{Name: "region", Label: "Region", Value: "us-west-2", Example: "us-east-1", Required: true},
			{Name: "credential_type", Label: "Credential", Value: "access_key", Options: []operatorpages.Choice{
				{Value: "access_key", Label: "Access key"}, {Value: "api_key", Label: "API key"},
			}},
		},
		AddressHint: "https://bedrock-runtime.us-west-2.amazonaws.com", Concurrency: "60", SpendDaily: "50", SpendMonthly: "1000",
	}
}

func exampleKeyEdit(s views.Shell) operatorpages.ProviderKeyForm {
	return operatorpages.ProviderKeyForm{
		Shell: s, CatalogForm: operatorpages.CatalogForm{Version: 14}, ID: "anthropic", Name: "Anthropic", How: operatorpages.KeyPasted,
		Parts:  []operatorpages.ProviderField{{Name: "key", Label: "API key", Required: true}},
		Sealed: "anthropic", Reference: "sealed:anthropic",
	}
}

func exampleRemoval(s views.Shell) operatorpages.CatalogConfirm {
	return operatorpages.CatalogConfirm{
		Shell: s, CatalogForm: operatorpages.CatalogForm{Version: 14}, Title: "Delete Anthropic?",
		Text: "Its routes leave the catalog with it.",
		Verb: "Delete the provider", Action: providerPath + "/delete", Back: providerPath, BackText: "Anthropic", Destructive: true,
		Customers: []string{"anthropic/claude-haiku-4-5 cannot be called any more: it has no other provider."},
		Effects: []string{
			"anthropic/claude-sonnet-4-5 is served by bedrock alone.",
			"The credential sealed:anthropic stays stored, because anthropic-eu uses it too.",
		},
		Changes: []string{
			"- provider anthropic", "~ model anthropic/claude-haiku-4-5 availability available → coming",
			"- model anthropic/claude-haiku-4-5 routes[anthropic claude-haiku-4-5 messages].order 1",
			"- model anthropic/claude-sonnet-4-5 routes[anthropic claude-sonnet-4-5-20250929 messages].order 1",
		},
	}
}
