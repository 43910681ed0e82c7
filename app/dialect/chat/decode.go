package chat

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

// requestDecoder decodes one request.
type requestDecoder struct {
	w   *request
	out *llm.Request
	// calls are the tool calls of the turns so far, by id.
	calls map[string]llm.ToolCall
	// duplicateIDs are the new ids of calls to which the last message gave the same id. An id is removed when its result comes.
	duplicateIDs map[string][]string
	// lastFunctionCallID is the minted id of the last function_call, which has no id of its own.
	lastFunctionCallID string
	// minted counts the ids made for calls without one.
	minted int
}

// DecodeRequest reads a request.
func (Codec) DecodeRequest(body []byte) (*llm.Request, error) {
	var w request
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, unreadable(err, "")
	}
	d := requestDecoder{w: &w, out: &llm.Request{
		Model: w.Model, Stream: w.Stream, Parallel: w.ParallelToolCalls, Stop: w.Stop, LogProbs: w.LogProbs,
		Verbosity: w.Verbosity, Metadata: w.Metadata, Reasoning: llm.ReasoningOptions{Effort: llm.Effort(w.ReasoningEffort)},
		Sampling: llm.Sampling{
			Temperature: llm.Number(w.Temperature), TopP: llm.Number(w.TopP), Seed: llm.Number(w.Seed),
			PresencePenalty: llm.Number(w.PresencePenalty), FrequencyPenalty: llm.Number(w.FrequencyPenalty),
		},
	}}
	for _, step := range []func() error{d.numbers, d.modalities, d.tools, d.choice, d.format, d.turns} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if len(w.Stop) == 0 {
		d.out.Stop = nil
	}
	d.endUser()
	return d.out, d.dropUnknown(w.Unknown, "")
}

// numbers reads the whole numbers. max_completion_tokens takes precedence over its former name max_tokens.
func (d *requestDecoder) numbers() error {
	bound, name := d.w.MaxCompletionTokens, "max_completion_tokens"
	if bound == "" {
		bound, name = d.w.MaxTokens, "max_tokens"
	}
	n, ok := bound.whole()
	if !ok || n < 0 {
		return wrong(name, "%s must be a positive integer.", name)
	}
	d.out.MaxOutput = n
	if n, ok = d.w.N.whole(); !ok || n < 0 {
		return wrong("n", "n must be a positive integer.")
	}
	if n > 1 {
		d.out.Choices = n
	}
	return nil
}

// modalities refuses a request for audio or images.
func (d *requestDecoder) modalities() error {
	for _, m := range d.w.Modalities {
		if m != "text" {
			return refused("modalities",
				"modalities %q cannot be carried to the provider of this model, because answers are translated as text only.", m)
		}
	}
	return nil
}

func (d *requestDecoder) endUser() {
	user, safety := d.w.User, d.w.SafetyIdentifier
	if d.out.EndUser = user; user == "" && safety != "" {
		d.out.EndUser, d.out.EndUserField = safety, "safety_identifier"
	} else if safety != "" && safety != user {
		d.out.Drop("safety_identifier")
	}
}

// tools reads the tools, or the functions of the older form.
func (d *requestDecoder) tools() error {
	for i := range d.w.Tools {
		if err := d.tool(i); err != nil {
			return err
		}
	}
	switch {
	case len(d.w.Functions) == 0:
	case len(d.w.Tools) > 0:
		d.out.Drop("functions")
	default:
		for i := range d.w.Functions {
			d.out.Tools = append(d.out.Tools, decodeFunction(&d.w.Functions[i]))
		}
		d.out.OneCall = true
	}
	return nil
}

func (d *requestDecoder) tool(i int) error {
	t := &d.w.Tools[i]
	switch t.Type {
	case "function":
		d.out.Tools = append(d.out.Tools, decodeFunction(&t.Function))
	case "custom":
		d.out.Tools = append(d.out.Tools, llm.Tool{
			Name: string(t.Custom.Name), Description: string(t.Custom.Description), Custom: true,
			Parameters: flattenGrammar(llm.ValueOrNil(t.Custom.Format)),
		})
	default:
		d.out.Drop(llm.ElementPath("tools", i) + " (" + t.Type + ")")
		return nil
	}
	if d.out.Tools[len(d.out.Tools)-1].Name == "" {
		at := llm.ElementPath("tools", i) + "." + t.Type + ".name"
		return wrong(at, "%s is required.", at)
	}
	return d.dropUnknown(t.Unknown, "")
}

func decodeFunction(f *function) llm.Tool {
	return llm.Tool{Name: string(f.Name), Description: string(f.Description), Parameters: llm.ValueOrNil(f.Parameters), Strict: f.Strict}
}

