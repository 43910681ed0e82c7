package views

import "umg/views/ui"

// verdict is what an outcome means, in plain words.
type verdict struct {
	tone ui.Tone
	text string
}
