package catalog

import (
	"slices"
	"strings"
	"testing"
)

const referringFile = `
providers:
  - {id: north, name: North, base_url: "https://north.example/v1", credential: "${NORTH_KEY}", credentials: ["${NORTH_KEY_2}"],
     proxy: "${PROXY}", headers: {x-team: "${TEAM}"}}
  - {id: south, name: South, base_url: "${SOUTH}", disabled: true}
models: []
`

// TestAReferenceWithoutAValueIsNamed checks that the error names the field and the variable, unless the provider is not in use.
func TestAReferenceWithoutAValueIsNamed(t *testing.T) {
	t.Parallel()
	f := parse(t, referringFile)
	env := map[string]string{"NORTH_KEY_2": "x", "NORTH_KEY": ""}
	got := texts(CheckReferences(f, Sources{Env: func(name string) (string, bool) { value, ok := env[name]; return value, ok }}))
	want := []string{
		"providers[0].credential: the variable NORTH_KEY is empty",
		"providers[0].proxy: the variable PROXY is not set",
		"providers[0].headers.x-team: the variable TEAM is not set",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	set := Sources{Env: func(string) (string, bool) { return "http://x", true }}
	if all := CheckReferences(f, set); len(all) > 0 {
		t.Errorf("with all of them set: %q", all)
	}
}

func texts(all []error) (list []string) {
	for _, err := range all {
		list = append(list, err.Error())
	}
	return list
}

// TestADisabledProviderIsNotCalled checks that its routes are skipped, whatever its variables are.
func TestADisabledProviderIsNotCalled(t *testing.T) {
	t.Parallel()
	s := snapshotFrom(t, parse(t, strings.Replace(smallFile, "id: north,", "id: north, disabled: true,", 1)))
	m, _ := s.Model("acme/one")
	if len(m.Routes) != 1 || m.Routes[0].Provider.ID != "south" || len(m.IdleRoutes) != 1 || s.Unusable()["north"] != "disabled in the catalog" {
		t.Errorf("routes %v, idle %v, %v", m.Routes, m.IdleRoutes, s.Unusable())
	}
}

// TestPricesOfMetersThatNoCallCountsAreWarnedOf sets a price of pictures. A picture in a prompt is charged by its tokens.
func TestPricesOfMetersThatNoCallCountsAreWarnedOf(t *testing.T) {
	t.Parallel()
	priced := strings.Replace(smallFile, "rates: {input_tokens:", "rates: {images: 0.01 per 1, input_tokens:", 1)
	got := idleRates(parse(t, priced))
	if len(got) != 1 || !strings.Contains(got[0], "models[0].rates.images") || len(idleRates(parse(t, smallFile))) != 0 {
		t.Errorf("%q", got)
	}
}
