package spend_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"

	"umg/app"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/postgres/pgtest"
	"umg/app/provider/spend"
	"umg/billing"
)

// TestMain proves that no worker leaves a goroutine behind.
func TestMain(m *testing.M) { apptest.VerifyNoLeaks(m) }

const (
	first  = "${NORTH_KEY}"
	second = "sealed:north"
)

// fixture is a ledger, and the trackers of two replicas on it.
type fixture struct {
	t       *testing.T
	db      *sqlx.DB
	clock   *apptest.Clock
	ledger  *billing.Ledger
	account string
	north   *catalog.Provider
	log     *bytes.Buffer

	one, two *spend.Tracker
}

func setup(t *testing.T, caps string) *fixture {
	t.Helper()
	f := &fixture{t: t, db: pgtest.New(t), clock: apptest.FixedClock(time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC)), log: &bytes.Buffer{}}
	_, err := f.db.ExecContext(t.Context(), `select make_usage_months('2026-10-01', '2027-01-01')`)
	apptest.Must(t, err)
	f.ledger, f.account = apptest.NewLedger(f.db, f.clock.Now), apptest.NewAccount(t, f.db, f.clock.Now)
	apptest.Fund(t, f.db, f.ledger, f.account, billing.Purchased, 1000*app.Dollar)
	file, err := catalog.ParseFile([]byte(`
providers:
  - {id: north, name: North, base_url: "https://north.example", credential: "` + first + `", credentials: ["` + second + `"], ` + caps + `}
models: []
`))
	apptest.Must(t, err)
	if all := catalog.Check(file); len(all) > 0 {
		t.Fatal(all)
	}
	s, err := catalog.NewSnapshot(file, catalog.Options{Now: f.clock.Now, Secrets: func(string) (string, bool) { return "k", true }})
	apptest.Must(t, err)
	f.north, _ = s.Provider("north")
	f.one, f.two = f.tracker(s, f.log), f.tracker(s, &bytes.Buffer{})
	return f
}

func (f *fixture) tracker(s *catalog.Snapshot, log *bytes.Buffer) *spend.Tracker {
	return spend.New(f.db, spend.Options{Now: f.clock.Now, Log: slog.New(slog.NewTextHandler(log, nil)), Providers: s.Providers})
}

// settle settles a call with its costs.
func (f *fixture) settle(provider, credential string, costs billing.Costs) {
	f.t.Helper()
	ids := apptest.IDs(f.clock.Now)
	hold, err := f.ledger.HoldFor(f.t.Context(), f.db, billing.HoldRequest{ID: ids.New("req"), AccountID: f.account, Want: 10 * app.Dollar}, time.Hour)
	apptest.Must(f.t, err)
	costs.Credential = credential
	record := billing.UsageRecord{
		RequestID: hold.ID, AccountID: f.account, Model: "acme/one", Provider: provider, Style: "chat", Outcome: "succeeded",
		StartedAt: f.clock.Now(), Costs: costs,
	}
	apptest.Must(f.t, f.ledger.SettleIn(f.t.Context(), f.db, hold, billing.Settlement{Cost: costs.Cost, Record: record}))
}

func (f *fixture) load() {
	f.t.Helper()
	apptest.Must(f.t, f.one.Load(f.t.Context()))
	apptest.Must(f.t, f.two.Load(f.t.Context()))
}

// wants checks on both replicas whether the caps of the provider and of its credentials are reached.
func (f *fixture) wants(what string, provider, one, two bool) {
	f.t.Helper()
	for i, tracker := range []*spend.Tracker{f.one, f.two} {
		got := fmt.Sprint(tracker.Reached(f.north, ""), tracker.Reached(f.north, first), tracker.Reached(f.north, second))
		if want := fmt.Sprint(provider, one, two); got != want {
			f.t.Errorf("%s: replica %d says %s, want %s", what, i+1, got, want)
		}
	}
}

