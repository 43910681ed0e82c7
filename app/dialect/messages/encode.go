package messages

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

const (
	// endUserMax bounds the characters of the client's id of an end user.
	endUserMax = 256
	// phoneMin is the length of the longest number that cannot be a phone number.
	phoneMin = 6

	// requestSlack is more than the names and the settings of a short request take.
	requestSlack = 512

	// topPThinking is the smallest top_p that may be combined with thinking.
	topPThinking = 0.95
)

// EncodeRequest writes a request for an upstream of the style.
func (Codec) EncodeRequest(r *llm.Request) ([]byte, error) {
	systems, turns := ArrangeTurns(r.Turns)
	e := &requestEncoder{r: r, dst: make([]byte, 0, r.TextBytes()+requestSlack)}
	e.dst = append(e.dst, `{"model":`...)
	e.dst = llm.Quote(e.dst, r.Model)
	if r.MaxOutput > 0 {
		e.dst = append(e.dst, `,"max_tokens":`...)
		e.dst = strconv.AppendInt(e.dst, r.MaxOutput, 10)
	}
	if r.Stream {
		e.dst = append(e.dst, `,"stream":true`...)
	}
	e.encodeSystem(systems)
	e.encodeTurns(turns)
	e.encodeTools()
	thinks := e.encodeThinking(lacksThoughts(turns))
	e.encodeSampling(thinks)
	e.encodeOutput()
	if r.EndUser != "" {
		e.dst = append(e.dst, `,"metadata":{"user_id":`...)
		e.dst = append(llm.Quote(e.dst, encodeEndUser(r.EndUser)), '}')
	}
	e.dst = append(e.dst, '}')
	if e.err != nil {
		return nil, e.err
	}
	return e.dst, nil
}

// encodeEndUser hashes an id that upstreams refuse: one that is too long, an e-mail address or a phone number. The same id always has the
// same hash.
func encodeEndUser(id string) string {
	phone := strings.Trim(id, "+-() .0123456789") == ""
	if utf8.RuneCountInString(id) > endUserMax || strings.Contains(id, "@") || phone && len(id) > phoneMin {
		return llm.FitID("user:"+id, endUserMax)
	}
	return id
}

// requestEncoder encodes one request. It keeps the error about the first thing that the style cannot express.
type requestEncoder struct {
	dst []byte
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
		e.err = app.Errorf(app.Invalid, "invalid_request_error", format, args...).At(param)
	}
}

// raw appends JSON text of the client. It reports false when the text is not JSON.
func (e *requestEncoder) raw(value []byte) bool {
	var ok bool
	e.dst, ok = appendRaw(e.dst, value)
	return ok
}

func (e *requestEncoder) encodeSampling(thinks bool) {
	s := &e.r.Sampling
	// A model that thinks refuses every temperature except its default.
	if s.Temperature != "" && !thinks {
		t := s.Temperature
		if n, err := strconv.ParseFloat(string(t), 64); err == nil && n > 1 {
			t = "1" // The style allows 1 at most.
		}
		e.number("temperature", t)
	}
	if s.TopP != "" {
		if topP, err := strconv.ParseFloat(string(s.TopP), 64); !thinks || err != nil || topP >= topPThinking {
			e.number("top_p", s.TopP)
		}
	}
	if s.TopK != "" && !thinks {
		e.number("top_k", s.TopK)
	}
	for i, stop := range e.r.Stop {
		e.dst = append(e.dst, separator(i, `,"stop_sequences":[`)...)
		e.dst = llm.Quote(e.dst, stop)
	}
	if len(e.r.Stop) > 0 {
		e.dst = append(e.dst, ']')
	}
}

func (e *requestEncoder) number(name string, n llm.Number) {
	if jsontext.Value(n).Kind() != '0' {
		e.refuseField(name, "%s must be a number.", name)
		return
	}
	e.dst = append(e.dst, `,"`+name+`":`...)
	if !e.raw([]byte(n)) {
		e.refuseField(name, "%s must be a number.", name)
	}
}

