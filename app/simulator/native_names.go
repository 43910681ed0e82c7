package simulator

import (
	"bytes"
	"encoding/json"
)

// nativeNames are the members of a native request that may also come in snake case, as the JSON form of protocol
// buffers allows.
var nativeNames = map[string]string{
	"system_instruction":       "systemInstruction",
	"generation_config":        "generationConfig",
	"tool_config":              "toolConfig",
	"function_declarations":    "functionDeclarations",
	"function_calling_config":  "functionCallingConfig",
	"allowed_function_names":   "allowedFunctionNames",
	"parameters_json_schema":   "parametersJsonSchema",
	"inline_data":              "inlineData",
	"file_data":                "fileData",
	"mime_type":                "mimeType",
	"file_uri":                 "fileUri",
	"function_call":            "functionCall",
	"thought_signature":        "thoughtSignature",
	"function_response":        "functionResponse",
	"max_output_tokens":        "maxOutputTokens",
	"stop_sequences":           "stopSequences",
	"candidate_count":          "candidateCount",
	"response_mime_type":       "responseMimeType",
	"response_schema":          "responseSchema",
	"response_json_schema":     "responseJsonSchema",
	"thinking_config":          "thinkingConfig",
	"include_thoughts":         "includeThoughts",
	"thinking_budget":          "thinkingBudget",
	"thinking_level":           "thinkingLevel",
	"generate_content_request": "generateContentRequest",
}

// nativeOpaque are the members whose own members are the caller's, and keep their names.
var nativeOpaque = map[string]bool{
	"args": true, "response": true, "parameters": true, "parametersJsonSchema": true,
	"responseSchema": true, "responseJsonSchema": true,
}

// camelCase renames the members that came in snake case. A body without any is returned as it is.
func camelCase(body []byte) []byte {
	found := false
	for name := range nativeNames {
		if bytes.Contains(body, []byte(`"`+name+`"`)) {
			found = true
			break
		}
	}
	var v any
	if !found || json.Unmarshal(body, &v) != nil {
		return body
	}
	rename(v)
	renamed, err := json.Marshal(v)
	if err != nil {
		return body
	}
	return renamed
}

func rename(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			rename(one)
		}
	case map[string]any:
		for name, member := range v {
			if camel, ok := nativeNames[name]; ok {
				delete(v, name)
				v[camel] = member
				name = camel
			}
			if !nativeOpaque[name] {
				rename(member)
			}
		}
	}
}
