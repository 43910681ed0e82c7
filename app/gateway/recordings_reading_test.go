package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"umg/app/llm"
)

// answerPart is a part of an answer as a client reads it: a text, a thought, a refusal, a call of a tool, or another kind.
type answerPart struct{ kind, name, text string }

// answerReading is an answer, or the beginning of one, that was read by hand in one style.
type answerReading struct {
	streamed bool
	parts    []answerPart
	index    map[string]int // Index maps the key of a part to its position in parts.
	finish   string         // Finish is in the provider's own words.
	counts   map[string]string
	failed   string // Failed is the text of an error in the answer.
}

// readAnswer reads an answer in a style: the frames of a stream, or one document.
func readAnswer(style llm.Style, streamed bool, body string) *answerReading {
	r := &answerReading{streamed: streamed, index: map[string]int{}, counts: map[string]string{}}
	if !streamed {
		r.document(style, body)
		return r
	}
	if at := strings.LastIndex(body, "\n\n{"); at >= 0 { // An error without a frame ends some streams.
		r.document(style, body[at:])
	}
	for line := range strings.Lines(body) {
		if data, isData := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:"); isData && strings.TrimSpace(data) != "[DONE]" {
			r.document(style, data)
		}
	}
	return r
}

func (r *answerReading) document(style llm.Style, text string) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m members
	if d.Decode(&m) != nil {
		return
	}
	if e, isError := m["error"]; isError && e != nil {
		r.failed = fmt.Sprint(e)
	}
	switch style {
	case llm.Chat:
		r.chat(m)
	case llm.Messages:
		r.messages(m)
	case llm.Responses:
		r.responses(m)
	case llm.Native:
		r.native(m)
	}
}

// add adds a text to the part with a key.
func (r *answerReading) add(key, kind, name, text string) {
	at, known := r.index[key]
	if !known {
		at = len(r.parts)
		r.index[key] = at
		r.parts = append(r.parts, answerPart{kind: kind})
	}
	r.parts[at].name += name
	r.parts[at].text += text
}

// addText adds a text that continues the last part of its kind.
func (r *answerReading) addText(kind, text string) {
	if text == "" {
		return
	}
	if n := len(r.parts); n > 0 && r.parts[n-1].kind == kind {
		r.parts[n-1].text += text
		return
	}
	r.add(fmt.Sprint(kind, len(r.parts)), kind, "", text)
}

func (r *answerReading) count(prefix string, v any) {
	switch v := v.(type) {
	case members:
		for name, value := range v {
			r.count(strings.TrimPrefix(prefix+"."+name, "."), value)
		}
	case []any:
		for i, value := range v {
			r.count(fmt.Sprintf("%s[%d]", prefix, i), value)
		}
	case json.Number:
		if delete(r.counts, prefix); strings.Trim(v.String(), "0.") != "" {
			r.counts[prefix] = v.String()
		}
	case string:
		if v != "" && (strings.HasSuffix(prefix, "tier") || strings.HasSuffix(prefix, "speed") || strings.HasSuffix(prefix, "modality")) {
			r.counts[prefix] = v
		}
	}
}

func (r *answerReading) chat(m members) {
	r.count("", m["usage"])
	r.count("x_groq", at(m, "x_groq", "usage"))
	choices, _ := m["choices"].([]any)
	for _, choice := range choices {
		r.count("choice", at(choice, "usage"))
		if r.streamed { // Some providers repeat the whole message beside each delta, and an empty delta beside a message.
			r.chatMessage(at(choice, "delta"))
		} else {
			r.chatMessage(at(choice, "message"))
		}
		if s := str(at(choice, "finish_reason")); s != "" {
			r.finish = s
		}
	}
}

