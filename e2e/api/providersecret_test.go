package api

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// canaries are the credentials of providers, by how an operator hands them in.
var canaries = map[string]string{
	"variable": "CANARY-of-a-variable-0123456789", "file": "CANARY-of-a-file-0123456789",
	"command": "CANARY-of-a-command-0123456789", "form": "CANARY-of-a-form-0123456789",
}

// echoingProvider answers calls of models named works, and says the credential in all its errors.
func echoingProvider(t *testing.T) (address string, used func(credential string) bool) {
	t.Helper()
	seen := make(chan map[string]bool, 1)
	seen <- map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credential := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		all := <-seen
		all[credential] = true
		seen <- all
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		status := http.StatusOK
		for model, answered := range map[string]int{"refuses": 401, "breaks": 500, "rejects": 400} {
			if strings.Contains(string(body), model) {
				status = answered
			}
		}
		if w.WriteHeader(status); status != http.StatusOK {
			_, _ = fmt.Fprintf(w, `{"error":{"message":"wrong key %s","code":"invalid_api_key","param":"%s"}}`, credential, credential)
			return
		}
		_, _ = fmt.Fprint(w, `{"id":"c","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":`+
			`{"role":"assistant","content":"one two"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":4,"total_tokens":24}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, func(credential string) bool {
		all := <-seen
		defer func() { seen <- all }()
		return all[credential]
	}
}

// secretSearch collects all that a gateway shows.
type secretSearch struct {
	t      *testing.T
	g      *harness.Gateway
	env    []string
	person *harness.ConsoleClient
	shown  map[string]string // Shown is what is shown, by where.
}

func (s *secretSearch) run(args ...string) (text string, status int) {
	s.t.Helper()
	text, status = harness.RunCommand(s.t, s.env, args...)
	s.shown["gateway "+strings.Join(args, " ")] = text
	return text, status
}

// paste stores a credential in the console.
func (s *secretSearch) paste(name string) int {
	s.t.Helper()
	a := s.person.Visit(s.t, "/console/operator/credentials", url.Values{"name": {name}, "value": {canaries["form"]}})
	s.shown["paste "+name] = a.Body + fmt.Sprint(a.Header)
	return a.Status
}

// startSecretSearch starts a gateway with the credential of the variable, and hands in those of the command and the form.
func startSecretSearch(t *testing.T) *secretSearch {
	t.Helper()
	bin, err := harness.GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	variable := "UMG_PROVIDER_CANARY=" + canaries["variable"]
	g, err := harness.StartDemoBinary(bin, []string{variable}, harness.DemoDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Stop() })
	s := &secretSearch{
		t: t, g: g, env: []string{"DATABASE_URL=" + g.DatabaseURL(t), "UMG_SECRET_KEY=" + g.SecretKey(t), variable}, shown: map[string]string{},
	}
	if _, status := s.run("operator", "add", g.Email); status != 0 {
		t.Fatal(s.shown)
	}
	if _, status := s.run("credential", "set", "command", "--file", writeCanary(t, "command")); status != 0 {
		t.Fatal(s.shown)
	}
	s.person = harness.Customer{Gateway: g}.SignInToConsole(t)
	if status := s.paste("form"); status != http.StatusSeeOther {
		t.Fatalf("paste: %d %s", status, s.shown["paste form"])
	}
	if status := s.paste("not a name"); status != http.StatusUnprocessableEntity {
		t.Errorf("paste under a wrong name: %d", status)
	}
	return s
}

// writeCanary writes a credential to a file.
func writeCanary(t *testing.T, way string) (path string) {
	t.Helper()
	path = filepath.Join(harness.DataDir(t), way)
	if err := os.WriteFile(path, []byte(canaries[way]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// putProviders adds a provider for each credential, with models that succeed and fail.
func (s *secretSearch) putProviders(address string) {
	s.t.Helper()
	var providers, models strings.Builder
	for way, reference := range map[string]string{
		"variable": "${UMG_PROVIDER_CANARY}", "file": "file:" + writeCanary(s.t, "file"), "command": "sealed:command", "form": "sealed:form",
	} {
		fmt.Fprintf(&providers, "  - id: by-%s\n    name: By %s\n    base_url: %s\n    credential: %s\n    spend: {daily: 50}\n", way, way, address, reference)
		for _, does := range []string{"works", "refuses", "breaks", "rejects"} {
			fmt.Fprintf(&models, "  - {id: %s/%s, name: Test, owner: test, kind: text, capabilities: [text], input: [text], output: [text], "+
				"context_tokens: 128000, max_output_tokens: 4096, "+
				"rates: {input_tokens: 1 per 1M, output_tokens: 2 per 1M}, released: 2026-01-01, "+
				"routes: [{provider: by-%s, model: %s, style: chat, order: 1, weight: 1}]}\n", way, does, way, does)
		}
	}
	s.g.PutCatalog(s.t, providers.String(), models.String(), "variable/works")
}

// lists reads what commands print, and what they say of a credential of the wrong form.
func (s *secretSearch) lists() {
	s.t.Helper()
	export, _ := s.run("catalog", "export")
	if list, status := s.run("credential", "list"); status != 0 || !strings.Contains(list, "6789") {
		s.t.Errorf("the list is %s", list)
	}
	wrong := filepath.Join(harness.DataDir(s.t), "wrong.yaml")
	text := strings.Replace(export, "credential: sealed:form", "auth: {kind: jwt}\n      credential: sealed:form", 1)
	if err := os.WriteFile(wrong, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if said, status := s.run("catalog", "check", wrong); status == 0 || !strings.Contains(said, "].credential: the value of sealed:form cannot be used") {
		s.t.Errorf("a credential of the wrong form is accepted: %s", said)
	}
}

// calls makes a call to each model, and returns the pages of the calls.
func (s *secretSearch) calls(used func(credential string) bool) (pages []string) {
	s.t.Helper()
	for way, canary := range canaries {
		for _, does := range []string{"works", "refuses", "breaks", "rejects"} {
			body, _ := json.Marshal(map[string]any{"model": way + "/" + does, "messages": []any{map[string]string{"role": "user", "content": "hi"}}})
			a := s.g.Call(s.t, "POST", "/v1/chat/completions", string(body), harness.BearerHeader(s.g.SDKAPIKey)...)
			if (a.Status == http.StatusOK) != (does == "works") {
				s.t.Errorf("%s/%s: %d %s", way, does, a.Status, a.Body)
			}
			s.shown["call of "+way+"/"+does] = a.Body + fmt.Sprint(a.Header)
			pages = append(pages, "/console/requests/"+a.Header.Get("X-Request-Id"))
		}
		if !used(canary) {
			s.t.Errorf("the credential of the %s was not used", way)
		}
	}
	s.g.WaitForLedger(s.t)
	return pages
}

// ops reads the metrics and the profiles.
func (s *secretSearch) ops() {
	s.t.Helper()
	for _, path := range []string{"/metrics", "/debug/pprof/heap", "/debug/pprof/heap?debug=1", "/debug/pprof/goroutine?debug=2", "/debug/pprof/allocs?debug=1"} {
		a, err := http.Get(strings.TrimSuffix(s.g.MetricsURL, "/metrics") + path)
		if err != nil {
			s.t.Fatal(err)
		}
		raw, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		s.shown[path] = string(raw)
	}
	if !strings.Contains(s.shown["/metrics"], `umg_provider_spend_cap_dollars{credential="",period="day",provider="by-form"} 50`) {
		s.t.Error("the spend cap is no metric")
	}
}

// TestTheCredentialsOfProvidersAreShownNowhere hands in credentials in every way, makes calls that succeed and fail, and reads all that the
// gateway shows: answers, pages, exports, metrics, profiles, the log and the tables.
func TestTheCredentialsOfProvidersAreShownNowhere(t *testing.T) {
	t.Parallel()
	address, used := echoingProvider(t)
	s := startSecretSearch(t)
	s.putProviders(address)
	s.lists()
	for _, path := range append(s.calls(used), "/console/operator", "/console/operator/credentials", "/console/operator/credentials/new?name=form",
		"/console/operator/credentials/form/delete", "/console/operator/catalog", "/console/operator/catalog/2", "/console/operator/catalog/2/catalog.yaml",
		"/console/operator/margin", "/console/operator/queues", "/console/operator/metrics", "/console/requests", "/console/models/form/works") {
		s.shown[path] = s.person.Visit(t, path, nil).Body
	}
	page := s.shown["/console/operator/credentials"]
	if !strings.Contains(page, "sealed:form") || !strings.Contains(page, "6789") || !strings.Contains(page, s.g.Email) {
		t.Errorf("the page of credentials is %s", page)
	}
	s.ops()
	s.shown["the tables"], s.shown["the log"] = dumpTables(t, s.g), s.g.Log.String()
	for where, text := range s.shown {
		for way, canary := range canaries {
			if strings.Contains(text, canary) || strings.Contains(text, hex.EncodeToString([]byte(canary))) {
				t.Errorf("%s shows the credential of the %s", where, way)
			}
		}
	}
}

// dumpTables is the text of all rows of all tables.
func dumpTables(t *testing.T, g *harness.Gateway) string {
	t.Helper()
	var tables []string
	if err := g.DB(t).Select(&tables, `select quote_ident(tablename) from pg_tables where schemaname = 'public' order by 1`); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, table := range tables {
		var text string
		if err := g.DB(t).Get(&text, `select coalesce(string_agg(r::text, chr(10)), '') from `+table+` r`); err != nil {
			t.Fatal(err)
		}
		all.WriteString(text)
	}
	if !strings.Contains(all.String(), "sealed:form") {
		t.Error("the tables do not have the reference of the credential")
	}
	return all.String()
}
