package native

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

// requestDecoder decodes one request.
type requestDecoder struct {
	out llm.Request
	// snake are the members that the client spelled with underscores.
	snake map[string]string
	// model is the path of the current turn of the model. It is empty outside of one.
	model string
	// calls are the places of the tool calls in that turn.
	calls []llm.Place
}

// DecodeRequest reads a request, in either spelling of its members.
func (Codec) DecodeRequest(body []byte) (*llm.Request, error) {
	body, snake, err := camelCase(body)
	if err != nil {
		return nil, refuseJSON(err)
	}
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, refuseJSON(err)
	}
	d := requestDecoder{out: llm.Request{Model: in.Model, Stream: in.Stream}, snake: snake}
	d.drop(in.Rest)
	steps := []func(*request) error{
		d.decodeState, d.decodeSystem, d.decodeContents, d.decodeTools, d.decodeChoice, d.decodeConfig, d.decodeLabels,
	}
	for _, step := range steps {
		if err := step(&in); err != nil {
			return nil, err
		}
	}
	return &d.out, nil
}

// unsupported returns the error for a member that cannot go to a provider of another style.
func unsupported(field, because string) *app.Error {
	return app.Errorf(app.Invalid, "unsupported_parameter", "%s cannot be carried to the provider of this model because %s. Leave it out.",
		field, because).At(field)
}

func invalid(field, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_request_error", "%s %s", field, fmt.Sprintf(format, args...)).At(field)
}

// drop drops the members that llm.Request cannot hold, unless they are null.
func (d *requestDecoder) drop(rest jsontext.Value) { d.dropIn("", rest) }

// dropIn drops members with the path of their object before their names.
func (d *requestDecoder) dropIn(path string, rest jsontext.Value) {
	for name, value := range members(rest) {
		if value.Kind() != 'n' {
			d.out.Drop(path + name)
		}
	}
}

// decodeState refuses references to what one provider keeps.
func (*requestDecoder) decodeState(in *request) error {
	switch {
	case in.Cached != "":
		return unsupported("cachedContent", "it names what another provider keeps")
	case in.Continued != "":
		return unsupported("continuationToken", "it continues an answer that another provider keeps")
	}
	return nil
}

func (d *requestDecoder) decodeSystem(in *request) error {
	if in.System == nil {
		return nil
	}
	d.drop(in.System.Rest)
	var parts []llm.Part
	for i := range in.System.Parts {
		p, field := &in.System.Parts[i], fmt.Sprintf("%s.parts[%d]", d.clientName("systemInstruction"), i)
		if kinds := p.kinds(); len(kinds) > 0 && (kinds[0] != "text" || len(kinds) > 1) {
			return invalid(field+"."+d.clientName(kinds[len(kinds)-1]), "has no place there: instructions are text.")
		}
		if err := d.checkPart(p, field); err != nil {
			return err
		}
		if p.Text != "" {
			parts = append(parts, llm.TextPart(p.Text, field))
		}
	}
	d.out.AddTurn(llm.System, parts...)
	return nil
}

