package gateway_test

import (
	"bytes"
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
	// entry has the members of the provider that fails, and its credential.
	entry, credential string
	// fails prepares the emulator.
	fails func(b *emulatedBench)
	// clock is how far the clock of the provider is ahead of that of the gateway.
	clock time.Duration
	// served means that the provider itself serves the call in the end.
	served bool
	// triedAgain means that each call tries the provider, because its credential may serve other models.
	triedAgain bool
	// log is what the only line of the log says.
	log []string
}

const (
	unavailableModel  = `level=ERROR msg="provider model unavailable" provider=faulty`
	refusedCredential = `level=ERROR msg="provider credential refused, cooling down" provider=faulty`
	bedrockChat       = `base_url: "${SIM}/bedrock", paths: {chat: "/model/us.amazon.nova-2-lite-v1%3A0/converse"}, usage: bedrock,
    auth: {kind: sigv4, service: bedrock, region: `
	vertexBase = `base_url: "${SIM}/vertex/v1/projects/` + emulator.Project + `/locations/` + emulator.Location + `", usage: vertex,
    auth: {kind: google, scope: "https://www.googleapis.com/auth/cloud-platform"}`
	vertexChat = vertexBase + `, paths: {chat: /endpoints/openapi/chat/completions}`
)

// rule makes the provider answer with an error of its table.
func rule(provider, fault string) func(*emulatedBench) {
	return func(b *emulatedBench) {
		b.emulator.Add(emulator.Rule{Provider: provider, Fault: fault})
	}
}