func TestEveryReplicaKnowsAReachedCapUntilItsPeriodEnds(t *testing.T) {
	t.Parallel()
	f := setup(t, `spend: {daily: 5.00, monthly: 7.50, credentials: {"`+second+`": {daily: 1}}}`)
	f.load()
	f.wants("before a call", false, false, false)
	cost := func(amount app.Amount) billing.Costs { return billing.Costs{Cost: amount} }
	f.settle("north", second, cost(app.Dollar-1))
	f.settle("south", second, cost(9*app.Dollar))
	f.load()
	f.wants("below the caps", false, false, false)
	f.settle("north", second, cost(1))
	f.load()
	f.wants("at the cap of a credential", false, false, true)
	f.settle("north", first, cost(4*app.Dollar))
	f.load()
	f.wants("at the cap of the day", true, false, true)
	if got := f.one.Usages(f.north); len(got) != 3 || got[0].Spent != 5*app.Dollar || got[0].Cap != 5*app.Dollar || !got[0].IsReached() ||
		got[1].Period != spend.Month || got[1].IsReached() || !got[1].ResetsAt.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) ||
		got[2].Credential != second || !got[2].ResetsAt.Equal(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("usages %+v", got)
	}
	f.clock.Advance(time.Hour) // It is midnight, and no replica has read the sums again.
	f.wants("on the next day", false, false, false)
	f.load()
	f.wants("on the next day, after a reading", false, false, false)
	f.settle("north", "", cost(5*app.Dollar/2))
	f.load()
	f.wants("at the cap of the month", true, false, false)
	f.clock.Advance(24 * time.Hour)
	f.wants("in the next month", false, false, false)
	f.load()
	for _, want := range []string{
		"calls go elsewhere\" provider=north credential=all period=day cap=5 spent=5 until=2026-11-30T00:00:00.000Z",
		"calls go elsewhere\" provider=north credential=" + second + " period=day cap=1 spent=1",
		"calls go elsewhere\" provider=north credential=all period=month cap=7.5 spent=7.5",
		"no longer reached\" provider=north credential=all period=month",
	} {
		if strings.Count(f.log.String(), want) != 1 {
			t.Errorf("the log does not say once %s:\n%s", want, f.log)
		}
	}
}

// TestSpendIsWhatTheProviderCharges: by the cost card, or as the provider has stated, or else by the price with what the platform bore.
func TestSpendIsWhatTheProviderCharges(t *testing.T) {
	t.Parallel()
	f := setup(t, `spend: {monthly: 100}`)
	amount := func(a app.Amount) *app.Amount { return &a }
	f.settle("north", first, billing.Costs{Cost: 5 * app.Dollar, ProviderCost: amount(3 * app.Dollar), UpstreamCost: amount(2 * app.Dollar)})
	f.settle("north", first, billing.Costs{Cost: 5 * app.Dollar, ProviderCost: amount(3 * app.Dollar)})
	f.settle("north", first, billing.Costs{Cost: 5 * app.Dollar, ProviderCost: amount(0)})
	f.settle("north", first, billing.Costs{Cost: 12 * app.Dollar}) // Only 10 dollars were held.
	f.load()
	if got, want := f.two.Spent("north", first), (spend.Spent{Day: 22 * app.Dollar, Month: 22 * app.Dollar}); got != want {
		t.Errorf("spent %+v, want %+v", got, want)
	}
	var kept string
	apptest.Must(t, f.db.GetContext(t.Context(), &kept, `select string_agg(distinct credential, ',') from usage_records`))
	if kept != first {
		t.Errorf("the records have the credentials %q", kept)
	}
}

func TestOldSumsAreDeleted(t *testing.T) {
	t.Parallel()
	f := setup(t, `spend: {monthly: 100}`)
	f.settle("north", first, billing.Costs{Cost: app.Dollar})
	f.clock.Advance(62 * 24 * time.Hour)
	f.load()
	if n := apptest.Count(t, f.db, `select count(*) from provider_spend`); n != 1 {
		t.Errorf("%d sums are left after two months", n)
	}
	f.clock.Advance(31 * 24 * time.Hour)
	f.load()
	if n := apptest.Count(t, f.db, `select count(*) from provider_spend`); n != 0 {
		t.Errorf("%d sums are left after three months", n)
	}
}

func TestCapsAreMetrics(t *testing.T) {
	t.Parallel()
	f := setup(t, `spend: {daily: 0.5}`)
	f.settle("north", first, billing.Costs{Cost: app.Dollar})
	f.load()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(f.one.Collector())
	families, err := registry.Gather()
	apptest.Must(t, err)
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			got[family.GetName()] += m.GetGauge().GetValue()
		}
	}
	if len(got) != 3 || got["umg_provider_spend_cap_reached"] != 1 || got["umg_provider_spend_dollars"] != 1 || got["umg_provider_spend_cap_dollars"] != 0.5 {
		t.Errorf("metrics %v", got)
	}
}
