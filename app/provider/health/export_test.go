package health

// Forget is what the worker does every few seconds.
func (m *Monitor) Forget() { m.forget() }
