package payments

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Control requests can make API calls fail in these ways.
const (
	faultError = "error" // The API answers with an error and does nothing.
	faultStall = "stall" // The API sends no answer and does nothing.
	faultLost  = "lost"  // The API does what the call wants, but the answer is lost.
)

// These limits apply to control requests.
const (
	controlWaitMax      = 60 * time.Second
	controlWaitStandard = 5 * time.Second
	heldMSMax           = int64(24 * time.Hour / time.Millisecond)
	duplicatesMax       = 100
)

// fault strikes the next calls of the API that it fits.
type fault struct {
	Mode   string `json:"mode"`
	Times  int    `json:"times"`
	Status int    `json:"status"`
	Method string `json:"method"` // An empty method means any.
	Path   string `json:"path"`   // Path is a prefix; empty means any path.
}

type faults []fault

// next takes the fault for a call; the zero fault when there is none.
func (all *faults) next(method, path string) fault {
	for i, f := range *all {
		if (f.Method == "" || f.Method == method) && strings.HasPrefix(path, f.Path) {
			if (*all)[i].Times--; (*all)[i].Times <= 0 {
				*all = slices.Delete(*all, i, i+1)
			}
			return f
		}
	}
	return fault{}
}

// controls adds the routes below /_control.
func (s *Simulator) controls(mux *http.ServeMux) {
	mux.HandleFunc("GET /_control/webhooks", func(w http.ResponseWriter, _ *http.Request) {
		s.hooks.mu.Lock()
		defer s.hooks.mu.Unlock()
		reply(w, s.hooks.habits)
	})
	mux.HandleFunc("PUT /_control/webhooks", s.controlPutHabits)
	mux.HandleFunc("POST /_control/webhooks/release", s.controlRelease)
	mux.HandleFunc("GET /_control/deliveries", s.controlDeliveries)
	mux.HandleFunc("PUT /_control/faults", s.controlPutFault)
	mux.HandleFunc("DELETE /_control/faults", s.locked(func(w http.ResponseWriter, _ *http.Request) {
		s.faults = nil
		w.WriteHeader(http.StatusNoContent)
	}))
	mux.HandleFunc("POST /_control/sessions/{id}/pay", s.locked(s.controlPay))
	mux.HandleFunc("POST /_control/sessions/{id}/expire", s.locked(s.controlExpire))
	mux.HandleFunc("POST /_control/payments/{id}/resolve", s.locked(s.controlResolve))
	mux.HandleFunc("POST /_control/payments/{id}/refund", s.locked(s.controlRefund))
	mux.HandleFunc("POST /_control/payments/{id}/dispute", s.locked(s.controlDispute))
	mux.HandleFunc("POST /_control/disputes/{id}/close", s.locked(s.controlCloseDispute))
	mux.HandleFunc("PUT /_control/cards/{id}", s.locked(s.controlCard))
	mux.HandleFunc("POST /_control/events/{id}/send", s.locked(s.controlResend))
	mux.HandleFunc("POST /_control/forge", s.controlForge)
}

// locked serves under the lock, with the time passed.
func (s *Simulator) locked(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		serve(w, r)
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(v))
}

// outcome answers an object, or says why there is none.
func outcome(w http.ResponseWriter, o object, failed *failure) {
	if failed != nil {
		failed.write(w)
		return
	}
	reply(w, o)
}

func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		invalid("", "", "The body is not what this route takes: %s", err).write(w)
		return false
	}
	return true
}

// controlPutHabits changes the habits that the body names, and leaves the others.
func (s *Simulator) controlPutHabits(w http.ResponseWriter, r *http.Request) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	wanted := s.hooks.habits
	if !decode(w, r, &wanted) {
		return
	}
	if wanted.DelayMS < 0 || wanted.DelayMS > heldMSMax || wanted.ShuffleMS < 0 || wanted.ShuffleMS > heldMSMax ||
		wanted.Duplicates < 0 || wanted.Duplicates > duplicatesMax || wanted.Drop < 0 {
		invalid("", "", "Times are from 0 ms to a day, duplicates from 0 to %d, and drop is not negative.", duplicatesMax).write(w)
		return
	}
	s.hooks.habits = wanted
	reply(w, wanted)
}

// controlRelease sends what was held, in the order that the query asks for, one after the other.
func (s *Simulator) controlRelease(w http.ResponseWriter, r *http.Request) {
	h := s.hooks
	h.mu.Lock()
	held := h.held
	h.held, h.habits.Hold = nil, false
	h.mu.Unlock()
	switch r.URL.Query().Get("order") {
	case "newest":
		slices.Reverse(held)
	case "together":
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, one := range held {
			h.queue(one)
		}
		reply(w, map[string]int{"released": len(held)})
		return
	}
	for _, one := range held {
		h.send(one)
	}
	reply(w, map[string]int{"released": len(held)})
}

