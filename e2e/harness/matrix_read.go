package harness

import (
	"encoding/json"
	"testing"
)

// The readers of whole answers. Each answer is held against the published schema of its style first.

// DecodeJSON decodes JSON that must be whole.
func DecodeJSON[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}
