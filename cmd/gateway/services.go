package main

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"runtime"
	"time"

	"umg/app/account"
	"umg/app/admission"
	"umg/app/apikey"
	"umg/app/asset"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/contentlog"
	"umg/app/dialect"
	"umg/app/egress"
	"umg/app/gateway"
	"umg/app/idempotency"
	"umg/app/media"
	"umg/app/modelstatus"
	"umg/app/notification"
	"umg/app/postgres"
	"umg/app/process"
	"umg/app/prompt"
	"umg/app/provider"
	"umg/app/provider/assetapi"
	"umg/app/provider/check"
	"umg/app/provider/credentialstore"
	"umg/app/provider/health"
	"umg/app/provider/spend"
	"umg/app/provider/videoapi"
	"umg/app/ratelimit"
	"umg/app/refusal"
	"umg/app/seal"
	"umg/app/setup"
	"umg/app/traffic"
	"umg/app/trial"
	"umg/app/video"
	"umg/app/webhook"
)

// fileTimeMax is how long one copy of a finished video can take.
const fileTimeMax = 10 * time.Minute

// statusStatsAge is how old the statistics may be by which models are judged. A worker writes new ones every minute.
const statusStatsAge = 10 * time.Second

// serviceLayer is what the API and the console call.
type serviceLayer struct {
	audit    *audit.Log
	accounts *account.Service
	trial    trial.Policy
	apiKeys  *apikey.Service
	keys     *apikey.Cache

	upstreamServices
	traces *traces // Traces are nil when no collector is configured.
	egress *egress.Client
	files  *egress.Client // The client downloads provider files, which may be large.

	limits        *ratelimit.Limiter
	visitorLimits *ratelimit.Addresses
	admission     *admission.Controller
	minuteCounts  *traffic.MinuteCounts
	recentCalls   *traffic.RecentCalls
	status        *modelstatus.Service
	refusals      *refusal.Log

	text        *gateway.Gateway
	videos      *video.Service
	assets      *asset.Service
	webhooks    *webhook.Service
	prompts     *prompt.Service
	content     *contentlog.Service
	idempotency *idempotency.Service
	prices      *notification.PriceChanges
	setup       *setup.Service // Setup is nil in a demo, which seeds itself.
}

// upstreamServices are the catalog and what knows its providers.
type upstreamServices struct {
	credentials *credentialstore.Store
	catalog     *catalog.Catalog
	providers   *provider.Client
	tests       *check.Runs
	references  func(context.Context) (catalog.Sources, error)
	health      *health.Monitor
	spend       *spend.Tracker
}

// openServices opens the services in the order in which they need each other.
func (g *gatewayServer) openServices(ctx context.Context, secrets catalog.SecretLookup) (err error) {
	memoryMax := admission.LimitMemory(g.cfg.MaxMemory << 20)
	if err := process.UseHugePages(memoryMax); err != nil {
		g.log.Info("huge pages are not in use", "error", err)
	}
	g.services.admission = admission.New(admission.Options{
		InFlightMax: g.cfg.MaxInFlight, MemoryMax: memoryMax, LateMax: g.cfg.MaxSchedulingDelay, Cores: runtime.GOMAXPROCS(0),
		Headroom: admission.Headroom(memoryMax),
	})
	g.openAccounts()
	if err = g.openUpstreams(ctx, secrets); err != nil {
		return err
	}
	if err = g.openLimits(); err != nil {
		return err
	}
	if err = g.openJobs(); err != nil {
		return err
	}
	s := &g.services
	s.text = gateway.New(gateway.Options{
		CreditManager: g.billing.leases, Balance: g.billing.ledger.Funds, Snapshot: s.catalog.Snapshot, Limits: s.limits,
		Providers: s.providers, Health: s.health,
		Now: time.Now, Random: mathrand.IntN, Egress: s.egress, KeepAlive: g.cfg.KeepAlive, Tracer: s.traces.tracer(),
		Credit: g.billing.leases.CheckCredit, Rates: g.cfg.rates(), Log: g.log,
		EndUserKey: seal.Derive(g.stores.key, "umg end users"), IsSimulated: g.cfg.demo.isSimulated(),
	})
	s.status = modelstatus.New(modelstatus.Options{
		Now: g.stores.clock.Now, Health: s.health, Stats: g.billing.reports.RecentModels, StatsAge: statusStatsAge, Log: g.log,
	})
	g.openSetup(secrets)
	return nil
}

// openSetup opens what takes an empty gateway into operation.
func (g *gatewayServer) openSetup(secrets catalog.SecretLookup) {
	if g.cfg.demo.seeded {
		return
	}
	s := &g.services
	s.setup = setup.New(setup.Options{
		DB: g.stores.database.db, Accounts: s.accounts, Ledger: g.billing.ledger, Catalog: s.catalog, Providers: s.providers,
		Env: secrets, CheckValue: checkCredential, Addresses: g.cfg.ProviderAddress, Credit: g.cfg.SetupCredit,
		Now: g.stores.clock.Now, IDs: g.stores.ids, Random: rand.Reader, Log: g.log,
	})
}

