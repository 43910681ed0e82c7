package asset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/egress"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/provider/assetapi"
)

// TestMain proves that no asset leaves a goroutine behind.
func TestMain(m *testing.M) { apptest.VerifyNoLeaks(m) }

const secret = "sk-upstream-secret-9f2c"

const file = `
providers:
  - {id: keeper, name: Keeper, base_url: "${KEEPER}/v1", credential: "${SECRET}", assets: {group: umg-tests}}
  - {id: other, name: Other, base_url: "${KEEPER}/other", credential: "${SECRET}"}
`

// bench is the service among its real neighbours, with an upstream, a server of sources and a database of its own.
type bench struct {
	testing.TB

	db      *sqlx.DB
	clock   *apptest.Clock
	ids     app.IDs
	keeper  *keeper
	files   *httptest.Server
	asked   atomic.Int64 // Asked counts requests for sources.
	catalog *catalog.Catalog
	service *Service
	me      app.Principal
	log     *apptest.LogBuffer
}

func setup(t testing.TB) *bench {
	t.Helper()
	b := &bench{TB: t, db: pgtest.New(t), clock: apptest.RunningClock(), keeper: newKeeper(t), log: &apptest.LogBuffer{}}
	b.ids = apptest.IDs(b.clock.Now)
	b.files = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.asked.Add(1)
		serveSource(w, r)
	}))
	t.Cleanup(b.files.Close)
	b.apply(file)
	b.service = b.replica()
	b.me = app.Principal{AccountID: b.account(), KeyID: "key_mine", Rights: app.AllRights, From: app.Origin{IP: "192.0.2.7"}}
	return b
}

// apply puts a catalog in force.
func (b *bench) apply(text string) {
	b.Helper()
	f, err := catalog.ParseFile([]byte(text))
	b.must(err)
	b.must(catalog.Apply(b.Context(), b.db, f))
	b.catalog, err = catalog.Open(b.Context(), b.db, catalog.Options{
		Now: b.clock.Now, Log: slog.New(slog.DiscardHandler),
		Secrets: func(name string) (string, bool) {
			return map[string]string{"KEEPER": b.keeper.URL, "SECRET": secret}[name], true
		},
	})
	b.must(err)
}

// replica is another process on the same store.
func (b *bench) replica() *Service {
	b.Helper()
	outside, err := egress.New(egress.Options{Exceptions: []string{strings.TrimPrefix(b.files.URL, "http://")}})
	b.must(err)
	upstreams := provider.New(provider.Options{})
	b.Cleanup(func() { outside.Close(); upstreams.Close() })
	return New(b.db, Options{
		Egress: outside, Snapshot: func() *catalog.Snapshot { return b.catalog.Snapshot() }, Upstreams: assetapi.New(upstreams),
		Now: b.clock.Now, IDs: b.ids, Log: slog.New(slog.NewTextHandler(b.log, nil)), Jitter: mathrand.Int64N,
		Waits: Waits{Idle: 10 * time.Millisecond},
	})
}

func (b *bench) account() string {
	b.Helper()
	return apptest.NewAccount(b, b.db, b.clock.Now)
}

func (b *bench) must(err error) {
	b.Helper()
	apptest.Must(b, err)
}

// source is the address of one of the sources.
func (b *bench) source(name string) string { return b.files.URL + "/" + name }

func (b *bench) create(name string) Asset {
	b.Helper()
	made, err := b.service.Create(b.Context(), b.me, Spec{Kind: Image, URL: b.source("picture.png"), Name: name})
	b.must(err)
	return made
}

// fill gives the account so many assets of before.
func (b *bench) fill(n int) {
	b.Helper()
	_, err := b.db.ExecContext(b.Context(), `
		insert into assets (id, account_id, kind, name, url, state, media_type, bytes, width, height, provider, resource_group, upstream_id,
			created_at, updated_at)
		select 'asset_old' || i, $1, 'image', 'old', 'https://example.com/a', 'active', 'image/png', 1, 1, 1, 'keeper', 'umg-tests', 'old-' || i,
			now(), now()
		from generate_series(1, $2) i`, b.me.AccountID, n)
	b.must(err)
}

// round lets a worker take everything that is due, and what becomes due by it.
func (b *bench) round() {
	b.Helper()
	for range 20 {
		n, err := b.service.work(b.Context())
		b.must(err)
		if n == 0 {
			return
		}
	}
	b.Error("the worker finds something due without end")
}

