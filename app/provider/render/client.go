package render

import (
	"context"

	"umg/app/catalog"
	"umg/app/egress"
	"umg/app/provider"
)

// Client speaks to upstreams in the style of their route. It is safe for concurrent use.
type Client struct {
	providers *provider.Client
	egress    *egress.Client
}

// New makes a Client. Result files at foreign addresses are fetched through egress, without any credential.
func New(providers *provider.Client, files *egress.Client) *Client {
	return &Client{providers: providers, egress: files}
}

// Create asks for a video. The fault says by its class whether the upstream can have taken it; see Ambiguous.
func (c *Client) Create(ctx context.Context, r *catalog.Route, o Order) (Task, *provider.Fault) {
	panic("render: not written yet")
}

// Find lists renders the upstream has that may be the order's, newest first; none where the style has no look-up.
func (c *Client) Find(ctx context.Context, r *catalog.Route, o Order) ([]Task, *provider.Fault) {
	panic("render: not written yet")
}

// Status asks how a render is going.
func (c *Client) Status(ctx context.Context, r *catalog.Route, id string) (Task, *provider.Fault) {
	panic("render: not written yet")
}

// Cancel tells the upstream that nobody wants the render any more. An upstream that cannot be told is no fault.
func (c *Client) Cancel(ctx context.Context, r *catalog.Route, id string) *provider.Fault {
	panic("render: not written yet")
}

// Variant names one of the result files.
type Variant uint8

// The result files.
const (
	Video Variant = iota
	Thumbnail
	Spritesheet
)

// Open begins to fetch a result. A file the upstream does not make has class provider.ClassRefused.
func (c *Client) Open(ctx context.Context, r *catalog.Route, t Task, v Variant) (*File, *provider.Fault) {
	panic("render: not written yet")
}

// Remixes reports whether a route can change a finished video of the same provider.
func Remixes(r *catalog.Route) bool { return true }

// Ambiguous reports whether the upstream may have taken an order although Create failed.
func Ambiguous(f *provider.Fault) bool { return false }
