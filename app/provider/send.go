package provider

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"umg/app/catalog"
	"umg/app/llm"
)

// paths are where the styles answer below a provider's base URL, unless the catalog says otherwise.
var paths = map[llm.Style]string{
	llm.Chat: "/chat/completions",
}

type targetKey struct {
	provider *catalog.Provider // snapshots never change, so its address is its version
	style    llm.Style
	connect  time.Duration
}

// Send makes one attempt on a route: the payload goes to it as it is, with the extra headers. The context is the
// attempt's own; cancelling it with one of this package's causes ends the attempt as a time-out. The answer must be
// closed. It has begun but may be endless: the caller watches the clock.
func (c *Client) Send(ctx context.Context, r *catalog.Route, p *Payload, extra http.Header, stream bool) (*Answer, *Fault) {
	t, err := c.target(r)
	if err != nil {
		return nil, NewFault(ClassSetup, err)
	}
	return c.send(ctx, t, p, extra, stream)
}

// target finds or prepares the target of a route. Those of former snapshots are forgotten all at once.
func (c *Client) target(r *catalog.Route) (*target, error) {
	key := targetKey{r.Provider, r.Style, r.Timeouts.Connect}
	c.mu.RLock()
	t := c.targets[key]
	c.mu.RUnlock()
	if t != nil {
		return t, nil
	}
	path := r.Provider.Paths[r.Style]
	if path == "" {
		path = paths[r.Style]
	}
	if path == "" {
		return nil, fmt.Errorf("provider: the %s style is not spoken", r.Style)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := c.prepare(place{
		url: r.Provider.BaseURL + path, credential: r.Provider.Credential.Reveal(), credentialHeader: r.Provider.CredentialHeader,
		headers: r.Provider.Headers, connect: r.Timeouts.Connect,
	})
	if err != nil {
		return nil, err
	}
	if len(c.targets) >= targetsMax {
		clear(c.targets)
	}
	c.targets[key] = t
	return t, nil
}
