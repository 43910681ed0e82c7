package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/errgroup"

	"umg/api"
	"umg/app"
	"umg/app/account"
	"umg/app/admission"
	"umg/app/apikey"
	"umg/app/arrival"
	"umg/app/asset"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/console"
	"umg/app/contentlog"
	"umg/app/dialect"
	"umg/app/egress"
	"umg/app/gateway"
	"umg/app/idempotency"
	"umg/app/mail"
	"umg/app/media"
	"umg/app/notice"
	"umg/app/operator"
	"umg/app/postgres"
	"umg/app/prompt"
	"umg/app/provider"
	"umg/app/provider/assetapi"
	"umg/app/provider/health"
	"umg/app/provider/videoapi"
	"umg/app/pulse"
	"umg/app/ratelimit"
	"umg/app/saved"
	"umg/app/server"
	"umg/app/storage"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
	"umg/billing/journal"
	"umg/billing/lease"
	"umg/billing/stripe"
	"umg/billing/usage"
	"umg/static"
)

const (
	readyCheckMax = 2 * time.Second
	fileTimeMax   = 10 * time.Minute // One copy of a finished video takes at most this long.
)

// gatewayServer is the server with all its services.
type gatewayServer struct {
	cfg       Config
	log       *slog.Logger
	store     *store
	clock     *postgres.Clock
	traces    *traces // Traces are nil when no collector is configured.
	ledger    *billing.Ledger
	reports   *usage.Reports
	journal   *journal.Log // The journal is nil when settlements are kept in the database.
	folder    *journal.Directory
	applier   *sqlx.DB // The applier's pool runs batches of the journal.
	bank      *lease.SQLStore
	leases    *lease.Manager
	mail      *mail.Service
	payments  *stripe.Service
	history   *audit.Log
	accounts  *account.Service
	apiKeys   *apikey.Service
	keys      *apikey.Cache
	catalog   *catalog.Catalog
	providers *provider.Client
	health    *health.Monitor
	replica   string // The id distinguishes this replica from others.
	egress    *egress.Client
	files     *egress.Client // The client downloads provider files, which may be large.
	blobs     storage.Store
	webhooks  *webhook.Service
	prompts   *prompt.Service
	content   *contentlog.Service
	videos    *video.Service
	assets    *asset.Service
	repeats   *idempotency.Service
	limits    *ratelimit.Limiter
	addresses *ratelimit.Addresses
	pulse     *pulse.Log
	arrivals  *arrival.Log
	gate      *admission.Controller
	server    *server.Server
	public    net.Listener
	ops       net.Listener
}

type serveCommand struct {
	Config
}

// Run serves until a signal ends ctx.
func (c *serveCommand) Run(ctx context.Context, log *slog.Logger) error {
	h, err := build(ctx, c.Config, credentials(log), log)
	if err != nil {
		return err
	}
	if len(h.catalog.Snapshot().Models()) == 0 {
		log.Warn("catalog empty, no model can be called", "remedy", "gateway catalog apply FILE")
	}
	log.Info("serving", "console", h.consoleURL(), "api", h.cfg.BaseURL+"/v1", "ops", h.ops.Addr().String())
	return errors.Join(h.run(ctx), h.close())
}

// build wires the server on a migrated database. It listens last, so the server answers only when everything is ready.
func build(ctx context.Context, cfg Config, secrets catalog.SecretLookup, log *slog.Logger) (h *gatewayServer, err error) {
	h = &gatewayServer{cfg: cfg, log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
			h = nil
		}
	}()
	if h.store, err = openStore(ctx, cfg.storeFlags, postgres.Options{Name: "gateway", Connections: cfg.Connections}, log); err != nil {
		return h, err
	}
	if err = migrate(ctx, h.store); err != nil {
		return h, err
	}
	if h.clock, err = postgres.NewClock(ctx, h.store.db, time.Now, log); err != nil {
		return h, err
	}
	key, err := acceptedKey(ctx, h.store.db, cfg.SecretKey, cfg.Data)
	if err != nil {
		return h, err
	}
	if err = h.listen(ctx); err != nil {
		return h, err
	}
	ids := app.IDs{Now: h.clock.Now, Random: rand.Reader}
	if err = h.openMoney(ctx, ids, key); err != nil {
		return h, err
	}
	trial := h.openAccounts(ids, key)
	h.history = audit.New(h.store.db, h.clock.Now, ids)
	h.keys = apikey.NewCache(h.store.db, apikey.CacheOptions{Now: h.clock.Now, Log: log})
	h.catalog, err = catalog.Open(ctx, h.store.db, catalog.Options{
		Now: h.clock.Now, Secrets: secrets, Log: log, Replica: h.replica, BaseURL: h.cfg.BaseURL, Traits: dialect.Traits, Extras: extrasOf,
		Errors: dialect.Error,
	})
	if err != nil {
		return h, fmt.Errorf("catalog: %w", err)
	}
	if h.traces, err = openTraces(ctx, cfg.telemetryFlags, log); err != nil {
		return h, err
	}
	h.providers = provider.New(provider.Options{Traced: h.traces != nil})
	if err = h.openHealth(ctx); err != nil {
		return h, err
	}
	if h.egress, err = egress.New(egress.Options{Exceptions: cfg.EgressAllow}); err != nil {
		return h, fmt.Errorf("--egress-allow: %w", err)
	}
	if h.files, err = egress.New(egress.Options{Timeout: fileTimeMax}); err != nil {
		return h, err
	}
	if err = h.openLimits(ids); err != nil {
		return h, err
	}
	if err = h.openVideos(ctx, ids, key); err != nil {
		return h, err
	}
	leaks, err := leakKeys(cfg.LeakReportKeys)
	if err != nil {
		return h, err
	}
	h.gate = cfg.gate()
	h.openFaces(ids, trial, key, leaks)
	return h, nil
}

