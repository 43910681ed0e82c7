package setup_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/apptest"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/setup"
	"umg/app/simulator/emulator"
)

// replica is the set-up of one server.
type replica struct {
	*setup.Service
	db      *sqlx.DB
	catalog *catalog.Catalog
	now     *atomic.Pointer[time.Time]
}

const password = "a quiet sentence"

var from = app.Origin{IP: "192.0.2.1", Agent: "test"}

// open starts the set-up of a server on a database, with variables.
func open(t *testing.T, db *sqlx.DB, env, addresses map[string]string) *replica {
	t.Helper()
	r := &replica{db: db, now: &atomic.Pointer[time.Time]{}}
	r.now.Store(new(time.Now()))
	now := func() time.Time { return *r.now.Load() }
	lookup := func(name string) (string, bool) { value, has := env[name]; return value, has }
	log, ids := slog.New(slog.DiscardHandler), app.IDs{Now: now, Random: rand.Reader}
	ledger := apptest.NewLedger(db, now)
	var err error
	r.catalog, err = catalog.Open(t.Context(), db, catalog.Options{Now: now, Log: log, Secrets: lookup})
	apptest.Must(t, err)
	providers := provider.New(provider.Options{})
	t.Cleanup(providers.Close)
	r.Service = setup.New(setup.Options{
		DB: db, Ledger: ledger, Catalog: r.catalog, Providers: providers, Env: lookup, Addresses: addresses, Credit: 10 * app.Dollar,
		Accounts: account.New(db, ledger, account.Options{PasswordMemoryKiB: apptest.PasswordMemoryKiB, Now: now, IDs: ids, Random: rand.Reader, Log: log, Key: [32]byte{1}}),
		Now:      now, IDs: ids, Random: rand.Reader, Log: log,
	})
	return r
}

func (r *replica) begin(t *testing.T) string {
	t.Helper()
	code, err := r.Begin(t.Context())
	apptest.Must(t, err)
	return code
}

func (r *replica) isOpen(t *testing.T) bool {
	t.Helper()
	open, err := r.Open(t.Context())
	apptest.Must(t, err)
	return open
}

// TestACodeOfAnyReplicaClaimsTheGatewayOnce lets people claim a gateway with the codes of two replicas at the same time.
func TestACodeOfAnyReplicaClaimsTheGatewayOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	one, two := open(t, db, nil, nil), open(t, db, nil, nil)
	codes := []string{one.begin(t), two.begin(t)}
	if codes[0] == codes[1] || len(codes[0]) != 19 || !one.isOpen(t) || !two.isOpen(t) {
		t.Fatalf("codes %q", codes)
	}
	var done, refused atomic.Int64
	var people sync.WaitGroup
	for i := range 6 {
		people.Go(func() {
			typed := strings.ToLower(strings.ReplaceAll(codes[i%2], "-", " "))
			c := setup.Claim{Code: typed, Email: "ada" + string(rune('a'+i)) + "@example.com", Password: password}
			// Each replica takes the codes of the other one.
			if _, err := []*replica{two, one}[i%2].Claim(t.Context(), c, app.Origin{IP: "192.0.2." + string(rune('1'+i))}); err == nil {
				done.Add(1)
			} else if kind := app.KindOf(err); kind == app.Conflict || kind == app.Invalid {
				refused.Add(1)
			} else {
				t.Error(err)
			}
		})
	}
	people.Wait()
	if done.Load() != 1 || refused.Load() != 5 {
		t.Errorf("%d people claimed the gateway, and %d were refused", done.Load(), refused.Load())
	}
	if apptest.Count(t, db, `select count(*) from setup_codes`) != 0 || apptest.Count(t, db, `select count(*) from users`) != 1 ||
		one.isOpen(t) || two.isOpen(t) || one.begin(t) != "" {
		t.Error("the gateway can be claimed again")
	}
}

// TestTheFirstOperatorGetsCreditAndTheAuditLogSaysSo reads what a claim has made.
func TestTheFirstOperatorGetsCreditAndTheAuditLogSaysSo(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	r := open(t, db, nil, nil)
	user, err := r.Claim(t.Context(), setup.Claim{Code: r.begin(t), Email: "Ada@Example.com", Password: password}, from)
	apptest.Must(t, err)
	if !user.Operator || !user.Verified || user.Email != "ada@example.com" || user.Role != app.RoleOwner {
		t.Errorf("user %+v", user)
	}
	balance, err := apptest.NewLedger(db, time.Now).Balance(t.Context(), user.AccountID)
	if err != nil || balance.Posted != 10*app.Dollar {
		t.Errorf("balance %+v, %v", balance, err)
	}
	log, err := audit.New(db, time.Now, app.IDs{Now: time.Now, Random: rand.Reader}).List(t.Context(), user.AccountID, audit.Filter{Limit: 10})
	apptest.Must(t, err)
	actions := map[audit.Action]audit.Entry{}
	for _, e := range log.Entries {
		actions[e.Action] = e
	}
	if len(actions) != 2 || actions["user.made_operator"].Name != user.Email || len(actions["billing.credit_granted"].Changes) != 2 ||
		actions["billing.credit_granted"].Changes[0].To != "$10" || actions["billing.credit_granted"].Actor != audit.ByOperator {
		t.Errorf("audit log %+v", actions)
	}
}

