package playground

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/markdown"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// The actions that a pane's form can be sent for; without one, or with PlaySend, it is sent to be answered. Those that end in a
// dash are followed by the number of a turn, from zero.
const (
	ActionSend       = "send"
	ActionClear      = "clear"
	ActionEdit       = "edit-" // moves the turn back into the prompt and removes what follows
	ActionDelete     = "delete-"
	ActionUp         = "up-"
	ActionDown       = "down-"
	ActionBranch     = "branch-"       // opens the conversation up to the turn in its own page
	ActionRegenerate = "regenerate"    // asks for the last answer again
	ActionAddUser    = "add-user"      // makes the prompt a turn that is not sent yet
	ActionAddAnswer  = "add-assistant" // makes the prompt a turn of the assistant
	ActionAddResult  = "add-result"    // adds a turn for each call without a result
)

// PanesMax is how many models can be asked side by side.
const PanesMax = 4

// Playground is the page to try models on. Its first pane is embedded: a form that was sent is one pane.
type Playground struct {
	views.Shell
	Pane
	Others []Pane // panes beside the first, at most PlayPanesMax with it
	// Models are those that can be called, and paused ones.
	Models    []views.Model
	ImageMax  int64  // maximum bytes of an image
	Owner     string // Owner is the user and the account whose runs the browser keeps apart from others.
	KeepsRuns bool   // the account keeps runs, and the reader may read them
	Unkept    bool   // the run could not be stored, although the account keeps runs
}

// Pane is one model with its settings and its conversation: one form. The form's field "pane" gives its number back, so
// that a pane which is drawn again keeps its ids.
type Pane struct {
	Number int // 0 to 3, unique in the page
	Model  views.Model
	// Warned is the requested model when it is paused or failing.
	Warned  *views.Model
	Style   views.Style
	Params  []Param
	Form    Form
	Trouble *views.PlayTrouble
	Sent    *SentPart // set when the inspector is open
}

// Form is the conversation and the settings of a pane.
type Form struct {
	System     string
	Prompt     string
	ImageURL   string
	Image      string // a data: URL
	Stream     bool
	Turns      []Turn
	Tools      string // a JSON array of {"name", "description", "parameters"}
	ToolChoice string // auto, none, required or the name of a tool
	Format     string // text, json_object or json_schema
	SchemaName string
	Schema     string // a JSON Schema
	Vars       []Variable
	// OwnSettings lets the pane differ from the others in its system prompt, parameters, format and tools.
	OwnSettings bool

	// PromptID is of the saved prompt that was opened, and PromptVersion of the version begun from: saving makes the next one.
	PromptID, PromptVersion string
	Opened                  *OpenPrompt // the saved prompt with its name, when the whole page is rendered
}

// OpenPrompt is the saved prompt that a pane was opened with.
type OpenPrompt struct {
	Prompt  Prompt
	Version int  // the version from which the pane was opened
	Changed bool // the pane differs from that version
}

// next is the label of the button that saves the pane as the next version.
func (o OpenPrompt) next() string { return "Save as v" + strconv.Itoa(o.Prompt.Latest+1) }

// words are the version, and how many there are where it is not the newest.
func (o OpenPrompt) words() string {
	if o.Version == o.Prompt.Latest {
		return "v" + strconv.Itoa(o.Version)
	}
	return "v" + strconv.Itoa(o.Version) + " of " + strconv.Itoa(o.Prompt.Latest)
}

// Variable is a variable that the texts name as {{Name}}: the form's field is "var_" and the name.
type Variable struct{ Name, Value string }

// Turn is one turn of the conversation: of the model if Answer is set, the result of a tool if CallID is, else of the reader.
type Turn struct {
	Answer  bool
	Text    string
	HTML    markdown.HTML // the rendered text of a complete answer; otherwise Text is shown
	Thought string        // the model's reasoning; only in the newest turn
	Image   string        // an https: or data: URL
	Note    string        // a line about tokens, cost and time
	Calls   []ToolCall    // calls that the answer asks for
	CallID  string        // id of the call whose result the text is
	Result  *Result
}

