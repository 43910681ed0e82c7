package emulator

import (
	"encoding/json"
	"strings"
)

// messagesMembers are the members of a request of the messages wire. The name of the model is in the path of some providers.
var messagesMembers = []string{
	"model", "max_tokens", "messages", "metadata", "stop_sequences", "stream", "system", "temperature", "tool_choice", "tools", "top_k",
	"top_p", "thinking", "service_tier", "container", "mcp_servers", "context_management", "output_config", "cache_control",
}

// readMessages reads a request of the messages wire.
func (x *exchange) readMessages() *refusal {
	m, q := x.members, &x.question
	known := messagesMembers
	if x.path.Version != nil {
		known = append([]string{"anthropic_version", "anthropic_beta"}, known...)
	}
	switch name := unknownMember(m, known); {
	case name != "":
		return refuse("request", "message", name+": Extra inputs are not permitted")
	case x.record.Provider == "bedrock" && m["stream"] != nil:
		return refuse("request", "message", "stream: Extra inputs are not permitted")
	case !strings.Contains(q.model, "claude"):
		return refuse("model")
	case numberOf(m["max_tokens"]) <= 0:
		return refuse("request", "message", "max_tokens: Field required")
	case len(listOf(m["messages"])) == 0:
		return refuse("request", "message", "messages: at least one message is required")
	case textOf(objectOf(listOf(m["messages"])[0])["role"]) != "user":
		return refuse("request", "message", "messages: first message must use the \"user\" role")
	}
	q.outputMax = numberOf(m["max_tokens"])
	q.hear("system", textOf(m["system"]))
	for _, v := range listOf(m["system"]) {
		q.hear("system", textOf(objectOf(v)["text"]))
	}
	for _, v := range listOf(m["messages"]) {
		if bad := x.readTurn(objectOf(v)); bad != nil {
			return bad
		}
	}
	return x.readMessagesTools()
}

// readTurn reads one message.
func (x *exchange) readTurn(m object) *refusal {
	q, role := &x.question, textOf(m["role"])
	if role != "user" && role != "assistant" {
		return refuse("request", "message", "messages: Unexpected role \""+role+"\". The Messages API accepts a top-level `system` parameter.")
	}
	if text, isText := m["content"].(string); isText {
		q.hear(role, text)
	}
	for _, v := range listOf(m["content"]) {
		block := objectOf(v)
		switch kind := textOf(block["type"]); kind {
		case "text":
			if textOf(block["text"]) == "" {
				return refuse("request", "message", "messages: text content blocks must be non-empty")
			}
			q.hear(role, textOf(block["text"]))
		case "image":
			source := objectOf(block["source"])
			form := map[string]string{"base64": "data", "url": "url"}[textOf(source["type"])]
			if form == "data" && (textOf(source["data"]) == "" || !strings.HasPrefix(textOf(source["media_type"]), "image/")) {
				form = ""
			}
			if bad := x.image(form); bad != nil {
				return bad
			}
		case "tool_result":
			q.answered = true
		case "tool_use", "thinking", "redacted_thinking", "document":
		default:
			return refuse("request", "message", "messages: Input tag '"+kind+"' found using 'type' does not match any of the expected tags")
		}
	}
	return nil
}

// readMessagesTools reads the tools and the choice among them.
func (x *exchange) readMessagesTools() *refusal {
	q := &x.question
	for _, v := range listOf(x.members["tools"]) {
		tool := objectOf(v)
		if textOf(tool["name"]) == "" || objectOf(tool["input_schema"]) == nil {
			return refuse("request", "message", "tools.0.custom.input_schema: Field required")
		}
		q.tools = append(q.tools, textOf(tool["name"]))
	}
	choice := objectOf(x.members["tool_choice"])
	switch kind := textOf(choice["type"]); {
	case choice == nil:
	case len(q.tools) == 0:
		return refuse("request", "message", "tool_choice may only be specified while providing tools")
	case kind == "any":
		q.forced = anyTool
	case kind == "tool":
		q.forced = textOf(choice["name"])
	case kind == "none":
		q.tools = nil
	case kind != "auto":
		return refuse("request", "message", "tool_choice: Input tag '"+kind+"' does not match any of the expected tags")
	}
	return nil
}

// messagesUsage is the usage at the start or at the end of an answer.
func messagesUsage(u Usage, output int64) object {
	return object{
		"input_tokens": u.Input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": u.CacheRead, "output_tokens": output,
	}
}

// messagesHead is the message without its content.
func (x *exchange) messagesHead() object {
	prefix := map[string]string{"vertex": "msg_vrtx_", "bedrock": "msg_bdrk_"}[x.record.Provider]
	if prefix == "" {
		prefix = "msg_"
	}
	return object{
		"id": prefix + x.id, "type": "message", "role": "assistant", "model": x.question.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
	}
}

// wholeMessages is the answer in one piece.
func (x *exchange) wholeMessages(a *answer) object {
	body := x.messagesHead()
	content := []any{object{"type": "text", "text": a.wholeText()}}
	if a.tool != "" {
		content = []any{object{"type": "tool_use", "id": "toolu_" + x.id[4:], "name": a.tool, "input": json.RawMessage(a.arguments)}}
	}
	body["content"], body["stop_reason"] = content, a.finish("end_turn", "max_tokens", "tool_use")
	body["usage"] = messagesUsage(a.usage, a.usage.Output)
	return body
}

// streamMessages sends the answer as events. At some providers the usage at the end has only the output.
func (x *exchange) streamMessages(a *answer) {
	named := func(kind string, members object) object {
		members["type"] = kind
		return members
	}
	head := x.messagesHead()
	head["usage"] = messagesUsage(a.usage, 1)
	x.send("message_start", named("message_start", object{"message": head}))
	if x.path.Framing == "" {
		x.send("ping", object{"type": "ping"})
	}
	block, deltas := object{"type": "text", "text": ""}, []object{}
	for _, piece := range a.text {
		deltas = append(deltas, object{"type": "text_delta", "text": piece})
	}
	if a.tool != "" {
		block = object{"type": "tool_use", "id": "toolu_" + x.id[4:], "name": a.tool, "input": object{}}
		deltas = []object{{"type": "input_json_delta", "partial_json": ""}, {"type": "input_json_delta", "partial_json": a.arguments}}
	}
	x.send("content_block_start", named("content_block_start", object{"index": 0, "content_block": block}))
	for _, delta := range deltas {
		x.sendContent("content_block_delta", named("content_block_delta", object{"index": 0, "delta": delta}))
	}
	x.send("content_block_stop", named("content_block_stop", object{"index": 0}))
	usage := object{"output_tokens": a.usage.Output}
	if x.record.Provider == "anthropic" {
		usage = messagesUsage(a.usage, a.usage.Output)
	}
	reason := object{"stop_reason": a.finish("end_turn", "max_tokens", "tool_use"), "stop_sequence": nil}
	x.send("message_delta", named("message_delta", object{"delta": reason, "usage": usage}))
	stop := named("message_stop", object{})
	if x.path.Framing == framingChunks {
		stop["amazon-bedrock-invocationMetrics"] = object{
			"inputTokenCount": a.usage.Input, "outputTokenCount": a.usage.Output, "invocationLatency": 1608, "firstByteLatency": 1438,
		}
	}
	x.send("message_stop", stop)
}
