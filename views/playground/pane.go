package playground

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"umg/views/codesample"
	"umg/views/format"
	"umg/views/ui"
)

// SentPart is what the pane's last request looked like, for a page that is drawn whole after it.
type SentPart struct {
	Request  string // Request is in JSON.
	Response string // Response is in JSON.
}

// panes are all of the page's, from the first.
func (p Playground) panes() []Pane { return append([]Pane{p.Pane}, p.Others...) }

// takes says whether the model of any pane takes input of a kind.
func (p Playground) takes(kind string) bool {
	for _, pane := range p.panes() {
		if pane.Model.Takes(kind) {
			return true
		}
	}
	return false
}

// answered says whether the conversation ends with an answer.
func (p Pane) answered() bool {
	n := len(p.Form.Turns)
	return n > 0 && p.Form.Turns[n-1].Answer
}

// choice says whether there are answers of several models, of which one can be the winner.
func (p Playground) choice() bool {
	n := 0
	for _, pane := range p.panes() {
		if pane.answered() {
			n++
		}
	}
	return n > 1
}

// id makes an id of the pane's own. The first pane's are the plainest.
func (p Pane) id(name string) string {
	if p.Number == 0 {
		return "play-" + name
	}
	return "play" + strconv.Itoa(p.Number+1) + "-" + name
}

// formID is the id of the pane's form, which the shared composer belongs to while the pane is the first.
func (p Pane) formID() string {
	if p.Number == 0 {
		return "play"
	}
	return "play" + strconv.Itoa(p.Number+1)
}

// formats are the formats of an answer that the model takes in the pane's style. One that was chosen before stays, so that it can be
// changed.
func (p Pane) formats() []ui.ChipOption {
	object, schema := p.supports("response_format"), p.supports("structured_outputs")
	switch p.Style {
	case "messages":
		object = false // The style has no name for this format.
	case "chat", "responses":
		schema = schema && object
	}
	list := []ui.ChipOption{{Value: "text", Label: "Text"}}
	if object || p.Form.Format == "json_object" {
		list = append(list, ui.ChipOption{Value: "json_object", Label: "JSON"})
	}
	if schema || p.Form.Format == "json_schema" {
		list = append(list, ui.ChipOption{Value: "json_schema", Label: "Schema"})
	}
	return list
}

// supports reports whether the pane's model has a parameter.
func (p Pane) supports(parameter string) bool {
	return slices.Contains(p.Model.Parameters, parameter)
}

// offersTools reports whether the form has a place for tools: the model takes some, or the form holds some that must be taken out.
func (p Pane) offersTools() bool { return p.supports("tools") || p.Form.Tools != "" }

// format is the chosen one; an unknown word is the usual.
func (p Pane) format() string {
	for _, one := range p.formats() {
		if one.Value == p.Form.Format {
			return one.Value
		}
	}
	return "text"
}

// toolNames are the names in the list of tools, as far as it can be read.
func (f Form) toolNames() []string {
	var tools []struct {
		Name string `json:"name"`
	}
	if json.Unmarshal([]byte(f.Tools), &tools) != nil {
		return nil
	}
	var names []string
	for _, t := range tools {
		if t.Name != "" {
			names = append(names, t.Name)
		}
	}
	return names
}

// toolChoices are the values of tool_choice: auto, none, required, or one tool by name.
func (f Form) toolChoices() []ui.Option {
	options := []ui.Option{
		{Value: "auto", Label: "Auto"}, {Value: "none", Label: "No tool"}, {Value: "required", Label: "At least one"},
	}
	for _, name := range f.toolNames() {
		options = append(options, ui.Option{Value: name, Label: "Only " + name})
	}
	return options
}

// inspectorTabs returns the tabs of the inspector.
func (p Pane) inspectorTabs() ui.TabsProps {
	return ui.TabsProps{ID: p.id("inspect"), Title: "What to inspect", Selected: "request", Tabs: []ui.Tab{
		{Name: "request", Label: "Request"}, {Name: "response", Label: "Response"},
		{Name: "events", Label: "Events"}, {Name: "code", Label: "Code"},
	}}
}

// called is the call whose result a turn is; one without a name if no answer makes it.
func (f Form) called(turn Turn) ToolCall {
	for _, t := range f.Turns {
		for _, call := range t.Calls {
			if call.ID == turn.CallID {
				return call
			}
		}
	}
	return ToolCall{ID: turn.CallID}
}

// hasResult says whether the result of a call is in the conversation, so that the answer need not show the call again.
func (f Form) hasResult(call ToolCall) bool {
	return slices.ContainsFunc(f.Turns, func(t Turn) bool { return t.CallID == call.ID })
}

// lacksResult says whether a call of an answer has no place for its result yet.
func (f Form) lacksResult(t Turn) bool {
	return slices.ContainsFunc(t.Calls, func(c ToolCall) bool { return !f.hasResult(c) })
}

// callsText is the form's field of a turn's calls.
func (t Turn) callsText() string {
	if len(t.Calls) == 0 {
		return ""
	}
	text, err := json.Marshal(t.Calls)
	if err != nil {
		return ""
	}
	return string(text)
}

// role is the word for whose turn it is in the form.
func (t Turn) role() string {
	switch {
	case t.Answer:
		return "assistant"
	case t.CallID != "":
		return "tool"
	default:
		return "user"
	}
}

func (t Turn) note() string {
	if t.Result != nil {
		return t.Result.Note()
	}
	return t.Note
}

// prettyArguments are a call's arguments with line breaks where they are JSON, else as the model wrote them.
func (c ToolCall) prettyArguments() string {
	if !json.Valid([]byte(c.Arguments)) {
		return c.Arguments
	}
	return codesample.Pretty([]byte(c.Arguments), "  ")
}

// formOf makes a control outside of a form a part of it.
func formOf(p Pane, more templ.Attributes) templ.Attributes {
	all := templ.Attributes{"form": p.formID()}
	maps.Copy(all, more)
	return all
}

// name is the model's, with a number where several panes ask the same model. The script of the page names panes alike.
func (p Playground) name(pane Pane) string {
	place, alike := 0, 0
	for _, one := range p.panes() {
		if one.Model.ID == pane.Model.ID {
			alike++
		}
		if one.Number == pane.Number {
			place = alike
		}
	}
	if alike < 2 {
		return pane.Model.Name
	}
	return pane.Model.Name + " (" + format.Int(place) + ")"
}

// label names the form of a pane by its place, as the heading in it names the model.
func (p Playground) label(pane Pane) string {
	at := slices.IndexFunc(p.Others, func(one Pane) bool { return one.Number == pane.Number }) + 1
	if len(p.Others) == 0 {
		return "Conversation"
	}
	return "Conversation " + format.Int(at+1)
}
