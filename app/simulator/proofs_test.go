package simulator

import (
	"bytes"
	"encoding/json"
	"image"
	"net/http"
	"strings"
	"testing"
)

// exactArguments would change if a reader parsed and re-encoded them.
const exactArguments = `{"zeta":12345678901234567890.000100,"alpha":"größer 🎈 < \u00e9","list":[1e2,null]}`

// TestScriptedCallsAreExact proves that arguments which a prompt spells out come byte for byte, in every style.
func TestScriptedCallsAreExact(t *testing.T) {
	t.Parallel()
	schemas := loadSchemas(t)
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		for _, stream := range []bool{false, true} {
			res := u.post(style, ask{text: "call: get_time " + exactArguments + "\ncall: get_weather {}", tools: true, stream: stream})
			schemas.check(t, style, stream, res.body)
			r := read(t, style, stream, res.body)
			if len(r.calls) != 2 || r.calls[0] != (call{"get_time", exactArguments}) || r.calls[1] != (call{"get_weather", "{}"}) {
				t.Errorf("stream %t: %+v", stream, r.calls)
			}
		}
		if r := read(t, style, false, u.post(style, ask{text: "call: get_time {]", tools: true}).body); len(r.calls) == 0 || r.calls[0].arguments == "{]" {
			t.Errorf("arguments that are no JSON: %+v", r.calls)
		}
	})
}

// proofs are the requests of each style whose answer has a signature, and how it goes back.
var proofs = map[string]struct{ path, ask, mark, back string }{
	"chat": {"/v1/chat/completions",
		`{"model":"m","reasoning_effort":"low","messages":[{"role":"user","content":"call f"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
		`"thought_signature":"`,
		`{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"c","type":"function",` +
			`"function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"SIGNATURE"}}}]},` +
			`{"role":"tool","tool_call_id":"c","content":"y"}]}`},
	"messages": {"/v1/messages",
		`{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"hello"}]}`,
		`"signature":"`,
		`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking",` +
			`"thinking":"t","signature":"SIGNATURE"}]},{"role":"user","content":"y"}]}`},
	"responses": {"/v1/responses",
		`{"model":"m","reasoning":{"effort":"low"},"include":["reasoning.encrypted_content"],"input":"hello"}`,
		`"encrypted_content":"`,
		`{"model":"m","input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"SIGNATURE"},{"role":"user","content":"y"}]}`},
	"native": {"/v1beta/models/m:generateContent",
		`{"contents":[{"parts":[{"text":"call f"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`,
		`"thoughtSignature":"`,
		`{"contents":[{"parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thought_signature":"SIGNATURE"}]},` +
			`{"parts":[{"functionResponse":{"name":"f","response":{"output":"y"}}}]}]}`},
}

// TestSignaturesComeBackToTheirMaker proves that a provider takes its own signature, and no other.
func TestSignaturesComeBackToTheirMaker(t *testing.T) {
	t.Parallel()
	made := map[string]string{}
	u := setup(t, Options{})
	for style, p := range proofs {
		body := string(u.do("POST", "/maker"+p.path, []byte(p.ask), nil).body)
		_, rest, ok := strings.Cut(body, p.mark)
		if !ok {
			t.Fatalf("%s: no signature in %s", style, body)
		}
		made[style], _, _ = strings.Cut(rest, `"`)
	}
	for style, p := range proofs {
		for maker, signature := range made {
			for _, to := range []string{"/maker", "/another"} {
				res := u.do("POST", to+p.path, []byte(strings.Replace(p.back, "SIGNATURE", signature, 1)), nil)
				if want := style == maker && to == "/maker"; (res.status == 200) != want {
					t.Errorf("%s, to %s: one of %s: %d %s", style, to, maker, res.status, res.body)
				}
			}
		}
		forged := strings.Replace(made[style], made[style][10:12], "--", 1)
		res := u.do("POST", "/maker"+p.path, []byte(strings.Replace(p.back, "SIGNATURE", forged, 1)), nil)
		if res.status != 400 || !json.Valid(res.body) {
			t.Errorf("%s: an altered one: %d %s", style, res.status, res.body)
		}
	}
}

// TestCallsOfAReasoningModelComeBackSigned proves the one rule of the native style about missing signatures.
func TestCallsOfAReasoningModelComeBackSigned(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	back := proofs["native"].back
	for body, status := range map[string]int{
		strings.Replace(back, `,"thought_signature":"SIGNATURE"`, "", 1): 400,
		strings.Replace(back, "SIGNATURE", signatureDummy, 1):            200,
	} {
		if res := u.do("POST", "/v1beta/models/reasoner:generateContent", []byte(body), nil); res.status != status {
			t.Errorf("%d %s", res.status, res.body)
		}
	}
}

func TestFilesAreImagesAndTheirFaults(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	get := func(name string) answered { return u.do(http.MethodGet, "/files/"+name, nil, nil) }
	good := get("dot.png")
	if c, format, err := image.DecodeConfig(bytes.NewReader(good.body)); err != nil || format != "png" || c.Width != 2 ||
		good.header.Get("Content-Type") != "image/png" {
		t.Errorf("%v %s %+v", err, format, c)
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(get("wide.png").body)); err != nil || c.Width*c.Height != 10_000_000_000 {
		t.Errorf("%v %+v", err, c)
	}
	if large := get("large.png"); len(large.body) < fileBytesLarge {
		t.Errorf("%d bytes", len(large.body))
	}
	if _, _, err := image.DecodeConfig(bytes.NewReader(get("page.png").body)); err == nil {
		t.Error("the page is an image")
	}
	if inside := get("inside.png"); inside.status != http.StatusFound || inside.header.Get("Location") != fileRedirect {
		t.Errorf("%d %v", inside.status, inside.header)
	}
	if gone := get("gone.png"); gone.status != http.StatusNotFound {
		t.Errorf("%d", gone.status)
	}
	if first := u.sim.Requests()[0]; first.Path != "/files/dot.png" || first.Finished == nil {
		t.Errorf("%+v", first)
	}
}

func TestRecordedRequestsAreFoundByTheirText(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	for _, text := range []string{"echo: one", "echo: two"} {
		u.post("chat", ask{text: text})
	}
	list := decode[struct{ Requests []Request }](t, u.do("GET", "/_control/requests?text=echo:%20two", nil, nil).body).Requests
	if len(list) != 1 || !strings.Contains(list[0].Body, "two") {
		t.Errorf("%+v", list)
	}
}
