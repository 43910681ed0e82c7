package protocols

import (
	"encoding/json"
)

func responsesQuestion(q *question) any {
	var items []any
	for _, t := range q.turns {
		items = append(items, responsesItems(t)...)
	}
	body := members{"model": q.model, "input": items}
	if q.system != "" {
		body["instructions"] = q.system
	}
	if q.tools {
		body["tools"] = tooled(func(name, description string, schema json.RawMessage) any {
			return members{"type": "function", "name": name, "description": description, "parameters": schema, "strict": false}
		})
	}
	if q.thinks {
		body["reasoning"] = members{"effort": "low", "summary": "auto"}
		body["include"] = []string{"reasoning.encrypted_content"}
	}
	if q.schema != "" {
		body["text"] = members{"format": members{"type": "json_schema", "name": "place", "schema": exactly(q.schema), "strict": true}}
	}
	if q.limit > 0 {
		body["max_output_tokens"] = q.limit
	}
	if q.samples {
		body["temperature"], body["top_p"] = exactly("0.25"), exactly("0.5")
		body["safety_identifier"], body["metadata"] = "customer-42", members{"trace": "t-1"}
	}
	if q.stream {
		body["stream"] = true
	}
	return body
}

func responsesItems(t turn) []any {
	var items []any
	switch {
	case t.said != nil:
		for _, p := range t.said.parts {
			switch p.kind {
			case "thought":
				summary := []any{}
				if p.text != "" {
					summary = append(summary, members{"type": "summary_text", "text": p.text})
				}
				items = append(items, members{"type": "reasoning", "id": p.id, "summary": summary, "encrypted_content": p.signature})
			case "text":
				items = append(items, members{"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
					"content": []any{members{"type": "output_text", "text": p.text, "annotations": []any{}, "logprobs": []any{}}}})
			default:
				items = append(items, members{"type": "function_call", "call_id": p.id, "name": p.name, "arguments": p.arguments})
			}
		}
	case t.results != nil:
		for _, r := range t.results {
			items = append(items, members{"type": "function_call_output", "call_id": r.id, "output": r.text})
		}
	case t.image != "":
		items = append(items, members{"role": "user", "content": []any{members{"type": "input_text", "text": t.text},
			members{"type": "input_image", "image_url": t.image, "detail": "auto"}}})
	default:
		items = append(items, members{"role": "user", "content": t.text})
	}
	return items
}

func nativeQuestion(q *question) any {
	contents := make([]any, 0, len(q.turns))
	for _, t := range q.turns {
		contents = append(contents, nativeContent(t))
	}
	config := members{}
	body := members{"model": q.model, "contents": contents}
	if q.system != "" {
		body["systemInstruction"] = members{"parts": []any{members{"text": q.system}}}
	}
	if q.tools {
		body["tools"] = []any{members{"functionDeclarations": tooled(func(name, description string, schema json.RawMessage) any {
			return members{"name": name, "description": description, "parametersJsonSchema": schema}
		})}}
	}
	if q.thinks {
		config["thinkingConfig"] = members{"includeThoughts": true, "thinkingBudget": 1024}
	}
	if q.schema != "" {
		config["responseMimeType"], config["responseJsonSchema"] = "application/json", exactly(q.schema)
	}
	if q.limit > 0 {
		config["maxOutputTokens"] = q.limit
	}
	if len(q.stops) > 0 {
		config["stopSequences"] = q.stops
	}
	if q.samples {
		config["temperature"], config["topP"], config["topK"], config["seed"] = exactly("0.25"), exactly("0.5"), 9, 7
		config["presencePenalty"], body["labels"] = exactly("0.125"), members{"trace": "t-1"}
	}
	if len(config) > 0 {
		body["generationConfig"] = config
	}
	if q.stream {
		body["stream"] = true
	}
	return body
}

func nativeContent(t turn) any {
	var parts []any
	role := "user"
	switch {
	case t.said != nil:
		role = "model"
		for _, p := range t.said.parts {
			one := members{}
			switch p.kind {
			case "thought":
				one["text"], one["thought"] = p.text, true
			case "text":
				one["text"] = p.text
			default:
				one["functionCall"] = members{"id": p.id, "name": p.name, "args": exactly(p.arguments)}
			}
			if p.signature != "" {
				one["thoughtSignature"] = p.signature
			}
			parts = append(parts, one)
		}
	case t.results != nil:
		for _, r := range t.results {
			parts = append(parts, members{"functionResponse": members{"id": r.id, "name": r.name, "response": members{"output": r.text}}})
		}
	case t.image != "":
		image := members{"fileData": members{"mimeType": "image/png", "fileUri": t.image}}
		if kind, data, ok := dataOf(t.image); ok {
			image = members{"inlineData": members{"mimeType": kind, "data": data}}
		}
		parts = []any{members{"text": t.text}, image}
	default:
		parts = []any{members{"text": t.text}}
	}
	return members{"role": role, "parts": parts}
}