func (d *requestDecoder) decodeTools(in *request) error {
	for i := range in.Tools {
		for name, value := range members(in.Tools[i].Rest) {
			switch name {
			case "fileSearch", "file_search", "retrieval":
				return unsupported(fmt.Sprintf("tools[%d].%s", i, name), "it searches what another provider keeps")
			}
			if value.Kind() != 'n' {
				d.out.Drop(fmt.Sprintf("tools[%d] (%s)", i, name))
			}
		}
		for j := range in.Tools[i].Functions {
			if err := d.decodeFunction(&in.Tools[i].Functions[j], fmt.Sprintf("tools[%d].functionDeclarations[%d]", i, j)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *requestDecoder) decodeFunction(f *function, field string) error {
	d.drop(f.Rest)
	if f.Name == "" {
		return invalid(field+".name", "is required.")
	}
	t := llm.Tool{Name: f.Name, Description: f.Description}
	var err error
	switch {
	case !llm.IsNull(f.JSONSchema):
		t.Parameters = compact(f.JSONSchema)
	case !llm.IsNull(f.Parameters):
		t.Parameters, err = jsonSchema(f.Parameters, field+".parameters")
	}
	d.out.Tools = append(d.out.Tools, t)
	return err
}

func (d *requestDecoder) decodeChoice(in *request) error {
	d.dropIn("toolConfig.", in.ToolConfig.Rest)
	c := &in.ToolConfig.Calling
	d.dropIn("toolConfig.functionCallingConfig.", c.Rest)
	choice := &d.out.Choice
	const field = "toolConfig.functionCallingConfig.mode"
	switch c.Mode {
	case "", "MODE_UNSPECIFIED":
	case "AUTO":
		choice.Mode = llm.ChooseAuto
	case "NONE":
		choice.Mode = llm.ChooseNone
	case "ANY":
		choice.Mode = llm.ChooseRequired
		if len(d.out.Tools) == 0 && len(in.Tools) > 0 {
			return unsupported(field, "it demands a tool that only another provider runs")
		}
	case "VALIDATED":
		choice.Mode = llm.ChooseAuto
		strict := true
		for i := range d.out.Tools {
			d.out.Tools[i].Strict = &strict
		}
	default:
		return invalid(field, "must be AUTO, ANY, NONE or VALIDATED.")
	}
	if choice.Mode == llm.ChooseAuto || choice.Mode == llm.ChooseRequired {
		choice.Names = c.Allowed
	}
	return nil
}

func (d *requestDecoder) decodeConfig(in *request) error {
	c, r := &in.Config, &d.out
	d.dropIn("generationConfig.", c.Rest)
	r.Sampling = llm.Sampling{
		Temperature: llm.Number(c.Temperature), TopP: llm.Number(c.TopP), TopK: llm.Number(c.TopK), Seed: llm.Number(c.Seed),
		PresencePenalty: llm.Number(c.Presence), FrequencyPenalty: llm.Number(c.Frequency),
	}
	r.Stop = c.Stop
	const outputs, answers = "generationConfig.maxOutputTokens", "generationConfig.candidateCount"
	if c.MaxOutput != "" {
		n, err := strconv.ParseInt(string(c.MaxOutput), 10, 64)
		if err != nil || n < 0 {
			return invalid(outputs, "must be a whole number.")
		}
		r.MaxOutput = n
	}
	// A translated answer has one candidate and no probabilities.
	if c.Candidates != "" && c.Candidates != "1" {
		return unsupported(answers, "it gives one answer at a time")
	}
	if c.LogProbs {
		return unsupported("generationConfig.responseLogprobs", "its probabilities cannot be carried back")
	}
	for i, m := range c.Modalities {
		if m != "TEXT" && m != "MODALITY_UNSPECIFIED" {
			return unsupported(fmt.Sprintf("generationConfig.responseModalities[%d]", i), "only text is carried back")
		}
	}
	if err := d.decodeThinking(c.Thinking); err != nil {
		return err
	}
	return d.decodeFormat(c)
}

func (d *requestDecoder) decodeFormat(c *generationConfig) error {
	f := &d.out.Format
	if !llm.IsNull(c.Format) {
		return unsupported("generationConfig.responseFormat", "only responseMimeType and responseJsonSchema are")
	}
	var err error
	switch {
	case c.MIMEType == "text/x.enum":
		return unsupported("generationConfig.responseMimeType", "a bare word out of a list has no like elsewhere; use application/json")
	case !llm.IsNull(c.JSONSchema):
		f.Kind, f.Schema = llm.FormatSchema, compact(c.JSONSchema)
	case !llm.IsNull(c.Schema):
		f.Kind = llm.FormatSchema
		f.Schema, err = jsonSchema(c.Schema, "generationConfig.responseSchema")
	case c.MIMEType == "application/json":
		f.Kind = llm.FormatJSON
	case c.MIMEType == "text/plain":
		f.Kind = llm.FormatText
	case c.MIMEType != "":
		return unsupported("generationConfig.responseMimeType", "only text/plain and application/json are")
	}
	return err
}

// decodeThinking reads the settings of reasoning. This style returns thoughts only when the request asks for them.
func (d *requestDecoder) decodeThinking(c *thinkingConfig) error {
	if c == nil {
		return nil
	}
	d.dropIn("generationConfig.thinkingConfig.", c.Rest)
	if c.Show == nil && c.Budget == "" && c.Level == "" {
		return nil
	}
	r := &d.out.Reasoning
	r.Budget = llm.Number(c.Budget)
	if c.Level != "" && c.Level != "THINKING_LEVEL_UNSPECIFIED" {
		r.Effort = llm.Effort(strings.ToLower(c.Level))
		if _, known := llm.BudgetOf(r.Effort); !known {
			return invalid("generationConfig.thinkingConfig.thinkingLevel", "must be MINIMAL, LOW, MEDIUM or HIGH.")
		}
	}
	switch {
	case c.Show != nil && *c.Show:
		r.Show = "auto"
	case c.Budget != "0":
		r.Show = "omitted"
	}
	return nil
}

func (d *requestDecoder) decodeLabels(in *request) error {
	if llm.IsNull(in.Labels) {
		return nil
	}
	if in.Labels.Kind() != '{' {
		return invalid("labels", "must be an object of texts.")
	}
	for key, value := range members(in.Labels) {
		if value.Kind() != '"' {
			return invalid("labels."+key, "must be a text.")
		}
		d.out.Metadata = append(d.out.Metadata, llm.Pair{Key: key, Value: unquote(value)})
	}
	return nil
}

// compact returns a copy of JSON without white space between its tokens.
func compact(v jsontext.Value) []byte {
	out, err := appendCompact(nil, v)
	if err != nil {
		return append(out[:0], v...)
	}
	return out
}
