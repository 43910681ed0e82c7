package views

// Freeze is why nothing may cost the account anything.
type Freeze struct {
	Reason string // empty when no reason was given
}
