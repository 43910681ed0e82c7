package messages

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

// DecodeRequest reads a request of either API version.
func (Codec) DecodeRequest(body []byte) (*llm.Request, error) {
	var w request
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, unreadable(err, "")
	}
	d := &requestDecoder{r: &llm.Request{Model: w.Model, Stream: w.Stream, Stop: w.Stops}, tools: map[string]string{}}
	d.r.Sampling = llm.Sampling{
		Temperature: llm.Number(w.Temperature), TopP: llm.Number(w.TopP), TopK: llm.Number(w.TopK),
	}
	if !llm.IsNull(w.Container) {
		return nil, cannotCarry("container", "what is in a container is kept by another provider")
	}
	d.rest(w.Rest, "")
	for _, step := range [...]func(*request) error{
		d.decodeLimit, d.decodeSystem, d.decodeMessages, d.decodeTools, d.decodeThinking, d.decodeFormat, d.decodeMetadata,
	} {
		if err := step(&w); err != nil {
			return nil, err
		}
	}
	return d.r, nil
}

// requestDecoder decodes one request.
type requestDecoder struct {
	r *llm.Request
	// tools are the names of the called tools, by the ids of the calls.
	tools map[string]string
}

// rest drops the members of an object that llm.Request cannot hold, unless they are null.
func (d *requestDecoder) rest(members jsontext.Value, prefix string) {
	if len(members) == 0 {
		return
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(members), llm.Lenient)
	// The first token is the brace.
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = decoder.ReadToken(); err != nil {
			return
		}
		member := name.String()
		null := decoder.PeekKind() == 'n'
		err = decoder.SkipValue()
		// A caller is not dropped, because it only repeats what its block says.
		if !null && member != "caller" {
			if member == "cache_control" {
				prefix = ""
			}
			d.r.Drop(prefix + member)
		}
	}
}

func (d *requestDecoder) decodeLimit(w *request) error {
	if w.MaxTokens == nil || *w.MaxTokens == "" {
		return nil
	}
	n, ok := w.MaxTokens.whole()
	switch {
	case !ok || n < 0 || n > llm.TokensMax:
		return invalid("max_tokens", "must be an integer from 1 to %d.", int64(llm.TokensMax))
	case n == 0:
		return cannotCarry("max_tokens", "0, which only fills a cache, means something to one provider alone")
	}
	d.r.MaxOutput = n
	return nil
}

func (d *requestDecoder) decodeTools(w *request) error {
	for i := range w.Tools {
		t := &w.Tools[i]
		if t.Type != "" && t.Type != "custom" {
			if w.ToolChoice != nil && w.ToolChoice.Type == "tool" && w.ToolChoice.Name == t.Name {
				return cannotCarry("tool_choice", "the tool "+strconv.Quote(t.Name)+" is one that only another provider runs")
			}
			d.r.Drop("tools[" + strconv.Itoa(i) + "] (" + t.Type + ")")
			continue
		}
		if t.Name == "" {
			return invalid("tools["+strconv.Itoa(i)+"].name", "is required.")
		}
		tool := llm.Tool{Name: t.Name, Description: t.Description, Strict: t.Strict}
		if !llm.IsNull(t.InputSchema) {
			tool.Parameters = t.InputSchema
		}
		d.r.Tools = append(d.r.Tools, tool)
		d.rest(t.Rest, "")
	}
	return d.decodeChoice(w)
}

func (d *requestDecoder) decodeChoice(w *request) error {
	c := w.ToolChoice
	if c == nil || c.Type == "" {
		return nil
	}
	if c.DisableParallel != nil {
		parallel := !*c.DisableParallel
		d.r.Parallel = &parallel
	}
	switch c.Type {
	case "auto":
		d.r.Choice.Mode = llm.ChooseAuto
	case "none":
		d.r.Choice.Mode = llm.ChooseNone
	case "any", "required":
		d.r.Choice.Mode = llm.ChooseRequired
	case "tool":
		if c.Name == "" {
			return invalid("tool_choice.name", "is required when tool_choice.type is tool: the name of one of the tools.")
		}
		d.r.Choice = llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{c.Name}}
	default:
		return invalid("tool_choice", "must be auto, any, none or required, or an object with type auto, any, tool or none.")
	}
	if len(d.r.Tools) > 0 || len(w.Tools) == 0 {
		return nil
	}
	if d.r.Choice.Mode == llm.ChooseRequired {
		return cannotCarry("tool_choice", "the tools it chooses among are ones that only another provider runs")
	}
	// No tool is left to choose from.
	d.r.Choice, d.r.Parallel = llm.ToolChoice{}, nil
	return nil
}

