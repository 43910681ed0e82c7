package views

// Freeze is why nothing may cost the account anything.
type Freeze struct {
	Reason string // Reason is empty when no reason was given.
}
