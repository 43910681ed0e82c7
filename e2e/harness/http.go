package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// BearerHeader is the header that authenticates a call with a key, for Gateway.Call.
func BearerHeader(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

// UniqueName makes a name that was not used before on this gateway.
func UniqueName(name string) string { return fmt.Sprint(name, "-", time.Now().UnixNano()) }

// Response is one HTTP answer, read whole.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Call sends one request to a path below the gateway's origin, with the demo's key unless a header says otherwise.
// A header whose value is empty is not sent at all.
func (g *Gateway) Call(t testing.TB, method, path, body string, headers ...string) Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), CallTimeMax)
	defer cancel()
	a, err := g.TryCall(ctx, method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TryCall is Call with an error in place of a failed test.
func (g *Gateway) TryCall(ctx context.Context, method, path, body string, headers ...string) (Response, error) {
	req, err := g.NewRequest(ctx, method, path, body, headers...)
	if err != nil {
		return Response{}, err
	}
	resp, err := HTTPClient.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}, err
}

// NewRequest makes the request that Call sends.
func (g *Gateway) NewRequest(ctx context.Context, method, path, body string, headers ...string) (*http.Request, error) {
	origin := strings.TrimSuffix(g.BaseURL, "/v1")
	req, err := http.NewRequestWithContext(ctx, method, origin+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+g.APIKey)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return req, nil
}

// HTTPClient follows no redirects and keeps enough connections for the tests that call in parallel.
var HTTPClient = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 512},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}
