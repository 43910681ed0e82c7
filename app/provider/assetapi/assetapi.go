// Package assetapi calls upstreams that store assets. Client registers a source in a resource group, reads its state, finds it by its
// reference and deletes it. Its errors are provider faults.
package assetapi

import (
	"encoding/json"
	"time"
)

// CreateRequest is an asset that an upstream should store.
type CreateRequest struct {
	Reference string // Reference is the gateway's id, by which Find finds the asset.
	Group     string // Group is the resource group of the catalog.
	Kind      string // Kind is image, video or audio.
	URL       string
	Name      string
}

// Item is an asset of an upstream.
type Item struct {
	ID        string
	Reference string
	Status    string          // Status is the upstream's own word.
	Reason    string          // Reason is that of a failure.
	Extra     json.RawMessage // Extra is an object with the unknown members.
	CreatedAt time.Time
}
