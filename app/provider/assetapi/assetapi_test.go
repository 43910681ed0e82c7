package assetapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider"
)

// TestMain proves that no call leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "sk-upstream-secret-9f2c"

const item = `{"id":"a/1","group_id":"g","type":"image","url":"https://example.com/a","name":"n","reference":"asset_1",
	"status":"processing","error":null,"created_at":1790000000,"size":12,"labels":["x"]}`

// upstream answers every call the same way, and remembers the last one.
type upstream struct {
	*httptest.Server

	method, uri, body, key string
}

func answering(t *testing.T, status int, body string) (*upstream, *Client, *catalog.Provider) {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		u.method, u.uri, u.body, u.key = r.Method, r.URL.RequestURI(), string(sent), r.Header.Get("X-Key")
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(u.Close)
	providers := provider.New(provider.Options{})
	t.Cleanup(providers.Close)
	return u, New(providers), &catalog.Provider{
		ID: "up", BaseURL: u.URL + "/v1", Credentials: []catalog.Secret{catalog.NewSecret(secret)}, CredentialHeader: "X-Key",
		Timeouts: catalog.Timeouts{Connect: time.Second},
	}
}

var order = CreateRequest{Reference: "asset_1", Group: "g", Kind: "image", URL: "https://example.com/a", Name: "n"}

func TestCallsAreInTheWordsOfTheWire(t *testing.T) {
	t.Parallel()
	u, c, p := answering(t, http.StatusOK, item)
	made, f := c.Create(t.Context(), p, order)
	if f != nil {
		t.Fatal(f)
	}
	if u.method != "POST" || u.uri != "/v1/assets" || u.key != secret ||
		u.body != `{"group_id":"g","type":"image","url":"https://example.com/a","name":"n","reference":"asset_1"}` {
		t.Errorf("create: %s %s %s", u.method, u.uri, u.body)
	}
	var extra map[string]any
	if err := json.Unmarshal(made.Extra, &extra); err != nil || len(extra) != 2 || extra["size"] != 12.0 {
		t.Errorf("the other members are %s", made.Extra)
	}
	if made.ID != "a/1" || made.Reference != "asset_1" || made.Status != "processing" || made.CreatedAt.Unix() != 1790000000 || made.Reason != "" {
		t.Errorf("%+v", made)
	}
	if _, f = c.Get(t.Context(), p, "a/1"); f != nil || u.method != "GET" || u.uri != "/v1/assets/a%2F1" {
		t.Errorf("get: %s %s: %v", u.method, u.uri, f)
	}
	if f = c.Delete(t.Context(), p, "a/1"); f != nil || u.method != "DELETE" || u.uri != "/v1/assets/a%2F1" {
		t.Errorf("delete: %s %s: %v", u.method, u.uri, f)
	}
	if _, f = c.Get(t.Context(), p, "another"); f == nil {
		t.Error("an item that was not asked for is taken")
	}
	other := order
	other.Reference = "asset_2"
	if _, f = c.Create(t.Context(), p, other); f == nil || !Ambiguous(f) {
		t.Errorf("the answer to another order is taken: %v", f)
	}
}

func TestAnItemIsFoundByItsReference(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]bool{
		`{"data":[],"total":0}`:   false,
		`{"data":[` + item + `]}`: true,
		`{"data":[{"id":"other","reference":"asset_0"},` + item + `]}`: true,
		`{"data":[{"id":"other","reference":"asset_0"}]}`:              false,
	} {
		u, c, p := answering(t, http.StatusOK, list)
		found, ok, f := c.Find(t.Context(), p, "g", "asset_1")
		if f != nil || ok != want || ok && found.ID != "a/1" || u.uri != "/v1/assets?group_id=g&reference=asset_1" {
			t.Errorf("%s: %+v %v %v after %s", list, found, ok, f, u.uri)
		}
	}
	for _, list := range []string{`[]`, `{}`, `{"data":null}`, `{"data":[7]}`, `{"data":[{"reference":"asset_1"}]}`, `nothing`} {
		_, c, p := answering(t, http.StatusOK, list)
		if _, ok, f := c.Find(t.Context(), p, "g", "asset_1"); f == nil || ok {
			t.Errorf("%s is no list, and was read as one", list)
		}
	}
}

