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
	"umg/app/simulator"
	"umg/app/video"
	"umg/billing"
)

const (
	demoEmail       = "demo@example.com"
	demoCredit      = 1000 * app.Dollar
	demoTrial       = 5 * app.Dollar
	demoTrialDays   = 30
	demoAddress     = "127.0.0.1"
	demoLimitFactor = 100_000 // The limits of the seeded account are high enough for load tests.
	demoSignUpsMax  = 100_000 // All visitors come from one address.
	demoTrialsMax   = 100_000
	demoDrainMax    = 10 * time.Second
	demoRetention   = 30 * 24 * time.Hour
	demoPollMax     = 5 * time.Second
	demoRecordsKept = 400 * 24 * time.Hour
	demoJournalFree = 128 // The journal needs this many MiB of free disk.
	demoModel       = "meridian/atlas-small"
)

type demoCommand struct {
	Listen       string        `default:"127.0.0.1:8080" env:"UMG_LISTEN" help:"Address of API and console, or port 0." placeholder:"H:P"`
	OpsListen    string        `default:"127.0.0.1:0" env:"UMG_OPS_LISTEN" help:"Address of /metrics and health." placeholder:"HOST:PORT"`
	Data         string        `default:"${default_data}-demo" env:"UMG_DATA" help:"Data folder." placeholder:"DIR"`
	PGBin        string        `env:"UMG_PG_BIN" help:"Folder of initdb and postgres." placeholder:"DIR"`
	Profiles     bool          `env:"UMG_PROFILES" help:"Serve profiles of the process (pprof) at the ops address."`
	DatabaseURL  string        `secret:"address" help:"Postgres to use instead of a local one." placeholder:"URL"`
	SimulatorURL string        `help:"A simulator that runs already, instead of one inside." placeholder:"URL"`
	Pace         time.Duration `default:"15ms" help:"Pause between two tokens of a simulated stream."`
	ReadyFile    string        `help:"File to write the addresses, the login and the keys to once all is ready." placeholder:"FILE"`
	Render       time.Duration `default:"8s" help:"Time that a simulated video takes."`
	Storage      string        `help:"Folder or s3://BUCKET?… of finished videos; else in the data folder." placeholder:"ADDRESS"`
	VideoPoll    time.Duration `default:"1s" help:"Pause between two looks at a running video."`
	AssetSettle  time.Duration `default:"1m" hidden:"" help:"Time after which a create of an asset that was cut is cleaned up."`
	EgressAllow  []string      `help:"Private host:port that addresses of users may be, such as a receiver of webhooks." placeholder:"H:P"`
	Journal      string        `help:"Folder of the settlement journal; postgres for none." placeholder:"DIR"`
	KeepAlive    time.Duration `default:"15s" help:"Silence after which a stream's headers and keep-alives go out."`

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
		sim := simulator.New(simulator.Options{Now: time.Now, Pace: c.Pace, Render: c.Render, Control: true})
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
	return slog.New(slog.NewJSONHandler(f, nil)), func() { _ = f.Close() }, nil
}

func (c *demoCommand) logFile() string { return filepath.Join(c.Data, "gateway.log") }