var emulatedFaults = map[string]emulatedFault{
	"wrong key of openai":            {entry: `base_url: "${SIM}/openai/v1"`, credential: "WRONG", log: []string{refusedCredential, "status=401 meaning=key", "Incorrect API key provided"}},
	"wrong key of xai":               {entry: `base_url: "${SIM}/xai/v1", usage: xai`, credential: "WRONG", log: []string{refusedCredential, "status=400 meaning=key", "Incorrect API key provided"}},
	"wrong key of azure":             {entry: `base_url: "${SIM}/azure/openai/v1", usage: azure, auth: {kind: header, header: api-key}`, credential: "WRONG", log: []string{refusedCredential, "status=401 meaning=key", "invalid subscription key"}},
	"wrong key of mistral":           {entry: `base_url: "${SIM}/mistral/v1", usage: mistral`, credential: "WRONG", log: []string{refusedCredential, "status=401 meaning=key", "Invalid API Key"}},
	"wrong key of bedrock":           {entry: bedrockChat + emulator.Region + "}", credential: "WRONG_AWS", log: []string{refusedCredential, "status=403 meaning=key", "security token included in the request is invalid"}},
	"wrong secret of bedrock":        {entry: bedrockChat + emulator.Region + "}", credential: "WRONG_AWS_SECRET", log: []string{refusedCredential, "status=403 meaning=key", "does not match the signature"}},
	"wrong key of a service account": {entry: vertexChat, credential: "WRONG_GOOGLE", log: []string{refusedCredential, "the token endpoint 127.0.0.1", "Invalid JWT Signature"}},
	"wrong secret of an application": {entry: `base_url: "${SIM}/azure/openai/v1", usage: azure, ` + entraAuth, credential: "WRONG", log: []string{refusedCredential, "the token endpoint 127.0.0.1", "AADSTS7000215"}},
	"expired session of bedrock": {entry: bedrockChat + emulator.Region + "}", credential: "AWS_SESSION",
		fails: func(b *emulatedBench) { b.emulator.SetSession(emulator.SessionToken, time.Now().Add(-time.Minute)) },
		log:   []string{refusedCredential, "status=403 meaning=key", "security token included in the request is expired"}},
	"wrong region of bedrock":     {entry: bedrockChat + "us-east-9}", credential: "AWS", log: []string{refusedCredential, "status=403 meaning=key", "scoped to a valid region"}},
	"wrong project of vertex":     {entry: strings.Replace(vertexChat, emulator.Project, "other-project", 1), credential: "GOOGLE_USER", log: []string{refusedCredential, "status=403 meaning=key", "other-project"}},
	"wrong project of openai":     {entry: `base_url: "${SIM}/openai/v1"`, fails: rule("openai", "project"), log: []string{refusedCredential, "status=403 meaning=key", "does not have access to model"}},
	"account of openai is empty":  {entry: `base_url: "${SIM}/openai/v1"`, fails: rule("openai", "account"), log: []string{refusedCredential, "status=429 meaning=account", "exceeded your current quota"}},
	"account of mistral is empty": {entry: `base_url: "${SIM}/mistral/v1", usage: mistral`, credential: "KEY_MISTRAL", fails: rule("mistral", "account"), log: []string{refusedCredential, "status=402 meaning=account", "no credits left"}},
	"clock of bedrock is ahead": {entry: bedrockChat + emulator.Region + "}", credential: "AWS", clock: 10 * time.Minute,
		log: []string{refusedCredential, "status=403 meaning=key", "Signature expired", "clock"}},
	"clock of bedrock is behind": {entry: bedrockChat + emulator.Region + "}", credential: "AWS", clock: -10 * time.Minute,
		log: []string{refusedCredential, "status=403 meaning=key", "not yet current", "clock"}},
	"clock of google is behind": {entry: vertexChat, credential: "ACCOUNT_AT_SIM", clock: -2 * time.Hour, log: []string{refusedCredential, "reasonable timeframe"}},
	"wrong location of vertex": {entry: strings.Replace(vertexChat, emulator.Location, "mars-1", 1), credential: "GOOGLE_USER", triedAgain: true,
		log: []string{unavailableModel, "status=404 meaning=route", "locations/mars-1"}},
	"quota of gemini is used up": {entry: `base_url: "${SIM}/vertex/v1/projects/` + emulator.Project + `/locations/` + emulator.Location + `",
    usage: gemini, auth: {kind: google, scope: "https://www.googleapis.com/auth/cloud-platform"}, paths: {chat: /endpoints/openapi/chat/completions}`,
		credential: "GOOGLE_USER", fails: rule("vertex", "quota"), log: []string{unavailableModel, "status=429 meaning=quota", "plan and billing"}},
	"token endpoint of google is down": {entry: vertexChat, credential: "ACCOUNT_AT_NOWHERE", triedAgain: true},
	"token endpoint of entra fails": {entry: `base_url: "${SIM}/azure/openai/v1", usage: azure, ` + entraAuth, credential: "ENTRA", triedAgain: true,
		fails: rule("entra", "server")},
	"proxy that works": {entry: `base_url: "${SIM}/openai/v1", proxy: "${PROXY}"`, served: true},
	"proxy in front of bedrock": {entry: bedrockChat + emulator.Region + `}, proxy: "${PROXY}"`, credential: "WRONG_AWS_SECRET",
		log: []string{refusedCredential, "does not match the signature"}},
	"proxy that refuses": {entry: `base_url: "${SIM}/openai/v1", proxy: "${PROXY_REFUSES}"`, log: []string{refusedCredential, "status=407"}},
	"renewal after an answer with 401": {entry: `base_url: "${SIM}/azure/openai/v1", usage: azure, ` + entraAuth, credential: "ENTRA", served: true,
		fails: func(b *emulatedBench) { b.emulator.RevokeTokens() }},
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
	credential := c.credential
	if credential == "" {
		credential = "KEY_OPENAI"
	}
	providers := fmt.Sprintf("  - {id: faulty, name: Faulty, credential: \"${%s}\", %s}\n", credential, c.entry) +
		"  - {id: spare, name: Spare, base_url: \"${SIM}/deepseek\", usage: deepseek, credential: \"${KEY_DEEPSEEK}\"}\n"
	models := "  - {id: test/faulty, " + strings.Replace(emulatedTerms, "INPUT", "text", 1) +
		" [{provider: faulty, model: gpt-4o-mini, style: chat, order: 1}, {provider: spare, model: deepseek-flash, style: chat, order: 2}]}\n"
	e, origin := newEmulator(t, c.clock)
	secrets := map[string]string{"PROXY": emulatedProxy(t, false), "PROXY_REFUSES": emulatedProxy(t, true), "NOWHERE": "http://127.0.0.1:1"}
	if credential == "WRONG_GOOGLE" {
		other, _ := newEmulator(t, 0)
		secrets[credential] = other.ServiceAccount(origin)
	}
	maps.Copy(secrets, wrongSecrets)
	own := *all
	own.t = t
	b, log := own.emulate(e, origin, providers, models, secrets), &emulatedLog{}
	b.open(startMoney)
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
			if c.served && c.fails != nil { // The failure comes after a call that has gone well.
				_, _, err := b.generate(b.call("test/faulty", "x", ""))
				must(t, err)
			}
			if c.fails != nil {
				c.fails(b)
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
