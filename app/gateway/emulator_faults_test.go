package gateway_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app/gateway"
	"umg/app/provider"
	"umg/app/provider/health"
	"umg/app/simulator/emulator"
)

// emulatedLog keeps what was logged.
type emulatedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *emulatedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *emulatedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// emulatedFault is a failure of one provider, whose calls another provider serves.
type emulatedFault struct {
	// way is a way to the provider.
	way string
	// from and to change the entry of the way.
	from, to string
	// more has further members of the provider.
	more string
	// credential is the name of the variable with the credential; that of the way when empty.
	credential string
	// model is a model that the provider does not have; that of the way when empty.
	model string
	// fault is an error of the table of the emulator, for all calls of the provider, or of the token endpoint that is named.
	fault, endpoint string
	// fails prepares the emulator in another way.
	fails func(e *emulator.Emulator)
	// clock is how far the clock of the provider is ahead of that of the gateway.
	clock time.Duration
	// served means that the provider itself serves the calls.
	served bool
	// triedAgain means that the next call tries the provider, too.
	triedAgain bool
	// log is what the only line of the log says. There is no line when it is empty.
	log []string
}

const (
	unavailableModel  = `level=ERROR msg="provider model unavailable" provider=faulty`
	refusedCredential = `level=ERROR msg="provider credential refused, cooling down" provider=faulty`
)

// keyIs is the log of a credential that is refused with a status.
func keyIs(status int, words ...string) []string {
	return append([]string{refusedCredential, fmt.Sprintf("status=%d meaning=key", status)}, words...)
}

// tokenIs is the log of a credential that the token endpoint refuses.
func tokenIs(words ...string) []string {
	return append([]string{refusedCredential, "the token endpoint 127.0.0.1"}, words...)
}

var emulatedFaults = map[string]emulatedFault{
	"wrong key, openai":     {way: "openai-chat", credential: "WRONG", log: keyIs(401, "Incorrect API key provided")},
	"wrong key, anthropic":  {way: "anthropic", credential: "WRONG", log: keyIs(401, "invalid x-api-key")},
	"wrong key, gemini":     {way: "gemini", credential: "WRONG", log: keyIs(400, "API key not valid")},
	"wrong key, xai":        {way: "xai-chat", credential: "WRONG", log: keyIs(400, "Incorrect API key provided")},
	"wrong key, azure":      {way: "azure-key", credential: "WRONG", log: keyIs(401, "invalid subscription key")},
	"wrong key, foundry":    {way: "foundry", credential: "WRONG", log: keyIs(401, "invalid subscription key")},
	"wrong key, mistral":    {way: "mistral", credential: "WRONG", log: keyIs(401, "Invalid API Key")},
	"wrong key, groq":       {way: "groq", credential: "WRONG", log: keyIs(401, "Invalid API Key")},
	"wrong key, openrouter": {way: "openrouter", credential: "WRONG", log: keyIs(401, "User not found")},
	"wrong key, cohere":     {way: "cohere", credential: "WRONG", log: keyIs(401, "invalid api token")},
	"wrong key, bedrock":    {way: "bedrock-converse", credential: "WRONG_AWS", log: keyIs(403, "security token included in the request is invalid")},
	"wrong secret, bedrock": {way: "bedrock-claude", credential: "WRONG_AWS_SECRET", log: keyIs(403, "does not match the signature")},
	"wrong key, account":    {way: "vertex-open", credential: "WRONG_GOOGLE", log: tokenIs("Invalid JWT Signature")},
	"wrong secret, entra":   {way: "azure-entra", credential: "WRONG", log: tokenIs("AADSTS7000215")},

	"expired session, bedrock": {way: "bedrock-claude", log: keyIs(403, "security token included in the request is expired"),
		fails: func(e *emulator.Emulator) { e.SetSession(emulator.SessionToken, time.Now().Add(-time.Minute)) }},
	"revoked token, entra":  {way: "azure-entra", served: true, fails: (*emulator.Emulator).RevokeTokens},
	"revoked token, google": {way: "vertex-gemini", served: true, fails: (*emulator.Emulator).RevokeTokens},

	"wrong region, bedrock": {way: "bedrock-converse", from: emulator.Region, to: "us-east-9", log: keyIs(403, "scoped to a valid region")},
	"wrong location, vertex": {way: "vertex-gemini", from: emulator.Location, to: "mars-1", triedAgain: true,
		log: []string{unavailableModel, "status=404 meaning=route", "locations/mars-1"}},
	"wrong region, gemini": {way: "gemini", fault: "region", triedAgain: true,
		log: []string{unavailableModel, "status=400 meaning=route", "User location is not supported"}},
	"unknown model, bedrock": {way: "bedrock-converse", model: "us.unknown-v1:0", triedAgain: true,
		log: []string{unavailableModel, "status=400 meaning=route", "model identifier is invalid"}},
	"wrong project, vertex": {way: "vertex-claude", from: emulator.Project, to: "other-project", log: keyIs(403, "other-project")},
	"wrong project, openai": {way: "openai-responses", fault: "project", log: keyIs(403, "does not have access to model")},

	"no quota, gemini": {way: "gemini", fault: "quota", log: []string{unavailableModel, "status=429 meaning=quota", "plan and billing details"}},
	"no quota, vertex": {way: "vertex-gemini", fault: "quota", log: []string{unavailableModel, "status=429 meaning=quota", "plan and billing details"}},
	"empty, openai": {way: "openai-chat", fault: "account",
		log: []string{refusedCredential, "status=429 meaning=account", "exceeded your current quota"}},
	"empty, anthropic": {way: "anthropic", fault: "account",
		log: []string{refusedCredential, "status=400 meaning=account", "credit balance is too low"}},
	"empty, mistral": {way: "mistral", fault: "account", log: []string{refusedCredential, "status=402 meaning=account", "no credits left"}},
	"empty, cohere":  {way: "cohere", fault: "account", log: []string{refusedCredential, "status=402 meaning=account", "spend limit"}},

	"clock ahead, bedrock": {way: "bedrock-claude", clock: 10 * time.Minute,
		log: keyIs(403, "Signature expired", "the clock of the gateway is 10m0s behind the provider's and must be set")},
	"clock behind, bedrock": {way: "bedrock-converse", clock: -10 * time.Minute,
		log: keyIs(403, "not yet current", "the clock of the gateway is 10m0s ahead of the provider's and must be set")},
	"clock behind, google": {way: "vertex-gemini", clock: -10 * time.Minute, log: tokenIs("reasonable timeframe")},

	"token endpoint down, google":  {way: "vertex-gemini", credential: "ACCOUNT_AT_NOWHERE", triedAgain: true},
	"token endpoint fails, google": {way: "vertex-open", endpoint: "google", fault: "server", triedAgain: true},
	"token endpoint fails, entra":  {way: "azure-entra", endpoint: "entra", fault: "server", triedAgain: true},

	"proxy, openai":          {way: "openai-chat", more: `, proxy: "${PROXY}"`, served: true},
	"proxy, bedrock":         {way: "bedrock-converse", more: `, proxy: "${PROXY}"`, served: true},
	"proxy, vertex":          {way: "vertex-claude", more: `, proxy: "${PROXY}"`, served: true},
	"proxy refuses, openai":  {way: "openai-chat", more: `, proxy: "${PROXY_REFUSES}"`, log: keyIs(407)},
	"proxy is down, bedrock": {way: "bedrock-claude", more: `, proxy: "${NOWHERE}"`, triedAgain: true},
}

