package harness

import (
	"testing"
)

// CheckVideoError insists on a failure of the video routes.
func CheckVideoError(t *testing.T, a Response, status int, code, param string) APIError {
	t.Helper()
	r := OpenAIError(t, a)
	if a.Status != status || r.Code != code || r.Param != param || a.Header.Get("X-Request-Id") == "" || a.Header.Get("X-Error-Code") != code {
		t.Errorf("%d, not %d %s at %q: %s", a.Status, status, code, param, a.Body)
	}
	return r
}
