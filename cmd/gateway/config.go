package main

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/asset"
	"umg/app/catalog"
	"umg/app/mail"
	"umg/app/operator"
	"umg/app/video"
	"umg/billing/failpoint"
)

// journalInDatabase is the value of the journal flag for a server without a journal on disk.
const journalInDatabase = "postgres"

const (
	monthMax        = 31 * 24 * time.Hour // A month lasts at most this long.
	redisTimeoutMax = time.Second
)

// Config is everything an operator can set, by flag or by environment, and the only reader of either. A flag --max-memory has
// the environment name UMG_MAX_MEMORY; names without the prefix UMG_ are those that other programs also read.
type Config struct {
	httpFlags
	databaseFlags
	secretFlags
	journalFlags
	paymentFlags
	mailFlags
	trialFlags
	videoFlags
	admissionFlags
	limitFlags
	telemetryFlags
	setupFlags

	demo demoSettings
}

// setupFlags configure the first start of a gateway.
type setupFlags struct {
	Quick       bool       `env:"UMG_QUICK" help:"Publish the providers whose keys are set, and make a key without charges."`
	SetupCredit app.Amount `default:"10" env:"UMG_SETUP_CREDIT" help:"Dollars for the first operator." placeholder:"DOLLARS"`

	ProviderAddress map[string]string `hidden:"" help:"Other base URLs of found providers." placeholder:"PRESET=URL"`
}

// httpFlags configure the listeners, how they stop, and which addresses the server believes and reaches.
type httpFlags struct {
	Listen    string `default:"127.0.0.1:8080" env:"UMG_LISTEN" help:"Address of the API and the console." placeholder:"HOST:PORT"`
	OpsListen string `default:"127.0.0.1:9464" env:"UMG_OPS_LISTEN" help:"Address of metrics, health and profiles." placeholder:"HOST:PORT"`
	Profiles  bool   `env:"UMG_PROFILES" help:"Serve profiles of the process (pprof) at the ops address."`
	BaseURL   string `env:"UMG_BASE_URL" help:"URL that users reach the server at; default http://LISTEN." placeholder:"URL"`

	TrustedProxies  []string      `env:"UMG_TRUSTED_PROXIES" help:"Networks of proxies whose X-Forwarded-For is used." placeholder:"CIDR"`
	InsecureCookies bool          `env:"UMG_INSECURE_COOKIES" help:"Allow sign-in over plain http from another machine."`
	LameDuck        time.Duration `default:"5s" env:"UMG_LAME_DUCK" help:"Time between failing /readyz and refusing connections at shutdown."`
	DrainTimeout    time.Duration `default:"10m" env:"UMG_DRAIN_TIMEOUT" help:"Time that running streams have to finish at shutdown."`
	EgressAllow     []string      `env:"UMG_EGRESS_ALLOW" help:"Private addresses that users may name in URLs." placeholder:"HOST:PORT"`
	KeepAlive       time.Duration `default:"15s" env:"UMG_KEEP_ALIVE" help:"Silence after which a stream sends a keep-alive."`

	baseFromListen bool // The operator did not set BaseURL.
}

// databaseFlags select the database that a command works on.
type databaseFlags struct {
	DatabaseURL string `env:"DATABASE_URL" secret:"address" help:"Postgres database; without it, a local one." placeholder:"URL"`
	Data        string `default:"${default_data}" env:"UMG_DATA" help:"Folder of the local database and generated secrets." placeholder:"DIR"`

	DatabaseConnections  int           `env:"UMG_DATABASE_CONNECTIONS" help:"Connections to Postgres; 0 is 24. Up to six more are open."`
	PGBin                string        `env:"UMG_PG_BIN" help:"Folder of initdb and postgres for the local database." placeholder:"DIR"`
	MigrationLockTimeout time.Duration `default:"2s" env:"UMG_MIGRATION_LOCK_TIMEOUT" help:"How long a migration waits for a lock."`
}

// secretFlags configure keys.
type secretFlags struct {
	SecretKey      string `env:"UMG_SECRET_KEY" secret:"value" help:"32 bytes that encrypt secrets; else generated." placeholder:"BASE64"`
	LeakReportKeys string `env:"UMG_LEAK_REPORT_KEYS" help:"File of public keys that verify leak reports." placeholder:"FILE"`
}

