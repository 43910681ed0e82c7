package views

import "umg/views/ui"

// Badge is a state in a word or two, and its color.
type Badge struct {
	Tone ui.Tone
	Text string
}
