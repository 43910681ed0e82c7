package payments

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"time"
)

// forgery is an event that never happened, or not like that.
type forgery struct {
	Type      string         `json:"type"`
	Object    string         `json:"object"`    // Object is the id of the object in the event.
	Changes   map[string]any `json:"changes"`   // Changes replace members of the object.
	Event     map[string]any `json:"event"`     // Event replaces members of the event.
	Signature string         `json:"signature"` // Signature is good, none, wrong, empty, altered or old.
	AgeMS     int64          `json:"age_ms"`    // AgeMS is the age of the signature.
}

// oldForgery is how old a signature is that is simply to be too old.
const oldForgery = 6 * time.Minute

// controlForge posts a forged event and answers what the receiver said.
func (s *Simulator) controlForge(w http.ResponseWriter, r *http.Request) {
	f := forgery{Signature: "good"}
	if !decode(w, r, &f) {
		return
	}
	s.mu.Lock()
	tree := map[string]any{"id": f.Object}
	if o := s.store.get(f.Object); o != nil {
		tree = treeOf(o)
	}
	id := s.newID("evt_", 24)
	s.mu.Unlock()
	maps.Copy(tree, f.Changes)
	e := map[string]any{
		"id": id, "object": "event", "api_version": apiVersion, "created": s.o.Now().Unix(), "livemode": false, "pending_webhooks": 1,
		"type": f.Type, "data": map[string]any{"object": tree}, "request": origin{},
	}
	maps.Copy(e, f.Event)
	body, err := json.Marshal(e)
	if err != nil {
		invalid("", "", "The event cannot be written: %s", err).write(w)
		return
	}
	body, signature, failed := s.sign(f, body)
	if failed != nil {
		failed.write(w)
		return
	}
	s.hooks.mu.Lock()
	address := s.hooks.habits.URL
	s.hooks.mu.Unlock()
	status, trouble := s.hooks.post(r.Context(), address, body, signature)
	reply(w, map[string]any{"event_id": id, "status": status, "error": trouble})
}

// sign signs a forged body as well or as badly as was asked.
func (s *Simulator) sign(f forgery, body []byte) ([]byte, string, *failure) {
	at := s.o.Now().Add(-time.Duration(f.AgeMS) * time.Millisecond)
	signature := signatureHeader(at, body, s.o.Secret)
	switch f.Signature {
	case "good":
	case "none":
		signature = ""
	case "wrong":
		signature = signatureHeader(at, body, s.o.Secret+"x")
	case "empty":
		signature = signatureHeader(at, body, "")
	case "old":
		signature = signatureHeader(at.Add(-oldForgery), body, s.o.Secret)
	case "altered":
		body = bytes.Replace(body, []byte(`"object":"event"`), []byte(`"object":"event" `), 1)
	default:
		return nil, "", invalid("", "signature", "Invalid signature: must be one of good, none, wrong, empty, old, altered")
	}
	return body, signature, nil
}
