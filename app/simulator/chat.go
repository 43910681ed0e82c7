package simulator

import (
	"cmp"
	"encoding/json"
	"slices"
)

// chatStyle is POST /v1/chat/completions.
var chatStyle = style{
	name:     "chat",
	idHeader: "X-Request-Id",
	decode:   decodeChat,
	body:     chatBody,
	stream:   chatStream,
	fail:     func(b *buffer, _ *exchange, e failure) { openError(b, e) },
	signed:   "AVSo",
	forged:   "Thought signature is not valid.",
	endings:  [...]string{endNatural: "stop", endStop: "stop", endLength: "length", endCalls: "tool_calls", endFilter: "content_filter"},
	failLate: func(o *stream, _ *exchange, e failure) {
		openError(o.open(""), e)
		o.close(lifecycle)
	},
}

type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	Stream              bool          `json:"stream"`
	MaxTokens           *int64        `json:"max_tokens"`
	MaxCompletionTokens *int64        `json:"max_completion_tokens"`
	Stop                texts         `json:"stop"`
	N                   *int64        `json:"n"`
	ToolChoice          chatChoice    `json:"tool_choice"`
	ParallelToolCalls   *bool         `json:"parallel_tool_calls"`
	ReasoningEffort     *string       `json:"reasoning_effort"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
		Custom   chatFunction `json:"custom"`
	} `json:"tools"`
	ResponseFormat *struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    parts[chatPart] `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
		Extra struct {
			Google struct {
				Signature string `json:"thought_signature"`
			} `json:"google"`
		} `json:"extra_content"`
	} `json:"tool_calls"`
}

type chatPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
	InputAudio struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
	File struct {
		Data string `json:"file_data"`
		ID   string `json:"file_id"`
	} `json:"file"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chatChoice is tool_choice: a word, or an object that names a function.
type chatChoice toolChoice

// UnmarshalJSON reads either form.
func (c *chatChoice) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] != '{' {
		return json.Unmarshal(raw, &c.mode)
	}
	var object struct {
		Type     string `json:"type"`
		Name     string `json:"name"` // The responses style names the function here.
		Mode     string `json:"mode"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
		AllowedTools struct {
			Mode string `json:"mode"`
		} `json:"allowed_tools"`
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return err
	}
	c.mode, c.name = "required", object.Function.Name+object.Name
	if object.Type == "allowed_tools" {
		c.mode, c.name = object.AllowedTools.Mode+object.Mode, ""
	}
	return nil
}

// withDefault is the choice with its default.
func (c chatChoice) withDefault() toolChoice {
	if c.mode == "" {
		c.mode = "auto"
	}
	return toolChoice(c)
}

func decodeChat(x *exchange) (*prompt, *failure) {
	var r chatRequest
	if err := json.Unmarshal(x.body, &r); err != nil {
		return nil, notJSON(err)
	}
	switch {
	case r.Model == "":
		return nil, missing("model")
	case len(r.Messages) == 0:
		return nil, missing("messages")
	}
	p := newPrompt(r.Model)
	for _, m := range r.Messages {
		if bad := m.addTo(p); bad != nil {
			return nil, bad
		}
	}
	for _, t := range r.Tools {
		f := t.Function
		if t.Type == "custom" {
			f = t.Custom
		}
		p.addTool(f.Name, f.Description, f.Parameters)
	}
	p.stream = r.Stream
	p.includeUsage = r.StreamOptions != nil && r.StreamOptions.IncludeUsage
	p.limitTo(r.MaxCompletionTokens, r.MaxTokens)
	p.stops = r.Stop
	p.choice = r.ToolChoice.withDefault()
	p.parallel = r.ParallelToolCalls == nil || *r.ParallelToolCalls
	if r.N != nil {
		p.choices = *r.N
	}
	p.thinkAs(r.ReasoningEffort)
	p.showThoughts = true
	if r.ResponseFormat != nil {
		p.formatAs(r.ResponseFormat.Type, r.ResponseFormat.JSONSchema.Schema)
	}
	return p, nil
}