// controlDeliveries lists what was sent, oldest first, after waiting for a number of attempts that fit.
func (s *Simulator) controlDeliveries(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	wanted, timeout := 0, controlWaitStandard
	if v := q.Get("at_least"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			invalid("", "at_least", "Invalid integer: %s", v).write(w)
			return
		}
		wanted = n
	}
	if v := q.Get("timeout"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 || d > controlWaitMax {
			invalid("", "timeout", "timeout must be a duration of at most %s.", controlWaitMax).write(w)
			return
		}
		timeout = d
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	for {
		found, changed := s.hooks.sent(q.Get("type"), q.Get("object"), q.Get("status"))
		if len(found) >= wanted || ctx.Err() != nil {
			reply(w, map[string]any{"deliveries": found, "reached": len(found) >= wanted})
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// sent are the attempts that fit, and a channel that is closed when there is one more.
func (h *hooks) sent(kind, objectID, status string) (found []delivery, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found = []delivery{}
	for _, one := range h.log {
		if (kind == "" || one.Type == kind) && (objectID == "" || one.ObjectID == objectID) &&
			(status == "" || status == strconv.Itoa(one.Status)) {
			found = append(found, one)
		}
	}
	return found, h.changed
}

func (s *Simulator) controlPutFault(w http.ResponseWriter, r *http.Request) {
	f := fault{Times: 1, Status: http.StatusInternalServerError}
	if !decode(w, r, &f) {
		return
	}
	if !slices.Contains([]string{faultError, faultStall, faultLost}, f.Mode) || f.Times < 1 || f.Status < 400 || f.Status > 599 {
		invalid("", "", "A fault is {mode: error, stall or lost, times, status, method, path}.").write(w)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) >= 1000 {
		invalid("", "", "There are too many faults.").write(w)
		return
	}
	s.faults = append(s.faults, f)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Simulator) controlPay(w http.ResponseWriter, r *http.Request) {
	o, ok := find[*session](s, r.PathValue("id"))
	if !ok {
		missing("checkout.session", r.PathValue("id"), "id").write(w)
		return
	}
	outcome(w, o, s.pay(o, cmp.Or(r.URL.Query().Get("with"), withCard)))
}

func (s *Simulator) controlExpire(w http.ResponseWriter, r *http.Request) {
	o, ok := find[*session](s, r.PathValue("id"))
	if !ok || !s.expire(o) {
		invalid("", "", "There is no such open checkout.").write(w)
		return
	}
	reply(w, o)
}

// chargeNamed is the charge that an id leads to: its own, that of its payment or of its checkout.
func (s *Simulator) chargeNamed(id string) (*charge, *intent, *failure) {
	if o, ok := find[*session](s, id); ok {
		id = wordOf(o.PaymentIntent)
	}
	if ch, ok := find[*charge](s, id); ok {
		id = wordOf(ch.PaymentIntent)
	}
	p, ok := find[*intent](s, id)
	if !ok {
		return nil, nil, missing("payment_intent", id, "id")
	}
	ch, ok := find[*charge](s, wordOf(p.LatestCharge))
	if !ok {
		return nil, nil, missing("charge", wordOf(p.LatestCharge), "id")
	}
	return ch, p, nil
}

func (s *Simulator) controlResolve(w http.ResponseWriter, r *http.Request) {
	_, p, failed := s.chargeNamed(r.PathValue("id"))
	how := cmp.Or(r.URL.Query().Get("outcome"), succeeded)
	if failed == nil && (how != succeeded && how != "failed" || !s.resolve(p, how == succeeded)) {
		failed = invalid("", "outcome", "The payment is not processing, or the outcome is neither succeeded nor failed.")
	}
	outcome(w, p, failed)
}

// chargeAndAmount reads what a refund or a dispute is about: the charge that the path leads to, and the amount of the query, zero for all.
func (s *Simulator) chargeAndAmount(r *http.Request) (*charge, int64, *failure) {
	ch, _, failed := s.chargeNamed(r.PathValue("id"))
	v := r.URL.Query().Get("amount")
	if failed != nil || v == "" {
		return ch, 0, failed
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 {
		return nil, 0, invalid("", "amount", "Invalid positive integer: %s", v)
	}
	return ch, n, nil
}

func (s *Simulator) controlRefund(w http.ResponseWriter, r *http.Request) {
	var made *refund
	ch, amount, failed := s.chargeAndAmount(r)
	if failed == nil {
		made, failed = s.refund(ch, amount, "requested_by_customer", nil, origin{})
	}
	outcome(w, made, failed)
}

func (s *Simulator) controlDispute(w http.ResponseWriter, r *http.Request) {
	var made *dispute
	ch, amount, failed := s.chargeAndAmount(r)
	if failed == nil {
		made, failed = s.openDispute(ch, amount, cmp.Or(r.URL.Query().Get("reason"), "fraudulent"))
	}
	outcome(w, made, failed)
}

func (s *Simulator) controlCloseDispute(w http.ResponseWriter, r *http.Request) {
	d, ok := find[*dispute](s, r.PathValue("id"))
	how := cmp.Or(r.URL.Query().Get("outcome"), disputeLost)
	if !ok || (how != disputeWon && how != disputeLost) || !s.closeDispute(d, how, origin{}) {
		invalid("", "", "There is no such open dispute, or the outcome is neither won nor lost.").write(w)
		return
	}
	reply(w, d)
}

// controlCard decides what becomes of the next attempts with a card, or with all cards of a customer.
func (s *Simulator) controlCard(w http.ResponseWriter, r *http.Request) {
	id, how := r.PathValue("id"), r.URL.Query().Get("outcome")
	if _, known := declines()[how]; !known && how != good && how != processing {
		invalid("", "outcome", "Invalid outcome: %s", how).write(w)
		return
	}
	changed := 0
	for m := range latest[*paymentMethod](s, "pm") {
		if m.ID == id || wordOf(m.Customer) == id {
			m.outcome = how
			changed++
		}
	}
	reply(w, map[string]int{"changed": changed})
}

func (s *Simulator) controlResend(w http.ResponseWriter, r *http.Request) {
	e, ok := find[*event](s, r.PathValue("id"))
	if !ok {
		missing("event", r.PathValue("id"), "id").write(w)
		return
	}
	var about struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(e.Data.Object, &about)
	s.hooks.add(e, about.ID)
	reply(w, e)
}
