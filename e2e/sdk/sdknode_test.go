package sdk

import (
	"fmt"
	"testing"

	"umg/e2e/harness"
)

// TestSDKNode runs every case with the official JavaScript clients, the newest and those of one major version before,
// against upstreams of every style.
func TestSDKNode(t *testing.T) {
	t.Parallel()
	node := harness.NodeProgram(t)
	harness.RequireNodeClients(t)
	var clients []sdkClient
	for i, c := range []struct{ name, style, script, packageName string }{
		{"openai-js-7-chat", "chat", "openai-chat.mjs", "openai"},
		{"openai-js-6-chat", "chat", "openai-chat.mjs", "openai-before"},
		{"openai-js-7-responses", "responses", "openai-responses.mjs", "openai"},
		{"openai-js-6-responses", "responses", "openai-responses.mjs", "openai-before"},
		{"anthropic-js-1", "messages", "anthropic.mjs", "@anthropic-ai/sdk"},
		{"anthropic-js-0", "messages", "anthropic.mjs", "anthropic-before"},
		{"genai-js-3", "native", "genai.mjs", "@google/genai"},
		{"genai-js-2", "native", "genai.mjs", "genai-before"},
	} {
		clients = append(clients, sdkClient{c.name, c.style, fmt.Sprint("count to ", 2001+i), []string{node, c.script, c.packageName}})
	}
	runSDKs(t, clients)
}
