package harness

import (
	"net/http"
	"strings"
	"testing"
)

// RequireSignedOut insists that the person's session is over.
func (p *ConsoleClient) RequireSignedOut(t *testing.T) {
	t.Helper()
	if a := p.Visit(t, "/console", nil); a.Status != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/console/sign-in") {
		t.Errorf("the session is still good: %d %s", a.Status, a.Header.Get("Location"))
	}
}

// RequireSignedIn insists that the person is signed in.
func (p *ConsoleClient) RequireSignedIn(t *testing.T) {
	t.Helper()
	if a := p.Visit(t, "/console", nil); a.Status != http.StatusOK {
		t.Errorf("not signed in: %d %s", a.Status, a.Header.Get("Location"))
	}
}
