package dialect

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"umg/app/llm"
)

// ThinkingFit is what becomes of the thinking of a request of the messages style whose model does not take the form it came in.
type ThinkingFit struct {
	// Changes to the request, in the order of its bytes.
	Changes []Change
	// Listed says what was changed or left out, in the words of the list of what was dropped.
	Listed []string
	// EffortAdded means that the request names an effort now that it did not name before.
	EffortAdded bool
}

// FitThinking puts the thinking of a request into the form that the model takes. A budget of tokens becomes adaptive thinking, with the
// effort that stands for the budget unless the request names one. Adaptive thinking becomes a budget within outputMost, the bound on
// the output in tokens. It is left out where the model takes neither form, where the bound has no room for a budget, and where
// providers refuse a budget: beside a tool that must be called, and in the middle of a turn that began without thoughts.
func FitThinking(body []byte, forms *llm.ThinkingForms, outputMost int64) ThinkingFit {
	t := readThinking(body)
	instead := ""
	switch asked := text(t.kind.of(body)); {
	case asked == thinkingEnabled && !forms.NoAdaptive:
		instead = thinkingAdaptive
		t.adapt(forms)
	case asked != thinkingEnabled && !forms.NoBudget:
		effort := llm.Effort(text(t.effort.of(body)))
		if n, ok := llm.ThinkingBudget(effort, outputMost); ok && !t.forced() && !startedWithoutThoughts(t.messages.of(body)) {
			instead = thinkingEnabled
			t.replaceThinking(thinkingEnabled, `,"budget_tokens":`+strconv.FormatInt(n, 10), t.display.of(body), "")
		}
	}
	if instead == "" {
		t.leaveOut()
	} else {
		t.listed = append(t.listed, "thinking.type="+text(t.kind.of(body))+"->"+instead)
	}
	slices.SortFunc(t.changes, func(a, b Change) int { return a.At - b.At })
	return ThinkingFit{Changes: t.changes, Listed: t.listed, EffortAdded: t.effortAdded}
}

// The types of thinking that are converted into each other.
const (
	thinkingEnabled  = "enabled"
	thinkingAdaptive = "adaptive"
)

// thinkingRequest notes where a request says what matters for its thinking. A span that is not found is a member that is not there.
type thinkingRequest struct {
	body                    []byte
	thinking, kind          span
	budget, display         span
	config, effort          span
	choice, messages, edits span
	management              span

	changes     []Change
	listed      []string
	effortAdded bool
}

func readThinking(body []byte) *thinkingRequest {
	t := &thinkingRequest{body: body}
	t.readMembers(span{0, len(body)}, map[string]*span{
		"thinking": &t.thinking, "output_config": &t.config, "tool_choice": &t.choice, "messages": &t.messages,
		"context_management": &t.management,
	})
	t.readMembers(t.thinking, map[string]*span{"type": &t.kind, "budget_tokens": &t.budget, "display": &t.display})
	t.readMembers(t.config, map[string]*span{"effort": &t.effort})
	t.readMembers(t.management, map[string]*span{"edits": &t.edits})
	return t
}

// readMembers notes where the values of some members of an object are.
func (t *thinkingRequest) readMembers(at span, into map[string]*span) {
	if raw := at.of(t.body); len(raw) == 0 || at.from > 0 && raw[0] != '{' {
		return
	}
	o := openObject(t.body[:at.to], at.from)
	for o.next() {
		if place, known := into[string(o.name())]; known {
			*place = o.value
		}
	}
}

func (t *thinkingRequest) change(at span, with string) {
	t.changes = append(t.changes, Change{At: at.from, With: with})
}

// replaceThinking writes thinking anew. Behind is further JSON text behind it.
func (t *thinkingRequest) replaceThinking(kind, more string, display []byte, behind string) {
	with := `{"type":"` + kind + `"` + more
	if !isNull(display) {
		with += `,"display":` + string(display)
	}
	t.change(t.thinking, with+`}`+behind)
}

// adapt makes a budget adaptive thinking. Models that take a budget show their thoughts where a request does not say, so that has to be
// said where the default is another one.
func (t *thinkingRequest) adapt(forms *llm.ThinkingForms) {
	display := t.display.of(t.body)
	if isNull(display) {
		display = []byte(`"summarized"`)
	}
	behind := ""
	effort := forms.Effort(llm.Number(t.budget.of(t.body)))
	member := `"effort":"` + string(effort) + `"`
	t.effortAdded = effort != "" && isNull(t.effort.of(t.body))
	switch config := t.config.of(t.body); {
	case !t.effortAdded:
	case t.effort.found():
		t.change(t.effort, `"`+string(effort)+`"`)
	case !t.config.found():
		behind = `,"output_config":{` + member + `}`
	case isNull(config) || isEmpty(config):
		t.change(t.config, `{`+member+`}`)
	default:
		t.change(t.config, `{`+member+`,`+string(config[1:]))
	}
	t.replaceThinking(thinkingAdaptive, "", display, behind)
}

// leaveOut takes the thinking out of a request, and the edits of the context that providers refuse without it.
func (t *thinkingRequest) leaveOut() {
	t.change(t.thinking, "")
	t.listed = append(t.listed, "thinking")
	edits := t.edits.of(t.body)
	if len(edits) == 0 || edits[0] != '[' {
		return
	}
	kept := []byte{'['}
	left := false
	list := openArray(t.body[:t.edits.to], t.edits.from)
	for i := 0; list.next(); i++ {
		one := list.value.of(t.body)
		if kind := text(valueOf(one, "type")); strings.HasPrefix(kind, "clear_thinking_") {
			t.listed = append(t.listed, "context_management.edits["+strconv.Itoa(i)+"] ("+kind+")")
			left = true
			continue
		}
		kept = appendElement(kept, one)
	}
	if left {
		t.change(t.edits, string(append(kept, ']')))
	}
}

// forced reports whether a tool must be called.
func (t *thinkingRequest) forced() bool {
	choice := t.choice.of(t.body)
	kind := text(choice)
	if len(choice) > 0 && choice[0] == '{' {
		kind = text(valueOf(choice, "type"))
	}
	return kind == "any" || kind == "required" || kind == "tool"
}

// startedWithoutThoughts reports whether a conversation of the messages style is in the middle of calling tools, in a turn of the model
// that began without a thought.
func startedWithoutThoughts(messages []byte) bool {
	if len(messages) == 0 || messages[0] != '[' {
		return false
	}
	begun, thought, results := false, false, false
	list := openArray(messages, 0)
	for list.next() {
		one := list.value.of(messages)
		content := valueOf(one, "content")
		switch text(valueOf(one, "role")) {
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
	list := openArray(content, 0)
	for list.next() {
		if text(valueOf(list.value.of(content), "type")) == "tool_result" {
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
	list := openArray(content, 0)
	return list.next() && slices.Contains([]string{"thinking", "redacted_thinking"}, text(valueOf(list.value.of(content), "type")))
}
