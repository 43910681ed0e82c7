package sdk

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// TestSDKModelLists lists models with the official clients of two styles: each shows exactly the models that answer in its style.
func TestSDKModelLists(t *testing.T) {
	t.Parallel()
	node := harness.NodeProgram(t)
	harness.RequireNodeClients(t)
	// Other tests add their models to the same catalog, which must not happen between the two lists.
	g := harness.SharedDemo(t)
	sdkModelsOnce.Do(func() { addSDKModels(t, g) })
	c := g.NewCustomer(t, "lists")
	var want struct{ messages, native []string }
	var model struct {
		ID, Name      string
		ContextLength int64 `json:"context_length"`
	}
	var listed struct {
		Data []struct {
			ID, Name      string
			Protocols     []string
			ContextLength int64 `json:"context_length"`
		}
	}
	if err := json.Unmarshal([]byte(c.Call(t, http.MethodGet, "/v1/models", "").Body), &listed); err != nil {
		t.Fatal(err)
	}
	for _, m := range listed.Data {
		if slices.Contains(m.Protocols, "messages") {
			want.messages = append(want.messages, m.ID)
		}
		if slices.Contains(m.Protocols, "native") {
			want.native = append(want.native, "models/"+m.ID)
		}
		if slices.Contains(m.Protocols, "native") && slices.Contains(m.Protocols, "messages") {
			model.ID, model.Name, model.ContextLength = m.ID, m.Name, m.ContextLength
		}
	}
	if len(want.messages) < 4 || len(want.native) < 4 || model.ID == "" {
		t.Fatalf("%+v", want)
	}
	origin := strings.TrimSuffix(c.BaseURL, "/v1")
	for name, args := range map[string][]string{"go": {sdkProgram(t, "lists")}, "js": {node, "lists.mjs"}} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(args[0], append(args[1:], origin, c.APIKey, model.ID)...)
			cmd.Dir = "../node"
			out, err := cmd.Output()
			if failure, ok := err.(*exec.ExitError); ok {
				t.Fatalf("%v: %s", err, failure.Stderr)
			}
			var got struct {
				Messages, Native []string
				MessagesOne      string
				NativeOne        struct {
					Name, DisplayName string
					InputTokenLimit   int64
					SupportedActions  []string
				}
			}
			if err != nil || json.Unmarshal(out, &got) != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !slices.Equal(got.Messages, want.messages) || !slices.Equal(got.Native, want.native) {
				t.Errorf("%+v, want %+v", got, want)
			}
			if one := got.NativeOne; got.MessagesOne != model.Name || one.Name != "models/"+model.ID || one.DisplayName != model.Name ||
				one.InputTokenLimit != model.ContextLength || !slices.Contains(one.SupportedActions, "generateContent") {
				t.Errorf("%+v, want %+v", got, model)
			}
		})
	}
}
