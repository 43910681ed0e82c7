package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"umg/api"
	"umg/app/account"
	"umg/app/console"
	operatorpages "umg/app/console/operator"
	"umg/app/mail"
	"umg/app/notification"
	"umg/app/operator"
	"umg/app/provider/check"
	"umg/app/server"
	"umg/static"
)

// httpLayer is the web server with its listeners and metrics.
type httpLayer struct {
	public  net.Listener
	ops     net.Listener
	metrics *prometheus.Registry
	server  *server.Server
}

// listen opens the ports early, so a port in use is reported first, and stores which port a zero became. Connections wait until
// the server runs.
func (g *gatewayServer) listen(ctx context.Context) (err error) {
	var config net.ListenConfig
	if g.http.public, err = config.Listen(ctx, "tcp", g.cfg.Listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if g.http.ops, err = config.Listen(ctx, "tcp", g.cfg.OpsListen); err != nil {
		return fmt.Errorf("--ops-listen: %w", err)
	}
	if g.cfg.baseFromListen {
		g.cfg.BaseURL = "http://" + g.http.public.Addr().String()
	}
	return nil
}

// openHTTP opens the API, the console and the metrics.
func (g *gatewayServer) openHTTP() error {
	leakKeys, err := readLeakKeys(g.cfg.LeakReportKeys)
	if err != nil {
		return err
	}
	g.http.metrics = prometheus.NewRegistry()
	s := &g.services
	g.http.server = server.New(server.Options{
		API: g.newAPI(leakKeys), Console: g.newConsole(), Static: static.Handler(), IDs: g.stores.ids, Now: time.Now, Log: g.log,
		BaseURL: g.cfg.BaseURL, Profiles: g.cfg.Profiles, Addresses: s.visitorLimits, TrustedProxies: g.cfg.proxies(),
		LameDuck: g.cfg.LameDuck, DrainTimeout: g.cfg.DrainTimeout, Unfit: g.notReadyReason, StoreAway: g.stores.ping,
		Metrics: g.http.metrics, FormBytesMax: console.FormBytesMax(), MinuteCounts: s.minuteCounts, RecentCalls: s.recentCalls,
		Manual: func() map[string]string { return console.DocsValues(s.catalog.Snapshot().For(""), g.cfg.BaseURL, nil) },
	})
	for _, c := range g.collectors() {
		if err := g.http.metrics.Register(c); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return nil
}

func (g *gatewayServer) newAPI(leakKeys api.LeakKeys) *api.API {
	s, b := &g.services, &g.billing
	return api.New(api.Options{
		Accounts: s.accounts, APIKeys: s.apiKeys, LeakKeys: leakKeys, Gate: s.admission, Content: s.content, Keys: s.keys, Catalog: s.catalog,
		Refusals: s.refusals,
		Gateway:  s.text, Videos: s.videos, Assets: s.assets, Webhooks: s.webhooks, Idempotency: s.idempotency,
		Payments: b.payments, Ledger: b.ledger, Reports: b.reports, Audit: s.audit, IDs: g.stores.ids, Now: time.Now, BaseURL: g.cfg.BaseURL,
		Documents: modelDocuments(g.stores.clock.Now, g.cfg.BaseURL), Status: s.status,
	})
}

func (g *gatewayServer) newConsole() *console.Console {
	s, b, db, now, ids := &g.services, &g.billing, g.stores.database.db, g.stores.clock.Now, g.stores.ids
	sessions := account.NewSessionStore(db, account.SessionOptions{
		Key: g.stores.key, Now: now, IDs: ids, Random: rand.Reader, Insecure: !g.cfg.secureCookies(),
		ClientIP: server.ClientIP(g.cfg.proxies()),
	})
	var outbox *mail.Service
	if g.cfg.demo.outbox && g.cfg.SMTP == "" {
		outbox = b.mail
	}
	return console.New(console.Options{
		PeopleServices: console.PeopleServices{
			Accounts: s.accounts, APIKeys: s.apiKeys, Sessions: sessions, Audit: s.audit, Trial: s.trial,
			Notifications: notification.New(db, now),
		},
		TextServices: console.TextServices{
			Catalog: s.catalog, Gateway: s.text, Documents: modelDocuments(now, g.cfg.BaseURL), Health: s.health,
			Status: s.status, RecentCalls: s.recentCalls,
			Content: s.content, Prompts: s.prompts, Refusals: s.refusals,
		},
		JobServices:     console.JobServices{Videos: s.videos, Webhooks: s.webhooks, Assets: s.assets, Repeats: s.idempotency},
		BillingServices: console.BillingServices{Ledger: b.ledger, Reports: b.reports, Payments: b.payments, IDs: ids, Booked: b.leases.Booked},
		Operator: operatorpages.Sources{
			Actions:      operator.New(db, operator.Options{Ledger: b.ledger, Now: now, IDs: ids}),
			MinuteCounts: s.minuteCounts, MetricsURL: "http://" + g.http.ops.Addr().String() + "/metrics", Mail: b.mail, Settlements: b.settling,
			Credentials: s.credentials, Spend: s.spend, TestCalls: check.NewStore(db), DB: db,
			References: s.references, ProviderClient: s.providers, Tests: s.tests,
		},
		Setup: s.setup, Outbox: outbox, Now: time.Now,
		BaseURL: g.cfg.BaseURL, Gate: s.admission, Addresses: s.visitorLimits, Secure: g.cfg.secureCookies(),
		OperatorsNeedNoCode: g.cfg.demo.operatorsNeedNoCode, Simulated: g.cfg.demo.seeded,
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

// notReadyReason returns why this replica must not receive calls: it refuses every one, and will do so for long.
func (g *gatewayServer) notReadyReason() error {
	if err := g.billing.leases.Ready(); err != nil {
		return err
	}
	return g.services.admission.Shut()
}

func (h *httpLayer) close() {
	for _, l := range []net.Listener{h.public, h.ops} {
		if l != nil {
			_ = l.Close() // The server may have closed it.
		}
	}
}
