package protocols

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"umg/e2e/harness"
)

const (
	// nastyText has what breaks writers of JSON and of event streams.
	nastyText = "Grüße, 世界! 🎈 \"quoted\" \\ <b>&amp;</b> \u2028 tab\tdata: [DONE] end"
	// nastyArguments are what a writer that parses them would change: order, digits, escapes.
	nastyArguments = `{"zeta":12345678901234567890.000100,"city":"Zürich 🎈 <&> \u00e9","alpha":{"b":[1e2,-0.0,null,true],"a":{}},` +
		`"days":9007199254740993}`
	dataImage = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
	webImage  = "https://images.example.com/dot.png"
)

// hashedCredential is how the simulator shows the credential of all providers.
var hashedCredential = func() string {
	sum := sha256.Sum256([]byte("simulated"))
	return "sha256:" + hex.EncodeToString(sum[:])
}()

func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

// conversations have instructions, of which the provider has a part in its cache, and end with a text that is to be repeated.
var conversations = func() map[string]string {
	all := map[string]string{
		"chat":      `"messages":[{"role":"system","content":SYSTEM},{"role":"user","content":"Hello"},{"role":"assistant","content":"Hello to you."},{"role":"user","content":LAST}]`,
		"messages":  `"system":SYSTEM,"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hello to you."},{"role":"user","content":LAST}]`,
		"responses": `"instructions":SYSTEM,"input":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hello to you."},{"role":"user","content":LAST}]`,
		"native": `"systemInstruction":{"parts":[{"text":SYSTEM}]},"contents":[{"role":"user","parts":[{"text":"Hello"}]},` +
			`{"role":"model","parts":[{"text":"Hello to you."}]},{"role":"user","parts":[{"text":LAST}]}]`,
	}
	for style, members := range all {
		all[style] = strings.NewReplacer("SYSTEM", `"cached: this is the handbook of the company, which is long. MARK"`, "LAST", quoted("echo: "+nastyText)).Replace(members)
	}
	return all
}()

// callBoth makes the model think and call two tools, in the words of each style.
var callBoth = func() map[string]string {
	const weather = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city","days"]}`
	all := map[string]string{
		"chat": `"messages":[{"role":"system","content":"MARK"},{"role":"user","content":LAST}],"reasoning_effort":"low","tools":[{"type":"function","function":{"name":"get_weather",` +
			`"parameters":WEATHER}},{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{}}}}]`,
		"messages": `"system":"MARK","messages":[{"role":"user","content":LAST}],"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":1024},` +
			`"tools":[{"name":"get_weather","input_schema":WEATHER},{"name":"get_time","input_schema":{"type":"object","properties":{}}}]`,
		"responses": `"instructions":"MARK","input":LAST,"reasoning":{"effort":"low","summary":"auto"},"tools":[{"type":"function","name":"get_weather","strict":false,` +
			`"parameters":WEATHER},{"type":"function","name":"get_time","strict":false,"parameters":{"type":"object","properties":{}}}]`,
		"native": `"systemInstruction":{"parts":[{"text":"MARK"}]},"contents":[{"parts":[{"text":LAST}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":true,` +
			`"thinkingBudget":1024}},"tools":[{"functionDeclarations":[{"name":"get_weather","parametersJsonSchema":WEATHER},{"name":"get_time"}]}]`,
	}
	for style, members := range all {
		all[style] = strings.NewReplacer("WEATHER", weather, "LAST", quoted("call: get_weather "+nastyArguments+"\ncall: get_time {}")).Replace(members)
	}
	return all
}()

