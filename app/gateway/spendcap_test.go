package gateway_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/gateway"
	"umg/app/provider/health"
	"umg/app/provider/spend"
)

// cappedFile is a model with two providers. One call costs more than the cap of the first provider, and than that of the first
// credential of the second one.
const cappedFile = `
providers:
  - {id: first, name: First, base_url: "${SIM}/first/v1", credential: "${SECRET}", spend: {daily: 0.00001}}
  - {id: second, name: Second, base_url: "${SIM}/second/v1", credential: "${SECRET}", credentials: ["${SECOND}"],
     spend: {monthly: 5, credentials: {"${SECRET}": {daily: 0.00001}, "${SECOND}": {daily: 0.00001}}}}
models:
  - {id: test/twofold, hedge: false, ROUTES [{provider: first, model: up-one, style: chat, order: 1}, {provider: second, model: up-two, style: chat, order: 2}]}
`

// cappedReplica is one more gateway of a bench, with a tracker of its own.
type cappedReplica struct {
	*bench
	tracker *spend.Tracker
}

// TestCallsLeaveAProviderWhoseSpendCapIsReached runs two replicas over one ledger. What one has spent keeps calls of the other away from
// the provider and the credential, until the next day.
func TestCallsLeaveAProviderWhoseSpendCapIsReached(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	file, err := catalog.ParseFile([]byte(strings.ReplaceAll(cappedFile, "ROUTES", common)))
	must(t, err)
	if all := catalog.Check(file); len(all) > 0 {
		t.Fatal(all)
	}
	snapshot, err := catalog.NewSnapshot(file, catalog.Options{Now: time.Now, Secrets: b.lookup})
	must(t, err)
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)
	clock := apptest.FixedClock(noon)
	replica := func() cappedReplica {
		tracker := spend.New(b.db, spend.Options{Now: clock.Now, Log: slog.New(slog.DiscardHandler), Providers: snapshot.Providers})
		next, o := *b, b.options
		ahead := time.Until(noon)
		o.Now = func() time.Time { return time.Now().Add(ahead) }
		o.Snapshot = func() *catalog.Snapshot { return snapshot }
		o.Health = health.New(health.Options{Now: time.Now, Random: o.Random, Capped: tracker.Reached})
		next.gateway = gateway.New(o)
		return cappedReplica{&next, tracker}
	}
	one, two := replica(), replica()
	serves := func(on cappedReplica, provider, credential string) {
		t.Helper()
		must(t, one.tracker.Load(t.Context()))
		must(t, two.tracker.Load(t.Context()))
		b.open(startMoney)
		on.account = b.account
		r, _, err := on.generate(on.call("test/twofold", "hi", ""))
		must(t, err)
		if u := on.record(); r.Provider != provider || u.Credential != credential || r.Attempts != 1 || r.Cost < 10*app.Amount(1000) {
			t.Fatalf("served by %s with %s after %d attempts for %s, want %s with %s", r.Provider, u.Credential, r.Attempts, r.Cost, provider, credential)
		}
	}
	serves(one, "first", "${SECRET}")
	serves(two, "second", "${SECRET}")
	serves(one, "second", "${SECOND}")
	must(t, one.tracker.Load(t.Context()))
	must(t, two.tracker.Load(t.Context()))
	for _, on := range []cappedReplica{one, two} {
		asked := len(b.sim.Requests())
		_, _, err := on.generate(on.call("test/twofold", "hi", ""))
		e := apptest.WantError(t, err, app.Unavailable, "no_available_provider")
		if strings.Contains(e.Message, "spend") || strings.Contains(e.Message, "first") || e.RetryAfter == 0 || len(b.sim.Requests()) != asked {
			t.Errorf("the client got %+v", e)
		}
	}
	clock.Advance(24 * time.Hour)
	serves(two, "first", "${SECRET}")
}
