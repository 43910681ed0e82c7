package chat

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// request is a chat request. Members that are not listed are collected, so that they can be named.
type request struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Stream              bool           `json:"stream,omitzero"`
	StreamOptions       *streamOptions `json:"stream_options,omitzero"`
	MaxCompletionTokens number         `json:"max_completion_tokens,omitzero"`
	// MaxTokens is the former name of MaxCompletionTokens.
	MaxTokens         number         `json:"max_tokens,omitzero"`
	Temperature       number         `json:"temperature,omitzero"`
	TopP              number         `json:"top_p,omitzero"`
	PresencePenalty   number         `json:"presence_penalty,omitzero"`
	FrequencyPenalty  number         `json:"frequency_penalty,omitzero"`
	Seed              number         `json:"seed,omitzero"`
	Stop              list           `json:"stop,omitzero"`
	N                 number         `json:"n,omitzero"`
	LogProbs          bool           `json:"logprobs,omitzero"`
	Tools             []tool         `json:"tools,omitzero"`
	ToolChoice        jsontext.Value `json:"tool_choice,omitzero"`
	ParallelToolCalls *bool          `json:"parallel_tool_calls,omitzero"`
	ResponseFormat    *format        `json:"response_format,omitzero"`
	ReasoningEffort   string         `json:"reasoning_effort,omitzero"`
	Verbosity         string         `json:"verbosity,omitzero"`
	Metadata          pairs          `json:"metadata,omitzero"`
	User              string         `json:"user,omitzero"`
	SafetyIdentifier  string         `json:"safety_identifier,omitzero"`
	Modalities        []string       `json:"modalities,omitzero"`
	// Functions is the former name of Tools.
	Functions []function `json:"functions,omitzero"`
	// FunctionCall is the former name of ToolChoice.
	FunctionCall jsontext.Value `json:"function_call,omitzero"`
	Unknown      jsontext.Value `json:",embed"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is one message of a request. What an assistant's message says is also what answers and deltas say.
type message struct {
	Role       string  `json:"role"`
	Name       string  `json:"name,omitzero"`
	Content    content `json:"content"`
	ToolCallID str     `json:"tool_call_id,omitzero"`
	assistantFields
	Unknown jsontext.Value `json:",embed"`
}

// assistantFields is what a model says in addition to its content.
type assistantFields struct {
	ReasoningContent str `json:"reasoning_content,omitzero"`
	// Reasoning is the name that some vendors use for ReasoningContent.
	Reasoning str        `json:"reasoning,omitzero"`
	Refusal   str        `json:"refusal,omitzero"`
	ToolCalls []toolCall `json:"tool_calls,omitzero"`
	// FunctionCall is the former name of ToolCalls.
	FunctionCall function `json:"function_call,omitzero"`
}

func (s *assistantFields) thoughts() string {
	if s.ReasoningContent != "" {
		return string(s.ReasoningContent)
	}
	return string(s.Reasoning)
}

type part struct {
	Type       string         `json:"type"`
	Text       *str           `json:"text,omitzero"`
	ImageURL   *imageURL      `json:"image_url,omitzero"`
	InputAudio *inputAudio    `json:"input_audio,omitzero"`
	File       *file          `json:"file,omitzero"`
	Refusal    str            `json:"refusal,omitzero"`
	Thinking   thinking       `json:"thinking,omitzero"`
	Unknown    jsontext.Value `json:",embed"`
}

type imageURL struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitzero"`
}

type inputAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type file struct {
	FileData string `json:"file_data,omitzero"`
	Filename string `json:"filename,omitzero"`
	FileID   string `json:"file_id,omitzero"`
}

type tool struct {
	Type     string         `json:"type"`
	Function function       `json:"function,omitzero"`
	Custom   customTool     `json:"custom,omitzero"`
	Unknown  jsontext.Value `json:",embed"`
}

// function is a tool, or a call of one.
type function struct {
	Name        str            `json:"name"`
	Description str            `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Arguments   arguments      `json:"arguments,omitzero"`
}

// customTool is a tool that takes free text, or a call of one.
type customTool struct {
	Name        str            `json:"name"`
	Description str            `json:"description,omitzero"`
	Format      jsontext.Value `json:"format,omitzero"`
	Input       *str           `json:"input,omitzero"`
}

type toolCall struct {
	Index    index        `json:"index,omitzero"`
	ID       str          `json:"id,omitzero"`
	Type     str          `json:"type,omitzero"`
	Function function     `json:"function,omitzero"`
	Custom   customTool   `json:"custom,omitzero"`
	Extra    extraContent `json:"extra_content,omitzero"`
}

// extraContent is where one vendor ties the proof of its reasoning to a call, and others followed.
type extraContent struct {
	Google struct {
		ThoughtSignature str `json:"thought_signature,omitzero"`
	} `json:"google,omitzero"`
}

type toolChoice struct {
	Type         string        `json:"type"`
	Function     function      `json:"function,omitzero"`
	Custom       customTool    `json:"custom,omitzero"`
	AllowedTools *allowedTools `json:"allowed_tools,omitzero"`
}

type allowedTools struct {
	Mode  string `json:"mode"`
	Tools []tool `json:"tools"`
}

type format struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitzero"`
}

