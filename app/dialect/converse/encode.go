package converse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/dialect/jsonvalue"
	"umg/app/dialect/messages"
	"umg/app/llm"
)

// topPThinking is the smallest top_p that may be combined with thinking.
const topPThinking = 0.95

// EncodeRequest writes a request for an upstream of the style.
func (Codec) EncodeRequest(r *llm.Request) ([]byte, error) {
	systems, turns := messages.ArrangeTurns(r.Turns)
	e := &requestEncoder{r: r, names: map[string]int{}}
	w := &request{Model: r.Model, Stream: r.Stream, System: encodeSystem(systems)}
	w.ToolConfig = e.toolConfig()
	if w.ToolConfig == nil {
		turns = withoutCalls(turns)
	}
	w.Messages = e.messages(turns)
	var thinks bool
	w.Additional, thinks = e.additional(turns)
	e.sampling(&w.Inference, thinks)
	if len(r.Stop) > 0 && familyOf(r.ProviderModel) == claude {
		w.Paths = []string{"/stop_sequence"}
		if r.Stream {
			w.Paths = []string{"/delta/stop_sequence"}
		}
	}
	e.format(w)
	if e.err != nil {
		return nil, e.err
	}
	body, err := json.Marshal(w, jsonvalue.Verbatim)
	if err != nil {
		return nil, refuse("", "The request cannot be written for the provider of this model.").Because(err)
	}
	return body, nil
}

// requestEncoder encodes one request. It keeps the error about the first thing that the style cannot express.
type requestEncoder struct {
	r *llm.Request
	// names counts the documents with each name, because the names in a request must differ.
	names map[string]int
	err   *app.Error
}

func (e *requestEncoder) refuse(p *llm.Part, format string, args ...any) {
	if e.err == nil {
		e.err = p.Refuse("invalid_request_error", &traits, format, args...)
	}
}

func (e *requestEncoder) refuseField(param, format string, args ...any) {
	if e.err == nil {
		e.err = refuse(param, format, args...)
	}
}

// sampling writes the options of generation. The models refuse most of them together with thinking.
func (e *requestEncoder) sampling(w *inferenceConfig, thinks bool) {
	s := &e.r.Sampling
	if e.r.MaxOutput > 0 {
		w.MaxTokens = jsonvalue.Number(strconv.FormatInt(e.r.MaxOutput, 10))
	}
	if s.Temperature != "" && !thinks {
		w.Temperature = e.unit("temperature", s.Temperature)
	}
	if s.TopP != "" {
		w.TopP = e.unit("top_p", s.TopP)
		if p, err := strconv.ParseFloat(string(w.TopP), 64); thinks && err == nil && p < topPThinking {
			w.TopP = ""
		}
	}
	w.Stops = e.r.Stop
}

// unit returns a number from 0 to 1, the range of the style.
func (e *requestEncoder) unit(name string, n llm.Number) jsonvalue.Number {
	clamped, ok := jsonvalue.Clamp(n, 0, 1)
	if !ok {
		e.refuseField(name, "%s must be a number.", name)
	}
	return clamped
}

// toolConfig returns the tools. It is nil when the model must not call any, because the style has no such choice.
func (e *requestEncoder) toolConfig() *toolConfig {
	c := &e.r.Choice
	if len(e.r.Tools) == 0 || c.Mode == llm.ChooseNone {
		return nil
	}
	w := &toolConfig{}
	for i := range e.r.Tools {
		t := &e.r.Tools[i]
		if len(c.Names) > 0 && !isOne(c) && !slices.Contains(c.Names, t.Name) {
			// The style cannot restrict the choice to some tools, so the others are left out.
			continue
		}
		schema, ok := messages.AppendSchema(nil, t.Parameters)
		if !ok {
			e.refuseField("tools", "The parameters of the tool %q must be a JSON Schema that is an object.", t.Name)
			return nil
		}
		spec := toolSpec{Name: t.Name, Description: t.Description, Strict: t.Strict}
		spec.InputSchema.JSON = schema
		w.Tools = append(w.Tools, tool{spec})
	}
	switch {
	case len(w.Tools) == 0:
		return nil
	case isOne(c):
		w.Choice = &toolChoice{Tool: &struct {
			Name string `json:"name"`
		}{c.Names[0]}}
	case c.Mode == llm.ChooseRequired:
		w.Choice = &toolChoice{Any: &struct{}{}}
	case c.Mode == llm.ChooseAuto:
		w.Choice = &toolChoice{Auto: &struct{}{}}
	}
	return w
}

// isOne reports whether the model must call one certain tool.
func isOne(c *llm.ToolChoice) bool { return c.Mode == llm.ChooseRequired && len(c.Names) == 1 }

// withoutCalls writes calls and their results as text. The provider refuses them in a request that offers no tools.
func withoutCalls(turns []llm.Turn) []llm.Turn {
	turns = slices.Clone(turns)
	for i := range turns {
		isCall := func(p llm.Part) bool { return p.Kind == llm.Call || p.Kind == llm.Result }
		if !slices.ContainsFunc(turns[i].Parts, isCall) {
			continue
		}
		var parts []llm.Part
		for _, p := range turns[i].Parts {
			switch p.Kind {
			case llm.Call:
				parts = append(parts, llm.TextPart("Called the tool "+p.Call.Name+" with "+p.Call.Arguments, p.Place.Path))
			case llm.Result:
				parts = append(parts, llm.TextPart("Result of the tool "+p.Result.Name+":", p.Place.Path))
				parts = append(parts, slices.DeleteFunc(slices.Clone(p.Result.Parts), isEmptyText)...)
			default:
				parts = append(parts, p)
			}
		}
		turns[i].Parts = parts
	}
	return turns
}

func isEmptyText(p llm.Part) bool {
	return (p.Kind == llm.Text || p.Kind == llm.Refusal) && strings.TrimSpace(p.Text) == ""
}

// format writes the schema of the answer.
func (e *requestEncoder) format(w *request) {
	f := &e.r.Format
	if f.Kind != llm.FormatSchema {
		return
	}
	if jsontext.Value(f.Schema).Kind() != '{' || !jsontext.Value(f.Schema).IsValid(llm.Lenient) {
		e.refuseField("outputConfig.textFormat", "The schema of the answer must be a JSON object.")
		return
	}
	w.Output = &outputConfig{TextFormat: textFormat{Type: "json_schema"}}
	w.Output.TextFormat.Structure.JSONSchema = jsonSchema{Schema: string(f.Schema), Name: f.Name, Description: f.Description}
}
