package native

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

// requestReader turns the wire's request into the form.
type requestReader struct{ out llm.Request }

// DecodeRequest reads a request, in either spelling of its members.
func (Codec) DecodeRequest(body []byte) (*llm.Request, error) {
	body, err := camelCase(body)
	if err != nil {
		return nil, refuseJSON(err)
	}
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, refuseJSON(err)
	}
	d := requestReader{out: llm.Request{Model: in.Model, Stream: in.Stream}}
	d.drop(in.Rest)
	steps := []func(*request) error{d.decodeState, d.decodeSystem, d.decodeContents, d.decodeTools, d.decodeChoice, d.decodeConfig, d.decodeLabels}
	for _, step := range steps {
		if err := step(&in); err != nil {
			return nil, err
		}
	}
	return &d.out, nil
}

// unsupported says that a member cannot go to a provider of another style.
func unsupported(field, because string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "unsupported_parameter", "%s cannot be carried to the provider of this model because %s. Leave it out.",
		field, fmt.Sprintf(because, args...)).At(field)
}

func invalid(field, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_request_error", "%s %s", field, fmt.Sprintf(format, args...)).At(field)
}

// drop notes members that have no place in the form, each once. A null says nothing, so nothing is lost with it.
func (d *requestReader) drop(rest jsontext.Value) {
	for name, value := range members(rest) {
		if value.Kind() != 'n' {
			d.dropName(name)
		}
	}
}

func (d *requestReader) dropName(name string) {
	if !slices.Contains(d.out.Dropped, name) {
		d.out.Dropped = append(d.out.Dropped, name)
	}
}

// decodeState refuses what another provider cannot know.
func (*requestReader) decodeState(in *request) error {
	switch {
	case in.Cached != "":
		return unsupported("cachedContent", "it names what another provider keeps")
	case in.Continued != "":
		return unsupported("continuationToken", "it continues an answer that another provider keeps")
	}
	return nil
}

func (d *requestReader) decodeSystem(in *request) error {
	if in.System == nil {
		return nil
	}
	d.drop(in.System.Rest)
	turn := llm.Turn{Role: llm.System}
	for i := range in.System.Parts {
		p := &in.System.Parts[i]
		d.drop(p.Rest)
		if p.Inline != nil || p.File != nil || p.Call != nil || p.Response != nil {
			return invalid(fmt.Sprintf("systemInstruction.parts[%d]", i), "must be a text.")
		}
		if p.Text != "" {
			turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Text, Text: p.Text})
		}
	}
	if len(turn.Parts) > 0 {
		d.out.Turns = append(d.out.Turns, turn)
	}
	return nil
}