// openAccounts opens accounts and keys. Without a mail server no address can be verified, so new accounts get trial credit only
// if the operator allows that for unverified addresses.
func (g *gatewayServer) openAccounts() {
	s, db, now := &g.services, g.stores.database.db, g.stores.clock.Now
	s.trial = trial.Policy{
		Amount: g.cfg.TrialCredit, Days: g.cfg.TrialDays, RequireVerified: !g.cfg.TrialWithoutVerification, DailyMax: g.cfg.MaxDailyTrialCredit,
		NetworkDayMax: g.cfg.demo.trialsMax, DomainDayMax: g.cfg.demo.trialsMax,
	}
	o := account.Options{
		Now: now, IDs: g.stores.ids, Random: rand.Reader, Log: g.log, Trial: s.trial, SignUpsMax: g.cfg.demo.signUpsMax,
		BaseURL: g.cfg.BaseURL, Key: g.stores.key,
	}
	if g.cfg.mails() {
		o.Mail = g.billing.mail
	} else {
		g.log.Warn("accounts: no mail server, addresses are not verified", "setting", "--smtp",
			"unverified", "any number of keys, management keys, invitations and sign-in codes")
	}
	s.accounts = account.New(db, g.billing.ledger, o)
	s.apiKeys = apikey.New(db, apikey.Options{
		Accounts: s.accounts, Ledger: g.billing.ledger, Now: o.Now, IDs: o.IDs, Random: o.Random, Log: o.Log, Mail: o.Mail, BaseURL: o.BaseURL,
	})
	s.audit = audit.New(db, now, g.stores.ids)
	s.keys = apikey.NewCache(db, apikey.CacheOptions{Now: now, Log: g.log})
	s.refusals = refusal.New(db, refusal.Options{Now: now, Log: g.log, Owner: s.keys.Owner, Kept: g.cfg.UsageRetention})
}

// openUpstreams opens the catalog and what watches and reaches its providers, with the pauses that operators have set. Operators
// know a replica by its machine's name.
func (g *gatewayServer) openUpstreams(ctx context.Context, secrets catalog.SecretLookup) (err error) {
	s, db, now := &g.services, g.stores.database.db, g.stores.clock.Now
	s.credentials = credentialstore.New(db, credentialstore.Options{Now: now, Log: g.log, Key: g.stores.key, CheckValue: checkCredential})
	s.catalog, err = catalog.Open(ctx, db, catalog.Options{
		Now: now, Secrets: secrets, Log: g.log, Replica: g.billing.replica, Traits: dialect.Traits, Extras: extrasOf,
		Sealed: s.credentials.Values, CheckCredential: checkCredential,
	})
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	s.spend = spend.New(db, spend.Options{
		Now: now, Log: g.log, Providers: func() []*catalog.Provider { return s.catalog.Snapshot().Providers() },
	})
	if err = s.spend.Load(ctx); err != nil {
		return err
	}
	if s.traces, err = openTraces(ctx, g.cfg.telemetryFlags, g.log); err != nil {
		return err
	}
	s.providers, s.tests = provider.New(provider.Options{Traced: s.traces != nil, Log: g.log}), check.NewRuns(now)
	s.references = func(ctx context.Context) (catalog.Sources, error) {
		sealed, err := s.credentials.Values(ctx)
		return catalog.Sources{Env: secrets, Sealed: sealed, CheckValue: checkCredential}, err
	}
	replica := g.billing.replica
	if host, err := os.Hostname(); err == nil {
		replica = host + "/" + replica
	}
	s.health = health.New(health.Options{
		Now: time.Now, Random: mathrand.IntN, DB: db, Log: g.log, Replica: replica,
		Unusable: func() map[string]string { return s.catalog.Snapshot().Unusable() }, Capped: s.spend.Reached,
	})
	s.minuteCounts = traffic.NewMinuteCounts(db, traffic.MinuteOptions{
		Now: time.Now, Replica: replica, Log: g.log, InFlight: s.admission.InFlight,
	})
	s.recentCalls = traffic.NewRecentCalls(db, time.Now, g.log)
	if err = s.health.Load(ctx); err != nil {
		return err
	}
	if s.egress, err = egress.New(egress.Options{Exceptions: g.cfg.EgressAllow}); err != nil {
		return fmt.Errorf("--egress-allow: %w", err)
	}
	s.files, err = egress.New(egress.Options{Timeout: fileTimeMax})
	return err
}

