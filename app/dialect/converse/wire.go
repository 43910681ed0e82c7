package converse

import (
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/dialect/jsonvalue"
)

// request is the body of a call, with the members that the API has in its path.
type request struct {
	Model      string          `json:"model"`
	Stream     bool            `json:"stream,omitzero"`
	Messages   []message       `json:"messages"`
	System     []block         `json:"system,omitzero"`
	Inference  inferenceConfig `json:"inferenceConfig,omitzero"`
	ToolConfig *toolConfig     `json:"toolConfig,omitzero"`
	Output     *outputConfig   `json:"outputConfig,omitzero"`
	// Additional has the options that only some models know.
	Additional jsontext.Value `json:"additionalModelRequestFields,omitzero"`
	// Paths are the members of the model's own answer that the provider adds.
	Paths []string `json:"additionalModelResponseFieldPaths,omitzero"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is one block of a turn or of an answer. It has one member.
type block struct {
	Text       *jsonvalue.String `json:"text,omitzero"`
	Image      *media            `json:"image,omitzero"`
	Document   *media            `json:"document,omitzero"`
	ToolUse    *toolUse          `json:"toolUse,omitzero"`
	ToolResult *toolResult       `json:"toolResult,omitzero"`
	Reasoning  *reasoning        `json:"reasoningContent,omitzero"`
	// JSON is set in results of tools.
	JSON jsontext.Value `json:"json,omitzero"`
}

type media struct {
	Format jsonvalue.String `json:"format"`
	Name   jsonvalue.String `json:"name,omitzero"`
	Source struct {
		Bytes jsonvalue.String `json:"bytes,omitzero"`
	} `json:"source"`
}

type toolUse struct {
	ID    jsonvalue.String `json:"toolUseId"`
	Name  jsonvalue.String `json:"name"`
	Input jsontext.Value   `json:"input,omitzero"`
}

type toolResult struct {
	ID      jsonvalue.String `json:"toolUseId"`
	Content []block          `json:"content"`
	Status  jsonvalue.String `json:"status,omitzero"`
}

type reasoning struct {
	Text     *reasoningText   `json:"reasoningText,omitzero"`
	Redacted jsonvalue.String `json:"redactedContent,omitzero"`
}

type reasoningText struct {
	Text      jsonvalue.String `json:"text"`
	Signature jsonvalue.String `json:"signature,omitzero"`
}

type inferenceConfig struct {
	MaxTokens   jsonvalue.Number `json:"maxTokens,omitzero"`
	Temperature jsonvalue.Number `json:"temperature,omitzero"`
	TopP        jsonvalue.Number `json:"topP,omitzero"`
	Stops       []string         `json:"stopSequences,omitzero"`
}

type toolConfig struct {
	Tools  []tool      `json:"tools"`
	Choice *toolChoice `json:"toolChoice,omitzero"`
}

type tool struct {
	Spec toolSpec `json:"toolSpec"`
}

type toolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	InputSchema struct {
		JSON jsontext.Value `json:"json"`
	} `json:"inputSchema"`
	Strict *bool `json:"strict,omitzero"`
}

// toolChoice has one member.
type toolChoice struct {
	Auto *struct{} `json:"auto,omitzero"`
	Any  *struct{} `json:"any,omitzero"`
	Tool *struct {
		Name string `json:"name"`
	} `json:"tool,omitzero"`
}

type outputConfig struct {
	TextFormat textFormat `json:"textFormat"`
}

type textFormat struct {
	Type      string `json:"type"`
	Structure struct {
		JSONSchema jsonSchema `json:"jsonSchema"`
	} `json:"structure"`
}

// jsonSchema has the schema as text.
type jsonSchema struct {
	Schema      string `json:"schema"`
	Name        string `json:"name,omitzero"`
	Description string `json:"description,omitzero"`
}

// answer is a whole answer.
type answer struct {
	Output struct {
		Message *struct {
			Role    jsonvalue.String `json:"role"`
			Content []jsontext.Value `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason jsonvalue.String `json:"stopReason"`
	Usage      jsontext.Value   `json:"usage"`
	Additional jsontext.Value   `json:"additionalModelResponseFields"`
	Error      jsontext.Value   `json:"error"`
	Exception  jsontext.Value   `json:"__type"`
}

// stopSequence is the member of the model's own answer with the stop sequence that ended it. In a stream it is in the delta.
type stopSequence struct {
	Sequence jsonvalue.String `json:"stop_sequence"`
	Delta    struct {
		Sequence jsonvalue.String `json:"stop_sequence"`
	} `json:"delta"`
}

// frame is one event of a stream. Which members it has depends on its event.
type frame struct {
	Index      jsonvalue.Number `json:"contentBlockIndex"`
	Start      frameStart       `json:"start"`
	Delta      frameDelta       `json:"delta"`
	StopReason jsonvalue.String `json:"stopReason"`
	Usage      jsontext.Value   `json:"usage"`
	Additional jsontext.Value   `json:"additionalModelResponseFields"`
	Error      jsontext.Value   `json:"error"`
}

type frameStart struct {
	ToolUse *toolUse `json:"toolUse"`
}

type frameDelta struct {
	Text    *jsonvalue.String `json:"text"`
	ToolUse *struct {
		Input jsonvalue.String `json:"input"`
	} `json:"toolUse"`
	Reasoning *struct {
		Text      jsonvalue.String `json:"text"`
		Signature jsonvalue.String `json:"signature"`
		Redacted  jsonvalue.String `json:"redactedContent"`
	} `json:"reasoningContent"`
}
