package server

import (
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/api"
	"umg/app"
	"umg/app/apikey"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/gateway"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/ratelimit"
	"umg/billing/lease"
)

// client makes a connection for each request. A test server that closes also closes the idle connections of the default
// transport, which would break the request of another test that runs beside it.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// tests closes the connections that clients keep for the next call, so that what is left is a leak.
type tests struct{ m *testing.M }

func (t tests) Run() int {
	code := t.m.Run()
	http.DefaultClient.CloseIdleConnections()
	return code
}

func TestMain(m *testing.M) {
	apptest.VerifyNoLeaks(tests{m})
}

// openManager is a lease manager that takes no calls yet.
func openManager(t *testing.T, db *sqlx.DB, ids app.IDs) *lease.Manager {
	t.Helper()
	bank := lease.OpenBank(db, time.Now, ids)
	manager, err := lease.New(lease.Options{
		Bank: bank, Registry: bank, ReplicaID: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return manager
}

// options are a whole machine's face over an empty store.
func options(t *testing.T) Options {
	t.Helper()
	db, ids, log := pgtest.New(t), app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
	models, err := catalog.Open(t.Context(), db, catalog.Options{Now: time.Now, Log: log, Secrets: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	providers := provider.New(provider.Options{})
	t.Cleanup(providers.Close)
	texts := gateway.New(gateway.Options{
		CreditManager: openManager(t, db, ids), Snapshot: models.Snapshot, Limits: ratelimit.New(ratelimit.Options{Now: time.Now}), Providers: providers, Now: time.Now, Random: mathrand.IntN,
	})
	face := api.New(api.Options{
		Keys: apikey.NewCache(db, apikey.CacheOptions{Now: time.Now, Log: log}), Catalog: models, Gateway: texts, Now: time.Now,
	})
	return Options{API: face, IDs: ids, Now: time.Now, Log: log}
}
