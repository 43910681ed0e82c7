package check_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/check"
	"umg/app/provider/credential"
	"umg/app/simulator/emulator"
)

// TestMain proves that no test leaves a goroutine behind.
func TestMain(m *testing.M) { apptest.VerifyNoLeaks(m) }

// emulated is a provider of the emulator as an operator enters it, and its models.
type emulated struct {
	name string
	// provider is the provider of the emulator; the name when empty.
	provider string
	// entry has the members of the provider in the catalog, but its id, its name and its credential.
	entry string
	// credential is the name of the variable with the credential; KEY when empty.
	credential string
	// models are the names of models, each with the styles in which it is called.
	models []model
	// listed is how many models the provider lists, or -1 for no list.
	listed int
	// open means that the list needs no credential.
	open bool
}

type model struct {
	name   string
	styles []llm.Style
}

const (
	vertexEntry  = `preset: vertex, with: {project: ` + emulator.Project + `, location: ` + emulator.Location + `}, base_url: "${SIM}/vertex"`
	bedrockEntry = `preset: bedrock, with: {region: ` + emulator.Region + `}, base_url: "${SIM}/bedrock"`
	entraAuth    = `auth: {kind: entra, tenant: ` + emulator.Tenant + `, client_id: ` + emulator.ClientID + `, authority: "SIM_ORIGIN",
    scope: "https://cognitiveservices.azure.com/.default"}`
)

var (
	chatAndResponses = []llm.Style{llm.Chat, llm.Responses}
	claudeOfBedrock  = model{"us.anthropic.claude-haiku-4-5-20251001-v1:0", []llm.Style{llm.Messages}}
	nova             = model{"us.amazon.nova-2-lite-v1:0", []llm.Style{llm.Converse}}
)

// emulatedProviders are all presets, but the one for other servers.
var emulatedProviders = []emulated{
	{name: "openai", entry: `preset: openai, base_url: "${SIM}/openai/v1"`, models: []model{{"gpt-5-mini", chatAndResponses}}, listed: 2},
	{name: "anthropic", entry: `preset: anthropic, base_url: "${SIM}/anthropic/v1"`, models: []model{{"claude-haiku-4-5", []llm.Style{llm.Messages}}},
		listed: 1},
	{name: "gemini", entry: `preset: gemini, base_url: "${SIM}/gemini/v1beta"`, models: []model{{"gemini-2.5-flash", []llm.Style{llm.Native}}}, listed: 1},
	{name: "vertex", entry: vertexEntry, credential: "GOOGLE_USER", models: []model{
		{"gemini-2.5-flash", []llm.Style{llm.Native}}, {"claude-haiku-4-5@20251001", []llm.Style{llm.Messages}},
		{"meta/llama-4-maverick", []llm.Style{llm.Chat}},
	}, listed: 2},
	{name: "bedrock", entry: bedrockEntry, credential: "AWS", models: []model{claudeOfBedrock, nova}, listed: 3},
	{name: "bedrock-session", provider: "bedrock", entry: bedrockEntry, credential: "AWS_SESSION", models: []model{nova}, listed: 3},
	{name: "bedrock-key", provider: "bedrock", entry: strings.Replace(bedrockEntry, "}", ", credential_type: api_key}", 1),
		models: []model{claudeOfBedrock}, listed: 3},
	{name: "azure", entry: `preset: azure, with: {resource: res}, base_url: "${SIM}/azure/openai/v1"`, models: []model{{"gpt-5-mini", chatAndResponses}},
		listed: -1},
	{name: "azure-entra", provider: "azure", entry: `preset: azure, with: {resource: res}, base_url: "${SIM}/azure/openai/v1", ` + entraAuth,
		credential: "ENTRA", models: []model{{"gpt-4o-mini", []llm.Style{llm.Responses}}}, listed: -1},
	{name: "azure-foundry", provider: "foundry", entry: `preset: azure-foundry, with: {resource: res}, base_url: "${SIM}/foundry/models"`,
		models: []model{{"grok-4-1-fast-non-reasoning", []llm.Style{llm.Chat}}}, listed: -1},
	{name: "xai", entry: `preset: xai, base_url: "${SIM}/xai/v1"`, models: []model{{"grok-4-fast-reasoning", chatAndResponses}}, listed: 1},
	{name: "mistral", entry: `preset: mistral, base_url: "${SIM}/mistral/v1"`, models: []model{{"mistral-small-latest", []llm.Style{llm.Chat}}}, listed: 1},
	{name: "deepseek", entry: `preset: deepseek, base_url: "${SIM}/deepseek"`, models: []model{{"deepseek-flash", []llm.Style{llm.Chat}}}, listed: 1},
	{name: "groq", entry: `preset: groq, base_url: "${SIM}/groq/openai/v1"`,
		models: []model{{"moonshotai/kimi-k2-instruct-0905", []llm.Style{llm.Chat}}}, listed: 1},
	{name: "openrouter", entry: `preset: openrouter, base_url: "${SIM}/openrouter/api/v1"`,
		models: []model{{"anthropic/claude-haiku-4.5", []llm.Style{llm.Chat}}}, listed: 1, open: true},
	{name: "cohere", entry: `preset: cohere, base_url: "${SIM}/cohere"`, models: []model{{"command-a-03-2025", []llm.Style{llm.Cohere}}}, listed: 1},
	{name: "custom", provider: "groq", entry: `preset: custom, with: {address: "SIM_ORIGIN/groq/openai/v1"}`,
		models: []model{{"moonshotai/kimi-k2-instruct-0905", []llm.Style{llm.Chat}}}, listed: 1},
	{name: "without-preset", provider: "anthropic", entry: `base_url: "${SIM}/anthropic/v1", credential_header: x-api-key,
    headers: {anthropic-version: "2023-06-01"}`, models: []model{{"claude-haiku-4-5", []llm.Style{llm.Messages}}}, listed: 1},
}

