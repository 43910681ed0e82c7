package messages

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/dialect/jsonvalue"
	"umg/app/llm"
)

// asCame are the options for values that are copied as they were written.
var asCame = json.JoinOptions(llm.Lenient, jsontext.PreserveRawStrings(true))

// request is the body of a call. Rest has the members that llm.Request cannot hold.
type request struct {
	Model        string       `json:"model"`
	Messages     []message    `json:"messages"`
	System       content      `json:"system"`
	MaxTokens    *number      `json:"max_tokens"`
	Stream       bool         `json:"stream"`
	Temperature  number       `json:"temperature"`
	TopP         number       `json:"top_p"`
	TopK         number       `json:"top_k"`
	Stops        []string     `json:"stop_sequences"`
	Tools        []tool       `json:"tools"`
	ToolChoice   *choice      `json:"tool_choice"`
	Thinking     *thinking    `json:"thinking"`
	OutputConfig outputConfig `json:"output_config"`
	// OutputFormat is the former name of output_config.format.
	OutputFormat *format        `json:"output_format"`
	Metadata     jsontext.Value `json:"metadata"`
	Container    jsontext.Value `json:"container"`
	Rest         jsontext.Value `json:",embed"`
}

type message struct {
	Role    string         `json:"role"`
	Content content        `json:"content"`
	Rest    jsontext.Value `json:",embed"`
}

// content is a list of blocks, or a string as the only text block.
type content []block

// UnmarshalJSONFrom reads either form.
func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		return json.UnmarshalDecode(d, (*[]block)(c))
	}
	t, err := d.ReadToken()
	if err != nil {
		return err
	}
	*c = content{{Type: "text", Text: t.String(), plain: true}}
	return nil
}

// block is one block of a turn. The form of Source and Content depends on the type, so they are parsed later.
type block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	Signature string         `json:"signature"`
	Data      string         `json:"data"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Input     jsontext.Value `json:"input"`
	ToolUseID string         `json:"tool_use_id"`
	IsError   bool           `json:"is_error"`
	Title     string         `json:"title"`
	Context   string         `json:"context"`
	Source    jsontext.Value `json:"source"`
	Content   jsontext.Value `json:"content"`
	ToolName  string         `json:"tool_name"`
	Rest      jsontext.Value `json:",embed"`

	// plain means that the content was written as a plain string.
	plain bool
}

// source has the data or the address of an image or a document.
type source struct {
	Type      string  `json:"type"`
	MediaType string  `json:"media_type"`
	Data      string  `json:"data"`
	URL       string  `json:"url"`
	FileID    string  `json:"file_id"`
	Content   content `json:"content"`
}

type tool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema jsontext.Value `json:"input_schema"`
	Strict      *bool          `json:"strict"`
	Rest        jsontext.Value `json:",embed"`
}

// choice is tool_choice. It may also be a string with its type.
type choice struct {
	Type            string `json:"type"`
	Name            string `json:"name"`
	DisableParallel *bool  `json:"disable_parallel_tool_use"`
}

// UnmarshalJSONFrom reads either form.
func (c *choice) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		type plain choice
		return json.UnmarshalDecode(d, (*plain)(c))
	}
	t, err := d.ReadToken()
	if err != nil {
		return err
	}
	*c = choice{Type: t.String()}
	return nil
}

type thinking struct {
	Type    string `json:"type"`
	Budget  number `json:"budget_tokens"`
	Display string `json:"display"`
}

type outputConfig struct {
	Effort string         `json:"effort"`
	Format *format        `json:"format"`
	Rest   jsontext.Value `json:",embed"`
}

type format struct {
	Type   string         `json:"type"`
	Schema jsontext.Value `json:"schema"`
}

// number is the text of a JSON number. It is empty for null.
type number string

// UnmarshalJSONFrom keeps the digits as they were written.
func (n *number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch kind := d.PeekKind(); kind {
	case '0', 'n':
		v, err := d.ReadValue()
		if *n = ""; kind == '0' {
			*n = number(v)
		}
		return err
	default:
		if err := d.SkipValue(); err != nil {
			return err
		}
		return &json.SemanticError{JSONKind: kind}
	}
}

// whole returns the number as an integer, also when it is written like 1e3. It reports false for other numbers.
func (n number) whole() (int64, bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || f < -exactMax || f > exactMax || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

// exactMax is the integer up to which a float holds every integer exactly.
const exactMax = 1 << 53

// answer is a whole answer, or the message at the start of a stream. A malformed member does not break the others.
type answer struct {
	ID           jsonvalue.String `json:"id"`
	Type         jsonvalue.String `json:"type"`
	Content      []piece          `json:"content"`
	StopReason   jsonvalue.String `json:"stop_reason"`
	StopSequence jsonvalue.String `json:"stop_sequence"`
	Usage        jsontext.Value   `json:"usage"`
	Error        jsontext.Value   `json:"error"`
}

// piece is one block of an answer.
type piece struct {
	pieceMembers

	// isBroken means that it is no object.
	isBroken bool
}

type pieceMembers struct {
	Type      jsonvalue.String `json:"type"`
	Text      jsonvalue.String `json:"text"`
	Thinking  jsonvalue.String `json:"thinking"`
	Signature jsonvalue.String `json:"signature"`
	Data      jsonvalue.String `json:"data"`
	ID        jsonvalue.String `json:"id"`
	Name      jsonvalue.String `json:"name"`
	Input     jsontext.Value   `json:"input"`
}

// UnmarshalJSONFrom reads an object or null.
func (p *piece) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*p = piece{}
	if kind := d.PeekKind(); kind != '{' && kind != 'n' {
		p.isBroken = true
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &p.pieceMembers)
}

// delta is the part of a frame that adds to a block or to the message.
type delta struct {
	Type         jsontext.Value `json:"type"`
	Text         jsontext.Value `json:"text"`
	Thinking     jsontext.Value `json:"thinking"`
	PartialJSON  jsontext.Value `json:"partial_json"`
	Signature    jsontext.Value `json:"signature"`
	StopReason   jsontext.Value `json:"stop_reason"`
	StopSequence jsontext.Value `json:"stop_sequence"`
}

// frame is one event of a stream. Its values reuse their memory from one frame to the next.
type frame struct {
	Type    jsontext.Value `json:"type"`
	Index   jsontext.Value `json:"index"`
	Delta   delta          `json:"delta"`
	Block   jsontext.Value `json:"content_block"`
	Message jsontext.Value `json:"message"`
	Usage   jsontext.Value `json:"usage"`
	Error   jsontext.Value `json:"error"`
}

func (f *frame) reset() {
	d := &f.Delta
	for _, v := range [...]*jsontext.Value{
		&f.Type, &f.Index, &f.Block, &f.Message, &f.Usage, &f.Error,
		&d.Type, &d.Text, &d.Thinking, &d.PartialJSON, &d.Signature, &d.StopReason, &d.StopSequence,
	} {
		*v = (*v)[:0]
	}
}

// appendRaw appends JSON text on one line, with its digits, order and escapes unchanged. It reports false, and appends nothing, when raw is
// not JSON.
func appendRaw(dst, raw []byte) ([]byte, bool) {
	from := len(dst)
	out, err := jsontext.AppendFormat(dst, raw, asCame)
	if err != nil {
		return dst[:from], false
	}
	if !utf8.Valid(out[from:]) {
		out = append(out[:from], bytes.ToValidUTF8(out[from:], []byte("\ufffd"))...)
	}
	return out, true
}
