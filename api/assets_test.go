package api_test

import (
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/asset"
	"umg/app/catalog"
	"umg/app/egress"
	"umg/app/idempotency"
	"umg/app/provider"
	"umg/app/provider/assetapi"
	"umg/app/simulator"
)

const assetsPath = "/v1/files/vendorx/assets"

// shelf is an upstream that keeps assets, with sources to point at.
type shelf struct {
	*httptest.Server

	sim *simulator.Simulator
}

// withAssets serves the routes about assets over an upstream of their own.
func withAssets(t *testing.T, s *shelf) func(*plan) {
	t.Helper()
	s.sim = simulator.New(simulator.Options{Control: true})
	s.Server = httptest.NewServer(s.sim)
	t.Cleanup(s.Close)
	out, err := egress.New(egress.Options{Exceptions: []string{strings.TrimPrefix(s.URL, "http://")}})
	must(t, err)
	providers := provider.New(provider.Options{})
	t.Cleanup(func() { out.Close(); providers.Close() })
	return func(p *plan) {
		text := strings.NewReplacer("ROUTES", cheap, "DEAR", dear).Replace(models)
		f, err := catalog.ParseFile([]byte(strings.Replace(text, "\nproviders:\n",
			"\nproviders:\n  - {id: shelf, name: Shelf, base_url: \"${SHELF}/shelf/v1\", assets: {group: tests}}\n", 1)))
		must(t, err)
		must(t, catalog.Apply(t.Context(), p.db, f))
		log := slog.New(slog.DiscardHandler)
		c, err := catalog.Open(t.Context(), p.db, catalog.Options{Now: time.Now, Log: log, Secrets: func(name string) (string, bool) {
			return s.URL, name == "SHELF"
		}})
		must(t, err)
		p.api.IDs = app.IDs{Now: time.Now, Random: rand.Reader}
		p.api.Idempotency = idempotency.New(p.db, idempotency.Options{Now: time.Now, Log: log})
		p.api.Assets = asset.New(p.db, asset.Options{
			Egress: out, Snapshot: c.Snapshot, Upstreams: assetapi.New(providers), Now: time.Now, IDs: p.api.IDs, Log: log,
			Jitter: func(int64) int64 { return 0 },
		})
	}
}

func (s *shelf) source(name string) string { return s.URL + "/media/samples/" + name }

func (s *shelf) body(kind, sample, name string) string {
	b, _ := json.Marshal(map[string]string{"asset_type": kind, "url": s.source(sample), "name": name})
	return string(b)
}

type assetReply struct {
	ID        string `json:"asset_id"`
	Kind      string `json:"asset_type"`
	Name      string
	URL       string
	Status    string
	CreatedAt int64  `json:"created_at"`
	Upstream  string `json:"upstream_asset_id"`
	Error     *struct{ Code, Message string }
	Deleted   any
	Labels    []string
	Note      string
}

func TestAssetsAreCreatedReadListedAndDeleted(t *testing.T) {
	t.Parallel()
	var s shelf
	h := setup(t, withAssets(t, &s))
	auth := bearer(h.secret())
	made := decode[assetReply](t, h.call("POST", assetsPath, s.body("image", "picture.png", "simulate: members"), auth...), 200)
	if !strings.HasPrefix(made.ID, "asset_") || made.Kind != "image" || made.Name != "simulate: members" || made.Status != "created" ||
		made.URL != s.source("picture.png") || made.CreatedAt == 0 || made.Upstream == "" || made.Error != nil {
		t.Errorf("created: %+v", made)
	}
	got := decode[assetReply](t, h.call("POST", assetsPath+"/get", `{"asset_id":"`+made.ID+`"}`, auth...), 200)
	if got.ID != made.ID || got.Kind != "image" || got.Status != "active" || got.CreatedAt != made.CreatedAt || got.Deleted != nil ||
		len(got.Labels) != 2 || got.Note != "<b>kept cold</b>" {
		t.Errorf("get: %+v", got)
	}
	failing := decode[assetReply](t, h.call("POST", assetsPath, s.body("image", "picture.png", "simulate: fail=bad_source"), auth...), 200)
	got = decode[assetReply](t, h.call("POST", assetsPath+"/get", `{"asset_id":"`+failing.ID+`"}`, auth...), 200)
	if got.Status != "failed" || got.Error == nil || got.Error.Code != "asset_failed" || !strings.Contains(got.Error.Message, "bad_source") {
		t.Errorf("a failed one: %+v", got)
	}
	type list struct {
		Data  []assetReply
		Page  int
		Size  int `json:"page_size"`
		Total int
	}
	page := decode[list](t, h.call("POST", assetsPath+"/list", `{"page":2,"page_size":1}`, auth...), 200)
	if len(page.Data) != 1 || page.Data[0].ID != made.ID || page.Page != 2 || page.Size != 1 || page.Total != 2 {
		t.Errorf("list: %+v", page)
	}
	page = decode[list](t, h.call("POST", assetsPath+"/list", ``, auth...), 200)
	if len(page.Data) != 2 || page.Page != 1 || page.Size != 20 {
		t.Errorf("list without a body: %+v", page)
	}
	gone := h.call("POST", assetsPath+"/delete", `{"asset_id":"`+made.ID+`"}`, auth...)
	if gone.status != 200 || gone.body != `{"asset_id":"`+made.ID+`","deleted":true}` {
		t.Errorf("delete: %d %s", gone.status, gone.body)
	}
	page = decode[list](t, h.call("POST", assetsPath+"/list", `{}`, auth...), 200)
	if page.Total != 1 || page.Data[0].ID != failing.ID {
		t.Errorf("list after delete: %+v", page)
	}
	if r := h.call("POST", assetsPath+"/list", `{"page":9}`, auth...); r.status != 200 || !strings.Contains(r.body, `"data":[]`) {
		t.Errorf("a page behind the end: %d %s", r.status, r.body)
	}
}

