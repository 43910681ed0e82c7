package api_test

import (
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"umg/api"
	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/apptest"
	"umg/app/asset"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/contentlog"
	"umg/app/dialect"
	"umg/app/egress"
	"umg/app/idempotency"
	"umg/app/llm"
	"umg/app/media"
	"umg/app/provider"
	"umg/app/provider/assetapi"
	"umg/app/provider/videoapi"
	"umg/app/ratelimit"
	"umg/app/simulator/payments"
	"umg/app/storage"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
)

// errorModels is the catalog that the rows of error codes call. No answer to a caller may say the id of a provider, which begins
// with "secretly-", nor the name of a model at a provider, which begins with "hidden-".
const errorModels = `
aliases:
  headers: {x-api-key: authorization, x-goog-api-key: authorization, anthropic-version: vendorb-version}
providers:
  - {id: secretly-one, name: Secretly One, base_url: "${SIM}/secretly-one/v1"}
  - {id: secretly-late, name: Secretly Late, base_url: "${SIM}/secretly-late/v1", timeouts: {first_byte: 500ms, idle: 1s, total: 20s}}
  - {id: secretly-slow, name: Secretly Slow, base_url: "${SIM}/secretly-slow/v1"}
  - {id: secretly-native, name: Secretly Native, base_url: "${SIM}/secretly-native/v1beta"}
  - {id: secretly-shelf, name: Secretly Shelf, base_url: "${SIM}/secretly-shelf/v1", assets: {group: tests}}
  - {id: secretly-away, name: Secretly Away, base_url: "${UNSET}/v1"}
models:
  - {id: test/plain, TEXT [{provider: secretly-one, model: hidden-plain, style: chat}]}
  - {id: test/other, TEXT [{provider: secretly-one, model: hidden-other, style: chat}]}
  - {id: test/held, TEXT [{provider: secretly-slow, model: hidden-held, style: chat}]}
  - {id: test/chatonly, styles: [chat], TEXT [{provider: secretly-one, model: hidden-chatonly, style: chat}]}
  - {id: test/failing, TEXT [{provider: secretly-one, model: hidden-failing, style: chat}]}
  - {id: test/refusing, TEXT [{provider: secretly-one, model: hidden-refusing, style: chat}]}
  - {id: test/late, TEXT [{provider: secretly-late, model: hidden-late, style: chat}]}
  - {id: test/short, TEXT [{provider: secretly-one, model: hidden-short, style: chat}]}
  - {id: test/filtered, TEXT [{provider: secretly-one, model: hidden-filtered, style: chat}]}
  - {id: test/nowhere, TEXT [{provider: secretly-away, model: hidden-x, style: chat}]}
  - {id: test/paused, paused: true, notice: The weights are being replaced, TEXT [{provider: secretly-one, model: hidden-x, style: chat}]}
  - {id: test/coming, availability: coming, TEXT [{provider: secretly-one, model: hidden-x, style: chat}]}
  - {id: test/gone, deprecated: 2020-02-01, shutdown: 2021-06-01, successor: test/plain, TEXT [{provider: secretly-one, model: hidden-x, style: chat}]}
  - {id: test/dear, DEAR [{provider: secretly-one, model: hidden-dear, style: chat}]}
  - {id: test/costly, COSTLY [{provider: secretly-one, model: hidden-costly, style: chat}]}
  - {id: test/rare, limits: {requests_per_minute: 1}, TEXT [{provider: secretly-one, model: hidden-rare, style: chat}]}
  - {id: test/seeing, SEEING [{provider: secretly-native, model: hidden-seeing, style: native}]}
  - {id: test/film, VIDEO [{provider: secretly-one, model: hidden-film, style: videos}]}
  - {id: test/streamed, parameters: [stream], VIDEO [{provider: secretly-one, model: hidden-streamed, style: videos}]}
  - {id: test/assets, assets: 3, VIDEO [{provider: secretly-shelf, model: hidden-assets, style: tasks}]}
  - {id: test/reel, limits: {jobs_per_day: 1}, VIDEO [{provider: secretly-one, model: hidden-reel, style: videos}]}
`

const errorFilm = `name: Test, owner: test, kind: video, capabilities: [video], input: [text, image], output: [video], sizes: [1280x720, 720x1280],
     seconds: [4, 8], rates: {seconds: 0.01 per 1}, released: 2026-01-01, routes:`

// errorFaults is what the simulator does to the models of the rows.
var errorFaults = map[string]string{
	"hidden-failing": "status=500", "hidden-refusing": "status=422", "hidden-late": "stall", "hidden-held": "hold", "hidden-short": "context-length",
	"hidden-filtered": "content-filter",
}

