package chat

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

// droppedMax bounds the list of members that are left out, which the caller reads in a header.
const droppedMax = 64

// requestDecoder is a request on its way into the form.
type requestDecoder struct {
	w   *request
	out *llm.Request
	// calls are the calls of the turns so far, by their ids.
	calls map[string]llm.ToolCall
	// duplicateIDs are the new ids of calls to which the last message gave the same id. Ids with a result are removed.
	duplicateIDs map[string][]string
	// lastFunctionCallID is the minted id of the last call in the former form, which has no id.
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

// numbers reads the whole numbers. The newer name of the bound on the output wins over the former one.
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

// modalities refuses sounds and images as answers.
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
		d.drop("safety_identifier")
	}
}

// tools reads the tools, or what they were called before.
func (d *requestDecoder) tools() error {
	for i := range d.w.Tools {
		if err := d.tool(i); err != nil {
			return err
		}
	}
	switch {
	case len(d.w.Functions) == 0:
	case len(d.w.Tools) > 0:
		d.drop("functions")
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
			Parameters: flattenGrammar(valueOrNil(t.Custom.Format)),
		})
	default:
		d.drop(place("tools", i) + " (" + t.Type + ")")
		return nil
	}
	if d.out.Tools[len(d.out.Tools)-1].Name == "" {
		at := place("tools", i) + "." + t.Type + ".name"
		return wrong(at, "%s is required.", at)
	}
	return d.dropUnknown(t.Unknown, "")
}

func decodeFunction(f *function) llm.Tool {
	return llm.Tool{Name: string(f.Name), Description: string(f.Description), Parameters: valueOrNil(f.Parameters), Strict: f.Strict}
}

// valueOrNil is a value, or nil for null.
func valueOrNil(v jsontext.Value) []byte {
	if isNull(v) {
		return nil
	}
	return v
}

func isNull(v jsontext.Value) bool { return len(v) == 0 || v[0] == 'n' }

// choice reads which tools the model may or must call.
func (d *requestDecoder) choice() error {
	raw, name := d.w.ToolChoice, "tool_choice"
	if isNull(raw) && !isNull(d.w.FunctionCall) {
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

// format reads what the answer must look like.
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
			Kind: llm.FormatSchema, Name: s.Name, Description: s.Description, Schema: valueOrNil(s.Schema), Strict: s.Strict,
		}
	default:
		return refused("response_format.type",
			"response_format.type %q cannot be carried to the provider of this model, because it knows text, json_object and json_schema only.",
			w.Type)
	}
	return nil
}

// dropUnknown notes the members that say something and have no place in the form. Output sound that the history
// points to is kept by one provider, so that leaving it out would change what was said.
func (d *requestDecoder) dropUnknown(unknown jsontext.Value, at string) error {
	if len(unknown) == 0 {
		return nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(unknown, &members); err != nil {
		return unreadable(err, at)
	}
	for _, name := range sorted(members) {
		if isEmpty(members[name]) {
			continue
		}
		if at != "" && name == "audio" {
			return refused(at+".audio", "%s.audio cannot be carried to the provider of this model, because only the provider "+
				"that made the sound keeps it.", at)
		}
		d.drop(name)
	}
	return nil
}

func sorted(members map[string]jsontext.Value) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// isEmpty reports whether a value says nothing: null, "", [] or {}.
func isEmpty(v jsontext.Value) bool {
	// The value was parsed before, so this cannot fail.
	_ = v.Compact()
	return isNull(v) || string(v) == `""` || string(v) == "[]" || string(v) == "{}"
}

// drop notes a member that is left out, once.
func (d *requestDecoder) drop(name string) {
	if len(d.out.Dropped) < droppedMax && !slices.Contains(d.out.Dropped, name) {
		d.out.Dropped = append(d.out.Dropped, name)
	}
}

// unreadable says what is wrong with a body, or with a part of it, that is not JSON or not of the style.
func unreadable(err error, at string) error {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		param := path(at, semantic.JSONPointer)
		return wrong(param, "%s does not have the type that this style gives it.", param).Because(err)
	}
	return app.Errorf(app.Invalid, "invalid_json", "The body is not valid JSON.").Because(err)
}

// path writes a pointer as messages[2].role.
func path(at string, p jsontext.Pointer) string {
	var b strings.Builder
	b.WriteString(at)
	for token := range p.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	if b.Len() == 0 {
		return "body"
	}
	return b.String()
}
