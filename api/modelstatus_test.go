package api_test

import (
	"encoding/json"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"testing"
	"time"

	"umg/app/modelstatus"
	"umg/app/provider/health"
)

// TestTheListSaysHowModelsDo pauses a model as an operator does, and reads its state in the list and by its id.
func TestTheListSaysHowModelsDo(t *testing.T) {
	t.Parallel()
	var monitor *health.Monitor
	now := time.Now()
	h := setup(t, func(p *plan) {
		monitor = health.New(health.Options{
			Now: time.Now, Random: mathrand.IntN, DB: p.db, Replica: "box-1", Log: slog.New(slog.DiscardHandler),
		})
		clock := func() time.Time { return now }
		p.api.Now, p.api.Status = clock, modelstatus.New(modelstatus.Options{Now: clock, Health: monitor})
	})
	secret := h.secret()
	type state struct {
		ID           string `json:"id"`
		Availability string `json:"availability"`
		Status       string `json:"status"`
	}
	read := func(path string) (found map[string]state, tag string) {
		t.Helper()
		a := h.call("GET", path, "", bearer(secret)...)
		var list struct {
			state
			Data []state `json:"data"`
		}
		if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != http.StatusOK {
			t.Fatalf("%s: %d %v %s", path, a.status, err, a.body)
		}
		found = map[string]state{list.ID: list.state}
		for _, m := range list.Data {
			found[m.ID] = m
		}
		return found, a.header.Get("ETag")
	}
	all, tag := read("/v1/models")
	for id, want := range map[string]string{"test/plain": "available", "test/paused": "paused", "test/nowhere": "unavailable"} {
		if all[id].Status != want {
			t.Errorf("%s is %s, want %s", id, all[id].Status, want)
		}
	}
	must(t, monitor.Pause(t.Context(), health.Pause{Kind: health.KindModel, ID: "test/plain", Reason: "It moves", By: "ann@ops"}))
	now = now.Add(2 * time.Second)
	for _, path := range []string{"/v1/models", "/v1/models?limit=5", "/v1/models/test/plain"} {
		found, pausedTag := read(path)
		if m := found["test/plain"]; m.Status != "paused" || m.Availability != "paused" || pausedTag == tag {
			t.Errorf("%s: %+v with the tag %s", path, m, pausedTag)
		}
	}
	must(t, monitor.Resume(t.Context(), health.KindModel, "test/plain", "ann@ops"))
	now = now.Add(2 * time.Second)
	if again, later := read("/v1/models"); again["test/plain"].Status != "available" || later != tag {
		t.Errorf("after the pause: %+v with the tag %s, not %s", again["test/plain"], later, tag)
	}
}