// errorWorld is a server with all its services, and what the rows of error codes need to be there.
type errorWorld struct {
	*house

	payments *httptest.Server
	videos   *video.Service
	webhooks *webhook.Service
	names    map[string]string // Names holds the value of each {name} in a row.
	secrets  map[string]string // Secrets holds the secret of each key that a row names.
}

// newErrorWorld serves all routes over one simulated upstream. The payment service is a simulated one as well.
func newErrorWorld(t *testing.T, change ...func(*plan)) *errorWorld {
	t.Helper()
	w := &errorWorld{names: map[string]string{}, secrets: map[string]string{"none": ""}}
	leases := payments.New(payments.Options{Now: time.Now, Random: rand.Reader, Key: "sk_test_key", Control: true})
	w.payments = httptest.NewServer(leases)
	t.Cleanup(func() { w.payments.Close(); leases.Close() })
	partner := newPartner(t, elliptic.P256())
	leakKeys, err := api.ParseLeakKeys(partner.document("one"))
	must(t, err)
	w.house = setup(t, append([]func(*plan){func(p *plan) {
		w.serveAll(t, p)
		p.api.LeakKeys = leakKeys
	}}, change...)...)
	for model, spec := range errorFaults {
		w.control("faults", map[string]string{"model": model, "spec": spec})
	}
	w.makeKeys()
	return w
}

// serveAll puts every service into a plan.
func (w *errorWorld) serveAll(t *testing.T, p *plan) {
	t.Helper()
	ids, log := app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
	secrets := func(name string) (string, bool) { return p.sim, name == "SIM" }
	models := openErrorModels(t, p, secrets)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	w.names["gone"] = gone.URL
	out, err := egress.New(egress.Options{Exceptions: []string{strings.TrimPrefix(p.sim, "http://"), strings.TrimPrefix(gone.URL, "http://")}})
	must(t, err)
	providers := provider.New(provider.Options{})
	store, err := storage.NewFolder(t.TempDir(), time.Now)
	must(t, err)
	t.Cleanup(func() { out.Close(); providers.Close(); must(t, store.Close()) })
	w.webhooks, err = webhook.New(p.db, webhook.Options{
		Egress: out, Now: time.Now, IDs: ids, Random: rand.Reader, Jitter: func(int64) int64 { return 0 }, Log: log, Key: [32]byte{1},
	})
	must(t, err)
	assets := asset.New(p.db, asset.Options{
		Egress: out, Snapshot: models.Snapshot, Upstreams: assetapi.New(providers), Now: time.Now, IDs: ids, Log: log,
		Jitter: func(int64) int64 { return 0 },
	})
	w.videos = video.New(p.db, video.Options{
		Ledger: p.api.Ledger, Snapshot: models.Snapshot, Limits: ratelimit.New(ratelimit.Options{Now: time.Now}), Upstreams: videoapi.New(providers, out),
		Store: store, Thumbnailer: media.New("no such program"), Events: w.webhooks, Egress: out, Assets: assets, Now: time.Now, IDs: ids, Random: rand.Reader,
		Jitter: func(int64) int64 { return 0 }, Log: log, BaseURL: "https://gateway.example",
		Waits: video.Waits{PollMin: time.Millisecond, PollMax: 2 * time.Millisecond, RetryMin: time.Millisecond},
	})
	p.api.Catalog, p.text.Snapshot, p.text.Egress = models, models.Snapshot, out
	p.api.Webhooks, p.api.Assets, p.api.Videos, p.api.IDs = w.webhooks, assets, w.videos, ids
	p.api.Idempotency = idempotency.New(p.db, idempotency.Options{Now: time.Now, Log: log})
	p.api.Payments = seller(t, p.db, w.payments.URL, paymentSecret)
	p.api.Audit = audit.New(p.db, time.Now, ids)
	p.api.Content = contentlog.New(p.db, contentlog.Options{Audit: p.api.Audit, Now: time.Now, Log: log})
	p.api.Accounts = account.New(p.db, p.api.Ledger, account.Options{
		PasswordMemoryKiB: apptest.PasswordMemoryKiB,
		Now:               time.Now, IDs: ids, Random: rand.Reader, Log: log, BaseURL: "https://gateway.example",
	})
}

func openErrorModels(t *testing.T, p *plan, secrets func(string) (string, bool)) *catalog.Catalog {
	t.Helper()
	text := strings.NewReplacer("TEXT", cheap, "DEAR", strings.ReplaceAll(dear, "90000", "1000000"), "COSTLY", strings.ReplaceAll(dear, "90000", "200"), "SEEING", strings.Replace(cheap, "input: [text]", "input: [text, image]", 1),
		"VIDEO", errorFilm).Replace(errorModels)
	f, err := catalog.ParseFile([]byte(text))
	must(t, err)
	must(t, catalog.Apply(t.Context(), p.db, f))
	c, err := catalog.Open(t.Context(), p.db, catalog.Options{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Secrets: secrets, Traits: dialect.Traits, Extras: notOffered,
	})
	must(t, err)
	return c
}

