package emulator

import (
	"fmt"
	"slices"
	"strconv"
)

// readChat reads a request of the chat wire.
func (x *exchange) readChat() *refusal {
	m, q := x.members, &x.question
	if bad := x.membersRefused(); bad != nil {
		return bad
	}
	messages := listOf(m["messages"])
	if len(messages) == 0 {
		return refuse("request", "message", "'messages' must not be empty")
	}
	for i, v := range messages {
		if bad := x.readChatMessage(i, objectOf(v)); bad != nil {
			return bad
		}
	}
	last := objectOf(messages[len(messages)-1])
	if textOf(last["role"]) == "assistant" && x.provider.Prefix && last["prefix"] != true {
		return refuse("request", "message", "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
	}
	for _, name := range []string{"max_completion_tokens", "max_tokens"} {
		if x.provider.Bound == "" || x.provider.Bound == name {
			q.outputMax = max(q.outputMax, numberOf(m[name]))
		}
	}
	q.usage = objectOf(m["stream_options"])["include_usage"] == true || !x.provider.Chat.Asked
	return x.readChatTools()
}

// membersRefused refuses members that the provider or the model does not know.
func (x *exchange) membersRefused() *refusal {
	p, m := x.provider, x.members
	if name := unknownMember(m, p.Members); name != "" && p.Unknown == "refused" {
		return refuse("member", "member", name)
	}
	for _, name := range p.Refuses {
		if m[name] != nil && x.question.reasoning > 0 {
			return refuse("bound", "member", name)
		}
	}
	if tools, has := m["tools"].([]any); has && len(tools) == 0 {
		return refuse("request", "message",
			"Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	if m["tools"] == nil && (m["tool_choice"] != nil || m["parallel_tool_calls"] != nil) {
		return refuse("request", "message", "'tool_choice' is only allowed when 'tools' are specified.")
	}
	return nil
}

// readChatMessage reads one message.
func (x *exchange) readChatMessage(i int, m object) *refusal {
	role, q := textOf(m["role"]), &x.question
	switch role {
	case "system", "assistant":
	case "user":
		q.hear(role, "")
	case "tool":
		q.answered = true
	case "developer":
		if !x.provider.Developer {
			return x.roleRefused(i, role)
		}
	default:
		return x.roleRefused(i, role)
	}
	if text, isText := m["content"].(string); isText {
		q.hear(role, text)
	}
	if role == "tool" {
		q.answered = true
	}
	for _, v := range listOf(m["content"]) {
		part := objectOf(v)
		switch kind := textOf(part["type"]); kind {
		case "text":
			q.hear(role, textOf(part["text"]))
		case "image_url":
			address := textOf(objectOf(part["image_url"])["url"])
			if text, isText := part["image_url"].(string); isText && x.record.Provider == "mistral" {
				address = text
			}
			if address == "" {
				return refuse("request", "message", fmt.Sprintf("messages[%d]: image_url has no url", i))
			}
			if bad := x.imageAddress(address); bad != nil {
				return bad
			}
		case "thinking", "reference":
			if x.provider.Chat.Thoughts != "parts" {
				return refuse("request", "message", fmt.Sprintf("messages[%d]: unknown variant `%s`", i, kind))
			}
		default:
			return refuse("request", "message", fmt.Sprintf("messages[%d]: unknown variant `%s`, expected `text`", i, kind))
		}
	}
	return nil
}

// roleRefused is the refusal of a role, in the words of the provider when it has its own.
func (x *exchange) roleRefused(i int, role string) *refusal {
	if _, has := x.provider.Errors["role"]; has {
		return refuse("role", "index", strconv.Itoa(i), "role", role)
	}
	return refuse("request", "message", fmt.Sprintf("messages[%d]: unknown role %s", i, role))
}

// readChatTools reads the tools and the choice among them.
func (x *exchange) readChatTools() *refusal {
	q := &x.question
	for _, v := range listOf(x.members["tools"]) {
		f := objectOf(objectOf(v)["function"])
		if textOf(objectOf(v)["type"]) != "function" || textOf(f["name"]) == "" {
			return refuse("request", "message", "tools: a tool has no function")
		}
		q.tools = append(q.tools, textOf(f["name"]))
	}
	switch choice := x.members["tool_choice"].(type) {
	case string:
		if len(x.provider.Choices) > 0 && !slices.Contains(x.provider.Choices, choice) {
			return refuse("request", "message", "tool_choice: unknown word "+choice)
		}
		switch choice {
		case "none":
			q.tools = nil
		case "required", "any":
			q.forced = anyTool
		}
	case object:
		q.forced = textOf(objectOf(choice["function"])["name"])
	}
	return nil
}

// chatHead has the members of each chunk and of an answer in one piece.
func (x *exchange) chatHead(kind string) object {
	head := object{"id": "chatcmpl-" + x.id, "object": kind, "created": x.e.now().Unix(), "model": x.question.model}
	f := &x.provider.Chat
	if f.Provider != "" {
		head["provider"] = f.Provider
	}
	if f.Fingerprint {
		head["system_fingerprint"] = "fp_emulated"
	}
	return head
}

// chatUsage is the usage in the form of the provider.
func (x *exchange) chatUsage(u Usage) object {
	f := &x.provider.Chat
	prompt, completion := u.prompt(), u.Output
	if f.Outside == "cache" {
		prompt = u.Input
	}
	total := prompt + completion
	if f.Outside == "reasoning" {
		completion -= u.Reasoning
	}
	usage := object{"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
	if f.Times {
		usage["queue_time"], usage["prompt_time"], usage["completion_time"], usage["total_time"] = 0.19, 0.01, 0.009, 0.0197
		return usage
	}
	usage["prompt_tokens_details"] = object{"cached_tokens": u.CacheRead}
	if f.CacheHit {
		usage["prompt_cache_hit_tokens"], usage["prompt_cache_miss_tokens"] = u.CacheRead, u.Input
		return usage
	}
	if f.Thoughts == "parts" {
		return usage // Mistral does not say how many tokens of the answer are reasoning.
	}
	usage["completion_tokens_details"] = object{"reasoning_tokens": u.Reasoning}
	if f.Ticks {
		usage["num_sources_used"], usage["cost_in_usd_ticks"] = 0, 0
	}
	if f.Cost {
		usage["cost"], usage["is_byok"] = 0.00006, false
	}
	return usage
}

// chatThought adds reasoning to a message or a delta.
func (x *exchange) chatThought(into object, thought string) {
	switch f := &x.provider.Chat; f.Thoughts {
	case "reasoning", "reasoning_content":
		into[f.Thoughts] = thought
		if f.Details {
			into["reasoning_details"] = []any{object{"type": "reasoning.text", "text": thought, "format": "anthropic-claude-v1", "index": 0}}
		}
	case "parts":
		into["content"] = []any{thinkingPart(thought, true)}
	}
}

// thinkingPart is a part of content with reasoning, as Mistral has it.
func thinkingPart(thought string, closed bool) object {
	part := object{"type": "thinking", "thinking": []any{object{"type": "text", "text": thought}}}
	if closed {
		part["closed"] = true
	}
	return part
}

// chatCall is the call of a tool.
func (x *exchange) chatCall(a *answer) object {
	return object{"id": "call_" + x.id[4:13], "type": "function", "function": object{"name": a.tool, "arguments": a.arguments}}
}

// wholeChat is the answer in one piece.
func (x *exchange) wholeChat(a *answer) object {
	f := &x.provider.Chat
	message := object{"role": "assistant", "content": a.wholeText()}
	if a.tool != "" {
		message["content"] = nil
		if f.Times { // Groq leaves it out.
			delete(message, "content")
		}
		message["tool_calls"] = []any{x.chatCall(a)}
	}
	if len(a.thoughts) > 0 {
		x.chatThought(message, a.wholeThought())
		if parts := listOf(message["content"]); parts != nil && a.tool == "" {
			message["content"] = append(parts, object{"type": "text", "text": a.wholeText()})
		}
	}
	finish := a.finish("stop", "length", "tool_calls")
	choice := object{"index": 0, "message": message, "finish_reason": finish}
	if f.Native {
		choice["native_finish_reason"] = a.finish("end_turn", "max_tokens", "tool_use")
	}
	body := x.chatHead("chat.completion")
	body["choices"], body["usage"] = []any{choice}, x.chatUsage(a.usage)
	if f.Times {
		body["x_groq"] = object{"id": x.id}
	}
	if f.Filters {
		choice["content_filter_results"] = object{}
		body["prompt_filter_results"] = filterResults()
	}
	return body
}

// filterResults are what Azure says about the prompt.
func filterResults() []any {
	safe := object{"filtered": false, "severity": "safe"}
	results := object{"hate": safe, "self_harm": safe, "sexual": safe, "violence": safe}
	return []any{object{"prompt_index": 0, "content_filter_results": results}}
}

// chatStreamer sends the chunks of one answer.
type chatStreamer struct {
	x *exchange
	a *answer
}

// chunk makes a chunk with a delta. The reason is left out when it is empty.
func (s chatStreamer) chunk(delta object, finish string) object {
	c := s.x.chatHead("chat.completion.chunk")
	choice := object{"index": 0, "delta": delta, "finish_reason": nil}
	if s.x.provider.Chat.Ticks { // Grok leaves it out until the end.
		delete(choice, "finish_reason")
	}
	if s.x.provider.Chat.Native {
		choice["native_finish_reason"] = nil
	}
	if finish != "" {
		choice["finish_reason"] = finish
		if s.x.provider.Chat.Native {
			choice["native_finish_reason"] = s.a.finish("end_turn", "max_tokens", "tool_use")
		}
	}
	c["choices"] = []any{choice}
	return c
}

// streamChat sends the answer as chunks.
func (x *exchange) streamChat(a *answer) {
	s := chatStreamer{x, a}
	f := &x.provider.Chat
	if f.Filters {
		x.send("", object{"id": "", "object": "", "created": 0, "model": "", "choices": []any{}, "prompt_filter_results": filterResults()})
	}
	first := s.chunk(object{"role": "assistant", "content": ""}, "")
	if f.Times {
		first["x_groq"] = object{"id": x.id}
	}
	x.send("", first)
	for i, piece := range a.thoughts {
		delta := object{}
		x.chatThought(delta, piece)
		if f.Thoughts == "parts" {
			delta["content"] = []any{thinkingPart(piece, i == len(a.thoughts)-1)}
		}
		if len(delta) > 0 {
			x.send("", s.chunk(delta, ""))
		}
	}
	for _, piece := range a.text {
		x.sendContent("", s.chunk(object{"content": piece}, ""))
	}
	s.sendCall()
	s.sendEnd()
}

// sendCall sends the call of a tool: in one chunk, or in pieces where the provider does that.
func (s chatStreamer) sendCall() {
	if s.a.tool == "" {
		return
	}
	call := s.x.chatCall(s.a)
	if !s.x.provider.Developer { // Providers of open models send it whole. Mistral sends neither an index nor a type.
		call["index"] = 0
		if s.x.provider.Chat.Thoughts == "parts" {
			delete(call, "index")
			delete(call, "type")
		}
		s.x.sendContent("", s.chunk(object{"tool_calls": []any{call}}, ""))
		return
	}
	call["index"] = 0
	objectOf(call["function"])["arguments"] = ""
	s.x.sendContent("", s.chunk(object{"tool_calls": []any{call}}, ""))
	for i := 0; i < len(s.a.arguments); i += 6 {
		piece := s.a.arguments[i:min(i+6, len(s.a.arguments))]
		s.x.send("", s.chunk(object{"tool_calls": []any{object{"index": 0, "function": object{"arguments": piece}}}}, ""))
	}
}

// sendEnd sends the reason and the usage, where the provider has them.
func (s chatStreamer) sendEnd() {
	x, usage := s.x, s.x.chatUsage(s.a.usage)
	last := s.chunk(object{}, s.a.finish("stop", "length", "tool_calls"))
	asked := objectOf(x.members["stream_options"])["include_usage"] == true
	own := x.chatHead("chat.completion.chunk")
	own["choices"], own["usage"] = []any{}, usage
	switch x.provider.Chat.Usage {
	case "finish":
		last["usage"] = usage
		x.send("", last)
	case "finish_asked":
		if asked {
			last["usage"] = usage
		}
		x.send("", last)
	case "finish_group":
		last["x_groq"] = object{"id": x.id, "usage": usage}
		if asked {
			last["usage"] = usage
		}
		x.send("", last)
		if asked {
			x.send("", own)
		}
	case "repeated":
		x.send("", last)
		again := s.chunk(object{"role": "assistant", "content": ""}, s.a.finish("stop", "length", "tool_calls"))
		again["usage"] = usage
		x.send("", again)
	default:
		x.send("", last)
		if x.question.usage {
			x.send("", own)
		}
	}
	x.sendDone()
}
