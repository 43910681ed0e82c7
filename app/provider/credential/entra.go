package credential

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"umg/app/catalog"
)

// newEntra makes a source of tokens of Microsoft Entra for an application with a client secret.
func newEntra(o Options) Source {
	address := cmp.Or(o.Auth.Authority, catalog.AuthorityDefault) + "/" + url.PathEscape(o.Auth.Tenant) + "/oauth2/v2.0/token"
	config := clientcredentials.Config{
		ClientID: o.Auth.ClientID, ClientSecret: o.Value.Reveal(), TokenURL: address, Scopes: strings.Fields(o.Auth.Scope),
		AuthStyle: oauth2.AuthStyleInParams,
	}
	e := newEndpoint(o, address, nil)
	return newTokens(o, nil, func(ctx context.Context) (token, error) { return e.fetch(ctx, config.Token) })
}