type jsonSchema struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"schema,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
}

// response is a whole answer or one chunk of it.
type response struct {
	Choices []choice `json:"choices"`
	// Usage is read as raw JSON, so that a wrong one does not lose the rest.
	Usage jsontext.Value `json:"usage"`
	Error jsontext.Value `json:"error"`
}

type choice struct {
	Index        index  `json:"index"`
	Delta        answer `json:"delta"`
	Message      answer `json:"message"`
	FinishReason str    `json:"finish_reason"`
}

type answer struct {
	Content content `json:"content"`
	assistantFields
}

// content is null, a string or a list of parts.
type content struct {
	// isSet means that the value is not null.
	isSet bool
	text  string
	parts []part
}

// UnmarshalJSONFrom reads any of the three.
func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case 'n':
		return d.SkipValue()
	case '[':
		c.isSet = true
		return json.UnmarshalDecode(d, &c.parts)
	case '"':
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		c.isSet, c.text = true, t.String()
		return nil
	}
	return errors.New("content is a string, a list of parts or null")
}

// MarshalJSONTo writes a list when there are parts.
func (c *content) MarshalJSONTo(e *jsontext.Encoder) error {
	switch {
	case !c.isSet:
		return e.WriteToken(jsontext.Null)
	case c.parts != nil:
		return json.MarshalEncode(e, c.parts)
	}
	return e.WriteToken(jsontext.String(c.text))
}

// thinking is the text of thoughts, which Mistral sends as a list of parts within a part of the content.
type thinking string

// UnmarshalJSONFrom takes a string or the texts of a list, and nothing from the rest.
func (t *thinking) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		return (*str)(t).UnmarshalJSONFrom(d)
	}
	var parts []struct {
		Text str `json:"text"`
	}
	if err := json.UnmarshalDecode(d, &parts); err != nil {
		return err
	}
	for i := range parts {
		*t += thinking(parts[i].Text)
	}
	return nil
}

// str is a string where other things may stand: upstreams and histories have null, and worse.
type str string

// UnmarshalJSONFrom takes a string, and nothing from the rest.
func (s *str) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		*s = ""
		return d.SkipValue()
	}
	t, err := d.ReadToken()
	if err == nil {
		*s = str(t.String())
	}
	return err
}

// arguments are JSON in a string; some upstreams forget the string.
type arguments string

// UnmarshalJSONFrom takes a string, or an object as its own text.
func (a *arguments) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return (*str)(a).UnmarshalJSONFrom(d)
	}
	v, err := d.ReadValue()
	*a = arguments(v)
	return err
}

// number keeps a number as it was written.
type number llm.Number

// UnmarshalJSONFrom takes a number or null.
func (n *number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	kind := d.PeekKind()
	if kind != '0' && kind != 'n' {
		return errors.New("a number is needed")
	}
	v, err := d.ReadValue()
	if err == nil && kind == '0' {
		*n = number(v)
	}
	return err
}

// MarshalJSONTo writes it back.
func (n *number) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteValue(jsontext.Value(*n)) }

// whole is the number as an integer, also when it is written like 1e3 or 1.0.
func (n number) whole() (int64, bool) {
	if n == "" {
		return 0, true
	}
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || f > llm.TokensMax || f < -llm.TokensMax || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

// index is the optional place of a choice or of a call.
type index struct {
	value int64
	isSet bool
}

// UnmarshalJSONFrom takes an integer, and nothing from the rest.
func (x *index) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	at, bad := strconv.ParseInt(string(v), 10, 64)
	*x = index{at, bad == nil}
	return nil
}

// list is a string or a list of strings.
type list []string

// UnmarshalJSONFrom takes one, several or null.
func (l *list) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		return json.UnmarshalDecode(d, (*[]string)(l))
	}
	t, err := d.ReadToken()
	if err == nil {
		*l = list{t.String()}
	}
	return err
}

// pairs is an object of strings in its own order.
type pairs []llm.Pair

// UnmarshalJSONFrom takes an object or null; a value that is no string counts as its JSON.
func (p *pairs) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	if d.PeekKind() != '{' {
		return errors.New("an object of strings is needed")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		pair := llm.Pair{Key: key.String()}
		var value str
		if kind := d.PeekKind(); kind == '"' {
			err = value.UnmarshalJSONFrom(d)
			pair.Value = string(value)
		} else {
			var raw jsontext.Value
			raw, err = d.ReadValue()
			pair.Value = string(raw)
		}
		if err != nil {
			return err
		}
		*p = append(*p, pair)
	}
	_, err := d.ReadToken()
	return err
}

// MarshalJSONTo writes the object in the same order.
func (p *pairs) MarshalJSONTo(e *jsontext.Encoder) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, pair := range *p {
		if err := e.WriteToken(jsontext.String(pair.Key)); err != nil {
			return err
		}
		if err := e.WriteToken(jsontext.String(pair.Value)); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}