// testMatrixBehaviors has each behavior in one pair, and calls of tools behind thoughts with every style of client and of provider.
func testMatrixBehaviors(m *matrix, t *testing.T) {
	for i, client := range styleNames {
		p := pair{client, styleNames[(i+1)%len(styleNames)]}
		for _, stream := range []bool{false, true} {
			t.Run("tools/"+p.String()+"/"+modeOf(stream), func(t *testing.T) {
				s := m.send(t, p, stream, callBoth[client])
				m.answered(t, p, stream, &s)
				for _, part := range []string{"get_weather", "get_time", "12345678901234567890.000100", "Zürich 🎈", "9007199254740993", "The user wants"} {
					if whole := strings.NewReplacer(`\u00fc`, "ü", `\u003c`, "<").Replace(s.Body); !stream && !strings.Contains(whole, part) {
						t.Errorf("the answer has no %q: %s", part, s.Body)
					}
				}
				if s.record.Thought == 0 || s.record.Estimated {
					t.Errorf("recorded is %+v", s.record)
				}
				m.reached(t, p, &s)
			})
		}
	}
	history := `"messages":[{"role":"system","content":"MARK"},{"role":"user","content":"Compare."},{"role":"assistant","content":"Let me look.","tool_calls":[` +
		`{"id":"call_1a","type":"function","function":{"name":"get_weather","arguments":` + quoted(nastyArguments) + `}},` +
		`{"id":"call_2b","type":"function","function":{"name":"get_time","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1a","content":"18 degrees\n\"mild\""},` +
		`{"role":"tool","tool_call_id":"call_2b","content":"noon 🕛"}],"tools":[{"type":"function","function":{"name":"get_weather"}},{"type":"function","function":{"name":"get_time"}}]`
	asks := func(style, prompt, more string) string {
		return strings.TrimPrefix(strings.TrimSuffix(harness.Styles[style].Request("", prompt), "}"), `{"model":"",`) + more
	}
	for _, c := range []struct {
		name    string
		pair    pair
		stream  bool
		members string
		text    string
		// estimated means that the provider has not counted, or was stopped before it could.
		estimated bool
	}{
		{name: "results of tools", pair: pair{"chat", "native"}, members: history, text: "According to the tool: 18 degrees\n\"mild\"; noon 🕛."},
		{name: "a schema", pair: pair{"messages", "responses"}, text: `{"days":4,"place":"Bergen"}`, members: asks("messages", "Choose place=Bergen days=4 MARK",
			`,"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer"}},"required":["place","days"],"additionalProperties":false}}}`)},
		{name: "a length", pair: pair{"responses", "messages"}, stream: true, members: `"instructions":"MARK","input":"count to 60","max_output_tokens":20`,
			text: "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"},
		{name: "a refusal", pair: pair{"native", "messages"}, members: asks("native", "refuse: MARK", ""), text: "I cannot help with that."},
		{name: "a blocked prompt", pair: pair{"chat", "native"}, members: asks("chat", "block: all of MARK", "")},
		{name: "JSON in place of a stream", pair: pair{"messages", "chat"}, stream: true, members: asks("messages", "simulate: json-instead-of-stream\necho: MARK", ""), text: "MARK"},
		{name: "a stream in place of JSON", pair: pair{"native", "responses"}, members: asks("native", "simulate: stream-instead-of-json\necho: MARK", ""), text: "MARK"},
		{name: "a stream in place of JSON that has no usage", pair: pair{"chat", "chat"}, members: asks("chat", "simulate: stream-instead-of-json\necho: MARK", ""), text: "MARK",
			estimated: true},
		{name: "a stop sequence", pair: pair{"chat", "messages"}, stream: true, members: asks("chat", "echo: MARK beta STOP gamma", `,"stop":["ta STO"]`), text: "MARK be"},
		{name: "a stop sequence that the gateway looks for", pair: pair{"messages", "responses"}, stream: true, estimated: true, text: "MARK be",
			members: asks("messages", "echo: MARK beta STOP gamma", `,"stop_sequences":["ta STO"]`)},
		{name: "a bound below the least", pair: pair{"chat", "responses"}, members: asks("chat", "echo: MARK", `,"max_completion_tokens":3`), text: "MARK"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := m.send(t, c.pair, c.stream, c.members)
			if text := m.answered(t, c.pair, c.stream, &s); text != strings.ReplaceAll(c.text, "MARK", s.mark) && (c.name != "a refusal" || s.style.Name != "chat") {
				t.Errorf("the text is %q: %s", text, s.Body)
			}
			if s.record.Estimated != c.estimated {
				t.Errorf("recorded is %+v", s.record)
			}
			m.reached(t, c.pair, &s)
		})
	}
}

