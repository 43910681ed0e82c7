package dialect

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// ThinkingFit has the changes to the thinking of a messages request, for a model that does not take its form.
type ThinkingFit struct {
	// Changes are in the order of the bytes of the request.
	Changes []Change
	// Listed describes the changes for the list of dropped members.
	Listed []string
	// EffortAdded means that the request now has an effort that it did not have before.
	EffortAdded bool
}

// FitThinking converts the thinking of a request to the form that the model takes. A budget of tokens becomes adaptive thinking, with
// the effort for the budget unless the request has one. Adaptive thinking becomes a budget within outputMost, the bound on the output
// in tokens. Thinking is removed when the model takes neither form, when the bound leaves no room for a budget, and when providers
// refuse a budget: with a forced tool call, and in the middle of a turn that began without thoughts.
func FitThinking(body []byte, forms *llm.ThinkingForms, outputMost int64) ThinkingFit {
	t := readThinking(body)
	instead := ""
	switch asked := rawjson.String(t.kind.Of(body)); {
	case asked == thinkingEnabled && !forms.NoAdaptive:
		instead = thinkingAdaptive
		t.adapt(forms)
	case asked != thinkingEnabled && !forms.NoBudget:
		effort := llm.Effort(rawjson.String(t.effort.Of(body)))
		if n, ok := llm.ThinkingBudget(effort, outputMost); ok && !t.forced() && !startedWithoutThoughts(t.messages.Of(body)) {
			instead = thinkingEnabled
			t.replaceThinking(thinkingEnabled, `,"budget_tokens":`+strconv.FormatInt(n, 10), t.display.Of(body), "")
		}
	}
	if instead == "" {
		t.leaveOut()
	} else {
		t.listed = append(t.listed, "thinking.type="+rawjson.String(t.kind.Of(body))+"->"+instead)
	}
	slices.SortFunc(t.changes, func(a, b Change) int { return a.At - b.At })
	return ThinkingFit{Changes: t.changes, Listed: t.listed, EffortAdded: t.effortAdded}
}

// The types of thinking that are converted into each other.
const (
	thinkingEnabled  = "enabled"
	thinkingAdaptive = "adaptive"
)

// thinkingRequest has the positions of the members of a request that matter for its thinking. A missing member has the zero Span.
type thinkingRequest struct {
	body                    []byte
	thinking, kind          rawjson.Span
	budget, display         rawjson.Span
	config, effort          rawjson.Span
	choice, messages, edits rawjson.Span
	management              rawjson.Span

	changes     []Change
	listed      []string
	effortAdded bool
}

func readThinking(body []byte) *thinkingRequest {
	t := &thinkingRequest{body: body}
	t.readMembers(rawjson.Span{From: 0, To: len(body)}, map[string]*rawjson.Span{
		"thinking": &t.thinking, "output_config": &t.config, "tool_choice": &t.choice, "messages": &t.messages,
		"context_management": &t.management,
	})
	t.readMembers(t.thinking, map[string]*rawjson.Span{"type": &t.kind, "budget_tokens": &t.budget, "display": &t.display})
	t.readMembers(t.config, map[string]*rawjson.Span{"effort": &t.effort})
	t.readMembers(t.management, map[string]*rawjson.Span{"edits": &t.edits})
	return t
}

// readMembers records the positions of the values of some members of an object.
func (t *thinkingRequest) readMembers(at rawjson.Span, into map[string]*rawjson.Span) {
	if raw := at.Of(t.body); len(raw) == 0 || at.From > 0 && raw[0] != '{' {
		return
	}
	o := rawjson.OpenObject(t.body[:at.To], at.From)
	for o.Next() {
		if place, known := into[string(o.Name())]; known {
			*place = o.Value
		}
	}
}

func (t *thinkingRequest) change(at rawjson.Span, with string) {
	t.changes = append(t.changes, Change{At: at.From, With: with})
}

// replaceThinking replaces the thinking. The text in behind follows it.
func (t *thinkingRequest) replaceThinking(kind, more string, display []byte, behind string) {
	with := `{"type":"` + kind + `"` + more
	if !rawjson.IsNull(display) {
		with += `,"display":` + string(display)
	}
	t.change(t.thinking, with+`}`+behind)
}

