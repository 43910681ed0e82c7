package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// request is the body of a call. Members that the gateway refuses or drops are not parsed.
type request struct {
	Model             string         `json:"model"`
	Input             list[item]     `json:"input"`
	Instructions      string         `json:"instructions"`
	Stream            bool           `json:"stream"`
	Temperature       jsontext.Value `json:"temperature"`
	TopP              jsontext.Value `json:"top_p"`
	MaxOutputTokens   jsontext.Value `json:"max_output_tokens"`
	Tools             []tool         `json:"tools"`
	ToolChoice        jsontext.Value `json:"tool_choice"`
	ParallelToolCalls *bool          `json:"parallel_tool_calls"`
	Text              text           `json:"text"`
	Reasoning         reasoning      `json:"reasoning"`
	Metadata          jsontext.Value `json:"metadata"`
	User              string         `json:"user"`
	SafetyIdentifier  string         `json:"safety_identifier"`
	Include           []string       `json:"include"`
	TopLogprobs       jsontext.Value `json:"top_logprobs"`
	Truncation        string         `json:"truncation"`
	Store             bool           `json:"store"`
	Background        bool           `json:"background"`
	PreviousResponse  jsontext.Value `json:"previous_response_id"`
	Conversation      jsontext.Value `json:"conversation"`
	Prompt            jsontext.Value `json:"prompt"`
	Rest              jsontext.Value `json:",embed"`
}

// list is a string or a list.
type list[T any] struct {
	text string
	// plain means that the value is a string.
	plain   bool
	things  []T
	present bool
	// object means that the value is an object, which only some items have.
	object bool
}

// UnmarshalJSONFrom reads either form. Null is neither, and an object is skipped.
func (l *list[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*l = list[T]{}
	switch d.PeekKind() {
	case 'n':
		return d.SkipValue()
	case '"':
		l.plain, l.present = true, true
		return json.UnmarshalDecode(d, &l.text)
	case '{':
		l.object = true
		return d.SkipValue()
	}
	l.present = true
	return json.UnmarshalDecode(d, &l.things)
}

// item is one item of the input.
type item struct {
	Type             string         `json:"type"`
	ID               string         `json:"id"`
	Status           string         `json:"status"`
	Role             string         `json:"role"`
	Content          list[part]     `json:"content"`
	CallID           string         `json:"call_id"`
	Name             string         `json:"name"`
	Namespace        string         `json:"namespace"`
	Arguments        looseText      `json:"arguments"`
	Input            looseText      `json:"input"`
	Output           list[part]     `json:"output"`
	Summary          []part         `json:"summary"`
	EncryptedContent string         `json:"encrypted_content"`
	Tools            []tool         `json:"tools"`
	Rest             jsontext.Value `json:",embed"`
}

// looseText is a string, or the JSON text of an object.
type looseText string

// UnmarshalJSONFrom reads either form.
func (t *looseText) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return json.UnmarshalDecode(d, (*string)(t))
	}
	v, err := d.ReadValue()
	*t = looseText(v)
	return err
}

type part struct {
	Type        string         `json:"type"`
	Text        string         `json:"text"`
	Refusal     string         `json:"refusal"`
	ImageURL    string         `json:"image_url"`
	Detail      string         `json:"detail"`
	FileID      string         `json:"file_id"`
	FileData    string         `json:"file_data"`
	FileURL     string         `json:"file_url"`
	Filename    string         `json:"filename"`
	Annotations jsontext.Value `json:"annotations"`
	Logprobs    jsontext.Value `json:"logprobs"`
	Rest        jsontext.Value `json:",embed"`
}

type tool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      *bool          `json:"strict"`
	// Format is set for custom tools.
	Format jsontext.Value `json:"format"`
	// Tools are the tools of a namespace.
	Tools []tool         `json:"tools"`
	Rest  jsontext.Value `json:",embed"`
}

type choice struct {
	Type  string   `json:"type"`
	Mode  string   `json:"mode"`
	Name  string   `json:"name"`
	Tools []choice `json:"tools"`
}

type text struct {
	Format    format         `json:"format"`
	Verbosity string         `json:"verbosity"`
	Rest      jsontext.Value `json:",embed"`
}

type format struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema"`
	Strict      *bool          `json:"strict"`
	Rest        jsontext.Value `json:",embed"`
}

type reasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
	// GenerateSummary is the former name of Summary.
	GenerateSummary string         `json:"generate_summary"`
	Rest            jsontext.Value `json:",embed"`
}

// response is an answer. Its items are parsed one by one, because items of unknown types may have any form.
type response struct {
	ID                string         `json:"id"`
	Status            string         `json:"status"`
	Error             jsontext.Value `json:"error"`
	IncompleteDetails struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output jsontext.Value `json:"output"`
	Usage  jsontext.Value `json:"usage"`
}

// outputItem is an item of an answer.
type outputItem struct {
	Type             string         `json:"type"`
	ID               string         `json:"id"`
	CallID           string         `json:"call_id"`
	Name             string         `json:"name"`
	Namespace        string         `json:"namespace"`
	Arguments        string         `json:"arguments"`
	Input            string         `json:"input"`
	Content          list[textPart] `json:"content"`
	Summary          []textPart     `json:"summary"`
	EncryptedContent string         `json:"encrypted_content"`
}

type textPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// frame is one event of a stream. Values of rare events are parsed when they are needed.
type frame struct {
	Type         string         `json:"type"`
	Delta        string         `json:"delta"`
	OutputIndex  int64          `json:"output_index"`
	ContentIndex int64          `json:"content_index"`
	SummaryIndex int64          `json:"summary_index"`
	Text         string         `json:"text"`
	Refusal      string         `json:"refusal"`
	Arguments    string         `json:"arguments"`
	Input        string         `json:"input"`
	Item         jsontext.Value `json:"item"`
	Part         jsontext.Value `json:"part"`
	Response     jsontext.Value `json:"response"`
	Error        jsontext.Value `json:"error"`
}
