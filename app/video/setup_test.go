package video

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apptest"
	"umg/app/asset"
	"umg/app/catalog"
	"umg/app/egress"
	"umg/app/media"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/provider/assetapi"
	"umg/app/provider/videoapi"
	"umg/app/ratelimit"
	"umg/app/simulator"
	"umg/app/storage"
	"umg/app/webhook"
	"umg/billing"
	"umg/billing/usage"
)

// TestMain proves that no job leaves a goroutine behind.
func TestMain(m *testing.M) { apptest.VerifyNoLeaks(m) }

// startMoney is enough for all tests except those of an empty credit account.
const startMoney = 100 * app.Dollar

// file is a catalog whose upstreams are one simulator under several names. Meridian and alpine speak the videos style.
const file = `
providers:
  - {id: meridian, name: Meridian, base_url: "${SIM}/meridian/v1", credential: "${SECRET}", timeouts: {first_byte: 2s, idle: 2s, total: 5s}}
  - {id: alpine, name: Alpine, base_url: "${SIM}/alpine/v1", credential: "${SECRET}", timeouts: {first_byte: 2s, idle: 2s, total: 5s}}
  - {id: boreal, name: Boreal, base_url: "${SIM}/boreal/v1beta", credential: "${SECRET}", credential_header: x-goog-api-key, timeouts: {first_byte: 2s}}
  - {id: kestrel, name: Kestrel, base_url: "${SIM}/kestrel/v1", credential: "${SECRET}", timeouts: {first_byte: 2s}, assets: {group: ours}}
  - {id: refusing, name: Refusing, base_url: "http://127.0.0.1:1/v1", credential: "${SECRET}"}
  - {id: nowhere, name: Nowhere, base_url: "${UNSET}/v1", credential: "${SECRET}"}
models:
  - {id: test/film, VIDEO [{provider: meridian, model: up-film, style: videos}]}
  - {id: test/other, VIDEO [{provider: alpine, model: up-other, style: videos}]}
  - {id: test/two, VIDEO [{provider: meridian, model: up-two, style: videos, order: 1}, {provider: alpine, model: up-two-b, style: videos, order: 2}]}
  - {id: test/over, VIDEO [{provider: refusing, model: x, style: videos, order: 1}, {provider: alpine, model: up-over, style: videos, order: 2}]}
  - {id: test/refusing, VIDEO [{provider: refusing, model: x, style: videos}]}
  - {id: test/idle, VIDEO [{provider: nowhere, model: x, style: videos}]}
  - {id: test/operations, VIDEO [{provider: boreal, model: up-operations, style: operations}]}
  - {id: test/tasks, VIDEO [{provider: kestrel, model: up-tasks, style: tasks}]}
  - {id: test/assets, assets: 3, VIDEO [{provider: meridian, model: up-plain, style: videos, order: 1}, {provider: kestrel, model: up-assets, style: tasks, order: 2}]}
  - {id: test/mute, MUTE [{provider: meridian, model: up-mute, style: videos}]}
  - {id: test/stream, parameters: [stream], VIDEO [{provider: meridian, model: up-stream, style: videos}]}
  - {id: test/three, limits: {jobs_running: 3}, VIDEO [{provider: meridian, model: up-three, style: videos}]}
  - {id: test/daily, limits: {jobs_per_day: 2}, VIDEO [{provider: meridian, model: up-daily, style: videos}]}
  - {id: test/minutely, limits: {requests_per_minute: 2}, VIDEO [{provider: meridian, model: up-minutely, style: videos}]}
  - {id: test/paused, paused: true, notice: back at noon, VIDEO [{provider: meridian, model: x, style: videos}]}
  - {id: test/coming, availability: coming, VIDEO [{provider: meridian, model: x, style: videos}]}
  - {id: test/ended, shutdown: 2026-02-01, successor: test/film, VIDEO [{provider: meridian, model: x, style: videos}]}
  - {id: test/words, name: Words, owner: test, kind: text, capabilities: [text], input: [text], output: [text], context_tokens: 1000,
     max_output_tokens: 100, rates: {input_tokens: 1 per 1M, output_tokens: 1 per 1M}, released: 2026-01-01, routes: [{provider: meridian, model: x, style: chat}]}
`

