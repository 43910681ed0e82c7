package catalog

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"testing"

	"umg/app/llm"
)

// Package jsonschema sets these bounds for every body.
const (
	depthMax      = 128
	namesMax      = 200_000
	namesStep     = 8192
	paramBytesMax = 256
)

// bodyFiles have bodies for a model that supports everything, one a block: a name and the body. The files of refused ones also have
// the field at fault and a part of the message.
//
//go:embed testdata/*.txt
var bodyFiles embed.FS

// blocks are the blocks of a file, each with its lines.
func blocks(t testing.TB, name string, lines int) [][]string {
	t.Helper()
	raw, err := bodyFiles.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for block := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n\n") {
		of := strings.Split(block, "\n")
		if len(of) != lines {
			t.Fatalf("%s: a block of %d lines: %s", name, len(of), block)
		}
		all = append(all, of)
	}
	return all
}

// user wraps members into a chat body that is otherwise right.
func user(members string) string {
	return `{"model":"acme/all","messages":[{"role":"user","content":"hi"}]` + members + `}`
}

func message(m string) string { return `{"model":"acme/all","messages":[` + m + `]}` }

const oneTool = `{"type":"function","function":{"name":"f"}}`

// acceptedBodies are bodies of a style by name.
func acceptedBodies(t testing.TB, style llm.Style) map[string]string {
	t.Helper()
	all := map[string]string{}
	if style == llm.Chat {
		all = map[string]string{
			"white space": " {\n\t\"model\" : \"a\" , \"messages\" : [ { \"content\" : \"x\" , \"role\" : \"user\" } ] }\r\n",
			"metadata":    user(`,"metadata":{"` + strings.Repeat("k", 64) + `":"` + strings.Repeat("é", 512) + `"}`),
			"deepest":     user(`,"x":` + strings.Repeat("[", depthMax-1) + strings.Repeat("]", depthMax-1)),
			"many tools":  user(`,"tools":[` + strings.Repeat(oneTool+",", 200) + oneTool + `]`),
		}
	}
	for _, lines := range blocks(t, string(style)+".accepted.txt", 2) {
		all[lines[0]] = lines[1]
	}
	return all
}

type refused struct{ name, body, param, says string }

func refusedBodies(t testing.TB, style llm.Style) []refused {
	t.Helper()
	var all []refused
	if style == llm.Chat {
		all = []refused{
			{"metadata value too long", user(`,"metadata":{"a":"` + strings.Repeat("é", 513) + `"}`),
				"metadata.a", "at most 512 characters, not 513"},
			{"case by a Kelvin sign", user(",\"max_to\u212aens\":5"), "max_to\u212aens", `"max_tokens"`},
			{"a list of tools", user(strings.Repeat(" ", 1000) + `,"tools":[` + strings.Repeat(oneTool+",", 99) + `{}]`),
				"tools[99].type", "is required"},
		}
	}
	for _, lines := range blocks(t, string(style)+".refused.txt", 4) {
		all = append(all, refused{lines[0], lines[1], strings.TrimPrefix(lines[2], "-"), lines[3]})
	}
	return all
}

// writtenBodies are all bodies of a style, and a longer one.
func writtenBodies(t testing.TB, style llm.Style) []string {
	t.Helper()
	var bodies []string
	for _, body := range acceptedBodies(t, style) {
		bodies = append(bodies, body)
	}
	for _, k := range refusedBodies(t, style) {
		bodies = append(bodies, k.body)
	}
	return append(bodies, string(longBody(style, 3000)))
}

// turns are, for each style: how a conversation begins, a question with a tool call and its result, and the end.
var turns = map[llm.Style][3]string{
	llm.Chat: {
		`{"model":"acme/all","temperature":0.7,"max_tokens":256,"stream":true,"stream_options":{"include_usage":true},"tools":[` +
			`{"type":"function","function":{"name":"get_weather","description":"Current weather","parameters":` + weatherSchema + `}}],` +
			`"messages":[{"role":"system","content":"You are a helpful assistant."}`,
		`,{"role":"user","content":"Question %d: what is the weather in \"Z\u00fcrich\"?\n%s"}` +
			`,{"content":null,"tool_calls":[{"id":"call_%[1]d","type":"function","function":` +
			`{"name":"get_weather","arguments":"{\"city\":\"Z\"}"}}],"role":"assistant"}` +
			`,{"role":"tool","tool_call_id":"call_%[1]d","content":[{"type":"text","text":"12 degrees, %[3]s"}]}`,
		`,{"role":"user","content":"And now?"}]}`,
	},
	llm.Messages: {
		`{"model":"acme/all","temperature":0.7,"max_tokens":256,"stream":true,"system":"You are a helpful assistant.","tools":[` +
			`{"name":"get_weather","description":"Current weather","input_schema":` + weatherSchema + `}],"messages":[{"role":"user","content":"Hi"}`,
		`,{"role":"user","content":"Question %d: what is the weather in \"Z\u00fcrich\"?\n%s"}` +
			`,{"content":[{"type":"tool_use","id":"toolu_%[1]d","name":"get_weather","input":{"city":"Z"}}],"role":"assistant"}` +
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%[1]d","content":[{"type":"text","text":"12 degrees, %[3]s"}]}]}`,
		`,{"role":"user","content":"And now?"}]}`,
	},
	llm.Responses: {
		`{"model":"acme/all","temperature":0.7,"max_output_tokens":256,"stream":true,"instructions":"You are a helpful assistant.","tools":[` +
			`{"type":"function","name":"get_weather","description":"Current weather","parameters":` + weatherSchema + `}],"input":[{"role":"user","content":"Hi"}`,
		`,{"role":"user","content":"Question %d: what is the weather in \"Z\u00fcrich\"?\n%s"}` +
			`,{"type":"function_call","call_id":"call_%[1]d","name":"get_weather","arguments":"{\"city\":\"Z\"}"}` +
			`,{"type":"function_call_output","call_id":"call_%[1]d","output":[{"type":"input_text","text":"12 degrees, %[3]s"}]}`,
		`,{"role":"user","content":"And now?"}]}`,
	},
	llm.Native: {
		`{"model":"acme/all","generationConfig":{"temperature":0.7,"max_output_tokens":256},"stream":true,"system_instruction":{"parts":` +
			`[{"text":"You are a helpful assistant."}]},"tools":[{"functionDeclarations":[{"name":"get_weather","description":"Current weather",` +
			`"parametersJsonSchema":` + weatherSchema + `}]}],"contents":[{"role":"user","parts":[{"text":"Hi"}]}`,
		`,{"role":"user","parts":[{"text":"Question %d: what is the weather in \"Z\u00fcrich\"?\n%s"}]}` +
			`,{"role":"model","parts":[{"functionCall":{"id":"call_%[1]d","name":"get_weather","args":{"city":"Z"}}}]}` +
			`,{"role":"user","parts":[{"functionResponse":{"id":"call_%[1]d","name":"get_weather","response":{"output":"12 degrees, %[3]s"}}}]}`,
		`,{"role":"user","parts":[{"text":"And now?"}]}]}`,
	},
}

const weatherSchema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"]}`

// longBody is a conversation of about the given size: texts with escapes, tool calls and their results, tools.
func longBody(style llm.Style, size int) []byte {
	var b bytes.Buffer
	t := turns[style]
	b.WriteString(t[0])
	for i := 0; b.Len() < size-64; i++ {
		fmt.Fprintf(&b, t[1], i, strings.Repeat("Please be brief. ", 12), strings.Repeat("cloudy ", 20))
	}
	b.WriteString(t[2])
	return b.Bytes()
}