// journalFlags configure settlement and the usage records it makes.
type journalFlags struct {
	Journal        string        `env:"UMG_JOURNAL" help:"Folder of the settlement journal, or postgres to use no disk." placeholder:"DIR"`
	JournalMinFree int64         `default:"1024" env:"UMG_JOURNAL_MIN_FREE" help:"MiB of free disk below which calls are refused."`
	UsageRetention time.Duration `default:"9600h" env:"UMG_USAGE_RETENTION" help:"How long usage records are kept, in whole months."`
}

// paymentFlags configure the payment service. Without a key the gateway sells no credit.
type paymentFlags struct {
	StripeKey           string `env:"UMG_STRIPE_KEY" secret:"value" help:"Secret key of Stripe; else no credit is sold." placeholder:"KEY"`
	StripeWebhookSecret string `env:"UMG_STRIPE_WEBHOOK_SECRET" secret:"value" help:"Secret that verifies Stripe events." placeholder:"SECRET"`
	StripeURL           string `env:"UMG_STRIPE_URL" help:"Another URL of Stripe, such as that of a simulated one." placeholder:"URL"`
}

// mailFlags configure outgoing mail.
type mailFlags struct {
	SMTP     string `env:"UMG_SMTP" secret:"address" help:"smtp://USER:PASSWORD@HOST:PORT; without it, no mail is sent." placeholder:"URL"`
	MailFrom string `env:"UMG_MAIL_FROM" help:"Sender of mails." placeholder:"ADDRESS"`
}

// trialFlags configure the credit of new accounts.
type trialFlags struct {
	TrialCredit app.Amount `default:"0" env:"UMG_TRIAL_CREDIT" help:"Dollars for a new account; 0 is none." placeholder:"DOLLARS"`
	TrialDays   int        `default:"30" env:"UMG_TRIAL_DAYS" help:"Days until trial credit expires." placeholder:"DAYS"`

	MaxDailyTrialCredit app.Amount `env:"UMG_MAX_DAILY_TRIAL_CREDIT" help:"Trial dollars a day; 0: 200 trials." placeholder:"DOLLARS"`

	TrialWithoutVerification bool `env:"UMG_TRIAL_WITHOUT_VERIFICATION" help:"Grant trial credit to unverified addresses, at sign-up."`
}

// videoFlags configure finished videos.
type videoFlags struct {
	Storage        string        `env:"UMG_STORAGE" help:"Folder or s3://BUCKET?… of videos; default: in the data folder." placeholder:"URL"`
	VideoRetention time.Duration `default:"720h" env:"UMG_VIDEO_RETENTION" help:"How long finished videos can be downloaded."`
	FFmpeg         string        `name:"ffmpeg" env:"UMG_FFMPEG" help:"ffmpeg for thumbnails; default: that on the PATH." placeholder:"FILE"`
}

// admissionFlags limit the load of one replica. Zero means a value that suits the machine.
type admissionFlags struct {
	MaxInFlight int64 `default:"0" env:"UMG_MAX_IN_FLIGHT" help:"API calls at once; 0: what memory and open files allow."`
	MaxMemory   int64 `default:"0" env:"UMG_MAX_MEMORY" help:"MiB; 0: GOMEMLIMIT, or 90 % of a container or 70 % of a machine."`

	MaxSchedulingDelay time.Duration `default:"25ms" env:"UMG_MAX_SCHEDULING_DELAY" help:"Goroutine delay above which calls are refused."`
}