func (w *emulated) upstream() string {
	if w.provider == "" {
		return w.name
	}
	return w.provider
}

// find is the provider with a name.
func find(t *testing.T, name string) *emulated {
	t.Helper()
	for i := range emulatedProviders {
		if emulatedProviders[i].name == name {
			return &emulatedProviders[i]
		}
	}
	t.Fatalf("there is no provider %s", name)
	return nil
}

// bench is an emulator behind a server, and a client of providers.
type bench struct {
	*emulator.Emulator
	t       *testing.T
	url     string
	client  *provider.Client
	secrets map[string]string
	now     func() time.Time
}

// setup serves an emulator whose clock is ahead of that of the client.
func setup(t *testing.T, ahead time.Duration) *bench {
	t.Helper()
	e := emulator.New(emulator.Options{Now: func() time.Time { return time.Now().Add(ahead) }, Random: rand.Reader})
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	b := &bench{Emulator: e, t: t, url: s.URL, client: provider.New(provider.Options{}), now: time.Now, secrets: map[string]string{
		"SIM": s.URL, "GOOGLE_USER": e.AuthorizedUser(s.URL),
		"ENTRA": emulator.ClientSecret, "AWS": emulator.AccessKeyID + ":" + emulator.SecretAccessKey,
		"AWS_SESSION": emulator.SessionKeyID + ":" + emulator.SessionSecret + ":" + emulator.SessionToken,
	}}
	t.Cleanup(b.client.Close)
	return b
}

func (b *bench) secret(name string) (string, bool) {
	if value, has := b.secrets[name]; has {
		return value, true
	}
	if provider, isKey := strings.CutPrefix(name, "KEY_"); isKey {
		return emulator.Key(strings.ToLower(provider)), true
	}
	return "", false
}

// terms are those of the models. Each meter has a price of its own.
const terms = `name: Test, owner: test, kind: text, capabilities: [text], input: [text], output: [text], context_tokens: 1000000,
     max_output_tokens: 8192, parameters: [temperature, tools, tool_choice], markup: 1.1, released: 2026-01-01, routes:`

// cost is that of all routes.
const cost = `cost: {rates: {input_tokens: 3 per 1M, cache_read_tokens: 0.3 per 1M, cache_write_tokens: 3.75 per 1M, output_tokens: 15 per 1M}}`

// options are those for the test of a provider.
func (b *bench) options(w *emulated) check.Options {
	b.t.Helper()
	key := w.credential
	if key == "" {
		key = "KEY_" + strings.ToUpper(w.upstream())
	}
	var text strings.Builder
	fmt.Fprintf(&text, "providers:\n  - {id: p, name: P, credential: \"${%s}\", %s}\nmodels:\n", key, w.entry)
	for i, m := range w.models {
		for k, style := range m.styles {
			fmt.Fprintf(&text, "  - {id: test/m%d-%d, %s [{provider: p, model: \"%s\", style: %s, %s}]}\n", i, k, terms, m.name, style, cost)
		}
	}
	f, err := catalog.ParseFile([]byte(strings.ReplaceAll(text.String(), "SIM_ORIGIN", b.url)))
	if err != nil {
		b.t.Fatal(err)
	}
	return check.Options{
		File: f.Providers[0], Models: f.Models, Client: b.client, Now: b.now,
		Sources: catalog.Sources{Env: b.secret, CheckValue: credential.Check},
	}
}

// steps are the steps of a result by name and style, such as call chat.
func steps(r check.Result) map[string]check.Step {
	all := map[string]check.Step{}
	for _, s := range r.Steps {
		all[strings.TrimSpace(s.Name+" "+string(s.Style))] = s
	}
	return all
}

// states are the states of all steps in one line each, for messages.
func states(r check.Result) string {
	var b strings.Builder
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "%s %s: %s %q %q %q\n", s.Name, s.Style, s.State, s.Detail, s.ProviderWords, s.Advice)
	}
	return b.String()
}

// server serves a handler as a provider without a preset.
func (b *bench) server(h http.HandlerFunc) check.Options {
	b.t.Helper()
	s := httptest.NewServer(h)
	b.t.Cleanup(s.Close)
	w := emulated{name: "custom", entry: `preset: custom, with: {address: "` + s.URL + `/v1"}`, models: []model{{"m", []llm.Style{llm.Chat}}}}
	return b.options(&w)
}

// recorder collects what a test reports.
type recorder struct {
	mu  sync.Mutex
	all []check.Step
}

func (r *recorder) report(s check.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, s)
}

// last are the last states of all steps.
func (r *recorder) last() map[string]check.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := map[string]check.State{}
	for _, s := range r.all {
		m[strings.TrimSpace(s.Name+" "+string(s.Style))] = s.State
	}
	return maps.Clone(m)
}

func sealedAs(name, value string) map[string]catalog.SealedCredential {
	return map[string]catalog.SealedCredential{name: {Value: catalog.NewSecret(value)}}
}