func (d *requestDecoder) decodeThinking(w *request) error {
	r := &d.r.Reasoning
	r.Effort = llm.Effort(w.OutputConfig.Effort)
	t := w.Thinking
	if t == nil {
		return nil
	}
	switch t.Type {
	case "enabled":
		if _, ok := t.Budget.whole(); !ok {
			return invalid("thinking.budget_tokens", "must be an integer when thinking.type is enabled.")
		}
		r.Budget = llm.Number(t.Budget)
	case "adaptive":
		r.Budget = adaptive
	case "between_tools":
		r.Budget = adaptive
		d.r.Drop("thinking.type (between_tools)")
	case "disabled":
		if r.Effort != "" {
			// An effort means nothing without reasoning.
			d.r.Drop("output_config.effort")
		}
		r.Effort = "none"
	default:
		return invalid("thinking.type", "must be enabled, adaptive, between_tools or disabled.")
	}
	if n, known := llm.BudgetOf(r.Effort); known && string(r.Budget) == strconv.FormatInt(n, 10) {
		// The effort means the same, and every style can express it.
		r.Budget = ""
	}
	switch t.Display {
	case "":
	case "omitted":
		r.Show = "omitted"
	default:
		r.Show = "auto"
	}
	return nil
}

func (d *requestDecoder) decodeFormat(w *request) error {
	d.rest(w.OutputConfig.Rest, "output_config.")
	f := w.OutputConfig.Format
	if f == nil {
		f = w.OutputFormat
	}
	if f == nil {
		return nil
	}
	if f.Type != "json_schema" || len(f.Schema) == 0 || f.Schema.Kind() != '{' {
		return invalid("output_config.format", "must be an object with type json_schema and a schema.")
	}
	d.r.Format = llm.Format{Kind: llm.FormatSchema, Schema: f.Schema}
	return nil
}

func (d *requestDecoder) decodeMetadata(w *request) error {
	if llm.IsNull(w.Metadata) {
		return nil
	}
	var m struct {
		UserID string         `json:"user_id"`
		Rest   jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(w.Metadata, &m); err != nil {
		return unreadable(err, "metadata")
	}
	d.r.EndUser = m.UserID
	d.rest(m.Rest, "metadata.")
	return nil
}

// adaptive is the budget that leaves the amount of thinking to the model.
const adaptive = llm.Number("-1")

func invalid(param, format string, args ...any) *app.Error {
	e := app.Errorf(app.Invalid, "invalid_request_error", format, args...).At(param)
	e.Message = param + " " + e.Message
	return e
}

func cannotCarry(param, why string) *app.Error {
	return app.Errorf(app.Invalid, "unsupported_parameter",
		"%s cannot be carried to the provider of this model because %s.", param, why).At(param)
}

// unreadable returns the error for a value that cannot be parsed. The path of the value is at.
func unreadable(err error, at string) *app.Error {
	var pointer jsontext.Pointer
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if at == "" && !errors.Is(err, jsontext.ErrDuplicateName) {
			return app.Errorf(app.Invalid, "invalid_json", "The body is not valid JSON.").Because(err)
		}
		pointer = e.JSONPointer
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		pointer = e.JSONPointer
	}
	path := llm.PointerPath(at, pointer)
	if path == "" {
		return app.Errorf(app.Invalid, "invalid_request_error", "The body must be a JSON object.").Because(err)
	}
	return invalid(path, "has a value that this style does not have there.").Because(err)
}
