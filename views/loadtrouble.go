package views

// Trouble is a part of a page that could not be loaded.
type Trouble struct {
	RequestID string
}
