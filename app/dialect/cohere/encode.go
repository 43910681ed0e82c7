package cohere

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/dialect/jsonvalue"
	"umg/app/llm"
)

// The choices of tools. The style has no choice of one tool.
const (
	choiceRequired = "REQUIRED"
	choiceNone     = "NONE"
)

// The bounds of the options of generation.
const (
	temperatureMax = 2
	pMin, pMax     = 0.01, 0.99
	kMax           = 500
	penaltyMax     = 1
)

// EncodeRequest writes a request for an upstream of the style.
func (Codec) EncodeRequest(r *llm.Request) ([]byte, error) {
	e := &requestEncoder{r: r}
	w := &request{Model: r.Model, Stream: r.Stream, Stops: r.Stop, Thinking: encodeThinking(&r.Reasoning)}
	for i := range r.Turns {
		w.Messages = e.turn(w.Messages, &r.Turns[i])
	}
	if w.Messages == nil {
		w.Messages = []message{}
	}
	if r.MaxOutput > 0 {
		w.MaxTokens = jsonvalue.Number(strconv.FormatInt(r.MaxOutput, 10))
	}
	e.sampling(w)
	e.tools(w)
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
	r   *llm.Request
	err *app.Error
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

// encodeThinking returns the settings of thinking. It is nil when the request does not say anything about it.
func encodeThinking(o *llm.ReasoningOptions) *thinking {
	budget := o.Budget
	if n, known := llm.BudgetOf(o.Effort); budget == "" && known {
		budget = llm.Number(strconv.FormatInt(n, 10))
	}
	switch n, err := strconv.ParseInt(string(budget), 10, 64); {
	case *o == (llm.ReasoningOptions{}), *o == llm.ReasoningOptions{Show: o.Show}:
		return nil
	case err == nil && n == 0:
		return &thinking{Type: "disabled"}
	case err != nil || n < 0:
		return &thinking{Type: "enabled"}
	default:
		return &thinking{Type: "enabled", Budget: jsonvalue.Number(budget)}
	}
}

// sampling writes the options of generation within the bounds of the style.
func (e *requestEncoder) sampling(w *request) {
	s := &e.r.Sampling
	for _, one := range []struct {
		to          *jsonvalue.Number
		name        string
		n           llm.Number
		least, most float64
	}{
		{&w.Temperature, "temperature", s.Temperature, 0, temperatureMax},
		{&w.P, "top_p", s.TopP, pMin, pMax},
		{&w.K, "top_k", s.TopK, 0, kMax},
		{&w.FrequencyPenalty, "frequency_penalty", s.FrequencyPenalty, 0, penaltyMax},
		{&w.PresencePenalty, "presence_penalty", s.PresencePenalty, 0, penaltyMax},
		{&w.Seed, "seed", llm.Number(strings.TrimPrefix(string(s.Seed), "-")), 0, llm.TokensMax},
	} {
		if one.n == "" {
			continue
		}
		var ok bool
		if *one.to, ok = jsonvalue.Clamp(one.n, one.least, one.most); !ok {
			e.refuseField(one.name, "%s must be a number.", one.name)
		}
	}
}

// tools writes the tools. A choice among some tools leaves the others out.
func (e *requestEncoder) tools(w *request) {
	c := &e.r.Choice
	for i := range e.r.Tools {
		t := &e.r.Tools[i]
		if len(c.Names) > 0 && !slices.Contains(c.Names, t.Name) {
			continue
		}
		f := function{Name: t.Name, Description: t.Description, Parameters: jsontext.Value(t.Parameters)}
		switch {
		case llm.IsNull(f.Parameters):
			f.Parameters = jsontext.Value(`{"type":"object","properties":{}}`)
		case f.Parameters.Kind() != '{' || !f.Parameters.IsValid(llm.Lenient):
			e.refuseField("tools", "The parameters of the tool %q must be a JSON Schema that is an object.", t.Name)
			return
		}
		w.Tools = append(w.Tools, tool{Type: "function", Function: f})
	}
	switch {
	case len(w.Tools) == 0:
	case c.Mode == llm.ChooseRequired:
		w.ToolChoice = choiceRequired
	case c.Mode == llm.ChooseNone:
		w.ToolChoice = choiceNone
	}
}

func (e *requestEncoder) format(w *request) {
	f := &e.r.Format
	switch f.Kind {
	case llm.FormatJSON:
		w.ResponseFormat = &format{Type: "json_object"}
	case llm.FormatSchema:
		if jsontext.Value(f.Schema).Kind() != '{' || !jsontext.Value(f.Schema).IsValid(llm.Lenient) {
			e.refuseField("response_format", "The schema of the answer must be a JSON object.")
			return
		}
		w.ResponseFormat = &format{Type: "json_object", JSONSchema: f.Schema}
	}
}
