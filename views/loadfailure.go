package views

// LoadFailure is a part of a page that could not be loaded.
type LoadFailure struct {
	RequestID string
}
