package native

import (
	"bytes"
	"cmp"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

var errNotNumber = errors.New("it must be a number")

// camels has the camel case of the members that a request may also spell with underscores, which are all that llm.Request can hold. A
// member that is dropped keeps the spelling of the client, under which the client finds it in the list.
var camels = map[string]string{
	"system_instruction":      "systemInstruction",
	"tool_config":             "toolConfig",
	"generation_config":       "generationConfig",
	"cached_content":          "cachedContent",
	"continuation_token":      "continuationToken",
	"thought_signature":       "thoughtSignature",
	"inline_data":             "inlineData",
	"file_data":               "fileData",
	"function_call":           "functionCall",
	"function_response":       "functionResponse",
	"executable_code":         "executableCode",
	"code_execution_result":   "codeExecutionResult",
	"mime_type":               "mimeType",
	"file_uri":                "fileUri",
	"display_name":            "displayName",
	"partial_args":            "partialArgs",
	"will_continue":           "willContinue",
	"function_declarations":   "functionDeclarations",
	"parameters_json_schema":  "parametersJsonSchema",
	"function_calling_config": "functionCallingConfig",
	"allowed_function_names":  "allowedFunctionNames",
	"top_p":                   "topP",
	"top_k":                   "topK",
	"presence_penalty":        "presencePenalty",
	"frequency_penalty":       "frequencyPenalty",
	"max_output_tokens":       "maxOutputTokens",
	"candidate_count":         "candidateCount",
	"stop_sequences":          "stopSequences",
	"response_logprobs":       "responseLogprobs",
	"response_mime_type":      "responseMimeType",
	"response_schema":         "responseSchema",
	"response_json_schema":    "responseJsonSchema",
	"response_format":         "responseFormat",
	"response_modalities":     "responseModalities",
	"thinking_config":         "thinkingConfig",
	"include_thoughts":        "includeThoughts",
	"thinking_budget":         "thinkingBudget",
	"thinking_level":          "thinkingLevel",

	// These are members of schemas, which are read separately.
	"any_of":                "anyOf",
	"min_items":             "minItems",
	"max_items":             "maxItems",
	"min_length":            "minLength",
	"max_length":            "maxLength",
	"min_properties":        "minProperties",
	"max_properties":        "maxProperties",
	"property_ordering":     "propertyOrdering",
	"additional_properties": "additionalProperties",
}

// objectMembers are the members whose values have members of this style. In all others the names are the client's own.
var objectMembers = map[string]bool{
	"contents": true, "parts": true, "systemInstruction": true, "tools": true, "functionDeclarations": true, "toolConfig": true,
	"functionCallingConfig": true, "generationConfig": true, "thinkingConfig": true, "inlineData": true, "fileData": true,
	"functionCall": true, "functionResponse": true, "executableCode": true, "codeExecutionResult": true,
}

// spelling finds the members of a body whose names have underscores.
type spelling struct {
	dec   *jsontext.Decoder
	edits []nameEdit
}

type nameEdit struct {
	from, to  int64
	name, own string
}

// camelCase returns the body with the names in camel case. Snake has the client's spelling of each changed name. When a member is there in
// both spellings, the decoder refuses the duplicate name.
func camelCase(body []byte) (camel []byte, snake map[string]string, err error) {
	s := spelling{dec: jsontext.NewDecoder(bytes.NewBuffer(body))}
	if err := s.value(true); err != nil {
		return nil, nil, err
	}
	if len(s.edits) == 0 {
		return body, nil, nil
	}
	snake = map[string]string{}
	out := make([]byte, 0, len(body))
	from := int64(0)
	for _, e := range s.edits {
		snake[e.name] = e.own
		out = append(out, body[from:e.from]...)
		out = llm.Quote(out, e.name)
		from = e.to
	}
	return append(out, body[from:]...), snake, nil
}

// value reads one value, and the names inside of it when it is open.
func (s *spelling) value(open bool) error {
	kind := s.dec.PeekKind()
	if !open || kind != '{' && kind != '[' {
		return s.dec.SkipValue()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for {
		next := s.dec.PeekKind()
		if next == '}' || next == ']' {
			_, err := s.dec.ReadToken()
			return err
		}
		if kind == '{' {
			var err error
			if open, err = s.name(); err != nil {
				return err
			}
		}
		if err := s.value(open); err != nil {
			return err
		}
	}
}

// name reads the name of a member and reports whether its value is open.
func (s *spelling) name() (bool, error) {
	raw, err := s.dec.ReadValue()
	if err != nil {
		return false, err
	}
	name := unquote(raw)
	if camel, ok := camels[name]; ok {
		to := s.dec.InputOffset()
		s.edits = append(s.edits, nameEdit{from: to - int64(len(raw)), to: to, name: camel, own: name})
		name = camel
	}
	return objectMembers[name], nil
}

func unquote(raw jsontext.Value) string {
	if len(raw) >= 2 && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	// The decoder has checked the string, so this cannot fail.
	b, _ := jsontext.AppendUnquote(nil, raw)
	return string(b)
}

// refuseJSON returns the error for a body that cannot be parsed.
func refuseJSON(err error) *app.Error {
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		where := cmp.Or(llm.PointerPath("", syntax.JSONPointer), "The body")
		return app.Errorf(app.Invalid, "invalid_request_error",
			"%s appears twice, perhaps once in each spelling; send it once.", where).At(where).Because(err)
	case errors.As(err, &meaning):
		where := cmp.Or(llm.PointerPath("", meaning.JSONPointer), "The body")
		return app.Errorf(app.Invalid, "invalid_request_error", "%s has a value of the wrong type.", where).At(where).Because(err)
	}
	return app.Errorf(app.Invalid, "invalid_json", "The body must be one JSON object.").Because(err)
}