// ToolCall is a call of a tool that an answer asks for. In the form it is an object of the list in turn_calls.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON text as the model wrote it
}

// Result is the time, the tokens and the cost of an answer.
type Result struct {
	RequestID string        `json:"request_id"`
	FirstByte time.Duration `json:"first_byte_ns"`
	Total     time.Duration `json:"total_ns"`
	// Input is without cached tokens.
	Input     int64 `json:"input_tokens"`
	CacheRead int64 `json:"cache_read_tokens"`
	CacheMade int64 `json:"cache_write_tokens"`
	// Output is without reasoning tokens.
	Output    int64  `json:"output_tokens"`
	Reasoning int64  `json:"reasoning_tokens"`
	Finish    string `json:"finish_reason"`
	// Cost is kept in nano-dollars beside the result.
	Cost      app.Amount `json:"-"`
	Estimated bool       `json:"estimated"`
	// Left means that the reader stopped the answer.
	Left bool `json:"left"`
}

// ParamKind is the form field that a parameter gets.
type ParamKind string

// The kinds of parameters.
const (
	ParamNumber  ParamKind = "number"
	ParamInteger ParamKind = "integer"
	ParamEnum    ParamKind = "enum"
	ParamBoolean ParamKind = "boolean"
	ParamList    ParamKind = "list" // texts, one per line
)

// Param is one setting of a request, drawn from the model's contract.
type Param struct {
	Path     string // path in the request, such as reasoning.effort
	Key      string // common name of a setting that the styles name differently
	Kind     ParamKind
	Text     string
	Default  string
	Bounds   string
	Min, Max string
	Options  []string
	Value    string
	Error    string
	First    bool // shown without opening further settings
}

// FormName is the name of the parameter's field in the form.
func (p Param) FormName() string { return "param." + p.Key }

// names are the objects that the parameter is in, and its own name.
func (p Param) names() (prefix, leaf string) {
	i := strings.LastIndexByte(p.Path, '.') + 1
	return p.Path[:i], p.Path[i:]
}

func (p Param) leaf() string {
	_, leaf := p.names()
	return leaf
}

// blank is the placeholder of an empty field.
func (p Param) blank() string {
	if p.Default != "" {
		return p.Default
	}
	return "not sent"
}

func (p Param) step() string {
	if p.Kind == ParamInteger {
		return "1"
	}
	return "any"
}

// options are the choices of an enumeration or a switch, the first of them to leave it unsaid.
func (p Param) options() []ui.Option {
	options := []ui.Option{{Label: "Default"}}
	if p.Default != "" {
		options[0].Label = "Default (" + p.Default + ")"
	}
	words := p.Options
	if p.Kind == ParamBoolean {
		words = []string{"true", "false"}
	}
	for _, w := range words {
		options = append(options, ui.Option{Value: w, Label: w})
	}
	return options
}

// shown is the value as one of the options.
func (p Param) shown() string {
	for _, o := range p.options() {
		if strings.EqualFold(o.Value, p.Value) {
			return o.Value
		}
	}
	return ""
}

func (p Pane) split(first bool) []Param {
	var params []Param
	for _, one := range p.Params {
		if one.First == first {
			params = append(params, one)
		}
	}
	return params
}

// touched says whether one of the settings that are folded away has a value or an error.
func (p Pane) touched() bool {
	for _, one := range p.split(false) {
		if one.Value != "" || one.Error != "" {
			return true
		}
	}
	return false
}

func (p Pane) styleChips() []ui.ChipOption {
	options := make([]ui.ChipOption, len(p.Model.Styles))
	for i, s := range p.Model.Styles {
		options[i] = ui.ChipOption{Value: string(s), Label: format.Capitalize(string(s))}
	}
	return options
}

// finishWords are reasons to end in plain words; another is shown as it is.
var finishWords = map[string]string{
	"stop": "stop", "stop_sequence": "stop sequence", "length": "length limit", "context_full": "context full", "tool_calls": "tool calls",
	"content_filter": "content filter", "refusal": "refusal", "pause": "pause",
}

