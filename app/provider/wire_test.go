package provider_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
)

// presetRoute is a route of a catalog file whose provider has a preset and the base URL of a test server.
func presetRoute(t *testing.T, members, secret, model string, style llm.Style) *catalog.Route {
	t.Helper()
	f, err := catalog.ParseFile(fmt.Appendf(nil, `
providers:
  - {id: p, %s, credential: "${SECRET}"}
models:
  - id: acme/one
    name: One
    owner: acme
    capabilities: [text]
    input: [text]
    output: [text]
    context_tokens: 1000
    max_output_tokens: 500
    rates: {input_tokens: 1 per 1M, cache_read_tokens: 1 per 1M, cache_write_tokens: 1 per 1M, output_tokens: 1 per 1M}
    released: 2026-05-01
    routes:
      - {provider: p, model: "%s", style: %s}
`, members, model, style))
	if err != nil {
		t.Fatal(err)
	}
	if all := catalog.Check(f); len(all) > 0 {
		t.Fatal(all)
	}
	s, err := catalog.NewSnapshot(f, catalog.Options{Now: time.Now, Secrets: func(string) (string, bool) { return secret, true }})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := s.Model("acme/one")
	if len(m.Routes) != 1 {
		t.Fatalf("the provider cannot be used: %v", s.Unusable())
	}
	return &m.Routes[0]
}

// arrived is what a provider got.
type arrived struct {
	uri, body string
	header    http.Header
	fault     string
}

// presetServer answers calls with a content type and records them.
func presetServer(t *testing.T, contentType, region, service string) (url string, got chan arrived) {
	t.Helper()
	got = make(chan arrived, 9)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a := arrived{uri: r.RequestURI, body: string(body), header: r.Header}
		if service != "" {
			a.fault = signatureFault(r, body, region, service)
		}
		got <- a
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, "{}")
	})
	return s.URL, got
}

const arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1"

