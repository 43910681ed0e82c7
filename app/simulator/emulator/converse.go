package emulator

import (
	"encoding/base64"
	"encoding/json"
	"slices"
)

// converseMembers are the members of a request of the converse wire.
var converseMembers = []string{
	"messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields", "additionalModelResponseFieldPaths",
	"guardrailConfig", "performanceConfig", "promptVariables", "requestMetadata", "serviceTier", "outputConfig",
}

// readConverse reads a request of the converse wire.
func (x *exchange) readConverse() *refusal {
	m, q := x.members, &x.question
	messages := listOf(m["messages"])
	switch name := unknownMember(m, converseMembers); {
	case name != "":
		return refuse("request", "message", "The request has the unknown member "+name+".")
	case len(messages) == 0:
		return refuse("request", "message", "The messages field must not be empty.")
	case textOf(objectOf(messages[0])["role"]) != "user":
		return refuse("request", "message",
			"A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	}
	for _, v := range listOf(m["system"]) {
		q.hear("system", textOf(objectOf(v)["text"]))
	}
	before := ""
	for _, v := range messages {
		message := objectOf(v)
		role := textOf(message["role"])
		if role == before || role != "user" && role != "assistant" {
			return refuse("request", "message", "A conversation must alternate between user and assistant roles.")
		}
		before = role
		if bad := x.readBlocks(message); bad != nil {
			return bad
		}
	}
	q.outputMax = numberOf(objectOf(m["inferenceConfig"])["maxTokens"])
	return x.readConverseTools()
}

// readBlocks reads the content of one message. A content that is a text is refused.
func (x *exchange) readBlocks(message object) *refusal {
	q, role := &x.question, textOf(message["role"])
	blocks := listOf(message["content"])
	if len(blocks) == 0 {
		return refuse("request", "message", "The content field in the Message object is empty.")
	}
	for _, v := range blocks {
		block := objectOf(v)
		switch image := objectOf(block["image"]); {
		case len(block) != 1 && block["cachePoint"] == nil:
			return refuse("request", "message", "The content block must have exactly one member.")
		case image != nil:
			raw, err := base64.StdEncoding.DecodeString(textOf(objectOf(image["source"])["bytes"]))
			if err != nil || len(raw) == 0 || !slices.Contains([]string{"png", "jpeg", "gif", "webp"}, textOf(image["format"])) {
				return refuse("request", "message", "The image is not valid.")
			}
			if bad := x.image("data"); bad != nil {
				return bad
			}
		case block["toolResult"] != nil:
			q.answered = true
		case block["text"] != nil:
			if textOf(block["text"]) == "" {
				return refuse("request", "message", "The text field in the ContentBlock object is blank.")
			}
			q.hear(role, textOf(block["text"]))
		}
	}
	return nil
}

// readConverseTools reads the tools and the choice among them.
func (x *exchange) readConverseTools() *refusal {
	config, q := objectOf(x.members["toolConfig"]), &x.question
	if config == nil {
		return nil
	}
	for _, v := range listOf(config["tools"]) {
		spec := objectOf(objectOf(v)["toolSpec"])
		if spec == nil && objectOf(v)["cachePoint"] != nil {
			continue
		}
		if textOf(spec["name"]) == "" || objectOf(objectOf(spec["inputSchema"])["json"]) == nil {
			return refuse("request", "message", "The toolSpec is not valid.")
		}
		q.tools = append(q.tools, textOf(spec["name"]))
	}
	if len(q.tools) == 0 {
		return refuse("request", "message", "The value at toolConfig.tools must have length greater than or equal to 1.")
	}
	choice := objectOf(config["toolChoice"])
	if choice["any"] != nil {
		q.forced = anyTool
	}
	if tool := objectOf(choice["tool"]); tool != nil {
		q.forced = textOf(tool["name"])
	}
	return nil
}

// converseUsage is the usage, whose input is without that from the cache.
func converseUsage(u *Usage) object {
	usage := object{"inputTokens": u.Input, "outputTokens": u.Output, "totalTokens": u.prompt() + u.Output, "serverToolUsage": object{}}
	if u.CacheRead > 0 {
		usage["cacheReadInputTokens"], usage["cacheWriteInputTokens"] = u.CacheRead, 0
	}
	return usage
}

// wholeConverse is the answer in one piece.
func (x *exchange) wholeConverse(a *answer) object {
	block := object{"text": a.wholeText()}
	if a.tool != "" {
		block = object{"toolUse": object{"toolUseId": "tooluse_" + x.id[4:], "name": a.tool, "input": json.RawMessage(a.arguments)}}
	}
	return object{
		"output": object{"message": object{"role": "assistant", "content": []any{block}}}, "metrics": object{"latencyMs": 538},
		"stopReason": a.finish("end_turn", "max_tokens", "tool_use"), "usage": converseUsage(&a.usage),
	}
}

// streamConverse sends the answer as events. A block with text has no event for its start.
func (x *exchange) streamConverse(a *answer) {
	const padding = "abcdefghijkl"
	x.send("messageStart", object{"p": padding, "role": "assistant"})
	if a.tool != "" {
		start := object{"toolUse": object{"toolUseId": "tooluse_" + x.id[4:], "name": a.tool}}
		x.send("contentBlockStart", object{"contentBlockIndex": 0, "p": padding, "start": start})
		x.sendContent("contentBlockDelta", object{"contentBlockIndex": 0, "p": padding, "delta": object{"toolUse": object{"input": a.arguments}}})
	}
	for _, piece := range a.text {
		x.sendContent("contentBlockDelta", object{"contentBlockIndex": 0, "p": padding, "delta": object{"text": piece}})
	}
	x.send("contentBlockStop", object{"contentBlockIndex": 0, "p": padding})
	x.send("messageStop", object{"p": padding, "stopReason": a.finish("end_turn", "max_tokens", "tool_use")})
	x.send("metadata", object{"metrics": object{"latencyMs": 481}, "p": padding, "usage": converseUsage(&a.usage)})
}
