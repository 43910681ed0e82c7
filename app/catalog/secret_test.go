package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	const canary = "canary-7f3a"
	secret := NewSecret(canary)
	p := &Provider{ID: "north", Credentials: []Secret{secret}, Headers: map[string]string{"x-tenant": canary}}
	var printed bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		fmt.Fprintf(&printed, verb, secret)
		fmt.Fprintf(&printed, verb, *p)
		fmt.Fprintf(&printed, verb, p)
		fmt.Fprintf(&printed, verb, Route{Provider: p})
		fmt.Fprintf(&printed, verb, &Model{Routes: []Route{{Provider: p}}})
		fmt.Fprintf(&printed, verb, []any{secret, map[string]any{"a": secret}})
	}
	asJSON, err := json.Marshal([]any{secret, p, *p, Route{Provider: p}, Model{Routes: []Route{{Provider: p}}}})
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(map[string]any{"a": secret})
	if err != nil {
		t.Fatal(err)
	}
	printed.Write(asJSON)
	printed.Write(asYAML)
	for _, h := range []slog.Handler{slog.NewJSONHandler(&printed, nil), slog.NewTextHandler(&printed, nil)} {
		slog.New(h).Info("m", "secret", secret, "provider", p, "group", slog.GroupValue(slog.Any("s", secret)))
	}
	out := strings.ToLower(printed.String())
	if strings.Contains(out, canary) || strings.Contains(out, fmt.Sprintf("%x", canary)) {
		t.Errorf("the secret got out:\n%s", out)
	}
	if !strings.Contains(out, redacted) || secret.Reveal() != canary {
		t.Error("the secret is hidden from those who need it, or not marked as hidden")
	}
}