const videoModel = `name: Test, owner: test, kind: video, capabilities: [video], input: [text, image], output: [video], sizes: [1280x720, 720x1280],
     seconds: [4, 8], rates: {seconds: 0.10 per 1}, size_rates: {720x1280: {seconds: 0.25 per 1}}, released: 2026-01-01, routes:`

// bench is the service among its real neighbours, with an upstream and a database of its own.
type bench struct {
	testing.TB

	db       *sqlx.DB
	dsn      string
	clock    *apptest.Clock
	ids      app.IDs
	ledger   *billing.Ledger
	reports  *usage.Reports
	limits   *ratelimit.Limiter
	catalog  *catalog.Catalog
	store    storage.Store
	events   *webhook.Service
	sim      *simulator.Simulator
	upstream *httptest.Server
	service  *Service
	o        Options
	account  string
}

// setup is a bench with credit on its account.
func setup(t testing.TB, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{TB: t, db: pgtest.New(t), clock: apptest.RunningClock()}
	b.dsn = pgtest.DSN(t, b.db)
	b.ids = apptest.IDs(b.clock.Now)
	b.ledger = apptest.NewLedger(b.db, b.clock.Now)
	b.reports = usage.NewReports(b.db, usage.Options{Now: b.clock.Now, Log: slog.New(slog.DiscardHandler)})
	b.limits = ratelimit.New(ratelimit.Options{Now: b.clock.Now})
	b.sim = simulator.New(simulator.Options{Control: true, StallMax: 10 * time.Second, Now: b.clock.Now})
	b.upstream = httptest.NewServer(b.sim)
	t.Cleanup(b.upstream.Close)
	b.openCatalog()
	b.store, b.events = b.openStore(), b.openEvents()
	b.service = b.replica(change...)
	b.account = b.fund(startMoney)
	return b
}

// openCatalog fills the catalog of the bench.
func (b *bench) openCatalog() {
	b.Helper()
	f, err := catalog.ParseFile([]byte(strings.NewReplacer("VIDEO", videoModel, "MUTE", strings.Replace(videoModel, "text, image", "text", 1)).Replace(file)))
	b.must(err)
	b.must(catalog.Apply(b.Context(), b.db, f))
	b.catalog, err = catalog.Open(b.Context(), b.db,
		catalog.Options{Now: b.clock.Now, Log: slog.New(slog.DiscardHandler), Secrets: b.lookup})
	b.must(err)
}

// openStore makes the place where content is kept.
func (b *bench) openStore() storage.Store {
	b.Helper()
	store, err := storage.NewFolder(b.TempDir(), b.clock.Now)
	b.must(err)
	b.Cleanup(func() { _ = store.Close() })
	return store
}

// openEvents opens the service that emits the events of ended jobs.
func (b *bench) openEvents() *webhook.Service {
	b.Helper()
	outside, err := egress.New(egress.Options{})
	b.must(err)
	b.Cleanup(outside.Close)
	o := webhook.Options{
		Egress: outside, Now: b.clock.Now, IDs: b.ids, Random: rand.Reader, Jitter: mathrand.Int64N, Log: slog.New(slog.DiscardHandler),
	}
	_, err = rand.Read(o.Key[:])
	b.must(err)
	events, err := webhook.New(b.db, o)
	b.must(err)
	return events
}

