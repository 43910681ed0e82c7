package simulator

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// controlBytesMax is the largest body of a control request.
	controlBytesMax = 64 << 10
	// controlWaitMax bounds how long a control request may wait for something to happen.
	controlWaitMax = 60 * time.Second
	// controlWaitStandard is how long one waits that does not say.
	controlWaitStandard = 5 * time.Second
)

// controls are the routes below /_control, which exist only when the options ask for them.
func (s *Simulator) controls() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_control/requests", s.controlRequests)
	mux.HandleFunc("DELETE /_control/requests", func(w http.ResponseWriter, _ *http.Request) {
		s.recorder.forget()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /_control/faults", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"faults": s.faults.all()})
	})
	mux.HandleFunc("PUT /_control/faults", s.controlPutFault)
	mux.HandleFunc("DELETE /_control/faults", s.controlClearFaults)
	mux.HandleFunc("POST /_control/hold", func(w http.ResponseWriter, r *http.Request) {
		s.gate.hold(r.URL.Query().Get("provider"), r.URL.Query().Get("model"))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /_control/release", func(w http.ResponseWriter, r *http.Request) {
		if n, ok := numberOf(w, r, "count"); ok {
			reply(w, http.StatusOK, map[string]any{"released": s.gate.release(n)})
		}
	})
	mux.HandleFunc("GET /_control/waiting", s.controlWaiting)
	mux.HandleFunc("POST /_control/finish", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, map[string]any{"finished": s.Finish(r.URL.Query().Get("id"))})
	})
	mux.HandleFunc("GET /_control/renders", func(w http.ResponseWriter, r *http.Request) {
		provider, text := r.URL.Query().Get("provider"), r.URL.Query().Get("text")
		list := slices.DeleteFunc(s.Renders(), func(one Render) bool {
			return provider != "" && one.Provider != provider || !strings.Contains(one.Prompt, text)
		})
		reply(w, http.StatusOK, map[string]any{"renders": list, "made": s.renders.made()})
	})
	mux.HandleFunc("GET /_control/assets", s.controlAssets)
	mux.HandleFunc("DELETE /_control/assets", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, map[string]any{"lost": s.assets.lose(r.URL.Query().Get("id"))})
	})
	mux.HandleFunc("PUT /_control/assets", s.controlAssetRoom)
	mux.HandleFunc("GET /_control/stats", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, s.recorder.counts())
	})
	return mux
}

// controlRequests lists what the simulator received, after waiting for a number of finished requests when asked to.
func (s *Simulator) controlRequests(w http.ResponseWriter, r *http.Request) {
	finished, ctx, cancel, ok := waitOf(w, r, "finished")
	if !ok {
		return
	}
	defer cancel()
	reached := s.recorder.await(ctx, finished)
	list := s.recorder.all()
	provider, text := r.URL.Query().Get("provider"), r.URL.Query().Get("text")
	list = slices.DeleteFunc(list, func(one Request) bool {
		return provider != "" && one.Provider != provider || !strings.Contains(one.Body, text)
	})
	reply(w, http.StatusOK, map[string]any{"requests": list, "reached": reached})
}

func (s *Simulator) controlPutFault(w http.ResponseWriter, r *http.Request) {
	var e faultEntry
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, controlBytesMax))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		refuse(w, "The body must be {provider?, model?, spec}: "+err.Error())
		return
	}
	f, err := parseFault(e.Spec)
	if err != nil {
		refuse(w, err.Error())
		return
	}
	e.fault = f
	if !s.faults.put(e) {
		refuse(w, "The fault table is full.")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// controlClearFaults clears the row that the query names by provider and model, or everything when it names neither.
func (s *Simulator) controlClearFaults(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Has("provider") || q.Has("model") {
		s.faults.clear(&faultEntry{Provider: q.Get("provider"), Model: q.Get("model")})
	} else {
		s.faults.clear(nil)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Simulator) controlWaiting(w http.ResponseWriter, r *http.Request) {
	atLeast, ctx, cancel, ok := waitOf(w, r, "at_least")
	if !ok {
		return
	}
	defer cancel()
	count := s.gate.await(ctx, atLeast)
	reply(w, http.StatusOK, map[string]any{"count": count, "reached": count >= atLeast})
}

// waitOf reads a number to wait for, and for how long.
func waitOf(w http.ResponseWriter, r *http.Request, name string) (int, context.Context, context.CancelFunc, bool) {
	n, ok := numberOf(w, r, name)
	if !ok {
		return 0, nil, nil, false
	}
	timeout := controlWaitStandard
	if v := r.URL.Query().Get("timeout"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 || d > controlWaitMax {
			refuse(w, "timeout must be a duration of at most "+controlWaitMax.String()+".")
			return 0, nil, nil, false
		}
		timeout = d
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	return n, ctx, cancel, true
}

func numberOf(w http.ResponseWriter, r *http.Request, name string) (int, bool) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return 0, true
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		refuse(w, name+" must be a number that is not negative.")
		return 0, false
	}
	return n, true
}

func refuse(w http.ResponseWriter, message string) {
	reply(w, http.StatusBadRequest, map[string]string{"error": message})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Render is what the simulator remembers of one video.
type Render struct {
	ID         string    `json:"id"`
	Provider   string    `json:"provider,omitempty"`
	Kind       string    `json:"kind"` // Kind is videos, operations, text2video, image2video or video-extend.
	Model      string    `json:"model"`
	Prompt     string    `json:"prompt"`
	Width      int       `json:"width"`
	Height     int       `json:"height"`
	Seconds    int       `json:"seconds"`
	External   string    `json:"external,omitempty"` // External is the caller's own id.
	Callback   string    `json:"callback,omitempty"`
	Status     string    `json:"status"` // Status is a status of the videos style.
	Looks      int       `json:"looks"`  // Looks counts how often the caller asked for the status.
	Generation int       `json:"generation"`
	Created    time.Time `json:"created"`
	Cancelled  bool      `json:"cancelled"`
	Assets     []string  `json:"assets,omitempty"` // Assets are the ids of the assets in the request.
}

// Renders are the videos that are remembered, oldest first.
func (s *Simulator) Renders() []Render { return s.renders.all(s.options.Now()) }

// Finish ends the renders on their way that text names, by id, by the caller's own id or by a part of the prompt, and the
// processing of assets that it names in the same ways; the empty text means all. It returns how many it ended.
func (s *Simulator) Finish(text string) int {
	ended := s.renders.finish(text, s.options.Now())
	for _, r := range ended {
		s.tell(r, s.renders.peek(r, s.options.Now()))
	}
	return len(ended) + s.assets.finish(text, s.options.Now())
}

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
	Looks     int       `json:"looks"` // Looks counts how often the caller asked for the asset.
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
