package harness

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// AssetsPath is the path of reference assets.
const AssetsPath = "/v1/files/vendorx/assets"

// SampleURL is the address of a sample that the simulated internet has.
func (g *Gateway) SampleURL(name string) string { return g.SimulatorURL + "/media/samples/" + name }

// AssetBody is the body that registers an asset.
func AssetBody(kind, url, name string) string {
	return fmt.Sprintf(`{"asset_type":%q,"url":%q,"name":%q}`, kind, url, name)
}

// CallAssets sends a body to one of the asset routes.
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

// AssetCount is the number of assets that the API lists for the customer.
func (c Customer) AssetCount(t *testing.T) int64 {
	t.Helper()
	return IntMember(t, DecodeObject(t, c.CallAssets(t, "/list", `{}`).Body), "total")
}

// PermanentAsset is an asset of the customer that is there for good.
func (c Customer) PermanentAsset(t *testing.T) string {
	t.Helper()
	body := fmt.Sprintf(`{"asset_type":"image","url":%q,"name":"a picture"}`, c.SimulatorURL+"/media/samples/picture.png")
	a := c.Call(t, http.MethodPost, "/v1/files/vendorx/assets", body)
	id := TextMember(DecodeObject(t, a.Body), "asset_id")
	if a.Status != http.StatusOK || !strings.HasPrefix(id, "asset_") {
		t.Fatalf("no asset: %d %s", a.Status, a.Body)
	}
	for deadline := time.Now().Add(CallTimeMax); ; time.Sleep(20 * time.Millisecond) {
		a := c.Call(t, http.MethodPost, "/v1/files/vendorx/assets/get", `{"asset_id":"`+id+`"}`)
		if TextMember(DecodeObject(t, a.Body), "status") == "active" {
			return id
		}
		if time.Now().After(deadline) {
			t.Fatalf("the asset does not become active: %d %s", a.Status, a.Body)
		}
	}
}
