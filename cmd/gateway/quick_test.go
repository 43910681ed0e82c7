package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/postgres/pgtest"
	"umg/app/simulator/emulator"
	"umg/billing"
)

// firstStart is an empty database with a data folder, and emulated providers.
type firstStart struct {
	t    *testing.T
	cfg  Config
	env  map[string]string
	logs *bytes.Buffer
}

func newFirstStart(t *testing.T, env map[string]string) *firstStart {
	t.Helper()
	s := httptest.NewServer(emulator.New(emulator.Options{Now: time.Now, Random: rand.Reader}))
	t.Cleanup(s.Close)
	return &firstStart{t: t, env: env, logs: &bytes.Buffer{}, cfg: Config{
		httpFlags:     httpFlags{Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", KeepAlive: time.Second},
		databaseFlags: databaseFlags{DatabaseURL: pgtest.DSN(t, pgtest.New(t)), Data: t.TempDir()},
		journalFlags:  journalFlags{UsageRetention: monthMax, Journal: journalInDatabase},
		trialFlags:    trialFlags{TrialDays: 1},
		videoFlags:    videoFlags{VideoRetention: time.Hour},
		setupFlags: setupFlags{Quick: true, ProviderAddress: map[string]string{
			"openai": s.URL + "/openai/v1", "anthropic": s.URL + "/anthropic/v1", "groq": "http://127.0.0.1:1/openai/v1",
		}},
	}}
}

// open starts a server without serving yet, and returns what it printed.
func (f *firstStart) open() (g *gatewayServer, printed string, err error) {
	f.t.Helper()
	cfg := f.cfg
	if err := cfg.AfterApply(); err != nil {
		f.t.Fatal(err)
	}
	g, err = build(f.t.Context(), cfg, func(name string) (string, bool) { value, has := f.env[name]; return value, has },
		slog.New(slog.NewJSONHandler(f.logs, nil)))
	if err != nil {
		f.t.Fatal(err)
	}
	var out strings.Builder
	if err = g.begin(f.t.Context(), &out); err != nil {
		_ = g.close()
	}
	return g, out.String(), err
}

// serve runs a server until the function returns.
func (f *firstStart) serve(do func(g *gatewayServer, printed string)) {
	f.t.Helper()
	g, printed, err := f.open()
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	// goroutine: the test owns it, and waits for its end.
	go func() { ended <- g.run(ctx) }()
	do(g, printed)
	stop()
	if err := <-ended; err != nil {
		f.t.Error(err)
	}
	if err := g.close(); err != nil {
		f.t.Error(err)
	}
}

var printedKey = regexp.MustCompile(`API key +(sk-\S+)`)

// ask sends a chat request with a key.
func ask(t *testing.T, g *gatewayServer, key, model string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.cfg.BaseURL+"/v1/chat/completions",
		strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"Hello!"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// TestAQuickStartAnswersWithoutCreditAndARestartChangesNothing starts with two keys, calls models of both providers, and starts again.
func TestAQuickStartAnswersWithoutCreditAndARestartChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFirstStart(t, map[string]string{"OPENAI_API_KEY": emulator.Key("openai"), "ANTHROPIC_API_KEY": emulator.Key("anthropic")})
	var key string
	var version int64
	f.serve(func(g *gatewayServer, printed string) {
		match := printedKey.FindStringSubmatch(printed)
		if match == nil || !strings.Contains(printed, g.cfg.BaseURL+"/v1") || !strings.Contains(printed, "curl ") ||
			!strings.Contains(printed, "openai     2 models, at cost") || !strings.Contains(printed, "anthropic  1 models, at cost") {
			t.Fatalf("printed %s", printed)
		}
		key = match[1]
		for _, model := range []string{"openai/gpt-5-mini", "gpt-5-mini", "anthropic/claude-haiku-4-5", "claude-haiku-4-5"} {
			status, body := ask(t, g, key, model)
			var answer struct {
				Usage struct {
					Cost json.Number `json:"cost"`
				} `json:"usage"`
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || strings.Trim(string(answer.Usage.Cost), "0.") == "" {
				t.Errorf("%s answers %d %s", model, status, body)
			}
		}
		version = g.services.catalog.Snapshot().Version()
	})
	f.serve(func(g *gatewayServer, printed string) {
		if match := printedKey.FindStringSubmatch(printed); match == nil || match[1] != key {
			t.Errorf("a restart prints %s, want the key %s", printed, key)
		}
		if now := g.services.catalog.Snapshot().Version(); now != version {
			t.Errorf("a restart made version %d of %d", now, version)
		}
		if status, body := ask(t, g, key, "openai/gpt-4o-mini"); status != http.StatusOK {
			t.Errorf("after a restart: %d %s", status, body)
		}
		f.unchargedRecords(g, 5)
	})
}

// unchargedRecords checks that calls were recorded with their cost, that nothing was debited, and that the ledger is exact.
func (f *firstStart) unchargedRecords(g *gatewayServer, calls int) {
	f.t.Helper()
	db := g.stores.database.db
	var rows []billing.UsageRow
	if err := db.SelectContext(f.t.Context(), &rows, `select `+billing.UsageColumns+` from usage_records`); err != nil {
		f.t.Fatal(err)
	}
	if len(rows) != calls {
		f.t.Errorf("%d records of %d calls", len(rows), calls)
	}
	for _, row := range rows {
		if u := row.Record(); u.Cost != 0 || u.Overrun != 0 || u.UpstreamCost == nil || *u.UpstreamCost <= 0 || !u.HasFlag(billing.FlagUncharged) {
			f.t.Errorf("record %+v", u)
		}
	}
	checks, err := billing.Books(f.t.Context(), db)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, c := range checks {
		if !c.Holds {
			f.t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	if verify := (&ledgerVerify{databaseFlags: f.cfg.databaseFlags}); verify.Run(f.t.Context(), slog.New(slog.DiscardHandler)) != nil {
		f.t.Error("the ledger cannot be verified")
	}
}

// TestAQuickStartSaysWhatIsWrongWithAKeyAndServes starts with a key that the provider refuses, and with a provider that no one reaches.
func TestAQuickStartSaysWhatIsWrongWithAKeyAndServes(t *testing.T) {
	t.Parallel()
	f := newFirstStart(t, map[string]string{"OPENAI_API_KEY": "sk-wrong", "GROQ_API_KEY": "gsk-any"})
	f.serve(func(g *gatewayServer, printed string) {
		if !strings.Contains(printed, "OpenAI says: Incorrect API key provided") || strings.Contains(printed, "sk-wrong") ||
			strings.Count(printed, "models, at cost") != 2 {
			t.Errorf("printed %s", printed)
		}
		match := printedKey.FindStringSubmatch(printed)
		if match == nil {
			t.Fatalf("printed %s", printed)
		}
		if status, body := ask(t, g, match[1], "openai/gpt-4o-mini"); status < http.StatusInternalServerError {
			t.Errorf("a refused key answers %d %s", status, body)
		}
	})
	if logged := f.logs.String(); strings.Count(logged, "models of a provider not read") != 2 || strings.Contains(logged, "sk-wrong") {
		t.Errorf("logged %s", logged)
	}
}

// TestALaterQuickStartPublishesNewKeys sets another key before a restart, and removes a provider before the next one.
func TestALaterQuickStartPublishesNewKeys(t *testing.T) {
	t.Parallel()
	f := newFirstStart(t, map[string]string{"OPENAI_API_KEY": emulator.Key("openai")})
	f.serve(func(*gatewayServer, string) {})
	f.env["ANTHROPIC_API_KEY"] = emulator.Key("anthropic")
	f.serve(func(g *gatewayServer, printed string) {
		if !strings.Contains(printed, "anthropic  1 models, at cost") || strings.Contains(printed, "openai     2") || !g.services.setup.Has("anthropic") {
			t.Errorf("printed %s", printed)
		}
		_, err := catalog.Edit(t.Context(), g.stores.database.db, catalog.HistoryAction{By: "ada"}, 0, func(file catalog.File) (catalog.File, error) {
			file, _, _, err := change.RemoveProvider(file, "anthropic")
			return file, err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	f.serve(func(g *gatewayServer, printed string) {
		if strings.Contains(printed, "anthropic") || g.services.setup.Has("anthropic") || !g.services.setup.Has("openai") {
			t.Errorf("a provider that an operator removed is back: %s", printed)
		}
	})
}

func TestAQuickStartNeedsAKey(t *testing.T) {
	t.Parallel()
	f := newFirstStart(t, map[string]string{"AWS_ACCESS_KEY_ID": "without a region"})
	_, _, err := f.open()
	if err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") || !strings.Contains(err.Error(), "AWS_REGION and AWS_ACCESS_KEY_ID") {
		t.Errorf("error %v", err)
	}
}

// TestAQuickStartLeavesAGatewayInUseAlone starts with --quick where a person has signed up.
func TestAQuickStartLeavesAGatewayInUseAlone(t *testing.T) {
	t.Parallel()
	f := newFirstStart(t, map[string]string{"OPENAI_API_KEY": emulator.Key("openai")})
	f.cfg.Quick = false
	f.serve(func(g *gatewayServer, _ string) {
		seed := seed{Email: "ada@example.com", Password: "a long enough password"}
		if _, err := seed.signUp(t.Context(), g, filepath.Join(t.TempDir(), "demo.json")); err != nil {
			t.Fatal(err)
		}
	})
	f.cfg.Quick = true
	f.serve(func(g *gatewayServer, printed string) {
		if _, err := os.Stat(filepath.Join(f.cfg.Data, "quick.json")); err == nil || printed != "" || len(g.services.catalog.Snapshot().Models()) != 0 {
			t.Errorf("printed %q", printed)
		}
	})
}

// TestTheCodeOfAServerIsPrintedAndLogged starts an empty gateway.
func TestTheCodeOfAServerIsPrintedAndLogged(t *testing.T) {
	t.Parallel()
	f := newFirstStart(t, nil)
	f.cfg.Quick = false
	f.serve(func(g *gatewayServer, printed string) {
		match := regexp.MustCompile(`code  ([A-Z2-7]{4}(-[A-Z2-7]{4}){3})\n`).FindStringSubmatch(printed)
		if match == nil || !strings.Contains(printed, g.cfg.BaseURL+"/console/setup") {
			t.Fatalf("printed %s", printed)
		}
		var stored int
		err := g.stores.database.db.GetContext(t.Context(), &stored, `select count(*) from setup_codes where encode(hash, 'escape') like '%' || $1 || '%'`, match[1])
		if err != nil || stored != 0 {
			t.Errorf("the code is stored as it is: %d, %v", stored, err)
		}
		if logged := f.logs.String(); !strings.Contains(logged, `"msg":"setup: waiting for the first operator","code":"`+match[1]) {
			t.Errorf("logged %s", logged)
		}
	})
}
