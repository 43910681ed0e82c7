package provider_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app/provider"
)

func TestACallNamesItsMethodPathAndBody(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		seen <- r
		w.Header().Set("X-Said", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	})
	c, r := client(t, provider.Options{}), route(s.URL)
	for _, one := range []struct {
		call      provider.Call
		uri, kind string
	}{
		{provider.Call{Method: "GET", Path: "/videos/a%2Fb?limit=1"}, "/v1/videos/a%2Fb?limit=1", ""},
		{provider.Call{Method: "DELETE", Path: s.URL + "/elsewhere#part"}, "/elsewhere", ""},
		{provider.Call{Method: "POST", Path: "/x", Payload: payload(`{}`)}, "/v1/x", "application/json"},
		{provider.Call{Method: "POST", Path: "/x", Payload: payload(`b`), Header: http.Header{"Content-Type": {"text/x"}}}, "/v1/x", "text/x"},
	} {
		reply, f := c.Do(t.Context(), r, one.call)
		if f != nil {
			t.Fatal(f)
		}
		got, f := reply.ReadAll(100)
		_ = reply.Close()
		req := <-seen
		if f != nil || reply.Status != http.StatusTeapot || string(got) != "short and stout" || reply.Size != 15 || reply.Header.Get("X-Said") != "yes" {
			t.Errorf("%d %s, %v", reply.Status, got, f)
		}
		if req.Method != one.call.Method || req.RequestURI != one.uri || req.Header.Get("Content-Type") != one.kind || req.Header.Get("X-Extra") != "yes" ||
			req.Header.Get("Authorization") != "Bearer "+credential || req.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s %s %v", req.Method, req.RequestURI, req.Header)
		}
	}
	reply, f := c.Do(t.Context(), r, provider.Call{Method: "GET", Path: "/x"})
	if f != nil {
		t.Fatal(f)
	}
	defer reply.Close()
	<-seen
	if got, f := reply.ReadAll(5); f == nil || f.Class != provider.ClassTooLarge || string(got) != "short" {
		t.Errorf("%q, %v", got, f)
	}
	if reply.StatusFault(404, nil).Status != 404 || reply.BodyFault([]byte(`{"error":{"code":429}}`)).Class != provider.ClassRateLimited ||
		strings.Contains(reply.Redact("x "+credential), credential) || !reply.HasCredential("x"+credential) || reply.HasCredential("x") {
		t.Error("a reply does not say what it means")
	}
}

func TestACallNeverGoesToAnotherHost(t *testing.T) {
	t.Parallel()
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") })
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	c, r := client(t, provider.Options{}), route(s.URL)
	for _, path := range []string{
		other.URL + "/x", "", "x", "https://" + strings.TrimPrefix(s.URL, "http://"), strings.Replace(s.URL, "http://", "http://u:p@", 1),
		"//" + strings.TrimPrefix(other.URL, "http://") + "/x\x00",
	} {
		if _, f := c.Do(t.Context(), r, provider.Call{Method: "GET", Path: path}); f == nil || f.Class != provider.ClassSetup || !f.Unsent {
			t.Errorf("%q: %v", path, f)
		}
	}
}

func TestHomeIsTheSchemeAndHostOfTheProvider(t *testing.T) {
	t.Parallel()
	r := route("https://API.example:443")
	for address, want := range map[string]bool{
		"https://api.example/v1/x": true, "https://api.example:443/": true, "HTTPS://Api.Example": true,
		"http://api.example/": false, "https://api.example:8443/": false, "https://api.example.evil/": false, "https://other.example/": false, "/x": false,
	} {
		u, err := url.Parse(address)
		if err != nil || provider.IsProviderAddress(r, u) != want {
			t.Errorf("%s: %v, %v", address, !want, err)
		}
	}
}

func TestAFaultOfACallSaysWhetherItWasSent(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := client(t, provider.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, f := c.Do(ctx, route(s.URL), provider.Call{Method: "GET", Path: "/x"}); f == nil || f.Class != provider.ClassTotal || f.Unsent {
		t.Errorf("%+v", f)
	}
	if _, f := c.Do(ctx, route(s.URL), provider.Call{Method: "GET", Path: "/x"}); f == nil || f.Class != provider.ClassTotal || !f.Unsent {
		t.Errorf("%+v", f)
	}
	if _, f := c.Do(t.Context(), route("http://does-not-exist.invalid"), provider.Call{Method: "GET", Path: "/x"}); f == nil || !f.Unsent {
		t.Errorf("%+v", f)
	}
}
