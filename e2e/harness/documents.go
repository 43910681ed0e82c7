package harness

import "regexp"

var (
	// FencePattern finds a fenced block of code in Markdown: its language and its text.
	FencePattern = regexp.MustCompile("(?ms)^```(\\w+)(?: tab)?\n(.*?)^```$")

	// EmbeddedErrorPattern finds the error in an answer of any style. The chat route sends errors with status 200.
	EmbeddedErrorPattern = regexp.MustCompile(`"error"\s*:\s*\{`)
)
