package emulator_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"umg/app/provider/recordings"
	"umg/app/simulator/emulator"
)

// recorded returns the recordings of some folders.
func recorded(t *testing.T, folders ...string) []recordings.Recording {
	t.Helper()
	all, err := recordings.All()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(r recordings.Recording) bool { return !slices.Contains(folders, r.Provider) })
}

// request is a question to a provider: its path and body, without and with a tool.
type request struct {
	provider, path string
	body           string
	tools          string // Tools are further members that make the model call get_weather.
	stream         string // Stream has the path of streams. It is empty when the body says that a stream is wanted.
	folders        []string
}

const (
	chatBody      = `{"model":"MODEL","messages":[{"role":"user","content":"Say hello"}]`
	chatTools     = `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}],"tool_choice":"required"`
	messagesTools = `,"tools":[{"name":"get_weather","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}`
	claudeBody    = `{"anthropic_version":"VERSION","max_tokens":100,"messages":[{"role":"user","content":"Say hello"}]`
	nativeBody    = `{"contents":[{"role":"user","parts":[{"text":"Say hello"}]}]`
	nativeTools   = `,"tools":[{"functionDeclarations":[{"name":"get_weather"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`
	converseBody  = `{"messages":[{"role":"user","content":[{"text":"Say hello"}]}]`
	converseTools = `,"toolConfig":{"tools":[{"toolSpec":{"name":"get_weather","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"any":{}}}`
	inputBody     = `{"model":"MODEL","input":"Say hello"`
	inputTools    = `,"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object"}}],"tool_choice":"required"`

	vertexPlace = "/v1/projects/" + emulator.Project + "/locations/" + emulator.Location
	claudePath  = "/model/us.anthropic.claude-haiku-4-5-20251001-v1:0/"
	novaPath    = "/model/us.amazon.nova-2-lite-v1%3A0/"
)

func chatRequest(provider, path, model string, folders ...string) request {
	return request{provider: provider, path: path, body: strings.Replace(chatBody, "MODEL", model, 1), tools: chatTools, folders: append(folders, provider)}
}

// requests are those to each path of each provider.
func requests() []request {
	input := func(provider, path, model string) request {
		return request{provider: provider, path: path, body: strings.Replace(inputBody, "MODEL", model, 1), tools: inputTools,
			folders: []string{provider, "openai", "azure", "xai"}}
	}
	claude := func(version string) string { return strings.Replace(claudeBody, "VERSION", version, 1) }
	return []request{
		chatRequest("openai", "/v1/chat/completions", "gpt-5-mini", "azure", "groq"), input("openai", "/v1/responses", "gpt-5-mini"),
		chatRequest("azure", "/openai/v1/chat/completions", "gpt-5-mini", "groq"), input("azure", "/openai/v1/responses", "gpt-5-mini"),
		chatRequest("foundry", "/models/chat/completions?api-version=2024-05-01-preview", "grok-4-1-fast-non-reasoning", "azure", "groq"),
		chatRequest("xai", "/v1/chat/completions", "grok-4-fast-reasoning", "azure"), input("xai", "/v1/responses", "grok-4-fast-reasoning"),
		chatRequest("mistral", "/v1/chat/completions", "mistral-small-latest"), chatRequest("deepseek", "/chat/completions", "deepseek-flash", "azure"),
		chatRequest("groq", "/openai/v1/chat/completions", "moonshotai/kimi-k2-instruct-0905"),
		chatRequest("openrouter", "/api/v1/chat/completions", "anthropic/claude-haiku-4.5", "azure"),
		chatRequest("vertex", vertexPlace+"/endpoints/openapi/chat/completions", "meta/llama-4-maverick", "openai", "azure", "groq"),
		{provider: "anthropic", path: "/v1/messages", tools: messagesTools, folders: []string{"anthropic"},
			body: strings.Replace(claude(""), `"anthropic_version":""`, `"model":"claude-haiku-4-5"`, 1)},
		{provider: "vertex", path: vertexPlace + "/publishers/anthropic/models/claude-haiku-4-5@20251001:rawPredict", tools: messagesTools,
			stream: vertexPlace + "/publishers/anthropic/models/claude-haiku-4-5@20251001:streamRawPredict",
			body:   claude("vertex-2023-10-16"), folders: []string{"vertex-anthropic", "anthropic"}},
		{provider: "bedrock", path: claudePath + "invoke", stream: claudePath + "invoke-with-response-stream", tools: messagesTools,
			body: claude("bedrock-2023-05-31"), folders: []string{"bedrock", "anthropic"}},
		{provider: "bedrock", path: novaPath + "converse", stream: novaPath + "converse-stream", body: converseBody, tools: converseTools,
			folders: []string{"bedrock"}},
		{provider: "gemini", path: "/v1beta/models/gemini-2.5-flash:generateContent", body: nativeBody, tools: nativeTools,
			stream: "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", folders: []string{"gemini", "vertex"}},
		{provider: "vertex", path: vertexPlace + "/publishers/google/models/gemini-2.5-flash:generateContent", body: nativeBody, tools: nativeTools,
			stream: vertexPlace + "/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse", folders: []string{"gemini", "vertex"}},
		{provider: "cohere", path: "/v2/chat", body: strings.Replace(chatBody, "MODEL", "command-a-03-2025", 1),
			tools: strings.Replace(chatTools, "required", "REQUIRED", 1), folders: []string{"cohere"}},
	}
}

