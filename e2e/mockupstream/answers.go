package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Answers state an output token for each four bytes of text, and as many input tokens as the request of their kind should have.
const (
	inputTokens   = 250
	bytesPerToken = 4
)

// answer is one HTTP response, ready to be written. The events of a stream are apart.
type answer struct {
	writes [][]byte
	pace   time.Duration
}

// tokens is the usage that an answer states.
type tokens struct{ in, out int }

// answers has the answers by kind, and then by the end of the path of their protocol.
type answers map[string]map[string]*answer

// kind is how much text an answer has, whether it is a stream and how fast that is. Events are zero for an answer in one piece.
type kind struct {
	name      string
	textBytes int
	events    int
	pace      time.Duration
	// input is the number of stated input tokens; zero means inputTokens.
	input int
}

// kinds are the first parts of the paths. Streams have 20 bytes of text in each event. The slow one lasts 15 s, and the brief
// one 6 s.
var kinds = []kind{
	{name: "json1", textBytes: 1000},
	{name: "prompt10", textBytes: 1000, input: 10 * inputTokens},
	{name: "prompt100", textBytes: 1000, input: 100 * inputTokens},
	{name: "json10", textBytes: 10_000},
	{name: "json100", textBytes: 100_000},
	{name: "unpaced", textBytes: 4000, events: 200},
	{name: "paced", textBytes: 4000, events: 200, pace: 5 * time.Millisecond},
	{name: "slow", textBytes: 3000, events: 150, pace: 100 * time.Millisecond},
	{name: "brief", textBytes: 1200, events: 60, pace: 100 * time.Millisecond},
}

// The ends of the paths of the protocols.
const (
	chatPath         = "/chat/completions"
	messagesPath     = "/messages"
	responsesPath    = "/responses"
	nativePath       = ":generateContent"
	nativeStreamPath = ":streamGenerateContent"
)

var paths = []string{chatPath, messagesPath, responsesPath, nativePath, nativeStreamPath}

// unknown answers a path that has no other answer.
var unknown = &answer{writes: [][]byte{response("404 Not Found",
	`{"error":{"message":"this path has no answer","type":"invalid_request_error"}}`)}}

func newAnswers() answers {
	all := answers{}
	for _, k := range kinds {
		of := map[string]*answer{}
		all[k.name] = of
		used := tokens{cmp.Or(k.input, inputTokens), k.textBytes / bytesPerToken}
		if k.events == 0 {
			for path, body := range bodies(filler(k.textBytes), used) {
				of[path] = &answer{writes: [][]byte{response("200 OK", body)}}
			}
			continue
		}
		for path, events := range streams(filler(k.textBytes/k.events), k.events, used) {
			of[path] = &answer{writes: chunks(events), pace: k.pace}
		}
	}
	return all
}

// find returns the answer for the first line of a request.
func (all answers) find(start []byte) *answer {
	_, path, _ := bytes.Cut(start, []byte(" /"))
	path, _, _ = bytes.Cut(path, []byte(" "))
	path, _, _ = bytes.Cut(path, []byte("?"))
	name, rest, _ := bytes.Cut(path, []byte("/"))
	of := all[string(name)]
	for _, end := range paths {
		if bytes.HasSuffix(rest, []byte(end)) {
			if a := of[end]; a != nil {
				return a
			}
		}
	}
	return unknown
}

func response(status, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nX-Request-Id: req_mock\r\nContent-Length: %d\r\n\r\n%s",
		status, len(body), body)
}

// chunks makes one HTTP chunk of each event. The head is written with the first one and the end with the last one.
func chunks(events []string) [][]byte {
	writes := make([][]byte, len(events))
	for i, e := range events {
		if i == 0 {
			writes[i] = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n" +
				"X-Request-Id: req_mock\r\nTransfer-Encoding: chunked\r\n\r\n")
		}
		writes[i] = fmt.Appendf(writes[i], "%x\r\n%s\r\n", len(e), e)
	}
	writes[len(writes)-1] = append(writes[len(writes)-1], "0\r\n\r\n"...)
	return writes
}

