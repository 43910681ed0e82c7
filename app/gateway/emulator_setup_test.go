package gateway_test

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/simulator/emulator"
)

// emulated is a way to one model of an emulated provider.
type emulated struct {
	name string
	// provider is the provider of the emulator; the name when empty.
	provider string
	// entry has the members of the provider in the catalog, but its id, its name and its credential.
	entry string
	// credential is the name of the variable with the credential; KEY when empty.
	credential string
	model      string
	style      llm.Style
	// noImages means that the model takes none.
	noImages bool
	// wait is what an error of too many requests asks to wait, as the client gets it.
	wait time.Duration
	// ownUsage means that a client of the style of the way gets the usage in the words of the provider, whose totals, or whose last event,
	// leave a part out.
	ownUsage bool
	// counts is what the reader of the provider can see of the usage that was billed; all when nil.
	counts func(emulator.Usage) emulator.Usage
}

const (
	vertexEntry  = `preset: vertex, with: {project: ` + emulator.Project + `, location: ` + emulator.Location + `}, base_url: "${SIM}/vertex"`
	bedrockEntry = `preset: bedrock, with: {region: ` + emulator.Region + `}, base_url: "${SIM}/bedrock"`
	entraAuth    = `auth: {kind: entra, tenant: ` + emulator.Tenant + `, client_id: ` + emulator.ClientID + `, authority: "SIM_ORIGIN",
    scope: "https://cognitiveservices.azure.com/.default"}`
)

// emulatedWays are the ways to all providers. Their entries are what an operator writes, and the address of the emulator.
var emulatedWays = []emulated{
	{name: "openai-chat", provider: "openai", entry: `preset: openai, base_url: "${SIM}/openai/v1"`, model: "gpt-5-mini", style: llm.Chat,
		wait: 2500 * time.Millisecond},
	{name: "openai-responses", provider: "openai", entry: `preset: openai, base_url: "${SIM}/openai/v1"`, model: "gpt-5-mini", style: llm.Responses,
		wait: 2500 * time.Millisecond},
	{name: "anthropic", entry: `preset: anthropic, base_url: "${SIM}/anthropic/v1"`, model: "claude-haiku-4-5", style: llm.Messages, wait: 7 * time.Second},
	{name: "gemini", entry: `preset: gemini, base_url: "${SIM}/gemini/v1beta"`, model: "gemini-2.5-flash", style: llm.Native, wait: 34400 * time.Millisecond},
	{name: "vertex-gemini", provider: "vertex", entry: vertexEntry, credential: "ACCOUNT_AT_SIM", model: "gemini-2.5-flash", style: llm.Native,
		wait: 34400 * time.Millisecond},
	{name: "vertex-claude", provider: "vertex", entry: vertexEntry, credential: "ACCOUNT_AT_SIM", model: "claude-haiku-4-5@20251001", style: llm.Messages, ownUsage: true,
		wait: 34400 * time.Millisecond},
	{name: "vertex-open", provider: "vertex", entry: vertexEntry, credential: "GOOGLE_USER", model: "meta/llama-4-maverick", style: llm.Chat,
		wait: 34400 * time.Millisecond},
	{name: "bedrock-claude", provider: "bedrock", entry: bedrockEntry, credential: "AWS_SESSION", model: "us.anthropic.claude-haiku-4-5-20251001-v1:0",
		style: llm.Messages, ownUsage: true, wait: 5 * time.Second},
	{name: "bedrock-claude-key", provider: "bedrock", entry: strings.Replace(bedrockEntry, "}", ", credential_type: api_key}", 1),
		model: "us.anthropic.claude-haiku-4-5-20251001-v1:0", style: llm.Messages, ownUsage: true, wait: 5 * time.Second},
	{name: "bedrock-converse", provider: "bedrock", entry: bedrockEntry, credential: "AWS", model: "us.amazon.nova-2-lite-v1:0", style: llm.Converse,
		wait: 5 * time.Second},
	{name: "azure-key", provider: "azure", entry: `preset: azure, with: {resource: res}, base_url: "${SIM}/azure/openai/v1"`, model: "gpt-5-mini",
		style: llm.Chat, wait: time.Second},
	{name: "azure-entra", provider: "azure", entry: `preset: azure, with: {resource: res}, base_url: "${SIM}/azure/openai/v1", ` + entraAuth,
		credential: "ENTRA", model: "gpt-4o-mini", style: llm.Responses, wait: time.Second},
	{name: "foundry", entry: `preset: azure-foundry, with: {resource: res}, base_url: "${SIM}/foundry/models"`, model: "grok-4-1-fast-non-reasoning",
		style: llm.Chat, ownUsage: true, wait: time.Second},
	{name: "xai-chat", provider: "xai", entry: `preset: xai, base_url: "${SIM}/xai/v1"`, model: "grok-4-fast-reasoning", style: llm.Chat, ownUsage: true,
		wait: 5 * time.Second},
	{name: "xai-responses", provider: "xai", entry: `preset: xai, base_url: "${SIM}/xai/v1"`, model: "grok-4-fast-reasoning", style: llm.Responses,
		wait: 5 * time.Second},
	{name: "mistral", entry: `preset: mistral, base_url: "${SIM}/mistral/v1"`, model: "mistral-small-latest", style: llm.Chat, wait: 4 * time.Second,
		counts: withoutReasoning},
	{name: "deepseek", entry: `preset: deepseek, base_url: "${SIM}/deepseek"`, model: "deepseek-flash", style: llm.Chat, noImages: true, wait: 5 * time.Second},
	{name: "groq", entry: `preset: groq, base_url: "${SIM}/groq/openai/v1"`, model: "moonshotai/kimi-k2-instruct-0905", style: llm.Chat, wait: 9 * time.Second},
	{name: "openrouter", entry: `preset: openrouter, base_url: "${SIM}/openrouter/api/v1"`, model: "anthropic/claude-haiku-4.5", style: llm.Chat,
		wait: 5 * time.Second},
	{name: "cohere", entry: `preset: cohere, base_url: "${SIM}/cohere"`, model: "command-a-03-2025", style: llm.Cohere,
		wait: 5 * time.Second},
}

