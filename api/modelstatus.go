package api

import (
	"bytes"
	"context"
	"time"

	"umg/app/catalog"
	"umg/app/modelstatus"
)

// statusAge is how long the states of models in answers may lag behind those of pages.
const statusAge = time.Second

// statusCache is the states of the models of a snapshot that differ from those that its entries have.
type statusCache struct {
	snapshot *catalog.Snapshot
	at       time.Time
	changed  []changedEntry
}

// changedEntry is the entry of a model in the list, and the same with the state of now.
type changedEntry struct{ entry, current []byte }

// changedStatuses returns the models of a snapshot whose state is not the one in their entry.
func (a *API) changedStatuses(ctx context.Context, s *catalog.Snapshot) []changedEntry {
	now := a.now()
	if c := a.statuses.Load(); c != nil && c.snapshot == s && now.Sub(c.at) < statusAge {
		return c.changed
	}
	board := a.o.Status.Board(ctx, s)
	c := &statusCache{snapshot: s, at: now}
	for _, m := range s.Models() {
		if !m.Available {
			continue
		}
		verdict := board.Of(m.ID)
		if current := m.EntryWithStatus(string(verdict.State), verdict.State == modelstatus.Paused); !bytes.Equal(current, m.ListEntry()) {
			c.changed = append(c.changed, changedEntry{m.ListEntry(), current})
		}
	}
	a.statuses.Store(c)
	return c.changed
}

// withStatus returns a list or an entry in the common layout with the states of now. It returns the body itself when nothing has changed.
func (a *API) withStatus(ctx context.Context, s *catalog.Snapshot, body []byte) []byte {
	for _, c := range a.changedStatuses(ctx, s) {
		body = bytes.Replace(body, c.entry, c.current, 1)
	}
	return body
}