// offered returns the tools that go upstream. The style cannot restrict the choice to some tools, so the others are left out.
func (e *requestEncoder) offered() []llm.Tool {
	names := e.r.Choice.Names
	if len(names) == 0 || e.r.Choice.Mode == llm.ChooseRequired && len(names) == 1 {
		return e.r.Tools
	}
	chosen := make(map[string]bool, len(names))
	for _, name := range names {
		chosen[name] = true
	}
	return slices.DeleteFunc(slices.Clone(e.r.Tools), func(t llm.Tool) bool { return !chosen[t.Name] })
}

func (e *requestEncoder) encodeTools() {
	tools := e.offered()
	for i := range tools {
		t := &tools[i]
		e.dst = append(e.dst, separator(i, `,"tools":[`)...)
		e.dst = append(e.dst, `{"name":`...)
		e.dst = llm.Quote(e.dst, t.Name)
		if t.Description != "" {
			e.dst = append(e.dst, `,"description":`...)
			e.dst = llm.Quote(e.dst, t.Description)
		}
		e.dst = append(e.dst, `,"input_schema":`...)
		e.encodeSchema(t)
		if t.Strict != nil {
			e.dst = append(e.dst, `,"strict":`...)
			e.dst = strconv.AppendBool(e.dst, *t.Strict)
		}
		e.dst = append(e.dst, '}')
	}
	if len(tools) > 0 {
		e.dst = append(e.dst, ']')
		e.encodeChoice()
	}
}

// encodeSchema writes the parameters of a tool. This style requires a schema with the type object.
func (e *requestEncoder) encodeSchema(t *llm.Tool) {
	var ok bool
	if e.dst, ok = AppendSchema(e.dst, t.Parameters); !ok {
		e.refuseField("tools", "The parameters of the tool %q must be a JSON Schema that is an object.", t.Name)
	}
}

// AppendSchema appends the parameters of a tool as a schema with the type object. It reports false, and appends nothing, when they are no
// JSON object.
func AppendSchema(dst, parameters []byte) ([]byte, bool) {
	from := len(dst)
	if len(parameters) == 0 || jsontext.Value(parameters).Kind() == 'n' {
		return append(dst, `{"type":"object","properties":{}}`...), true
	}
	dst, ok := appendRaw(dst, parameters)
	switch {
	case !ok || dst[from] != '{':
		return dst[:from], false
	case !hasType(dst[from:]):
		rest := slices.Clone(dst[from+1:])
		dst = append(dst[:from], `{"type":"object"`...)
		if rest[0] != '}' {
			dst = append(dst, ',')
		}
		dst = append(dst, rest...)
	}
	return dst, true
}

// hasType reports whether a schema has a type.
func hasType(schema []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(schema), llm.Lenient)
	// The first token is the brace.
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = d.ReadToken(); err == nil && name.String() == "type" {
			return true
		}
		err = d.SkipValue()
	}
	return false
}

func (e *requestEncoder) encodeChoice() {
	c := &e.r.Choice
	one := e.r.Parallel != nil && !*e.r.Parallel
	switch {
	case c.Mode == llm.ChooseUnset && !one:
		return
	case c.Mode == llm.ChooseNone:
		e.dst = append(e.dst, `,"tool_choice":{"type":"none"}`...)
		return
	case c.Mode == llm.ChooseRequired && len(c.Names) == 1:
		e.dst = append(e.dst, `,"tool_choice":{"type":"tool","name":`...)
		e.dst = llm.Quote(e.dst, c.Names[0])
	case c.Mode == llm.ChooseRequired:
		e.dst = append(e.dst, `,"tool_choice":{"type":"any"`...)
	default:
		e.dst = append(e.dst, `,"tool_choice":{"type":"auto"`...)
	}
	if e.r.Parallel != nil {
		e.dst = append(e.dst, `,"disable_parallel_tool_use":`...)
		e.dst = strconv.AppendBool(e.dst, one)
	}
	e.dst = append(e.dst, '}')
}

