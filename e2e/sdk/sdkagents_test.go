package sdk

import (
	"strings"
	"testing"

	"umg/e2e/harness"
)

// TestSDKNativeAgents runs the libraries for agents that speak the native style and build its paths on their own, against
// upstreams of every style.
func TestSDKNativeAgents(t *testing.T) {
	t.Parallel()
	node := harness.NodeProgram(t)
	harness.RequireNodeClients(t)
	g := harness.SharedDemo(t)
	sdkModelsOnce.Do(func() { addSDKModels(t, g) })
	models := map[string]string{}
	for style := range sdkUpstreams {
		models[style] = "sdk/" + style
	}
	for library, cases := range map[string]int{"ai": 6, "langchain": 4} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			c := g.NewCustomer(t, "native-"+library)
			runCases(t, cases*len(models), map[string]any{
				"origin": strings.TrimSuffix(c.BaseURL, "/v1"), "key": c.APIKey, "models": models,
			}, node, "native-agents.mjs", library)
		})
	}
}