func (d *requestReader) decodeTools(in *request) error {
	for i := range in.Tools {
		for name, value := range members(in.Tools[i].Rest) {
			switch name {
			case "fileSearch", "file_search", "retrieval":
				return unsupported(fmt.Sprintf("tools[%d].%s", i, name), "it searches what another provider keeps")
			}
			if value.Kind() != 'n' {
				d.dropName(fmt.Sprintf("tools[%d] (%s)", i, name))
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

func (d *requestReader) decodeFunction(f *function, field string) error {
	d.drop(f.Rest)
	if f.Name == "" {
		return invalid(field+".name", "is required.")
	}
	t := llm.Tool{Name: f.Name, Description: f.Description}
	var err error
	switch {
	case isSaid(f.JSONSchema):
		t.Parameters = compact(f.JSONSchema)
	case isSaid(f.Parameters):
		t.Parameters, err = jsonSchema(f.Parameters, field+".parameters")
	}
	d.out.Tools = append(d.out.Tools, t)
	return err
}

func (d *requestReader) decodeChoice(in *request) error {
	d.drop(in.ToolConfig.Rest)
	c := &in.ToolConfig.Calling
	d.drop(c.Rest)
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

func (d *requestReader) decodeConfig(in *request) error {
	c, r := &in.Config, &d.out
	d.drop(c.Rest)
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
	// Only one answer is read, and no probabilities are, where an answer comes from another style.
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

func (d *requestReader) decodeFormat(c *generationConfig) error {
	f := &d.out.Format
	if isSaid(c.Format) {
		return unsupported("generationConfig.responseFormat", "only responseMimeType and responseJsonSchema are")
	}
	var err error
	switch {
	case c.MIMEType == "text/x.enum":
		return unsupported("generationConfig.responseMimeType", "a bare word out of a list has no like elsewhere; use application/json")
	case isSaid(c.JSONSchema):
		f.Kind, f.Schema = llm.FormatSchema, compact(c.JSONSchema)
	case isSaid(c.Schema):
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

// decodeThinking reads the wish for reasoning. Thoughts are shown here only to those who ask for them.
func (d *requestReader) decodeThinking(c *thinkingConfig) error {
	if c == nil {
		return nil
	}
	d.drop(c.Rest)
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

func (d *requestReader) decodeLabels(in *request) error {
	if !isSaid(in.Labels) {
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

// isSaid reports whether a member is there and not null.
func isSaid(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// compact is valid JSON without white space between its tokens.
func compact(v jsontext.Value) []byte {
	_ = v.Compact() // it can fail only on what is no JSON, and then changes nothing
	return v
}

// DecodeResponse reads an answer the way a stream of one frame is read, so that both come out alike.
func (Codec) DecodeResponse(body []byte, a *llm.Ask) (*llm.Response, error) {
	d := decoder{ask: a}
	events, err := d.Decode(nil, nil, body)
	if err == nil {
		events, err = d.End(events)
	}
	if upstream, ok := errors.AsType[*llm.UpstreamError](err); ok {
		return nil, upstream
	}
	if err != nil {
		return nil, llm.ErrBroken
	}
	return llm.Fold(events), nil
}

// decodeUsage reads the usage of an answer. It reports false when that cannot be true. Cached tokens are a part of the
// prompt here, and thoughts are none of the candidates' tokens, which only the total tells where their count is missing.
func decodeUsage(raw jsontext.Value) (llm.Usage, bool) {
	in := usage{Prompt: -1, Candidates: -1}
	if err := json.Unmarshal(raw, &in, lenient); err != nil || in.Prompt < 0 {
		return llm.Usage{}, false
	}
	for _, n := range [...]int64{in.Prompt, in.Cached, in.Candidates, in.Thoughts, in.ToolUse, in.Total} {
		if n > llm.TokensMax {
			return llm.Usage{}, false
		}
	}
	if in.Candidates < 0 {
		in.Candidates = max(0, in.Total-in.Prompt-in.ToolUse-in.Thoughts)
	}
	u := llm.Usage{
		Input: in.Prompt + in.ToolUse - in.Cached, CacheRead: in.Cached, Output: in.Candidates + in.Thoughts, Reasoning: in.Thoughts,
	}
	if !u.Valid() {
		return llm.Usage{}, false
	}
	return u, true
}

// lenient reads what an upstream sends: what is merely untidy in it must not lose the answer.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// stops are the style's words for why an answer ended. Words that are not here are llm.StopOther.
var stops = map[string]llm.Stop{
	"STOP":                     llm.StopEnd,
	"MAX_TOKENS":               llm.StopLength,
	"SAFETY":                   llm.StopFilter,
	"RECITATION":               llm.StopFilter,
	"LANGUAGE":                 llm.StopFilter,
	"BLOCKLIST":                llm.StopFilter,
	"PROHIBITED_CONTENT":       llm.StopFilter,
	"SPII":                     llm.StopFilter,
	"MODEL_ARMOR":              llm.StopFilter,
	"IMAGE_SAFETY":             llm.StopFilter,
	"IMAGE_PROHIBITED_CONTENT": llm.StopFilter,
	"IMAGE_RECITATION":         llm.StopFilter,
	"MALFORMED_FUNCTION_CALL":  llm.StopMalformed,
	"MALFORMED_RESPONSE":       llm.StopMalformed,
	"UNEXPECTED_TOOL_CALL":     llm.StopMalformed,
	"TOO_MANY_TOOL_CALLS":      llm.StopMalformed,
	"CONTINUATION":             llm.StopPause,
}

// StopOf is what a finish reason means; empty for an empty one. That the answer has calls is not in the word.
func StopOf(word string) llm.Stop {
	if word == "" {
		return ""
	}
	if stop, ok := stops[word]; ok {
		return stop
	}
	return llm.StopOther
}
