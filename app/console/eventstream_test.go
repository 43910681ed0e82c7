package console_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"umg/billing"
)

// follow opens a live stream as a browser does and hands on its lines until it ends.
func (p *person) follow(ctx context.Context, server, path, last string) (status int, lines <-chan string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range p.cookies {
		r.AddCookie(c)
	}
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	a, err := client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		defer func() { _ = a.Body.Close() }()
		for s := bufio.NewScanner(a.Body); s.Scan(); {
			out <- s.Text()
		}
	}()
	return a.StatusCode, out
}

// until reads lines up to the one with a text, and says what the last id was; false when the stream ended before.
func until(t *testing.T, lines <-chan string, text string) (id, read string, found bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case line, open := <-lines:
			if !open {
				return id, read, false
			}
			if rest, is := strings.CutPrefix(line, "id: "); is {
				id = rest
			}
			if read += line + "\n"; strings.Contains(line, text) {
				return id, read, true
			}
		case <-limit:
			t.Fatalf("nothing with %q in %s", text, read)
		}
	}
}

func TestTheLogGoesOnWhereItWasAndEndsWithTheSession(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	web := httptest.NewServer(h.web)
	t.Cleanup(web.Close)
	p := h.signedIn("tail@example.com")
	account := h.accountOf("tail@example.com")
	ctx, cancel := context.WithCancel(t.Context())
	status, lines := p.follow(ctx, web.URL, "/console/requests/live?model=aurora-large", "")
	if status != http.StatusOK {
		t.Fatalf("%d", status)
	}
	h.call(account, 1, billing.UsageRecord{Model: "reel", Style: "videos"})
	first := h.call(account, 43, billing.UsageRecord{Model: "aurora-large", Style: "chat"})
	place, read, found := until(t, lines, first)
	if !found || place == "" || strings.Contains(read, "reel") {
		t.Fatalf("%q: %s", place, read)
	}
	cancel()
	missed := h.call(account, 44, billing.UsageRecord{Model: "aurora-large", Style: "chat"})
	_, lines = p.follow(t.Context(), web.URL, "/console/requests/live?model=aurora-large", place)
	if _, read, found = until(t, lines, missed); !found || strings.Contains(read, first) {
		t.Errorf("again: %s", read)
	}
	if a := p.do(http.MethodHead, "/console/requests/live", nil); a.status != http.StatusOK {
		t.Errorf("HEAD: %d", a.status)
	}
	has(t, "a place that is none", p.see("/console/requests/live?last=x"), 400)
	cookies := *p
	cookies.send("/console/sign-out", nil)
	if _, _, open := until(t, lines, "never said"); open {
		t.Error("the stream outlived the session")
	}
}
