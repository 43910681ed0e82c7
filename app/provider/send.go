package provider

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"umg/app/catalog"
	"umg/app/llm"
)

// paths are where the styles answer below a provider's base URL, unless the catalog says otherwise.
var paths = map[llm.Style]string{
	llm.Chat:      "/chat/completions",
	llm.Messages:  "/messages",
	llm.Responses: "/responses",
	llm.Native:    "/models/{model}:{method}",
}

// countPaths are where the styles that can count tokens without an answer do so.
var countPaths = map[llm.Style]string{
	llm.Messages:  "/messages/count_tokens",
	llm.Responses: "/responses/input_tokens",
	llm.Native:    "/models/{model}:countTokens",
}

// Counts reports whether providers of a style count tokens.
func Counts(s llm.Style) bool { return countPaths[s] != "" }

// The methods that stand for {method} in a path.
const (
	wholeMethod  = "generateContent"
	streamMethod = "streamGenerateContent"
	streamQuery  = "?alt=sse"
	modelMark    = "{model}"
	methodMark   = "{method}"
)

type targetKey struct {
	provider *catalog.Provider // snapshots never change, so its address is its version
	path     string
	connect  time.Duration
	model    string // where the path names it
	stream   bool
	home     bool // for calls that name their own paths
}

// Send makes one attempt on a route: the payload goes to it as it is, with the extra headers. The context is the
// attempt's own; cancelling it with one of this package's causes ends the attempt as a time-out. The answer must be
// closed. It has begun but may be endless: the caller watches the clock.
func (c *Client) Send(ctx context.Context, r *catalog.Route, p *Payload, extra http.Header, stream bool) (*Answer, *Fault) {
	path := r.Provider.Paths[r.Style]
	if path == "" {
		path = paths[r.Style]
	}
	return c.sendTo(ctx, r, path, p, extra, stream)
}

// Count asks a route how many tokens a request has, with what Send says of the rest.
func (c *Client) Count(ctx context.Context, r *catalog.Route, p *Payload, extra http.Header) (*Answer, *Fault) {
	return c.sendTo(ctx, r, countPaths[r.Style], p, extra, false)
}

func (c *Client) sendTo(
	ctx context.Context, r *catalog.Route, path string, p *Payload, extra http.Header, stream bool,
) (*Answer, *Fault) {
	t, err := c.target(r, path, stream)
	if err != nil {
		return nil, NewFault(ClassSetup, err)
	}
	return c.send(ctx, t, p, extra)
}

// target finds or prepares the target of a route. Those of former snapshots are forgotten all at once.
func (c *Client) target(r *catalog.Route, path string, stream bool) (*target, error) {
	key := targetKey{provider: r.Provider, path: path, connect: r.Timeouts.Connect}
	if strings.Contains(path, modelMark) {
		key.model, key.stream = r.Model, stream
	}
	if t := c.known(key); t != nil {
		return t, nil
	}
	if path == "" {
		return nil, fmt.Errorf("provider: the %s style is not spoken", r.Style)
	}
	return c.keep(key, r, addressed(path, r.Model, stream))
}

func (c *Client) known(key targetKey) *target {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.targets[key]
}

// keep prepares a target below the provider's base URL and remembers it.
func (c *Client) keep(key targetKey, r *catalog.Route, path string) (*target, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := c.prepare(place{
		url: r.Provider.BaseURL + path, credential: r.Provider.Credential.Reveal(),
		credentialHeader: r.Provider.CredentialHeader, headers: r.Provider.Headers, connect: r.Timeouts.Connect,
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

// addressed is the path of a call whose style names the model, and whether it streams, in the path.
func addressed(path, model string, stream bool) string {
	if !strings.Contains(path, modelMark) {
		return path
	}
	segments := strings.Split(model, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	path = strings.ReplaceAll(path, modelMark, strings.Join(segments, "/"))
	if !stream {
		return strings.ReplaceAll(path, methodMark, wholeMethod)
	}
	return strings.ReplaceAll(path, methodMark, streamMethod) + streamQuery
}
