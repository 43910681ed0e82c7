package harness

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const AssetsPath = "/v1/files/vendorx/assets"

// SampleURL is the address of a sample that the simulated internet has.
func (g *Gateway) SampleURL(name string) string { return g.SimulatorURL + "/media/samples/" + name }

func AssetBody(kind, url, name string) string {
	return fmt.Sprintf(`{"asset_type":%q,"url":%q,"name":%q}`, kind, url, name)
}

func (c Customer) CallAssets(t *testing.T, verb, body string, headers ...string) Response {
	t.Helper()
	return c.Call(t, http.MethodPost, AssetsPath+verb, body, headers...)
}

// CreateAsset registers a sample and returns what create answers.
func (c Customer) CreateAsset(t *testing.T, kind, sample, name string) map[string]any {
	t.Helper()
	a := c.CallAssets(t, "", AssetBody(kind, c.SampleURL(sample), name))
	o := DecodeObject(t, a.Body)
	if a.Status != http.StatusOK || !strings.HasPrefix(TextMember(o, "asset_id"), "asset_") {
		t.Fatalf("no asset: %d %s", a.Status, a.Body)
	}
	return o
}

func (c Customer) AssetCount(t *testing.T) int64 {
	t.Helper()
	return IntMember(t, DecodeObject(t, c.CallAssets(t, "/list", `{}`).Body), "total")
}
