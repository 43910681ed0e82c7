package videoapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/egress"
	"umg/app/provider"
)

const (
	answerBytesMax = 1 << 20
	listBytesMax   = 16 << 20 // A list has a hundred tasks with prompts of up to 32,000 characters.
	statusTimeout  = 15 * time.Second
	cancelTimeout  = 10 * time.Second
	findTimeout    = 15 * time.Second
	idleTimeout    = 30 * time.Second // This bounds the wait for more of a file.
)

// Client speaks to upstreams in the style of their route. It is safe for concurrent use.
type Client struct {
	providers *provider.Client
	egress    *egress.Client
	idle      time.Duration
}

// New makes a Client. It fetches files at foreign addresses through egress, without a credential. The timeout of egress bounds the
// whole file.
func New(providers *provider.Client, files *egress.Client) *Client {
	return &Client{providers: providers, egress: files, idle: idleTimeout}
}

// Create requests a video. Ambiguous tells whether the upstream may have accepted the request in spite of a fault. When the upstream's
// guardrails refuse the request, the error has the kind app.Invalid and the code ContentRefused.
func (c *Client) Create(ctx context.Context, r *catalog.Route, o CreateRequest) (Task, *provider.Fault) {
	s, f := videoStyle(r)
	if f != nil {
		return Task{}, f
	}
	if len(o.Assets) > 0 && !s.assets {
		f = provider.NewFault(provider.ClassSetup, errAssets)
		f.Unsent = true
		return Task{}, f
	}
	source := ""
	if o.Source != nil {
		if source, f = c.source(ctx, r, s, o.Source); f != nil {
			f.Unsent = true // Only the source was requested.
			return Task{}, f
		}
	}
	call, kind, err := s.create(s.rootOf(r), r.Model, o, source)
	if err != nil {
		f = provider.NewFault(provider.ClassSetup, err)
		f.Unsent = true
		return Task{}, f
	}
	defer call.Payload.Release()
	a, f := c.ask(ctx, r, s, call, answerBytesMax)
	if f != nil {
		if f.Err.Code == ContentRefused {
			f.Err.Param = paramOf(o, f.Err.Message)
		}
		return Task{}, f
	}
	return a.task(s, kind)
}

// source returns how a remix names its source. When the job does not have that, source asks the upstream.
func (c *Client) source(ctx context.Context, r *catalog.Route, s *style, from *Source) (string, *provider.Fault) {
	if name := s.source(*from); name != "" {
		return name, nil
	}
	t, f := c.Status(ctx, r, from.ID)
	if f != nil && f.Class != provider.ClassRefused {
		return "", f
	}
	if name := s.source(Source{ID: t.ID, URL: t.Files.Video}); name != "" {
		return name, nil
	}
	gone := app.Errorf(app.Invalid, "video_not_remixable",
		"The provider no longer has the source video, so it cannot be changed. Create a new video instead.").At("remix_video_id")
	return "", &provider.Fault{Class: provider.ClassRefused, Err: gone}
}

// Find returns the upstream's tasks that may be those of a request, newest first. It returns none when the style has no look-up.
func (c *Client) Find(ctx context.Context, r *catalog.Route, o CreateRequest) ([]Task, *provider.Fault) {
	s, f := videoStyle(r)
	if f != nil {
		return nil, f
	}
	p, ok := s.protocol.(finder)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, findTimeout, provider.ErrTotal)
	defer cancel()
	var all []Task
	for _, l := range p.find(s.rootOf(r), o) {
		a, f := c.ask(ctx, r, s, l.call, listBytesMax)
		if f != nil && f.Class == provider.ClassRefused {
			continue // The upstream does not know that reference.
		}
		if f != nil {
			return nil, f
		}
		tasks, err := p.found(a.raw, l.kind, r.Model, o)
		if err != nil {
			return nil, provider.NewFault(provider.ClassContent, err)
		}
		for _, t := range tasks {
			a.redact(&t)
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b Task) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

// Status returns the task of a video.
func (c *Client) Status(ctx context.Context, r *catalog.Route, id string) (Task, *provider.Fault) {
	s, f := videoStyle(r)
	if f != nil {
		return Task{}, f
	}
	call, kind, ok := s.status(s.rootOf(r), id)
	if !ok {
		return Task{}, provider.NewFault(provider.ClassSetup, fmt.Errorf("videoapi: %q is no id of the %s style", id, r.Style))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, statusTimeout, provider.ErrTotal)
	defer cancel()
	a, f := c.ask(ctx, r, s, call, answerBytesMax)
	if f != nil {
		return Task{}, f
	}
	t, f := a.task(s, kind)
	if f == nil && path.Base(t.ID) != path.Base(id) {
		return Task{}, provider.NewFault(provider.ClassContent, errOther)
	}
	return t, f
}

var errOther = errors.New("videoapi: the upstream answered with another task than was asked for")

// Cancel asks the upstream to stop a task. It returns no fault when the upstream cannot cancel, or when the task has ended.
func (c *Client) Cancel(ctx context.Context, r *catalog.Route, id string) *provider.Fault {
	s, f := videoStyle(r)
	if f != nil {
		return f
	}
	p, ok := s.protocol.(canceler)
	if !ok {
		return nil
	}
	call, ok := p.cancel(s.rootOf(r), id)
	if !ok {
		return nil
	}
	if call.Payload != nil {
		defer call.Payload.Release()
	}
	ctx, stop := context.WithTimeoutCause(ctx, cancelTimeout, provider.ErrTotal)
	defer stop()
	_, f = c.ask(ctx, r, s, call, answerBytesMax)
	if f != nil && f.Class == provider.ClassRefused {
		return nil
	}
	return f
}

// Variant is one of the result files.
type Variant uint8

// These are the result files.
const (
	Video Variant = iota
	Thumbnail
	Spritesheet
)

// Remixes reports whether a route can change a finished video of the same provider.
func Remixes(r *catalog.Route) bool {
	return styles[r.Style] != nil
}

// TakesAssets reports whether a request on a route may name assets.
func TakesAssets(r *catalog.Route) bool {
	s := styles[r.Style]
	return s != nil && s.assets
}

// answer is a JSON answer other than an error.
type answer struct {
	raw   []byte
	reply *provider.Reply // The body of the reply is closed.
}

// ask makes a call and reads its answer.
func (c *Client) ask(ctx context.Context, r *catalog.Route, s *style, call provider.Call, bytesMax int64) (*answer, *provider.Fault) {
	reply, f := c.providers.Do(ctx, r, call)
	if f != nil {
		return nil, f
	}
	defer func() { _ = reply.Close() }()
	raw, f := reply.ReadAll(bytesMax)
	switch {
	case reply.Status/100 != 2:
		return nil, s.refusal(reply, raw) // The part of the body that was read is enough.
	case f != nil:
		return nil, f
	case parseErrorBody(raw).isError:
		return nil, s.refusal(reply, raw)
	}
	return &answer{raw: raw, reply: reply}, nil
}

// task reads the one task of an answer.
func (a *answer) task(s *style, kind string) (Task, *provider.Fault) {
	t, err := s.read(a.raw, kind)
	if err != nil {
		return Task{}, provider.NewFault(provider.ClassContent, err)
	}
	a.redact(&t)
	return t, nil
}

// redact removes from a task what callers must not see.
func (a *answer) redact(t *Task) {
	if t.State == Failed {
		t.Message = app.TruncateBytes(cmp.Or(a.reply.Redact(t.Message), failureMessages[t.Code]), messageBytesMax)
	}
	if a.reply.HasCredential(string(t.Metadata)) {
		t.Metadata = nil
	}
}
