package simulator

import (
	"encoding/json"
)

// messagesStyle is POST /v1/messages.
var messagesStyle = style{
	name:     "messages",
	idHeader: "Request-Id",
	decode:   decodeMessages,
	body:     messagesBody,
	stream:   messagesStream,
	fail:     messagesError,
	failLate: func(o *stream, x *exchange, e failure) {
		messagesError(o.open("error"), x, e)
		o.close(lifecycle)
	},
	tokens: func(b *buffer, x *exchange) { b.raw(`{"input_tokens":`).num(x.prompt.input).raw(`}`) },
	endings: [...]string{endNatural: "end_turn", endStop: "stop_sequence", endLength: "max_tokens", endCalls: "tool_use",
		endFilter: "refusal"},
	signed: "EqQB", forged: "messages: Invalid `signature` in `thinking` block",
}

// thinkingBudgetMin is the smallest budget that the style accepts.
const thinkingBudgetMin = 1024

type messagesRequest struct {
	Model         string              `json:"model"`
	Messages      []messagesTurn      `json:"messages"`
	System        parts[messagesPart] `json:"system"`
	MaxTokens     *int64              `json:"max_tokens"`
	Stream        bool                `json:"stream"`
	StopSequences texts               `json:"stop_sequences"`
	Tools         []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice *struct {
		Type            string `json:"type"`
		Name            string `json:"name"`
		DisableParallel bool   `json:"disable_parallel_tool_use"`
	} `json:"tool_choice"`
	Thinking *struct {
		Type    string `json:"type"`
		Budget  int64  `json:"budget_tokens"`
		Display string `json:"display"`
	} `json:"thinking"`
	OutputConfig struct {
		Effort string `json:"effort"`
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

type messagesTurn struct {
	Role    string              `json:"role"`
	Content parts[messagesPart] `json:"content"`
}

type messagesPart struct {
	Type      string              `json:"type"`
	Text      string              `json:"text"`
	Thinking  string              `json:"thinking"`
	Signature string              `json:"signature"`
	Data      string              `json:"data"`
	ID        string              `json:"id"`
	Name      string              `json:"name"`
	Input     json.RawMessage     `json:"input"`
	ToolUseID string              `json:"tool_use_id"`
	Content   parts[messagesText] `json:"content"`
	Source    struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
		FileID    string `json:"file_id"`
	} `json:"source"`
}

// messagesText is a part inside a tool result.
type messagesText struct {
	Text string `json:"text"`
}

func decodeMessages(x *exchange) (*prompt, *failure) {
	var r messagesRequest
	if err := json.Unmarshal(x.body, &r); err != nil {
		return nil, notJSON(err)
	}
	h := x.r.Header
	switch {
	case h.Get("Anthropic-Version") == "" && h.Get("Vendorb-Version") == "":
		return nil, badRequest("", "anthropic-version: header is required")
	case r.Model == "":
		return nil, badRequest("model", "model: Field required")
	case len(r.Messages) == 0:
		return nil, badRequest("messages", "messages: at least one message is required")
	case r.MaxTokens == nil && !x.counting:
		return nil, badRequest("max_tokens", "max_tokens: Field required")
	}
	p := newPrompt(r.Model)
	if system := textOf(r.System); system != "" {
		p.addSystem(system)
	}
	for i := range r.Messages {
		if bad := r.Messages[i].addTo(p); bad != nil {
			return nil, bad
		}
	}
	if p.opened != "user" {
		return nil, badRequest("messages", "messages: first message must use the \"user\" role")
	}
	for _, t := range r.Tools {
		p.addTool(t.Name, t.Description, t.InputSchema)
	}
	p.stream = r.Stream
	p.limitTo(r.MaxTokens)
	p.stops = r.StopSequences
	if f := r.OutputConfig.Format; f != nil {
		p.formatAs(f.Type, f.Schema)
	}
	if bad := r.think(p); bad != nil {
		return nil, bad
	}
	r.choose(p)
	return p, nil
}

// choose takes the wish about tools.
func (r *messagesRequest) choose(p *prompt) {
	if r.ToolChoice == nil {
		return
	}
	p.parallel = !r.ToolChoice.DisableParallel
	switch r.ToolChoice.Type {
	case "any":
		p.choice.mode = "required"
	case "tool":
		p.choice = toolChoice{mode: "required", name: r.ToolChoice.Name}
	case "none":
		p.choice.mode = "none"
	}
}

func (r *messagesRequest) think(p *prompt) *failure {
	p.showThoughts, p.effort = true, r.OutputConfig.Effort
	if r.Thinking == nil {
		return nil
	}
	p.showThoughts = r.Thinking.Display != "omitted"
	p.thinking, p.thinkingType = thinkingOn, r.Thinking.Type
	switch {
	case r.Thinking.Type == "disabled":
		p.thinking = thinkingOff
	case r.Thinking.Type == "enabled" && r.Thinking.Budget < thinkingBudgetMin:
		return badRequest("thinking", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case r.Thinking.Type == "enabled" && r.MaxTokens != nil && r.Thinking.Budget >= *r.MaxTokens:
		return badRequest("max_tokens", "`max_tokens` must be greater than `thinking.budget_tokens`.")
	}
	return nil
}

func textOf(c parts[messagesPart]) string {
	return c.join(func(p *messagesPart) string { return p.Text })
}

func (m *messagesTurn) addTo(p *prompt) *failure {
	switch m.Role {
	case "system":
		p.addSystem(textOf(m.Content))
	case "user":
		p.turn(m.Role)
		for _, part := range m.Content.list {
			if bad := part.addTo(p); bad != nil {
				return bad
			}
		}
		p.addUser(textOf(m.Content))
	case "assistant":
		p.turn(m.Role)
		p.addAssistant(textOf(m.Content))
		for _, part := range m.Content.list {
			switch part.Type {
			case "tool_use":
				p.addCall(part.ID, part.Name, compact(part.Input))
			case "thinking", "redacted_thinking":
				p.addSignature(part.Signature + part.Data)
			}
		}
	default:
		return badRequest("messages", "messages: Unexpected role \""+m.Role+"\".")
	}
	return nil
}

// addTo adds what is not text.
func (part *messagesPart) addTo(p *prompt) *failure {
	kind := "image"
	switch part.Type {
	case "tool_result":
		if !p.addResult(part.ToolUseID, part.Content.join(func(inner *messagesText) string { return inner.Text })) {
			return badRequest("messages", "messages: unexpected `tool_use_id` found in `tool_result` blocks: "+part.ToolUseID)
		}
		return nil
	case "document":
		kind = "file"
	case "image":
	default:
		return nil
	}
	switch s := part.Source; s.Type {
	case "base64":
		p.addMedia(media{kind: kind, mime: s.MediaType, bytes: base64Bytes(s.Data)})
	case "text":
		p.addMedia(media{kind: kind, mime: s.MediaType, bytes: len(s.Data)})
	default:
		p.addMedia(attachment(kind, s.URL+s.FileID))
	}
	return nil
}

func messagesError(b *buffer, x *exchange, e failure) {
	w := e.words()
	b.raw(`{"type":"error","error":{"type":`).str(w.messages).raw(`,"message":`).str(w.text)
	b.raw(`},"request_id":`).str(x.id).raw(`}`)
}

// ended writes the members that say why the answer ended.
func (x *exchange) ended(b *buffer) {
	b.raw(`"stop_reason":"`).raw(x.ending()).raw(`","stop_sequence":`).strOrNull(x.answer.stop).raw(`,"stop_details":`)
	if x.answer.end == endFilter {
		b.raw(`{"type":"refusal","category":null,"explanation":null}`)
	} else {
		b.raw("null")
	}
}

// messagesUsage writes usage with the cached parts apart from the input, as this style counts. The delta at the end
// of a stream has fewer members than a message.
func messagesUsage(b *buffer, x *exchange, u usage, delta bool) {
	f := x.fault
	u = f.claimed(u)
	f.count(b, `"usage":{"input_tokens":`, u.input-u.cacheRead-u.cacheWrite)
	f.count(b, `,"cache_creation_input_tokens":`, u.cacheWrite)
	f.count(b, `,"cache_read_input_tokens":`, u.cacheRead)
	f.count(b, `,"output_tokens":`, u.output)
	f.count(b, `,"output_tokens_details":{"thinking_tokens":`, u.reasoning)
	b.raw(`},"server_tool_use":null`)
	if !delta {
		f.count(b, `,"cache_creation":{"ephemeral_5m_input_tokens":`, u.cacheWrite)
		b.raw(`,"ephemeral_1h_input_tokens":0},"service_tier":"standard","inference_geo":null,"speed":null`)
	}
	b.raw("}")
}

func messagesBody(b *buffer, x *exchange) {
	a := x.answer
	b.raw(`{"id":`).str(x.mint("msg_")).raw(`,"type":"message","role":"assistant","model":`).str(x.prompt.model)
	b.raw(`,"content":[`)
	if a.reasoning != "" {
		b.next().raw(`{"type":"thinking","thinking":`).str(x.thoughts()).raw(`,"signature":`).str(x.signature()).raw("}")
	}
	if a.text != "" {
		b.next().raw(`{"type":"text","text":`).str(a.text).raw(`,"citations":null}`)
	}
	for _, c := range a.calls {
		b.next().raw(`{"type":"tool_use","id":`).str(x.mint("toolu_")).raw(`,"name":`).str(c.name)
		b.raw(`,"input":`).raw(c.arguments).raw(`,"caller":{"type":"direct"}}`)
	}
	b.raw("],")
	x.ended(b)
	b.raw(`,"container":null,"diagnostics":null`)
	if x.fault.usage != "none" {
		if x.fault.usage == "twice" {
			messagesUsage(b.raw(","), x, a.usage.half(), false)
		}
		messagesUsage(b.raw(","), x, a.usage, false)
	}
	b.raw("}")
}

// thoughts is the reasoning as far as the caller may see it.
func (x *exchange) thoughts() string {
	if !x.prompt.showThoughts {
		return ""
	}
	return x.answer.reasoning
}

// messagesEvents writes the events of one messages stream.
type messagesEvents struct {
	*stream
	index int64
	told  int64
}

func messagesStream(o *stream, x *exchange) {
	m := &messagesEvents{stream: o}
	m.start()
	if x.answer.reasoning != "" {
		m.block(`{"type":"thinking","thinking":"","signature":""}`, func() {
			for piece := range pieces(x.thoughts()) {
				m.delta(token, `"thinking_delta","thinking":`, piece)
			}
			m.delta(lifecycle, `"signature_delta","signature":`, x.signature())
		})
	}
	if x.answer.text != "" {
		m.block(`{"type":"text","text":"","citations":null}`, func() {
			for piece := range x.answer.textPieces() {
				if m.over {
					return
				}
				m.delta(token, `"text_delta","text":`, piece)
			}
		})
	}
	for _, c := range x.answer.calls {
		var head buffer
		head.raw(`{"type":"tool_use","id":`).str(x.mint("toolu_")).raw(`,"name":`).str(c.name)
		head.raw(`,"input":{},"caller":{"type":"direct"}}`)
		m.block(string(head.b), func() {
			m.delta(token, `"input_json_delta","partial_json":`, "")
			for piece := range pieces(c.arguments) {
				m.delta(token, `"input_json_delta","partial_json":`, piece)
			}
		})
	}
	m.stop()
}

func (m *messagesEvents) start() {
	x := m.x
	b := m.open("message_start").raw(`{"type":"message_start","message":{"id":`).str(x.mint("msg_"))
	b.raw(`,"type":"message","role":"assistant","model":`).str(x.prompt.model)
	b.raw(`,"content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"diagnostics":null`)
	switch x.fault.usage {
	case "none":
	case "first":
		messagesUsage(b.raw(","), x, x.answer.usage, false)
	default:
		u := x.answer.usage
		messagesUsage(b.raw(","), x, usage{u.input, u.cacheRead, u.cacheWrite, 1, 0}, false)
	}
	b.raw("}}")
	m.close(lifecycle)
}

// block writes one content block: its start, what fill writes, its stop. The first is followed by a ping.
func (m *messagesEvents) block(head string, fill func()) {
	m.open("content_block_start").raw(`{"type":"content_block_start","index":`).num(m.index).raw(`,"content_block":`).raw(head).raw("}")
	m.close(lifecycle)
	if m.index == 0 {
		m.open("ping").raw(`{"type":"ping"}`)
		m.close(lifecycle)
	}
	fill()
	m.open("content_block_stop").raw(`{"type":"content_block_stop","index":`).num(m.index).raw("}")
	m.close(lifecycle)
	m.index++
}

func (m *messagesEvents) delta(kind frameKind, head, text string) {
	b := m.open("content_block_delta").raw(`{"type":"content_block_delta","index":`).num(m.index).raw(`,"delta":{"type":`).raw(head).str(text)
	b.raw("}")
	if kind == token {
		m.told++
	}
	if m.x.fault.usage == "every" {
		messagesUsage(b.raw(","), m.x, usage{input: m.x.answer.usage.input, output: m.told}, true)
	}
	b.raw("}")
	m.close(kind)
}

func (m *messagesEvents) stop() {
	u := m.x.answer.usage
	switch m.x.fault.usage {
	case "none", "first":
		m.ending(nil)
	case "twice":
		m.ending(new(u.half()))
		m.ending(&u)
	default:
		m.ending(&u)
	}
	m.open("message_stop").raw(`{"type":"message_stop"}`)
	m.close(marker)
}

// ending writes the message_delta, which says why the answer ends and what it used.
func (m *messagesEvents) ending(u *usage) {
	b := m.open("message_delta").raw(`{"type":"message_delta","delta":{`)
	m.x.ended(b)
	b.raw(`,"container":null}`)
	if u != nil {
		messagesUsage(b.raw(","), m.x, *u, true)
	}
	b.raw("}")
	m.close(lifecycle)
}
