// Package assetapi calls upstreams that keep material assets: it registers a source in a resource group, reads its
// state, finds it by its reference and removes it. Its errors are provider faults.
package assetapi

import (
	"encoding/json"
	"time"
)

// CreateRequest is what an upstream is asked to keep.
type CreateRequest struct {
	Reference string // our id, by which the upstream finds it again
	Group     string // the resource group of the catalog
	Kind      string // image, video or audio
	URL       string
	Name      string
}

// Item is an asset as the upstream tells it.
type Item struct {
	ID        string
	Reference string
	Status    string          // its own word
	Reason    string          // the reason of a failure
	Extra     json.RawMessage // an object of the members we do not know
	CreatedAt time.Time
}
