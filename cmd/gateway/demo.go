package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/asset"
	"umg/app/catalog"
	"umg/app/logwriter"
	"umg/app/simulator"
	"umg/app/video"
	"umg/billing"
)

const (
	demoEmail          = "demo@example.com"
	demoCredit         = 1000 * app.Dollar
	demoTrial          = 5 * app.Dollar
	demoTrialDays      = 30
	demoAddress        = "127.0.0.1"
	demoLimitFactor    = 100_000 // The limits of the seeded account are high enough for load tests.
	demoSignUpsMax     = 100_000 // All visitors come from one address.
	demoTrialsMax      = 100_000
	demoDrainMax       = 10 * time.Second
	demoVideoRetention = 30 * 24 * time.Hour
	demoPollMax        = 5 * time.Second
	demoUsageRetention = 400 * 24 * time.Hour
	demoJournalMinFree = 128 // The journal needs this many MiB of free disk.
	demoModel          = "meridian/atlas-small"
)

type demoCommand struct {
	Listen       string `default:"127.0.0.1:8080" env:"UMG_LISTEN" help:"Address of the API and the console." placeholder:"HOST:PORT"`
	OpsListen    string `default:"127.0.0.1:0" env:"UMG_OPS_LISTEN" help:"Address of metrics, health and profiles." placeholder:"HOST:PORT"`
	Data         string `default:"${default_data}-demo" env:"UMG_DATA" help:"Data folder." placeholder:"DIR"`
	PGBin        string `env:"UMG_PG_BIN" help:"Folder of initdb and postgres." placeholder:"DIR"`
	Profiles     bool   `env:"UMG_PROFILES" help:"Serve profiles of the process (pprof) at the ops address."`
	DatabaseURL  string `secret:"address" help:"Postgres database; without it, a local one." placeholder:"URL"`
	SimulatorURL string `help:"A running simulator to use; without it, the demo starts one." placeholder:"URL"`
	ReadyFile    string `help:"File to write the addresses, the login and the keys to when the demo is ready." placeholder:"FILE"`
	Storage      string `help:"Folder or s3://BUCKET?… of finished videos; default: in the data folder." placeholder:"URL"`
	Journal      string `help:"Folder of the settlement journal, or postgres to use no disk." placeholder:"DIR"`

	EgressAllow       []string      `help:"Private addresses that users may name in URLs, such as a webhook receiver." placeholder:"HOST:PORT"`
	KeepAlive         time.Duration `default:"15s" help:"Silence after which a stream sends a keep-alive."`
	TokenInterval     time.Duration `default:"15ms" help:"Time between two tokens of a simulated stream."`
	RenderTime        time.Duration `default:"8s" help:"Time that a simulated video takes."`
	VideoPollInterval time.Duration `default:"1s" help:"Time between two polls of a running video."`
	AssetCleanupDelay time.Duration `default:"1m" hidden:"" help:"Time after which an interrupted create of an asset is cleaned up."`

	telemetryFlags
}

// ready is the content of the ready file, which scripts and tests of a demo read.
type ready struct {
	BaseURL      string `json:"base_url,omitempty"`
	ConsoleURL   string `json:"console_url,omitempty"`
	APIKey       string `json:"api_key,omitempty"`     // Calls with this key get errors in the documented mode.
	SDKAPIKey    string `json:"sdk_api_key,omitempty"` // Calls with this key get errors with true statuses, as SDKs and tools expect.
	Email        string `json:"email,omitempty"`
	Password     string `json:"password,omitempty"`
	SimulatorURL string `json:"simulator_url"`
	MetricsURL   string `json:"metrics_url,omitempty"`
	PID          int    `json:"pid"`

	PaymentsURL    string `json:"payments_url,omitempty"`
	PaymentsKey    string `json:"payments_key,omitempty"`
	PaymentsSecret string `json:"payments_secret,omitempty"`
}