func (r *answerReading) chatMessage(message any) {
	thought := str(at(message, "reasoning_content"))
	if thought == "" {
		thought = str(at(message, "reasoning"))
	}
	r.addText("thought", thought)
	r.addText("text", str(at(message, "content")))
	r.addText("refusal", str(at(message, "refusal")))
	list, _ := at(message, "content").([]any)
	for _, part := range list {
		r.addText("text", str(at(part, "text")))
		thoughts, _ := at(part, "thinking").([]any)
		for _, thought := range thoughts {
			r.addText("thought", str(at(thought, "text")))
		}
	}
	calls, _ := at(message, "tool_calls").([]any)
	for i, call := range calls {
		key := fmt.Sprint("call", i)
		if index, isNumber := at(call, "index").(json.Number); isNumber {
			key = "call" + index.String()
		}
		r.add(key, "call", str(at(call, "function", "name")), str(at(call, "function", "arguments")))
		r.add(key, "call", str(at(call, "custom", "name")), str(at(call, "custom", "input")))
	}
}

func (r *answerReading) messages(m members) {
	r.count("", m["usage"])
	r.count("", at(m, "message", "usage"))
	key := "block" + fmt.Sprint(m["index"])
	switch m["type"] {
	case "message":
		blocks, _ := m["content"].([]any)
		for i, block := range blocks {
			r.messagesBlock(fmt.Sprint("block", i), block, true)
		}
		r.finish = str(m["stop_reason"])
	case "content_block_start":
		r.messagesBlock(key, m["content_block"], false)
	case "content_block_delta":
		for _, name := range []string{"text", "thinking", "partial_json"} {
			r.add(key, "other", "", str(at(m, "delta", name)))
		}
	case "message_delta":
		r.finish = str(at(m, "delta", "stop_reason"))
	}
}

func (r *answerReading) messagesBlock(key string, block any, whole bool) {
	switch kind := str(at(block, "type")); kind {
	case "text":
		r.add(key, "text", "", str(at(block, "text")))
	case "thinking":
		r.add(key, "thought", "", str(at(block, "thinking")))
	case "redacted_thinking":
		r.add(key, "hidden thought", "", "")
	case "tool_use":
		arguments, _ := json.Marshal(at(block, "input"))
		if !whole {
			arguments = nil
		}
		r.add(key, "call", str(at(block, "name")), string(arguments))
	default:
		r.add(key, kind, "", "")
	}
}

func (r *answerReading) responses(m members) {
	id := str(m["item_id"]) + fmt.Sprint(m["output_index"])
	switch kind := str(m["type"]); {
	case m["object"] == "response":
		r.response(m)
	case kind == "response.output_text.delta":
		r.add("text"+fmt.Sprint(m["output_index"], m["content_index"]), "text", "", str(m["delta"]))
	case kind == "response.refusal.delta":
		r.add("refusal"+id, "refusal", "", str(m["delta"]))
	case kind == "response.reasoning_summary_text.delta", kind == "response.reasoning_text.delta":
		r.add("thought"+fmt.Sprint(m["output_index"]), "thought", "", str(m["delta"]))
	case strings.HasPrefix(kind, "response."):
		if response, _ := m["response"].(members); response != nil && at(response, "status") != "in_progress" && at(response, "status") != "queued" {
			r.response(response)
		}
	case kind == "error":
		r.failed = str(m["message"])
	}
}

// response reads a whole answer. In a stream, the texts have come before as deltas.
func (r *answerReading) response(m members) {
	r.count("", m["usage"])
	r.count("tool_usage", m["tool_usage"])
	r.count("", members{"service_tier": m["service_tier"]})
	if r.finish = str(m["status"]); r.finish == "incomplete" {
		r.finish += " " + str(at(m, "incomplete_details", "reason"))
	}
	if e := m["error"]; e != nil {
		r.failed = fmt.Sprint(e)
	}
	items, _ := m["output"].([]any)
	if len(items) == 0 {
		return
	}
	r.parts, r.index = nil, map[string]int{}
	for i, item := range items {
		key := fmt.Sprint(i)
		switch kind := str(at(item, "type")); kind {
		case "message":
			content, _ := at(item, "content").([]any)
			for _, part := range content {
				r.addText("text", str(at(part, "text")))
				r.addText("refusal", str(at(part, "refusal")))
			}
		case "reasoning":
			r.add(key, "thought", "", "")
			for _, name := range []string{"summary", "content"} {
				list, _ := at(item, name).([]any)
				for _, part := range list {
					r.add(key, "thought", "", str(at(part, "text")))
				}
			}
		case "function_call", "custom_tool_call":
			r.add(key, "call", str(at(item, "name")), str(at(item, "arguments"))+str(at(item, "input")))
		default:
			r.add(key, kind, "", "")
		}
	}
}