func TestEachMistakeAboutAssetsHasItsOwnAnswer(t *testing.T) {
	t.Parallel()
	var s shelf
	h := setup(t, withAssets(t, &s))
	auth := bearer(h.secret())
	good := s.body("image", "picture.png", "x")
	for _, c := range []struct {
		path, body, contentType string
		status                  int
		code, param             string
	}{
		{"", `{"url":"https://example.com/a"}`, "", 400, "missing_required_parameter", "asset_type"},
		{"", `{"asset_type":null,"url":"https://example.com/a"}`, "", 400, "missing_required_parameter", "asset_type"},
		{"", `{"asset_type":7,"url":"https://example.com/a"}`, "", 400, "invalid_value", "asset_type"},
		{"", `{"asset_type":"Image","url":"https://example.com/a"}`, "", 400, "invalid_value", "asset_type"},
		{"", `{"asset_type":"image"}`, "", 400, "missing_required_parameter", "url"},
		{"", `{"asset_type":"image","url":["x"]}`, "", 400, "invalid_value", "url"},
		{"", `{"asset_type":"image","url":"https://10.0.0.1/a"}`, "", 400, "invalid_value", "url"},
		{"", s.body("video", "picture.png", "x"), "", 400, "invalid_value", "url"},
		{"", s.body("image", "moved.png", "x"), "", 400, "invalid_value", "url"},
		{"", s.body("image", "picture.png", strings.Repeat("n", 201)), "", 400, "invalid_value", "name"},
		{"", s.body("image", "picture.png", "simulate: status=422"), "", 400, "invalid_value", "url"},
		{"", s.body("image", "picture.png", "simulate: status=400"), "", 502, "upstream_error", ""},
		{"", s.body("image", "picture.png", "simulate: status=500"), "", 502, "upstream_error", ""},
		{"", s.body("image", "picture.png", "simulate: status=429"), "", 502, "upstream_error", ""},
		{"", `{"asset_type":"image",`, "", 400, "invalid_json", ""},
		{"", `{"asset_type":"image","asset_type":"image"}`, "", 400, "invalid_json", "asset_type"},
		{"", good, "text/plain", 415, "unsupported_media_type", ""},
		{"", good, "multipart/form-data", 415, "unsupported_media_type", ""},
		{"/get", `{}`, "", 400, "missing_required_parameter", "asset_id"},
		{"/get", ``, "", 400, "missing_required_parameter", "asset_id"},
		{"/get", `{"asset_id":7}`, "", 400, "invalid_value", "asset_id"},
		{"/get", `{"asset_id":"asset_x"}`, "", 404, "asset_not_found", "asset_id"},
		{"/get", `[]`, "", 400, "invalid_json", ""},
		{"/delete", `{}`, "", 400, "missing_required_parameter", "asset_id"},
		{"/delete", `{"asset_id":"asset_x"}`, "", 404, "asset_not_found", "asset_id"},
		{"/list", `{"page":0}`, "", 400, "invalid_value", "page"},
		{"/list", `{"page":-1}`, "", 400, "invalid_value", "page"},
		{"/list", `{"page":1.5}`, "", 400, "invalid_value", "page"},
		{"/list", `{"page_size":0}`, "", 400, "invalid_value", "page_size"},
		{"/list", `{"page_size":101}`, "", 400, "invalid_value", "page_size"},
		{"/list", `{"page_size":"20"}`, "", 400, "invalid_value", "page_size"},
		{"/list", `7`, "", 400, "invalid_json", ""},
		{"/list", `{}`, "application/xml", 415, "unsupported_media_type", ""},
	} {
		headers := auth
		if c.contentType != "" {
			headers = append([]string{"Content-Type", c.contentType}, auth...)
		}
		r := h.call("POST", assetsPath+c.path, c.body, headers...)
		said := decode[struct {
			Error struct{ Type, Code, Param, Message string }
		}](t, r, c.status).Error
		if said.Code != c.code || said.Param != c.param || said.Message == "" {
			t.Errorf("%s %.80s: %s", c.path, c.body, r.body)
		}
	}
	if r := h.call("POST", assetsPath+"/list", `{}`); r.status != http.StatusUnauthorized {
		t.Errorf("without a key: %d", r.status)
	}
	if r := h.call("GET", assetsPath, ``, auth...); r.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", r.status)
	}
	if n := len(s.sim.Assets()); n != 0 {
		t.Errorf("the upstream keeps %d", n)
	}
}