// limitFlags set the limits of an account that apply in addition to the limits of models, and the Redis in which replicas
// share their counts.
type limitFlags struct {
	RedisURL string `env:"REDIS_URL" secret:"address" help:"Redis or Valkey in which replicas share limits; else none." placeholder:"URL"`

	AccountRequestsPerMinute int64 `default:"600" env:"UMG_ACCOUNT_REQUESTS_PER_MINUTE" help:"Model calls of an account; 0 is no limit."`
	AccountTokensPerMinute   int64 `default:"0" env:"UMG_ACCOUNT_TOKENS_PER_MINUTE" help:"Tokens of an account, of all models; 0 is no limit."`
	AccountReadsPerMinute    int64 `default:"1200" env:"UMG_ACCOUNT_READS_PER_MINUTE" help:"GET requests of an account; 0 is no limit."`
	AccountChangesPerMinute  int64 `default:"600" env:"UMG_ACCOUNT_CHANGES_PER_MINUTE" help:"Changes by an account; 0 is no limit."`
	AccountDryRunsPerMinute  int64 `default:"120" env:"UMG_ACCOUNT_DRY_RUNS_PER_MINUTE" help:"Dry runs and token counts; 0 is no limit."`

	IPPagesPerMinute int64 `default:"600" env:"UMG_IP_PAGES_PER_MINUTE" help:"Pages for one visitor IP; 0 is no limit."`
	IPFormsPerMinute int64 `default:"120" env:"UMG_IP_FORMS_PER_MINUTE" help:"Forms of one visitor IP; 0 is no limit."`

	RedisTimeout time.Duration `default:"40ms" hidden:"" env:"UMG_REDIS_TIMEOUT" help:"Wait for Redis, before this replica counts alone."`
	RedisSlotTTL time.Duration `default:"12s" hidden:"" env:"UMG_REDIS_SLOT_TTL" help:"Time after which calls of a dead replica end."`
}

// telemetryFlags configure where traces are sent. OpenTelemetry's own packages read its other variables, such as OTEL_TRACES_SAMPLER.
type telemetryFlags struct {
	OTLPEndpoint string `name:"otlp-endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" help:"Trace collector; else none." placeholder:"URL"`
	OTLPTraces   string `name:"otlp-traces-endpoint" env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" help:"URL of its traces." placeholder:"URL"`
}

// demoSettings are set by the demo, and have no flags in serve.
type demoSettings struct {
	signUpsMax          int // This limits sign-ups per hour from one address; zero means the default.
	trialsMax           int // This limits trials per day of one network, and of one domain; zero means the default.
	videoWaits          video.Waits
	assetWaits          asset.Waits
	outbox              bool // The console shows mails that cannot be sent.
	operatorsNeedNoCode bool // Operators reach their pages without multi-factor authentication.
	seeded              bool // The demo makes its own user and catalog, so there is no set-up.

	// simulatorURL is the base URL of the simulated providers.
	simulatorURL string
}

// isSimulated returns a function that reports whether a provider is one of the demo's simulated ones, whose faults on request do not count
// against models. It returns nil outside demos, where no request is searched for such faults.
func (d *demoSettings) isSimulated() func(*catalog.Provider) bool {
	if d.simulatorURL == "" {
		return nil
	}
	return func(p *catalog.Provider) bool { return strings.HasPrefix(p.BaseURL, d.simulatorURL+"/") }
}

// variablesElsewhere are environment names that no field reads: the bench and browser tests use them, and the operator names
// provider credentials under one prefix.
var variablesElsewhere = []string{"UMG_CHROMIUM", "UMG_CHROMIUM_ARGS", "UMG_PICTURES", "UMG_PROVIDER_*", "UMG_SIMULATOR_*"}

// AfterApply validates the whole configuration before anything starts. Kong calls it.
func (c *Config) AfterApply() error {
	if err := refuseUnknownVariables(os.Environ()); err != nil {
		return err
	}
	if err := c.checkAddresses(); err != nil {
		return err
	}
	for _, rule := range []struct {
		broken  bool
		message string
	}{
		{c.SecretKey != "" && !isSecretKey(c.SecretKey), fmt.Sprintf("UMG_SECRET_KEY must be %d bytes in base64", secretKeyBytes)},
		{c.UsageRetention < monthMax, "--usage-retention must be at least 744h, a month"},
		{c.JournalMinFree < 0, "--journal-min-free must not be negative"},
		{c.StripeKey == "" && (c.StripeWebhookSecret != "" || c.StripeURL != ""),
			"--stripe-webhook-secret and --stripe-url have no effect without UMG_STRIPE_KEY; set it, or remove them"},
		{c.SMTP != "" && c.MailFrom == "", "UMG_SMTP needs --mail-from, the address that mails come from"},
		{c.SetupCredit < 0 || c.SetupCredit > operator.AmountMax, "--setup-credit must be from 0 to " + operator.AmountMax.String()},
		{c.TrialCredit < 0 || c.TrialDays < 1, "--trial-credit must not be negative and --trial-days at least 1"},
		{c.VideoRetention < time.Hour, "--video-retention must be at least 1h"},
		{c.MaxInFlight < 0 || c.MaxMemory < 0 || c.MaxSchedulingDelay < 0,
			"--max-in-flight, --max-memory and --max-scheduling-delay must not be negative"},
		{c.RedisURL != "" && (c.RedisTimeout < time.Millisecond || c.RedisTimeout > redisTimeoutMax || c.RedisSlotTTL < time.Second),
			fmt.Sprintf("--redis-timeout must be from 1ms to %s, and --redis-slot-ttl at least 1s", redisTimeoutMax)},
	} {
		if rule.broken {
			return errors.New(rule.message)
		}
	}
	for flag, limit := range map[string]int64{
		"--account-requests-per-minute": c.AccountRequestsPerMinute, "--account-tokens-per-minute": c.AccountTokensPerMinute,
		"--account-reads-per-minute": c.AccountReadsPerMinute, "--account-changes-per-minute": c.AccountChangesPerMinute,
		"--account-dry-runs-per-minute": c.AccountDryRunsPerMinute,
		"--ip-pages-per-minute":         c.IPPagesPerMinute, "--ip-forms-per-minute": c.IPFormsPerMinute,
	} {
		if limit < 0 {
			return fmt.Errorf("%s must not be negative", flag)
		}
	}
	return cmp.Or(c.checkSMTP(), c.checkTelemetry(), c.checkBaseURL())
}

