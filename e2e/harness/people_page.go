package harness

import (
	"net/url"
	"testing"
)

// CreateManagementKey makes a key of the account that manages it by API.
func (p *ConsoleClient) CreateManagementKey(t *testing.T) string {
	t.Helper()
	made := p.Visit(t, "/console/keys", url.Values{"name": {"manager"}, "mode": {"documented"}, "kind": {"management"}})
	secret := SecretPattern.FindString(made.Body)
	if secret == "" {
		t.Fatalf("no management key: %d %s", made.Status, made.Body)
	}
	return secret
}
