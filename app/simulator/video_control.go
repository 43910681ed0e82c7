package simulator

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Render is what the simulator remembers of one video.
type Render struct {
	ID         string    `json:"id"`
	Provider   string    `json:"provider,omitempty"`
	Kind       string    `json:"kind"` // videos, operations, text2video, image2video or video-extend
	Model      string    `json:"model"`
	Prompt     string    `json:"prompt"`
	Width      int       `json:"width"`
	Height     int       `json:"height"`
	Seconds    int       `json:"seconds"`
	External   string    `json:"external,omitempty"` // the caller's own id
	Callback   string    `json:"callback,omitempty"`
	Status     string    `json:"status"` // in the words of the videos service
	Looks      int       `json:"looks"`  // how often its status was asked for
	Generation int       `json:"generation"`
	Created    time.Time `json:"created"`
	Cancelled  bool      `json:"cancelled"`
	Assets     []string  `json:"assets,omitempty"` // the assets that the video was made with
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

func (s *Simulator) controlFinish(w http.ResponseWriter, r *http.Request) {
	reply(w, http.StatusOK, map[string]any{"finished": s.Finish(r.URL.Query().Get("id"))})
}

// controlRenders lists the renders of a provider, those whose prompt has a text, or all.
func (s *Simulator) controlRenders(w http.ResponseWriter, r *http.Request) {
	provider, text := r.URL.Query().Get("provider"), r.URL.Query().Get("text")
	list := slices.DeleteFunc(s.Renders(), func(one Render) bool {
		return provider != "" && one.Provider != provider || !strings.Contains(one.Prompt, text)
	})
	reply(w, http.StatusOK, map[string]any{"renders": list, "made": s.renders.made()})
}
