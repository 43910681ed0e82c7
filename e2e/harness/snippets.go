package harness

import (
	"regexp"
)

var (
	FencePattern = regexp.MustCompile("(?ms)^```(\\w+)(?: tab)?\n(.*?)^```$")

	// IndentedCodePattern is what README writes code as.
	IndentedCodePattern = regexp.MustCompile(`(?m)(?:^    .*\n)+`)
	IndentPattern       = regexp.MustCompile(`(?m)^    `)

	// APIHostPattern is how the answers of all styles hold an error, which the chat route sends with status 200.
	APIHostPattern = regexp.MustCompile(`"error"\s*:\s*\{`)
)
