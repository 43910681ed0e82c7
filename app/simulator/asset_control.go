package simulator

import (
	"net/http"
	"time"
)

// Asset is what the simulator keeps of one asset.
type Asset struct {
	ID        string    `json:"id"`
	Provider  string    `json:"provider,omitempty"`
	Group     string    `json:"group_id"`
	Type      string    `json:"type"`
	Name      string    `json:"name"`
	URL       string    `json:"url"`
	Reference string    `json:"reference,omitempty"`
	Status    string    `json:"status"`
	Looks     int       `json:"looks"` // how often it was asked for
	Created   time.Time `json:"created"`
}

// Assets are those that are kept, oldest first.
func (s *Simulator) Assets() []Asset {
	now := s.options.Now()
	s.assets.mu.Lock()
	defer s.assets.mu.Unlock()
	list := make([]Asset, 0, len(s.assets.list))
	for _, a := range s.assets.list {
		list = append(list, Asset{ID: a.id, Provider: a.provider, Group: a.Group, Type: a.Type, Name: a.Name, URL: a.URL,
			Reference: a.Reference, Status: a.view(now).status, Looks: a.looks, Created: a.created})
	}
	return list
}

// controlAssets lists what is kept: of a provider, of a group, that a text names, or all.
func (s *Simulator) controlAssets(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	found := []Asset{}
	for _, one := range s.Assets() {
		a := asset{assetRequest: assetRequest{Name: one.Name, URL: one.URL, Reference: one.Reference}, id: one.ID}
		if q.Get("provider") != "" && one.Provider != q.Get("provider") || q.Get("group_id") != "" && one.Group != q.Get("group_id") ||
			!a.named(q.Get("text")) {
			continue
		}
		found = append(found, one)
	}
	s.assets.mu.Lock()
	made, removed := s.assets.made, s.assets.removed
	s.assets.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{"assets": found, "made": made, "removed": removed})
}

// controlLoseAssets mislays what id names.
func (s *Simulator) controlLoseAssets(w http.ResponseWriter, r *http.Request) {
	reply(w, http.StatusOK, map[string]any{"lost": s.assets.lose(r.URL.Query().Get("id"))})
}

// controlAssetRoom says how many assets a group keeps from now on; zero is the usual number.
func (s *Simulator) controlAssetRoom(w http.ResponseWriter, r *http.Request) {
	n, ok := numberOf(w, r, "group_max")
	if !ok {
		return
	}
	s.assets.mu.Lock()
	s.assets.groupMax = n
	s.assets.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}
