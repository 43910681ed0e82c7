package videoapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider"
)

const (
	redirectsMax = 3
	fileBytesMax = 1 << 40 // This bounds a file at a foreign address. The code that stores it has a smaller limit.
)

var errAbsent = errors.New("videoapi: the upstream does not make this file")

// Open begins to fetch a result. The class of the fault is provider.ClassRefused for a file that the upstream does not make. It is
// ClassContent when the upstream refuses the video itself, because Status then returns its new address. The context bounds the whole
// file. Errors of reading are *provider.Fault.
func (c *Client) Open(ctx context.Context, r *catalog.Route, t Task, v Variant) (*File, *provider.Fault) {
	s, f := videoStyle(r)
	if f != nil {
		return nil, f
	}
	where := s.file(s.rootOf(r), t, v)
	if where == "" {
		return nil, provider.NewFault(provider.ClassRefused, errAbsent)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &idleTimer{ctx: ctx, cancel: cancel, idle: c.idle}
	file, f := c.follow(w, r, where, v)
	if f != nil {
		cancel(nil)
		return nil, f
	}
	return file, nil
}

// follow fetches a file and what it is redirected to.
func (c *Client) follow(w *idleTimer, r *catalog.Route, where string, v Variant) (*File, *provider.Fault) {
	for range redirectsMax + 1 {
		got, f := c.fetch(w, r, where)
		if f != nil {
			return nil, f
		}
		next := got.next()
		if next == "" {
			return got.file(w, v)
		}
		got.close()
		where = next
	}
	return nil, provider.NewFault(provider.ClassRedirect, fmt.Errorf("videoapi: the file is redirected more than %d times", redirectsMax))
}

// download is the answer to a request for a file.
type download struct {
	at     *url.URL
	status int
	header http.Header
	size   int64
	body   io.ReadCloser
	reply  *provider.Reply // Reply is nil at a foreign address.
}

// fetch asks for a file: the provider's own host with its credential, any other through egress without it.
func (c *Client) fetch(w *idleTimer, r *catalog.Route, where string) (*download, *provider.Fault) {
	if strings.HasPrefix(where, "/") {
		where = r.Provider.BaseURL + where
	}
	at, err := url.Parse(where)
	if err != nil || at.Host == "" {
		return nil, provider.NewFault(provider.ClassContent, errors.New("videoapi: the file has no usable address"))
	}
	w.start()
	defer w.stop()
	if provider.IsProviderAddress(r, at) {
		reply, f := c.providers.Do(w.ctx, r, provider.Call{Method: http.MethodGet, Path: where})
		if f != nil {
			return nil, f
		}
		return &download{at: at, status: reply.Status, header: reply.Header, size: reply.Size, body: reply, reply: reply}, nil
	}
	at.Fragment, at.RawFragment = "", ""
	req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, provider.NewFault(provider.ClassContent, err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := c.egress.Do(req, fileBytesMax) //nolint:bodyclose // The file closes it.
	if err != nil {
		return nil, w.fault(err)
	}
	return &download{at: at, status: resp.StatusCode, header: resp.Header, size: resp.ContentLength, body: resp.Body}, nil
}

// next returns the target of a redirect. It is empty for any other answer.
func (g *download) next() string {
	switch g.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return ""
	}
	to, err := g.at.Parse(g.header.Get("Location"))
	if err != nil || g.header.Get("Location") == "" || to.Scheme != "http" && to.Scheme != "https" {
		return ""
	}
	return to.String()
}

func (g *download) close() { _ = g.body.Close() }

// file returns the file of a successful answer.
func (g *download) file(w *idleTimer, v Variant) (*File, *provider.Fault) {
	if g.status != http.StatusOK {
		defer g.close()
		return nil, g.refused(w, v)
	}
	if e := g.header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		g.close()
		return nil, provider.NewFault(provider.ClassContent, fmt.Errorf("videoapi: the file is encoded as %q", e))
	}
	return &File{ReadCloser: &fileReader{body: g.body, watch: w}, Type: g.header.Get("Content-Type"), Size: g.size}, nil
}

// refused returns the fault of an answer other than a file. At a foreign address a refusal means that the address has expired. It never
// means that the credential is wrong, because the request had none.
func (g *download) refused(w *idleTimer, v Variant) *provider.Fault {
	if g.reply == nil {
		f := provider.NewFault(provider.ClassContent, fmt.Errorf("videoapi: the file's host answered %d", g.status))
		switch {
		case g.status == http.StatusTooManyRequests:
			f = provider.NewFault(provider.ClassRateLimited, f)
		case g.status >= http.StatusInternalServerError:
			f = provider.NewFault(provider.ClassServer, f)
		}
		f.Status = g.status
		return f
	}
	w.start()
	defer w.stop()
	raw, _ := g.reply.ReadAll(refusedBytesMax) // The status alone is enough.
	f := g.reply.StatusFault(g.status, raw)
	f.Err.Message = app.TruncateBytes(f.Err.Message, messageBytesMax)
	if f.Class == provider.ClassRefused && v == Video {
		again := provider.NewFault(provider.ClassContent, f)
		again.Status = g.status
		return again
	}
	return f
}

// idleTimer ends a fetch that makes no progress. It runs only during a read, so that a slow caller does not end the fetch.
type idleTimer struct {
	ctx    context.Context //nolint:containedctx // Its cause is why the fetch ended.
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
}

func (w *idleTimer) start() {
	if w.timer == nil {
		w.timer = time.AfterFunc(w.idle, func() { w.cancel(provider.ErrIdle) })
		return
	}
	w.timer.Reset(w.idle)
}

func (w *idleTimer) stop() { w.timer.Stop() }

// fault classifies an error of fetching.
func (w *idleTimer) fault(err error) *provider.Fault {
	cause := context.Cause(w.ctx)
	var (
		refused *app.Error
		slow    net.Error
	)
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return provider.NewFault(provider.ClassTotal, err)
	case cause != nil:
	case errors.As(err, &refused) && refused.Kind == app.Invalid:
		return provider.NewFault(provider.ClassContent, err) // The address may not be fetched.
	case errors.As(err, &slow) && slow.Timeout(), errors.As(err, &refused) && refused.Kind == app.Timeout:
		return provider.NewFault(provider.ClassTotal, err)
	}
	return provider.FaultOf(w.ctx, err)
}

// fileReader reads a file with an idle timer.
type fileReader struct {
	body  io.ReadCloser
	watch *idleTimer
}

func (r *fileReader) Read(p []byte) (int, error) {
	r.watch.start()
	n, err := r.body.Read(p)
	r.watch.stop()
	if err != nil && !errors.Is(err, io.EOF) {
		return n, r.watch.fault(err)
	}
	return n, err
}

func (r *fileReader) Close() error {
	r.watch.cancel(nil)
	return r.body.Close()
}