// openHealth begins to watch the providers, with the pauses that operators have set. Operators know a replica by its
// machine's name.
func (h *gatewayServer) openHealth(ctx context.Context) error {
	name := h.replica
	if host, err := os.Hostname(); err == nil {
		name = host + "/" + name
	}
	h.health = health.New(health.Options{
		Now: time.Now, Random: mathrand.IntN, DB: h.store.db, Log: h.log, Replica: name,
		Unusable: func() map[string]string { return h.catalog.Snapshot().Unusable() },
	})
	h.pulse = pulse.New(h.store.db, pulse.Options{
		Now: time.Now, Replica: name, Log: h.log, InFlight: func() int64 { return h.gate.InFlight() },
	})
	h.arrivals = arrival.New(h.store.db, time.Now, h.log)
	return h.health.Load(ctx)
}

// openAccounts opens accounts and keys, and returns the trial for new accounts. Without a mail server no address can be
// verified, so new accounts get trial credit only if the operator allows that for unverified addresses.
func (h *gatewayServer) openAccounts(ids app.IDs, key [secretKeyBytes]byte) account.TrialPolicy {
	trial := account.TrialPolicy{
		Amount: h.cfg.TrialCredit, Days: h.cfg.TrialDays, RequireVerified: !h.cfg.TrialUnverified, DailyMax: h.cfg.TrialDailyMax,
		NetworkDayMax: h.cfg.trialsMax, DomainDayMax: h.cfg.trialsMax,
	}
	o := account.Options{
		Now: h.clock.Now, IDs: ids, Random: rand.Reader, Log: h.log, Trial: trial, SignUpsMax: h.cfg.signUpsMax, BaseURL: h.cfg.BaseURL, Key: key,
	}
	if h.cfg.mails() {
		o.Mail = h.mail
	} else {
		h.log.Warn("accounts: no mail server, addresses are not verified", "setting", "--smtp",
			"unverified", "any number of keys, management keys, invitations and sign-in codes")
	}
	h.accounts = account.New(h.store.db, h.ledger, o)
	h.apiKeys = apikey.New(h.store.db, apikey.Options{
		Accounts: h.accounts, Ledger: h.ledger, Now: o.Now, IDs: o.IDs, Random: o.Random, Log: o.Log, Mail: o.Mail, BaseURL: o.BaseURL,
	})
	return trial
}

// openVideos opens the services of video jobs.
func (h *gatewayServer) openVideos(ctx context.Context, ids app.IDs, key [secretKeyBytes]byte) (err error) {
	address := h.cfg.Storage
	if address == "" {
		address = filepath.Join(h.cfg.Data, "blobs")
	}
	keys, err := bucketKeys()
	if err != nil {
		return err
	}
	if h.blobs, err = storage.Open(ctx, address, keys, time.Now); err != nil {
		return fmt.Errorf("--storage: %w", err)
	}
	h.webhooks, err = webhook.New(h.store.db, webhook.Options{
		Egress: h.egress, Now: h.clock.Now, IDs: ids, Random: rand.Reader, Jitter: mathrand.Int64N, Log: h.log, Key: key,
		Notify: h.tellOfEndpoint, LockActor: h.accounts.LockActor,
	})
	if err != nil {
		return err
	}
	pictures := media.New(h.cfg.FFmpeg)
	if !pictures.Available() {
		h.log.Warn("ffmpeg missing, no thumbnails or spritesheets are made", "setting", "--ffmpeg")
	}
	h.repeats = idempotency.New(h.store.db, idempotency.Options{Now: h.clock.Now, Log: h.log})
	h.content = contentlog.New(h.store.db, contentlog.Options{Audit: h.history, Now: h.clock.Now, Log: h.log})
	h.prompts = prompt.New(h.store.db, prompt.Options{
		Audit: h.history, Now: h.clock.Now, IDs: ids, Random: rand.Reader, LockActor: h.accounts.LockActor,
	})
	h.assets = asset.New(h.store.db, asset.Options{
		Egress: h.egress, Snapshot: h.catalog.Snapshot, Upstreams: assetapi.New(h.providers), Now: h.clock.Now, IDs: ids, Log: h.log,
		Jitter: mathrand.Int64N, Waits: h.cfg.assetWaits,
	})
	h.videos = video.New(h.store.db, video.Options{
		Ledger: h.ledger, Snapshot: h.catalog.Snapshot, Limits: h.limits, Health: h.health,
		Upstreams: videoapi.New(h.providers, h.files), Store: h.blobs, Stills: pictures, Events: h.webhooks, Egress: h.egress,
		Assets: h.assets, Now: h.clock.Now, IDs: ids, Random: rand.Reader, Jitter: mathrand.Int64N, Log: h.log,
		Tracer: h.traces.tracer(), BaseURL: h.cfg.BaseURL, Retention: h.cfg.VideoRetention, Waits: h.cfg.videoWaits,
	})
	return nil
}

