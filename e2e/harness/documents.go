package harness

import "regexp"

var (
	// FencePattern finds a fenced block of code in Markdown: its language and its text.
	FencePattern = regexp.MustCompile("(?ms)^```(\\w+)(?: tab)?\n(.*?)^```$")

	// IndentedCodePattern finds a block of code that is indented, as README has them.
	IndentedCodePattern = regexp.MustCompile(`(?m)(?:^    .*\n)+`)
	// IndentPattern finds the indentation of such a block.
	IndentPattern = regexp.MustCompile(`(?m)^    `)

	// EmbeddedErrorPattern finds the error in an answer of any style. The chat route sends errors with status 200.
	EmbeddedErrorPattern = regexp.MustCompile(`"error"\s*:\s*\{`)
)
