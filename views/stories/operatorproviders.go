package stories

import (
	"strings"

	"umg/app"
	"umg/views"
	operatorpages "umg/views/operator"
)

const providersPath = views.ProvidersPath

func providerPages() []Story {
	list := func(name, title string, change func(*operatorpages.ProviderList)) Story {
		return operatorStory(name, title, providersPath, view(operatorpages.ProviderListPage, exampleProviders, change))
	}
	return []Story{
		list("operator-providers", "Providers", func(*operatorpages.ProviderList) {}),
		list("operator-providers-empty", "Providers, none", func(l *operatorpages.ProviderList) { l.Providers = nil }),
		list("operator-providers-store-error", "Providers, the store is away", func(l *operatorpages.ProviderList) {
			*l = operatorpages.ProviderList{Shell: l.Shell, Failure: &views.LoadFailure{RequestID: "req_01kb4a6zt4h2s8j5y7r3w9mvaq"}}
		}),
		list("operator-providers-hostile", "Providers, hostile text", func(l *operatorpages.ProviderList) {
			long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
			p := &l.Providers[2]
			p.Name, p.Preset, p.ID, p.Why, p.Credential = long, long, strings.Repeat("a", 63), long, "${"+strings.Repeat("A", 190)+"}"
			p.HourCalls, p.Models = 1<<40, 12_345
			p.Week = operatorpages.MarginLine{Calls: 1 << 40, Revenue: 1 << 60, PricedRevenue: 1 << 60, Cost: 1 << 61}
		}),
	}
}

func exampleProviders(s views.Shell) operatorpages.ProviderList {
	week := func(calls int64, revenue, cost app.Amount) operatorpages.MarginLine {
		return operatorpages.MarginLine{Calls: calls, Revenue: revenue, PricedRevenue: revenue, Cost: cost}
	}
	//nolint:gosec // references, not secrets
	return operatorpages.ProviderList{Shell: s, Providers: []operatorpages.ProviderRow{
		{ID: "anthropic", Name: "Anthropic", Preset: "Anthropic", State: operatorpages.ProviderInUse, Credential: "…x7Qd", Credentials: 2,
			Models:    6,
			HourCalls: 1_204, Week: week(98_201, 1_204_500_000_000, 1_095_000_000_000)},
		{ID: "bedrock-eu", Name: "Bedrock in Frankfurt", Preset: "Amazon Bedrock", State: operatorpages.ProviderPaused, Why: "Quota until Monday",
			Credential: "${AWS_ACCESS_KEY_ID}:${AWS_SECRET_ACCESS_KEY}", Credentials: 1, Models: 4, Week: week(512, 9_300_000_000, 10_100_000_000)},
		{ID: "boreal", Name: "Boreal", State: operatorpages.ProviderUnusable, Why: "credential: the variable BOREAL_KEY is not set",
			Credential: "${BOREAL_KEY}", Credentials: 1, Models: 2},
		{ID: "local", Name: "The machine in the office", Preset: "Another server", State: operatorpages.ProviderIdle},
		{ID: "openai", Name: "OpenAI", Preset: "OpenAI", State: operatorpages.ProviderDraft, Credential: "…9KdB", Credentials: 1},
		{ID: "meridian", Name: "Meridian", State: operatorpages.ProviderInUse, Credential: "file:/run/secrets/meridian", Credentials: 1,
			Models:    11,
			HourCalls: 9, Week: operatorpages.MarginLine{Calls: 44, Unpriced: 44, Revenue: 12_000_000}},
	}}
}