// filler is ordinary text of so many bytes, with the escapes that text has in JSON.
func filler(size int) string {
	const sentence = `lorem ipsum dolor sit amet, consectetur \"adipiscing\" elit, sed do eiusmod tempor incididunt ut labore\n`
	text := strings.Repeat(sentence, size/len(sentence)+1)[:size]
	// A cut within an escape would break the JSON.
	return strings.TrimSuffix(text, `\`) + strings.Repeat(" ", len(text)-len(strings.TrimSuffix(text, `\`)))
}

// bodies has the answers in one piece by path.
func bodies(text string, used tokens) map[string]string {
	return map[string]string{
		chatPath: fmt.Sprintf(`{"id":"chatcmpl-mock","object":"chat.completion","created":1760000000,"model":"mock","choices":[{"index":0,`+
			`"message":{"role":"assistant","content":"%s","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":%s,`+
			`"service_tier":"default","system_fingerprint":"fp_mock"}`, text, chatUsage(used)),
		messagesPath: fmt.Sprintf(`{"id":"msg_mock","type":"message","role":"assistant","model":"mock","content":[{"type":"text","text":"%s"}],`+
			`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,`+
			`"cache_read_input_tokens":0,"output_tokens":%d}}`, text, used.in, used.out),
		responsesPath: responsesObject("completed", text, used),
		nativePath:    nativeObject(text, `,"finishReason":"STOP"`, used),
	}
}

func chatUsage(used tokens) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":0},`+
		`"completion_tokens_details":{"reasoning_tokens":0}}`, used.in, used.out, used.in+used.out)
}

func responsesObject(status, text string, used tokens) string {
	output, usage := "[]", "null"
	if status == "completed" {
		output = fmt.Sprintf(`[{"type":"message","id":"msg_mock","status":"completed","role":"assistant",`+
			`"content":[{"type":"output_text","text":"%s","annotations":[]}]}]`, text)
		usage = fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":0},"output_tokens":%d,`+
			`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`, used.in, used.out, used.in+used.out)
	}
	return fmt.Sprintf(`{"id":"resp_mock","object":"response","created_at":1760000000,"status":"%s","error":null,"incomplete_details":null,`+
		`"instructions":null,"max_output_tokens":null,"model":"mock","output":%s,"parallel_tool_calls":true,"previous_response_id":null,`+
		`"store":true,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,`+
		`"truncation":"disabled","usage":%s,"user":null,"metadata":{}}`, status, output, usage)
}

func nativeObject(text, finish string, used tokens) string {
	return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":"%s"}],"role":"model"}%s,"index":0}],"usageMetadata":`+
		`{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"mock","responseId":"mock"}`,
		text, finish, used.in, used.out, used.in+used.out)
}

// streams has the events of streams by path: so many with text, and those that a protocol has before and after them.
func streams(text string, count int, used tokens) map[string][]string {
	native := make([]string, count)
	for i := range native {
		finish := ""
		if i == count-1 {
			finish = `,"finishReason":"STOP"`
		}
		native[i] = "data: " + nativeObject(text, finish, used) + "\r\n\r\n"
	}
	return map[string][]string{
		chatPath: chatEvents(text, count, used), messagesPath: messagesEvents(text, count, used),
		responsesPath: responsesEvents(text, count, used), nativeStreamPath: native,
	}
}

func chatEvents(text string, count int, used tokens) []string {
	const head = `data: {"id":"chatcmpl-mock","object":"chat.completion.chunk","created":1760000000,"model":"mock",` +
		`"service_tier":"default","system_fingerprint":"fp_mock","choices":`
	event := func(delta, finish string) string {
		return head + `[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + `}],"usage":null}` + "\n\n"
	}
	all := []string{event(`{"role":"assistant","content":"","refusal":null}`, "null")}
	for range count {
		all = append(all, event(`{"content":"`+text+`"}`, "null"))
	}
	return append(all, event(`{}`, `"stop"`), head+`[],"usage":`+chatUsage(used)+"}\n\n", "data: [DONE]\n\n")
}

func named(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func messagesEvents(text string, count int, used tokens) []string {
	all := []string{
		named("message_start", `{"type":"message_start","message":{"id":"msg_mock","type":"message","role":"assistant","model":"mock",`+
			`"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":`+strconv.Itoa(used.in)+
			`,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}`),
		named("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
	}
	for range count {
		all = append(all, named("content_block_delta", `{"type":"content_block_delta","index":0,`+
			`"delta":{"type":"text_delta","text":"`+text+`"}}`))
	}
	return append(all, named("content_block_stop", `{"type":"content_block_stop","index":0}`),
		named("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":`+
			strconv.Itoa(used.out)+`}}`), named("message_stop", `{"type":"message_stop"}`))
}

func responsesEvents(text string, count int, used tokens) (all []string) {
	add := func(name, rest string) {
		all = append(all, named(name, fmt.Sprintf(`{"type":"%s","sequence_number":%d,%s}`, name, len(all), rest)))
	}
	whole := strings.Repeat(text, count)
	const part = `"item_id":"msg_mock","output_index":0,"content_index":0,`
	add("response.created", `"response":`+responsesObject("in_progress", "", used))
	add("response.in_progress", `"response":`+responsesObject("in_progress", "", used))
	add("response.output_item.added", `"output_index":0,`+
		`"item":{"id":"msg_mock","type":"message","status":"in_progress","content":[],"role":"assistant"}`)
	add("response.content_part.added", part+`"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`)
	for range count {
		add("response.output_text.delta", part+`"delta":"`+text+`","logprobs":[]`)
	}
	add("response.output_text.done", part+`"text":"`+whole+`","logprobs":[]`)
	add("response.content_part.done", part+`"part":{"type":"output_text","annotations":[],"logprobs":[],"text":"`+whole+`"}`)
	add("response.output_item.done", `"output_index":0,"item":{"id":"msg_mock","type":"message","status":"completed","content":`+
		`[{"type":"output_text","annotations":[],"logprobs":[],"text":"`+whole+`"}],"role":"assistant"}`)
	add("response.completed", `"response":`+responsesObject("completed", whole, used))
	return all
}