// notOffered are the rows of what the gateway offers for no model, as the contracts of a server have them.
func notOffered(style llm.Style) (list []catalog.Extra) {
	for _, row := range dialect.Extras(style) {
		list = append(list, catalog.Extra{
			What: row.What, At: row.At, Refused: row.Rule == dialect.ExtraRefused, Free: row.Free, Advice: row.Advice(),
			Limited: len(row.Types)+len(row.Except)+len(row.Only)+len(row.Unless) > 0,
		})
	}
	return list
}

// makeKeys makes the keys that rows call by name, each of which is refused for another reason.
func (w *errorWorld) makeKeys() {
	past := time.Now().Add(time.Hour)
	specs := map[string]apikey.Spec{
		"caller":  {},
		"manager": {Scopes: []app.Scope{app.ScopeManagement}},
		"narrow":  {Models: []string{"test/other"}},
		"single":  {Concurrency: 1},
		"budget":  {Budget: &billing.Allowance{Limit: app.Cent, Period: billing.EachMonth}},
		"strict":  {Strict: true},
		"abroad":  {Addresses: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}},
		"off":     {}, "old": {ExpiresAt: &past}, "rotated": {}, "leaked": {},
	}
	for name, spec := range specs {
		if spec.Scopes == nil {
			spec.Scopes = []app.Scope{"inference:text", "inference:video", "videos", "assets", "models:read", "usage:read", "webhooks"}
		}
		spec.ErrorMode = apikey.Standard
		k, secret := w.key(spec)
		w.secrets[name], w.names["key:"+name] = secret, k.ID
	}
	_, w.secrets["models"] = w.key(apikey.Spec{Scopes: []app.Scope{"models:read"}, ErrorMode: apikey.Standard})
	must(w.t, w.apiKeys.Disable(w.t.Context(), w.owner.Principal(), w.names["key:off"], true))
	_, _, err := w.apiKeys.Rotate(w.t.Context(), w.owner.Principal(), w.names["key:rotated"], time.Hour)
	must(w.t, err)
	_, err = w.db.Exec(`update api_keys set previous_until = now() - interval '1 minute' where id = $1`, w.names["key:rotated"])
	must(w.t, err)
	_, err = w.db.Exec(`update api_keys set expires_at = now() - interval '1 day' where id = $1`, w.names["key:old"])
	must(w.t, err)
}

// fill replaces each {name} of a row by what it stands for.
func (w *errorWorld) fill(s string) string {
	for name, value := range w.names {
		s = strings.ReplaceAll(s, "{"+name+"}", value)
	}
	return s
}

// send makes a request with a key, which rows call by a name.
func (w *errorWorld) send(key, method, path, body string, headers ...string) reply {
	w.t.Helper()
	bears := []string{"X-Error-Status", "standard"}
	if secret := w.secrets[key]; secret != "" {
		bears = append(bears, bearer(secret)...)
	}
	return w.call(method, w.fill(path), w.fill(body), append(bears, headers...)...)
}

// text is the body of a call in the style of a path.
func text(path, model, prompt, more string) string {
	quoted := func(s string) string {
		raw, err := json.Marshal(s)
		if err != nil {
			return s
		}
		return strings.Trim(string(raw), `"`)
	}
	return fmt.Sprintf(keyedPaths[path], quoted(model), quoted(prompt), more)
}

// film makes a video and works until it has ended.
func (w *errorWorld) film(model, prompt string) string {
	w.t.Helper()
	made := w.send("caller", http.MethodPost, "/v1/videos", `{"model":"`+model+`","prompt":"`+prompt+`","size":"1280x720","seconds":"4"}`)
	id := decode[struct{ ID string }](w.t, made, http.StatusOK).ID
	for range 2000 {
		_, err := w.videos.Work(w.t.Context())
		must(w.t, err)
		if r := w.send("caller", http.MethodGet, "/v1/videos/"+id, ""); strings.Contains(r.body, `"completed"`) || strings.Contains(r.body, `"failed"`) {
			return id
		}
	}
	w.t.Fatalf("the video %s does not end", id)
	return ""
}

// whileOneRuns makes a request while a call of the same key waits for its provider.
func (w *errorWorld) whileOneRuns(key string, then func() reply) reply {
	w.t.Helper()
	first := make(chan reply, 1)
	go func() {
		first <- w.send(key, http.MethodPost, "/v1/chat/completions", text("/v1/chat/completions", "test/held", "echo: x", ""))
	}()
	w.waiting("1")
	answer := then()
	w.release()
	if a := <-first; a.status != http.StatusOK {
		w.t.Errorf("the call that ran first: %d %s", a.status, a.body)
	}
	return answer
}
