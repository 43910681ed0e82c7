package credential_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
)

// vector is a published case: a request, and how it is signed.
type vector struct {
	Context struct {
		Credentials struct {
			ID     string `json:"access_key_id"`
			Secret string `json:"secret_access_key"`
			Token  string `json:"token"`
		} `json:"credentials"`
		Region    string    `json:"region"`
		Service   string    `json:"service"`
		Timestamp time.Time `json:"timestamp"`
	} `json:"context"`
	Request string `json:"request"`
	Signed  string `json:"header_signed_request"`
}

// signedVectors are the published cases that a request to a provider can be like. The others have paths that are not escaped, normalize
// paths, or sign further headers and forms.
var signedVectors = []string{
	"get-unreserved", "get-vanilla", "get-vanilla-empty-query-key", "get-vanilla-query", "get-vanilla-query-order-encoded",
	"get-vanilla-query-order-key-case", "get-vanilla-query-unreserved", "get-vanilla-utf8-query", "get-vanilla-with-session-token",
	"post-header-key-case", "post-sts-header-before", "post-vanilla", "post-vanilla-empty-query-value", "post-vanilla-query",
}

func TestPublishedRequestsAreSigned(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../recordings/testdata/providers/sigv4/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]vector
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range signedVectors {
		v, known := all[name]
		if !known {
			t.Fatalf("there is no %s", name)
		}
		value := v.Context.Credentials.ID + ":" + v.Context.Credentials.Secret
		if v.Context.Credentials.Token != "" {
			value += ":" + v.Context.Credentials.Token
		}
		o := options(t, catalog.Auth{Kind: catalog.AuthSigV4, Service: v.Context.Service, Region: v.Context.Region}, value)
		o.Now = func() time.Time { return v.Context.Timestamp }
		line, _, _ := strings.Cut(v.Request, "\n")
		method, rest, _ := strings.Cut(line, " ")
		u, err := url.Parse("https://example.amazonaws.com" + strings.TrimSuffix(rest, " HTTP/1.1"))
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{Method: method, URL: u, Host: u.Host, Header: http.Header{"Traceparent": {"00-1-2-01"}}}
		if err := source(t, o).Authorize(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		_, want, _ := strings.Cut(v.Signed, "\nAuthorization:")
		want, _, _ = strings.Cut(want, "\n")
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}