// live compares the count of an account, and that the count is true.
func (b *bench) live(want int) {
	b.Helper()
	n, err := b.service.Live(b.Context(), b.me.AccountID)
	b.must(err)
	var rows int
	b.must(b.db.GetContext(b.Context(), &rows, `select count(*) from assets where account_id = $1 and deleted_at is null`, b.me.AccountID))
	if n != want || rows != want {
		b.Errorf("%d assets are counted and %d are there, want %d", n, rows, want)
	}
}

// rows is how many rows there are in all, hidden ones too.
func (b *bench) rows() (n int) {
	b.Helper()
	b.must(b.db.GetContext(b.Context(), &n, `select count(*) from assets`))
	return n
}

// refused compares an error with what a caller is to be told.
func (b *bench) refused(err error, kind app.Kind, code, param string) {
	b.Helper()
	e, ok := errors.AsType[*app.Error](err)
	if !ok || e.Kind != kind || e.Code != code || e.Param != param {
		b.Errorf("got %#v, want kind %d, code %s, param %q", err, kind, code, param)
	}
}

// keeper is an upstream that keeps assets, in the words that its wire has.
type keeper struct {
	*httptest.Server

	mu     sync.Mutex
	items  []map[string]any
	calls  []string // Calls have a method and a path, oldest first.
	next   int
	before func(w http.ResponseWriter, r *http.Request) bool // If Before returns true, it has answered the call.
	after  func(w http.ResponseWriter, r *http.Request) bool // If After returns true, it has answered in place of the keeper.
}

func newKeeper(t testing.TB) *keeper {
	k := &keeper{}
	k.Server = httptest.NewServer(k)
	t.Cleanup(k.Close)
	return k
}

// set says how calls are answered from now on.
func (k *keeper) set(before, after func(w http.ResponseWriter, r *http.Request) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.before, k.after = before, after
}

// tell changes what the keeper says of all its items.
func (k *keeper) tell(change map[string]any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, item := range k.items {
		maps.Copy(item, change)
	}
}

func (k *keeper) kept() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.items)
}

func (k *keeper) count(call string) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.calls {
		if strings.HasPrefix(c, call) {
			n++
		}
	}
	return n
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	before, after := k.before, k.after
	k.calls = append(k.calls, r.Method+" "+r.URL.Path)
	k.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+secret {
		complain(w, http.StatusUnauthorized, "invalid_api_key", "")
		return
	}
	if before != nil && before(w, r) {
		return
	}
	status, body := k.do(r)
	if after != nil && after(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (k *keeper) do(r *http.Request) (int, any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id, one := strings.CutPrefix(r.URL.Path, "/v1/assets/")
	at := slices.IndexFunc(k.items, func(item map[string]any) bool { return item["id"] == id })
	switch {
	case !one && r.Method == http.MethodPost:
		item := map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&item)
		if i := slices.IndexFunc(k.items, func(old map[string]any) bool { return old["reference"] == item["reference"] }); i >= 0 {
			return http.StatusOK, k.items[i]
		}
		k.next++
		item["id"], item["status"], item["error"], item["created_at"] = fmt.Sprintf("up-%d", k.next), "processing", nil, 1790000000
		item["thumb_url"] = "https://cdn.example/" + item["id"].(string)
		k.items = append(k.items, item)
		return http.StatusOK, item
	case !one:
		found := []map[string]any{}
		for _, item := range k.items {
			if item["group_id"] == r.FormValue("group_id") && item["reference"] == r.FormValue("reference") {
				found = append(found, item)
			}
		}
		return http.StatusOK, map[string]any{"data": found, "total": len(found)}
	case at < 0:
		return http.StatusNotFound, map[string]any{"error": map[string]any{"message": "no such asset", "code": "asset_not_found"}}
	case r.Method == http.MethodDelete:
		k.items = slices.Delete(k.items, at, at+1)
		return http.StatusOK, map[string]any{"id": id, "deleted": true}
	}
	return http.StatusOK, k.items[at]
}

// complain answers with an error of the upstream.
func complain(w http.ResponseWriter, status int, code, param string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": "this is not taken: " + code, "type": "invalid_request_error", "code": code, "param": param,
	}})
}

// failing answers calls of a method with a status.
func failing(method string, status int, param string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == method {
			complain(w, status, "made_up", param)
		}
		return r.Method == method
	}
}

// dropping ends the connection of calls of a method without a word.
func dropping(method string) func(http.ResponseWriter, *http.Request) bool {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == method {
			panic(http.ErrAbortHandler)
		}
		return false
	}
}

func pngOf(width, height int) []byte {
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func jpegOf(width, height int) []byte {
	var out bytes.Buffer
	if err := jpeg.Encode(&out, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func gifOf(width, height int) []byte {
	var out bytes.Buffer
	if err := gif.Encode(&out, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		panic(err)
	}
	return out.Bytes()
}
