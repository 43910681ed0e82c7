package native

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// request is the body of a call. Rest, here and below, has the members that llm.Request cannot hold.
type request struct {
	Model      string           `json:"model"`
	Stream     bool             `json:"stream"`
	Contents   contents         `json:"contents"`
	System     *content         `json:"systemInstruction"`
	Tools      []tool           `json:"tools"`
	ToolConfig toolConfig       `json:"toolConfig"`
	Config     generationConfig `json:"generationConfig"`
	Labels     jsontext.Value   `json:"labels"`
	Cached     string           `json:"cachedContent"`
	Continued  string           `json:"continuationToken"`
	Rest       jsontext.Value   `json:",embed"`
}

// contents is the conversation: a list of contents, or a single content.
type contents []content

// UnmarshalJSONFrom takes both.
func (c *contents) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if k := dec.PeekKind(); k == '[' || k == 'n' {
		return json.UnmarshalDecode(dec, (*[]content)(c))
	}
	*c = make(contents, 1)
	return json.UnmarshalDecode(dec, &(*c)[0])
}

// content is a turn: an object, or a string as its only text.
type content struct {
	Role  string         `json:"role"`
	Parts []part         `json:"parts"`
	Rest  jsontext.Value `json:",embed"`
}

// UnmarshalJSONFrom takes both.
func (c *content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		*c = content{Parts: make([]part, 1)}
		return json.UnmarshalDecode(dec, &c.Parts[0].Text)
	}
	type plain content
	return json.UnmarshalDecode(dec, (*plain)(c))
}

// part is a part of a request.
type part struct {
	piece

	Inline   *blob             `json:"inlineData"`
	File     *fileData         `json:"fileData"`
	Response *functionResponse `json:"functionResponse"`
	Rest     jsontext.Value    `json:",embed"`
}

// piece is what a part of a request and a part of an answer have in common.
type piece struct {
	Text      string          `json:"text"`
	Thought   bool            `json:"thought"`
	Signature string          `json:"thoughtSignature"`
	Call      *functionCall   `json:"functionCall"`
	Code      *executableCode `json:"executableCode"`
	Output    *codeResult     `json:"codeExecutionResult"`
}

type blob struct {
	Type string         `json:"mimeType"`
	Data string         `json:"data"`
	Name string         `json:"displayName"`
	Rest jsontext.Value `json:",embed"`
}

type fileData struct {
	Type string         `json:"mimeType"`
	URI  string         `json:"fileUri"`
	Name string         `json:"displayName"`
	Rest jsontext.Value `json:",embed"`
}

// functionCall is a call of a tool, or a piece of one. Partial has pieces of the arguments, and More means that another piece follows.
type functionCall struct {
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Args    jsontext.Value `json:"args"`
	Partial jsontext.Value `json:"partialArgs"`
	More    bool           `json:"willContinue"`
}

type functionResponse struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
	Parts    []part         `json:"parts"`
	Rest     jsontext.Value `json:",embed"`
}

type executableCode struct {
	Language string `json:"language"`
	Code     string `json:"code"`
}

type codeResult struct {
	Output string `json:"output"`
}

// tool is a list of functions, or a tool of the vendor in Rest.
type tool struct {
	Functions []function     `json:"functionDeclarations"`
	Rest      jsontext.Value `json:",embed"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters"`
	JSONSchema  jsontext.Value `json:"parametersJsonSchema"`
	Rest        jsontext.Value `json:",embed"`
}

type toolConfig struct {
	Calling callingConfig  `json:"functionCallingConfig"`
	Rest    jsontext.Value `json:",embed"`
}

type callingConfig struct {
	Mode    string         `json:"mode"`
	Allowed []string       `json:"allowedFunctionNames"`
	Rest    jsontext.Value `json:",embed"`
}

type generationConfig struct {
	Temperature number          `json:"temperature"`
	TopP        number          `json:"topP"`
	TopK        number          `json:"topK"`
	Presence    number          `json:"presencePenalty"`
	Frequency   number          `json:"frequencyPenalty"`
	Seed        number          `json:"seed"`
	MaxOutput   number          `json:"maxOutputTokens"`
	Candidates  number          `json:"candidateCount"`
	Stop        []string        `json:"stopSequences"`
	LogProbs    bool            `json:"responseLogprobs"`
	TopLogProbs number          `json:"logprobs"`
	MIMEType    string          `json:"responseMimeType"`
	Schema      jsontext.Value  `json:"responseSchema"`
	JSONSchema  jsontext.Value  `json:"responseJsonSchema"`
	Format      jsontext.Value  `json:"responseFormat"`
	Modalities  []string        `json:"responseModalities"`
	Thinking    *thinkingConfig `json:"thinkingConfig"`
	Rest        jsontext.Value  `json:",embed"`
}

type thinkingConfig struct {
	Show   *bool          `json:"includeThoughts"`
	Budget number         `json:"thinkingBudget"`
	Level  string         `json:"thinkingLevel"`
	Rest   jsontext.Value `json:",embed"`
}

// number is the text of a JSON number, which may also be in quotation marks.
type number string

// UnmarshalJSONFrom takes both.
func (n *number) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch raw.Kind() {
	case 'n':
		return nil
	case '"':
		// A number has no escapes.
		raw = raw[1 : len(raw)-1]
	}
	if raw.Kind() != '0' || !raw.IsValid() || strings.ContainsAny(string(raw), " \t\r\n") {
		return errNotNumber
	}
	*n = number(raw)
	return nil
}

// response is an answer, or one frame of it.
type response struct {
	Candidates []candidate    `json:"candidates"`
	Feedback   feedback       `json:"promptFeedback"`
	Usage      jsontext.Value `json:"usageMetadata"`
	ID         string         `json:"responseId"`
	Error      jsontext.Value `json:"error"`
}

type candidate struct {
	Content struct {
		Parts []piece `json:"parts"`
	} `json:"content"`
	Finish string `json:"finishReason"`
	Index  int64  `json:"index"`
}

type feedback struct {
	Blocked string `json:"blockReason"`
}
