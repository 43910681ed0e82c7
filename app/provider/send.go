package provider

import (
	"context"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider/errorclass"
	"umg/app/provider/framing"
	"umg/app/provider/http1"
)

const (
	targetsMax = 512
	userAgent  = "unified-model-gateway/1"
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

// target is a prepared address of a provider. All requests share its header, which never changes.
type target struct {
	url       *url.URL
	header    http.Header
	access    access
	transport *http1.Transport
	singleUse *http1.Transport // SingleUse makes a connection for each request.
	now       app.Clock
	errors    *errorclass.Table // Errors says what the errors of the provider mean.
	ownPaths  bool              // OwnPaths is set for calls that have their own paths.
	body      *bodyChange       // Body is how request bodies are changed; nil when they are not.
	framing   framing.Kind      // Framing is that of streams; empty for server-sent events.
}

// targetConfig has the path and the credential of a target.
type targetConfig struct {
	targetKey

	path   string // Path has the model in it when it belongs there.
	secret catalog.Secret
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

// send makes one attempt. The answer's body must be closed.
func (c *Client) send(ctx context.Context, t *target, attempt *Attempt) (*Answer, *Fault) {
	header, p := t.header, attempt.Payload
	if len(attempt.Header) > 0 {
		header = header.Clone()
		maps.Copy(header, attempt.Header)
	}
	if t.body != nil {
		t.body.apply(p, attempt.Betas)
	}
	s := attempt.Space
	if s == nil {
		s = &Space{}
	}
	s.payload = p
	s.request = http.Request{
		Method: http.MethodPost, URL: t.url, Host: t.url.Host, Header: c.withParent(ctx, header), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: s.open(), GetBody: s.reopen, ContentLength: int64(len(p.Data)),
	}
	resp, err := t.exchange(ctx, &s.request, p, s) //nolint:bodyclose // The answer closes it.
	if err != nil {
		f := FaultOf(ctx, err)
		f.Sent = s.wasWritten()
		return nil, f
	}
	if attempt.Observe != nil {
		attempt.Observe(resp.Header)
	}
	s.forget()
	a := &s.answer
	*a = Answer{ctx: ctx, target: t, body: resp.Body, length: resp.ContentLength}
	if resp.StatusCode != http.StatusOK {
		return nil, a.statusFault(resp)
	}
	if f := a.checkContentType(resp.Header); f != nil {
		a.Close()
		return nil, f
	}
	return a, nil
}

// checkContentType checks the type of an answer. Both JSON and a stream are accepted, whatever the request asked for.
func (a *Answer) checkContentType(h http.Header) *Fault {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return NewFault(ClassContent, fmt.Errorf("the answer is encoded as %q", e))
	}
	contentType := h.Get("Content-Type")
	kind, err := contentType, error(nil)
	if contentType != jsonType && contentType != eventStream { // The usual types need no parser.
		kind, _, err = mime.ParseMediaType(contentType)
	}
	framed := a.target.framing
	switch {
	case framed != "" && err == nil && kind == framed.ContentType():
		a.Stream, a.body = true, framing.NewReader(framed, a.body)
	case err == nil && kind == eventStream:
		a.Stream = true
	case err == nil && kind == framing.EventStream.ContentType():
		a.Stream, a.body = true, framing.NewReader(framing.EventStream, a.body)
	case err == nil && (kind == jsonType || strings.HasSuffix(kind, "+json")):
	default:
		return NewFault(ClassContent, fmt.Errorf("the answer is of type %q", contentType))
	}
	return nil
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

func (c *Client) prepare(p targetConfig) (*target, error) {
	base, auth := p.provider.BaseURL, p.provider.Auth
	if p.wire != nil {
		base, auth = p.wire.Base, p.wire.Auth
	}
	address := base + p.path
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("provider: %q is not an address", address)
	}
	h := http.Header{
		"Content-Type":    {"application/json"},
		"Accept":          {"application/json, text/event-stream"},
		"Accept-Encoding": {"identity"},
		"User-Agent":      {userAgent},
	}
	for name, value := range p.provider.Headers {
		h.Set(name, value)
	}
	t := &target{url: u, header: h, now: c.now, errors: p.errors, ownPaths: p.base}
	if p.wire != nil {
		t.useWire(p.wire, p.counts, p.stream)
	}
	a, err := c.newAccess(p.provider, auth, p.secret, h)
	if err != nil {
		return nil, err
	}
	a.addQuery(u)
	t.access = a
	if t.transport, err = c.transport(transportKey{connect: p.connect, proxy: p.provider.Proxy}); err != nil {
		return nil, err
	}
	if t.singleUse, err = c.transport(transportKey{connect: p.connect, proxy: p.provider.Proxy, single: true}); err != nil {
		return nil, err
	}
	return t, nil
}

// useWire prepares a target for calls that do not go to the provider as the style has them. Answers with another framing than that of
// server-sent events are asked for as JSON, because such providers choose the framing by the path.
func (t *target) useWire(w *catalog.Wire, counts, stream bool) {
	for name, value := range w.Headers {
		t.header.Set(name, value)
	}
	body := w.Body
	if counts {
		body = w.CountBody
	}
	if !body.IsZero() {
		t.body = newBodyChange(&body)
	}
	if kind := framing.Kind(w.Framing); kind != framing.SSE {
		t.header.Set("Accept", jsonType)
		if stream {
			t.framing = kind
		}
	}
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