// presetCalls are calls of presets, and what their providers get. AWS is the service in the signature.
var presetCalls = []struct {
	preset, model string
	style         llm.Style
	stream, count bool
	sent          string
	betas         []string
	uri, body     string
	header        string
	aws           string
}{
	{
		preset: "preset: bedrock, with: {region: us-east-1}", model: arn, style: llm.Messages, aws: "bedrock",
		sent: `{"model":"m","max_tokens":5, "stream" : false}`,
		uri:  "/model/arn:aws:bedrock:us-east-1:123456789012:application-inference-profile%2Fa1/invoke",
		body: `{"max_tokens":5,"anthropic_version":"bedrock-2023-05-31"}`, header: "Accept: application/json",
	},
	{
		preset: "preset: bedrock, with: {region: us-east-1}", model: "us.anthropic.claude-v1:0", style: llm.Messages, stream: true,
		aws: "bedrock", sent: `{"model":"m","anthropic_beta":["x"],"max_tokens":5,"stream":true}`, betas: []string{"a-1", `b"2`},
		uri:  "/model/us.anthropic.claude-v1:0/invoke-with-response-stream",
		body: `{"max_tokens":5,"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["a-1","b\"2"]}`,
	},
	{
		preset: "preset: bedrock, with: {region: us-east-1}", model: "gpt-oss", style: llm.Chat, aws: "bedrock-mantle",
		sent: `{"model":"gpt-oss"}`, uri: "/v1/chat/completions", body: `{"model":"gpt-oss"}`,
	},
	{
		preset: "preset: bedrock, with: {region: us-east-1, credential_type: api_key}", model: "a:0", style: llm.Messages, sent: `{"model":"m"}`,
		uri: "/model/a:0/invoke", body: `{"anthropic_version":"bedrock-2023-05-31"}`, header: "Authorization: Bearer " + awsKeys,
	},
	{
		preset: "preset: vertex, with: {project: pr, location: us-east5}, auth: {kind: bearer}", model: "claude-1@2", style: llm.Messages,
		sent: `{"model":"m","stream":true,"anthropic_version":"old"}`, stream: true,
		uri:  "/v1/projects/pr/locations/us-east5/publishers/anthropic/models/claude-1@2:streamRawPredict",
		body: `{"stream":true,"anthropic_version":"vertex-2023-10-16"}`,
	},
	{
		preset: "preset: vertex, with: {project: pr, location: us-east5}, auth: {kind: bearer}", model: "claude-1@2", style: llm.Messages,
		sent: `{"model":"claude-1@2"}`, count: true,
		uri:  "/v1/projects/pr/locations/us-east5/publishers/anthropic/models/count-tokens:rawPredict",
		body: `{"model":"claude-1@2","anthropic_version":"vertex-2023-10-16"}`,
	},
	{
		preset: "preset: vertex, with: {project: pr, location: global}, auth: {kind: bearer}", model: "gemini-2.5-flash", style: llm.Native,
		sent: `{"contents":[]}`, stream: true, body: `{"contents":[]}`,
		uri: "/v1beta1/projects/pr/locations/global/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
	},
	{
		preset: "preset: azure, with: {resource: r}", model: "d", style: llm.Responses, sent: `{"model":"d"}`, uri: "/responses",
		body: `{"model":"d"}`, header: "Api-Key: " + awsKeys,
	},
	{
		preset: "preset: azure-foundry, with: {resource: r}", model: "d", style: llm.Chat, sent: `{"model":"d"}`, stream: true,
		uri: "/chat/completions?api-version=2024-05-01-preview", body: `{"model":"d"}`, header: "Api-Key: " + awsKeys,
	},
	{
		preset: "preset: gemini", model: "gemini-3", style: llm.Native, sent: `{}`, uri: "/models/gemini-3:generateContent", body: `{}`,
		header: "X-Goog-Api-Key: " + awsKeys,
	},
	{
		preset: "preset: gemini", model: "gemini-3", style: llm.Native, sent: `{}`, count: true, uri: "/models/gemini-3:countTokens", body: `{}`,
	},
	{
		preset: "preset: gemini, paths: {native: '/own/{model}:{method}'}", model: "gemini-3", style: llm.Native, sent: `{}`, stream: true,
		uri: "/own/gemini-3:streamGenerateContent?alt=sse", body: `{}`,
	},
	{
		preset: "preset: mistral", model: "mistral-small", style: llm.Chat, sent: `{"model":"mistral-small"}`, uri: "/chat/completions",
		body: `{"model":"mistral-small"}`, header: "Authorization: Bearer " + awsKeys,
	},
	{
		preset: "preset: anthropic", model: "c", style: llm.Messages, sent: `{"model":"c"}`, uri: "/messages", body: `{"model":"c"}`,
		header: "Anthropic-Version: 2023-06-01",
	},
	{
		preset: "preset: custom, with: {address: 'http://127.0.0.1:1/v1'}", model: "c", style: llm.Native, sent: `{}`, stream: true,
		uri: "/models/c:streamGenerateContent?alt=sse", body: `{}`,
	},
}

const awsKeys = awsID + ":" + awsSecret + ":" + awsToken

func TestProvidersGetCallsAsTheirPresetsSay(t *testing.T) {
	t.Parallel()
	for _, c := range presetCalls {
		t.Run(c.preset+" "+c.uri, func(t *testing.T) {
			t.Parallel()
			url, got := presetServer(t, "application/json", "us-east-1", c.aws)
			r := presetRoute(t, c.preset+", base_url: '"+url+"'", awsKeys, c.model, c.style)
			p := payload(c.sent)
			defer p.Release()
			call := client(t, provider.Options{}).Send
			if c.count {
				call = client(t, provider.Options{}).Count
			}
			for range 2 { // The change of the body is made once, and the second call has the same target.
				a, f := call(t.Context(), provider.Attempt{Route: r, Payload: p, Betas: c.betas, Stream: c.stream})
				if f != nil {
					t.Fatal(f)
				}
				a.Close()
				one := <-got
				if one.uri != c.uri || one.body != c.body || one.fault != "" {
					t.Errorf("%s %s %s\nwant %s %s", one.uri, one.body, one.fault, c.uri, c.body)
				}
				if name, value, has := strings.Cut(c.header, ": "); has && one.header.Get(name) != value {
					t.Errorf("%s is %q", name, one.header.Get(name))
				}
			}
		})
	}
}

