package harness

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