// testMatrixSignatures lets a model think before it calls a tool, and gives its thoughts back with the result of the tool: to the same
// provider, which gets its own signature, and to another one, which gets nothing of it. The simulator refuses what it has not signed.
func testMatrixSignatures(m *matrix, t *testing.T) {
	for _, upstream := range []string{"messages", "native"} {
		t.Run(upstream, func(t *testing.T) {
			t.Parallel()
			p := pair{"messages", upstream}
			first := m.send(t, p, false, callBoth["messages"])
			m.answered(t, p, false, &first)
			answer := harness.DecodeJSON[struct{ Content []json.RawMessage }](t, first.Body)
			signature, results := "", ""
			for _, raw := range answer.Content {
				block := harness.DecodeJSON[struct{ ID, Type, Signature string }](t, string(raw))
				if signature += block.Signature; block.Type == "tool_use" {
					results += `,{"type":"tool_result","tool_use_id":` + quoted(block.ID) + `,"content":"noon"}`
				}
			}
			content, _ := json.Marshal(answer.Content)
			turns := `,{"role":"assistant","content":` + string(content) + `},{"role":"user","content":[` + strings.TrimPrefix(results, ",") + `]}],"max_tokens"`
			again := strings.Replace(callBoth["messages"], `],"max_tokens"`, turns, 1)
			own := signature[strings.LastIndex(signature, ".")+1:]
			for _, next := range styleNames {
				p := pair{"messages", next}
				s := m.send(t, p, false, again)
				if text := m.answered(t, p, false, &s); text != "According to the tool: noon; noon." {
					t.Errorf("then %s: the text is %q", next, text)
				}
				got := m.reached(t, p, &s).Body
				if strings.Contains(got, own) != (next == upstream) || strings.Contains(got, `"gw1.`) {
					t.Errorf("then %s: the signature %s came along: %s", next, signature, got)
				}
			}
		})
	}
}

// testMatrixErrors has each failure of a provider with every style of client: before anything was said, an error in the client's style
// and nothing to pay; after some of the answer, its beginning and an error, and a charge for what was delivered.
func testMatrixErrors(m *matrix, t *testing.T) {
	for i, c := range []struct {
		does, as string
		midway   bool
		tries    int // The provider gets at most so many requests; zero sets no limit.
	}{
		{does: "status=400;code=invalid_value", as: "invalid", tries: 1}, {does: "status=429", as: "busy", tries: 2}, {does: "status=500", as: "upstream", tries: 2},
		{does: "auth", as: "unavailable", tries: 1}, {does: "error-in-200", as: "upstream"}, {does: "empty", as: "upstream"},
		{does: "error-after=6t", as: "upstream", midway: true}, {does: "cut-after=6t", as: "upstream", midway: true}, {does: "end-after=6t", as: "upstream", midway: true},
	} {
		for j, client := range styleNames {
			p := pair{client, styleNames[(i+j)%len(styleNames)]}
			t.Run(c.does+"/"+p.String(), func(t *testing.T) {
				t.Parallel()
				style := harness.Styles[client]
				members := strings.TrimPrefix(strings.TrimSuffix(style.Request("", "simulate: "+c.does+"\necho: 1 2 3 4 5 6 7 8 9 10 11 12 MARK"), "}"), `{"model":"",`)
				s := m.send(t, p, c.midway, members)
				want := style.Errors[c.as]
				if c.midway {
					m.failedMidway(t, &s, want)
					return
				}
				if e := style.ReadError(t, s.Response); s.Status != want.Status || e.Type != want.Type || strings.Contains(s.Body, "m-"+p.upstream) ||
					strings.Contains(harness.WithoutHelpLink(s.Body), "127.0.0.1") {
					t.Errorf("status %d: %s", s.Status, s.Body)
				}
				if s.record.Cost != 0 || s.record.Outcome != "failed" {
					t.Errorf("recorded is %+v", s.record)
				}
				// All pairs fail the same few providers, whose budget of retries is soon used up.
				if n := len(m.arrived(t, s.mark)); c.tries != 0 && (n < 1 || n > c.tries) {
					t.Errorf("the provider was asked %d times", n)
				}
			})
		}
	}
}

func (m *matrix) failedMidway(t *testing.T, s *sent, want harness.ErrorForm) {
	t.Helper()
	frames := s.style.Frames(t, s.Body)
	const most = "1 2 3 4 5 6"
	word, text := s.style.ReadStreamError(t, frames), s.style.Text(t, slices.DeleteFunc(frames, func(f harness.StreamEvent) bool { return f.Data == "[DONE]" }))
	if s.Status != http.StatusOK || word != want.Type && s.style.Name != "responses" || word == "" || text == "" || text != most[:min(len(text), len(most))] {
		t.Errorf("the text is %q and the error %q: %s", text, word, s.Body)
	}
	k := s.record
	if words := int64(len(strings.Fields(text))); k.Outcome != "cut" || !k.Estimated || k.Out+k.Thought != words || k.In == 0 || k.Cost != k.In*nanosIn+words*nanosOut {
		t.Errorf("%q was delivered, recorded is %+v", text, k)
	}
	if n := len(m.arrived(t, s.mark)); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
}

