// Package material speaks to upstreams that keep material assets: register a source in a resource group, ask how it is,
// find it by our reference, remove it. It knows one wire and the faults of its answers. It does not know accounts, limits
// or states of ours.
package material

import (
	"encoding/json"
	"time"
)

// Order is what an upstream is asked to keep.
type Order struct {
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
	Reason    string          // of a failure
	Extra     json.RawMessage // an object of the members we do not know
	CreatedAt time.Time
}
