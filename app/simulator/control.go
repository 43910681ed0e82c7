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
	mux.HandleFunc("POST /_control/release", s.controlRelease)
	mux.HandleFunc("GET /_control/waiting", s.controlWaiting)
	mux.HandleFunc("POST /_control/finish", s.controlFinish)
	mux.HandleFunc("GET /_control/renders", s.controlRenders)
	mux.HandleFunc("GET /_control/assets", s.controlAssets)
	mux.HandleFunc("DELETE /_control/assets", s.controlLoseAssets)
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

func (s *Simulator) controlRelease(w http.ResponseWriter, r *http.Request) {
	n, ok := numberOf(w, r, "count")
	if !ok {
		return
	}
	reply(w, http.StatusOK, map[string]any{"released": s.gate.release(n)})
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
