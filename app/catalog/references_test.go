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

// TestUnsetNamesProviderFieldAndVariable: the error for a variable without a value names the provider, the field and the
// variable, unless the provider is not in use.
func TestUnsetNamesProviderFieldAndVariable(t *testing.T) {
	t.Parallel()
	f := parse(t, referringFile)
	got := Unset(f, func(name string) (string, bool) { return map[string]string{"NORTH_KEY_2": "x"}[name], name != "PROXY" })
	want := []string{
		"providers[0].credential: ${NORTH_KEY} of provider north is not set",
		"providers[0].proxy: ${PROXY} of provider north is not set",
		"providers[0].headers.x-team: ${TEAM} of provider north is not set",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if all := Unset(f, func(string) (string, bool) { return "x", true }); len(all) > 0 {
		t.Errorf("with all of them set: %q", all)
	}
}

// TestADisabledProviderIsNotCalled: its routes are passed over, whatever its variables are.
func TestADisabledProviderIsNotCalled(t *testing.T) {
	t.Parallel()
	s := snapshotFrom(t, parse(t, strings.Replace(smallFile, "id: north,", "id: north, disabled: true,", 1)))
	m, _ := s.Model("acme/one")
	if len(m.Routes) != 1 || m.Routes[0].Provider.ID != "south" || len(m.IdleRoutes) != 1 || s.Unusable()["north"] != "disabled in the catalog" {
		t.Errorf("routes %v, idle %v, %v", m.Routes, m.IdleRoutes, s.Unusable())
	}
}

func TestAFileWithoutAliasesIsWarnedOf(t *testing.T) {
	t.Parallel()
	got := Warnings(parse(t, referringFile))
	if len(got) != 1 || !strings.Contains(got[0], "x-api-key") || !strings.Contains(got[0], "/v1beta/models/{model}:generateContent") {
		t.Errorf("%q", got)
	}
}

// TestPricesOfMetersThatNoCallCountsAreWarnedOf: a picture in a prompt is charged by its tokens, so a price of pictures does nothing.
func TestPricesOfMetersThatNoCallCountsAreWarnedOf(t *testing.T) {
	t.Parallel()
	priced := strings.Replace(smallFile, "rates: {input_tokens:", "rates: {images: 0.01 per 1, input_tokens:", 1)
	got := idleRates(parse(t, priced))
	if len(got) != 1 || !strings.Contains(got[0], "models[0].rates.images") || len(idleRates(parse(t, smallFile))) != 0 {
		t.Errorf("%q", got)
	}
}