func TestFaultsSayWhetherTheOrderMayHaveBeenTaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status    int
		body      string
		ambiguous bool
		param     string
	}{
		{http.StatusBadRequest, `{"error":{"message":"no","param":"url"}}`, false, "url"},
		{http.StatusNotFound, `{"error":"no"}`, false, ""},
		{http.StatusUnauthorized, `{}`, false, ""},
		{http.StatusTooManyRequests, `{}`, false, ""},
		{http.StatusMovedPermanently, ``, false, ""},
		{http.StatusOK, `{"error":{"message":"no such group","code":"invalid_request"}}`, false, ""},
		{http.StatusInternalServerError, `{}`, true, ""},
		{http.StatusServiceUnavailable, `{}`, true, ""},
		{http.StatusOK, `<html>`, true, ""},
		{http.StatusOK, `{"id":""}`, true, ""},
		{http.StatusOK, `{"id":"x","status":"a\u0007b"}`, true, ""},
		{http.StatusOK, `{"id":"` + strings.Repeat("x", idBytesMax+1) + `"}`, true, ""},
		{http.StatusOK, `{"id":"x","note":"` + strings.Repeat("x", answerBytesMax) + `"}`, true, ""},
		{0, ``, true, ""},
	} {
		_, client, p := answering(t, c.status, c.body)
		_, f := client.Create(t.Context(), p, order)
		if f == nil || Ambiguous(f) != c.ambiguous || f.Err.Param != c.param {
			t.Errorf("%d %.60s: %v", c.status, c.body, f)
		}
	}
	_, client, p := answering(t, http.StatusOK, item)
	p.BaseURL = "http://127.0.0.1:1"
	if _, f := client.Create(t.Context(), p, order); f == nil || Ambiguous(f) {
		t.Errorf("no server listens: %v", f)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Nanosecond, provider.ErrTotal)
	defer cancel()
	if _, f := client.Create(ctx, p, order); f == nil || Ambiguous(f) || app.KindOf(f) != app.Timeout {
		t.Errorf("it was not sent: %v", f)
	}
	if Ambiguous(nil) || Gone(nil) {
		t.Error("no fault is one")
	}
}

func TestWhatIsGoneIsRemoved(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct{ gone, failed bool }{
		http.StatusNotFound: {true, false}, http.StatusGone: {true, false}, http.StatusBadRequest: {false, true},
		http.StatusInternalServerError: {false, true}, http.StatusOK: {false, false},
	} {
		_, c, p := answering(t, status, `{"id":"x","deleted":true}`)
		if _, f := c.Get(t.Context(), p, "x"); Gone(f) != want.gone {
			t.Errorf("%d: %v", status, f)
		}
		if f := c.Delete(t.Context(), p, "x"); (f != nil) != want.failed {
			t.Errorf("%d: %v", status, f)
		}
	}
}

func TestTheCredentialIsNotPassedOn(t *testing.T) {
	t.Parallel()
	_, c, p := answering(t, http.StatusOK, `{"id":"x","status":"failed","note":"`+secret+`",
		"error":{"code":"source","message":"Bearer `+secret+` at http://inside.example cannot read it"}}`)
	got, f := c.Get(t.Context(), p, "x")
	if f != nil || strings.Contains(got.Reason, secret) || strings.Contains(got.Reason, "inside.example") || got.Extra != nil ||
		!strings.Contains(got.Reason, "cannot read it") {
		t.Errorf("%+v: %v", got, f)
	}
}

// FuzzParse proves that an answer either has an id and a state that can be kept, or is refused.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{item, `{"id":"x"}`, `{"id":"x","error":{"code":"c"}}`, `{"id":"x","a":"\u0000"}`, "{\"id\":\"x\",\"a\":\"\xff\"}", `[]`, `{"id":7}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := parseItem(raw)
		if err != nil {
			return
		}
		if got.ID == "" || len(got.ID) > idBytesMax || len(got.Status) > statusBytesMax || strings.ContainsFunc(got.ID+got.Status, isUnprintable) ||
			len(got.Extra) > extraBytesMax || got.Extra != nil && (!json.Valid(got.Extra) || !utf8.Valid(got.Extra)) {
			t.Errorf("%q is %+v", raw, got)
		}
	})
}
