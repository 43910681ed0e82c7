package health

import "time"

// What can be paused.
const (
	KindModel    = "model"
	KindProvider = "provider"
)

// Pause is an operator's word that a model or a provider takes no new calls.
type Pause struct {
	Kind   string // model or provider
	ID     string
	Reason string // for clients; may be empty
	By     string // the operator's e-mail
	At     time.Time
}

// pauses are those in force. They never change: newer ones replace them as a whole.
type pauses struct {
	models, providers map[string]Pause
	all               []Pause
}

// ModelPaused is the pause of a model, if there is one.
func (m *Monitor) ModelPaused(modelID string) (Pause, bool) {
	p, ok := m.pauses.Load().models[modelID]
	return p, ok
}

// ProviderPaused reports whether a provider takes no new calls.
func (m *Monitor) ProviderPaused(providerID string) bool {
	_, ok := m.pauses.Load().providers[providerID]
	return ok
}

// Pauses lists what is paused, by kind and id. The caller must not change it.
func (m *Monitor) Pauses() []Pause { return m.pauses.Load().all }
