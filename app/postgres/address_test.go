package postgres

import (
	"strings"
	"testing"
)

// TestAnAddressThatCannotBeUsedKeepsItsPassword opens pools with addresses that are wrong in every way, and reads the errors.
func TestAnAddressThatCannotBeUsedKeepsItsPassword(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://u:CANARY@%zz/d":                         "cannot be read",
		"postgres://u:CANARY/x@host/d":                      "cannot be read",
		"postgres://u:CANARY@h:5x/d":                        "cannot be read",
		"mysql://u:CANARY@h/d":                              "cannot be read",
		"password=CAN CANARY host=a":                        "cannot be read",
		"password='CANARY host=a":                           "cannot be read",
		"CANARY":                                            "cannot be read",
		"postgres://u:CANARY@h/d?sslmode=sometimes":         `"sslmode"`,
		"host=a port=x password=CANARY":                     `"port"`,
		"postgres://u:CANARY@127.0.0.1:1/d?sslmode=disable": "refused",
	} {
		_, err := Open(t.Context(), dsn, Options{})
		if err == nil || strings.Contains(err.Error(), "CANARY") || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q) = %v, want %s and no password", dsn, err, want)
		}
	}
}