// openLimits makes the rate limiter, which replicas share when there is a Redis.
func (g *gatewayServer) openLimits() (err error) {
	s := &g.services
	s.visitorLimits = ratelimit.NewAddresses(ratelimit.AddressOptions{
		Now: time.Now, PagesPerMinute: g.cfg.IPPagesPerMinute, FormsPerMinute: g.cfg.IPFormsPerMinute,
	})
	o := ratelimit.Options{
		Now:     time.Now,
		Account: ratelimit.Account{RequestsPerMinute: g.cfg.AccountRequestsPerMinute, TokensPerMinute: g.cfg.AccountTokensPerMinute},
	}
	if g.cfg.RedisURL == "" {
		s.limits = ratelimit.New(o)
		return nil
	}
	s.limits, err = ratelimit.Open(o, ratelimit.Shared{
		Address: g.cfg.RedisURL, Replica: g.stores.ids.New("replica"), Wait: g.cfg.RedisTimeout, Lease: g.cfg.RedisSlotTTL, Log: g.log,
	})
	if err != nil {
		return fmt.Errorf("--redis-url: %w", err)
	}
	return nil
}

// openJobs opens what works beside calls: webhooks, assets, video jobs, and what is stored about calls.
func (g *gatewayServer) openJobs() (err error) {
	s, db, now, ids := &g.services, g.stores.database.db, g.stores.clock.Now, g.stores.ids
	s.webhooks, err = webhook.New(db, webhook.Options{
		Egress: s.egress, Now: now, IDs: ids, Random: rand.Reader, Jitter: mathrand.Int64N, Log: g.log, Key: g.stores.key,
		Notify: g.notifyEndpointFailure, LockActor: s.accounts.LockActor,
	})
	if err != nil {
		return err
	}
	thumbnails := media.New(g.cfg.FFmpeg)
	if !thumbnails.Available() {
		g.log.Warn("ffmpeg missing, no thumbnails or spritesheets are made", "setting", "--ffmpeg")
	}
	s.idempotency = idempotency.New(db, idempotency.Options{Now: now, Log: g.log})
	s.content = contentlog.New(db, contentlog.Options{Audit: s.audit, Now: now, Log: g.log})
	s.prompts = prompt.New(db, prompt.Options{Audit: s.audit, Now: now, IDs: ids, Random: rand.Reader, LockActor: s.accounts.LockActor})
	s.assets = asset.New(db, asset.Options{
		Egress: s.egress, Snapshot: s.catalog.Snapshot, Upstreams: assetapi.New(s.providers), Now: now, IDs: ids, Log: g.log,
		Jitter: mathrand.Int64N, Waits: g.cfg.demo.assetWaits,
	})
	s.videos = video.New(db, video.Options{
		Ledger: g.billing.ledger, Snapshot: s.catalog.Snapshot, Limits: s.limits, Health: s.health,
		Upstreams: videoapi.New(s.providers, s.files), Store: g.stores.blobs, Thumbnailer: thumbnails, Events: s.webhooks, Egress: s.egress,
		Assets: s.assets, Now: now, IDs: ids, Random: rand.Reader, Jitter: mathrand.Int64N, Log: g.log,
		IsSimulated: g.cfg.demo.isSimulated(),
		Tracer:      s.traces.tracer(), BaseURL: g.cfg.BaseURL, Retention: g.cfg.VideoRetention, Waits: g.cfg.demo.videoWaits,
	})
	s.prices = notification.NewPriceChanges(db, notification.PriceOptions{
		Catalog: s.catalog.Snapshot, Accounts: s.accounts, Mail: g.billing.mail, Now: now, BaseURL: g.cfg.BaseURL, Log: g.log,
	})
	return nil
}

// workers run until the server stops. Some listen for notifications of the database.
func (s *serviceLayer) workers(listener *postgres.Listener) []worker {
	listening := func(run func(ctx context.Context, listener *postgres.Listener) error) worker {
		return func(ctx context.Context) error { return run(ctx, listener) }
	}
	workers := []worker{
		s.admission.Run, s.limits.Run, s.accounts.Run, s.apiKeys.Run, s.idempotency.Run, s.assets.Run,
		s.minuteCounts.Run, s.recentCalls.Run, s.refusals.Run, s.content.Run, s.prices.Run, s.spend.Run,
		listening(s.videos.Run), listening(s.webhooks.Run), listening(s.keys.Run), listening(s.catalog.Run), listening(s.health.Run),
	}
	if s.setup != nil {
		workers = append(workers, s.setup.Run)
	}
	return workers
}

func (s *serviceLayer) close() {
	s.traces.close()
	if s.tests != nil {
		s.tests.Close()
	}
	if s.providers != nil {
		s.providers.Close()
	}
	for _, c := range []*egress.Client{s.egress, s.files} {
		if c != nil {
			c.Close()
		}
	}
}

// rates are the limits of requests that are no calls, and of request bodies.
func (f *limitFlags) rates() gateway.Rates {
	return gateway.StandardRates(f.AccountRequestsPerMinute, f.AccountReadsPerMinute, f.AccountChangesPerMinute, f.AccountDryRunsPerMinute)
}
