package translate

import (
	"encoding/base64"
	"testing"

	"umg/app/dialect"
	"umg/app/llm"
)

func TestForeignThoughtsAreLeftOutAndEverythingElseStays(t *testing.T) {
	t.Parallel()
	mark := base64.StdEncoding.EncodeToString([]byte("gw1.quillon.c2ln"))
	for name, c := range map[string]struct {
		style    llm.Style
		in, want string
	}{
		"messages": {
			llm.Messages,
			`{"model":"m" , "thinking":{"type":"adaptive"},"context_management":{},"messages":[{"role":"user","content":[{"type":"text","text":"\"gw1.x","cache_control":{"type":"ephemeral"}}]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"gw1.boreal.x"},{"type":"thinking","thinking":"b","signature":"EqQB"},{"type":"redacted_thinking","data":"gw1.p."},{"type":"text","text":"hi"}]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"only","signature":"gw1.p."}]},{"role":"user","content":"q"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}`,
			`{"model":"m","thinking":{"type":"adaptive"},"context_management":{},"messages":[{"role":"user","content":[{"type":"text","text":"\"gw1.x","cache_control":{"type":"ephemeral"}}]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"b","signature":"EqQB"},{"type":"text","text":"hi"}]},` +
				`{"role":"user","content":"q"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}`,
		},
		"chat": {
			llm.Chat,
			`{"messages":[{"role":"assistant","reasoning_content":"r","tool_calls":[{"id":"a","function":{"name":"f"},"extra_content":{"google":{"thought_signature":"gw1.p.x"}}},{"id":"b","extra_content":{"google":{"thought_signature":"own"}}}]}],"model":"m","seed":1.0}`,
			`{"messages":[{"role":"assistant","reasoning_content":"r","tool_calls":[{"id":"a","function":{"name":"f"}},{"id":"b","extra_content":{"google":{"thought_signature":"own"}}}]}],"model":"m","seed":1.0}`,
		},
		"responses": {
			llm.Responses,
			`{"model":"m","store":true,"input":[{"role":"user","content":"q"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gw1.p.x"},{"type":"reasoning","id":"rs_2","encrypted_content":"gAAA"},{"type":"web_search_call","id":"ws_1"}]}`,
			`{"model":"m","store":true,"input":[{"role":"user","content":"q"},{"type":"reasoning","id":"rs_2","encrypted_content":"gAAA"},{"type":"web_search_call","id":"ws_1"}]}`,
		},
		"native": {
			llm.Native,
			`{"model":"m","cachedContent":"c","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"t","thought":true,"thoughtSignature":"` + mark + `"},` +
				`{"functionCall":{"name":"f","args":{}},"thoughtSignature":"` + mark + `"},{"functionCall":{"name":"g","args":{}},"thought_signature":"` + mark + `"},{"text":"x","thoughtSignature":"` + mark + `"},{"text":"y","thoughtSignature":"CiQB"}]}]}`,
			`{"model":"m","cachedContent":"c","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[` +
				`{"functionCall":{"name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"g","args":{}}},{"text":"x"},{"text":"y","thoughtSignature":"CiQB"}]}]}`,
		},
	} {
		d, _ := dialect.Of(c.style)
		way, ok := PassthroughWithoutSignatures(d, []byte(c.in))
		if !ok || string(way.body) != c.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, ok, way.body, c.want)
			continue
		}
		if sent := way.Request(nil, dialect.Edit{Model: "upstream"}); len(sent) == 0 || way.head.Model != "m" {
			t.Errorf("%s: %s", name, sent)
		}
	}
}

func TestABudgetForThoughtsNeedsATranslationInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	d, _ := dialect.Of(llm.Messages)
	const call = `{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"gw1.p.x"},{"type":"tool_use","id":"c","name":"f","input":{}}]}`
	for last, ok := range map[string]bool{`[{"type":"tool_result","tool_use_id":"c"}]`: false, `"q"`: true} {
		for thinking, free := range map[string]bool{`{"type":"enabled","budget_tokens":1024}`: false, `{"type":"adaptive"}`: true, `null`: true} {
			body := `{"model":"m","messages":[{"role":"user","content":"q"},` + call + `,{"role":"user","content":` + last + `}],"thinking":` + thinking + `}`
			if _, got := PassthroughWithoutSignatures(d, []byte(body)); got != (ok || free) {
				t.Errorf("%v for %s", got, body)
			}
		}
	}
}