// seed is the demo's login and keys. They are random and kept in its data folder, so there are no default credentials.
type seed struct {
	Email     string `json:"email"`
	Password  string `json:"password"`
	APIKey    string `json:"api_key"`
	SDKAPIKey string `json:"sdk_api_key"`
}

// Run serves the demo until a signal ends ctx.
func (c *demoCommand) Run(ctx context.Context) error {
	if err := refuseUnknownVariables(os.Environ()); err != nil {
		return err
	}
	if err := c.checkAddress(ctx); err != nil {
		return err
	}
	log, closeLog, err := c.openLog()
	if err != nil {
		return err
	}
	defer closeLog()
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var upstream errgroup.Group
	simulatorURL := c.SimulatorURL
	if simulatorURL == "" {
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		simulatorURL = "http://" + ln.Addr().String()
		sim := simulator.New(simulator.Options{Now: time.Now, Pace: c.TokenInterval, Render: c.RenderTime, Control: true})
		// goroutine: the demo owns it and waits for it; it ends when the demo stops its upstreams.
		upstream.Go(func() error { return sim.Serve(work, ln) })
	}
	pay, err := openPayService(ctx)
	if err != nil {
		return err
	}
	err = c.serve(ctx, simulatorURL, pay, func(gatewayURL string) { pay.serve(work, &upstream, gatewayURL) }, log)
	stop()
	err = errors.Join(err, upstream.Wait())
	_ = pay.listener.Close() // The listener may never have been served.
	return err
}

// checkAddress reports an address that another program listens at. It runs first, because a new database takes seconds.
func (c *demoCommand) checkAddress(ctx context.Context) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another program listens at %s: choose another address, such as UMG_LISTEN=127.0.0.1:8090", c.Listen)
	}
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	return ln.Close()
}

// openLog writes the request log to a file in the data folder, which keeps the terminal readable.
func (c *demoCommand) openLog() (*slog.Logger, func(), error) {
	//nolint:gosec // the local database of a root process runs as another user, who must be able to pass through
	if err := os.MkdirAll(c.Data, 0o711); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	handler := logwriter.NewHandler(f, time.Now)
	return slog.New(handler), func() {
		_ = handler.Lines().Flush()
		_ = f.Close()
	}, nil
}

func (c *demoCommand) logFile() string { return filepath.Join(c.Data, "gateway.log") }

// serve builds the server, and starts the simulated payment service once the server's address is known.
func (c *demoCommand) serve(ctx context.Context, simulatorURL string, pay *payService, beside func(string), log *slog.Logger) error {
	cfg := Config{
		httpFlags: httpFlags{
			Listen: c.Listen, OpsListen: c.OpsListen, Profiles: c.Profiles,
			DrainTimeout: demoDrainMax, KeepAlive: c.KeepAlive, EgressAllow: c.EgressAllow,
		},
		databaseFlags:  databaseFlags{DatabaseURL: c.DatabaseURL, Data: c.Data, PGBin: c.PGBin},
		journalFlags:   journalFlags{Journal: c.Journal, JournalMinFree: demoJournalMinFree, UsageRetention: demoUsageRetention},
		paymentFlags:   paymentFlags{StripeKey: pay.key, StripeWebhookSecret: pay.secret, StripeURL: pay.url()},
		trialFlags:     trialFlags{TrialCredit: demoTrial, TrialDays: demoTrialDays, MaxDailyTrialCredit: demoTrialsMax * demoTrial},
		videoFlags:     videoFlags{Storage: c.Storage, VideoRetention: demoVideoRetention},
		telemetryFlags: c.telemetryFlags,
		demo: demoSettings{
			signUpsMax: demoSignUpsMax, trialsMax: demoTrialsMax, outbox: true, operatorsNeedNoCode: true, seeded: true,
			simulatorURL: strings.TrimSuffix(simulatorURL, "/"),
			assetWaits:   asset.Waits{Settle: c.AssetCleanupDelay},
			videoWaits:   video.Waits{PollMin: c.VideoPollInterval, PollMax: max(c.VideoPollInterval, demoPollMax)},
		},
	}
	if u, err := url.Parse(simulatorURL); err == nil && u.Port() != "" {
		cfg.EgressAllow = append(cfg.EgressAllow, u.Host) // The simulator's files represent files on the internet.
	}
	if err := cfg.AfterApply(); err != nil {
		return err
	}
	g, err := build(ctx, cfg, func(name string) (string, bool) {
		switch name {
		case "UMG_SIMULATOR_URL":
			return simulatorURL, true
		case "UMG_SIMULATOR_KEY":
			return "simulated", true
		}
		return credentials(log)(name)
	}, log)
	if err != nil {
		return err
	}
	beside(g.cfg.BaseURL)
	who, err := c.seed(ctx, g)
	if err != nil {
		return errors.Join(err, g.close())
	}
	debug.FreeOSMemory() // Hashing the seed's password took 64 MiB that are not needed any more.
	err = c.announce(ready{
		BaseURL: g.cfg.BaseURL + "/v1", ConsoleURL: g.cfg.BaseURL, APIKey: who.APIKey, SDKAPIKey: who.SDKAPIKey,
		Email: who.Email, Password: who.Password, SimulatorURL: simulatorURL, PID: os.Getpid(),
		MetricsURL:  "http://" + g.http.ops.Addr().String(),
		PaymentsURL: pay.url(), PaymentsKey: pay.key, PaymentsSecret: pay.secret,
	})
	if err != nil {
		return errors.Join(err, g.close())
	}
	return errors.Join(g.run(ctx), g.close())
}

