package simulator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// nativeStyle is POST /v1beta/models/{model}:generateContent and :streamGenerateContent.
var nativeStyle = style{
	name:     "native",
	idHeader: "X-Request-Id",
	decode:   decodeNative,
	body:     nativeBody,
	stream:   nativeStream,
	fail:     nativeError,
	failLate: func(o *stream, x *exchange, e failure) {
		nativeError(o.open(""), x, e)
		o.close(lifecycle)
	},
	signed: "CiQB", forged: "Thought signature is not valid.",
	// Tool calls end like any other answer.
	endings: [...]string{endNatural: "STOP", endStop: "STOP", endLength: "MAX_TOKENS", endCalls: "STOP", endFilter: "SAFETY"},
	tokens: func(b *buffer, x *exchange) {
		n := x.prompt.input
		b.raw(`{"totalTokens":`).num(n).raw(`,"promptTokensDetails":[{"modality":"TEXT","tokenCount":`).num(n).raw(`}]}`)
	},
}

// nativeChoicesMax is the largest candidateCount.
const nativeChoicesMax = 8

// nativeMethod matches /v1beta/models/{model}:method and the same below /v1. A model may contain colons.
func nativeMethod(method string) func(string) (string, bool) {
	return func(path string) (string, bool) {
		rest, ok := strings.CutPrefix(path, "/v1beta/models/")
		if !ok {
			if rest, ok = strings.CutPrefix(path, "/v1/models/"); !ok {
				return "", false
			}
		}
		model, ok := strings.CutSuffix(rest, ":"+method)
		return model, ok
	}
}