// emulatedProxy is a forward proxy for plain requests, which sets a header of its own on them.
func emulatedProxy(t *testing.T, refuses bool) string {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		out := r.Clone(r.Context())
		out.RequestURI = ""
		out.Header.Set("Via", "1.1 proxy")
		out.Header.Set("X-Forwarded-For", "192.0.2.1")
		resp, err := transport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// wrongSecrets are credentials that no provider accepts.
var wrongSecrets = map[string]string{
	"WRONG": "sk-wrong-0123456789abcdef", "WRONG_AWS": "AKIAWRONG00000000009:" + emulator.SecretAccessKey,
	"WRONG_AWS_SECRET": emulator.AccessKeyID + ":wrong/secret+access+key/0123456789",
}

// setupFault gives a bench the provider faulty before the provider spare, and an account of its own. It keeps the log.
func setupFault(t *testing.T, all *bench, c *emulatedFault) (*emulatedBench, *emulatedLog) {
	t.Helper()
	i := slices.IndexFunc(emulatedWays, func(w emulated) bool { return w.name == c.way })
	way := emulatedWays[i]
	way.name, way.provider, way.entry = "faulty", way.upstream(), strings.Replace(way.entry, c.from, c.to, 1)+c.more
	way.credential, way.model = cmp.Or(c.credential, way.credential), cmp.Or(c.model, way.model)
	providers, models := way.catalogOf()
	spare := "preset: deepseek, base_url: \"${SIM}/deepseek\", credential: \"${KEY_DEEPSEEK}\"}\n"
	spareModel := "deepseek-flash"
	if way.upstream() == "deepseek" {
		spare, spareModel = "preset: groq, base_url: \"${SIM}/groq/openai/v1\", credential: \"${KEY_GROQ}\"}\n", "moonshotai/kimi-k2-instruct-0905"
	}
	providers += "  - {id: spare, name: Spare, " + spare
	models = strings.Replace(models, "]}", ", {provider: spare, model: "+spareModel+", style: chat, order: 2}]}", 1)
	models = strings.Replace(models, "input: [text, image]", "input: [text]", 1)
	e, origin := newEmulator(t, c.clock)
	secrets := map[string]string{"PROXY": emulatedProxy(t, false), "PROXY_REFUSES": emulatedProxy(t, true), "NOWHERE": "http://127.0.0.1:1"}
	if c.credential == "WRONG_GOOGLE" {
		other, _ := newEmulator(t, 0)
		secrets[c.credential] = other.ServiceAccount(origin)
	}
	maps.Copy(secrets, wrongSecrets)
	own := *all
	own.t = t
	b, log := own.emulate(e, origin, providers, models, secrets), &emulatedLog{}
	b.open(startMoney)
	if c.fault != "" {
		e.Add(emulator.Rule{Provider: cmp.Or(c.endpoint, way.upstream()), Fault: c.fault})
	}
	logger := slog.New(slog.NewTextHandler(log, nil))
	p := provider.New(provider.Options{Log: logger})
	t.Cleanup(p.Close)
	b.options.Providers, b.options.Log = p, logger
	b.options.Health = health.New(health.Options{Now: time.Now, Random: b.options.Random, Log: logger})
	b.gateway = gateway.New(b.options)
	return b, log
}

// hasSecret returns a secret that is in a text; empty for none.
func (b *emulatedBench) hasSecret(text string) string {
	secrets := append(b.emulator.Tokens(), emulator.ClientSecret, emulator.UserSecret, emulator.RefreshToken, emulator.SecretAccessKey,
		emulator.SessionSecret, emulator.SessionToken, "wrong/secret", "BEGIN PRIVATE KEY", wrongSecrets["WRONG"])
	for _, name := range []string{"openai", "deepseek", "mistral", "azure", "xai", "bedrock"} {
		secrets = append(secrets, emulator.Key(name))
	}
	i := slices.IndexFunc(secrets, func(secret string) bool { return strings.Contains(text, secret) })
	if i < 0 {
		return ""
	}
	return secrets[i]
}

// TestEmulatedFaultsMoveCallsAndAreLoggedOnce makes one provider fail in each way. Its clients are served by the other one, and the operator
// gets one line that says why.
func TestEmulatedFaultsMoveCallsAndAreLoggedOnce(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for name, c := range emulatedFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, log := setupFault(t, all, &c)
			want := "spare"
			if c.served {
				want = "faulty"
			}
			if c.fails != nil { // The failure comes after a call that has gone well.
				_, _, err := b.generate(b.call("test/faulty", "x", ""))
				must(t, err)
				c.fails(b.emulator)
			}
			for i := range 2 { // The second call does not try the credential again.
				r, s, err := b.generate(b.call("test/faulty", "x", streamed))
				if err != nil || r.Provider != want || r.Cost == 0 || !strings.Contains(s.text(), "Olá") {
					t.Fatalf("call %d: error %v, report %+v, log %s", i, err, r, log)
				}
				if i > 0 && !c.served && !c.triedAgain && r.Attempts != 1 {
					t.Errorf("call %d made %d attempts", i, r.Attempts)
				}
				if secret := b.hasSecret(s.text() + fmt.Sprintf("%+v %v", r, r.Tries)); secret != "" {
					t.Errorf("the answer or the report has %q", secret)
				}
			}
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			if len(lines) != 1 {
				t.Errorf("%d lines: %s", len(lines), log)
			}
			for _, part := range c.log {
				if !strings.Contains(lines[0], part) {
					t.Errorf("the log does not say %q: %s", part, lines[0])
				}
			}
			if len(c.log) == 0 && lines[0] != "" {
				t.Errorf("the log says %s", log)
			}
			if secret := b.hasSecret(log.String()); secret != "" {
				t.Errorf("the log has %q", secret)
			}
		})
	}
}

// TestErrorsInsideEmulatedStreamsMoveCalls makes each provider send an error in a stream that has begun, before any content.
func TestErrorsInsideEmulatedStreamsMoveCalls(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i := range emulatedWays {
		c := emulatedFault{way: emulatedWays[i].name, fault: emulator.Late}
		t.Run(c.way, func(t *testing.T) {
			t.Parallel()
			b, log := setupFault(t, all, &c)
			r, s, err := b.generate(b.call("test/faulty", "x", withUsage))
			must(t, err)
			a := readStream(t, s.text())
			if r.Provider != "spare" || a.text != emulatedText || a.err != nil || !a.done || a.finish != "stop" || a.usage == nil {
				t.Errorf("the client got %s\nreport %+v, log %s", s.text(), r, log)
			}
			want := provider.ClassServer
			if c.way == "mistral" { // A frame that is an error but has no member error is no frame of the style.
				want = provider.ClassContent
			}
			if r.Attempts > 3 || r.Tries[0].Fault != want {
				t.Errorf("the attempts are %+v", r.Tries)
			}
		})
	}
}