func (m *chatMessage) addTo(p *prompt) *failure {
	switch m.Role {
	case "system", "developer":
		p.addSystem(m.text())
	case "user":
		p.turn(m.Role)
		p.addUser(m.text())
		for _, part := range m.Content.list {
			switch part.Type {
			case "image_url":
				p.addMedia(attachment("image", part.ImageURL.URL))
			case "input_audio":
				p.addMedia(media{kind: "audio", mime: "audio/" + part.InputAudio.Format, bytes: base64Bytes(part.InputAudio.Data)})
			case "file":
				p.addMedia(attachment("file", part.File.Data+part.File.ID))
			}
		}
	case "assistant":
		p.turn(m.Role)
		p.addAssistant(m.text())
		for _, c := range m.ToolCalls {
			p.addCall(c.ID, c.Function.Name, c.Function.Arguments)
			if signature := c.Extra.Google.Signature; signature != "" {
				p.addSignature(signature)
			}
		}
	case "tool", "function":
		p.turn(m.Role)
		if !p.addResult(m.ToolCallID, m.text()) && m.Role == "tool" {
			return badRequest("messages", "A message with role 'tool' must answer a tool call of a message before it.")
		}
	default:
		return badRequest("messages", "Unknown role '"+m.Role+"'.")
	}
	return nil
}

func (m *chatMessage) text() string {
	return m.Content.join(func(p *chatPart) string { return p.Text })
}

// limitTo takes the first limit that is given.
func (p *prompt) limitTo(limits ...*int64) {
	for _, limit := range limits {
		if limit != nil {
			p.limit = max(*limit, 0)
			return
		}
	}
}

// thinkAs takes the words for reasoning effort.
func (p *prompt) thinkAs(effort *string) {
	switch {
	case effort == nil || *effort == "":
	case *effort == "none":
		p.thinking = thinkingOff
	default:
		p.thinking = thinkingOn
	}
}

// formatAs takes the words for the format of the answer.
func (p *prompt) formatAs(kind string, schema json.RawMessage) {
	switch kind {
	case "json_object":
		p.format = "object"
	case "json_schema":
		p.format, p.schema = "schema", slices.Clone(schema)
	}
}

func notJSON(err error) *failure {
	return &failure{status: 400, code: "invalid_json", message: "We could not parse the JSON body of your request: " + err.Error()}
}

// ending is why the answer ends, in the words of the style, unless a fault says another word.
func (x *exchange) ending() string { return cmp.Or(x.answer.word, x.style.endings[x.answer.end]) }

func chatUsage(b *buffer, x *exchange, u usage) {
	f := x.fault
	u = f.claimed(u)
	f.count(b, `"usage":{"prompt_tokens":`, u.input)
	f.count(b, `,"completion_tokens":`, u.output)
	f.count(b, `,"total_tokens":`, u.input+u.output)
	f.count(b, `,"prompt_tokens_details":{"cached_tokens":`, u.cacheRead)
	f.count(b, `,"cache_write_tokens":`, u.cacheWrite)
	f.count(b, `,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":`, u.reasoning)
	b.raw(`,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`)
}

func chatBody(b *buffer, x *exchange) {
	a := x.answer
	b.raw(`{"id":`).str(x.mint("chatcmpl-")).raw(`,"object":"chat.completion","created":`).num(x.created)
	b.raw(`,"model":`).str(x.prompt.model).raw(`,"choices":`)
	b.list(int(x.prompt.choices), func(i int) {
		b.raw(`{"index":`).num(int64(i)).raw(`,"message":{"role":"assistant","content":`)
		if a.text == "" && len(a.calls) > 0 {
			b.raw("null")
		} else {
			b.str(a.text)
		}
		b.raw(`,"refusal":null`)
		if a.reasoning != "" {
			b.raw(`,"reasoning_content":`).str(a.reasoning)
		}
		if len(a.calls) > 0 {
			b.raw(`,"tool_calls":`).list(len(a.calls), func(i int) {
				b.raw(`{"id":`).str(x.mint("call_")).raw(`,"type":"function","function":{"name":`).str(a.calls[i].name)
				b.raw(`,"arguments":`).str(a.calls[i].arguments).raw(`}`)
				x.signCall(b, i)
				b.raw(`}`)
			})
		}
		b.raw(`},"logprobs":null,"finish_reason":"`).raw(x.ending()).raw(`"}`)
	})
	if x.fault.usage != "none" {
		if x.fault.usage == "twice" {
			chatUsage(b.raw(","), x, a.usage.half())
		}
		chatUsage(b.raw(","), x, a.usage)
	}
	b.raw(`}`)
}

