package emulator

import (
	"encoding/json"
	"strings"
)

// nativeMembers are the members of a request of the native wire. Only Vertex knows labels.
var nativeMembers = []string{"contents", "systemInstruction", "generationConfig", "tools", "toolConfig", "safetySettings", "cachedContent"}

// readNative reads a request of the native wire.
func (x *exchange) readNative() *refusal {
	m, q := x.members, &x.question
	known := nativeMembers
	if x.record.Provider == "vertex" {
		known = append([]string{"labels"}, known...)
	}
	switch name := unknownMember(m, known); {
	case name != "":
		return refuse("request", "message", "Invalid JSON payload received. Unknown name \""+name+"\": Cannot find field.")
	case !strings.HasPrefix(q.model, "gemini-"):
		return refuse("model")
	case len(listOf(m["contents"])) == 0:
		return refuse("request", "message", "* GenerateContentRequest.contents: contents is not specified\n")
	}
	for _, v := range listOf(objectOf(m["systemInstruction"])["parts"]) {
		q.hear("system", textOf(objectOf(v)["text"]))
	}
	for _, v := range listOf(m["contents"]) {
		if bad := x.readContent(objectOf(v)); bad != nil {
			return bad
		}
	}
	q.outputMax = numberOf(objectOf(m["generationConfig"])["maxOutputTokens"])
	for _, v := range listOf(m["tools"]) {
		for _, f := range listOf(objectOf(v)["functionDeclarations"]) {
			q.tools = append(q.tools, textOf(objectOf(f)["name"]))
		}
	}
	config := objectOf(objectOf(m["toolConfig"])["functionCallingConfig"])
	switch textOf(config["mode"]) {
	case "ANY":
		q.forced = anyTool
		if allowed := listOf(config["allowedFunctionNames"]); len(allowed) > 0 {
			q.forced = textOf(allowed[0])
		}
	case "NONE":
		q.tools = nil
	}
	return nil
}

// readContent reads one turn.
func (x *exchange) readContent(content object) *refusal {
	role := textOf(content["role"])
	if role == "" && x.record.Provider == "gemini" {
		role = "user"
	}
	if role != "user" && role != "model" && role != "function" {
		return refuse("request", "message", "Please use a valid role: user, model.")
	}
	for _, v := range listOf(content["parts"]) {
		part := objectOf(v)
		switch data := objectOf(part["inlineData"]); {
		case part["functionResponse"] != nil:
			x.question.answered = true
		case part["functionCall"] != nil:
		case data != nil:
			if !strings.HasPrefix(textOf(data["mimeType"]), "image/") || textOf(data["data"]) == "" {
				return refuse("request", "message", "Unable to process input image. Please retry or report in the developer forum.")
			}
			if bad := x.image("data"); bad != nil {
				return bad
			}
		case part["fileData"] != nil:
			if bad := x.image("url"); bad != nil {
				return bad
			}
		default:
			x.question.hear(role, textOf(part["text"]))
		}
	}
	return nil
}

// nativeBody is an answer, or a piece of one, with parts. The reason and the usage are in the last piece.
func (x *exchange) nativeBody(a *answer, parts []any, isLast bool) object {
	candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	u := &a.usage
	usage := object{
		"promptTokenCount": u.prompt(), "totalTokenCount": u.prompt() + u.Output, "candidatesTokenCount": u.Output - u.Reasoning,
		"promptTokensDetails": []any{object{"modality": "TEXT", "tokenCount": u.prompt()}},
	}
	if u.CacheRead > 0 {
		usage["cachedContentTokenCount"] = u.CacheRead
	}
	if u.Reasoning > 0 {
		usage["thoughtsTokenCount"] = u.Reasoning
	}
	if x.record.Provider == "vertex" {
		usage["trafficType"] = "ON_DEMAND"
	} else {
		usage["serviceTier"] = "standard"
	}
	body := object{"candidates": []any{candidate}, "modelVersion": x.question.model, "responseId": x.id, "usageMetadata": usage}
	if isLast {
		candidate["finishReason"] = a.finish("STOP", "MAX_TOKENS", "STOP")
	}
	return body
}

// nativeThoughts are the parts with reasoning, which is shown when the request asks for it.
func (x *exchange) nativeThoughts(a *answer) []any {
	config := objectOf(objectOf(x.members["generationConfig"])["thinkingConfig"])
	if config["includeThoughts"] != true || len(a.thoughts) == 0 {
		return nil
	}
	return []any{object{"text": a.wholeThought(), "thought": true}}
}

// nativeCall is the part with the call of a tool.
func (x *exchange) nativeCall(a *answer) object {
	return object{
		"functionCall": object{"name": a.tool, "args": json.RawMessage(a.arguments)}, "thoughtSignature": "ZW11bGF0ZWQgc2lnbmF0dXJl",
	}
}

// wholeNative is the answer in one piece.
func (x *exchange) wholeNative(a *answer) object {
	parts := x.nativeThoughts(a)
	if a.tool != "" {
		parts = append(parts, x.nativeCall(a))
	} else {
		parts = append(parts, object{"text": a.wholeText()})
	}
	return x.nativeBody(a, parts, true)
}

// streamNative sends the answer in pieces.
func (x *exchange) streamNative(a *answer) {
	if thoughts := x.nativeThoughts(a); thoughts != nil {
		x.send("", x.nativeBody(a, thoughts, false))
	}
	if a.tool != "" {
		x.sendContent("", x.nativeBody(a, []any{x.nativeCall(a)}, false))
		x.send("", x.nativeBody(a, []any{object{"text": ""}}, true))
		return
	}
	for i, piece := range a.text {
		x.sendContent("", x.nativeBody(a, []any{object{"text": piece}}, i == len(a.text)-1))
	}
}
