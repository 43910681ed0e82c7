package views

import "umg/views/ui"

// Badge is what an outcome means, in plain words.
type Badge struct {
	Tone ui.Tone
	Text string
}
