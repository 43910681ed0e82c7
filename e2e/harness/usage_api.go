package harness

import (
	"net/http"
	"testing"
)

// GetData reads an answer whose object stands below data.
func (c Customer) GetData(t *testing.T, path string) map[string]any {
	t.Helper()
	a := c.Call(t, "GET", path, "")
	o, ok := DecodeObject(t, a.Body)["data"].(map[string]any)
	if a.Status != http.StatusOK || !ok {
		t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	return o
}
