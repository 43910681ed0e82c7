package converse

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/dialect/jsonvalue"
	"umg/app/dialect/messages"
	"umg/app/llm"
)

// family is a group of models that are asked to think in the same way.
type family uint8

const (
	// unknownFamily is for models that cannot be asked to think, and for names that do not show the model, such as those of inference
	// profiles of an account.
	unknownFamily family = iota
	claude
	nova
	gptOSS
)

// families has parts of the names of models.
var families = []struct {
	part   string
	family family
}{
	{"anthropic.", claude}, {"amazon.nova-2", nova}, {"openai.", gptOSS},
}

func familyOf(model string) family {
	for _, f := range families {
		if strings.Contains(model, f.part) {
			return f.family
		}
	}
	return unknownFamily
}

// novaEfforts has the efforts of Nova. Its highest effort refuses a bound on output, which the gateway may have to set, so that the middle
// one replaces it.
var novaEfforts = map[llm.Effort]string{
	"minimal": "low", "low": "low", "medium": "medium", "high": "medium", "xhigh": "medium", "max": "medium",
}

// gptEfforts has the efforts of the open models of OpenAI. They always think.
var gptEfforts = map[llm.Effort]string{
	"none": "low", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high",
}

// additional returns the options for thinking. It reports whether the request turns on a thinking that restricts other options.
func (e *requestEncoder) additional(turns []llm.Turn) (fields jsontext.Value, thinks bool) {
	effort := e.r.Reasoning.NamedEffort()
	if effort == "" && e.r.Reasoning.Budget != "" {
		// The amount is left to the model.
		effort = "medium"
	}
	switch familyOf(e.r.ProviderModel) {
	case claude:
		if len(turns) == 0 {
			return nil, false
		}
		members, thinks := messages.AppendThinking(nil, e.r, turns)
		if len(members) == 0 {
			return nil, false
		}
		return append(append(jsontext.Value{'{'}, members[1:]...), '}'), thinks
	case nova:
		if effort == "none" {
			return jsontext.Value(`{"reasoningConfig":{"type":"disabled"}}`), false
		}
		if word := novaEfforts[effort]; word != "" {
			return jsontext.Value(`{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"` + word + `"}}`), false
		}
	case gptOSS:
		if word := gptEfforts[effort]; word != "" {
			return jsontext.Value(`{"reasoning_effort":"` + word + `"}`), false
		}
	}
	return nil, false
}

// additionalFields are the options for thinking of all families.
type additionalFields struct {
	Thinking *struct {
		Type    jsonvalue.String `json:"type"`
		Budget  jsonvalue.Number `json:"budget_tokens"`
		Display jsonvalue.String `json:"display"`
	} `json:"thinking"`
	OutputConfig struct {
		Effort jsonvalue.String `json:"effort"`
	} `json:"output_config"`
	ReasoningConfig struct {
		Type   jsonvalue.String `json:"type"`
		Effort jsonvalue.String `json:"maxReasoningEffort"`
	} `json:"reasoningConfig"`
	ReasoningEffort jsonvalue.String `json:"reasoning_effort"`
}

// decodeReasoning reads the options for thinking.
func decodeReasoning(fields jsontext.Value) (o llm.ReasoningOptions) {
	var w additionalFields
	if llm.IsNull(fields) || json.Unmarshal(fields, &w, llm.Lenient) != nil {
		return o
	}
	for _, effort := range []jsonvalue.String{w.OutputConfig.Effort, w.ReasoningConfig.Effort, w.ReasoningEffort} {
		if effort != "" {
			o.Effort = llm.Effort(effort)
		}
	}
	if w.ReasoningConfig.Type == "disabled" {
		o.Effort = "none"
	}
	if w.Thinking == nil {
		return o
	}
	switch w.Thinking.Type {
	case "enabled":
		o.Budget = llm.Number(w.Thinking.Budget)
	case "adaptive":
		o.Budget = "-1"
	case "disabled":
		o.Effort = "none"
	}
	switch w.Thinking.Display {
	case "":
	case "omitted":
		o.Show = "omitted"
	default:
		o.Show = "auto"
	}
	return o
}
