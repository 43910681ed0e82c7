package videoapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"umg/app/catalog"
	"umg/app/egress"
	"umg/app/llm"
	"umg/app/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is the credential; it must never be where it does not belong.
const canary = "canary-credential-51"

var monday = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

// sent is a request as the upstream saw it.
type sent struct {
	method, uri, body string
	header            http.Header
}

// upstream records what it is asked and answers with a function.
type upstream struct {
	*httptest.Server

	mu   sync.Mutex
	seen []sent
}

func (u *upstream) host() string { return strings.TrimPrefix(u.URL, "http://") }

func (u *upstream) all() []sent {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen
}

func (u *upstream) last(t *testing.T) sent {
	t.Helper()
	all := u.all()
	if len(all) == 0 {
		t.Fatal("the upstream was not asked")
	}
	return all[len(all)-1]
}

func serve(t *testing.T, answer http.HandlerFunc) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.seen = append(u.seen, sent{r.Method, r.URL.RequestURI(), string(body), r.Header.Clone()})
		u.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

// says answers with a status and a JSON body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// bases are the paths of the base addresses, as in the catalog.
var bases = map[llm.Style]string{catalog.VideosStyle: "/v1", catalog.OperationsStyle: "/v1beta", catalog.TasksStyle: "/v1"}

func route(style llm.Style, url string) *catalog.Route {
	p := &catalog.Provider{ID: "p", BaseURL: url + bases[style], Credentials: []catalog.Secret{catalog.NewSecret(canary)}}
	if style == catalog.OperationsStyle {
		p.CredentialHeader = "X-Goog-Api-Key"
	}
	return &catalog.Route{Provider: p, Model: "model-1", Style: style, Timeouts: catalog.Timeouts{Connect: time.Second}}
}

// client may fetch files from the hosts it is given.
func client(t *testing.T, hosts ...string) *Client {
	t.Helper()
	files, err := egress.New(egress.Options{Exceptions: hosts})
	if err != nil {
		t.Fatal(err)
	}
	providers := provider.New(provider.Options{})
	t.Cleanup(func() { providers.Close(); files.Close() })
	return New(providers, files)
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// order is a wide video of five seconds.
func order() CreateRequest {
	return CreateRequest{Reference: "video_1", Model: "model-1", Prompt: `A fox, "red" <fast>`, Width: 1280, Height: 720, Seconds: 5,
		Callback: "https://gateway.example/callbacks/videos/t", CreatedAt: monday}
}

func with(change func(*CreateRequest)) CreateRequest {
	o := order()
	change(&o)
	return o
}

func pictured(o *CreateRequest) { o.Image = &Image{Type: "image/png", Data: []byte("a picture")} }
