package catalog

import (
	"encoding"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"umg/app"
)

// FileSpend is the most that calls of a provider may cost the operator. Days and months are those of UTC.
type FileSpend struct {
	SpendCap `yaml:",inline"`

	// Credentials are caps of single credentials, by their references.
	Credentials map[string]SpendCap `yaml:"credentials,omitempty" json:"credentials,omitempty"`
}

// SpendCap is the most that may be spent in a day and in a month. Zero is no cap.
type SpendCap struct {
	Daily   CapAmount `yaml:"daily,omitempty" json:"daily,omitempty"`
	Monthly CapAmount `yaml:"monthly,omitempty" json:"monthly,omitempty"`
}

// Cap is the cap of a credential, or that of the whole provider for an empty id. Without a cap it is zero.
func (s *FileSpend) Cap(credentialID string) SpendCap {
	if s == nil {
		return SpendCap{}
	}
	if credentialID == "" {
		return s.SpendCap
	}
	return s.Credentials[credentialID]
}

// CapAmount is an amount that a file has as decimal dollars, such as 50.00.
type CapAmount app.Amount

var (
	_ encoding.TextUnmarshaler = (*CapAmount)(nil)
	_ encoding.TextMarshaler   = CapAmount(0)
)

// UnmarshalText reads decimal dollars.
func (d *CapAmount) UnmarshalText(text []byte) error { return (*app.Amount)(d).UnmarshalText(text) }

// MarshalText prints decimal dollars.
func (d CapAmount) MarshalText() ([]byte, error) { return []byte(app.Amount(d).String()), nil }

// UnmarshalYAML reads the scalar as text, so that no amount passes through a float.
func (d *CapAmount) UnmarshalYAML(v *yaml.Node) error {
	amount, err := app.ParseAmount(v.Value)
	if err != nil || amount <= 0 {
		return fmt.Errorf("line %d: %q is not an amount of more than 0 dollars, such as 50.00", v.Line, v.Value)
	}
	*d = CapAmount(amount)
	return nil
}

// MarshalYAML prints the amount without quotes.
func (d CapAmount) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: app.Amount(d).String()}, nil
}

// checkSpend checks that each cap of a credential is of one that the provider has.
func (v *FileProvider) checkSpend(p problems) {
	for _, id := range sortedKeys(v.Spend.Credentials) {
		field := "spend.credentials." + id
		switch known := append([]string{v.Credential}, v.Credentials...); {
		case id == "" || !slices.Contains(known, id):
			p.addf(field, "is no credential of the provider; write it as in credential or credentials")
		case v.Spend.Credentials[id] == SpendCap{}:
			p.addf(field, "needs daily or monthly")
		}
	}
}

// spendCaps are the caps of a provider; nil when there are none.
func (v *FileProvider) spendCaps() *FileSpend {
	if v.Spend.SpendCap == (SpendCap{}) && len(v.Spend.Credentials) == 0 {
		return nil
	}
	return &v.Spend
}

// CredentialID is the reference of a credential in the file, which is stable and no secret. It is empty for a provider without one.
func (p *Provider) CredentialID(index int) string {
	if index < 0 || index >= len(p.CredentialIDs) {
		return ""
	}
	return p.CredentialIDs[index]
}