// TestAClaimThatIsRefusedLeavesTheCode makes mistakes before the right claim.
func TestAClaimThatIsRefusedLeavesTheCode(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	r := open(t, db, nil, nil)
	code := r.begin(t)
	for _, c := range []struct {
		claim setup.Claim
		param string
	}{
		{setup.Claim{Code: code, Email: "ada", Password: password}, "email"},
		{setup.Claim{Code: code, Email: "ada@example.com", Password: "short"}, "password"},
		{setup.Claim{Code: "AAAA-AAAA-AAAA-AAAA", Email: "ada@example.com", Password: password}, "code"},
		{setup.Claim{Code: "", Email: "ada@example.com", Password: password}, "code"},
	} {
		_, err := r.Claim(t.Context(), c.claim, from)
		if e := app.AsError(err); err == nil || e.Kind != app.Invalid || e.Param != c.param {
			t.Errorf("%+v: %v", c.claim, err)
		}
	}
	if apptest.Count(t, db, `select count(*) from users`) != 0 {
		t.Error("a refused claim made a user")
	}
	_, err := r.Claim(t.Context(), setup.Claim{Code: code, Email: "ada@example.com", Password: password}, from)
	apptest.Must(t, err)
}

// TestCodesAreNotGuessed tries codes from one address.
func TestCodesAreNotGuessed(t *testing.T) {
	t.Parallel()
	r := open(t, pgtest.New(t), nil, nil)
	code := r.begin(t)
	claim := setup.Claim{Code: "AAAA-AAAA-AAAA-AAAA", Email: "ada@example.com", Password: password}
	var last error
	for range 11 {
		_, last = r.Claim(t.Context(), claim, from)
	}
	if e := app.AsError(last); e.Kind != app.Exhausted || e.RetryAfter < time.Second {
		t.Errorf("many attempts: %v", last)
	}
	claim.Code = code
	if _, err := r.Claim(t.Context(), claim, from); app.KindOf(err) != app.Exhausted {
		t.Errorf("the right code after many attempts: %v", err)
	}
	_, err := r.Claim(t.Context(), claim, app.Origin{IP: "192.0.2.2"})
	apptest.Must(t, err)
}

// TestACodeExpiresWithItsProcess ends servers in order and without a word.
func TestACodeExpiresWithItsProcess(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	orderly := open(t, db, nil, nil)
	orderly.begin(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := orderly.Run(ctx); err == nil || orderly.isOpen(t) {
		t.Errorf("after an orderly end: %v", err)
	}
	killed := open(t, db, nil, nil)
	code := killed.begin(t)
	killed.now.Store(new(time.Now().Add(2 * time.Minute)))
	if killed.isOpen(t) {
		t.Error("the code of a process that was killed is still valid")
	}
	_, err := killed.Claim(t.Context(), setup.Claim{Code: code, Email: "ada@example.com", Password: password}, from)
	if e := app.AsError(err); err == nil || e.Param != "code" {
		t.Errorf("a code that has expired: %v", err)
	}
	killed.begin(t)
	if n := apptest.Count(t, db, `select count(*) from setup_codes`); n != 1 {
		t.Errorf("%d codes are left", n)
	}
}

// TestAGatewayInUseHasNoCode begins on gateways with a catalog and with an operator.
func TestAGatewayInUseHasNoCode(t *testing.T) {
	t.Parallel()
	withCatalog := pgtest.New(t)
	file, err := catalog.ParseFile(catalog.Default())
	apptest.Must(t, err)
	apptest.Must(t, catalog.Apply(t.Context(), withCatalog, file))
	if code := open(t, withCatalog, nil, nil).begin(t); code != "" {
		t.Errorf("a gateway with models has the code %s", code)
	}
}

// TestOnlyChosenProvidersArePublished finds two keys, and publishes one provider with a markup.
func TestOnlyChosenProvidersArePublished(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(emulator.New(emulator.Options{Now: time.Now, Random: rand.Reader}))
	t.Cleanup(s.Close)
	r := open(t, pgtest.New(t), map[string]string{"OPENAI_API_KEY": emulator.Key("openai"), "ANTHROPIC_API_KEY": emulator.Key("anthropic")},
		map[string]string{"openai": s.URL + "/openai/v1", "anthropic": s.URL + "/anthropic/v1"})
	found := r.Find()
	if len(found) != 2 || found[1].Preset.ID != "openai" || found[1].Provider.Credential != "${OPENAI_API_KEY}" {
		t.Fatalf("found %+v", found)
	}
	offer := r.Look(t.Context(), found[1])
	if offer.Problem != "" || !offer.Listed || len(offer.Choices) != 2 {
		t.Fatalf("offer %+v", offer)
	}
	markup, err := setup.ParseMarkup("10%")
	apptest.Must(t, err)
	for range 2 { // The second time changes nothing.
		_, err = r.Publish(t.Context(), catalog.HistoryAction{By: "ada"}, []setup.Offer{offer}, markup)
		apptest.Must(t, err)
	}
	snapshot := r.catalog.Snapshot()
	if snapshot.Version() != 1 || len(snapshot.Models()) != 2 || !r.Has("openai") || r.Has("anthropic") {
		t.Errorf("version %d with %d models", snapshot.Version(), len(snapshot.Models()))
	}
}

func TestMarkupsAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]catalog.Factor{"0": 10_000, "0%": 10_000, "10 %": 11_000, "7.25": 10_725, "100%": 20_000} {
		if got, err := setup.ParseMarkup(text); err != nil || got != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "ten", "-1", "7.125%", "1e3", "10000", "10%%"} {
		if got, err := setup.ParseMarkup(text); err == nil || app.AsError(err).Param != "markup" {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

// TestAVariableWithAPathNamesTheFile finds a credential that tools keep in a file.
func TestAVariableWithAPathNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "us-east5", "GOOGLE_APPLICATION_CREDENTIALS": path}
	found := setup.Find(func(name string) (string, bool) { value, has := env[name]; return value, has }, nil)
	if len(found) != 1 || found[0].Provider.Credential != "file:"+path || found[0].Provider.With["project"] != "p" {
		t.Errorf("found %+v", found)
	}
}
