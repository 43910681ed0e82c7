package harness

import (
	"regexp"
)

// helpLink is where an error says that it is explained: at the gateway itself, whose address in tests is also the upstream's.
var helpLink = regexp.MustCompile(`"doc_url":"http://127\.0\.0\.1:\d+/console/docs/errors(#[a-z_]+)?"`)

// WithoutHelpLink is an error without that link.
func WithoutHelpLink(text string) string { return helpLink.ReplaceAllString(text, `"doc_url":""`) }
