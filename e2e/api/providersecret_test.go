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

// TestTheCredentialsOfProvidersAreShownNowhere hands in credentials in every way, makes calls that succeed and fail, and reads all that the
// gateway shows: answers, pages, exports, metrics, profiles, the log and the tables.
func TestTheCredentialsOfProvidersAreShownNowhere(t *testing.T) {
	t.Parallel()
	address, used := echoingProvider(t)
	bin, err := harness.GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	dir := harness.DemoDir(t)
	file := filepath.Join(harness.DataDir(t), "key")
	if err := os.WriteFile(file, []byte(canaries["file"]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	variable := "UMG_PROVIDER_CANARY=" + canaries["variable"]
	g, err := harness.StartDemoBinary(bin, []string{variable}, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Stop() })
	env := []string{"DATABASE_URL=" + g.DatabaseURL(t), "UMG_SECRET_KEY=" + g.SecretKey(t), variable}
	shown := map[string]string{}
	run := func(args ...string) int {
		text, status := harness.RunCommand(t, env, args...)
		shown["gateway "+strings.Join(args, " ")] = text
		return status
	}
	command := filepath.Join(harness.DataDir(t), "command")
	if err := os.WriteFile(command, []byte(canaries["command"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if run("credential", "set", "command", "--file", command) != 0 || run("operator", "add", g.Email) != 0 {
		t.Fatal(shown)
	}
	person := harness.Customer{Gateway: g}.SignInToConsole(t)
	paste := func(name string) int {
		a := person.Visit(t, "/console/operator/credentials", url.Values{"name": {name}, "value": {canaries["form"]}})
		shown["paste "+name] = a.Body + fmt.Sprint(a.Header)
		return a.Status
	}
	if status := paste("form"); status != http.StatusSeeOther {
		t.Fatalf("paste: %d %s", status, shown["paste form"])
	}
	if status := paste("not a name"); status != http.StatusUnprocessableEntity {
		t.Errorf("paste under a wrong name: %d", status)
	}
	var providers, models strings.Builder
	references := map[string]string{"variable": "${UMG_PROVIDER_CANARY}", "file": "file:" + file, "command": "sealed:command", "form": "sealed:form"}
	for _, way := range []string{"variable", "file", "command", "form"} {
		fmt.Fprintf(&providers, "  - id: by-%s\n    name: By %s\n    base_url: %s\n    credential: %s\n    spend: {daily: 50}\n", way, way, address, references[way])
		for _, does := range []string{"works", "refuses", "breaks", "rejects"} {
			fmt.Fprintf(&models, "  - {id: %s/%s, name: Test, owner: test, kind: text, capabilities: [text], input: [text], output: [text], "+
				"context_tokens: 128000, max_output_tokens: 4096, "+
				"rates: {input_tokens: 1 per 1M, output_tokens: 2 per 1M}, released: 2026-01-01, "+
				"routes: [{provider: by-%s, model: %s, style: chat, order: 1, weight: 1}]}\n", way, does, way, does)
		}
	}
	g.PutCatalog(t, providers.String(), models.String(), "variable/works")
	if run("catalog", "export") != 0 || run("credential", "list") != 0 || !strings.Contains(shown["gateway credential list"], "6789") {
		t.Errorf("the lists are %s", shown["gateway credential list"])
	}
	wrong := filepath.Join(harness.DataDir(t), "wrong.yaml")
	text := strings.Replace(shown["gateway catalog export"], "credential: sealed:form", "auth: {kind: jwt}\n      credential: sealed:form", 1)
	if err := os.WriteFile(wrong, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if run("catalog", "check", wrong) == 0 || !strings.Contains(shown["gateway catalog check "+wrong], "].credential: the value of sealed:form cannot be used") {
		t.Errorf("a credential of the wrong form is accepted: %s", shown["gateway catalog check "+wrong])
	}
	var requests []string
	for way, canary := range canaries {
		for does, status := range map[string]int{"works": 200, "refuses": 0, "breaks": 0, "rejects": 0} {
			body, _ := json.Marshal(map[string]any{"model": way + "/" + does, "messages": []any{map[string]string{"role": "user", "content": "hi"}}})
			a := g.Call(t, "POST", "/v1/chat/completions", string(body), harness.BearerHeader(g.SDKAPIKey)...)
			if status != 0 && a.Status != status || status == 0 && a.Status < 400 {
				t.Errorf("%s/%s: %d %s", way, does, a.Status, a.Body)
			}
			shown["call of "+way+"/"+does] = a.Body + fmt.Sprint(a.Header)
			requests = append(requests, "/console/requests/"+a.Header.Get("X-Request-Id"))
		}
		if !used(canary) {
			t.Errorf("the credential of the %s was not used", way)
		}
	}
	g.WaitForLedger(t)
	for _, path := range append(requests, "/console/operator", "/console/operator/credentials", "/console/operator/credentials/new?name=form",
		"/console/operator/credentials/form/delete", "/console/operator/catalog", "/console/operator/catalog/2", "/console/operator/catalog/2/catalog.yaml",
		"/console/operator/margin", "/console/operator/queues", "/console/operator/metrics", "/console/requests", "/console/models/form/works") {
		shown[path] = person.Visit(t, path, nil).Body
	}
	if page := shown["/console/operator/credentials"]; !strings.Contains(page, "sealed:form") || !strings.Contains(page, "6789") || !strings.Contains(page, g.Email) {
		t.Errorf("the page of credentials is %s", page)
	}
	for _, path := range []string{"/metrics", "/debug/pprof/heap", "/debug/pprof/heap?debug=1", "/debug/pprof/goroutine?debug=2", "/debug/pprof/allocs?debug=1"} {
		a, err := http.Get(strings.TrimSuffix(g.MetricsURL, "/metrics") + path)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		shown[path] = string(raw)
	}
	if !strings.Contains(shown["/metrics"], `umg_provider_spend_cap_dollars{credential="",period="day",provider="by-form"} 50`) {
		t.Error("the spend cap is no metric")
	}
	shown["the tables"], shown["the log"] = dumpTables(t, g), g.Log.String()
	for where, text := range shown {
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
