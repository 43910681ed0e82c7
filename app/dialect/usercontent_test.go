package dialect_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
)

// userText is what users say in the matrix, as text and as data. It arrives at a provider, or the request is refused.
const (
	userText = "WHAT THE USER HAS SAID!!"
	userData = "V0hBVCBUSEUgVVNFUiBIQVMgU0FJRCEh"
)

// spot is a place of a request for a piece of content, written %s there, and its path.
type spot struct {
	name, body, path string
	model            bool // In the model's turn, a translation may drop steps and list them as dropped.
}

// pieces are what a style knows as content, by the schema that its maker has published, and where it may be put.
type pieces struct {
	style   llm.Style
	file    string
	union   []string // Union is the path to the list of pieces, or to an object with one member per piece.
	samples map[string][]string
	spots   []spot
}

const (
	chatCall     = `{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	messagesCall = `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]}`
	itemCall     = `{"role":"user","content":"q"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
	nativeCall   = `{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}`
)

var allPieces = []pieces{
	{
		style: llm.Chat, file: "openai-openapi.subset.json",
		union: []string{"components", "schemas", "ChatCompletionRequestUserMessageContentPart", "oneOf"},
		samples: map[string][]string{
			"text": {`{"type":"text","text":"` + userText + `"}`},
			"image_url": {
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + userData + `"}}`, `{"type":"image_url","image_url":{"url":"https://e.com/` + userData + `"}}`,
			},
			"refusal":     {`{"type":"refusal","refusal":"` + userText + `"}`},
			"input_audio": {`{"type":"input_audio","input_audio":{"data":"` + userData + `","format":"wav"}}`},
			"file": {
				`{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,` + userData + `"}}`,
				`{"type":"file","file":{"filename":"a.zip","file_data":"data:application/zip;base64,AAAA` + userData + `"}}`,
			},
		},
		spots: []spot{
			{"user", `"messages":[{"role":"user","content":[%s]}]`, "messages[0].content[0]", false},
			{"tool", `"messages":[` + chatCall + `,{"role":"tool","tool_call_id":"c1","content":[%s]}]`, "messages[2].content[0]", false},
			{"system", `"messages":[{"role":"system","content":[%s]},{"role":"user","content":"q"}]`, "messages[0].content[0]", false},
			{"assistant", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[%s]},{"role":"user","content":"q"}]`, "messages[1].content[0]", false},
		},
	},
	{
		style: llm.Messages, file: "anthropic-messages.2026-10-21.schema.json", union: []string{"definitions", "ContentBlockParam", "anyOf"},
		samples: map[string][]string{
			"text": {`{"type":"text","text":"` + userText + `"}`},
			"image": {
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + userData + `"}}`,
				`{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"` + userData + `"}}`,
				`{"type":"image","source":{"type":"url","url":"https://e.com/` + userData + `"}}`,
				`{"type":"image","source":{"type":"film","data":"` + userData + `"}}`,
			},
			"document": {
				`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + userData + `"}}`,
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"` + userText + `"},"citations":{"enabled":true}}`,
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"},"context":"` + userText + `"}`,
				`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"` + userText + `"}]}}`,
				`{"type":"document","source":{"type":"content","content":[{"type":"video","text":"` + userText + `"}]}}`,
				`{"type":"document","source":{"type":"url","url":"https://e.com/` + userData + `"}}`,
			},
			"search_result": {
				`{"type":"search_result","title":"t","source":"s","content":[{"type":"text","text":"` + userText + `"}]}`,
				`{"type":"search_result","title":"t","source":"s","content":[{"type":"image","source":{"type":"url","url":"https://e.com/` + userData + `"}}]}`,
			},
			"tool_result":    {`{"type":"tool_result","tool_use_id":"` + userText + `","content":"` + userText + `"}`},
			"compaction":     {`{"type":"compaction","content":"` + userText + `"}`, `{"type":"compaction","content":null,"encrypted_content":"` + userText + `"}`},
			"tool_use":       {`{"type":"tool_use","id":"c9","name":"f","input":{"a":"` + userText + `"}}`},
			"tool_reference": {`{"type":"tool_reference","tool_name":"` + userText + `"}`},
			"thinking":       {`{"type":"thinking","thinking":"` + userText + `","signature":"s"}`},
		},
		spots: []spot{
			{"user", `"messages":[{"role":"user","content":[%s]}]`, "messages[0].content[0]", false},
			{"tool", `"messages":[` + messagesCall + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[%s]}]}]`, "messages[2].content[0].content[0]", false},
			{"system", `"system":[%s],"messages":[{"role":"user","content":"q"}]`, "system[0]", false},
			{"late system", `"messages":[{"role":"user","content":"q"},{"role":"system","content":[%s]}]`, "messages[1].content[0]", false},
			{"assistant", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[%s]},{"role":"user","content":"q"}]`, "messages[1].content[0]", true},
		},
	},
	{
		style: llm.Responses, file: "openai-openapi.subset.json", union: []string{"components", "schemas", "InputContent", "oneOf"},
		samples: map[string][]string{
			"input_text": {`{"type":"input_text","text":"` + userText + `"}`},
			"input_image": {
				`{"type":"input_image","image_url":"data:image/png;base64,` + userData + `"}`, `{"type":"input_image","image_url":"https://e.com/` + userData + `"}`,
				`{"type":"input_image","image_url":"https://e.com/a.png","file_id":"` + userText + `"}`,
			},
			"input_file": {
				`{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,` + userData + `"}`,
				`{"type":"input_file","filename":"a.zip","file_data":"data:application/zip;base64,AAAA` + userData + `"}`,
				`{"type":"input_file","file_url":"https://e.com/` + userData + `"}`,
				`{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,AAAA","file_url":"https://e.com/` + userData + `"}`,
			},
		},
		spots: []spot{
			{"user", `"input":[{"role":"user","content":[%s]}]`, "input[0].content[0]", false},
			{"tool", `"input":[` + itemCall + `,{"type":"function_call_output","call_id":"c1","output":[%s]}]`, "input[2].output[0]", false},
			{"developer", `"input":[{"role":"developer","content":[%s]},{"role":"user","content":"q"}]`, "input[0].content[0]", false},
			{"assistant", `"input":[{"role":"user","content":"q"},{"role":"assistant","content":[%s]},{"role":"user","content":"q"}]`, "input[1].content[0]", false},
		},
	},
	{
		style: llm.Responses, file: "openai-openapi.subset.json", union: []string{"components", "schemas", "InputItem", "oneOf"},
		samples: map[string][]string{
			"message":                 {`{"type":"message","role":"user","content":"` + userText + `"}`, `{"role":"user","content":"` + userText + `"}`, `{"role":"critic","content":"` + userText + `"}`},
			"function_call_output":    {`{"type":"function_call_output","call_id":"c9","output":"` + userText + `"}`},
			"custom_tool_call_output": {`{"type":"custom_tool_call_output","call_id":"c9","output":"` + userText + `"}`},
			"tool_search_call":        {`{"type":"tool_search_call","call_id":"c9","execution":"client","arguments":{"query":"` + userText + `"}}`},
			"computer_call_output":    {`{"type":"computer_call_output","call_id":"c9","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,` + userData + `"}}`},
			"shell_call_output":       {`{"type":"shell_call_output","call_id":"c9","output":[{"stdout":"` + userText + `","stderr":"","outcome":{"type":"exit","exit_code":0}}]}`},
			"tool_search_output":      {`{"type":"tool_search_output","call_id":"c9","tools":[{"type":"function","name":"f","description":"` + userText + `"}]}`},
			"additional_tools":        {`{"type":"additional_tools","tools":[{"type":"function","name":"f","description":"` + userText + `"}]}`},
			"reasoning":               {`{"type":"reasoning","summary":[],"encrypted_content":"x"}`},
		},
		spots: []spot{{"input", `"input":[%s,{"role":"user","content":"q"}]`, "input[0]", true}},
	},
	{
		style: llm.Native, file: "google-generatecontent.schema.json", union: []string{"$defs", "Part", "properties"},
		samples: map[string][]string{
			"text": {`{"text":"` + userText + `"}`, `{"text":"q","inlineData":{"mimeType":"image/png","data":"` + userData + `"}}`, `{"text":"` + userText + `","executableCode":{"language":"PYTHON","code":"1"}}`},
			"inlineData": {
				`{"inlineData":{"mimeType":"image/png","data":"` + userData + `"}}`, `{"inlineData":{"mimeType":"audio/wav","data":"` + userData + `"}}`,
				`{"inlineData":{"mimeType":"video/mp4","data":"` + userData + `"}}`, `{"inlineData":{"mimeType":"application/zip","data":"AAAA` + userData + `"}}`,
				`{"inline_data":{"mime_type":"audio/wav","data":"` + userData + `"}}`,
			},
			"fileData":            {`{"fileData":{"mimeType":"image/png","fileUri":"https://e.com/` + userData + `"}}`, `{"file_data":{"mime_type":"video/mp4","file_uri":"https://e.com/` + userData + `"}}`},
			"functionCall":        {`{"functionCall":{"name":"f","args":{"a":"` + userText + `"}}}`},
			"functionResponse":    {`{"functionResponse":{"name":"f","response":{"output":"` + userText + `"}}}`},
			"executableCode":      {`{"executableCode":{"language":"PYTHON","code":"` + userText + `"}}`},
			"codeExecutionResult": {`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"` + userText + `"}}`},
			"thought":             {`{"text":"` + userText + `","thought":true}`},
			"thoughtSignature":    {`{"text":"` + userText + `","thoughtSignature":"c2ln"}`},
			// These say something about the part that they stand in, and nothing on their own.
			"videoMetadata":   {`{"text":"` + userText + `","videoMetadata":{"fps":1}}`},
			"mediaResolution": {`{"text":"` + userText + `","mediaResolution":{"level":"LOW"}}`},
			"speechMetadata":  {`{"text":"` + userText + `","speechMetadata":{}}`},
		},
		spots: []spot{
			{"user", `"contents":[{"role":"user","parts":[%s]}]`, "contents[0].parts[0]", false},
			{"response", `"contents":[` + nativeCall + `,{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"},"parts":[%s]}}]}]`, "contents[2].parts[0].functionResponse.parts[0]", false},
			{"system", `"systemInstruction":{"parts":[%s]},"contents":[{"parts":[{"text":"q"}]}]`, "systemInstruction.parts[0]", false},
		},
	},
}