// choice reads tool_choice, or function_call of the older form.
func (d *requestDecoder) choice() error {
	raw, name := d.w.ToolChoice, "tool_choice"
	if llm.IsNull(raw) && !llm.IsNull(d.w.FunctionCall) {
		raw, name = d.w.FunctionCall, "function_call"
	}
	c := &d.out.Choice
	switch raw.Kind() {
	case '"':
		var word str
		if json.Unmarshal(raw, &word) != nil || !decodeMode(string(word), c) {
			return wrong(name, "%s must be none, auto, required or an object that names a tool.", name)
		}
	case '{':
		if err := d.choiceOfTools(raw, name); err != nil {
			return err
		}
	case 'n', 0:
		return nil
	default:
		return wrong(name, "%s must be a string or an object.", name)
	}
	if slices.Contains(c.Names, "") {
		return wrong(name, "%s must say the name of a tool.", name)
	}
	if c.Mode == llm.ChooseRequired && len(d.out.Tools) == 0 && len(d.w.Tools) > 0 {
		return refused(name, "%s asks for a tool, but none of the tools can be carried to the provider of this model.", name)
	}
	return nil
}

func decodeMode(word string, c *llm.ToolChoice) bool {
	switch word {
	case "none":
		c.Mode = llm.ChooseNone
	case "auto":
		c.Mode = llm.ChooseAuto
	case "required":
		c.Mode = llm.ChooseRequired
	default:
		return false
	}
	return true
}

func (d *requestDecoder) choiceOfTools(raw jsontext.Value, name string) error {
	if name == "function_call" {
		var f function
		if err := json.Unmarshal(raw, &f); err != nil {
			return unreadable(err, name)
		}
		d.out.Choice = llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{string(f.Name)}}
		return nil
	}
	var w toolChoice
	if err := json.Unmarshal(raw, &w); err != nil {
		return unreadable(err, name)
	}
	c := &d.out.Choice
	switch w.Type {
	case "function":
		*c = llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{string(w.Function.Name)}}
	case "custom":
		*c = llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{string(w.Custom.Name)}}
	case "allowed_tools":
		if w.AllowedTools == nil || !decodeMode(w.AllowedTools.Mode, c) {
			return wrong("tool_choice.allowed_tools.mode", "tool_choice.allowed_tools.mode must be auto or required.")
		}
		for i := range w.AllowedTools.Tools {
			t := &w.AllowedTools.Tools[i]
			n := string(t.Function.Name + t.Custom.Name)
			if n == "" {
				return refused("tool_choice", "tool_choice allows the tool %q, which cannot be carried to the provider of this model, "+
					"because only one vendor runs it.", t.Type)
			}
			c.Names = append(c.Names, n)
		}
	default:
		return refused("tool_choice", "tool_choice names the tool %q, which cannot be carried to the provider of this model, "+
			"because only one vendor runs it.", w.Type)
	}
	return nil
}

// format reads response_format.
func (d *requestDecoder) format() error {
	w := d.w.ResponseFormat
	if w == nil {
		return nil
	}
	switch w.Type {
	case "text":
		d.out.Format.Kind = llm.FormatText
	case "json_object":
		d.out.Format.Kind = llm.FormatJSON
	case "json_schema":
		if w.JSONSchema == nil {
			return wrong("response_format.json_schema", "response_format.json_schema is required.")
		}
		s := w.JSONSchema
		d.out.Format = llm.Format{
			Kind: llm.FormatSchema, Name: s.Name, Description: s.Description, Schema: llm.ValueOrNil(s.Schema), Strict: s.Strict,
		}
	default:
		return refused("response_format.type",
			"response_format.type %q cannot be carried to the provider of this model, because it knows text, json_object and json_schema only.",
			w.Type)
	}
	return nil
}

// dropUnknown drops the members that llm.Request cannot hold, unless they are empty. It refuses a reference to earlier audio output,
// because only the provider that made it can resolve it and the conversation would change without it.
func (d *requestDecoder) dropUnknown(unknown jsontext.Value, at string) error {
	if len(unknown) == 0 {
		return nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(unknown, &members); err != nil {
		return unreadable(err, at)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if isEmpty(members[name]) {
			continue
		}
		if at != "" && name == "audio" {
			return refused(at+".audio", "%s.audio cannot be carried to the provider of this model, because only the provider "+
				"that made the sound keeps it.", at)
		}
		d.out.Drop(name)
	}
	return nil
}

// isEmpty reports whether a value is null, "", [] or {}.
func isEmpty(v jsontext.Value) bool {
	// The value was parsed before, so this cannot fail.
	_ = v.Compact()
	return llm.IsNull(v) || string(v) == `""` || string(v) == "[]" || string(v) == "{}"
}

// unreadable returns the error for a body, or a part of it, that cannot be parsed.
func unreadable(err error, at string) error {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		param := cmp.Or(llm.PointerPath(at, semantic.JSONPointer), "body")
		return wrong(param, "%s does not have the type that this style gives it.", param).Because(err)
	}
	return app.Errorf(app.Invalid, "invalid_json", "The body is not valid JSON.").Because(err)
}