// adapt converts a budget to adaptive thinking. With a budget, models show their thoughts by default, so the new form says so.
func (t *thinkingRequest) adapt(forms *llm.ThinkingForms) {
	display := t.display.Of(t.body)
	if rawjson.IsNull(display) {
		display = []byte(`"summarized"`)
	}
	behind := ""
	effort := forms.Effort(llm.Number(t.budget.Of(t.body)))
	member := `"effort":"` + string(effort) + `"`
	t.effortAdded = effort != "" && rawjson.IsNull(t.effort.Of(t.body))
	switch config := t.config.Of(t.body); {
	case !t.effortAdded:
	case t.effort.Found():
		t.change(t.effort, `"`+string(effort)+`"`)
	case !t.config.Found():
		behind = `,"output_config":{` + member + `}`
	case rawjson.IsNull(config) || rawjson.IsEmpty(config):
		t.change(t.config, `{`+member+`}`)
	default:
		t.change(t.config, `{`+member+`,`+string(config[1:]))
	}
	t.replaceThinking(thinkingAdaptive, "", display, behind)
}

// leaveOut removes the thinking from a request, and the edits of the context that providers refuse without it.
func (t *thinkingRequest) leaveOut() {
	t.change(t.thinking, "")
	t.listed = append(t.listed, "thinking")
	edits := t.edits.Of(t.body)
	if len(edits) == 0 || edits[0] != '[' {
		return
	}
	kept := []byte{'['}
	left := false
	list := rawjson.OpenArray(t.body[:t.edits.To], t.edits.From)
	for i := 0; list.Next(); i++ {
		one := list.Value.Of(t.body)
		if kind := rawjson.String(rawjson.Get(one, "type")); strings.HasPrefix(kind, "clear_thinking_") {
			t.listed = append(t.listed, "context_management.edits["+strconv.Itoa(i)+"] ("+kind+")")
			left = true
			continue
		}
		kept = rawjson.AppendElement(kept, one)
	}
	if left {
		t.change(t.edits, string(append(kept, ']')))
	}
}

// forced reports whether a tool must be called.
func (t *thinkingRequest) forced() bool {
	choice := t.choice.Of(t.body)
	kind := rawjson.String(choice)
	if len(choice) > 0 && choice[0] == '{' {
		kind = rawjson.String(rawjson.Get(choice, "type"))
	}
	return kind == "any" || kind == "required" || kind == "tool"
}

// startedWithoutThoughts reports whether a messages conversation is in the middle of calling tools, in a turn of the model that began
// without a thought.
func startedWithoutThoughts(messages []byte) bool {
	if len(messages) == 0 || messages[0] != '[' {
		return false
	}
	begun, thought, results := false, false, false
	list := rawjson.OpenArray(messages, 0)
	for list.Next() {
		one := list.Value.Of(messages)
		content := rawjson.Get(one, "content")
		switch rawjson.String(rawjson.Get(one, "role")) {
		case "user":
			results = hasResult(content)
			begun = begun && results
		case "assistant":
			if !begun {
				begun, thought = true, isThought(content)
			}
			results = false
		}
	}
	return begun && results && !thought
}

// hasResult reports whether the content of a turn has the result of a tool.
func hasResult(content []byte) bool {
	if len(content) == 0 || content[0] != '[' || !bytes.Contains(content, []byte("tool_result")) {
		return false
	}
	list := rawjson.OpenArray(content, 0)
	for list.Next() {
		if rawjson.String(rawjson.Get(list.Value.Of(content), "type")) == "tool_result" {
			return true
		}
	}
	return false
}

// isThought reports whether the content of a turn begins with a thought.
func isThought(content []byte) bool {
	if len(content) == 0 || content[0] != '[' {
		return false
	}
	list := rawjson.OpenArray(content, 0)
	if !list.Next() {
		return false
	}
	kind := rawjson.String(rawjson.Get(list.Value.Of(content), "type"))
	return kind == "thinking" || kind == "redacted_thinking"
}
