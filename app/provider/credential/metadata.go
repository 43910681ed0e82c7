package credential

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"

	"umg/app/catalog"
)

// metadataTokenPath is where the metadata server of Google Cloud has tokens of the service account of the machine. See
// https://cloud.google.com/compute/docs/access/authenticate-workloads.
const metadataTokenPath = "/computeMetadata/v1/instance/service-accounts/default/token"

// newMetadata makes a source of tokens for the identity of the machine.
func newMetadata(o Options) Source {
	address := cmp.Or(o.Auth.Authority, catalog.MetadataDefault) + metadataTokenPath +
		"?scopes=" + url.QueryEscape(strings.Join(strings.Fields(o.Auth.Scope), ","))
	e := newEndpoint(o, address, nil)
	return newTokens(o, nil, func(ctx context.Context) (token, error) {
		return e.fetch(ctx, func(ctx context.Context) (*oauth2.Token, error) { return metadataToken(ctx, address) })
	})
}

// metadataToken asks the metadata server for a token, with the client of the context.
func metadataToken(ctx context.Context, address string) (*oauth2.Token, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Metadata-Flavor", "Google") // The server refuses requests without it.
	resp, err := oauth2.NewClient(ctx, nil).Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var said struct {
		AccessToken string  `json:"access_token"`
		TokenType   string  `json:"token_type"`
		ExpiresIn   float64 `json:"expires_in"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		return nil, err
	}
	t := &oauth2.Token{AccessToken: said.AccessToken, TokenType: said.TokenType}
	return t.WithExtra(map[string]any{"expires_in": said.ExpiresIn}), nil
}