// withoutReasoning is the usage of a provider that does not say how much of its output is reasoning.
func withoutReasoning(u emulator.Usage) emulator.Usage {
	u.Reasoning = 0
	return u
}

// upstream is the provider of the emulator.
func (w *emulated) upstream() string {
	if w.provider == "" {
		return w.name
	}
	return w.provider
}

// emulatedTerms are those of the models. Each meter has a price of its own.
const emulatedTerms = `name: Test, owner: test, kind: text, capabilities: [text], input: [INPUT], output: [text], context_tokens: 1000000,
     max_output_tokens: 8192, on_cut: error, hedge: false, parameters: [temperature, top_p, presence_penalty, frequency_penalty, stop, seed, tools,
     tool_choice, response_format, reasoning_effort], rates: {input_tokens: 3 per 1M, cache_read_tokens: 0.3 per 1M, cache_write_tokens: 3.75 per 1M,
     output_tokens: 15 per 1M, reasoning_tokens: 20 per 1M}, limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000},
     released: 2026-01-01, routes:`

// emulatedBench is a bench whose providers are those of an emulator.
type emulatedBench struct {
	*bench
	emulator *emulator.Emulator
	secrets  map[string]string
}

// newEmulator makes an emulator whose clock is ahead of that of the gateway, and serves it.
func newEmulator(t *testing.T, ahead time.Duration) (e *emulator.Emulator, origin string) {
	t.Helper()
	e = emulator.New(emulator.Options{Now: func() time.Time { return time.Now().Add(ahead) }, Random: rand.Reader})
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	return e, s.URL
}

// emulate gives a bench the providers and models of a catalog file in place of its own. In the texts, SIM_ORIGIN is the address of the
// emulator. The secrets are beside those that the emulator accepts.
func (b *bench) emulate(e *emulator.Emulator, origin, providers, models string, secrets map[string]string) *emulatedBench {
	b.t.Helper()
	own := *b
	next := &emulatedBench{bench: &own, emulator: e, secrets: map[string]string{
		"SIM": origin, "GOOGLE_USER": e.AuthorizedUser(origin),
		"ENTRA": emulator.ClientSecret, "AWS": emulator.AccessKeyID + ":" + emulator.SecretAccessKey,
		"AWS_SESSION": emulator.SessionKeyID + ":" + emulator.SessionSecret + ":" + emulator.SessionToken,
	}}
	maps.Copy(next.secrets, secrets)
	text := strings.ReplaceAll("providers:\n"+providers+"models:\n"+models, "SIM_ORIGIN", origin)
	f, err := catalog.ParseFile([]byte(text))
	must(b.t, err)
	snapshot, err := catalog.NewSnapshot(f, catalog.Options{
		Now: time.Now, Secrets: next.secret, Log: slog.New(slog.DiscardHandler), Traits: dialect.Traits, Extras: extraRows,
	})
	must(b.t, err)
	next.options.Snapshot = func() *catalog.Snapshot { return snapshot }
	next.gateway = gateway.New(next.options)
	return next
}

// secret finds the value of a variable. KEY_ is followed by the name of a provider, and ACCOUNT_AT_ by the variable with the address of a
// token endpoint.
func (b *emulatedBench) secret(name string) (string, bool) {
	if provider, isKey := strings.CutPrefix(name, "KEY_"); isKey {
		return emulator.Key(strings.ToLower(provider)), true
	}
	if account, isAccount := strings.CutPrefix(name, "ACCOUNT_AT_"); isAccount { // Making its key takes long.
		return b.emulator.ServiceAccount(b.secrets[account]), true
	}
	value, has := b.secrets[name]
	return value, has
}

// catalogOf has the provider and the model of a way. Entries is for further members of the provider.
func (w *emulated) catalogOf() (providers, models string) {
	credential, input := w.credential, "text, image"
	if credential == "" {
		credential = "KEY_" + strings.ToUpper(w.upstream())
	}
	if w.noImages {
		input = "text"
	}
	providers = fmt.Sprintf("  - {id: %s, name: %s, credential: \"${%s}\", %s, timeouts: {first_byte: 20s, idle: 20s, total: 60s}}\n",
		w.name, w.name, credential, w.entry)
	models = fmt.Sprintf("  - {id: test/%s, %s [{provider: %s, model: \"%s\", style: %s}]}\n",
		w.name, strings.Replace(emulatedTerms, "INPUT", input, 1), w.name, w.model, w.style)
	return providers, models
}

// cell is the bench of one call: with an account of its own, and a gateway that does not know how other calls went.
func (b *emulatedBench) cell(t *testing.T) *emulatedBench {
	t.Helper()
	next := *b
	own := *b.bench
	next.bench, own.t = &own, t
	own.gateway = gateway.New(b.options)
	own.open(startMoney)
	return &next
}

// priceOf is what a billed usage costs by the terms of the models.
func priceOf(u emulator.Usage) app.Amount {
	return app.Amount(priced(llm.Usage{Input: u.Input, CacheRead: u.CacheRead, Output: u.Output, Reasoning: u.Reasoning}))
}