// checkAddresses checks the addresses and networks of the configuration.
func (c *Config) checkAddresses() error {
	for name, address := range map[string]string{"--listen": c.Listen, "--ops-listen": c.OpsListen} {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("%s: %q is not HOST:PORT", name, address)
		}
	}
	for _, cidr := range c.TrustedProxies {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			return fmt.Errorf("--trusted-proxies: %q is not a network such as 10.0.0.0/8", cidr)
		}
	}
	for _, address := range c.EgressAllow {
		if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
			return fmt.Errorf("--egress-allow: %q is not HOST:PORT", address)
		}
	}
	return nil
}

func (c *Config) checkSMTP() error {
	if c.SMTP == "" {
		return nil
	}
	_, err := mail.ParseSMTP(c.SMTP)
	return err
}

func isSecretKey(text string) bool {
	key, err := base64.StdEncoding.DecodeString(text)
	return err == nil && len(key) == secretKeyBytes
}

func (f *telemetryFlags) checkTelemetry() error {
	for name, address := range map[string]string{"--otlp-endpoint": f.OTLPEndpoint, "--otlp-traces-endpoint": f.OTLPTraces} {
		u, err := url.Parse(address)
		if address != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("%s: %q is not an http or https URL", name, address)
		}
	}
	return nil
}

// mails reports whether the server can deliver mail: by a mail server, or to the demo's outbox.
func (c *Config) mails() bool { return c.SMTP != "" || c.demo.outbox }

// checkBaseURL enforces the cookie rule: sign-in cookies need https or a loopback address, unless the operator explicitly
// allows plain http.
func (c *Config) checkBaseURL() error {
	if c.BaseURL == "" {
		c.BaseURL, c.baseFromListen = "http://"+c.Listen, true
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("--base-url: %q is not an http or https address without a path", c.BaseURL)
	}
	c.BaseURL = u.Scheme + "://" + u.Host
	if u.Scheme == "http" && !loopback(u.Hostname()) && !c.InsecureCookies {
		return fmt.Errorf("--base-url %s is plain http on another machine: cookies would travel in the clear; "+
			"use https, or add --insecure-cookies", c.BaseURL)
	}
	return nil
}

// secureCookies reports whether cookies carry the Secure attribute: on https, and on loopback, which browsers treat alike.
func (c *Config) secureCookies() bool {
	u, err := url.Parse(c.BaseURL)
	return err == nil && (u.Scheme == "https" || loopback(u.Hostname()))
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// refuseUnknownVariables rejects misspelt settings, which would otherwise be ignored silently.
func refuseUnknownVariables(environ []string) error {
	known := slices.Concat(variablesElsewhere, failpoint.Variables(), configVariables())
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, "UMG_") {
			continue
		}
		if !slices.ContainsFunc(known, func(k string) bool {
			prefix, open := strings.CutSuffix(k, "*")
			return k == name || open && strings.HasPrefix(name, prefix)
		}) {
			return fmt.Errorf("the environment sets %s, which is not a setting; see gateway serve --help", name)
		}
	}
	return nil
}