// budget returns how many tokens the model may think, and whether the request asks for thinking. It is -1 when the amount is left to the
// model. When the model refuses the form of the request, budget converts it to the other form.
func (e *requestEncoder) budget() (n int64, asked bool) {
	o, most := &e.r.Reasoning, e.r.MaxOutput
	n, asked = llm.BudgetOf(o.Effort)
	if o.Budget != "" {
		n, asked = number(o.Budget).whole()
	}
	forms := &e.r.Thinking
	switch {
	case asked && n != 0 && forms.NoBudget:
		return -1, !forms.NoAdaptive
	case asked && n < 0 && forms.NoAdaptive:
		return llm.ThinkingBudget(o.Effort, most)
	case !asked || n <= 0:
		return max(n, -1), asked
	case n < llm.ThinkingBudgetMin:
		n = llm.ThinkingBudgetMin
	}
	// Thinking counts against the bound on the output. When the request does not set both, half of the bound is left for the answer.
	if most > 0 && (n >= most || o.Budget == "") {
		n = min(n, most/2)
	}
	return n, n >= llm.ThinkingBudgetMin
}

// AppendThinking appends the members thinking and output_config with which the models of the style are asked to think, each with a comma
// before it. The turns must be arranged. It reports whether the request turns thinking on.
func AppendThinking(dst []byte, r *llm.Request, turns []llm.Turn) ([]byte, bool) {
	e := &requestEncoder{dst: dst, r: r}
	thinks := e.encodeThinking(lacksThoughts(turns))
	if effort := e.effort(); effort != "" {
		e.dst = append(e.dst, `,"output_config":{"effort":"`+effort+`"}`...)
	}
	return e.dst, thinks
}

// encodeThinking writes the settings of thinking. It reports whether the request turns thinking on. Upstreams refuse a budget in the middle
// of a turn that began without thoughts.
func (e *requestEncoder) encodeThinking(thoughtless bool) bool {
	n, asked := e.budget()
	if !asked {
		return false
	}
	if n == 0 {
		e.dst = append(e.dst, `,"thinking":{"type":"disabled"}`...)
		return false
	}
	if e.r.Choice.Mode == llm.ChooseRequired && len(e.r.Tools) > 0 {
		// Providers refuse thinking together with a forced call.
		return false
	}
	if n > 0 && thoughtless {
		return false
	}
	if n < 0 {
		e.dst = append(e.dst, `,"thinking":{"type":"adaptive"`...)
	} else {
		e.dst = append(e.dst, `,"thinking":{"type":"enabled","budget_tokens":`...)
		e.dst = strconv.AppendInt(e.dst, n, 10)
	}
	switch e.r.Reasoning.Show {
	case "":
	case "omitted":
		e.dst = append(e.dst, `,"display":"omitted"`...)
	default:
		e.dst = append(e.dst, `,"display":"summarized"`...)
	}
	e.dst = append(e.dst, '}')
	return true
}

// efforts has the effort of this style for each llm.Effort.
var efforts = map[llm.Effort]string{
	"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max",
}

// effort returns the effort of the style. When the model takes no budget of tokens, an effort replaces it.
func (e *requestEncoder) effort() string {
	forms, o := &e.r.Thinking, &e.r.Reasoning
	switch {
	case forms.NoEffort:
		return ""
	case forms.NoBudget && o.Effort == "":
		return efforts[forms.Effort(o.Budget)]
	}
	return efforts[o.Effort]
}

func (e *requestEncoder) encodeOutput() {
	effort := e.effort()
	schema := e.r.Format.Kind == llm.FormatSchema
	if effort == "" && !schema {
		return
	}
	e.dst = append(e.dst, `,"output_config":{`...)
	if effort != "" {
		e.dst = append(e.dst, `"effort":"`+effort+`"`...)
	}
	if schema {
		if effort != "" {
			e.dst = append(e.dst, ',')
		}
		e.dst = append(e.dst, `"format":{"type":"json_schema","schema":`...)
		if jsontext.Value(e.r.Format.Schema).Kind() != '{' || !e.raw(e.r.Format.Schema) {
			e.refuseField("output_config.format", "The schema of the answer must be a JSON object.")
		}
		e.dst = append(e.dst, '}')
	}
	e.dst = append(e.dst, '}')
}

// separator returns the text before element i of a list.
func separator(i int, open string) string {
	if i == 0 {
		return open
	}
	return ","
}
