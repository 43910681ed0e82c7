package main

import (
	"encoding/base64"
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
	"umg/app/video"
	"umg/billing/failpoint"
)

// Config is everything an operator can set, by flag or by environment, and the only reader of either.
type Config struct {
	Listen    string `default:"127.0.0.1:8080" env:"UMG_LISTEN" help:"Address of the API and the console." placeholder:"HOST:PORT"`
	OpsListen string `default:"127.0.0.1:9464" env:"UMG_OPS_LISTEN" help:"Address of metrics, health and profiles." placeholder:"HOST:PORT"`
	Profiles  bool   `env:"UMG_PROFILES" help:"Serve profiles of the process (pprof) at the ops address."`
	BaseURL   string `env:"UMG_BASE_URL" help:"Address the server is reached at; default http://LISTEN." placeholder:"URL"`

	storeFlags
	moneyFlags
	telemetryFlags
	overloadFlags
	limitFlags

	SecretKey string `env:"UMG_SECRET_KEY" secret:"value" help:"32 bytes that seal secrets at rest; else generated." placeholder:"BASE64"`

	TrialCredit app.Amount `default:"0" env:"UMG_TRIAL_CREDIT" help:"Dollars granted at sign-up; 0 grants none." placeholder:"DOLLARS"`
	TrialDays   int        `default:"30" env:"UMG_TRIAL_DAYS" help:"Days until the trial credit expires." placeholder:"DAYS"`

	TrialDailyMax   app.Amount `default:"0" env:"UMG_TRIAL_DAILY_MAX" help:"Trial dollars a day; 0 is 200 trials." placeholder:"DOLLARS"`
	TrialUnverified bool       `env:"UMG_TRIAL_UNVERIFIED" help:"Give the trial at sign-up, to addresses nobody verified."`

	Storage        string        `env:"UMG_STORAGE" help:"Folder or s3://BUCKET?… of videos; else in the data folder." placeholder:"URL"`
	VideoRetention time.Duration `default:"720h" env:"UMG_VIDEO_RETENTION" help:"How long finished videos can be downloaded."`
	FFmpeg         string        `name:"ffmpeg" env:"UMG_FFMPEG" help:"The ffmpeg for thumbnails; else that on the PATH." placeholder:"FILE"`

	LeakReportKeys  string        `env:"UMG_LEAK_REPORT_KEYS" help:"File of public keys that leak reports are signed with." placeholder:"FILE"`
	TrustedProxies  []string      `env:"UMG_TRUSTED_PROXIES" help:"Networks whose X-Forwarded-For is believed." placeholder:"CIDR"`
	InsecureCookies bool          `env:"UMG_INSECURE_COOKIES" help:"Allow sign-in over plain http to another machine."`
	LameDuck        time.Duration `default:"5s" env:"UMG_LAME_DUCK" help:"Time between failing /readyz and refusing connections at shutdown."`
	DrainTimeout    time.Duration `default:"10m" env:"UMG_DRAIN_TIMEOUT" help:"Time that running streams get to finish at shutdown."`
	EgressAllow     []string      `env:"UMG_EGRESS_ALLOW" help:"Private host:port that addresses of users may be." placeholder:"HOST:PORT"`
	KeepAlive       time.Duration `default:"15s" env:"UMG_KEEP_ALIVE" help:"Silence after which a stream's headers and keep-alives go out."`

	baseFromListen      bool // The operator did not set BaseURL.
	signUpsMax          int  // This limits sign-ups per hour from one address; zero means the default.
	trialsMax           int  // This limits trials per day of one network, and of one domain; zero means the default.
	videoWaits          video.Waits
	assetWaits          asset.Waits
	outbox              bool // The console shows mails that cannot be sent.
	operatorsNeedNoCode bool // Operators of a demo reach their pages without a second step of signing in.
}

// storeFlags select the database that a command works on.
type storeFlags struct {
	DatabaseURL string `env:"DATABASE_URL" secret:"address" help:"Postgres to use; without it, a local one." placeholder:"URL"`
	Data        string `default:"${default_data}" env:"UMG_DATA" help:"Folder of the local database and generated secrets." placeholder:"DIR"`
	Connections int    `name:"database-connections" env:"UMG_DATABASE_CONNECTIONS" help:"Connections to Postgres; 0: 24. 5 come on top."`
	PGBin       string `env:"UMG_PG_BIN" help:"Folder of initdb and postgres for the local database." placeholder:"DIR"`

	MigrationLockMS int64 `name:"migration-lock-ms" default:"2000" env:"UMG_MIGRATION_LOCK_MS" help:"How long a migration waits for a lock."`
}

// variablesElsewhere are environment names that no field reads: the bench and browser tests use them, and the operator names
// provider credentials under one prefix.
var variablesElsewhere = []string{"UMG_CHROMIUM", "UMG_CHROMIUM_ARGS", "UMG_PICTURES", "UMG_PROVIDER_*", "UMG_SIMULATOR_*"}

// AfterApply validates the whole configuration before anything starts. Kong calls it.
func (c *Config) AfterApply() error {
	if err := refuseUnknownVariables(os.Environ()); err != nil {
		return err
	}
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
	if c.SecretKey != "" {
		if key, err := base64.StdEncoding.DecodeString(c.SecretKey); err != nil || len(key) != secretKeyBytes {
			return fmt.Errorf("UMG_SECRET_KEY must be %d bytes in base64", secretKeyBytes)
		}
	}
	if c.VideoRetention < time.Hour {
		return fmt.Errorf("--video-retention must be at least 1h")
	}
	if c.TrialCredit < 0 || c.TrialDays < 1 {
		return fmt.Errorf("--trial-credit must not be negative and --trial-days at least 1")
	}
	for _, check := range []func() error{c.check, c.checkGate, c.checkLimits, c.checkTraces} {
		if err := check(); err != nil {
			return err
		}
	}
	return c.checkBaseURL()
}

// mails reports whether the server can deliver mail: by a mail server, or to the demo's outbox.
func (c *Config) mails() bool { return c.SMTP != "" || c.outbox }

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
			"use https, or say --insecure-cookies", c.BaseURL)
	}
	return nil
}

// secureCookies reports whether cookies carry the Secure attribute: on https, and on loopback, which browsers treat
// alike.
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
