package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"umg/views/stories"
)

func serve(t *testing.T) (*httptest.Server, *http.Client) {
	t.Helper()
	srv := httptest.NewServer(newStorybook())
	t.Cleanup(srv.Close)
	client := srv.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return srv, client
}

func text(t *testing.T, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryStoryIsListedAndServedUnderThePolicy(t *testing.T) {
	t.Parallel()
	srv, client := serve(t)
	res, err := client.Get(srv.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	index := text(t, res)
	for _, s := range stories.All() {
		if !strings.Contains(index, `href="/stories/`+s.Name+`"`) {
			t.Errorf("%s is not listed", s.Name)
		}
		res, err := client.Get(srv.URL + "/stories/" + s.Name + "?theme=dark&still")
		if err != nil {
			t.Fatal(err)
		}
		page := text(t, res)
		if res.StatusCode != s.Status || !strings.Contains(page, `<html lang="en" class="dark" data-still`) {
			t.Errorf("%s answers %d, or not in the theme asked for", s.Name, res.StatusCode)
		}
		if csp := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s is served under %q", s.Name, csp)
		}
	}
	if res, err := client.Get(srv.URL + "/stories/absent"); err != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown story answers %v, %v", res.StatusCode, err)
	}
}

func TestFormsLeadWhereTheyWouldInTheConsole(t *testing.T) {
	t.Parallel()
	srv, client := serve(t)
	for _, c := range []struct {
		path   string
		form   url.Values
		status int
		says   string
	}{
		{"/console/keys", url.Values{}, 422, `id="key-name-error"`},
		{"/console/keys", url.Values{"name": {"a"}, "mode": {"standard"}}, 200, "UMG_BASE_URL"},
		{"/console/keys", url.Values{"name": {"a"}, "mode": {"documented"}}, 200, "UMG_API_KEY"},
		{"/console/keys", url.Values{"name": {"a"}, "from": {"overview"}}, 200, `id="onboarding"`},
		{"/console/keys", url.Values{"from": {"overview"}}, 422, `id="onboarding"`},
		{"/console/keys/k/delete", url.Values{"name": {"x"}}, 422, `id="delete-name-error"`},
		{"/console/keys/k/delete", url.Values{"name": {"Laptop"}}, 303, ""},
		{"/console/keys/k/disable", url.Values{}, 303, ""},
		{"/console/theme", url.Values{"theme": {"dark"}, "next": {"https://elsewhere.example/"}}, 303, ""},
		{"/console/keys", url.Values{"name": {strings.Repeat("x", formBytesMax)}}, 422, ""},
	} {
		res, err := client.PostForm(srv.URL+c.path, c.form)
		if err != nil {
			t.Fatal(err)
		}
		if page := text(t, res); res.StatusCode != c.status || !strings.Contains(page, c.says) {
			t.Errorf("%s %v answers %d", c.path, c.form, res.StatusCode)
		}
		if to := res.Header.Get("Location"); strings.Contains(to, "elsewhere") {
			t.Errorf("%s redirects to %s", c.path, to)
		}
	}
}

func TestTheMadeUpRequestArrivesAfterSomePolls(t *testing.T) {
	t.Parallel()
	srv, client := serve(t)
	for i := 1; i <= pollsUntilAnswered; i++ {
		res, err := client.Get(srv.URL + "/console/first-request")
		if err != nil {
			t.Fatal(err)
		}
		page := text(t, res)
		if last := i == pollsUntilAnswered; last != strings.Contains(page, "was answered") || last == strings.Contains(page, "Waiting for your first request") {
			t.Errorf("poll %d answers %d: %s", i, res.StatusCode, page)
		}
	}
}

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	t.Parallel()
	if l, err := listenLoopback(t.Context(), "0.0.0.0:0"); err == nil {
		_ = l.Close()
		t.Fatal("the storybook listens where others can reach it")
	}
	ctx, stop := context.WithCancel(t.Context())
	ready, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, "127.0.0.1:0", out) }()
	line := make([]byte, 256)
	n, err := ready.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "Storybook: "))
	res, err := http.Get(address)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the index answers %v, %v", res, err)
	}
	_ = res.Body.Close()
	stop()
	if err := <-done; err != nil {
		t.Fatalf("stopping ends with %v", err)
	}
}
