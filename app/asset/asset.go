// Package asset keeps material assets: pictures, films and sounds that a user names by URL, registered once with the
// upstream that keeps them, and then named in video calls by our id. It knows their states, the limit of an account, who
// may see them and what became of them upstream. It does not know HTTP faces, nor how an upstream words its answers.
package asset

import (
	"encoding/json"
	"time"
)

// LiveMax is how many assets an account may have. The database counts, so that no race goes beyond it.
const LiveMax = 10_000

// These are the limits of a page of the list.
const (
	PageSizeMax     = 100
	PageSizeDefault = 20
)

// Kind is the type of an asset, as its creator says and its bytes prove.
type Kind string

// These are the kinds of assets.
const (
	Image Kind = "image"
	Video Kind = "video"
	Audio Kind = "audio"
)

// State is how far an asset is. Upstreams' own words pass through where they are none of these.
type State string

// These are the states of an asset. Only an active asset can be used.
const (
	Created    State = "created"
	Processing State = "processing"
	Active     State = "active"
	Failed     State = "failed"
)

// Asset is one as its account sees it.
type Asset struct {
	ID        string
	Kind      Kind
	Name      string
	URL       string
	State     State
	Reason    string // Reason is why the asset failed, for people.
	MediaType string // MediaType is that of the source when it was checked.
	Bytes     int64  // Bytes is the size of the source when it was checked; 0 when its server does not say.
	Width     int    // Width is in pixels; 0 for assets that are not pictures.
	Height    int

	Provider   string          // Provider is the upstream that keeps the asset.
	UpstreamID string          // UpstreamID is the id at the provider.
	Extra      json.RawMessage // Extra is an object with what else the upstream says. Answers repeat its members.

	CreatedAt time.Time
	UpdatedAt time.Time
}

// Spec is what a caller says about a new asset.
type Spec struct {
	ID   string // ID is what an earlier try of the same request got; empty for none.
	Kind Kind
	URL  string
	Name string
}

// Filter narrows a list. Zero members do not; Page and Size take their defaults.
type Filter struct {
	Page  int
	Size  int
	Kind  Kind
	State State
	Text  string // Text is a part of a name or URL, in any case.
}

// Page is a part of the list, newest first.
type Page struct {
	Assets []Asset
	Page   int
	Size   int
	Total  int // Total is the number of assets that match the filter.
}

// Reference is an asset in the form that a video provider takes.
type Reference struct {
	ID         string
	Kind       Kind
	Provider   string
	UpstreamID string
}
