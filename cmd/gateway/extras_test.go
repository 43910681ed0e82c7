package main

import (
	"fmt"
	"strings"
	"testing"

	"umg/app/llm"
)

func TestTheGuidesNameEveryExtraOnce(t *testing.T) {
	t.Parallel()
	for _, style := range llm.Styles() {
		seen := map[string]bool{}
		for _, row := range extrasOf(style) {
			if !strings.HasPrefix(row.Field, "`") || row.What == "" || row.Fate == "" {
				t.Errorf("%s: %+v", style, row)
			}
			name := fmt.Sprintf("%s %x", row.Field, row.Meters) // A search has a price for each prompt, or one for each query.
			if seen[name] {
				t.Errorf("%s: %s comes twice", style, row.Field)
			}
			seen[name] = true
		}
		if len(seen) == 0 {
			t.Errorf("%s: no row", style)
		}
	}
}