// signCall puts the signature of the reasoning on the first call, the one place that this style has for it.
func (x *exchange) signCall(b *buffer, i int) {
	if i == 0 && x.answer.reasoning != "" {
		b.raw(`,"extra_content":{"google":{"thought_signature":`).str(x.signature()).raw(`}}`)
	}
}

// chatChunks writes the chunks of one chat stream; all of them share an id, a date and a model.
type chatChunks struct {
	*stream
	head   string
	asked  bool // Asked means that the caller wants usage.
	told   usage
	spoken bool
}

func chatStream(o *stream, x *exchange) {
	var head buffer
	head.raw(`{"id":`).str(x.mint("chatcmpl-")).raw(`,"object":"chat.completion.chunk","created":`).num(x.created)
	head.raw(`,"model":`).str(x.prompt.model).raw(`,"choices":[`)
	c := &chatChunks{stream: o, head: string(head.b), told: usage{input: x.answer.usage.input}}
	mode := x.fault.usage
	c.asked = (x.prompt.includeUsage || mode == "every" || mode == "twice" || mode == "first") && mode != "none"
	for i := range x.prompt.choices {
		c.choice(i)
	}
	if c.asked && mode != "first" {
		if mode == "twice" {
			c.usage(x.answer.usage.half())
		}
		c.usage(x.answer.usage)
	}
	o.open("").raw("[DONE]")
	o.close(marker)
}

func (c *chatChunks) choice(index int64) {
	a := c.x.answer
	c.chunk(index, lifecycle, "", func(b *buffer) { b.raw(`"role":"assistant","content":""`) })
	for piece := range pieces(a.reasoning) {
		c.chunk(index, token, "", func(b *buffer) { b.raw(`"reasoning_content":`).str(piece) })
	}
	for piece := range a.textPieces() {
		if c.over {
			return
		}
		c.chunk(index, token, "", func(b *buffer) { b.raw(`"content":`).str(piece) })
	}
	for i, call := range a.calls {
		c.chunk(index, token, "", func(b *buffer) {
			b.raw(`"tool_calls":[{"index":`).num(int64(i)).raw(`,"id":`).str(c.x.mint("call_"))
			b.raw(`,"type":"function","function":{"name":`).str(call.name).raw(`,"arguments":""}`)
			c.x.signCall(b, i)
			b.raw(`}]`)
		})
		for piece := range pieces(call.arguments) {
			c.chunk(index, token, "", func(b *buffer) {
				b.raw(`"tool_calls":[{"index":`).num(int64(i)).raw(`,"function":{"arguments":`).str(piece).raw(`}}]`)
			})
		}
	}
	c.chunk(index, lifecycle, c.x.ending(), func(*buffer) {})
}

// chunk writes one delta of a choice. Chunks before the last say that there is no usage yet, when it was asked for.
func (c *chatChunks) chunk(index int64, kind frameKind, finish string, delta func(b *buffer)) {
	b := c.open("").raw(c.head).raw(`{"index":`).num(index).raw(`,"delta":{`)
	delta(b)
	b.raw(`},"finish_reason":`)
	if finish == "" {
		b.raw("null}]")
	} else {
		b.str(finish).raw("}]")
	}
	if kind == token {
		c.told.output++
	}
	switch mode := c.x.fault.usage; {
	case mode == "every":
		chatUsage(b.raw(","), c.x, c.told)
	case mode == "first" && !c.spoken:
		chatUsage(b.raw(","), c.x, c.x.answer.usage)
	case c.asked:
		b.raw(`,"usage":null`)
	}
	c.spoken = true
	b.raw("}")
	c.close(kind)
}

// usage writes the chunk that has no choice.
func (c *chatChunks) usage(u usage) {
	b := c.open("").raw(c.head).raw("],")
	chatUsage(b, c.x, u)
	b.raw("}")
	c.close(lifecycle)
}