// seed gives an empty database the default catalog, and makes the demo's user, credit and keys once. Each step is stored
// before the next, so an interrupted start continues where it ended.
func (c *demoCommand) seed(ctx context.Context, g *gatewayServer) (seed, error) {
	if err := seedCatalog(ctx, g); err != nil {
		return seed{}, err
	}
	path := filepath.Join(c.Data, "demo.json")
	who, err := readSeed(path)
	if err != nil {
		return who, err
	}
	if isKey(ctx, g, who.APIKey) && isKey(ctx, g, who.SDKAPIKey) {
		return who, nil
	}
	if err := who.save(path); err != nil {
		return who, err
	}
	in, err := g.services.accounts.SignIn(ctx, who.Email, who.Password, demoAddress)
	user := in.User
	if err != nil && app.KindOf(err) == app.Unauthenticated {
		user, err = who.signUp(ctx, g, path)
	}
	if err == nil {
		_, err = g.services.accounts.Vouch(ctx, who.Email)
	}
	if err != nil {
		return who, fmt.Errorf("seed the demo's user: %w", err)
	}
	if err := who.seedDemoAccount(ctx, g, user); err != nil {
		return who, err
	}
	return who, who.save(path)
}

// isKey reports whether the secret belongs to an existing key, even to one that may not be used from here.
func isKey(ctx context.Context, g *gatewayServer, secret string) bool {
	err := g.services.keys.Check(ctx, secret, demoAddress)
	return err == nil || app.KindOf(err) == app.Forbidden
}

// readSeed returns the login of an earlier start, or a new random one.
func readSeed(path string) (who seed, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return seed{Email: demoEmail, Password: rand.Text()}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &who)
	}
	return who, err
}

func (s *seed) save(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFileOnce(path, text)
}

// signUp makes the user. When another demo on the same database has the name, it chooses another.
func (s *seed) signUp(ctx context.Context, g *gatewayServer, path string) (account.User, error) {
	user, err := g.services.accounts.SignUp(ctx, account.SignUp{Email: s.Email, Password: s.Password, IP: demoAddress})
	if err == nil || app.KindOf(err) != app.Conflict {
		return user, err
	}
	s.Email = strings.ToLower("demo-" + rand.Text()[:6] + "@example.com")
	if err := s.save(path); err != nil {
		return user, err
	}
	return g.services.accounts.SignUp(ctx, account.SignUp{Email: s.Email, Password: s.Password, IP: demoAddress})
}