// replica is one more service on the same store, as another process would have it.
func (b *bench) replica(change ...func(*Options)) *Service {
	b.Helper()
	providers := provider.New(provider.Options{})
	b.Cleanup(providers.Close)
	host := strings.TrimPrefix(b.upstream.URL, "http://")
	files, err := egress.New(egress.Options{Exceptions: []string{host}})
	b.must(err)
	b.Cleanup(files.Close)
	o := Options{
		Ledger: b.ledger, Snapshot: b.catalog.Snapshot, Limits: b.limits, Upstreams: videoapi.New(providers, files),
		Store: b.store, Thumbnailer: media.New(""), Events: b.events, Egress: files, Assets: b.openAssets(files, providers), Now: b.clock.Now, IDs: b.ids, Random: rand.Reader,
		Jitter: mathrand.Int64N, Log: slog.New(slog.DiscardHandler), BaseURL: "https://gateway.test",
		Waits: Waits{
			PollMin: time.Second, PollMax: 2 * time.Second, RetryMin: time.Second, CreateMax: 3 * time.Second, CopyMax: 10 * time.Second,
			PicturesMax: 2 * time.Minute,
		},
	}
	for _, f := range change {
		f(&o)
	}
	b.o = o
	return New(b.db, o)
}

// openAssets makes the service that keeps the assets of calls.
func (b *bench) openAssets(outside *egress.Client, providers *provider.Client) *asset.Service {
	return asset.New(b.db, asset.Options{
		Egress: outside, Snapshot: b.catalog.Snapshot, Upstreams: assetapi.New(providers), Now: b.clock.Now, IDs: b.ids,
		Log: slog.New(slog.DiscardHandler), Jitter: mathrand.Int64N,
	})
}

const secret = "sk-upstream-0123456789"

func (b *bench) lookup(name string) (string, bool) {
	switch name {
	case "SIM":
		return b.upstream.URL, true
	case "SECRET":
		return secret, true
	}
	return "", false
}

// fund opens an account with credit.
func (b *bench) fund(credit app.Amount) string {
	b.Helper()
	id := apptest.NewAccount(b, b.db, b.clock.Now)
	apptest.Fund(b, b.db, b.ledger, id, billing.Trial, credit)
	return id
}

func (b *bench) must(err error) {
	b.Helper()
	apptest.Must(b, err)
}

// balance compares the money of an account.
func (b *bench) balance(account string, posted, held app.Amount) {
	b.Helper()
	got, err := b.ledger.Balance(b.Context(), account)
	b.must(err)
	if got.Posted != posted || got.Held != held {
		b.Errorf("balance: $%s posted, $%s held; want $%s, $%s", got.Posted, got.Held, posted, held)
	}
}

// books fails the test when an invariant of the ledger does not hold.
func (b *bench) books() {
	b.Helper()
	checks, err := billing.Books(b.Context(), b.db)
	for _, c := range checks {
		if !c.Holds {
			err = errors.Join(err, fmt.Errorf("%s: %s", c.Name, c.Detail))
		}
	}
	b.must(err)
}

// row is a job as it is kept.
func (b *bench) row(id string) jobRow {
	b.Helper()
	var row jobRow
	b.must(b.db.GetContext(b.Context(), &row, `select `+columns+` from video_jobs where id = $1`, id))
	return row
}

// rows counts the jobs of an account, the hidden ones too.
func (b *bench) rows(account string) (n int) {
	b.Helper()
	b.must(b.db.GetContext(b.Context(), &n, `select count(*) from video_jobs where account_id = $1`, account))
	return n
}

// call is a create by an unrestricted key of the bench's account.
func (b *bench) call(body string) Call {
	return Call{Principal: app.Principal{AccountID: b.account, KeyID: "key_1", Rights: app.AllRights}, Body: []byte(body)}
}

// control speaks to the simulator.
func (b *bench) control(method, path, body string) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, b.upstream.URL+"/_control/"+path, strings.NewReader(body))
	b.must(err)
	resp, err := b.upstream.Client().Do(req)
	b.must(err)
	defer func() { _ = resp.Body.Close() }()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode >= http.StatusMultipleChoices {
		b.Fatalf("control %s %s: %d %s", method, path, resp.StatusCode, said)
	}
}

// wantError fails the test when an error is not the one of the service document.
func wantError(t testing.TB, err error, kind app.Kind, code, param string) *app.Error {
	t.Helper()
	e, ok := errors.AsType[*app.Error](err)
	if !ok || e.Kind != kind || e.Code != code || e.Param != param {
		t.Fatalf("got %v (%+v), want kind %d, code %s, param %q", err, e, kind, code, param)
	}
	return e
}