func (r *answerReading) native(m members) {
	r.count("", m["usageMetadata"])
	if s := str(at(m, "promptFeedback", "blockReason")); s != "" {
		r.finish = s
	}
	parts, _ := at(m, "candidates", 0, "content", "parts").([]any)
	for _, part := range parts {
		switch {
		case at(part, "functionCall") != nil && at(part, "functionCall", "name") == nil:
			r.addText("pieces of a call", ".")
		case at(part, "functionCall") != nil:
			arguments, _ := json.Marshal(at(part, "functionCall", "args"))
			r.add(fmt.Sprint("call", len(r.parts)), "call", str(at(part, "functionCall", "name")), string(arguments))
		case at(part, "text") == nil:
			kinds := slices.Sorted(maps.Keys(part.(members)))
			r.add(fmt.Sprint("other", len(r.parts)), strings.Join(kinds, "+"), "", "")
		case at(part, "thought") == true:
			r.addText("thought", str(at(part, "text")))
		default:
			r.addText("text", str(at(part, "text")))
		}
	}
	if s := str(at(m, "candidates", 0, "finishReason")); s != "" {
		r.finish = s
	}
	queries, _ := at(m, "candidates", 0, "groundingMetadata", "webSearchQueries").([]any)
	if len(queries) > 0 {
		r.counts["webSearchQueries"] = fmt.Sprint(len(queries))
	}
}

// describe lists the parts with the lengths of their texts.
func (r *answerReading) describe() string {
	var list []string
	for _, p := range r.parts {
		switch {
		case p.kind == "call":
			list = append(list, fmt.Sprintf("call %s %d", p.name, len(canonical(p.text))))
		case p.text != "" || p.kind != "text":
			list = append(list, strings.TrimSuffix(fmt.Sprintf("%s %d", p.kind, len(p.text)), " 0"))
		}
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// texts are all texts of a kind together, and calls are the names and the arguments of all calls.
func (r *answerReading) texts(kind string) (text string) {
	for _, p := range r.parts {
		if p.kind == kind {
			text += p.text
		}
	}
	return text
}

func (r *answerReading) calls() (list []string) {
	for _, p := range r.parts {
		if p.kind == "call" {
			list = append(list, p.name+" "+canonical(p.text))
		}
	}
	return list
}

// canonical is a JSON value with sorted members and without spaces. Empty arguments are an empty object.
func canonical(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text
	}
	if v == nil {
		return "{}"
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// unpaid are parts of the names of members that are no counts anyone pays for: times, sums, and kinds that are text.
var unpaid = []string{"_ms", "_time", "_per_", "total_tokens", "totalTokenCount", "context_details"}

// said lists the counts and the terms that a provider stated.
func (r *answerReading) said() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.counts)) {
		kind, _, _ := strings.Cut(name, "]")
		if slices.ContainsFunc(unpaid, func(part string) bool { return strings.Contains(name, part) }) || r.counts[kind+"].modality"] == "TEXT" ||
			r.counts[strings.TrimPrefix(name, "x_groq.")] != "" && strings.HasPrefix(name, "x_groq.") {
			continue
		}
		list = append(list, name+" "+r.counts[name])
	}
	return strings.Join(list, ", ")
}
