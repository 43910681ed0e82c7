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

// Bounds of a page of the list; wire.md 4.3, N16.
const (
	PageSizeMax     = 100
	PageSizeDefault = 20
)

// Kind is the type of an asset, as its creator says and its bytes prove.
type Kind string

// The kinds.
const (
	Image Kind = "image"
	Video Kind = "video"
	Audio Kind = "audio"
)

// State is how far an asset is. Upstreams' own words pass through where they are none of these.
type State string

// The states; wire.md 4.3, N7. Only an active asset can be used.
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
	Reason    string // why it failed, for people
	MediaType string // the media type of the source when it was checked
	Bytes     int64  // the size of the source when it was checked; 0 when its server does not say
	Width     int    // pixels; 0 for assets that are not pictures
	Height    int

	Provider   string          // the upstream that keeps it
	UpstreamID string          // what it calls it
	Extra      json.RawMessage // an object: what else the upstream says, which faces pass through

	CreatedAt time.Time
	UpdatedAt time.Time
}

// Spec is what a caller says about a new asset.
type Spec struct {
	ID   string // the id that an earlier try of the same request got; empty for none
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
	Text  string // part of a name or URL, whatever its case
}

// Page is a part of the list, newest first.
type Page struct {
	Assets []Asset
	Page   int
	Size   int
	Total  int // the number of assets that the filter lets through
}

// Reference is an asset in the form that a video provider takes.
type Reference struct {
	ID         string
	Kind       Kind
	Provider   string
	UpstreamID string
}