// TestAStreamMayHaveTheFramingOfItsPreset gets a stream whether or not it has asked for one, as with server-sent events.
func TestAStreamMayHaveTheFramingOfItsPreset(t *testing.T) {
	t.Parallel()
	const framed = "application/vnd.amazon.eventstream"
	url, _ := presetServer(t, framed, "", "")
	c := client(t, provider.Options{})
	for _, stream := range []bool{true, false} {
		r := presetRoute(t, "preset: bedrock, with: {region: us-east-1}, base_url: '"+url+"'", awsKeys, "m", llm.Messages)
		a, f := send(t, c, r, stream)
		if f != nil || !a.Stream {
			t.Errorf("a stream is refused: %v", f)
		}
		if a != nil {
			a.Close()
		}
	}
	url, _ = presetServer(t, "application/json", "", "")
	r := presetRoute(t, "preset: bedrock, with: {region: us-east-1}, base_url: '"+url+"'", awsKeys, "m", llm.Messages)
	a, f := send(t, c, r, true)
	if f != nil || a.Stream {
		t.Fatalf("JSON in place of a stream is refused: %v", f)
	}
	a.Close()
}

func TestABodyThatIsNoObjectIsSentAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", `{"model":"m"`, "null", `{"model":}`} {
		url, got := presetServer(t, "application/json", "", "")
		r := presetRoute(t, "preset: vertex, with: {project: p, location: eu}, auth: {kind: bearer}, base_url: '"+url+"'", "k", "m", llm.Messages)
		p := payload(text)
		a, f := client(t, provider.Options{}).Send(t.Context(), provider.Attempt{Route: r, Payload: p})
		if f != nil {
			t.Fatal(f)
		}
		a.Close()
		p.Release()
		if one := <-got; one.body != text {
			t.Errorf("%q arrives as %q", text, one.body)
		}
	}
}

func TestPresetsWithoutACountDoNotCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		preset string
		style  llm.Style
		counts bool
	}{
		{"preset: bedrock, with: {region: us-east-1}", llm.Messages, false},
		{"preset: anthropic", llm.Messages, true},
		{"preset: azure, with: {resource: r}", llm.Responses, false},
		{"preset: custom, with: {address: 'http://127.0.0.1:1'}", llm.Messages, true},
	} {
		if got := provider.Counts(presetRoute(t, c.preset, awsKeys, "m", c.style)); got != c.counts {
			t.Errorf("%s counts %t", c.preset, got)
		}
	}
}

// TestAPresetGetsTokensForItsCredential calls Claude on Vertex with the refresh token of a user.
func TestAPresetGetsTokensForItsCredential(t *testing.T) {
	t.Parallel()
	tokens := newTokenServer(t, time.Now, time.Hour)
	url, got := presetServer(t, "application/json", "", "")
	secret := userRoute(t, url, tokens.URL).Provider.Credentials[0].Reveal()
	r := presetRoute(t, "preset: vertex, with: {project: pr, location: eu}, base_url: '"+url+"'", secret, "claude-1", llm.Messages)
	p := payload(`{"model":"claude-1","max_tokens":1}`)
	defer p.Release()
	a, f := client(t, provider.Options{}).Send(t.Context(), provider.Attempt{Route: r, Payload: p})
	if f != nil {
		t.Fatal(f)
	}
	a.Close()
	one := <-got
	if one.uri != "/v1/projects/pr/locations/eu/publishers/anthropic/models/claude-1:rawPredict" || one.header.Get("Authorization") != "Bearer token_1.x" ||
		one.body != `{"max_tokens":1,"anthropic_version":"vertex-2023-10-16"}` {
		t.Errorf("%s %s %v", one.uri, one.body, one.header)
	}
}