// listen opens the ports early, so a port in use is reported first, and stores which port a zero became.
func (h *gatewayServer) listen(ctx context.Context) error {
	var config net.ListenConfig
	var err error
	if h.public, err = config.Listen(ctx, "tcp", h.cfg.Listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if h.ops, err = config.Listen(ctx, "tcp", h.cfg.OpsListen); err != nil {
		return fmt.Errorf("--ops-listen: %w", err)
	}
	if h.cfg.baseFromListen {
		h.cfg.BaseURL = "http://" + h.public.Addr().String()
	}
	return nil
}

// openFaces opens the API and the console.
func (h *gatewayServer) openFaces(ids app.IDs, trial account.TrialPolicy, key [secretKeyBytes]byte, leaks api.LeakKeys) {
	texts := gateway.New(gateway.Options{
		CreditManager: h.leases, Balance: h.ledger.Funds, Snapshot: h.catalog.Snapshot, Limits: h.limits,
		Providers: h.providers, Health: h.health,
		Now: time.Now, Random: mathrand.IntN, Egress: h.egress, KeepAlive: h.cfg.KeepAlive, Tracer: h.traces.tracer(),
		Credit: h.leases.CheckCredit, Rates: h.cfg.rates(),
	})
	proxies := h.cfg.proxies()
	sessions := account.NewSessionStore(h.store.db, account.SessionOptions{
		Key: key, Now: h.clock.Now, IDs: ids, Random: rand.Reader, Insecure: !h.cfg.secureCookies(), ClientIP: server.ClientIP(proxies),
	})
	var outbox *mail.Service
	if h.cfg.outbox && h.cfg.SMTP == "" {
		outbox = h.mail
	}
	h.server = server.New(server.Options{
		API: api.New(api.Options{
			Accounts: h.accounts, APIKeys: h.apiKeys, LeakKeys: leaks, Gate: h.gate, Content: h.content,
			Keys: h.keys, Catalog: h.catalog,
			Gateway: texts, Videos: h.videos, Assets: h.assets, Webhooks: h.webhooks, Idempotency: h.repeats,
			Payments: h.payments, Ledger: h.ledger, Reports: h.reports, Audit: h.history, IDs: ids, Now: time.Now, BaseURL: h.cfg.BaseURL,
		}),
		Console: console.New(console.Options{
			Accounts: h.accounts, APIKeys: h.apiKeys, Audit: h.history, Sessions: sessions, Ledger: h.ledger, Reports: h.reports,
			Catalog: h.catalog, Gateway: texts, Videos: h.videos,
			Assets: h.assets, Webhooks: h.webhooks, Repeats: h.repeats, Outbox: outbox,
			Payments: h.payments, Booked: h.leases.Booked, IDs: ids, Now: time.Now,
			BaseURL: h.cfg.BaseURL, Prompts: h.prompts, Trial: trial, Secure: h.cfg.secureCookies(), Health: h.health,
			Pulse: h.pulse, Arrivals: h.arrivals, Content: h.content, Gate: h.gate, Addresses: h.addresses,
			OperatorsNeedNoCode: h.cfg.operatorsNeedNoCode,
			Operators:           operator.New(h.store.db, operator.Options{Ledger: h.ledger, Now: h.clock.Now, IDs: ids}),
			Saved:               saved.New(h.store.db, h.clock.Now), Notices: notice.New(h.store.db, h.clock.Now),
			MetricsURL: "http://" + h.ops.Addr().String() + "/metrics", Mail: h.mail, Settling: h.settling,
		}),
		Tables: h.upstreamTables(), Static: static.Handler(), IDs: ids, Now: time.Now, Log: h.log, BaseURL: h.cfg.BaseURL,
		Profiles: h.cfg.Profiles, Addresses: h.addresses, TrustedProxies: proxies, LameDuck: h.cfg.LameDuck, DrainTimeout: h.cfg.DrainTimeout,
		Unfit: h.notReadyReason, StoreAway: h.storeAway, Ledger: h.ledger.Stats,
		Figures:      slices.Concat(h.figures(), h.gateFigures(), h.contentFigures()),
		FormBytesMax: console.FormBytesMax(), Pulse: h.pulse, Arrivals: h.arrivals,
		Manual: func() map[string]string { return console.DocsValues(h.catalog.Snapshot(), h.cfg.BaseURL, nil) },
	})
}

func (c *Config) proxies() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range c.TrustedProxies {
		if p, err := netip.ParsePrefix(text); err == nil { // AfterApply has validated the prefixes.
			all = append(all, p)
		}
	}
	return all
}