// withImage is a question about an image with an address, which may hold the image itself.
func withImage(style, address string) string {
	return strings.ReplaceAll(map[string]string{
		"chat":      `"messages":[{"role":"system","content":"MARK"},{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"IMAGE"}}]}]`,
		"messages":  `"system":"MARK","messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image","source":{"type":"url","url":"IMAGE"}}]}]`,
		"responses": `"instructions":"MARK","input":[{"role":"user","content":[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"IMAGE"}]}]`,
	}[style], "IMAGE", address)
}

// testMatrixImages sends an image, and images by their addresses. Three styles of provider take an address; for the native one the gateway
// fetches the image, if it is one and may be fetched.
func testMatrixImages(m *matrix, t *testing.T) {
	for _, c := range []struct {
		pair          pair
		address, seen string
		fetched       bool
	}{
		{pair: pair{"chat", "messages"}, address: dataImage, seen: "I see 1 image (image/png, 70 bytes). "},
		{pair: pair{"chat", "chat"}, address: webImage, seen: "I see 1 image (" + webImage + "). "},
		{pair: pair{"chat", "responses"}, address: webImage, seen: "I see 1 image (" + webImage + "). "},
		{pair: pair{"responses", "messages"}, address: webImage, seen: "I see 1 image (" + webImage + "). "},
		{pair: pair{"chat", "native"}, address: m.SimulatorURL + "/files/dot.png", seen: "I see 1 image (image/png, ", fetched: true},
		{pair: pair{"messages", "native"}, address: m.SimulatorURL + "/files/dot.png", seen: "I see 1 image (image/png, ", fetched: true},
		{pair: pair{"responses", "native"}, address: m.SimulatorURL + "/files/dot.png", seen: "I see 1 image (image/png, ", fetched: true},
	} {
		t.Run(c.pair.String()+" "+c.seen, func(t *testing.T) {
			t.Parallel()
			s := m.send(t, c.pair, false, withImage(c.pair.client, c.address))
			if text := m.answered(t, c.pair, false, &s); !strings.HasPrefix(text, c.seen) {
				t.Errorf("the text is %q", text)
			}
			if body := m.reached(t, c.pair, &s).Body; c.fetched && (strings.Contains(body, c.address) || !strings.Contains(body, `"data":"iVBORw0KGgo`)) ||
				c.address == webImage && !strings.Contains(body, webImage) {
				t.Errorf("the provider got %s", body)
			}
		})
	}
	for _, client := range styleNames[:3] {
		for name, address := range map[string]string{
			"too large":              m.SimulatorURL + "/files/large.png",
			"a page":                 m.SimulatorURL + "/files/page.png",
			"too many pixels":        m.SimulatorURL + "/files/wide.png",
			"a redirect inside":      m.SimulatorURL + "/files/inside.png",
			"not there":              m.SimulatorURL + "/files/gone.png",
			"a private address":      "https://10.0.0.1/dot.png",
			"an address of the host": "http://127.0.0.1:9/dot.png",
			"cloud metadata":         "http://169.254.169.254/latest/meta-data/",
		} {
			if client != "chat" && name != "a redirect inside" {
				continue // Which addresses are fetched does not depend on the style of the client.
			}
			t.Run(client+" "+name, func(t *testing.T) {
				t.Parallel()
				p := pair{client, "native"}
				s := m.send(t, p, false, withImage(client, address))
				if e, want := s.style.ReadError(t, s.Response), s.style.Errors["invalid"]; s.Status != want.Status || e.Type != want.Type {
					t.Errorf("status %d: %s", s.Status, s.Body)
				}
				if s.record.Cost != 0 || len(m.arrived(t, s.mark)) > 0 {
					t.Errorf("recorded is %+v, and %d requests reached the provider", s.record, len(m.arrived(t, s.mark)))
				}
			})
		}
	}
}
