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
	"umg/app/provider/errorclass"
)

// paths has the path of each style below a provider's base URL, unless the catalog has another.
var paths = map[llm.Style]string{
	llm.Chat:      "/chat/completions",
	llm.Messages:  "/messages",
	llm.Responses: "/responses",
	llm.Native:    "/models/{model}:{method}",
	llm.Converse:  "/model/{model}/{method}",
	llm.Cohere:    "/chat",
}

// countPaths has the paths of the styles that can count tokens.
var countPaths = map[llm.Style]string{
	llm.Messages:  "/messages/count_tokens",
	llm.Responses: "/responses/input_tokens",
	llm.Native:    "/models/{model}:countTokens",
}

// Counts reports whether the provider of a route counts tokens.
func Counts(r *catalog.Route) bool { return countPath(r) != "" }

// countPath returns the path for counting tokens, or an empty text when the provider does not count them.
func countPath(r *catalog.Route) string {
	if r.Wire != nil {
		return r.Wire.CountPath
	}
	return countPaths[r.Style]
}

// callPath is the path of a call, which may have marks.
func callPath(r *catalog.Route, stream bool) string {
	if w := r.Wire; w != nil {
		if stream {
			return w.StreamPath
		}
		return w.Path
	}
	if path := r.Provider.Paths[r.Style]; path != "" {
		return path
	}
	return paths[r.Style]
}

const (
	modelMark  = "{model}"
	methodMark = "{method}"
)

// method has the words that stand for {method} in the path of a style, and the end of the path of a stream.
type method struct{ whole, stream, streamQuery string }

// nativeMethod is also for styles without methods of their own.
var nativeMethod = method{"generateContent", "streamGenerateContent", "?alt=sse"}

var converseMethod = method{"converse", "converse-stream", ""}

type targetKey struct {
	provider   *catalog.Provider // Snapshots never change, so the address identifies the version.
	credential int
	path       string
	connect    time.Duration
	model      string // Model is set when it is in the path.
	stream     bool
	base       bool // Base is set for calls that have their own paths.
	counts     bool // Counts is set for counting tokens.
	errors     *errorclass.Table
	wire       *catalog.Wire
}

// Attempt is one attempt on a route. Header is sent in addition to the provider's own.
type Attempt struct {
	Route      *catalog.Route
	Credential int // Credential is the index of the credential to use.
	Payload    *Payload
	Header     http.Header
	Betas      []string // Betas are the trial features for a provider that takes them in the body.
	Stream     bool
	Space      *Space // Space is memory for the attempt; it may be nil.
	// Observe gets the header of each answer, whatever its status; it may be nil.
	Observe func(http.Header)
}

// Send makes one attempt. Cancelling the context with one of this package's causes ends the attempt as a timeout. The caller must set
// deadlines for reading the answer, and close it.
func (c *Client) Send(ctx context.Context, a Attempt) (*Answer, *Fault) {
	return c.sendTo(ctx, callPath(a.Route, a.Stream), &a, false)
}

// Count asks a route for the number of tokens of a request. It is otherwise like Send.
func (c *Client) Count(ctx context.Context, a Attempt) (*Answer, *Fault) {
	a.Stream = false
	return c.sendTo(ctx, countPath(a.Route), &a, true)
}

func (c *Client) sendTo(ctx context.Context, path string, a *Attempt, counts bool) (*Answer, *Fault) {
	t, err := c.target(path, a, counts)
	if err != nil {
		return nil, NewFault(ClassSetup, err)
	}
	return c.send(ctx, t, a)
}

// target returns the target of a route. When there are too many, all targets are dropped.
func (c *Client) target(path string, a *Attempt, counts bool) (*target, error) {
	r := a.Route
	key := targetKey{
		provider: r.Provider, credential: a.Credential, path: path, connect: r.Timeouts.Connect,
		errors: errorclass.Of(r.Provider.UsageReader, r.Style), wire: r.Wire,
	}
	if strings.Contains(path, modelMark) {
		key.model, key.stream = r.Model, a.Stream
	}
	if r.Wire != nil {
		key.stream, key.counts = a.Stream, counts
	}
	if t := c.cachedTarget(key); t != nil {
		return t, nil
	}
	if path == "" {
		return nil, fmt.Errorf("provider: the %s style is not spoken", r.Style)
	}
	if r.Wire != nil {
		return c.addTarget(key, withMethod(r.Wire.WithModel(path, r.Model), nativeMethod, a.Stream))
	}
	return c.addTarget(key, expandPath(path, r.Style, r.Model, a.Stream))
}

func (c *Client) cachedTarget(key targetKey) *target {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.targets[key]
}

// addTarget prepares a target below the provider's base URL and adds it.
func (c *Client) addTarget(key targetKey, path string) (*target, error) {
	p, secret := key.provider, catalog.Secret{}
	if key.credential < len(p.Credentials) {
		secret = p.Credentials[key.credential]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := c.prepare(targetConfig{targetKey: key, path: path, secret: secret})
	if err != nil {
		return nil, err
	}
	if len(c.targets) >= targetsMax {
		clear(c.targets)
	}
	c.targets[key] = t
	return t, nil
}

// expandPath returns the path of a style with the model and the method in its path. In the Converse style, a slash is part of the name
// of a model.
func expandPath(path string, style llm.Style, model string, stream bool) string {
	if !strings.Contains(path, modelMark) {
		return path
	}
	words, segments := nativeMethod, strings.Split(model, "/")
	if style == llm.Converse {
		words, segments = converseMethod, []string{model}
	}
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	path = strings.ReplaceAll(path, modelMark, strings.Join(segments, "/"))
	if stream && !strings.Contains(path, methodMark) {
		return path + words.streamQuery
	}
	return withMethod(path, words, stream)
}

// withMethod returns a path with the method in place of its mark. A path without the mark stays as it is.
func withMethod(path string, words method, stream bool) string {
	switch {
	case !strings.Contains(path, methodMark):
		return path
	case stream:
		return strings.ReplaceAll(path, methodMark, words.stream) + words.streamQuery
	}
	return strings.ReplaceAll(path, methodMark, words.whole)
}
