package harness

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// UniqueName makes a name that was not used before on this gateway.
func UniqueName(name string) string { return fmt.Sprint(name, "-", time.Now().UnixNano()) }

// BreakProvider makes a provider fail for the model with two routes, until the test ends.
func (g *Gateway) BreakProvider(t *testing.T, provider, upstream string) {
	t.Helper()
	g.CallSimulator(t, "PUT", "/_control/faults", fmt.Sprintf(`{"provider":%q,"model":%q,"spec":"status=503"}`, provider, upstream))
	t.Cleanup(func() { g.CallSimulator(t, "DELETE", "/_control/faults?provider="+provider+"&model="+upstream, "") })
}

// CheckChatErrorLayout looks at the kinds of the values as they are written.
func CheckChatErrorLayout(t *testing.T, text string) {
	t.Helper()
	o := DecodeObject(t, text)
	inner, isObject := o["error"].(map[string]any)
	if code, isNumber := o["code"].(json.Number); !isNumber || !isObject || strings.ContainsAny(code.String(), ".eE-") {
		t.Errorf("no numeric code or no error object: %s", text)
	}
	for _, name := range []string{"code", "message", "type"} {
		if s, isText := inner[name].(string); !isText || s == "" {
			t.Errorf("error.%s is no text: %s", name, text)
		}
	}
}