// each calls a function with each request, as an answer in one piece and as a stream, with and without a tool.
func each(t *testing.T, do func(t *testing.T, b *bench, r request, path, body string)) {
	b := setup(t)
	for i, r := range requests() {
		for _, more := range []string{"", r.tools} {
			for _, stream := range []bool{false, true} {
				path, body := r.path, r.body+more+"}"
				switch {
				case stream && r.stream != "":
					path = r.stream
				case stream:
					body = strings.TrimSuffix(body, "}") + `,"stream":true}`
				}
				t.Run(fmt.Sprintf("%d-%s-tools=%t-stream=%t", i, r.provider, more != "", stream), func(t *testing.T) {
					own := *b
					own.t = t
					do(t, &own, r, path, body)
				})
			}
		}
	}
}

// shape adds the places of all members of a JSON value, with the kinds of their values, to a set. Elements of a list are one place.
func shape(v any, place string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		into[place+" object"] = true
		for name, value := range v {
			shape(value, place+"."+name, into)
		}
	case []any:
		into[place+" list"] = true
		for _, value := range v {
			shape(value, place+"[]", into)
		}
	case nil:
		into[place+" null"] = true
	default:
		into[fmt.Sprintf("%s %T", place, v)] = true
	}
}

// documented are places that the documentation of the provider has, and no recording.
var documented = []string{".usageMetadata.cachedContentTokenCount float64"}

// free are places whose members are not those of the provider: arguments of tools, and places that a recorder has left out.
var free = []string{".input.", ".args."}

// shapeOf is the set of the places of an answer, which is JSON, events or frames.
func shapeOf(text string) map[string]bool {
	set := map[string]bool{}
	add := func(raw []byte) {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			shape(v, "", set)
		}
	}
	if frames := framesOf([]byte(text)); frames != nil {
		for _, f := range frames {
			var chunk struct {
				Bytes string `json:"bytes"`
			}
			if _ = json.Unmarshal(f.payload, &chunk); chunk.Bytes != "" {
				raw, _ := base64.StdEncoding.DecodeString(chunk.Bytes)
				add(raw)
				continue
			}
			add(f.payload)
		}
		return set
	}
	add([]byte(text))
	for line := range strings.Lines(text) {
		if data, isData := strings.CutPrefix(line, "data: "); isData {
			add([]byte(data))
		}
	}
	return set
}

// TestAnswersHaveTheShapesOfRecordedOnes checks that each member of an answer is in an answer that the provider has given.
func TestAnswersHaveTheShapesOfRecordedOnes(t *testing.T) {
	t.Parallel()
	known := map[string]map[string]bool{} // The folders of other providers are for what was not recorded of the provider itself.
	for _, r := range requests() {
		for _, folder := range r.folders {
			if known[folder] != nil {
				continue
			}
			known[folder] = map[string]bool{}
			for _, old := range recorded(t, folder) {
				maps.Copy(known[folder], shapeOf(string(old.Body)))
			}
		}
	}
	each(t, func(t *testing.T, b *bench, r request, path, body string) {
		got := b.call(r.provider, path, body)
		if got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		places := shapeOf(got.body)
		if len(places) < 10 {
			t.Fatalf("only %d places: %q", len(places), got.body)
		}
		for _, place := range slices.Sorted(maps.Keys(places)) {
			isKnown := slices.Contains(documented, place) || slices.ContainsFunc(free, func(part string) bool { return strings.Contains(place, part) })
			for _, folder := range r.folders {
				isKnown = isKnown || known[folder][place]
			}
			if !isKnown {
				t.Errorf("no recording of %s has %s", r.folders, place)
			}
		}
	})
}

// frame is a message in the framing of AWS.
type frame struct {
	name    string
	payload []byte
	raw     []byte
}

// framesOf splits an answer into its frames. The result is nil when it has none.
func framesOf(text []byte) (list []frame) {
	for len(text) > 16 {
		size, head := binary.BigEndian.Uint32(text), binary.BigEndian.Uint32(text[4:])
		if int(size) > len(text) || size < 16 || head > size-16 {
			return nil
		}
		f := frame{payload: text[12+head : size-4], raw: text[:size]}
		for rest := text[12 : 12+head]; len(rest) > 0; {
			name := string(rest[1 : 1+rest[0]])
			rest = rest[1+rest[0]:]
			length := binary.BigEndian.Uint16(rest[1:])
			if name == ":event-type" {
				f.name = string(rest[3 : 3+length])
			}
			rest = rest[3+length:]
		}
		list = append(list, f)
		text = text[size:]
	}
	return list
}

// TestFramesAreThoseOfBedrock writes each recorded frame again.
func TestFramesAreThoseOfBedrock(t *testing.T) {
	t.Parallel()
	count := 0
	for _, r := range recorded(t, "bedrock") {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/vnd.amazon.eventstream") {
			continue
		}
		for _, f := range framesOf(r.Body) {
			count++
			if got := emulator.EventFrame(f.name, f.payload); !bytes.Equal(got, f.raw) {
				t.Fatalf("%s: %q, recorded is %q", r.File, got, f.raw)
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d frames are recorded", count)
	}
}