// Facts are what there is to say of an answer, in order.
func (r Result) Facts() []views.Fact {
	facts := []views.Fact{{Name: "First token", Value: format.Duration(r.FirstByte)}, {Name: "Total", Value: format.Duration(r.Total)}}
	if rate := r.rate(); rate != "" {
		facts = append(facts, views.Fact{Name: "Speed", Value: rate})
	}
	for _, one := range []struct {
		name string
		n    int64
		show bool
	}{
		{"Input", r.Input, true}, {"Cached", r.CacheRead, false}, {"Cache write", r.CacheMade, false}, {"Output", r.Output, true},
		{"Reasoning", r.Reasoning, false},
	} {
		if one.n > 0 || one.show {
			facts = append(facts, views.Fact{Name: one.name, Value: format.CountOf(one.n, "token", "tokens")})
		}
	}
	if finish := r.finish(); finish != "" {
		facts = append(facts, views.Fact{Name: "Finish", Value: finish})
	}
	return append(facts, views.Fact{Name: "Cost", Value: r.cost()})
}

// Stat is a value of an answer that can be compared with those of other answers.
type Stat struct {
	Name  string `json:"name"`
	Text  string `json:"text"`
	Value int64  `json:"value"`
	// Better is "low" or "high", or empty where no value is better than another.
	Better string `json:"better,omitempty"`
}

// Stats are what can be compared of an answer. Their order is the same for all answers.
func (r Result) Stats() []Stat {
	stats := []Stat{
		{"First token", format.Duration(r.FirstByte), int64(r.FirstByte), "low"}, {"Total", format.Duration(r.Total), int64(r.Total), "low"},
		{Name: "Speed"},
		{Name: "Input", Text: format.Count(r.Input + r.CacheRead + r.CacheMade)}, {Name: "Output", Text: format.Count(r.Output + r.Reasoning)},
		{"Cost", format.Dollars(r.Cost), int64(r.Cost), "low"},
	}
	if rate := r.rate(); rate != "" {
		tokens := r.Output + r.Reasoning
		stats[2] = Stat{"Speed", rate, tokens * int64(time.Second) / max(int64(r.Total-r.FirstByte), 1), "high"}
	}
	return stats
}

// statsText is Stats for the script of the page.
func statsText(r Result) string {
	text, err := json.Marshal(r.Stats())
	if err != nil {
		return "[]"
	}
	return string(text)
}

func (r Result) finish() string {
	if r.Left {
		return "stopped by you"
	}
	if words, ok := finishWords[r.Finish]; ok {
		return words
	}
	return r.Finish
}

func (r Result) cost() string {
	if r.Estimated {
		return format.Dollars(r.Cost) + " (tokens estimated)"
	}
	return format.Dollars(r.Cost)
}

// rate is how fast the answer came, once it came.
func (r Result) rate() string {
	took := r.Total - r.FirstByte
	tokens := r.Output + r.Reasoning
	if r.FirstByte <= 0 || took < 50*time.Millisecond || tokens < 2 {
		return ""
	}
	return format.Count(tokens*int64(time.Second)/int64(took)) + " tokens/s"
}

// Note is the result in one line, which stays with the turn.
func (r Result) Note() string {
	return strings.Join([]string{format.Duration(r.Total), format.CountOf(r.Output+r.Reasoning, "token", "tokens"), r.cost(), r.RequestID},
		" · ")
}

// Code is the request that the playground would send, as programs in each of the model's styles.
type Code struct {
	views.Shell
	Pane     int // number of the pane that asks, so that ids are unique in its page
	Model    views.Model
	Style    views.Style
	Language string
	KeyHint  string
	Variants []Variant
}

// Variant is the request in one style, or why that style cannot express it.
type Variant struct {
	Style   views.Style
	Body    []byte
	Refusal string
}

func (c Code) tabs() ui.TabsProps {
	t := ui.TabsProps{ID: c.id("request-style"), Title: "API style", Selected: string(c.Style)}
	for _, v := range c.Variants {
		t.Tabs = append(t.Tabs, ui.Tab{Name: string(v.Style), Label: v.Style.Label()})
	}
	return t
}