func (h *gatewayServer) consoleURL() string { return h.cfg.BaseURL + "/console" }

// notReadyReason returns why this replica must not receive calls: it refuses every one, and will do so for long.
func (h *gatewayServer) notReadyReason() error {
	if err := h.leases.Ready(); err != nil {
		return err
	}
	return h.gate.Shut()
}

func (h *gatewayServer) storeAway(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyCheckMax)
	defer cancel()
	return h.store.db.PingContext(ctx)
}

// run serves until ctx ends or the journal is dead. The workers outlive the server, because the last answers still settle
// through them.
func (h *gatewayServer) run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var workers errgroup.Group
	var writing errgroup.Group
	write, stopWriting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWriting()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	if h.journal != nil {
		writing.Go(func() error {
			defer leave()
			return h.keepJournal(write)
		})
	}
	duties := []func(context.Context) error{
		h.gate.Run, h.limits.Run, h.leases.Run, h.ledger.Run, h.reports.Run, h.mail.Run, h.accounts.Run, h.apiKeys.Run,
		h.repeats.Run, h.assets.Run, h.pulse.Run,
		h.arrivals.Run,
		h.content.Run,
		h.priceNotices().Run,
		func(ctx context.Context) error { return h.videos.Run(ctx, h.store.dsn) },
		func(ctx context.Context) error { return h.webhooks.Run(ctx, h.store.dsn) },
		func(ctx context.Context) error { return h.keys.Run(ctx, h.store.dsn) },
		func(ctx context.Context) error { return h.catalog.Run(ctx, h.store.dsn) },
		func(ctx context.Context) error { return h.health.Run(ctx, h.store.dsn) },
		h.store.keep, h.clock.Run,
	}
	if h.payments.Enabled() {
		duties = append(duties, h.payments.Run)
	}
	for _, worker := range duties {
		workers.Go(func() error {
			if err := worker(work); err != nil && work.Err() == nil {
				h.log.Error("worker failed", "error", err)
				return err
			}
			return nil
		})
	}
	err := h.server.Run(ctx, h.public, h.ops)
	stopWork()
	err = errors.Join(err, workers.Wait())
	stopWriting() // The last settlements are in the ledger, or in the journal.
	return errors.Join(err, writing.Wait())
}

// keepJournal writes the journal until ctx ends or the disk fails. The content of a failed disk is unknown, so the process
// then takes no more calls, settles running ones in the database, and ends.
func (h *gatewayServer) keepJournal(ctx context.Context) error {
	err := h.journal.Run(ctx)
	if err != nil {
		h.log.Error("journal failed, shutting down", "error", err)
	}
	return err
}

func (h *gatewayServer) close() error {
	for _, l := range []net.Listener{h.public, h.ops} {
		if l != nil {
			_ = l.Close()
		}
	}
	h.traces.close()
	if h.providers != nil {
		h.providers.Close()
	}
	for _, c := range []*egress.Client{h.egress, h.files} {
		if c != nil {
			c.Close()
		}
	}
	if h.blobs != nil {
		_ = h.blobs.Close()
	}
	err := h.closeMoney()
	if h.store != nil {
		err = errors.Join(err, h.store.close())
	}
	return err
}

// migrate migrates the schema to this version, on a connection without the short statement timeout that serves requests.
func migrate(ctx context.Context, s *store) error {
	db, err := postgres.Open(ctx, s.dsn, postgres.Options{Name: "gateway migrate", Connections: 2, StatementMax: -1})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	_, err = postgres.MigrateWith(ctx, db, postgres.MigrateOptions{
		LockWaitMax: time.Duration(s.flags.MigrationLockMS) * time.Millisecond, Log: s.log,
	})
	return errors.Join(err, db.Close())
}
