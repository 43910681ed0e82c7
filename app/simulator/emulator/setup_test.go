package emulator_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app/simulator/emulator"
)

// clock is a time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bench is an emulator behind a server.
type bench struct {
	*emulator.Emulator
	t     *testing.T
	clock *clock
	url   string
}

func setup(t *testing.T) *bench {
	t.Helper()
	c := &clock{now: time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)}
	e := emulator.New(emulator.Options{Now: c.Now, Random: rand.Reader})
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	return &bench{Emulator: e, t: t, clock: c, url: s.URL}
}

// reply is an answer of the emulator.
type reply struct {
	status int
	header http.Header
	body   string
}

// post sends a body with headers, which are pairs of names and values.
func (b *bench) post(path, body string, headers ...string) reply {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.do(r)
}

func (b *bench) do(r *http.Request) reply {
	b.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// call calls a provider with its right credential.
func (b *bench) call(provider, path, body string) reply {
	b.t.Helper()
	key := emulator.Key(provider)
	headers := []string{"Authorization", "Bearer " + key}
	switch provider {
	case "anthropic":
		headers = []string{"X-Api-Key", key, "Anthropic-Version", "2023-06-01"}
	case "azure", "foundry":
		headers = []string{"Api-Key", key}
	case "gemini":
		headers = []string{"X-Goog-Api-Key", key}
	case "vertex":
		headers = []string{"Authorization", "Bearer " + b.googleToken()}
	}
	return b.post("/"+provider+path, body, headers...)
}

// googleToken gets a token with the refresh token of the user.
func (b *bench) googleToken() string {
	b.t.Helper()
	form := "grant_type=refresh_token&client_id=" + emulator.UserID + "&client_secret=" + emulator.UserSecret + "&refresh_token=" +
		strings.ReplaceAll(emulator.RefreshToken, "/", "%2F")
	got := b.post("/google/token", form, "Content-Type", "application/x-www-form-urlencoded")
	var token struct {
		Text string `json:"access_token"`
	}
	if json.Unmarshal([]byte(got.body), &token) != nil || token.Text == "" {
		b.t.Fatalf("no token: %d %s", got.status, got.body)
	}
	return token.Text
}

// compact is a JSON text without spaces; the text itself when it is no JSON.
func compact(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	var b bytes.Buffer
	if json.NewEncoder(&b).Encode(v) != nil {
		return text
	}
	return strings.TrimSpace(b.String())
}
