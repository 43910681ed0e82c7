package catalog

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a credential that prints itself as [redacted] everywhere: in logs, errors, JSON and with any verb of fmt.
// Only Reveal gives it away.
type Secret struct{ value string }

// NewSecret wraps a credential.
func NewSecret(value string) Secret { return Secret{value: value} }

// Reveal is the credential itself, for the request that needs it.
func (s Secret) Reveal() string { return s.value }

// IsZero reports whether there is no credential.
func (s Secret) IsZero() bool { return s.value == "" }

// String hides the credential.
func (s Secret) String() string { return redacted }

// GoString hides the credential.
func (s Secret) GoString() string { return redacted }

// Format hides the credential from every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText hides the credential, in YAML and as a key of maps too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON hides the credential.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue hides the credential.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// A provider prints as its id alone: its headers may hold secrets, too.

// String is the id.
func (p Provider) String() string { return p.ID }

// Format prints the id with every verb.
func (p Provider) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.ID) }

// MarshalText is the id, in JSON as well.
func (p Provider) MarshalText() ([]byte, error) { return []byte(p.ID), nil }

// LogValue is the id.
func (p Provider) LogValue() slog.Value { return slog.StringValue(p.ID) }