// serve builds the server, and starts the simulated payment service once the server's address is known.
func (c *demoCommand) serve(ctx context.Context, simulatorURL string, pay *payService, beside func(string), log *slog.Logger) error {
	cfg := Config{
		Listen: c.Listen, OpsListen: c.OpsListen, Profiles: c.Profiles,
		storeFlags:  storeFlags{DatabaseURL: c.DatabaseURL, Data: c.Data, PGBin: c.PGBin},
		TrialCredit: demoTrial, TrialDays: demoTrialDays, TrialDailyMax: demoTrialsMax * demoTrial,
		signUpsMax: demoSignUpsMax, trialsMax: demoTrialsMax, DrainTimeout: demoDrainMax, KeepAlive: c.KeepAlive,
		Storage: c.Storage, VideoRetention: demoRetention, EgressAllow: c.EgressAllow, outbox: true, operatorsNeedNoCode: true,
		moneyFlags: moneyFlags{
			Journal: c.Journal, JournalFree: demoJournalFree, RecordsKept: demoRecordsKept,
			StripeKey: pay.key, StripeWebhookSecret: pay.secret, StripeURL: pay.url(),
		},
		telemetryFlags: c.telemetryFlags, assetWaits: asset.Waits{Settle: c.AssetSettle},
		videoWaits: video.Waits{PollMin: c.VideoPoll, PollMax: max(c.VideoPoll, demoPollMax)},
	}
	if u, err := url.Parse(simulatorURL); err == nil && u.Port() != "" {
		cfg.EgressAllow = append(cfg.EgressAllow, u.Host) // The simulator's files represent files on the internet.
	}
	if err := cfg.AfterApply(); err != nil {
		return err
	}
	h, err := build(ctx, cfg, func(name string) (string, bool) {
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
	beside(h.cfg.BaseURL)
	who, err := c.seed(ctx, h)
	if err != nil {
		return errors.Join(err, h.close())
	}
	debug.FreeOSMemory() // Hashing the seed's password took 64 MiB that are not needed any more.
	err = c.announce(ready{
		BaseURL: h.cfg.BaseURL + "/v1", ConsoleURL: h.cfg.BaseURL, APIKey: who.APIKey, SDKAPIKey: who.SDKAPIKey,
		Email: who.Email, Password: who.Password, SimulatorURL: simulatorURL, MetricsURL: "http://" + h.ops.Addr().String(), PID: os.Getpid(),
		PaymentsURL: pay.url(), PaymentsKey: pay.key, PaymentsSecret: pay.secret,
	})
	if err != nil {
		return errors.Join(err, h.close())
	}
	return errors.Join(h.run(ctx), h.close())
}

// seed gives an empty database the default catalog, and makes the demo's user, credit and keys once. Each step is stored
// before the next, so an interrupted start continues where it ended.
func (c *demoCommand) seed(ctx context.Context, h *gatewayServer) (seed, error) {
	if err := seedCatalog(ctx, h); err != nil {
		return seed{}, err
	}
	path := filepath.Join(c.Data, "demo.json")
	who, err := readSeed(path)
	if err != nil {
		return who, err
	}
	if isKey(ctx, h, who.APIKey) && isKey(ctx, h, who.SDKAPIKey) {
		return who, nil
	}
	if err := who.save(path); err != nil {
		return who, err
	}
	in, err := h.accounts.SignIn(ctx, who.Email, who.Password, demoAddress)
	user := in.User
	if err != nil && app.KindOf(err) == app.Unauthenticated {
		user, err = who.signUp(ctx, h, path)
	}
	if err == nil {
		_, err = h.accounts.Vouch(ctx, who.Email)
	}
	if err != nil {
		return who, fmt.Errorf("seed the demo's user: %w", err)
	}
	if err := who.equip(ctx, h, user); err != nil {
		return who, err
	}
	return who, who.save(path)
}

// isKey reports whether the secret belongs to an existing key, even to one that may not be used from here.
func isKey(ctx context.Context, h *gatewayServer, secret string) bool {
	err := h.keys.Check(ctx, secret, demoAddress)
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
func (s *seed) signUp(ctx context.Context, h *gatewayServer, path string) (account.User, error) {
	user, err := h.accounts.SignUp(ctx, account.SignUp{Email: s.Email, Password: s.Password, IP: demoAddress})
	if err == nil || app.KindOf(err) != app.Conflict {
		return user, err
	}
	s.Email = strings.ToLower("demo-" + rand.Text()[:6] + "@example.com")
	if err := s.save(path); err != nil {
		return user, err
	}
	return h.accounts.SignUp(ctx, account.SignUp{Email: s.Email, Password: s.Password, IP: demoAddress})
}

// equip gives the user credit, high limits, and the missing keys. The console lists the newest key first, so it makes the SDK
// key last.
func (s *seed) equip(ctx context.Context, h *gatewayServer, user account.User) error {
	err := h.ledger.Grant(ctx, h.store.db, billing.Grant{
		AccountID: user.AccountID, Kind: billing.Promotional, Amount: demoCredit, Source: "demo:" + user.AccountID, Reason: "demo credit",
	})
	if err != nil && !errors.Is(err, billing.ErrGrantExists) {
		return fmt.Errorf("seed the demo's credit: %w", err)
	}
	if err := h.accounts.SetLimitFactor(ctx, commandPrincipal(user.AccountID, "demo"), demoLimitFactor); err != nil {
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
		if isKey(ctx, h, *k.secret) {
			continue
		}
		_, secret, err := h.apiKeys.Create(ctx, user.Principal(), apikey.Spec{Name: k.name, Env: "development", ErrorMode: k.mode})
		if err != nil {
			return fmt.Errorf("seed the key %q: %w", k.name, err)
		}
		*k.secret = secret
	}
	return nil
}

// seedCatalog applies the default catalog when the database has none.
func seedCatalog(ctx context.Context, h *gatewayServer) error {
	if len(h.catalog.Snapshot().Models()) > 0 {
		return nil
	}
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		return err
	}
	if err := catalog.Apply(ctx, h.store.db, file); err != nil {
		return err
	}
	return h.catalog.Reload(ctx)
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

Stop it with Ctrl-C. What is in it stays in %s for the next start.

`, r.ConsoleURL, r.Email, r.Password, r.BaseURL, r.SDKAPIKey, r.APIKey, r.ConsoleURL, r.MetricsURL,
		c.logFile(), r.BaseURL, r.SDKAPIKey, demoModel, c.Data)
	return writeReady(c.ReadyFile, r)
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
