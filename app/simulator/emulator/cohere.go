package emulator

// cohereMembers are the members of a request of the cohere wire.
var cohereMembers = []string{
	"model", "messages", "stream", "tools", "tool_choice", "strict_tools", "documents", "citation_options", "response_format", "safety_mode",
	"max_tokens", "stop_sequences", "temperature", "seed", "frequency_penalty", "presence_penalty", "k", "p", "logprobs",
	"thinking", "priority",
}

// readCohere reads a request of the cohere wire.
func (x *exchange) readCohere() *refusal {
	m, q := x.members, &x.question
	switch name := unknownMember(m, cohereMembers); {
	case name != "":
		return refuse("request", "message", "unknown field: parameter '"+name+"' is not a valid field")
	case len(listOf(m["messages"])) == 0:
		return refuse("request", "message", "invalid request: messages must not be empty")
	}
	for _, v := range listOf(m["messages"]) {
		if bad := x.readCohereMessage(objectOf(v)); bad != nil {
			return bad
		}
	}
	q.outputMax = numberOf(m["max_tokens"])
	for _, v := range listOf(m["tools"]) {
		q.tools = append(q.tools, textOf(objectOf(objectOf(v)["function"])["name"]))
	}
	switch choice := m["tool_choice"]; {
	case choice == nil:
	case choice == "REQUIRED" && len(q.tools) > 0:
		q.forced = anyTool
	case choice == "NONE":
		q.tools = nil
	default:
		return refuse("request", "message", "invalid request: tool_choice must be one of REQUIRED, NONE")
	}
	return nil
}

// readCohereMessage reads one message.
func (x *exchange) readCohereMessage(m object) *refusal {
	q, role := &x.question, textOf(m["role"])
	switch role {
	case "system", "assistant", "user":
	case "tool":
		q.answered = true
		return nil
	default:
		return refuse("request", "message", "invalid role in messages: "+role)
	}
	if text, isText := m["content"].(string); isText {
		q.hear(role, text)
	}
	for _, v := range listOf(m["content"]) {
		part := objectOf(v)
		switch kind := textOf(part["type"]); kind {
		case "text":
			q.hear(role, textOf(part["text"]))
		case "image_url":
			if bad := x.imageAddress(textOf(objectOf(part["image_url"])["url"])); bad != nil {
				return bad
			}
		case "thinking", "document":
		default:
			return refuse("request", "message", "invalid content type: "+kind)
		}
	}
	return nil
}

// cohereUsage has the billed tokens, and the larger counts of the template, which cost nothing.
func cohereUsage(u *Usage) object {
	return object{
		"billed_units": object{"input_tokens": u.Input, "output_tokens": u.Output},
		"tokens":       object{"input_tokens": u.Input + 495, "output_tokens": u.Output + 3}, "cached_tokens": 448,
	}
}

// cohereCall is the call of a tool.
func (x *exchange) cohereCall(a *answer, arguments string) object {
	return object{"id": a.tool + "_" + x.id[4:16], "type": "function", "function": object{"name": a.tool, "arguments": arguments}}
}

// wholeCohere is the answer in one piece.
func (x *exchange) wholeCohere(a *answer) object {
	message := object{"role": "assistant"}
	if a.tool != "" {
		message["tool_plan"], message["tool_calls"] = "I will call the tool.", []any{x.cohereCall(a, a.arguments)}
	} else {
		message["content"] = []any{object{"type": "text", "text": a.wholeText()}}
	}
	return object{
		"id": x.id, "message": message, "finish_reason": a.finish("COMPLETE", "MAX_TOKENS", "TOOL_CALL"), "usage": cohereUsage(&a.usage),
	}
}

// streamCohere sends the answer as events.
func (x *exchange) streamCohere(a *answer) {
	event := func(kind string, message object) object {
		return object{"type": kind, "index": 0, "delta": object{"message": message}}
	}
	start := object{"role": "assistant", "content": []any{}, "tool_plan": "", "tool_calls": []any{}, "citations": []any{}}
	x.send("message-start", object{"id": x.id, "type": "message-start", "delta": object{"message": start}})
	if a.tool != "" {
		for _, piece := range []string{"I", " will call the tool."} {
			x.send("tool-plan-delta", object{"type": "tool-plan-delta", "delta": object{"message": object{"tool_plan": piece}}})
		}
		x.sendContent("tool-call-start", event("tool-call-start", object{"tool_calls": x.cohereCall(a, "")}))
		arguments := object{"tool_calls": object{"function": object{"arguments": a.arguments}}}
		x.send("tool-call-delta", event("tool-call-delta", arguments))
		x.send("tool-call-end", object{"type": "tool-call-end", "index": 0})
	} else {
		x.send("content-start", event("content-start", object{"content": object{"type": "text", "text": ""}}))
		for _, piece := range a.text {
			x.sendContent("content-delta", event("content-delta", object{"content": object{"text": piece}}))
		}
		x.send("content-end", object{"type": "content-end", "index": 0})
	}
	delta := object{"finish_reason": a.finish("COMPLETE", "MAX_TOKENS", "TOOL_CALL"), "usage": cohereUsage(&a.usage)}
	x.send("message-end", object{"type": "message-end", "delta": delta})
	x.sendDone()
}