// ofOthers are pieces of content that the schemas have elsewhere than in the unions, and one that no schema has.
var ofOthers = map[llm.Style][]string{
	llm.Chat:      {"video_url", "refusal", "hologram"},
	llm.Messages:  {"tool_reference", "browser_state", "mcp_tool_use", "mcp_tool_result", "tool_addition", "compaction", "hologram"},
	llm.Responses: {"input_audio", "input_video", "computer_screenshot", "hologram"},
	llm.Native:    {"toolResponse", "hologram"},
}

// kindsOf are the pieces that the published schema knows, by their types or their names.
func (p *pieces) kindsOf(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("../simulator/testdata/schema/" + p.file)
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	kinds := typesIn(doc, at(doc, p.union...))
	if len(kinds) < 3 {
		t.Fatalf("%s: only %q", p.style, kinds)
	}
	kinds = append(kinds, ofOthers[p.style]...)
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// at is the value under a path of members.
func at(v any, path ...string) any {
	for _, name := range path {
		members, _ := v.(map[string]any)
		v = members[name]
	}
	return v
}

func typesIn(doc, v any) []string {
	var kinds []string
	if members, ok := v.(map[string]any); ok {
		for name := range members {
			kinds = append(kinds, name)
		}
		return kinds
	}
	variants, _ := v.([]any)
	for _, variant := range variants {
		ref, _ := at(variant, "$ref").(string)
		schema := at(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		for _, union := range []string{"oneOf", "anyOf"} {
			kinds = append(kinds, typesIn(doc, listOf(at(schema, union)))...)
		}
		kind := at(schema, "properties", "type")
		if name, ok := at(kind, "const").(string); ok {
			kinds = append(kinds, name)
		}
		for _, one := range listOf(at(kind, "enum")) {
			if name, ok := one.(string); ok {
				kinds = append(kinds, name)
			}
		}
		for _, nullable := range listOf(at(kind, "anyOf")) {
			for _, one := range listOf(at(nullable, "enum")) {
				if name, ok := one.(string); ok {
					kinds = append(kinds, name)
				}
			}
		}
	}
	return kinds
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// samplesOf are the pieces of a kind. One that has no sample is made up; nothing can carry it.
func (p *pieces) samplesOf(kind string) []string {
	if list := p.samples[kind]; list != nil {
		return list
	}
	if p.style == llm.Native {
		return []string{`{"` + kind + `":{"text":"` + userText + `"}}`}
	}
	return []string{`{"type":"` + kind + `","text":"` + userText + `","content":"` + userText + `","id":"` + userText + `","call_id":"c9","output":"` + userText + `"}`}
}

// TestNothingThatAUserSaysIsLost puts every piece of content that the published schemas of the four styles know, and some
// that they do not, into every place of a request, on the way to every other style: it arrives, or the request is refused
// with the client's own path to it. Only steps of the model itself may be left out, and are listed.
func TestNothingThatAUserSaysIsLost(t *testing.T) {
	t.Parallel()
	count := 0
	for i := range allPieces {
		p := &allPieces[i]
		for _, kind := range p.kindsOf(t) {
			for _, sample := range p.samplesOf(kind) {
				for _, spot := range p.spots {
					for _, upstream := range llm.Styles() {
						if upstream != p.style {
							count++
							p.arrives(t, spot, sample, upstream)
						}
					}
				}
			}
		}
	}
	if count < 1000 {
		t.Errorf("only %d ways were tried", count)
	}
}

func (p *pieces) arrives(t *testing.T, s spot, sample string, upstream llm.Style) {
	t.Helper()
	body := `{"model":"m",` + strings.Replace(s.body, "%s", sample, 1) + `}`
	sent, dropped, err := carried(p.style, upstream, body)
	switch {
	case err != nil:
		e, ok := errors.AsType[*app.Error](err)
		if !ok || e.Kind != app.Invalid || !strings.HasPrefix(e.Param, s.path) || !strings.Contains(e.Message, s.path) {
			t.Errorf("%s in %s to %s: %v, not at %q\n%s", p.style, s.name, upstream, err, s.path, sample)
		} else if strings.Contains(sample, `{"inline_data"`) && !strings.HasSuffix(e.Param, ".inline_data") {
			t.Errorf("%s in %s to %s: %q is not how the client spells it", p.style, s.name, upstream, e.Param)
		}
	case strings.Contains(sent, userText), strings.Contains(sent, userData):
	case s.model && (dropped != "" || strings.Contains(sample, `"reasoning"`) || strings.Contains(sample, `"thinking"`)):
	default:
		t.Errorf("%s in %s to %s: it is lost, dropped %q\n%s\n%s", p.style, s.name, upstream, dropped, sample, sent)
	}
}

// carried is a request as it goes to a provider of another style, and what is listed as dropped.
func carried(from, to llm.Style, body string) (sent, dropped string, err error) {
	client, _ := dialect.Of(from)
	upstream, _ := dialect.Of(to)
	r, err := client.Read([]byte(body))
	if err != nil {
		return "", "", err
	}
	way, err := translate.New(client, upstream, r, "maker", 4096)
	if err != nil {
		return "", "", err
	}
	for _, image := range way.Images() {
		image.Type, image.Data, image.URL = "image/png", userData, ""
	}
	if err := way.Prepare(); err != nil {
		return "", "", err
	}
	return string(way.Request(nil, dialect.Edit{Model: "m"})), way.Dropped(), nil
}