// seedDemoAccount gives the user credit, high limits, and the missing keys. The console lists the newest key first, so it makes the SDK
// key last.
func (s *seed) seedDemoAccount(ctx context.Context, g *gatewayServer, user account.User) error {
	err := g.billing.ledger.Grant(ctx, g.stores.database.db, billing.Grant{
		AccountID: user.AccountID, Kind: billing.Promotional, Amount: demoCredit, Source: "demo:" + user.AccountID, Reason: "demo credit",
	})
	if err != nil && !errors.Is(err, billing.ErrGrantExists) {
		return fmt.Errorf("seed the demo's credit: %w", err)
	}
	if err := g.services.accounts.SetLimitFactor(ctx, commandPrincipal(user.AccountID, "demo"), demoLimitFactor); err != nil {
		return fmt.Errorf("seed the demo's limits: %w", err)
	}
	for _, k := range []struct {
		name   string
		mode   apikey.ErrorMode
		secret *string
	}{
		{"Demo key", apikey.Documented, &s.APIKey},
		{"Demo key for SDKs", apikey.Standard, &s.SDKAPIKey},
	} {
		if isKey(ctx, g, *k.secret) {
			continue
		}
		_, secret, err := g.services.apiKeys.Create(ctx, user.Principal(), apikey.Spec{Name: k.name, Env: "development", ErrorMode: k.mode})
		if err != nil {
			return fmt.Errorf("seed the key %q: %w", k.name, err)
		}
		*k.secret = secret
	}
	return nil
}

// seedCatalog applies the default catalog when the database has none.
func seedCatalog(ctx context.Context, g *gatewayServer) error {
	if len(g.services.catalog.Snapshot().Models()) > 0 {
		return nil
	}
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		return err
	}
	if err := catalog.Apply(ctx, g.stores.database.db, file); err != nil {
		return err
	}
	return g.services.catalog.Reload(ctx)
}

// announce reports that the demo is ready, to people on the terminal and to scripts in the ready file.
func (c *demoCommand) announce(r ready) error {
	fmt.Printf(`
Unified Model Gateway is ready.

  console    %s/console
  login      %s  password %s
  base URL   %s
  API key    %s  for SDKs and tools: errors have true statuses
             %s  for the API as documented: some errors have status 200
  mails      %s/console/outbox  (the demo sends no mail and keeps it there)
  metrics    %s/metrics
  log        %s

Try it:

  curl %s/chat/completions \
    -H "Authorization: Bearer %s" -H "Content-Type: application/json" \
    -d '{"model":"%s","messages":[{"role":"user","content":"Hello!"}]}'

%sStop it with Ctrl-C. What is in it stays in %s for the next start.

`, r.ConsoleURL, r.Email, r.Password, r.BaseURL, r.SDKAPIKey, r.APIKey, r.ConsoleURL, r.MetricsURL,
		c.logFile(), r.BaseURL, r.SDKAPIKey, demoModel, c.realKeyText(r.Email), c.Data)
	return writeReady(c.ReadyFile, r)
}

// realKeyText says how to add a key of a provider to the demo. It is empty for a demo on another database, whose address the commands
// would need.
func (c *demoCommand) realKeyText(email string) string {
	if c.DatabaseURL != "" {
		return ""
	}
	return fmt.Sprintf(`Add a real key: make the login an operator, sign in again, and open Operator → Providers in the console:

  %[1]s operator add %[2]s --data %[3]s

Or add a provider by a command, which reads its key and encrypts it:

  %[1]s provider add openai --models all --markup 10%% --data %[3]s

`, os.Args[0], email, c.Data)
}

// writeReady writes the file atomically, because a waiting script must never read half of it.
func writeReady(path string, r ready) error {
	if path == "" {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeFileOnce(path, text)
}