type nativeRequest struct {
	Contents          []nativeContent `json:"contents"`
	SystemInstruction *nativeContent  `json:"systemInstruction"`
	GenerateContent   *nativeRequest  `json:"generateContentRequest"` // The counting route accepts a whole request here.
	Tools             []struct {
		Functions []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	ToolConfig struct {
		Calling struct {
			Mode    string   `json:"mode"`
			Allowed []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Config struct {
		MaxOutputTokens    *int64          `json:"maxOutputTokens"`
		StopSequences      texts           `json:"stopSequences"`
		CandidateCount     *int64          `json:"candidateCount"`
		ResponseMIMEType   string          `json:"responseMimeType"`
		ResponseSchema     json.RawMessage `json:"responseSchema"`
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
		Thinking           *struct {
			Include bool   `json:"includeThoughts"`
			Budget  *int64 `json:"thinkingBudget"`
			Level   string `json:"thinkingLevel"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type nativeContent struct {
	Role  string       `json:"role"`
	Parts []nativePart `json:"parts"`
}

type nativePart struct {
	Text       string `json:"text"`
	Thought    bool   `json:"thought"`
	Signature  string `json:"thoughtSignature"`
	InlineData *struct {
		MIMEType string `json:"mimeType"`
		Data     string `json:"data"`
	} `json:"inlineData"`
	FileData *struct {
		MIMEType string `json:"mimeType"`
		URI      string `json:"fileUri"`
	} `json:"fileData"`
	Call *struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

func decodeNative(x *exchange) (*prompt, *failure) {
	var r nativeRequest
	if err := json.Unmarshal(camelCase(x.body), &r); err != nil {
		return nil, notJSON(err)
	}
	if r.GenerateContent != nil {
		r = *r.GenerateContent
	}
	switch {
	case x.tail == "":
		return nil, missing("model")
	case len(r.Contents) == 0:
		return nil, badRequest("contents", "* GenerateContentRequest.contents: contents is not specified")
	}
	p := newPrompt(strings.ToValidUTF8(x.tail, "\ufffd"))
	if r.SystemInstruction != nil {
		p.addSystem(r.SystemInstruction.text())
	}
	for i := range r.Contents {
		if bad := r.Contents[i].addTo(p); bad != nil {
			return nil, bad
		}
	}
	for _, t := range r.Tools {
		for _, f := range t.Functions {
			schema := f.Parameters
			if len(schema) == 0 {
				schema = f.JSONSchema
			}
			p.addTool(f.Name, f.Description, schema)
		}
	}
	p.stream = strings.HasSuffix(x.r.URL.Path, ":streamGenerateContent")
	p.array = p.stream && x.r.URL.Query().Get("alt") != "sse"
	r.configure(p)
	if p.choices > nativeChoicesMax {
		return nil, badRequest("generationConfig.candidateCount", "candidateCount must be from 1 to 8.")
	}
	return p, nil
}

// configure takes what is not conversation.
func (r *nativeRequest) configure(p *prompt) {
	c := &r.Config
	p.limitTo(c.MaxOutputTokens)
	p.stops = c.StopSequences
	if c.CandidateCount != nil {
		p.choices = *c.CandidateCount
	}
	if strings.HasPrefix(c.ResponseMIMEType, "application/json") {
		p.format, p.schema = "object", c.ResponseSchema
		if len(p.schema) == 0 {
			p.schema = c.ResponseJSONSchema
		}
		if len(p.schema) > 0 {
			p.format = "schema"
		}
	}
	switch calling := r.ToolConfig.Calling; calling.Mode {
	case "ANY":
		p.choice.mode = "required"
		if len(calling.Allowed) == 1 {
			p.choice.name = calling.Allowed[0]
		}
	case "NONE":
		p.choice.mode = "none"
	}
	if t := c.Thinking; t != nil {
		p.showThoughts = t.Include
		p.thinking = thinkingOn
		if t.Budget != nil && *t.Budget == 0 {
			p.thinking = thinkingOff
		}
	}
}

func (c *nativeContent) text() string {
	var text strings.Builder
	for _, part := range c.Parts {
		if !part.Thought {
			text.WriteString(part.Text)
		}
	}
	return text.String()
}

func (c *nativeContent) addTo(p *prompt) *failure {
	switch c.Role {
	case "model":
		p.turn(c.Role)
		p.addAssistant(c.text())
		called := false
		for _, part := range c.Parts {
			if part.Signature != "" && part.Signature != signatureDummy {
				p.addSignature(part.Signature)
			}
			if part.Call != nil {
				p.unsigned = p.unsigned || !called && part.Signature == ""
				called = true
				p.addCall(part.Call.Name, part.Call.Name, compact(part.Call.Args))
			}
		}
		return nil
	case "", "user", "function":
	default:
		return badRequest("contents", "Please use a valid role: user, model.")
	}
	p.turn("user")
	for _, part := range c.Parts {
		switch {
		case part.Response != nil:
			if !p.addResult(part.Response.Name, resultText(part.Response.Response)) {
				return badRequest("contents", "Please ensure that function response turn comes immediately after a function call turn.")
			}
		case part.InlineData != nil:
			p.addMedia(media{kind: kindOf(part.InlineData.MIMEType), mime: part.InlineData.MIMEType, bytes: base64Bytes(part.InlineData.Data)})
		case part.FileData != nil:
			p.addMedia(media{kind: kindOf(part.FileData.MIMEType), from: shorten(part.FileData.URI, 60)})
		}
	}
	p.addUser(c.text())
	return nil
}

// resultText is what a function gave: the value of its only member when that is a text, else the whole object.
func resultText(raw json.RawMessage) string {
	var members map[string]any
	if json.Unmarshal(raw, &members) == nil && len(members) == 1 {
		for _, v := range members {
			if text, ok := v.(string); ok {
				return text
			}
		}
	}
	return compact(raw)
}

func kindOf(mime string) string {
	switch family, _, _ := strings.Cut(mime, "/"); family {
	case "image", "audio":
		return family
	}
	return "file"
}

func nativeError(b *buffer, _ *exchange, e failure) {
	w := e.words()
	status := e.status
	if status == 529 {
		status = http.StatusServiceUnavailable
	}
	b.raw(`{"error":{"code":`).num(int64(status)).raw(`,"message":`).str(w.text).raw(`,"status":`).str(w.native).raw(`}}`)
}

// nativeUsage writes the usage; thoughts are counted apart from the candidates.
func nativeUsage(b *buffer, x *exchange, u usage) {
	f := x.fault
	u = f.claimed(u)
	f.count(b, `"usageMetadata":{"promptTokenCount":`, u.input)
	if n := u.output - u.reasoning; n != 0 {
		f.count(b, `,"candidatesTokenCount":`, n)
	}
	if u.reasoning > 0 {
		f.count(b, `,"thoughtsTokenCount":`, u.reasoning)
	}
	if u.cacheRead > 0 {
		f.count(b, `,"cachedContentTokenCount":`, u.cacheRead)
	}
	f.count(b, `,"totalTokenCount":`, u.input+u.output)
	b.raw(`}`)
}

func nativeCall(b *buffer, x *exchange, i int) {
	c := x.answer.calls[i]
	b.raw(`{"functionCall":{"id":`).str(x.mint("call_")).raw(`,"name":`).str(c.name).raw(`,"args":`).raw(c.arguments).raw("}")
	if i == 0 {
		b.raw(`,"thoughtSignature":`).str(x.signature())
	}
	b.raw("}")
}

func nativeBody(b *buffer, x *exchange) {
	a, f := x.answer, x.fault
	b.raw("{")
	if a.blocked {
		b.raw(`"promptFeedback":{"blockReason":"SAFETY"}`)
	} else {
		b.raw(`"candidates":`).list(int(x.prompt.choices), func(i int) {
			b.raw(`{"content":{"parts":[`)
			if thoughts := x.thoughts(); thoughts != "" {
				b.next().raw(`{"text":`).str(thoughts).raw(`,"thought":true}`)
			}
			if a.text != "" || len(a.calls) == 0 {
				b.next().raw(`{"text":`).str(a.text).raw("}")
			}
			for i := range a.calls {
				nativeCall(b.next(), x, i)
			}
			b.raw(`],"role":"model"},"finishReason":"`).raw(x.ending()).raw(`","index":`).num(int64(i)).raw("}")
		})
	}
	switch f.usage {
	case "none":
	case "twice":
		nativeUsage(b.raw(","), x, a.usage.half())
		fallthrough
	default:
		nativeUsage(b.raw(","), x, a.usage)
	}
	b.raw(`,"modelVersion":`).str(x.prompt.model).raw(`,"responseId":`).str(x.mint("")).raw("}")
}

// nativeChunks writes the chunks of one native stream, each a fragment of the whole response.
type nativeChunks struct {
	*stream
	tail   string
	told   usage
	spoken bool
}

func nativeStream(o *stream, x *exchange) {
	var tail buffer
	tail.raw(`,"modelVersion":`).str(x.prompt.model).raw(`,"responseId":`).str(x.mint("")).raw("}")
	n := &nativeChunks{stream: o, tail: string(tail.b), told: usage{input: x.answer.usage.input}}
	if x.answer.blocked {
		n.open("").raw(`{"promptFeedback":{"blockReason":"SAFETY"}`)
		n.done(lifecycle, "SAFETY")
		return
	}
	for i := range x.prompt.choices {
		n.candidate(i)
	}
}

func (n *nativeChunks) candidate(index int64) {
	x, a := n.x, n.x.answer
	for piece := range pieces(x.thoughts()) {
		n.begin().raw(`{"text":`).str(piece).raw(`,"thought":true}`)
		n.finish(index, token, "")
	}
	for piece := range a.textPieces() {
		if n.over {
			return
		}
		n.begin().raw(`{"text":`).str(piece).raw("}")
		n.finish(index, token, "")
	}
	for i := range a.calls {
		nativeCall(n.begin(), x, i)
		n.finish(index, token, "")
	}
	n.begin().raw(`{"text":""}`)
	n.finish(index, marker, x.ending())
}

func (n *nativeChunks) begin() *buffer { return n.open("").raw(`{"candidates":[{"content":{"parts":[`) }

func (n *nativeChunks) finish(index int64, kind frameKind, reason string) {
	n.raw(`],"role":"model"},"index":`).num(index)
	if reason != "" {
		n.raw(`,"finishReason":"`).raw(reason).raw(`"`)
	}
	n.raw("}]")
	n.done(kind, reason)
}

// done ends a chunk. The first one counts the prompt, and the last one everything.
func (n *nativeChunks) done(kind frameKind, reason string) {
	if kind == token {
		n.told.output++
	}
	mode, u := n.x.fault.usage, n.x.answer.usage
	switch {
	case mode == "none", mode == "first" && n.spoken:
	case mode == "first", mode != "twice" && reason != "":
		nativeUsage(n.raw(","), n.x, u)
	case mode == "every":
		nativeUsage(n.raw(","), n.x, n.told)
	case mode == "twice":
		if reason != "" {
			nativeUsage(n.raw(","), n.x, u)
		} else {
			nativeUsage(n.raw(","), n.x, u.half())
		}
	case !n.spoken:
		nativeUsage(n.raw(","), n.x, usage{input: u.input, cacheRead: u.cacheRead})
	}
	n.spoken = true
	n.raw(n.tail)
	n.close(kind)
}

// nativeNames are the members of a native request that may also come in snake case, as the JSON form of protocol buffers allows.
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