func TestAnIdempotencyKeyMakesOneAsset(t *testing.T) {
	t.Parallel()
	var s shelf
	h := setup(t, withAssets(t, &s))
	auth := append(bearer(h.secret()), "Idempotency-Key", "k1")
	first := h.call("POST", assetsPath, s.body("image", "picture.png", "a & b"), auth...)
	again := h.call("POST", assetsPath, `{"url":"`+s.source("picture.png")+`", "name":"a & b", "asset_type":"image"}`, auth...)
	if first.status != 200 || again.status != 200 || first.body != again.body || again.header.Get("Idempotency-Replayed") != "true" ||
		first.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("%d %s\n%d %s", first.status, first.body, again.status, again.body)
	}
	if r := h.call("POST", assetsPath, s.body("image", "picture.png", "other"), auth...); r.status != http.StatusUnprocessableEntity {
		t.Errorf("another body: %d %s", r.status, r.body)
	}
	if n := len(s.sim.Assets()); n != 1 {
		t.Errorf("the upstream keeps %d", n)
	}
	auth = append(bearer(h.secret()), "Idempotency-Key", "k2")
	body := s.body("image", "gone.png", "x")
	for range 2 { // A call that fails releases its idempotency key.
		if r := h.call("POST", assetsPath, body, auth...); r.status != http.StatusBadRequest || r.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
}

func TestAssetsTakeAKeyThatMayUseThem(t *testing.T) {
	t.Parallel()
	var s shelf
	h := setup(t, withAssets(t, &s))
	_, secret := h.key(apikey.Spec{Concurrency: 10, Scopes: []app.Scope{"inference:text"}})
	for _, verb := range []string{"", "/get", "/list", "/delete"} {
		r := h.call("POST", assetsPath+verb, `{}`, bearer(secret)...)
		if r.status != http.StatusForbidden || !strings.Contains(r.body, "insufficient_scope") {
			t.Errorf("%s: %d %s", verb, r.status, r.body)
		}
	}
	if _, err := h.db.ExecContext(t.Context(), `update accounts set frozen_at = now()`); err != nil {
		t.Fatal(err)
	}
	frozen := h.call("POST", assetsPath, s.body("image", "picture.png", "x"), bearer(h.secret())...)
	if frozen.status != http.StatusForbidden || !strings.Contains(frozen.body, "account_frozen") {
		t.Errorf("frozen: %d %s", frozen.status, frozen.body)
	}
	if r := h.call("POST", assetsPath+"/list", `{}`, bearer(h.secret())...); r.status != 200 {
		t.Errorf("a frozen account reads: %d %s", r.status, r.body)
	}
}

func TestWithoutARoomOfAssetsTheRoutesAreUnknown(t *testing.T) {
	t.Parallel()
	h := setup(t)
	if r := h.call("POST", assetsPath+"/list", `{}`, bearer(h.secret())...); r.status != http.StatusNotFound {
		t.Errorf("%d %s", r.status, r.body)
	}
}
