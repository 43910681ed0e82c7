package emulator

import "maps"

// readResponses reads a request of the responses wire.
func (x *exchange) readResponses() *refusal {
	m, q := x.members, &x.question
	for _, name := range []string{"messages", "max_tokens", "max_completion_tokens", "stop", "seed", "n", "usage"} {
		if m[name] != nil {
			return refuse("request", "message", "Unknown parameter: '"+name+"'.")
		}
	}
	for _, name := range x.provider.Refuses {
		if m[name] != nil && q.reasoning > 0 {
			return refuse("bound", "member", name)
		}
	}
	if text, isText := m["input"].(string); isText {
		q.hear("user", text)
	}
	q.hear("system", textOf(m["instructions"]))
	for _, v := range listOf(m["input"]) {
		if bad := x.readItem(objectOf(v)); bad != nil {
			return bad
		}
	}
	if m["input"] == nil {
		return refuse("request", "message", "Missing required parameter: 'input'.")
	}
	q.outputMax, q.usage = numberOf(m["max_output_tokens"]), true
	for _, v := range listOf(m["tools"]) {
		if tool := objectOf(v); tool["type"] == "function" {
			q.tools = append(q.tools, textOf(tool["name"]))
		}
	}
	switch choice := m["tool_choice"].(type) {
	case string:
		switch choice {
		case "required":
			q.forced = anyTool
		case "none":
			q.tools = nil
		}
	case object:
		q.forced = textOf(choice["name"])
	}
	return nil
}

// readItem reads one item of the input.
func (x *exchange) readItem(item object) *refusal {
	q, role := &x.question, textOf(item["role"])
	switch kind := textOf(item["type"]); kind {
	case "message", "":
		if role == "developer" && !x.provider.Developer {
			return refuse("request", "message", "Invalid role: developer")
		}
		if text, isText := item["content"].(string); isText {
			q.hear(role, text)
		}
		for _, v := range listOf(item["content"]) {
			part := objectOf(v)
			switch textOf(part["type"]) {
			case "input_text", "output_text":
				q.hear(role, textOf(part["text"]))
			case "input_image":
				if bad := x.imageAddress(textOf(part["image_url"])); bad != nil {
					return bad
				}
			default:
				return refuse("request", "message", "Invalid value: '"+textOf(part["type"])+"'.")
			}
		}
	case "function_call_output":
		q.answered = true
	case "function_call", "reasoning", "item_reference":
	default:
		return refuse("request", "message", "Invalid value: '"+kind+"'.")
	}
	return nil
}

// responsesHead is the response without its output.
func (x *exchange) responsesHead(status string) object {
	reasoning := object{"effort": "medium", "summary": nil}
	if x.provider.Chat.Ticks {
		reasoning["effort"] = nil
	}
	return object{
		"id": "resp_" + x.id, "object": "response", "created_at": x.e.now().Unix(), "status": status, "model": x.question.model,
		"output": []any{},
		"error":  nil, "incomplete_details": nil, "instructions": nil, "max_output_tokens": nil, "parallel_tool_calls": true,
		"previous_response_id": nil, "reasoning": reasoning, "service_tier": "default", "store": false,
		"temperature": 1.0, "text": object{"format": object{"type": "text"}}, "tool_choice": "auto", "tools": []any{}, "top_p": 1.0,
		"truncation": "disabled", "usage": nil, "user": nil, "metadata": object{},
	}
}

// responsesOutput are the items of the answer.
func (x *exchange) responsesOutput(a *answer) []any {
	var items []any
	if len(a.thoughts) > 0 {
		items = append(items, object{"id": "rs_" + x.id, "type": "reasoning", "summary": []any{}})
	}
	if a.tool != "" {
		return append(items, object{
			"id": "fc_" + x.id, "type": "function_call", "status": "completed", "call_id": "call_" + x.id[4:13], "name": a.tool,
			"arguments": a.arguments,
		})
	}
	return append(items, object{
		"id": "msg_" + x.id, "type": "message", "status": "completed", "role": "assistant", "content": []any{outputText(a.wholeText())},
	})
}

func outputText(text string) object {
	return object{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": text}
}

// wholeResponses is the answer in one piece.
func (x *exchange) wholeResponses(a *answer) object {
	body := x.responsesHead("completed")
	if a.cut && a.tool == "" {
		body["status"], body["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	}
	usage := object{
		"input_tokens": a.usage.prompt(), "input_tokens_details": object{"cached_tokens": a.usage.CacheRead}, "output_tokens": a.usage.Output,
		"output_tokens_details": object{"reasoning_tokens": a.usage.Reasoning}, "total_tokens": a.usage.prompt() + a.usage.Output,
	}
	if x.provider.Chat.Ticks {
		usage["num_sources_used"], usage["num_server_side_tools_used"], usage["cost_in_usd_ticks"] = 0, 0, 0
	}
	body["output"], body["usage"] = x.responsesOutput(a), usage
	return body
}

// responsesStreamer numbers the events of a stream.
type responsesStreamer struct {
	x      *exchange
	number int
}

// send sends an event. Content may stall or be cut.
func (s *responsesStreamer) send(kind string, members object, isContent bool) {
	event := object{"type": kind, "sequence_number": s.number}
	maps.Copy(event, members)
	s.number++
	if isContent {
		s.x.sendContent(kind, event)
		return
	}
	s.x.send(kind, event)
}

// streamResponses sends the answer as events.
func (x *exchange) streamResponses(a *answer) {
	s := &responsesStreamer{x: x}
	s.send("response.created", object{"response": x.responsesHead("in_progress")}, false)
	s.send("response.in_progress", object{"response": x.responsesHead("in_progress")}, false)
	for i, v := range x.responsesOutput(a) {
		item := objectOf(v)
		begun := maps.Clone(item)
		switch item["type"] {
		case "reasoning":
			s.send("response.output_item.added", object{"output_index": i, "item": begun}, false)
		case "function_call":
			begun["status"], begun["arguments"] = "in_progress", ""
			s.send("response.output_item.added", object{"output_index": i, "item": begun}, true)
			s.send("response.function_call_arguments.delta", object{"item_id": item["id"], "output_index": i, "delta": a.arguments}, false)
			s.send("response.function_call_arguments.done", object{"item_id": item["id"], "output_index": i, "arguments": a.arguments}, false)
		default:
			begun["status"], begun["content"] = "in_progress", []any{}
			s.send("response.output_item.added", object{"output_index": i, "item": begun}, false)
			s.sendText(i, item["id"], a)
		}
		s.send("response.output_item.done", object{"output_index": i, "item": item}, false)
	}
	whole := x.wholeResponses(a)
	s.send("response."+textOf(whole["status"]), object{"response": whole}, false)
}

// sendText sends the events of a text.
func (s *responsesStreamer) sendText(index int, id any, a *answer) {
	place := func(more object) object {
		event := object{"item_id": id, "output_index": index, "content_index": 0}
		maps.Copy(event, more)
		return event
	}
	s.send("response.content_part.added", place(object{"part": outputText("")}), false)
	for _, piece := range a.text {
		s.send("response.output_text.delta", place(object{"delta": piece, "logprobs": []any{}}), true)
	}
	s.send("response.output_text.done", place(object{"text": a.wholeText(), "logprobs": []any{}}), false)
	s.send("response.content_part.done", place(object{"part": outputText(a.wholeText())}), false)
}
